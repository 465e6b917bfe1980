"""`joulemap run`: trainers and `generate` of programs that know nothing of joulemap."""

from __future__ import annotations

from pathlib import Path

import pytest
from found_program import calls, recorded

OVERRIDE = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.set_num_threads(1)


class Model(GPT2LMHeadModel):
    def generate(self, ids, prefix=None, **kwargs):
        if prefix is None:
            raise ValueError("called twice")
        return super().generate(torch.cat([prefix, ids], 1), **kwargs)


model = Model(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=100, bos_token_id=0, eos_token_id=99)).eval()
ids = torch.randint(0, 98, (2, 5))
for _ in range(3):
    print(model.generate(ids, prefix=ids, max_new_tokens=8, do_sample=False, pad_token_id=0).shape)
"""

KERAS = """
import keras
import numpy as np


class Seen(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        print("epoch", self.params["epochs"], self.params["steps"], self.params["verbose"])


x, y = np.random.rand(512, 64).astype("float32"), np.random.randint(0, 10, 512)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, epochs=2, batch_size=64, verbose=0, validation_split=0.25, callbacks=[Seen()])
model.fit(x, y, 64, 1, 0, [Seen()])
"""

KERAS_CALLS = """
import keras
import numpy as np

block = keras.Sequential([keras.layers.Dense(32, name="up"), keras.layers.Dense(16, name="down")], name="block")
inputs = keras.Input((16,))
model = keras.Model(inputs, keras.layers.Dense(4, name="head")(block(inputs)), name="net")
other = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="up")], name="other")
x = np.random.rand(8, 16).astype("float32")
for _ in range(12):
    y = other(model(x))
print(y.shape == (8, 2))
try:
    model(np.zeros((8, 3), "float32"))
except ValueError:
    print("refused")
model.compile("sgd", "mse")
model.fit(x, np.zeros((8, 4)), verbose=0, epochs=2)
"""

TRAINER = """
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.set_num_threads(1)
data = [{"input_ids": (ids := torch.randint(0, 98, (16,))), "labels": ids} for _ in range(64)]
arguments = TrainingArguments(
    tempfile.mkdtemp(), per_device_train_batch_size=4, max_steps=8, report_to=[], save_strategy="no", use_cpu=True
)
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=100))
Trainer(model, arguments, train_dataset=data).train()
"""


def test_an_override_of_generate_runs_once_and_its_passes_are_steps(tmp_path: Path) -> None:
    report = recorded(tmp_path, OVERRIDE)
    assert report["stdout"].count("torch.Size([2, 18])") == 3
    assert report["step_name"] == "forward pass of generate"
    assert report["steps"] == 3 * 8
    assert calls(report)["transformer.h.0.mlp"] == 3 * 8


def test_callbacks_of_keras_see_what_they_see_without_it(tmp_path: Path) -> None:
    report = recorded(tmp_path, KERAS)
    assert report["stdout"].splitlines() == ["epoch 2 6 0", "epoch 2 6 0", "epoch 1 8 0"]
    assert (report["step_phase"], report["kind_steps"]) == ("train", 2 * 6)  # the last call has no place for ours


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_eager_calls_of_keras_have_layers_and_steps(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", backend)
    report = recorded(tmp_path, KERAS_CALLS.partition("model.compile")[0])
    assert report["stdout"] == "True\nrefused\n"
    layers = {"net", "block", "block.up", "block.down", "head"}
    found = calls(report)
    assert {path for path in found if not path.startswith("other")} == layers
    assert {found[path] for path in layers - {"net"}} == {12}
    assert (found["other"], found["other.up"]) == (12, 12)
    assert report["step_name"] == "forward pass"
    assert report["kind_steps"] == 12 + 1  # one was refused
    types = {row["path"]: row["type"] for row in report["rows"] if row["kind"] == "layer"}
    assert not any(row["kind"] == "nvtx" for row in report["rows"])  # Keras' own scopes would be the layers again
    assert (types["block.up"], types["block"]) == ("Dense(32)", "Sequential")


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_steps_of_a_trainer_of_keras_win(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", backend)
    report = recorded(tmp_path, KERAS_CALLS)
    assert (report["step_phase"], report["kind_steps"]) == ("train", 2)


def test_a_trainer_of_hugging_face_has_steps_layers_and_tokens(tmp_path: Path) -> None:
    report = recorded(tmp_path, TRAINER)
    assert (report["step_phase"], report["kind_steps"]) == ("train", 8)
    assert report["tokens"] == 8 * 4 * 16
    assert calls(report)["transformer.h.1.attn"] == 8
