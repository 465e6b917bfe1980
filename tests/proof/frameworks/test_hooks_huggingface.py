"""joulemap.huggingface and joulemap.accelerate: a real Trainer and a real Accelerator, one program."""

from __future__ import annotations

import importlib.util
from typing import Any

import framework_program
import pytest
from framework_program import joules

if any(importlib.util.find_spec(name) is None for name in ("transformers", "accelerate")):
    pytest.skip("transformers or accelerate is not installed", allow_module_level=True)

PROGRAM = """
import torch, transformers
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
import joulemap.accelerate, joulemap.huggingface

transformers.logging.set_verbosity_error()
warnings.simplefilter("ignore")

class Texts(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.003)
        mask = torch.ones(12, dtype=torch.long)
        mask[: index % 3] = 0
        return {"input_ids": torch.arange(12), "labels": torch.arange(12), "attention_mask": mask}

def model():
    return GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=1, vocab_size=50, n_positions=32, eos_token_id=0))

class Stop(TrainerCallback):
    def __init__(self, error):
        self.error = error

    def on_substep_end(self, args, state, control, **_):
        if state.global_step == 2:
            raise self.error

def trainer(energy, *callbacks, count=50, **more):
    quiet = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
    given = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "logging_steps": 2, **quiet, **more}
    settings = TrainingArguments("out", **given)
    callbacks = [energy, *callbacks]
    return Trainer(model(), settings, train_dataset=Texts(count), eval_dataset=Texts(20), callbacks=callbacks)

energy = joulemap.huggingface.EnergyCallback()
first = trainer(energy, num_train_epochs=6, eval_strategy="epoch")
metrics = first.train().metrics
found = {"metrics": metrics, "global_step": first.state.global_step, "parts": parts(energy)}
found["evaluated"] = first.evaluate()
found["predicted"] = first.predict(Texts(10)).metrics
found |= {name: phase(energy, name) for name in ("train", "validate", "predict")}
found["history"] = first.state.log_history
found["layers"] = [row.path for row in energy.report(phase="train")]
found["all_parts"] = parts(energy)
energy.close()

with joulemap.Session() as run:
    again = joulemap.huggingface.EnergyCallback(log=False)
    found["failed"] = []
    for error in (ValueError("bad batch"), KeyboardInterrupt()):
        try:
            trainer(again, Stop(error), max_steps=5).train()
        except BaseException as raised:
            found["failed"].append(type(raised).__name__)
    found["open"] = [span.name for span in run.timeline().spans if span.end_ns is None]
    found["watched"] = len(run._watches)
    found["after_failures"] = phase(again, "train")
    trainer(again, max_steps=3, save_strategy="steps", save_steps=3).train()
    resumed = trainer(again, max_steps=5)
    resumed.train(resume_from_checkpoint=True)
    found["resumed"] = phase(again, "train")
    found["silent"] = [key for entry in resumed.state.log_history for key in entry if "energy" in key]
    plain = trainer(again, max_steps=1)
    plain.remove_callback(again)
    plain.train()
    found["plain"] = phase(again, "train")

# ---- accelerate ----

logged = []

class Tracker(GeneralTracker):
    name, requires_logging_directory = "list", False

    @property
    def tracker(self):
        return logged

    def log(self, values, step=None, **_):
        logged.append(values)

accelerator = Accelerator(cpu=True, log_with=Tracker(), gradient_accumulation_steps=2)
accelerator.init_trackers("test")
net = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 2))
data, held_out = (TensorDataset(torch.randn(n, 8), torch.randint(2, (n,))) for n in (50, 20))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net, optimizer, loader, test_loader = accelerator.prepare(
    net, optimizer, DataLoader(data, batch_size=8), DataLoader(held_out, batch_size=8)
)
with joulemap.accelerate.watch(accelerator, net) as energy:
    for epoch in range(6):
        for x, y in loader:
            with accelerator.accumulate(net):
                loss = nn.functional.cross_entropy(net(x), y)
                accelerator.backward(loss)
                time.sleep(0.03)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.log({"loss": loss.item()})
        with energy.phase("validate"):
            for x, y in test_loader:
                net(x)
    found["accelerate"] = {name: phase(energy, name) for name in ("train", "validate")}
    found["accelerate_layers"] = [row.path for row in energy.report(phase="train")]
accelerator.log({"loss": 0.0})
found["accelerate_logged"] = logged
found["accelerate_open"] = joulemap.current_session() is not None
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return framework_program.run(PROGRAM, tmp_path_factory.mktemp("trainer"))


def tokens(count: int) -> int:
    """Return the tokens of so many texts, padding not counted."""
    return sum(12 - index % 3 for index in range(count))


def test_a_step_is_an_optimizer_step(found: dict[str, Any]) -> None:
    assert found["global_step"] == 6 * 7  # 13 batches an epoch, two a step
    assert found["train"] == {"steps": 42, "samples": 300, "tokens": 6 * tokens(50), "found": None}


def test_evaluations_are_in_no_training_step(found: dict[str, Any]) -> None:
    assert found["validate"] == {"steps": 7 * 3, "samples": 140, "tokens": 7 * tokens(20), "found": None}
    assert found["predict"] == {"steps": 2, "samples": 10, "tokens": tokens(10), "found": None}
    inside = [part for part in found["parts"] if part[0] == "validate"]
    training = [part for part in found["parts"] if part[0] in ("train", "epoch")]
    assert all(end <= there[1] or start >= there[2] for _, start, end, *_ in inside for there in training)


def test_epochs_are_all_of_the_training(found: dict[str, Any]) -> None:
    framework_program.check_epochs_are_all_of_train(found)


def test_trainer_logs_the_joules_of_phases(found: dict[str, Any]) -> None:
    widths = sum(part[4] for part in found["parts"] if part[0] == "train")
    assert found["metrics"]["train_energy_j"] == pytest.approx(sum(joules(found, "train")), abs=widths)
    logged = [entry["eval_energy_j"] for entry in found["history"] if "eval_energy_j" in entry]
    framework_program.check_joules(logged, {"parts": found["all_parts"]}, "validate")
    assert found["evaluated"]["eval_energy_j"] == logged[-1]
    framework_program.check_joules([found["predicted"]["test_energy_j"]], {"parts": found["all_parts"]}, "predict")


def test_trainer_logs_the_joules_of_steps(found: dict[str, Any]) -> None:
    steps = [entry for entry in found["history"] if "energy_j_per_step" in entry]
    framework_program.check_steps(steps, "energy_", (2, 8))  # an epoch's last step has 2
    assert all("loss" in entry for entry in steps)
    for entry in steps:
        per_token = entry["energy_j_per_step"] / entry["energy_j_per_token"]
        assert 2 * 10 <= per_token <= 8 * 12  # tokens a step, of two texts or of eight


def test_exceptions_leave_nothing_open_and_what_was_measured_stays(found: dict[str, Any]) -> None:
    assert found["failed"] == ["ValueError", "KeyboardInterrupt"]
    assert found["open"] == []
    assert found["watched"] == 0
    assert found["after_failures"]["steps"] == 2 * 3
    assert found["after_failures"]["samples"] == 2 * 3 * 8


def test_a_resumed_training_counts_what_it_trains(found: dict[str, Any]) -> None:
    before = found["after_failures"]
    assert found["resumed"]["steps"] - before["steps"] == 5
    assert found["resumed"]["samples"] - before["samples"] == 5 * 8
    assert found["silent"] == []


def test_a_trainer_without_the_callback_is_not_measured(found: dict[str, Any]) -> None:
    assert found["plain"] == found["resumed"]


def test_the_model_is_watched(found: dict[str, Any]) -> None:
    assert {"transformer.h.0.mlp", "lm_head", "AdamW"} <= set(found["layers"])


def test_accelerate_steps_are_batches(found: dict[str, Any]) -> None:
    how = "batch of a DataLoader"
    assert found["accelerate"]["train"] == {"steps": 42, "samples": 300, "tokens": None, "found": how}
    assert found["accelerate"]["validate"] == {"steps": 18, "samples": 120, "tokens": None, "found": how}
    assert {"0", "1", "SGD"} <= set(found["accelerate_layers"])


def test_accelerator_logs_joules_inside_alone(found: dict[str, Any]) -> None:
    logged = found["accelerate_logged"]
    assert len(logged) == 7
    steps = [entry for entry in logged if "energy/j_per_step" in entry]
    framework_program.check_steps(steps, "energy/", (2, 8))
    assert logged[-1] == {"loss": 0.0}
    assert not found["accelerate_open"]


def test_a_graph_that_outlives_the_session_goes_in_silence(found: dict[str, Any]) -> None:
    assert "Exception ignored" not in found["stderr"]
