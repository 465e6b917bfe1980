"""`joulemap export -f perfetto`, read by Perfetto's own schema."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from recorded import export, query, record_two_gpus, report, unpack

WORK = {"kernel", "memcpy", "memset"}
ROWS_WITHOUT_A_SPAN = {"idle", "gap", "sampling", "outside", "unresolved", "collective"}


@dataclass
class Slice:
    track: int
    name: str
    kind: str
    start_ns: int
    says: dict[str, Any]
    end_ns: int = -1
    depth: int = 0


@dataclass
class Read:
    """A trace as trace_processor takes it: events by their time, those of one time as they stand in the file."""

    tracks: dict[int, Any] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[dict[str, Any]] = field(default_factory=list)
    values: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))


class Interned:
    """The tables of our one sequence, which packets add to."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.kinds: dict[int, str] = {}
        self.keys: dict[int, str] = {}
        self.texts: dict[int, str] = {}

    def add(self, data: Any) -> None:
        for table, entries in (
            (self.names, data.event_names),
            (self.kinds, data.event_categories),
            (self.keys, data.debug_annotation_names),
        ):
            for entry in entries:
                assert entry.iid > 0 and entry.iid not in table
                table[entry.iid] = entry.name
        for entry in data.debug_annotation_string_values:
            self.texts[entry.iid] = entry.str.decode()

    def say(self, annotations: Any) -> dict[str, Any]:
        said = {}
        for one in annotations:
            kind = one.WhichOneof("value")
            value = getattr(one, kind)
            said[self.keys[one.name_iid]] = self.texts[value] if kind == "string_value_iid" else value
        return said


def read(data: bytes) -> Read:
    trace, interned, result = Trace(), Interned(), Read()
    trace.ParseFromString(data)
    assert not trace.packet[0].HasField("track_event")
    events = []
    for number, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        assert packet.sequence_flags == (1 if number == 0 else 2)  # the state is cleared once, then needed
        interned.add(packet.interned_data)
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid > 0 and track.uuid not in result.tracks
            assert track.parent_uuid == 0 or track.parent_uuid in result.tracks
            result.tracks[track.uuid] = track
        else:
            assert packet.track_event.track_uuid in result.tracks
            events.append((packet.timestamp, packet.track_event))
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    for t_ns, event in sorted(events, key=lambda one: one[0]):
        stack = open_slices[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            (kind,) = event.category_iids
            names = interned.names[event.name_iid], interned.kinds[kind]
            stack.append(Slice(event.track_uuid, *names, t_ns, interned.say(event.debug_annotations), depth=len(stack)))
            result.slices.append(stack[-1])
        elif event.type == TrackEvent.TYPE_SLICE_END:
            stack.pop().end_ns = t_ns
        elif event.type == TrackEvent.TYPE_COUNTER:
            result.values[event.track_uuid].append((t_ns, event.double_counter_value))
        else:
            assert event.type == TrackEvent.TYPE_INSTANT
            result.instants.append(interned.say(event.debug_annotations))
    assert not any(open_slices.values())
    return result


@pytest.fixture(scope="module", params=["live", "kernels", "small", "two-gpus"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    return record_two_gpus(folder) if request.param == "two-gpus" else unpack(request.param, folder)


def zero_ns(recording: Path) -> int:
    """An imported recording may begin before 0, a trace does not."""
    start_ns: int = json.loads(export(recording, "chrome"))["otherData"]["start_ns"]
    return min(0, start_ns)


def group(trace: Read, track: int) -> str:
    name: str = trace.tracks[trace.tracks[track].parent_uuid].name
    return name


def test_each_span_stands_where_it_was_with_the_joules_of_its_row(recording: Path) -> None:
    trace = read(export(recording, "perfetto"))
    rows = [row for row in report(recording, "--by", "span")["rows"] if row["kind"] not in ROWS_WITHOUT_A_SPAN]
    told = [one for one in trace.slices if one.kind not in WORK]
    figures = ("energy_j", "energy_low_j", "energy_high_j", "energy_self_j", "busy_s", "samples")

    def known(name: str, kind: str, says: dict[str, Any]) -> tuple[str, str, str, list[float]]:
        return name, kind, says["provenance"], [-1.0 if says.get(key) is None else says[key] for key in figures]

    wanted = sorted(known(row["path"], row["kind"], row) for row in rows)
    said = sorted(known(one.name, one.kind, one.says) for one in told)
    assert [one[:3] for one in said] == [row[:3] for row in wanted]
    for one, row in zip(said, wanted, strict=True):
        assert one[3] == pytest.approx(row[3], rel=1e-12)
    ended = query(recording, "SELECT start_ns, end_ns FROM spans WHERE end_ns >= 0")
    zero = zero_ns(recording)
    assert Counter((one.start_ns + zero, one.end_ns + zero) for one in told) >= Counter(ended)


def test_outermost_spans_and_rows_without_one_add_up_to_the_total(recording: Path) -> None:
    trace, whole = read(export(recording, "perfetto")), report(recording, "--by", "span")
    (head,) = trace.instants
    outermost = sum(one.says["energy_j"] for one in trace.slices if one.kind not in WORK and one.depth == 0)
    rest = sum(row["energy_j"] for row in whole["rows"] if row["depth"] == 0 and row["kind"] in ROWS_WITHOUT_A_SPAN)
    assert outermost + rest == pytest.approx(whole["total_energy_j"], rel=0.005)
    assert head["total_energy_j"] == pytest.approx(whole["total_energy_j"], rel=1e-12)
    assert (head["simulated"], head["version"]) == (whole["simulated"], whole["version"])


def test_kernels_run_on_a_track_of_their_gpu_and_stream(recording: Path) -> None:
    trace = read(export(recording, "perfetto"))
    ran = query(recording, "SELECT start_ns, start_ns + duration_ns, stream_id FROM kernels")
    work = [one for one in trace.slices if one.kind in WORK]
    zero = zero_ns(recording)
    lines: dict[str, list[tuple[int, int]]] = defaultdict(list)  # kernels of one stream may overlap: two tracks
    for one in work:
        assert group(trace, one.track).startswith("GPU 0, ")
        assert trace.tracks[one.track].name.startswith("stream ")
        lines[trace.tracks[one.track].name.split(" (")[0]].append((one.start_ns + zero, one.end_ns + zero))
    streams = defaultdict(list)
    for start_ns, end_ns, stream in ran:
        streams[stream].append((start_ns, end_ns))
    assert sorted(map(sorted, lines.values())) == sorted(map(sorted, streams.values()))


def test_counter_tracks_are_the_readings(recording: Path) -> None:
    trace = read(export(recording, "perfetto"))
    zero, told = zero_ns(recording), []
    measured: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for board, unit, sensor, t_ns, value in query(
        recording,
        "SELECT b.name, s.unit, s.name || s.board_id, r.t_ns, r.value FROM readings r"
        " JOIN sensors s ON s.id = r.sensor_id JOIN boards b ON b.id = s.board_id"
        " WHERE s.quantity IN ('power', 'clock_sm')",
    ):
        measured[f"{board}, {unit}", sensor].append((t_ns - zero, value))
    for track, values in trace.values.items():
        board = group(trace, track).split(", ", 1)[1]
        assert trace.tracks[track].name.startswith(("power", "clock_sm"))
        told.append((f"{board}, {trace.tracks[track].counter.unit_name}", sorted(values)))
    assert told
    assert sorted(told) == sorted((unit, sorted(values)) for (unit, _), values in measured.items())


def test_the_mean_of_the_power_track_is_the_total(recording: Path) -> None:
    whole = report(recording)
    trace = read(export(recording, "perfetto"))
    total_j = 0.0
    for track, values in trace.values.items():
        if trace.tracks[track].name != "power_ring":
            continue
        steps = pairwise(values)
        total_j += sum((a[1] + b[1]) / 2 * (b[0] - a[0]) * 1e-9 for a, b in steps)
    assert total_j == pytest.approx(whole["total_energy_j"], rel=0.05)  # gain and the edges


def test_what_was_asked_for_is_all_that_is_in_it(recording: Path) -> None:
    phases = [row for row in report(recording, "--by", "span")["rows"] if row["kind"] == "phase"]
    name = phases[0]["name"]
    zero = zero_ns(recording)
    times = [(row["start_ns"] - zero, row["end_ns"] - zero) for row in phases if row["name"] == name]
    trace = read(export(recording, "perfetto", "--phase", name, "--board", "0"))
    assert trace.slices and trace.values
    for one in trace.slices:
        if one.kind in WORK:
            assert any(one.start_ns < end and one.end_ns > start for start, end in times)
    for values in trace.values.values():
        assert all(any(start <= t_ns <= end for start, end in times) for t_ns, _ in values)
    boards = {track.name for track in trace.tracks.values() if track.name.startswith("GPU")}
    assert len(boards) == 1 and boards.pop().startswith("GPU 0")
