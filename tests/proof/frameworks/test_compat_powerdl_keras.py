"""PowerDL's profile_tf: real Keras 3, on PyTorch and, where they are installed, on TensorFlow and JAX."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import keras, numpy as np
from joulemap.compat.powerdl.highlevel import profile_tf

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = np.random.randn(50, 8).astype("float32"), np.random.randint(0, 3, 50)

class Parts(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return x[index * 15 : index * 15 + 15], y[index * 15 : index * 15 + 15]

def batches():
    while True:
        for index in range(4):
            yield Parts()[index]

try:
    profile_tf().fit(model, (x, y))
except RuntimeError as error:
    outside = str(error)
with profile_tf() as p:
    history = p.fit(model, (x, y), epochs=2, batch_size=16)
    p.fit(model, (x, y), epochs=2, batch_size=16, validation_split=0.2)
    p.fit(model, Parts(), epochs=1, shuffle=False)
    p.fit(model, batches(), epochs=2, steps_per_epoch=4)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16).prefetch(2)
    else:
        import torch.utils.data as data
        import torch
        dataset = data.DataLoader(data.TensorDataset(torch.tensor(x), torch.tensor(y)), batch_size=16)
    p.fit(model, dataset, epochs=2)
    found = p.infer_keras(model, x, batch_size=16, warmup_n=20)
report = p.report()
phases = [row.name for row in p._session.report("phase") if row.kind == "phase"]
print(json.dumps({
    "outside": outside,
    "history": type(history).__name__,
    "losses": history.history["loss"],
    "summary": report.summary,
    "found": found,
    "marks": [[mark.name, mark.meta] for mark in report.marks()],
    "phases": phases,
}))
"""


@pytest.fixture(scope="module", params=["torch", "tensorflow", "jax"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program of five fits and an inference found, on one backend."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    script = tmp_path_factory.mktemp("keras") / "fits.py"
    script.write_text(PROGRAM)
    environment = {
        **os.environ,
        "JOULEMAP_SIM": "h200",
        "KERAS_BACKEND": request.param,
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_fit_gives_the_history_of_keras(found: dict[str, Any]) -> None:
    assert found["history"] == "History"
    last = [row["loss"] for row in found["summary"]["batch_rows"] if row["batch"] == 3][:2]
    assert last == pytest.approx(found["losses"], rel=1e-4)


def test_samples_of_batches_are_counted_exactly(found: dict[str, Any]) -> None:
    sizes = [row["batch_size"] for row in found["summary"]["batch_rows"]]
    arrays, validated, parts, dataset = [16, 16, 16, 2], [16, 16, 8], [15, 15, 15, 5], [16, 16, 16, 2]
    assert sizes == arrays * 2 + validated * 2 + parts + parts * 2 + dataset * 2
    assert found["summary"]["infer_n_samples"] == 50


def test_batches_add_up_to_epochs_and_those_to_the_fits(found: dict[str, Any]) -> None:
    summary = found["summary"]
    batches, epochs = summary["batch_rows"], summary["epoch_energies"]
    assert [epoch["epoch"] for epoch in epochs] == [0, 1, 0, 1, 0, 0, 1, 0, 1]
    assert sum(row["energy_j"] for row in batches) == pytest.approx(summary["train_energy_j"])
    assert sum(epoch["energy_j"] for epoch in epochs) == pytest.approx(summary["train_energy_j"])
    assert sum(row["time_s"] for row in batches) == pytest.approx(summary["train_time_s"])
    assert all(row["energy_j"] > 0 for row in batches)
    assert all(row["energy_low_j"] < row["energy_j"] < row["energy_high_j"] for row in [*batches, *epochs])


def test_marks_are_those_of_torch(found: dict[str, Any]) -> None:
    names = [name for name, _ in found["marks"]]
    epoch = ["epoch_start", *["batch_start", "batch_end"] * 4, "epoch_end"]
    assert names[: 3 + 2 * len(epoch)] == ["session_start", "train_start", *epoch * 2, "train_end"]
    assert names[-5:] == ["warmup_start", "warmup_end", "infer_start", "infer_end", "session_end"]
    assert found["marks"][4][1].keys() == {"batch", "batch_size", "loss"}


def test_a_validation_is_a_phase_of_its_own(found: dict[str, Any]) -> None:
    assert sorted(found["phases"]) == ["infer", "train", "validate", "warmup"]


def test_an_inference_is_told_at_once(found: dict[str, Any]) -> None:
    assert list(found["found"]) == [
        "infer_energy_j",
        "infer_time_s",
        "infer_avg_power_w",
        "infer_j_per_sample",
        "infer_throughput_img_s",
        "infer_avg_gpu_util",
        "infer_avg_mem_util",
    ]
    assert found["found"]["infer_j_per_sample"] * 50 == pytest.approx(found["found"]["infer_energy_j"])


def test_fit_needs_with(found: dict[str, Any]) -> None:
    assert "inside `with" in found["outside"]


def test_the_callback_of_the_lower_layer_tells_a_recorder(tmp_path: Path) -> None:
    program = """
import numpy as np, keras
from joulemap.compat.powerdl import PowerCallback, PowerRecorder

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
with PowerRecorder() as recorder:
    model.fit(np.zeros((8, 4)), np.zeros((8, 2)), batch_size=4, verbose=0, callbacks=[PowerCallback(recorder)])
assert isinstance(PowerCallback(recorder_open := PowerRecorder().start()), keras.callbacks.Callback)
recorder_open.stop()
names = [mark.name for mark in recorder.marks]
assert names.count("batch_end") == 2, names
summary = recorder.report().summary
assert len(summary["batch_rows"]) == 2 and summary["train_energy_j"] > 0
assert summary["batch_rows"][0]["batch_size"] is None  # Keras does not tell
"""
    environment = {**os.environ, "JOULEMAP_SIM": "h200", "KERAS_BACKEND": "torch"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
