"""The pages of tasks: what they tell somebody to type is typed here, on a simulated GPU.

In a page, a block ```console holds commands ("$ COMMAND") and what they print, figures not compared, "..." for any
text. Behind the word may stand needs=NAME (a package, a program, or gpu: without it the commands are not run, but their
options must exist) and exit=N (the exit code of the last command). A block ```python is a piece of a file in examples/.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from joulemap._cli import native_folder
from recorded import unpack

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs/tasks").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[<>]?[-+]?\b\d[\d,]*(\.\d+)?|#")


def stripped(text: str) -> str:
    """Lines without what is before and behind them: a piece may stand further in than in the file it is of."""
    return "".join(line.strip() + "\n" for line in text.splitlines())


EXAMPLES = [stripped(path.read_text()) for path in (ROOT / "examples").iterdir() if path.is_file()]


@dataclass
class Step:
    """A command of a page, and the lines below it."""

    command: str
    printed: list[str]


def steps_of(block: str) -> list[Step]:
    steps: list[Step] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        else:
            steps[-1].printed.append(line)
    return steps


def is_here(need: str) -> bool:
    if need == "gpu":
        return Path("/dev/nvidiactl").exists()
    return shutil.which(need) is not None or importlib.util.find_spec(need) is not None


def shape(line: str) -> str:
    """A line without its figures, their units' prefixes (a faster CPU draws less) and the width of its columns."""
    figures = re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip()
    return re.sub(r"(?<=# )[umk](?=[JsW]\b)", "", figures)


def pattern(wanted: list[str]) -> str:
    """What all of the output must match: a line that is "..." stands for any lines, within one for any text.

    Rows and verdict are those of a quiet machine. A simulated GPU draws power as long as the CPU computes, so on a busy
    one equal layers differ, and what is equal may be dearer: of a table the first word of its head is compared.
    """
    lines, inside_table = [], False
    for line in wanted:
        inside_table = inside_table and line != ""
        head = re.match(r"(layer|type|phase|board|request).* (known|change)$", line)
        if inside_table:
            continue
        if head:
            lines.append(f"{head[1]}.*\n(.+\n)*")
            inside_table = True
        elif line == "..." or line.startswith("verdict"):
            lines.append("(.*\n)*?")
        else:
            said = re.escape(shape(line)).replace(r"\.\.\.", ".*")
            lines.append(said.replace(r"\ x\ \|", r"(\ x\ \|)?") + "\n")  # how many equal layers are one row
    return "".join(lines)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of somebody who has installed joulemap and stands in its tree."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python").chmod(0o755)
    compiler = shutil.which("nvcc")
    if compiler is not None:  # which does not bear a sanitizer's library in it
        (programs / "nvcc").write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec "{compiler}" "$@"\n')
        (programs / "nvcc").chmod(0o755)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for packed in (ROOT / "tests/data/runs").glob("*.joulemap.xz"):
        unpack(packed.name.split(".")[0], tmp_path)
    if not (native_folder() / "pkgconfig").exists():  # the build folder stands for an installed package
        subprocess.run(
            ["cmake", "--install", native_folder(), "--prefix", tmp_path / "root"], check=True, capture_output=True
        )
        native = tmp_path / "root/bin"
    else:
        native = native_folder()
    path = f"{programs}:{native}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JOULEMAP_")}
    return {**kept, "PATH": path, "JOULEMAP_SIM": "h200", "COLUMNS": "80", "OMP_NUM_THREADS": "1"}


def run_block(steps: list[Step], last_exit: int, where: Path, environment: dict[str, str]) -> None:
    for step in steps:
        done = subprocess.run(
            ["bash", "-c", step.command + '\nrc=$?; env -0 >.environment; exit "$rc"'],
            cwd=where,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        pairs = (pair.split("=", 1) for pair in (where / ".environment").read_text().split("\0") if pair)
        environment.update((name, value) for name, value in pairs if name != "_")  # of `export`
        wanted_exit = last_exit if step is steps[-1] else 0
        assert done.returncode == wanted_exit, f"$ {step.command}\n{done.stdout}{done.stderr}"
        printed = "".join(shape(line) + "\n" for line in done.stdout.splitlines())
        if step.printed:
            assert re.fullmatch(pattern(step.printed), printed), f"$ {step.command}\n{done.stdout}{done.stderr}"


def check_options(step: Step, environment: dict[str, str]) -> None:
    words = step.command.split(" -- ")[0].split()
    if words[0] != "joulemap":
        return
    told = subprocess.run(
        ["joulemap", words[1], "--help"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    for word in words[2:]:
        assert not word.startswith("-") or re.search(rf"(^|\s){re.escape(word)}\b", told), f"{step.command}: {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_tells_to_type_works(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    blocks = BLOCK.findall(page.read_text())
    assert blocks, "a page without anything to type"
    for language, info, body in blocks:
        if language == "python":
            assert any(stripped(body) in example for example in EXAMPLES), body
            continue
        assert language == "console", f"{page}: ```{language}"
        settings = dict(word.split("=") for word in info.split())
        steps = steps_of(body)
        if is_here(settings.get("needs", "bash")):
            run_block(steps, int(settings.get("exit", 0)), tmp_path, environment)
        else:
            for step in steps:
                check_options(step, environment)
