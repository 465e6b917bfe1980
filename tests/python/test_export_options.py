"""What is asked for with --phase, --board, --process and --by is what every format has, and adds up."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from recorded import export, query, record_two_gpus, report, unpack


def folded(data: bytes) -> float:
    return sum(int(line.rsplit(" ", 1)[1]) for line in data.decode().splitlines()) * 1e-6


def openmetrics(data: bytes) -> float:
    samples = re.findall(r"^joulemap_energy_joules_total\{.*\} (\S+)$", data.decode(), re.MULTILINE)
    return sum(map(float, samples))


def pprof(data: bytes) -> float:
    """Find its comment of the total; test_export_pprof.py reads samples."""
    text = re.search(rb"total_energy_j ([0-9.e+-]+)", gzip.decompress(data))
    assert text is not None
    return float(text[1])


def perfetto(data: bytes) -> float:
    """Find the event at its beginning; test_export_perfetto.py reads all others."""
    value: float = Trace.FromString(data).packet[1].track_event.debug_annotations[0].double_value
    return value


READERS: dict[str, Callable[[bytes], float]] = {
    "csv": lambda data: sum(float(row["energy_self_j"]) for row in csv.DictReader(data.decode().splitlines())),
    "json": lambda data: sum(row["energy_self_j"] for row in json.loads(data)["rows"]),
    "power": lambda data: sum(float(row["energy_j"] or 0) for row in csv.DictReader(data.decode().splitlines())),
    "folded": folded,
    "chrome": lambda data: float(json.loads(data)["otherData"]["total_energy_j"]),
    "perfetto": perfetto,
    "pprof": pprof,
    "openmetrics": openmetrics,
}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("recordings")
    return {"live": unpack("live", folder), "two-gpus": record_two_gpus(folder)}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("by", ["layer", "phase"])
@pytest.mark.parametrize("name", ["live", "two-gpus"])
def test_every_format_is_of_what_was_asked_for(recordings: dict[str, Path], name: str, by: str, form: str) -> None:
    recording = recordings[name]
    if name == "live":  # format 1: a process is its pid
        pids = query(recording, "SELECT id FROM processes ORDER BY id")
    else:
        pids = query(recording, "SELECT pid FROM processes ORDER BY id")
    whole = report(recording)["total_energy_j"]
    totals = set()
    for options in ((), ("--phase", "train"), ("--board", "0"), ("--process", str(pids[-1][0]))):
        total_j = report(recording, "--by", by, *options)["total_energy_j"]
        told_j = READERS[form](export(recording, form, "--by", by, *options))
        assert told_j == pytest.approx(total_j, rel=0.005), options
        totals.add(total_j)
    assert max(totals) == pytest.approx(whole) and min(totals) < 0.99 * whole


def test_the_command_has_no_format_that_nobody_reads_here() -> None:
    header = (Path(__file__).parents[2] / "include" / "joulemap" / "report.h").read_text()
    formats = re.search(r"define JM_EXPORT_FORMAT_MAP\(X\)\s*\\\n((?:\s+X\(\w+\)\s*\\?\n)+)", header)
    assert formats is not None and set(re.findall(r"X\((\w+)\)", formats[1])) == set(READERS)
