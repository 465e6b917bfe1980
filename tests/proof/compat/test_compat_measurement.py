"""De Feo's measurement tools on the simulated board, whose power a script tells at each time."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import joulemap
import pytest
import torch
from joulemap.compat import _shared
from joulemap.compat.measurement import (
    AsynchronousMeasurementTool,
    EnergyMeasurementTool,
    LayerwiseMeasurementTool,
)
from joulemap.compat.measurement.processor import Processor
from joulemap.compat.measurement.sampling import Account
from torch import nn

WATTS = 400.0
KWH = 1 / 3.6e6
PIECE = ["elapsed time (s)", "CPU energy (kWh)", "GPU energy (kWh)"]
BESIDE = [
    "elapsed time (s)",
    "CPU energy (kWh)",
    "CPU utilisation (%)",
    "CPU temp (C)",
    "GPU energy (kWh)",
    "GPU utilisation (%)",
    "GPU temp (C)",
    "GPU power (W)",
]

pytestmark = pytest.mark.filterwarnings("ignore:the CPU's energy cannot be read")


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A board that draws 400 W."""
    script = tmp_path / "power.csv"
    script.write_text(f"0,36000,{WATTS:.0f},work\n")
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_SIM_SCRIPT", str(script))


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")


def read(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    return list(reader.fieldnames or []), rows


def assert_energy(row: dict[str, str]) -> None:
    """The GPU's kWh are those of 400 W within 1 %, and within their interval."""
    truth = WATTS * float(row["elapsed time (s)"]) * KWH
    assert float(row["GPU energy (kWh)"]) == pytest.approx(truth, rel=0.01)
    assert float(row["GPU energy low (kWh)"]) <= truth <= float(row["GPU energy high (kWh)"])


def test_a_row_a_piece_with_the_energy_of_its_time(steady: None, tmp_path: Path) -> None:
    path = tmp_path / "pieces.csv"
    tool = EnergyMeasurementTool(out_file=path, gpu_num=0)
    for seconds in (2.0, 1.5):
        tool.start()
        time.sleep(seconds)
        tool.stop()
    columns, rows = read(path)
    assert columns[:3] == PIECE
    assert [float(row["elapsed time (s)"]) for row in rows] == pytest.approx([2.0, 1.5], abs=0.2)
    for row in rows:
        assert_energy(row)
        assert row["CPU energy (kWh)"] == "" or float(row["CPU energy (kWh)"]) > 0
    assert joulemap.current_session() is None


def test_tools_may_measure_at_the_same_time(steady: None, tmp_path: Path) -> None:
    outer, inner = EnergyMeasurementTool(tmp_path / "a.csv"), EnergyMeasurementTool(tmp_path / "b.csv")
    outer.start()
    inner.start()
    time.sleep(1.5)
    outer.stop()
    time.sleep(0.5)
    inner.stop()
    for name in ("a.csv", "b.csv"):
        assert_energy(read(tmp_path / name)[1][0])
    assert joulemap.current_session() is None


def test_the_programs_own_session_is_used_and_stays_open(
    steady: None, session: joulemap.Session, tmp_path: Path
) -> None:
    tool = EnergyMeasurementTool(tmp_path / "a.csv")
    tool.start()
    time.sleep(1.5)
    tool.stop()
    assert session.running
    assert_energy(read(tmp_path / "a.csv")[1][0])


def test_a_cpu_that_cannot_be_read_is_an_empty_field_and_one_warning(
    steady: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if any(board.backend == "rapl" for board in joulemap.boards()):
        pytest.skip("this machine tells the CPU's energy")
    monkeypatch.setattr(_shared, "_warned", set())
    with pytest.warns(RuntimeWarning, match=r"CPU's energy cannot be read.*To allow it: .*modprobe") as caught:
        tool = EnergyMeasurementTool(tmp_path / "a.csv")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EnergyMeasurementTool(tmp_path / "b.csv")
    tool.start()
    tool.stop()
    assert read(tmp_path / "a.csv")[1][0]["CPU energy (kWh)"] == ""


def test_wrong_order_and_missing_gpu_say_what_to_do(simulated: None, tmp_path: Path) -> None:
    for make in (EnergyMeasurementTool, AsynchronousMeasurementTool, LayerwiseMeasurementTool):
        with pytest.raises(joulemap.NoDeviceError, match="doctor"):
            make(tmp_path / "a.csv", gpu_num=7)
        with pytest.raises(RuntimeError, match=r"start\("):
            make(tmp_path / "a.csv").stop()
    tool = EnergyMeasurementTool(tmp_path / "a.csv")
    tool.start()
    with pytest.raises(RuntimeError, match="twice"):
        tool.start()
    tool.stop()


# ---- the process beside ----


def test_rows_at_intervals_are_there_when_stop_returns(steady: None, tmp_path: Path) -> None:
    path = tmp_path / "beside.csv"
    tool = AsynchronousMeasurementTool(out_file=path, gpu_num=0)
    tool.start(interval=0.5)
    time.sleep(2.2)
    tool.stop()
    columns, rows = read(path)
    assert columns[:8] == BESIDE
    times = [float(row["elapsed time (s)"]) for row in rows]
    assert times[:-1] == [0.5 * (1 + i) for i in range(len(times) - 1)]
    assert 2.2 <= times[-1] < 2.2 + 1
    assert len(rows) >= 5
    for row in rows[2:]:  # from 1.5 s on: before, the sensors' periods are more than a percent
        assert_energy(row)
    for row in rows:
        assert float(row["GPU temp (C)"]) > 20
        assert 0 <= float(row["GPU utilisation (%)"]) <= 100
        assert 0 <= float(row["CPU utilisation (%)"]) <= 100
    assert [float(row["GPU power (W)"]) for row in rows[1:-1]] == pytest.approx([WATTS] * (len(rows) - 2), rel=0.02)


def test_an_interval_that_is_too_short_ends_all_the_same(steady: None, tmp_path: Path) -> None:
    path = tmp_path / "beside.csv"
    tool = AsynchronousMeasurementTool(path)
    tool.start(0.02)
    time.sleep(0.7)
    tool.stop()
    columns, rows = read(path)
    assert columns[:8] == BESIDE
    times = [float(row["elapsed time (s)"]) for row in rows]
    assert times == sorted(times)
    assert len(times) >= 10  # of 35; a busy machine leaves out what would come more than a second late
    energies = [float(row["GPU energy (kWh)"]) for row in rows]
    assert energies[-1] == pytest.approx(WATTS * times[-1] * KWH, rel=0.03)


CRASHING = """
import os, signal, sys, time
from measurement import AsynchronousMeasurementTool

tool = AsynchronousMeasurementTool("beside.csv")
tool.start(0.1)
print(tool._process.pid, flush=True)
if os.fork() == 0:  # a worker that outlives the program, with all that was open in it
    time.sleep(20)
time.sleep(60)
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_rows_are_whole_after_the_program_was_killed(steady: None, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(CRASHING)
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "joulemap.compat", str(script)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert program.stdout is not None
        sampler = int(program.stdout.readline())
        path = tmp_path / "beside.csv"
        deadline = time.monotonic() + 30
        while not path.exists() or path.read_text().count("\n") < 12:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        program.kill()
        program.wait()
        while is_alive(sampler):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.killpg(program.pid, signal.SIGKILL)
    assert path.read_text().endswith("\n")
    columns, rows = read(path)
    assert len(rows) >= 11
    assert all(None not in row and None not in row.values() for row in rows)  # as many cells as columns
    times = [float(row["elapsed time (s)"]) for row in rows]
    assert times[:-1] == pytest.approx([0.1 * (1 + i) for i in range(len(times) - 1)])
    assert columns[:8] == BESIDE


def test_a_process_that_cannot_begin_says_why(simulated: None, tmp_path: Path) -> None:
    tool = AsynchronousMeasurementTool(tmp_path / "no folder" / "beside.csv")
    with pytest.raises(joulemap.Error, match="did not begin: FileNotFoundError"):
        tool.start(0.1)
    with pytest.raises(RuntimeError, match="nothing is being measured"):
        tool.stop()
    with pytest.raises(ValueError, match="interval"):
        AsynchronousMeasurementTool(tmp_path / "a.csv").start(0)


class Constant:
    """Stands for a session: a watt, all the time, asked for no longer an interval than allowed."""

    def __init__(self, most_ns: int) -> None:
        self.most_ns = most_ns

    def energy(self, from_ns: int, to_ns: int, **_: object) -> joulemap.types.Sum:
        assert 0 <= to_ns - from_ns <= self.most_ns
        joules = 1e-9 * (to_ns - from_ns)
        return joulemap.types.Sum(joules, 0.9 * joules, 1.1 * joules)


def test_a_long_run_is_added_up_of_chunks() -> None:
    account = Account(Constant(600 * 10**9), 0, 0)  # type: ignore[arg-type]
    for seconds in (1, 599, 601, 5000, 5000.5):
        total = account.until(int(seconds * 1e9))
        assert total == pytest.approx((seconds, 0.9 * seconds, 1.1 * seconds))


def test_a_program_that_forgets_to_stop_has_its_rows(steady: None, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(
            """
            import time
            from measurement import AsynchronousMeasurementTool, EnergyMeasurementTool
            beside, pieces = AsynchronousMeasurementTool("beside.csv"), EnergyMeasurementTool("pieces.csv")
            beside.start(10)
            pieces.start()
            time.sleep(1.5)
            """
        )
    )
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "joulemap.compat", str(script)], cwd=tmp_path, check=True, timeout=120
    )
    for name in ("beside.csv", "pieces.csv"):
        (row,) = read(tmp_path / name)[1]
        assert_energy(row)


def test_the_cpus_use_and_warmth_come_from_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    stat = tmp_path / "proc/stat"
    stat.write_text("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n")
    hwmon = tmp_path / "sys/class/hwmon/hwmon1"
    hwmon.mkdir(parents=True)
    (hwmon / "name").write_text("coretemp\n")
    (hwmon / "temp1_input").write_text("61500\n")
    processor = Processor(tmp_path)
    assert processor.utilisation() is None  # too soon
    time.sleep(0.06)
    stat.write_text("cpu  160 0 115 820 5 0 0 0 0 0\n")  # 75 of 100 hundredths busy
    assert processor.utilisation() == 75
    assert processor.temperature() == 61.5
    assert Processor(tmp_path / "nothing").temperature() is None


# ---- layers ----


class Timed(nn.Module):
    """Takes a known time; what the board draws meanwhile is the profile's (sim/profiles/h200.json)."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.took: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        begin = time.perf_counter()
        time.sleep(self.seconds)
        self.took.append(time.perf_counter() - begin)
        return x

    @property
    def mean_s(self) -> float:
        """What it really took: on a busy machine, more than was asked for."""
        return sum(self.took) / len(self.took)


class Linear(Timed):
    """520 W, live."""


class ReLU(Timed):
    """250 W, live."""


def layers_of(path: Path) -> dict[str, dict[str, str]]:
    return {row["layer"]: row for row in read(path)[1]}


def test_layers_have_the_mean_joules_of_a_call(simulated: None, tmp_path: Path) -> None:
    a, b, c = Linear(0.03), ReLU(0.02), Linear(0.01)
    model = nn.Sequential(a, nn.Sequential(b, c))
    path = tmp_path / "layers.csv"
    tool = LayerwiseMeasurementTool(path, 0)
    watched = tool.start(model)
    assert watched is model
    for _ in range(60):
        watched(torch.zeros(1))
    tool.stop()
    rows = layers_of(path)
    assert {name: rows[name]["scope"] for name in rows} == {
        "Sequential": "inclusive",
        "0": "leaf",
        "1": "inclusive",
        "1.0": "leaf",
        "1.1": "leaf",
    }
    # Truth: the type's power for as long as it took. The span also has the hooks around it.
    truth = {"0": 520 * a.mean_s, "1.0": 250 * b.mean_s, "1.1": 520 * c.mean_s}
    for name, joules in {**truth, "Sequential": sum(truth.values())}.items():
        assert float(rows[name]["mean energy (J)"]) == pytest.approx(joules, rel=0.05)
        assert int(rows[name]["calls"]) == 60
    own = sum(float(row["self energy (J)"]) for row in rows.values())
    assert own == pytest.approx(float(rows["Sequential"]["mean energy (J)"]), rel=1e-6)
    assert tool.results["0"] == float(rows["0"]["mean energy (J)"])


@pytest.mark.parametrize("training", [True, False])
def test_training_and_inference_and_no_hook_stays(simulated: None, tmp_path: Path, training: bool) -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(inplace=True), nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [dict(vars(module)) for module in model.modules()]
    everywhere = nn.modules.module
    hooks_before = len(everywhere._global_forward_hooks), len(everywhere._global_forward_pre_hooks)
    tool = LayerwiseMeasurementTool(tmp_path / "layers.csv")
    tool.start(model)
    for _ in range(20):
        if training:
            model(torch.randn(32, 64)).sum().backward()
            optimizer.step()
        else:
            with torch.inference_mode():
                model(torch.randn(32, 64))
    tool.stop()
    assert [dict(vars(module)).keys() for module in model.modules()] == [kept.keys() for kept in before]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert (len(everywhere._global_forward_hooks), len(everywhere._global_forward_pre_hooks)) == hooks_before
    rows = layers_of(tmp_path / "layers.csv")
    assert all(float(rows[name]["mean energy (J)"]) > 0 for name in ("0", "2", "Sequential"))
    assert (float(rows["2"]["backward (%)"] or 0) > 0) == training


def test_a_model_that_never_ran_is_an_error(simulated: None, tmp_path: Path) -> None:
    tool = LayerwiseMeasurementTool(tmp_path / "layers.csv")
    tool.start(nn.Linear(2, 2))
    with pytest.raises(joulemap.Error, match="no layer of the model ran"):
        tool.stop()
    assert joulemap.current_session() is None


def test_a_tool_that_begins_while_another_one_measures_goes_on_after_it(steady: None, tmp_path: Path) -> None:
    tool = EnergyMeasurementTool(tmp_path / "piece.csv")
    with _shared.shared.held(kernels=False) as session:  # as a reading of LayerPowerProfiler's or PowerDL's does
        tool.start()
    assert session.running
    time.sleep(1.5)  # of less, the milliseconds of a busy machine between two clocks are more than 1 %
    tool.stop()
    assert not session.running
    assert_energy(read(tmp_path / "piece.csv")[1][0])


def test_a_layerwise_tool_in_anothers_session_says_that_it_sees_no_kernels(simulated: None, tmp_path: Path) -> None:
    energy = EnergyMeasurementTool(tmp_path / "piece.csv")
    layers = LayerwiseMeasurementTool(tmp_path / "layers.csv")
    energy.start()
    with pytest.warns(RuntimeWarning, match="start the LayerwiseMeasurementTool first") as warned:
        model = layers.start(nn.Linear(8, 8))
    assert warned[0].filename == __file__
    model(torch.randn(4, 8))
    time.sleep(0.1)
    layers.stop()
    energy.stop()
