"""Scripts for older tools (tests/compat), run unchanged beside a simulated GPU; bench/gpu/compat.py: on a GPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joulemap.compat
import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "compat").glob("*.py"))
AT_A_TIME = 4  # they mostly wait: for a sensor, or for time to pass


def run(script: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script beside a simulated GPU."""
    return subprocess.run(
        [sys.executable, "-m", "joulemap.compat", *options, str(script)],
        cwd=folder,
        env={**os.environ, "JOULEMAP_SIM": "h200", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[Path, tuple[Path, subprocess.CompletedProcess[str]]]:
    """All scripts that are asked for, each in a folder of its own, a few at a time."""
    asked = {item.name for item in request.session.items}
    scripts = [script for script in SCRIPTS if any(f"[{script.stem}]" in name for name in asked)]
    folders = [tmp_path_factory.mktemp(script.stem) for script in scripts]

    def one(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
        try:  # layers one by one take as long as they may: a second does for a script that looks at its columns
            return run(script, folder, "--seconds=1")
        except subprocess.TimeoutExpired as error:  # it harms no other
            return subprocess.CompletedProcess(error.cmd, 124, "", str(error))

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        done = list(pool.map(one, scripts, folders))
    return dict(zip(scripts, zip(folders, done, strict=True), strict=True))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_an_older_tool_runs_unchanged(
    script: Path, ended: dict[Path, tuple[Path, subprocess.CompletedProcess[str]]]
) -> None:
    folder, done = ended[script]
    assert done.returncode == 0, done.stdout + done.stderr
    asks_for_cuda = "cuda" in script.read_text()
    assert done.stderr.count("what asks for CUDA runs on the CPU") == asks_for_cuda, done.stderr
    if script.stem == "measurement_pieces":
        assert len((folder / "test_energy_measurement_tool.csv").read_text().splitlines()) == 4  # one came at exit


def test_a_program_keeps_a_module_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "measurement.py").write_text("OWN = True\n")
    script = tmp_path / "program.py"
    script.write_text("import measurement, layer_power_profiler\nprint(hasattr(measurement, 'OWN'))\n")
    assert run(script, tmp_path).stdout == "False\n"
    assert run(script, tmp_path, "--keep", "measurement").stdout == "True\n"
    assert run(script, tmp_path, "--keep=measurement").stdout == "True\n"
    wrong = run(script, tmp_path, "--keep", "numpy")
    assert wrong.returncode == 1
    assert "--keep numpy: one of " in wrong.stderr


def test_a_module_is_one_under_both_names(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import measurement.energy, joulemap.compat.measurement as ours, joulemap.compat.measurement.energy as energy\n"
        "print(measurement is ours, measurement.energy is energy, measurement.__spec__.name)\n"
    )
    done = run(script, tmp_path)
    assert done.stdout == "True True joulemap.compat.measurement\n", done.stderr


CHILDREN = """
import multiprocessing, subprocess, sys
from powerdl import Mark

def name(_):
    import measurement
    return measurement.__name__ + " " + Mark.__module__

if __name__ == "__main__":
    told = "import measurement as m, sys; print(m.__name__, 'joulemap._session' in sys.modules)"
    print(subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True).stdout, end="")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(name, [0])[0])
    print(subprocess.run([sys.executable, "-c", "import sys; print('joulemap' in sys.modules)"], capture_output=True))
"""


def test_python_processes_that_a_program_starts_find_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "measurement.py").write_text("")  # of the older tool, or of the program
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("print('own site')\n")
    script = tmp_path / "program.py"
    script.write_text(CHILDREN)
    assert run(script, tmp_path).stdout.splitlines() == [
        "joulemap.compat.measurement True",
        "joulemap.compat.measurement joulemap.compat.powerdl.samples",
        r"CompletedProcess(args=["
        + repr(sys.executable)
        + r""", '-c', "import sys; print('joulemap' in sys.modules)"],"""
        r" returncode=0, stdout=b'False\n', stderr=b'')",
    ]
    assert run(script, tmp_path, "--keep", "measurement").stdout.splitlines()[:2] == [
        "measurement False",
        "measurement joulemap.compat.powerdl.samples",
    ]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "own"), os.environ.get("PYTHONPATH", "")]))
    hidden = run(script, tmp_path).stdout
    assert hidden.count("own site\n") >= 3  # in the program, in its first child, in the pool
    assert "stdout=b'own site" in hidden


def test_a_child_without_joulemap_has_its_own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "measurement.py").write_text("print('its own')")
    monkeypatch.setenv("PYTHONPATH", f"{Path(joulemap.compat.__file__).parent / 'children'}:{tmp_path}")
    monkeypatch.setenv("JOULEMAP_COMPAT", "measurement")
    program = "import sys; sys.modules['joulemap'] = None; import measurement"  # as in another Python
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "its own\n", done.stderr


def test_what_children_start_with_may_lie_behind_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(Path(joulemap.compat.__file__).parent / "children")
    done = subprocess.run(
        [sys.executable, "-c", "import measurement; print(measurement.__name__)"],
        env={
            **os.environ,
            "PYTHONPATH": f"{link}:{os.environ.get('PYTHONPATH', '')}",
            "JOULEMAP_COMPAT": "measurement",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("joulemap.compat.measurement\n", "")


def test_the_time_for_layers_one_by_one_is_an_option(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import sys, joulemap.compat\nprint(joulemap.compat.isolation_s, sys.argv[1:])\n")
    assert run(script, tmp_path).stdout == "60.0 []\n"
    assert run(script, tmp_path, "--keep", "measurement", "--seconds", "7").stdout == "7.0 []\n"
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        done = run(script, tmp_path, f"--seconds={wrong}")
        assert done.returncode == 1
        assert f"--seconds {wrong}: a number above 0" in done.stderr


def test_the_runner_for_a_real_gpu_goes_on_after_a_failure(tmp_path: Path) -> None:
    runner = Path(__file__).parents[3] / "bench" / "gpu" / "compat.py"
    home = tmp_path / "bench" / "gpu"
    home.mkdir(parents=True)
    shutil.copy(runner, home)
    scripts = tmp_path / "tests" / "compat"
    scripts.mkdir(parents=True)
    (scripts / "measurement_a.py").write_text("import measurement\nprint('first')\nraise SystemExit('second')\n")
    (scripts / "measurement_b.py").write_text("import no_such_thing, measurement\n")
    (scripts / "measurement_c.py").write_text("open('mine', 'w').close()\n")
    (scripts / "powerdl_d.py").write_text("")

    def said(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, str(home / runner.name), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stdout

    status, text = said("measurement", "--jobs", "1", "--out", str(tmp_path / "out"))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert status == 1
    assert re.fullmatch(r"measurement_a \d+\.\d s FAILED 1", lines[0])
    assert lines[1:3] == ["first", "second"]
    assert lines[3] == "measurement_b 0.0 s skipped: no_such_thing is not installed"
    assert re.fullmatch(r"measurement_c \d+\.\d s ok", lines[4])
    assert re.fullmatch(r"3 scripts in \d+ s: 1 ok, 1 skipped, 1 FAILED", lines[5])
    assert (tmp_path / "out" / "measurement_c" / "mine").exists()
    assert (tmp_path / "out" / "measurement_a.log").read_text() == "first\nsecond\n"
    assert said("powerdl")[0] == 0
    assert said("neither")[0] == 2


CUDA = """
import torch
from torch import nn

assert not torch.cuda.is_available()
model = nn.Linear(4, 4).to("cuda").cuda().to(0).to(torch.device("cuda:0"))
nn.Linear(3, 3, device="cuda")
x = torch.randn(2, 4, device="cuda:0").to(device="cuda", dtype=torch.float32).cuda(0, non_blocking=True)
with torch.device("cuda"):
    assert torch.ones(3).device.type == "cpu"
torch.set_default_device("cuda")
assert torch.ones(2).device.type == "cpu"
torch.set_default_device("cpu")
model(x).sum().backward()
torch.cuda.synchronize()
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt", map_location="cuda"))
print(int(torch.tensor([3, 4], device="cuda").sum()), torch.zeros(2).to(torch.int64).dtype)
"""


def test_what_asks_for_cuda_runs_on_the_cpu_with_one_word(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(CUDA)
    done = run(script, tmp_path)
    assert done.stdout == "7 torch.int64\n", done.stderr
    assert done.stderr == ("joulemap.compat: no CUDA here, but a simulated GPU: what asks for CUDA runs on the CPU\n")
