"""Finding and running Nsight Compute (ncu)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from joulemap import _core

PLACES = ("PATH", "CUDA_HOME", "CUDA_PATH", "/usr/local/cuda*", "/opt/nvidia/nsight-compute")
"""Where ncu is looked for, in this order."""

_TOOLKITS = Path("/usr/local")
_VERSIONS = Path("/opt/nvidia/nsight-compute")
_WAIT_S = 10.0


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    """Sort folders by the numbers in their names, the highest first."""
    return sorted(paths, key=lambda path: [int(number) for number in re.findall(r"\d+", path.name)], reverse=True)


def _candidates() -> Iterator[Path]:
    found = shutil.which("ncu")
    if found:
        yield Path(found)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "bin" / "ncu"
    yield from (folder / "bin" / "ncu" for folder in _newest_first(_TOOLKITS.glob("cuda*")))
    yield from (folder / "ncu" for folder in _newest_first(_VERSIONS.glob("*")))


def find_ncu() -> str:
    """Return the path of ncu.

    Raises
    ------
    joulemap.Error
        If there is none, with the places that were looked in.
    """
    for path in _candidates():
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise _core.Error(
        f"Nsight Compute (ncu) is not here; looked in {', '.join(PLACES)}. It is part of the CUDA toolkit "
        "(package nsight-compute); a file that it wrote elsewhere can be read too"
    )


def _why(output: str) -> str:
    """Return what ncu's words mean, and the first error among them."""
    means = next(filter(None, map(_core.estimate_explain, output.splitlines())), None)
    said = next((line for line in output.splitlines() if line.startswith("==ERROR==")), "")
    return ": ".join(filter(None, (means, said.removeprefix("==ERROR==").strip()))) or output.strip()[-300:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End ncu and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_WAIT_S)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def run_ncu(
    command: Sequence[str],
    to: str | os.PathLike[str],
    *,
    page: str = "raw",
    model: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    arguments: Sequence[str] = (),
) -> None:
    """Run a program under ncu; what it counted goes to a CSV file."""
    words = [
        *(find_ncu(), "--csv", "--page", page, "--metrics", _core.estimate_metrics(model)),
        *("--target-processes", "all", "--clock-control", "none", "--cache-control", "none"),
        *arguments,
    ]
    with tempfile.TemporaryDirectory(prefix="joulemap-ncu-") as folder:
        log = Path(folder) / "log"
        try:
            process = subprocess.Popen([*words, "--log-file", str(log), *command], start_new_session=True)
        except OSError as error:
            raise _core.Error(f"{words[0]} could not be started: {error.strerror}") from error
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise _core.Error(
                f"ncu had not finished after {timeout_s:g} s and was ended. It runs each kernel several times: profile "
                "fewer (ncu's --launch-count N, --kernel-name), or allow more time"
            ) from None
        finally:
            if process.poll() is None:
                _stop(process)
        output = log.read_text(errors="replace") if log.exists() else ""
    if '"ID"' not in output:
        raise _core.Error(f"ncu counted nothing (exit code {status}): {_why(output)}")
    Path(to).write_text(output)
