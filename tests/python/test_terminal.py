"""Names of a recording from elsewhere may hold what a terminal obeys; it is shown them without."""

from __future__ import annotations

import csv
import io
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import joulemap
import pytest
from joulemap._cli import native_folder

ESCAPES = "\x1b]0;title\x07\x1b[2J\u009b31m\u202eabc\r\nx\ty"
OBEYED = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
COMMAND = str(native_folder() / "joulemap")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("names") / "run.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run, run.phase(f"phase{ESCAPES}"):
        with run.window(f"window{ESCAPES}", type=f"type{ESCAPES}"):
            run.flush()
        run.mark(f"mark{ESCAPES}")
    yield path


def on_terminal(*words: str) -> bytes:
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(COMMAND, [COMMAND, *words], {**os.environ, "NO_COLOR": "1"})
    said = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:  # its end, of a terminal
            break
        if not more:
            break
        said += more
    os.close(fd)
    assert os.waitpid(pid, 0)[1] == 0, said
    return said.replace(b"\r\n", b"\n")


@pytest.mark.parametrize("form", ["csv", "openmetrics", "json", "folded", "chrome"])
def test_an_export_tells_a_terminal_nothing_to_do(recording: Path, form: str) -> None:
    for more in ([], ["-o", "/dev/tty"]):
        said = on_terminal("export", str(recording), "--format", form, "--by", "phase", *more)
        assert b"]0;title" in said or b"]0,title" in said
        assert OBEYED.findall(said) == []


@pytest.mark.parametrize("words", [["report"], ["report", "--json"], ["report", "--by", "time"]])
def test_a_report_tells_a_terminal_nothing_to_do(recording: Path, words: list[str]) -> None:
    assert OBEYED.findall(on_terminal(words[0], str(recording), *words[1:])) == []


def test_files_have_names_as_they_are(recording: Path) -> None:
    done = subprocess.run(
        [COMMAND, "export", recording, "--format", "csv", "--by", "phase"], capture_output=True, timeout=60, check=True
    )
    names = [row["name"] for row in csv.DictReader(io.StringIO(done.stdout.decode(), newline=""))]
    assert f"phase{ESCAPES}" in names


def test_an_error_in_a_traceback_tells_a_terminal_nothing_to_do(recording: Path) -> None:
    with pytest.raises(joulemap.Error, match="this recording has: phase") as error:
        joulemap.Recording(recording).report(phase="none")
    assert OBEYED.findall(str(error.value).encode()) == []
