"""`joulemap export -f pprof`, read by the schema that pprof publishes; and the kernels inside of rows."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, message_factory
from recorded import KEYS, export, record_two_gpus, report, unpack

SCHEMA = Path("/usr/share/gocode/src/github.com/google/pprof/proto/profile.proto")  # golang-github-google-pprof-dev
WORK = {"kernel", "memcpy", "memset"}


@pytest.fixture(scope="module")
def profile_class(tmp_path_factory: pytest.TempPathFactory) -> Any:
    compiled = tmp_path_factory.mktemp("schema") / "profile.pb"
    subprocess.run(["protoc", f"-I{SCHEMA.parent}", f"--descriptor_set_out={compiled}", SCHEMA.name], check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(compiled.read_bytes())
    return message_factory.GetMessages(files.file)["perftools.profiles.Profile"]


@pytest.fixture(scope="module", params=["live", "kernels", "small", "two-gpus"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    return record_two_gpus(folder) if request.param == "two-gpus" else unpack(request.param, folder)


class Profile:
    """A profile with its numbers looked up, by the rules that its schema states."""

    def __init__(self, data: bytes, profile_class: Any) -> None:
        self.raw = profile_class.FromString(gzip.decompress(data))
        self.strings = list(self.raw.string_table)
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        self.types = [(self.strings[one.type], self.strings[one.unit]) for one in self.raw.sample_type]
        functions = {one.id: one for one in self.raw.function}
        locations = {one.id: functions[one.line[0].function_id] for one in self.raw.location}
        assert len(functions) == len(self.raw.function) and 0 not in functions
        assert len(locations) == len(self.raw.location) and 0 not in locations
        self.samples = []
        for one in self.raw.sample:
            assert len(one.value) == len(self.types) and all(value >= 0 for value in one.value)
            stack = [locations[location] for location in reversed(one.location_id)]
            labels = {self.strings[label.key]: self.strings[label.str] for label in one.label}
            self.samples.append((stack, list(one.value), labels))

    def names(self, stack: list[Any]) -> list[str]:
        return [self.strings[function.name] for function in stack]


@pytest.mark.parametrize("by", KEYS)
def test_samples_add_up_to_the_total_in_each_view(recording: Path, profile_class: Any, by: str) -> None:
    whole = report(recording, "--by", by)
    profile = Profile(export(recording, "pprof", "--by", by), profile_class)
    assert profile.types == [("energy", "microjoules"), ("time", "nanoseconds")]
    assert profile.strings[profile.raw.default_sample_type] == "energy"
    energy_j = sum(values[0] for _, values, _ in profile.samples) * 1e-6
    busy_s = sum(values[1] for _, values, _ in profile.samples) * 1e-9
    assert energy_j == pytest.approx(whole["total_energy_j"], rel=1e-5)
    assert busy_s == pytest.approx(sum(row["busy_s"] for row in whole["rows"] if row["depth"] == 0), rel=1e-5)
    assert profile.raw.duration_nanos == pytest.approx(whole["duration_s"] * 1e9, abs=1)
    comments = [profile.strings[number] for number in profile.raw.comment]
    assert comments[0].startswith(f"joulemap {whole['version']} by {by}")
    assert float(comments[1].removeprefix("total_energy_j ")) == pytest.approx(whole["total_energy_j"])
    for note in whole["quality"]["notes"]:
        assert note in comments


def test_a_stack_is_the_path_of_layers_and_then_the_kernel(tmp_path: Path, profile_class: Any) -> None:
    recording = unpack("live", tmp_path)
    profile = Profile(export(recording, "pprof"), profile_class)
    stacks = {tuple(profile.names(stack)): (values, labels) for stack, values, labels in profile.samples}
    values, labels = stacks["Sequential", "0", "0.2", "gemm_large"]
    assert labels == {"provenance": "fitted", "kind": "kernel", "boards": "0"}
    inside = [one for stack, one, _ in profile.samples if "0.2" in profile.names(stack)]
    rows = {(row["path"], row["kind"]): row for row in report(recording)["rows"]}
    # What is below zero (unresolved) is taken off all rows, here 0.1 %.
    assert sum(one[0] for one in inside) * 1e-6 == pytest.approx(rows["0.2", "layer"]["energy_j"], rel=2e-3)
    assert 0 < values[0] * 1e-6 < rows["0.2", "layer"]["energy_j"]
    (of_layer,) = {
        profile.strings[function.filename]
        for stack, _, _ in profile.samples
        for function in stack
        if profile.strings[function.name] == "0.2"
    }
    assert of_layer == rows["0.2", "layer"]["type"]


@pytest.mark.parametrize("by", ["layer", "type", "span"])
def test_kernels_inside_of_rows_leave_the_rows_as_they_are(recording: Path, by: str) -> None:
    plain, inside = report(recording, "--by", by), report(recording, "--by", by, "--kernels")
    assert inside["total_energy_j"] == plain["total_energy_j"]
    without = [row for row in inside["rows"] if row["kind"] not in WORK]
    figures = ("name", "path", "kind", "depth", "calls", "busy_s", "energy_j")
    for one, row in zip(without, plain["rows"], strict=True):
        assert {key: one[key] for key in figures} == {
            key: pytest.approx(row[key], rel=1e-9, abs=1e-9) if isinstance(row[key], float) else row[key]
            for key in figures
        }
    total_j = sum(row["energy_self_j"] for row in inside["rows"])
    assert total_j == pytest.approx(plain["total_energy_j"], rel=1e-9)
    calls = sum(row["calls"] for row in inside["rows"] if row["kind"] in WORK)
    by_kernel = report(recording, "--by", "kernel")["rows"]
    assert calls == sum(row["calls"] for row in by_kernel if row["kind"] in WORK and row["depth"] == 0)
