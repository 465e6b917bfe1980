"""gpu_profiler, joulemap.ncu.estimate, running ncu: on what it counted on an H200 and an H100, and a stand-in."""

from __future__ import annotations

import csv
import gzip
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import joulemap.ncu
import pytest
from joulemap.compat import gpu_profiler

DATA = Path(__file__).parents[2] / "data" / "ncu"
H100 = DATA.with_name("ncu-h100")

# Does with its arguments what ncu does: starts the program, and writes its own words into the log.
NCU = """#!{python}
import gzip, os, subprocess, sys, time
words = sys.argv[1:]
log = open(words[words.index("--log-file") + 1], "w")
command = words[words.index("--log-file") + 2:]
open({seen!r}, "w").write("\\n".join(words))
what = open({what!r}).read()
if what == "sleep":
    open({seen!r} + ".pid", "w").write(str(os.getpid()))
    time.sleep(60)
log.write("==PROF== Connected to process 1\\n")
subprocess.run(command)
if what == "none":
    log.write("==WARNING== No kernels were profiled.\\n")
    sys.exit(0)
if what == "forbidden":
    log.write("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\\n")
    sys.exit(1)
log.write(gzip.open({data!r}, "rt").read())
"""


@pytest.fixture(autouse=True)
def no_kept_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the models that whoever runs the tests keeps."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for ncu on PATH, and an empty folder to be in; write into `what` what it shall do."""
    tools, folder = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    folder.mkdir()
    (tmp_path / "what").write_text("")
    program = tools / "ncu"
    program.write_text(
        NCU.format(
            python=sys.executable,
            seen=str(tmp_path / "seen"),
            what=str(tmp_path / "what"),
            data=str(DATA / "stencil.csv.gz"),
        )
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    return tmp_path


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("mode", "columns"),
    [
        ("min", ["pred_min"]),
        ("avg", ["pred_avg"]),
        ("peak", ["pred_max"]),
        ("max", ["pred_max"]),
        ("all", ["pred_min", "pred_avg", "pred_max"]),
    ],
)
@pytest.mark.parametrize(
    ("folder", "joules"),
    [(DATA, 4.236), (H100, 4.528)],  # a step, as the board's sensor measured it without ncu
    ids=["h200", "h100"],
)
def test_each_mode_writes_its_old_columns_first(
    ncu: Path, folder: Path, joules: float, mode: str, columns: list[str]
) -> None:
    assert gpu_profiler.main(["-m", mode, "-c", str(folder / "stencil.csv.gz")]) == 0
    (row,) = rows_of("predictions.csv")
    assert list(row)[: 1 + len(columns)] == ["filename", *columns]
    assert row["filename"] == "stencil.csv.gz"
    assert all(300 < float(row[column]) < 700 for column in columns)
    for column in columns:
        assert float(row[f"{column}_low"]) < float(row[column]) < float(row[f"{column}_high"])
    assert float(row["energy_j"]) == pytest.approx(joules, rel=0.1)


def test_an_app_is_run_under_ncu_with_its_script_and_arguments(ncu: Path) -> None:
    (ncu / "work" / "program.py").write_text("import sys; open('ran', 'w').write(' '.join(sys.argv[1:]))")
    assert gpu_profiler.main(["-a", sys.executable, "-s", "program.py --size 3", "-m", "all"]) == 0
    assert Path("ran").read_text() == "--size 3"
    words = (ncu / "seen").read_text().split("\n")
    assert words[words.index("--page") + 1] == "details"
    assert "dram__bytes_read.sum" in words[words.index("--metrics") + 1]
    assert Path("extracted_data.csv").read_text().count("heat(") == 16
    features = rows_of("extracted_features.csv")
    assert len(features) == 17
    assert float(features[0]["sm__inst_executed_pipe_alu_realtime.sum"]) > 1e9
    assert rows_of("predictions.csv")[0]["filename"] == "extracted_data.csv"


def test_a_csv_wins_over_an_app(ncu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_profiler.main(["-a", "false", "-c", str(DATA / "stencil.csv.gz")]) == 0
    assert not (ncu / "seen").exists()
    assert "is not run" in capsys.readouterr().err


def test_with_neither_the_newest_data_of_the_folder_is_taken(ncu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_profiler.main([]) == 1
    assert "no extracted_data.csv in" in capsys.readouterr().err
    text = gzip.decompress((DATA / "stencil.csv.gz").read_bytes()).decode()
    Path("old").mkdir()
    Path("old/extracted_data.csv").write_text("no table")
    os.utime("old/extracted_data.csv", (1, 1))
    Path("extracted_data.csv").write_text(text)
    assert gpu_profiler.main([]) == 0


def test_no_kernels_are_explained(ncu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ncu / "what").write_text("none")
    assert gpu_profiler.main(["-a", "true"]) == 1
    assert "the program started none on a GPU" in capsys.readouterr().err
    assert gpu_profiler.main(["-c", str(DATA / "none.txt")]) == 1
    assert "the program started none on a GPU" in capsys.readouterr().err
    assert not Path("predictions.csv").exists()


def test_a_user_who_may_not_read_counters_is_told_how(ncu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ncu / "what").write_text("forbidden")
    assert gpu_profiler.main(["-a", "true"]) == 1
    assert "NVreg_RestrictProfilingToAdminUsers=0" in capsys.readouterr().err


def test_a_program_that_does_not_end_is_ended(ncu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ncu / "what").write_text("sleep")
    begin = time.monotonic()
    assert gpu_profiler.main(["-a", "true", "--timeout", "1"]) == 1
    assert time.monotonic() - begin < 20
    assert "--launch-count" in capsys.readouterr().err
    pid = int((ncu / "seen.pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_ncu_is_found_in_a_toolkit(ncu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ncu / "cuda/bin").mkdir(parents=True)
    (ncu / "tools/ncu").rename(ncu / "cuda/bin/ncu")
    monkeypatch.setenv("CUDA_HOME", str(ncu / "cuda"))
    joulemap.ncu.profile(["true"], "counters.csv")
    assert len(joulemap.ncu.estimate("counters.csv").rows) == 17


def test_ctrl_c_ends_ncu_and_raises(ncu: Path) -> None:
    (ncu / "what").write_text("sleep")
    code = """
import joulemap.ncu
try:
    joulemap.ncu.profile(["true"], "x.csv")
except KeyboardInterrupt:
    print("so")
"""
    # A key on a terminal reaches ncu too, this signal goes to Python alone.
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    told = ncu / "seen.pid"
    while process.poll() is None and not (told.exists() and told.read_text()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[0] == "so\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)
    assert not Path("x.csv").exists()


def test_the_module_runs_as_a_program_from_another_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "joulemap.compat.gpu_profiler", "-c", str(DATA / "gpt.csv.gz"), "-m", "all"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "avg power:" in done.stdout
    assert (tmp_path / "predictions.csv").exists()


# ---- joulemap.ncu.estimate


def test_an_estimate_holds_what_was_measured() -> None:
    found = joulemap.ncu.estimate(DATA / "gpt.csv.gz", model=DATA / "model.json")
    assert found.totals["power_avg_w"] == pytest.approx(8335.5 / 12.074, rel=0.08)
    assert found.totals["kernels_energy_j"] == pytest.approx(8335.5 / 253, rel=0.08)
    assert found.board == "NVIDIA H200"
    assert [row.id for row in found.rows] == sorted(row.id for row in found.rows)
    assert sum(found.parts.values()) == pytest.approx(found.totals["kernels_energy_j"])


def test_counters_of_one_board_tell_of_another() -> None:
    there = joulemap.ncu.estimate(DATA / "gpt.csv.gz", kind="h100")
    assert there.totals["extrapolated"]
    assert there.totals["kernels_energy_j"] == pytest.approx(8085.9 / 226, rel=0.08)  # measured on an H100
    with pytest.raises(joulemap.Error, match="h100-pcie"):
        joulemap.ncu.estimate(DATA / "gpt.csv.gz", kind="h300")


def test_the_model_that_calibration_keeps_is_found_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("JOULEMAP_NVML", "/nonexistent")
    kept = tmp_path / "joulemap" / "models"
    kept.mkdir(parents=True)
    assert joulemap.ncu.estimate(DATA / "stencil.csv.gz").model == "shipped h200"
    shutil.copy(DATA / "model.json", kept / "GPU-1.json")
    found = joulemap.ncu.estimate(DATA / "stencil.csv.gz")
    assert found.model == str(kept / "GPU-1.json")
    assert "the only model kept" in found.notes[0]
    shutil.copy(DATA / "model.json", kept / "GPU-2.json")
    with pytest.raises(joulemap.Error, match="GPU-2"):
        joulemap.ncu.estimate(DATA / "stencil.csv.gz")


def test_a_limit_of_power_lowers_the_clock() -> None:
    usual = joulemap.ncu.estimate(DATA / "gpt.csv.gz", model="h200", limit_w=math.inf)
    held = joulemap.ncu.estimate(DATA / "gpt.csv.gz", model="h200", limit_w=500)
    assert held.totals["power_avg_w"] == pytest.approx(500, rel=0.01)
    assert held.totals["limit_clock_mhz"] < 1900
    assert usual.totals["limit_clock_mhz"] is None
    assert held.totals["kernels_s"] > usual.totals["kernels_s"]


def test_wrong_arguments_are_told() -> None:
    with pytest.raises(ValueError, match="clock_mhz"):
        joulemap.ncu.estimate(DATA / "gpt.csv.gz", clock_mhz=-1)
    with pytest.raises(joulemap.Error, match="no model is shipped"):
        joulemap.ncu.estimate(DATA / "gpt.csv.gz", model="gx999")
    with pytest.raises(TypeError):
        joulemap.ncu.estimate(3)  # type: ignore[arg-type]


def test_training_tells_its_errors_and_writes_a_model(tmp_path: Path) -> None:
    with (tmp_path / "features.csv").open("w") as file:
        file.write("kernel,family,power_w,duty,bytes\n")
        for i in range(30):
            duty, moved = (i * 7 % 30) / 30, (i * 11 % 30) / 30
            file.write(f"k{i},f{i % 5},{100 + 150 * duty + 50 * moved:.3f},{duty},{moved * 1e9}\n")
    found = joulemap.ncu.train(tmp_path / "features.csv", path=tmp_path / "model.json")
    assert found["error_by_kernel"] < 0.01
    assert found["constant_w"] == pytest.approx(100, rel=0.03)
    again = joulemap.ncu.estimate(tmp_path / "features.csv", model=tmp_path / "model.json")
    assert again.rows[3].power_w == pytest.approx(found["rows"][3]["power_w"], rel=0.02)


def test_a_program_is_profiled_and_estimated(ncu: Path) -> None:
    joulemap.ncu.profile(["true"], "counters.csv", timeout_s=30, arguments=["--launch-count", "5"])
    assert "--launch-count\n5" in (ncu / "seen").read_text()
    with pytest.raises(TypeError):
        joulemap.ncu.profile(["true"], "counters.csv", arguments=[5])  # type: ignore[list-item]
    assert len(joulemap.ncu.estimate("counters.csv").rows) == 17
