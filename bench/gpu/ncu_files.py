"""What `joulemap estimate` is judged by: files of ncu, and the joules that were measured beside them.

    python bench/gpu/ncu_files.py -o FOLDER [--only forms gpt resnet stencil]

FOLDER gets, of three programs that no model was taught, ``NAME.csv`` (the counters of one step) and a row in
``programs.json`` (joules of steps that nobody profiled, by the energy counter); and ``form-*.csv``: one program in the
forms that ncu can write. Clocks are left alone (``--clock-control none``). The suite's kernels in tests/data/ncu came
from a program that is gone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import joulemap

HERE = Path(__file__).resolve().parent
STEPPED = [sys.executable, str(HERE / "workloads" / "stepped.py")]
LEAST = ["--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off"]
SECONDS = 12

# What the counters of chips/gh100.json are in ncu's words, and what else might tell of power. Those that this ncu
# does not have are left out.
WANTED = """
gpu__time_duration.sum gpc__cycles_elapsed.max gpc__cycles_elapsed.avg.per_second gr__cycles_active.sum
sm__cycles_active.sum sm__cycles_elapsed.sum sm__warps_active.sum sm__warps_active.avg.pct_of_peak_sustained_active
sm__inst_executed.sum sm__inst_executed_pipe_alu.sum sm__inst_executed_pipe_fma.sum
sm__inst_executed_pipe_fmaheavy.sum sm__inst_executed_pipe_fmalite.sum sm__inst_executed_pipe_fp16.sum
sm__inst_executed_pipe_fp64.sum sm__inst_executed_pipe_lsu.sum sm__inst_executed_pipe_adu.sum
sm__inst_executed_pipe_cbu.sum sm__inst_executed_pipe_tex.sum sm__inst_executed_pipe_xu.sum
sm__inst_executed_pipe_uniform.sum sm__inst_executed_pipe_tensor.sum sm__inst_executed_pipe_tensor_op_hmma.sum
sm__inst_executed_pipe_tensor_op_imma.sum sm__inst_executed_pipe_tensor_op_gmma.sum
sm__thread_inst_executed_pred_on.sum smsp__thread_inst_executed_pred_on.sum smsp__thread_inst_executed.sum
smsp__inst_executed.sum smsp__inst_executed_pipe_fmalite.sum smsp__inst_executed_pipe_uniform.sum
sm__pipe_fp64_cycles_active.sum sm__pipe_alu_cycles_active.sum sm__pipe_fma_cycles_active.sum
sm__pipe_fmaheavy_cycles_active.sum sm__pipe_tensor_cycles_active.sum sm__pipe_tensor_op_hmma_cycles_active.sum
sm__pipe_tensor_op_imma_cycles_active.sum sm__pipe_tensor_op_gmma_cycles_active.sum
sm__pipe_tensor_op_dmma_cycles_active.sum sm__pipe_shared_cycles_active.sum sm__inst_issued.sum
l1tex__data_pipe_lsu_wavefronts.sum l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
l1tex__m_xbar2l1tex_read_sectors.sum l1tex__m_l1tex2xbar_req_cycles_active.sum l1tex__m_l1tex2xbar_write_sectors.sum
l1tex__t_sectors.sum l1tex__t_sectors_lookup_hit.sum l1tex__data_bank_reads.sum l1tex__data_bank_writes.sum
lts__t_sectors.sum lts__t_sectors.avg.pct_of_peak_sustained_elapsed lts__t_sectors_op_read.sum
lts__t_sectors_op_write.sum lts__t_sectors_lookup_hit.sum lts__t_requests.sum dram__bytes_read.sum
dram__bytes_write.sum dram__read_throughput.avg.pct_of_peak_sustained_elapsed
dram__write_throughput.avg.pct_of_peak_sustained_elapsed dram__throughput.avg.pct_of_peak_sustained_elapsed
dram__cycles_elapsed.avg.per_second
"""


def ncu_path() -> str:
    """Return ncu's path: on PATH, else the newest under the usual folders."""
    found = shutil.which("ncu")
    if found is not None:
        return found
    places = [*Path("/usr/local").glob("cuda*/bin/ncu"), *Path("/opt/nvidia/nsight-compute").glob("*/ncu")]
    return str(sorted(places)[-1])


def metrics(ncu: str) -> str:
    """Return those of `WANTED` that ncu has on this chip, by their base names."""
    told = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, check=True).stdout
    have = {line.split()[0] for line in told.splitlines() if "__" in line}
    left = [name for name in WANTED.split() if name.split(".")[0] not in have]
    print("ncu has no", ", ".join(left))
    return ",".join(name for name in WANTED.split() if name not in left)


def profile(ncu: str, counted: list[str], name: str, folder: Path, command: list[str]) -> None:
    """Profile a program and write its raw page, in base units."""
    report = folder / f"{name}.ncu-rep"
    begun = time.monotonic()
    done = subprocess.run([ncu, *LEAST, *counted, "-f", "-o", str(report), *command], capture_output=True, text=True)
    (folder / f"{name}.log").write_text(done.stdout[-20000:] + done.stderr[-5000:])
    page(ncu, report, folder / f"{name}.csv", "--page", "raw", "--print-units", "base")
    print(name, "profiled in", round(time.monotonic() - begun), "s, ncu ended with", done.returncode, flush=True)


def page(ncu: str, report: Path, out: Path, *how: str) -> None:
    with out.open("w") as file:
        subprocess.run([ncu, "--import", str(report), "--csv", *how], stdout=file, check=False)


def forms(ncu: str, folder: Path, stencil: Path) -> None:
    """Write one small program in all forms."""
    report = folder / "form.ncu-rep"
    some = ["--set", "full", "--launch-count", "3", "--launch-skip", "14", "-f", "-o", str(report)]
    subprocess.run([ncu, *LEAST, *some, str(stencil), "0"], check=False)
    page(ncu, report, folder / "form-details.csv", "--page", "details")
    page(ncu, report, folder / "form-details-base.csv", "--page", "details", "--print-units", "base")
    page(ncu, report, folder / "form-details-all.csv", "--page", "details", "--print-details", "all")
    page(ncu, report, folder / "form-raw.csv", "--page", "raw")
    page(ncu, report, folder / "form-raw-base.csv", "--page", "raw", "--print-units", "base")
    with (folder / "form-live.csv").open("w") as file:
        subprocess.run([ncu, *LEAST, "--csv", "--launch-count", "2", str(stencil), "0"], stdout=file, check=False)
    with (folder / "form-none.txt").open("w") as file:
        subprocess.run([ncu, *LEAST, "--csv", "-k", "nothing", str(stencil), "0"], stdout=file, check=False)
    with (folder / "form-version.txt").open("w") as file:
        subprocess.run([ncu, "--version"], stdout=file, check=False)


def measure(command: list[str]) -> dict[str, float | None]:
    """Return joules, seconds and steps of a program between its lines "begin" and "end"."""
    with joulemap.Session(kernels=False, counters=False) as run:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        while (line := child.stdout.readline()) != "begin\n":
            assert line, "the program ended"
        with run.window("steady") as window:
            while not (line := child.stdout.readline()).startswith("end"):
                assert line, "the program ended"
        child.wait()
        energy = window.energy()
    assert window.start_ns is not None
    assert window.end_ns is not None
    return {
        "steps": float(line.split()[1]),
        "seconds": (window.end_ns - window.start_ns) / 1e9,
        "energy_j": energy.energy_j,
        "energy_low_j": energy.energy_low_j,
        "energy_high_j": energy.energy_high_j,
    }


def program(ncu: str, counted: list[str], name: str, folder: Path, command: list[str], long: list[str]) -> None:
    """Measure one program's steps, and count one of them."""
    told = folder / "programs.json"
    rows = json.loads(told.read_text()) if told.exists() else {}
    rows[name] = measure(command + long)
    told.write_text(json.dumps(rows, indent=1))
    print(name, rows[name], flush=True)
    profile(ncu, counted, name, folder, command)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=["forms", "stencil", "resnet", "gpt"])
    args = parser.parse_args()
    folder: Path = args.output
    folder.mkdir(parents=True, exist_ok=True)
    ncu = ncu_path()
    stencil = folder / "stencil"
    subprocess.run(["nvcc", "-O3", "-arch=native", "-o", stencil, HERE / "workloads" / "stencil.cu"], check=True)
    if "forms" in args.only:
        forms(ncu, folder, stencil)
    counted = ["--metrics", metrics(ncu)]
    if "stencil" in args.only:
        program(ncu, counted, "stencil", folder, [str(stencil)], [str(SECONDS)])
    for name in ("resnet", "gpt"):
        if name in args.only:
            program(ncu, counted, name, folder, [*STEPPED, name], ["--seconds", str(SECONDS)])
    stencil.unlink()


if __name__ == "__main__":
    main()
