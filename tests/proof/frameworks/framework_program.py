"""Programs of frameworks that take seconds to import: run once, and what they found is looked at by many tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# What a program may call: `phase(energy, name)` and `parts(energy)`; it prints a JSON object last.
PREAMBLE = """
import json, time, warnings
import joulemap

def phase(energy, name):
    totals = energy.report(phase=name).totals
    return {"steps": totals.steps, "samples": totals.samples, "tokens": totals.tokens, "found": totals.steps_found}

def parts(energy):
    "Phases and epochs: name, begin, end, joules, width of their interval."
    run = energy.session
    spans = [span for span in run.timeline().spans if span.kind in ("phase", "epoch")]
    sums = [run.energy(span.start_ns, span.end_ns) for span in spans]
    return [
        [span.name, span.start_ns, span.end_ns, sum.energy_j, sum.energy_high_j - sum.energy_low_j]
        for span, sum in zip(spans, sums)
    ]
"""


def run(program: str, folder: Path, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a program on the simulated GPU; return what it printed last, with its errors as `stderr`."""
    script = folder / "program.py"
    script.write_text(PREAMBLE + program)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "JOULEMAP_SIM": "h200", "OMP_NUM_THREADS": "1", **(environment or {})},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"stderr": done.stderr}


def joules(found: dict[str, Any], name: str) -> list[float]:
    """Return the joules of all parts of a name, in order."""
    return [float(part[3]) for part in sorted(found["parts"], key=lambda part: part[1]) if part[0] == name]


def check_joules(logged: list[float], found: dict[str, Any], name: str) -> None:
    """Hold figures that were logged at once to those of later, when more readings are there: both have an interval."""
    parts = [part for part in sorted(found["parts"], key=lambda part: part[1]) if part[0] == name]
    assert len(logged) == len(parts)
    for value, (_, _, _, later_j, width_j) in zip(logged, parts, strict=True):
        assert abs(value - later_j) <= width_j


def check_steps(entries: list[dict[str, float]], prefix: str, samples: tuple[int, int]) -> None:
    """Hold figures of steps to each other: samples a step lie in a range, power in what this GPU can draw."""
    assert entries
    for entry in entries:
        a_step = entry[f"{prefix}j_per_step"] / entry[f"{prefix}j_per_sample"]
        assert samples[0] * 0.999 <= a_step <= samples[1] * 1.001
        assert 0 < entry[f"{prefix}power_w"] <= 710


def seconds(found: dict[str, Any], name: str) -> float:
    """Return the time of all parts of a name."""
    return sum(1e-9 * float(part[2] - part[1]) for part in found["parts"] if part[0] == name)


def check_epochs_are_all_of_train(found: dict[str, Any]) -> None:
    """Hold the epochs to what is around them: no GPU here draws more than 700 W in the time between."""
    width_j = sum(part[4] for part in found["parts"] if part[0] in ("train", "epoch")) / 2
    between_s = seconds(found, "train") - seconds(found, "epoch")
    between_j = sum(joules(found, "train")) - sum(joules(found, "epoch"))
    assert between_s >= 0
    assert -width_j <= between_j <= 700 * between_s + width_j
