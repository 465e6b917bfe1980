"""Sinks with the real TensorBoard, MLflow and Weights & Biases: what they wrote, read back with their own readers."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# One run is followed by all of them at once. TensorBoard's files are read here, where its reader is loaded already.
PROGRAM = """
import importlib.util, json, sys, time, warnings
import joulemap, joulemap.sinks, joulemap.sinks._sink
from joulemap import _core

warnings.simplefilter("error", RuntimeWarning)
joulemap.sinks._sink._REST_S = 0.1
here = {name for name in ("torch", "tensorboard", "tensorflow", "mlflow", "wandb") if importlib.util.find_spec(name)}
readers, answers = {}, {}

def read_events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray
    events = EventAccumulator(folder)
    events.Reload()
    scalars = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    texts, images = {}, {tag: len(events.Images(tag)[0].encoded_image_string) for tag in events.Tags()["images"]}
    for tag in events.Tags()["tensors"]:
        plugin = events.SummaryMetadata(tag).plugin_data.plugin_name
        told = [(e.step, make_ndarray(e.tensor_proto)) for e in events.Tensors(tag)]
        if plugin == "scalars":
            scalars[tag] = [(step, float(value)) for step, value in told]
        elif plugin == "text":
            texts[tag.removesuffix("/text_summary")] = told[-1][1].reshape(-1)[0].decode()
        elif plugin == "images":
            images[tag] = len(told[-1][1][-1])
    return {"scalars": scalars, "texts": texts, "images": images}

def read_mlflow(run_id):
    import mlflow
    client = mlflow.MlflowClient()
    data = client.get_run(run_id).data
    scalars = {key: [(m.step, m.value) for m in client.get_metric_history(run_id, key)] for key in data.metrics}
    files = {f.path: f.file_size for f in client.list_artifacts(run_id, "joulemap")}
    text = mlflow.artifacts.load_text(f"runs:/{run_id}/joulemap/report.txt")
    report = mlflow.artifacts.load_dict(f"runs:/{run_id}/joulemap/report.json")
    return {"scalars": scalars, "texts": dict(data.tags), "files": files, "text": text, "report": report}

def follow(run):
    if {"torch", "tensorboard"} <= here:
        from torch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter("torch")
        joulemap.sinks.log_to_tensorboard(run, writer, every=2)
        readers["torch"] = lambda: read_events("torch")
        joulemap.sinks.log_to_tensorboard(run, "folder", every=2, figures=())
        readers["folder"] = lambda: read_events("folder")
    if {"tensorflow", "tensorboard"} <= here:
        import tensorflow
        joulemap.sinks.log_to_tensorboard(run, tensorflow.summary.create_file_writer("tensorflow"), every=2)
        readers["tensorflow"] = lambda: read_events("tensorflow")
    if "mlflow" in here:
        import mlflow
        mlflow.set_tracking_uri("file:store")
        joulemap.sinks.log_to_mlflow(run, every=2)
        run_id = mlflow.active_run().info.run_id
        readers["mlflow"] = lambda: read_mlflow(run_id)
    if "wandb" in here:
        import wandb
        try:
            joulemap.sinks.log_to_wandb(run)
        except RuntimeError as error:
            answers["wandb without a run"] = str(error)
        history = wandb.init(mode="offline", project="joules")
        joulemap.sinks.log_to_wandb(run, every=2)
        readers["wandb"] = lambda: (history.finish(), {"file": history.settings.sync_file})[1]
        return history

def layer(seconds):
    number = _core.intern("Linear(50)")
    span = _core.span_begin(_core.SPAN_KINDS["forward"], _core.intern("blocks.0"), number, 0)
    time.sleep(seconds)
    _core.span_end(span)

with joulemap.Session(sim="h200", cpu=False) as run:
    history = follow(run)
    for step in range(1, 6):
        with run.step(samples=4, tokens=40) as scope:
            layer(0.02 * step)
        if step == 1:
            begin_ns, first_ns = scope.start_ns, None
        if step == 2:
            first_ns = scope.end_ns
        time.sleep(0.3)
        if history is not None:
            history.log({"loss": 1 / step}, step=10 * step)  # of the program's own, on steps of its own
    end_ns = scope.end_ns
totals = run.report().totals
answers["truth"] = {
    "first": run.energy(begin_ns, first_ns),
    "total_j": totals.total_energy_j,
    "low_j": totals.total_low_j,
    "verdict": run.report().verdict,
}
answers.update((name, read()) for name, read in readers.items())
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each logger has of one run, and what the run says itself."""
    folder = tmp_path_factory.mktemp("loggers")
    script = folder / "program.py"
    script.write_text(PROGRAM)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "MLFLOW_ALLOW_FILE_STORE": "true",  # without it a data base is asked for, which mlflow-skinny has not
        "WANDB_SILENT": "true",
        "HOME": str(folder),
    }
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "wandb" in result:
        result["wandb"]["records"] = read_wandb(folder / result["wandb"]["file"])
    return result


def read_wandb(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The rows of history and summary in an offline run's file: LevelDB's log format behind seven bytes of its own."""
    from wandb.proto import wandb_internal_pb2

    data, at, whole = path.read_bytes(), 7, b""
    assert data.startswith(b":W&B")
    rows = []
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, part = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole = (whole if part in (3, 4) else b"") + data[at + 7 : at + 7 + length]
        at += 7 + length
        if part in (1, 4):  # whole, or the last piece
            record: Any = wandb_internal_pb2.Record()  # type: ignore[attr-defined,unused-ignore]
            record.ParseFromString(whole)
            kind = record.WhichOneof("record_type")
            items = {"history": record.history.item, "summary": record.summary.update}.get(kind, [])
            rows.append((kind, {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}))
    return rows


def written(answers: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in answers:
        pytest.skip(f"{name} is not installed")
    found: dict[str, Any] = answers[name]
    return found


@pytest.mark.parametrize("name", ["torch", "folder", "tensorflow", "mlflow"])
def test_scalars_have_the_joules_of_their_steps(answers: dict[str, Any], name: str) -> None:
    scalars, truth = written(answers, name)["scalars"], answers["truth"]
    assert [step for step, _ in scalars["energy/j_per_step"]] == [2, 4, 5]
    first_j = scalars["energy/j_per_step"][0][1]
    assert truth["first"][1] <= 2 * first_j <= truth["first"][2]  # asked later, with readings that came since
    assert scalars["energy/j_per_sample"][0][1] == pytest.approx(
        first_j / 4, rel=1e-6
    )  # files of TensorBoard have 32 bits
    assert scalars["energy/j_per_token"][0][1] == pytest.approx(first_j / 40, rel=1e-6)
    assert len(scalars["power/gpu0_w"]) == len(scalars["energy/total_j"]) == 3
    assert scalars["joulemap/total_energy_j"] == [[5, pytest.approx(truth["total_j"], rel=1e-6)]]
    assert scalars["joulemap/total_low_j"][0][1] == pytest.approx(truth["low_j"], rel=1e-6)


@pytest.mark.parametrize("name", ["torch", "folder", "tensorflow"])
def test_tensorboard_has_the_table_the_verdict_and_figures(answers: dict[str, Any], name: str) -> None:
    found = written(answers, name)
    assert found["texts"]["joulemap/verdict"] == answers["truth"]["verdict"]
    assert "\n    blocks.0 " in found["texts"]["joulemap/layers"].replace("\n      blocks.0", "\n    blocks.0")
    drawn = importlib.util.find_spec("matplotlib") is not None and name != "folder"
    assert set(found["images"]) == ({"joulemap/power_time", "joulemap/layer_energy"} if drawn else set())
    assert all(size > 1000 for size in found["images"].values())


def test_mlflow_has_the_report_as_artifacts_and_the_verdict_as_a_tag(answers: dict[str, Any]) -> None:
    found = written(answers, "mlflow")
    assert found["texts"]["joulemap/verdict"] == answers["truth"]["verdict"]
    assert {f"joulemap/report.{ending}" for ending in ("json", "txt", "csv", "html")} <= set(found["files"])
    assert all(size > 100 for size in found["files"].values())
    assert found["report"]["total_energy_j"] == pytest.approx(answers["truth"]["total_j"])
    assert "blocks.0" in found["text"]


def test_wandb_has_joules_on_their_own_axis_and_the_programs_rows_are_all_there(answers: dict[str, Any]) -> None:
    records = written(answers, "wandb")["records"]
    history = [row for kind, row in records if kind == "history"]
    assert [(row["_step"], row["loss"]) for row in history if "loss" in row] == [
        (10 * step, 1 / step) for step in range(1, 6)
    ]
    told = [row for row in history if "energy/j_per_step" in row]
    assert told[0]["energy/step"] == 2
    assert answers["truth"]["first"][1] <= 2 * told[0]["energy/j_per_step"] <= answers["truth"]["first"][2]
    assert told[-1]["energy/step"] == 5
    assert told[-1]["joulemap/layers/_type"] == "table-file"


def test_wandb_has_totals_and_the_verdict_in_its_summary(answers: dict[str, Any]) -> None:
    summary: dict[str, Any] = {}
    for kind, row in written(answers, "wandb")["records"]:
        if kind == "summary":
            summary.update(row)
    assert summary["joulemap/total_energy_j"] == answers["truth"]["total_j"]
    assert summary["joulemap/total_low_j"] == answers["truth"]["low_j"]
    assert summary["joulemap/verdict"] == answers["truth"]["verdict"]


def test_wandb_without_a_run_says_what_to_call(answers: dict[str, Any]) -> None:
    written(answers, "wandb")
    assert answers["wandb without a run"] == "no run of Weights & Biases is active: call wandb.init() first"
