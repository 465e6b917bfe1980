"""joulemap.keras: real Keras 3, on PyTorch and on TensorFlow."""

from __future__ import annotations

import importlib.util
from typing import Any

import framework_program
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)

PROGRAM = """
import copy
import keras, numpy as np
import joulemap.keras

warnings.simplefilter("ignore")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, name="first"), keras.layers.Dense(3, name="last")])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = np.random.randn(50, 8).astype("float32"), np.random.randint(0, 3, 50)

class Slow(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.03)

class Stop(keras.callbacks.Callback):
    def __init__(self, error):
        self.error = error

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 2:
            raise self.error

class Parts(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return x[index * 15 : index * 15 + 15], y[index * 15 : index * 15 + 15]

energy = joulemap.keras.EnergyCallback()
quiet = {"callbacks": [energy, Slow()], "verbose": 0}
history = model.fit(x, y, epochs=3, batch_size=16, validation_split=0.2, **quiet).history
found = {"history": history, "parts": parts(energy)}
found["copied"] = copy.deepcopy(energy)._training.session is None
model.evaluate(x, y, batch_size=20, **quiet)
model.predict(x, **quiet)
found |= {name: phase(energy, name) for name in ("train", "validate", "test", "predict")}
found["layers"] = [row.path for row in energy.report(phase="train")]
energy.close()

with joulemap.Session() as run:
    again = joulemap.keras.EnergyCallback(session=run, log=False)
    quiet["callbacks"] = [again]
    found["failed"] = []
    for error in (ValueError("bad batch"), KeyboardInterrupt()):
        try:
            model.fit(x, y, batch_size=16, verbose=0, callbacks=[again, Stop(error)])
        except BaseException as raised:
            found["failed"].append(type(raised).__name__)
    found["open"] = [span.name for span in run.timeline().spans if span.end_ns is None]
    found["after_failures"] = phase(again, "train")
    found["silent"] = list(model.fit(Parts(), shuffle=False, **quiet).history)
    found["dataset"] = phase(again, "train")
    found["together"] = 1 if keras.backend.backend() == "torch" else 3  # which has no more
    model.compile("sgd", "mse", steps_per_execution=found["together"])
    model.fit(x, np.zeros((50, 3)), batch_size=8, **quiet)
    found["executions"] = phase(again, "train")
    if keras.backend.backend() == "torch":
        from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset
        from torch import zeros
        data = TensorDataset(zeros(50, 8), zeros(50, 3))
        some = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(range(20)))
        model.fit(some, **quiet)
        found["part"] = phase(again, "train")
    found["callbacks"] = isinstance(again, keras.callbacks.Callback)
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=["torch", "tensorflow"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    environment = {"KERAS_BACKEND": request.param, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return framework_program.run(PROGRAM, tmp_path_factory.mktemp("keras"), environment) | {"backend": request.param}


def test_a_step_is_a_batch_with_its_samples(found: dict[str, Any]) -> None:
    assert found["train"] == {"steps": 9, "samples": 3 * 40, "tokens": None, "found": None}
    assert found["validate"] == {"steps": 3, "samples": 3 * 10, "tokens": None, "found": None}
    assert found["test"] == {"steps": 3, "samples": 50, "tokens": None, "found": None}
    assert found["predict"] == {"steps": 2, "samples": 50, "tokens": None, "found": None}


def test_epochs_are_all_of_the_training(found: dict[str, Any]) -> None:
    framework_program.check_epochs_are_all_of_train(found)


def test_the_history_holds_the_joules_of_epochs(found: dict[str, Any]) -> None:
    framework_program.check_joules(found["history"]["energy_j"], found, "epoch")
    framework_program.check_joules(found["history"]["val_energy_j"], found, "validate")


def test_layers_are_rows_on_the_torch_backend(found: dict[str, Any]) -> None:
    assert {"Sequential", "first", "last"} <= set(found["layers"]) or found["backend"] != "torch"


def test_exceptions_leave_nothing_open_and_what_was_measured_stays(found: dict[str, Any]) -> None:
    assert found["failed"] == ["ValueError", "KeyboardInterrupt"]
    assert found["open"] == []
    assert found["after_failures"] == {"steps": 6, "samples": 2 * (16 + 16 + 16), "tokens": None, "found": None}


def test_data_that_do_not_tell_their_size_have_steps_without_samples(found: dict[str, Any]) -> None:
    assert found["dataset"]["steps"] == found["after_failures"]["steps"] + 4
    assert found["dataset"]["samples"] == found["after_failures"]["samples"]
    assert not any("energy" in key for key in found["silent"])


def test_batches_that_are_executed_together_are_a_step(found: dict[str, Any]) -> None:
    assert found["executions"]["steps"] == found["dataset"]["steps"] + -(-7 // found["together"])
    assert found["executions"]["samples"] == found["dataset"]["samples"] + 50


def test_a_loader_that_takes_some_of_its_data_counts_those(found: dict[str, Any]) -> None:
    if found["backend"] == "torch":
        assert found["part"]["samples"] == found["executions"]["samples"] + 20


def test_it_can_be_copied_after_a_training(found: dict[str, Any]) -> None:
    assert found["copied"]


def test_it_is_a_callback_of_keras(found: dict[str, Any]) -> None:
    assert found["callbacks"]
