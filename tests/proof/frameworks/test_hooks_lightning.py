"""joulemap.lightning: a real Trainer, one program."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import framework_program
import pytest

if importlib.util.find_spec("lightning") is None:
    pytest.skip("lightning is not installed", allow_module_level=True)

PROGRAM = """
import logging
import lightning, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import joulemap.lightning

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.simplefilter("ignore")

class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
        self.fails = None

    def training_step(self, batch, index):
        if index == 2 and self.fails is not None:
            raise self.fails
        time.sleep(0.03)
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, index):
        self.net(batch[0])

    test_step = validation_step

    def predict_step(self, batch, index):
        return self.net(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        mask = torch.ones(10, dtype=torch.long)
        mask[: index % 3] = 0
        return {"input_ids": torch.arange(10), "attention_mask": mask}

class Reader(Net):
    def predict_step(self, batch, index):
        return self.net(batch["input_ids"][:, :8].float())

logged = []

class Log(lightning.pytorch.loggers.Logger):
    name, version = "log", 0

    def log_hyperparams(self, *_, **__):
        pass

    def log_metrics(self, metrics, step=None):
        logged.append({key: value for key, value in metrics.items() if key.startswith("energy")})

def trainer(callback, **more):
    quiet = {"enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lightning.Trainer(callbacks=[callback], accelerator="cpu", **{"logger": False, **quiet, **more})

def loader(count):
    return DataLoader(TensorDataset(torch.randn(count, 8), torch.randint(2, (count,))), batch_size=8)

energy = joulemap.lightning.EnergyCallback()
net = Net()
first = trainer(energy, max_epochs=5, logger=Log(), accumulate_grad_batches=2, log_every_n_steps=2)
first.fit(net, loader(50), loader(20))
global_step = first.global_step
first.test(net, loader(20), verbose=False)
first.predict(net, loader(12))
found = {name: phase(energy, name) for name in ("train", "validate", "sanity check", "test", "predict")}
found |= {"global_step": global_step, "logged": logged, "parts": parts(energy)}
found["layers"] = [row.path for row in energy.report(phase="train")]
found["watched"] = joulemap.current_session()._watches != [] or "joulemap" in net._forward_pre_hooks_with_kwargs
energy.close()

with joulemap.Session() as run:
    run.watch(net, "mine")
    again = joulemap.lightning.EnergyCallback(session=run, log=False)
    trainer(again, max_epochs=1).predict(Reader(), DataLoader(Texts(), batch_size=4))
    found["texts"] = phase(again, "predict")
    found["failed"] = []
    for fails in (ValueError("bad batch"), KeyboardInterrupt()):
        net.fails = fails
        try:
            trainer(again, max_epochs=1).fit(net, loader(50))
        except (ValueError, SystemExit) as error:
            found["failed"].append(type(error).__name__)
    net.fails = None
    trainer(again, max_epochs=1).fit(net, loader(50))
    found["after_failures"] = phase(again, "train")
    found["open"] = [span.name for span in run.timeline().spans if span.end_ns is None]
    found["their_layers"] = [row.path for row in run.report(phase="train")]
    found["own_watch"] = len(run._watches)

with joulemap.Session() as run, warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    broken = joulemap.lightning.EnergyCallback()
    run.step = lambda *_, **__: 1 / 0
    trainer(broken, max_epochs=1).fit(net, loader(16))
    found["warned"] = [str(warning.message) for warning in told if "joulemap measures" in str(warning.message)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return framework_program.run(PROGRAM, tmp_path_factory.mktemp("lightning"))


def test_a_step_is_what_lightning_counts_as_one(found: dict[str, Any]) -> None:
    assert found["global_step"] == 5 * 4  # 7 batches an epoch, two a step
    assert found["train"] == {"steps": 20, "samples": 5 * 50, "tokens": None, "found": None}


def test_other_phases_have_their_own_steps(found: dict[str, Any]) -> None:
    for name, runs, samples in [("validate", 5, 20), ("test", 1, 20), ("predict", 1, 12)]:
        batches = -(-samples // 8)
        assert found[name]["steps"] == runs * batches, name
        assert found[name]["samples"] == runs * samples, name
    assert found["sanity check"]["samples"] == 16


def test_epochs_are_all_of_the_training(found: dict[str, Any]) -> None:
    framework_program.check_epochs_are_all_of_train(found)


def test_lightning_logs_the_joules_of_epochs(found: dict[str, Any]) -> None:
    logged = [entry["energy/epoch_j"] for entry in found["logged"] if "energy/epoch_j" in entry]
    framework_program.check_joules(logged, found, "epoch")


def test_lightning_logs_the_joules_of_steps_and_phases(found: dict[str, Any]) -> None:
    steps = [entry for entry in found["logged"] if "energy/j_per_step" in entry]
    framework_program.check_steps(steps, "energy/", (2, 16))  # an epoch's last step has 2
    assert len([entry for entry in found["logged"] if "energy/validate_j" in entry]) == 5
    assert len([entry for entry in found["logged"] if "energy/test_j" in entry]) == 1


def test_the_module_is_watched_as_long_as_the_fit_goes(found: dict[str, Any]) -> None:
    assert {"net.0", "net.2", "SGD"} <= set(found["layers"])
    assert not found["watched"]


def test_tokens_are_those_of_the_attention_mask(found: dict[str, Any]) -> None:
    assert found["texts"] == {"steps": 2, "samples": 6, "tokens": 60 - 2 * (0 + 1 + 2), "found": None}


def test_exceptions_leave_nothing_open_and_what_was_measured_stays(found: dict[str, Any]) -> None:
    assert found["failed"] == ["ValueError", "SystemExit"]  # which Lightning makes of Ctrl-C
    assert found["open"] == []
    assert found["after_failures"]["samples"] == 2 * (8 + 8 + 8) + 50
    assert found["after_failures"]["steps"] == 2 * 3 + 7


def test_a_model_that_is_watched_keeps_its_names_and_its_watch(found: dict[str, Any]) -> None:
    assert "mine.net.0" in found["their_layers"]
    assert found["own_watch"] == 1


def test_a_failure_of_the_measuring_side_warns_once_and_the_fit_goes_on(found: dict[str, Any]) -> None:
    assert len(found["warned"]) == 1
    assert "ZeroDivisionError" in found["warned"][0]


@pytest.mark.parametrize(
    ("module", "packages", "cure"),
    [
        ("lightning", ("lightning", "pytorch_lightning"), "pip install lightning"),
        ("keras", ("keras",), "pip install keras"),
        ("huggingface", ("transformers",), "pip install 'transformers\\[torch\\]'"),
        ("accelerate", ("accelerate",), "pip install accelerate"),
    ],
)
def test_without_the_framework_one_line_says_what_to_install(
    module: str, packages: tuple[str, ...], cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in packages:
        for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"joulemap.{module}", raising=False)
    with pytest.raises(ImportError, match=cure):
        importlib.import_module(f"joulemap.{module}")


def test_importing_joulemap_imports_no_framework() -> None:
    program = (
        "import joulemap, sys; print([n for n in ('keras', 'lightning', 'transformers', 'torch') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
