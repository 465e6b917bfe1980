"""What `--json` prints is what docs/schema says, and what is not is refused."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from joulemap._cli import native_folder
from recorded import KEYS, record_two_gpus, report, unpack

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"


def validator(name: str) -> Any:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("recordings")
    unpacked = {name: unpack(name, folder) for name in ("live", "kernels", "small")}
    return {**unpacked, "two-gpus": record_two_gpus(folder)}


@pytest.mark.parametrize("by", KEYS)
@pytest.mark.parametrize("name", ["live", "kernels", "small", "two-gpus"])
def test_reports_are_as_the_schema_says(recordings: dict[str, Path], name: str, by: str) -> None:
    validator("report").validate(report(recordings[name], "--by", by))


def test_a_report_of_a_phase_and_one_with_kernels_are_too(recordings: dict[str, Path]) -> None:
    validator("report").validate(report(recordings["live"], "--phase", "train", "--by", "span", "--kernels"))


def joulemap(*arguments: str) -> dict[str, Any]:
    command = [str(native_folder() / "joulemap"), *arguments]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return told


def rows_of_another_view(whole: dict[str, Any]) -> None:
    whole["by"] = "layer"


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a row without its energy": lambda whole: whole["rows"][0].pop("energy_j"),
    "a text where a number stands": lambda whole: whole["rows"][0].update(busy_s="1.5"),
    "an unknown provenance": lambda whole: whole["rows"][0].update(provenance="guessed"),
    "a field that nobody knows": lambda whole: whole["quality"].update(mood="good"),
    "calls below zero": lambda whole: whole.update(steps=-1),
    "a null that may not be": lambda whole: whole.update(simulated=None),
    "an unknown view": lambda whole: whole.update(by="colour"),
    "occurrences in a view that has none": rows_of_another_view,
    "an occurrence without its time": lambda whole: whole["rows"][0].pop("start_ns"),
    "no rows": lambda whole: whole.pop("rows"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_report_is_refused(recordings: dict[str, Path], what: str) -> None:
    whole = report(recordings["small"], "--by", "span")
    validator("report").validate(whole)
    wrong = copy.deepcopy(whole)
    WRONG[what](wrong)
    with pytest.raises(jsonschema.ValidationError):
        validator("report").validate(wrong)


@pytest.mark.parametrize("name", ["live", "kernels", "small", "two-gpus"])
def test_power_over_time_is_as_the_schema_says(recordings: dict[str, Path], name: str) -> None:
    schema, told = validator("power"), joulemap("report", str(recordings[name]), "--by", "time", "--json")
    schema.validate(told)
    assert all(len(board["bins"]) > 1 for board in told["boards"])
    for wrong in ({**told, "mood": 1}, {"simulated": True}, {**told, "boards": [{"index": 0, "bins": []}]}):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(wrong)


NO_SENSOR = ";".join(
    f"missing:nvmlDeviceGet{what}" for what in ("Samples", "TotalEnergyConsumption", "FieldValues", "PowerUsage")
)


def stat(*options: str, faults: str = "") -> list[dict[str, Any]]:
    """What it printed, a document after the other."""
    command = [str(native_folder() / "joulemap"), "stat", "--no-cpu", "--sim", "h200,h200", "--json", *options]
    environment = {**os.environ, "JOULEMAP_SIM_FAULTS": faults} if faults else None
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout.decode().strip()
    told = []
    while text:
        document, end = json.JSONDecoder().raw_decode(text)
        told.append(document)
        text = text[end:].lstrip()
    return told


@pytest.mark.parametrize("faults", ["", NO_SENSOR])
def test_stat_is_as_the_schema_says(faults: str) -> None:
    schema = validator("stat")
    (once,) = stat("--", "sleep", "0.3", faults=faults)
    (thrice,) = stat("-r", "3", "--", "sleep", "0.2", faults=faults)
    lines = stat("--interval", "0.2", "--", "sleep", "0.7", faults=faults)
    for told in (once, thrice, *lines):
        schema.validate(told)
    assert len(thrice["runs"]) == 3 and {len(line) for line in lines} == {6, len(once)}
    assert (once["energy_j"] is None) == (thrice["energy_j"] is None) == bool(faults)
    for wrong in ({**once, "mood": 1}, {**thrice, "runs": [{}]}, {**lines[0], "until_s": None}, {}):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(wrong)


def test_diffs_are_as_the_schema_says(recordings: dict[str, Path]) -> None:
    schema = validator("diff")
    live, small = str(recordings["live"]), str(recordings["small"])
    same = joulemap("diff", live, live, "--json")
    others = joulemap("diff", live, small, "--by", "phase", "--json")
    schema.validate(same)
    schema.validate(others)
    assert {row["verdict"] for row in others["rows"]} >= {"only in A", "only in B"}
    for wrong in ({**same, "per": "layer"}, {**same, "total": {}}, {key: same[key] for key in same if key != "gpu"}):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(wrong)


@pytest.mark.parametrize("arguments", [(), ("--program", "1"), ("--clock", "1200"), ("--model", "h100")])
def test_estimates_are_as_the_schema_says(arguments: tuple[str, ...]) -> None:
    schema = validator("estimate")
    data = Path(__file__).parents[1] / "data" / "ncu" / "stencil.csv.gz"
    told = joulemap("estimate", "--csv", str(data), "--json", *arguments)
    schema.validate(told)
    told["rows"][0]["watts"] = 1
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(told)
