"""Layers of a live training run against the same layers alone, on a real board: energy of a forward call.

The truth of a layer is its energy in short bursts with gaps, as `joulemap.torch.isolate` measures it: they keep the
board under its power limit and its clock high. Over several settings, E = calls x e + gap time x P_gap + bursts x
e_edge gives e, the energy of a call, from the board's total alone; the whole series is taken twice, as a truth moves by
up to 2 % from one time to the next. P_gap is printed: in a program that waits for its host, what idle time is taken to
draw decides what is left for the layers. What goes into the layer is what the model gave it in training (layout, type,
autocast), and gradients are recorded as there. The live figure is what joulemap tells of the same layer while the model
trains, from its kernels' times, the sensor and hardware counters; beside it stand the sensor alone, and all energy
that is not idle shared by time. Alone, the gaps between a call's kernels are taken off at P_gap, as in
training they are idle time. The clocks of both are printed: training may run at a lower one, which is worth a few
percent; with --live-clock gaps are chosen so that the layers alone run at it too.
Alone, no counters are sampled, and the board is cooler (1 W/K): --heat trains a little before each window.
Training and bursts are recordings of their own: powers are learnt from all of a run, and a truth must not teach.
Training is recorded twice, without hardware counters and with them. With --ncu none are sampled in the second one:
those that Nsight Compute has counted of the same step stand for them.

    python bench/gpu/bursts.py --model torchvision:efficientnet_v2_m --batch 128 --size 224
    python bench/gpu/bursts.py --model transformers:bert --batch 16 --size 512 --set hidden_size=1024
    ncu --clock-control none --cache-control none --profile-from-start off --csv --page raw \\
        --metrics "$(joulemap estimate --metrics)" python bench/gpu/workloads/stepped.py gpt >gpt.csv
    python bench/gpu/bursts.py --ncu gpt.csv

Layers are drawn at random (--seed), up to --per-bin from each half decade of call time from 100 us on (launches and the
sensor's own errors blur shorter ones), or named: --layers blocks.5,blocks.5.mlp. A layer whose kernels take another
time alone than in training does other work there (a mask that is made, an algorithm chosen anew); it is listed, but
not counted. That is decided by times, before any energy is known.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joulemap
import torch
from joulemap._burst import Player, first_line, player_of
from joulemap._describe import describe
from joulemap._isolation.layer_inputs import LayerInputs, record_inputs
from joulemap._isolation.measure import Board, Part, Quantity, make_ready, measure
from joulemap._isolation.settings import SETTINGS, Duty
from layers_alone import Figure, Layer, live
from publish import head, publish, spread
from subjects import Subject, make
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
LEAST_CALL_S = 100e-6
FORGOTTEN_S = 0.1
CLOCK_ROUNDS = 4  # in which gaps find the clock
AHEAD_CYCLES = 1_000_000_000  # half a second in which the host can launch ahead of the GPU


# ---- which layers


def time_modules(subject: Subject) -> dict[str, float]:
    """Seconds of a forward call of each module that runs once a step."""
    names = {module: name for name, module in subject.model.named_modules() if name}
    events: dict[str, list[torch.cuda.Event]] = {}

    def note(module: nn.Module, *_: Any) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        events.setdefault(names[module], []).append(event)

    hooks = [
        hook(note) for module in names for hook in (module.register_forward_pre_hook, module.register_forward_hook)
    ]
    torch.cuda._sleep(AHEAD_CYCLES)
    subject.forward()
    torch.cuda.synchronize()
    for hook in hooks:
        hook.remove()
    return {name: pair[0].elapsed_time(pair[1]) / 1e3 for name, pair in events.items() if len(pair) == 2}


def draw_layers(subject: Subject, seed: int, per_bin: int) -> list[str]:
    bins: dict[int, list[str]] = {}
    for name, call_s in sorted(time_modules(subject).items()):
        if call_s >= LEAST_CALL_S:
            bins.setdefault(math.floor(2 * math.log10(call_s)), []).append(name)
    chance = random.Random(seed)
    return [name for _, names in sorted(bins.items()) for name in chance.sample(names, min(per_bin, len(names)))]


# ---- the truth: the layer alone, in bursts


def ready(player: Player, given: LayerInputs) -> Quantity | str:
    """Make a layer ready to run alone; why no graph can hold it (one that copies from the host) if none can."""
    try:
        with player.stream():
            given.try_out()
        parts = [Part(given.path, describe(given.module), given.forward)]
        if given.overwrites:
            parts.append(Part(given.path, "copies", given.restore_inputs))
        for part in parts:
            make_ready(player, part)
    except torch.cuda.OutOfMemoryError:
        raise
    except RuntimeError as error:
        return first_line(error)
    return parts[0].why or Quantity(*parts)


def hold_clock(quantities: list[Quantity], mhz: float | None, window_s: float) -> float:
    """Let gaps be moved until the layers run at the clock of the training; seconds that it may take."""
    parts = [part for quantity in quantities for part in quantity.parts]
    for part in parts:
        part.duty = Duty(mhz)
    return CLOCK_ROUNDS * len(parts) * len(SETTINGS) * window_s


def keep_warm(subject: Subject, seconds: float) -> None:
    """Train, so that the board is as warm as in training; then rest until the sensor has forgotten it."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        subject.step()
        torch.cuda.synchronize()
    if seconds > 0:
        time.sleep(FORGOTTEN_S)


def truth(quantity: Quantity) -> tuple[Figure, float]:
    """Energy of a call, and the power of the gaps, W."""
    found = quantity.figure()
    if found is None:
        raise SystemExit(f"{quantity.whole.name}: its windows tell no energy of a call")
    return Figure(found.energy_j, found.half_j, found.call_s, found.clock_mhz), found.gap_w


# ---- the live run


def train(subject: Subject, run: joulemap.Session, seconds: float) -> tuple[int, int]:
    for _ in range(3):
        subject.step()
    torch.cuda.synchronize()
    watch = run.watch(subject.model)
    begin_ns = time.monotonic_ns()
    with run.phase("train"):
        while time.monotonic_ns() - begin_ns < seconds * 1e9:
            subject.step()
            torch.cuda.synchronize()
    end_ns = time.monotonic_ns()
    watch.remove()
    return begin_ns, end_ns


def with_counters(recording: str, counted: Path) -> str:
    """Give a recording the counters that ncu has counted of the program; its path."""
    both = f"{recording}.ncu"
    command = [sys.executable, "-m", "joulemap", "import", "--force", "--onto", recording, "--ncu", str(counted)]
    subprocess.run([*command, "-o", both], check=True)
    Path(both).replace(recording)
    return recording


@dataclass
class Training:
    """What a recorded training says, by all that joulemap knows and by the power sensor alone."""

    how: str
    report: joulemap.types.Report
    ring: joulemap.types.Report

    def compared(self, path: str, alone: Figure, gap_w: float) -> Compared:
        mhz = self.report.quality.clock_mhz
        figure, known = live(path, self.report, mhz)
        by_ring, _ = live(path, self.ring, mhz)
        return Compared(path, alone, gap_w, figure, known, by_ring, mean_busy_w(self.ring) * figure.call_s)

    def lines(self) -> list[str]:
        totals, quality = self.report.totals, self.report.quality
        return [
            f"training {self.how}: {totals.duration_s:.1f} s, {totals.total_energy_j:.0f} J, residual "
            f"{totals.residual_w:.1f} W, chi2/n {totals.chi2_n:.1f}, {quality.throttle_events} times throttled; "
            f"idle {totals.idle_energy_j:.0f} J; verdict {quality.verdict}",
            *(f"note: {note}" for note in self.report.notes),
        ]


def recorded(subject: Subject, args: argparse.Namespace, kept: str, counters: bool) -> Training:
    with joulemap.Session(path=kept, overwrite=True, kernels=True, counters=counters and not args.ncu) as run:
        begin_ns, end_ns = train(subject, run, args.seconds)
    how = "with counters" if counters else "without counters"
    with joulemap.Recording(with_counters(kept, args.ncu) if counters and args.ncu else kept) as recording:
        report = recording.report(by="span", from_ns=begin_ns, to_ns=end_ns)
        return Training(how, report, recording.report(by="span", from_ns=begin_ns, to_ns=end_ns, model="none"))


def mean_busy_w(report: joulemap.types.Report) -> float:
    """Power while any kernel runs: what a split by time takes for the power of each."""
    totals = report.totals
    idle_s = sum(row.busy_s for row in report.rows if row.kind == "idle")
    if totals.total_energy_j is None or totals.idle_energy_j is None:
        raise SystemExit("the board gave no readings")
    return (totals.total_energy_j - totals.idle_energy_j) / (totals.duration_s - idle_s)


# ---- both, side by side


@dataclass
class Compared(Layer):
    """With what simpler ways say of it."""

    known: str
    ring: Figure  # by the power sensor alone
    by_time_j: float

    def line(self) -> str:
        def figure(of: Figure, energy_j: float) -> str:
            text = f"{1e3 * energy_j:.2f} ±{1e3 * of.half_j:.2f} mJ"
            return f"{1e6 * of.call_s:7.0f} us {text:>22} {math.nan if of.clock_mhz is None else of.clock_mhz:5.0f}"

        held = ("yes" if self.held else "NO") if self.same_work else "other work"
        both = f"{figure(self.alone, self.truth_j)} {self.gap_w:5.0f} {figure(self.training, self.training.energy_j)}"
        others = " ".join(f"{100 * self.off_by(j):+7.1f} %" for j in (self.ring.energy_j, self.by_time_j))
        return f"{self.path:34} {both} {self.known:>10} {100 * self.off:+7.1f} % {held:>10} {others}"


def table(compared: list[Compared]) -> list[str]:
    head = f"{'time':>10} {'energy':>22} {'MHz':>5}"
    lines = [
        f"{'':34} {'alone, in bursts':^45} {'in training':^39}",
        f"{'layer (forward call)':34} {head} {'gap W':>5} {head} {'known':>10} {'off by':>9} {'held':>10} "
        f"{'ring':>9} {'by time':>9}",
    ]
    lines += [entry.line() for entry in sorted(compared, key=lambda entry: -abs(entry.off))]
    counted = [entry for entry in compared if entry.same_work]
    held = sum(entry.held for entry in counted)
    lines.append(f"{held} of {len(counted)} 95 % intervals hold the truth (its own interval added in quadrature)")
    if counted:
        lines += spread(
            {
                "as reported": [entry.off for entry in counted],
                "the power sensor alone": [entry.off_by(entry.ring.energy_j) for entry in counted],
                "shared by time": [entry.off_by(entry.by_time_j) for entry in counted],
            }
        )
    return lines


def setting(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gpt", help="gpt, torchvision:NAME or transformers:TYPE")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=1024, help="tokens of a sequence, or pixels of an image's edge")
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="KEY=VALUE", help="of the config")
    parser.add_argument("--layers", help="paths with commas between them; without it they are drawn")
    parser.add_argument("--per-bin", type=int, default=2, help="layers drawn of each half decade of call time")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of layers")
    parser.add_argument("--seconds", type=float, default=20.0, help="of training")
    parser.add_argument("--window", type=float, default=1.2, help="seconds of bursts at each setting")
    parser.add_argument("--live-clock", action="store_true", help="alone at the training's mean clock")
    parser.add_argument("--heat", type=float, default=0.0, help="seconds of training before each window of bursts")
    parser.add_argument("--out", type=Path, help="append the table to this file")
    parser.add_argument("--ncu", type=Path, help="what ncu counted of the program, in place of sampled counters")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="STEM",
        help="keep STEM.off.joulemap, STEM.on.joulemap and STEM.json, the layers alone",
    )
    return parser.parse_args()


def main() -> None:
    args = arguments()
    torch.manual_seed(0)
    subject = make(args.model, args.batch, args.size, dict(args.set))
    for _ in range(3):  # cuDNN and cuBLAS have chosen their kernels
        subject.step()
    paths = args.layers.split(",") if args.layers else draw_layers(subject, args.seed, args.per_bin)
    folder = tempfile.TemporaryDirectory()
    kept = args.record or Path(folder.name) / "train"
    trainings = [
        recorded(subject, args, f"{kept}.{'on' if counters else 'off'}.joulemap", counters)
        for counters in (False, True)
    ]
    player = player_of(torch.device("cuda"))
    with player.stream():
        taken = record_inputs(subject.model, paths, subject.forward, "cuda", backward=False)
    with joulemap.Session(kernels=False, counters=False) as run:
        made = {path: ready(player, given) for path, given in taken.items()}
        left_out = {path: why for path, why in made.items() if isinstance(why, str)}
        alone = {path: one for path, one in made.items() if isinstance(one, Quantity)}
        alone = {path: one for path, one in alone.items() if one.whole.call_s >= LEAST_CALL_S or args.layers}
        board = Board(run, player.device)
        seconds = (
            hold_clock(list(alone.values()), trainings[0].report.quality.clock_mhz, args.window)
            if args.live_clock
            else None
        )
        measure(
            player,
            board,
            list(alone.values()),
            window_s=args.window,
            chance=random.Random(args.seed),
            seconds=seconds,
            between=lambda: keep_warm(subject, args.heat),
        )
    truths = {path: truth(one) for path, one in alone.items()}
    if args.record:
        of = {path: {**asdict(figure), "gap_w": gap_w} for path, (figure, gap_w) in truths.items()}
        Path(f"{kept}.json").write_text(json.dumps(of, indent=1))
    lines = [*head("bursts")]
    for training in trainings:
        compared = [training.compared(path, *known) for path, known in truths.items()]
        lines += [*training.lines(), "", *table(compared), ""]
    lines += [f"{path} is left out: {why}" for path, why in left_out.items()]
    publish(lines, args.out)


if __name__ == "__main__":
    main()
