"""A program with a locale that has a decimal comma: what joulemap writes, reads and says is the same as without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import joulemap.ncu
import pytest

PROGRAM = """
import ctypes, locale, sys
import joulemap.ncu
from joulemap._cli import native_folder

locale.setlocale(locale.LC_ALL, "")
assert sys.argv[1] == locale.localeconv()["decimal_point"], "another locale"
recording = joulemap.Recording("run.joulemap")
for by in ("phase", "board", "span"):
    report = recording.report(by)
    print(report.table(notes=True), report.to_json())
    report.to_csv("rows.csv")
    print(open("rows.csv", encoding="utf-8").read())
core = ctypes.CDLL(str(native_folder() / "libjoulemap.so"))
opened = ctypes.c_void_p()
assert core.jm_recording_open(ctypes.byref(opened), b"run.joulemap", None) == 0
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
for form in (b"csv", b"openmetrics", b"folded", b"chrome", b"json"):
    out = ctypes.c_void_p(libc.fopen(b"out", b"w"))
    assert core.jm_export(opened, form, None, out, None) == 0
    libc.fclose(out)
    print(open("out", encoding="utf-8").read())
print(joulemap.diff(recording, recording).table())
print(joulemap.ncu.train("features.csv", path="model.json"))
print(open("model.json", encoding="utf-8").read())
try:
    joulemap.ncu.train("wrong.csv", path="wrong.json")
except joulemap.Error as error:
    print(error)
"""


def make_locale(folder: Path) -> None:
    """Make German as Germany has it in `folder`, whichever locales the machine has."""
    if shutil.which("localedef") is None:
        pytest.skip("no localedef here")
    made = folder / "de_DE.UTF-8"
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made], check=False, capture_output=True)
    if not made.is_dir():
        pytest.skip("no source of de_DE here")


def said(folder: Path, name: str, point: str) -> str:
    environment = {**os.environ, "LC_ALL": name, "LOCPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", PROGRAM, point],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_texts_and_files_are_the_same_in_every_locale(tmp_path: Path) -> None:
    make_locale(tmp_path)
    with joulemap.Session(tmp_path / "run.joulemap", sim="h200", cpu=False) as run, run.phase("train"):
        for _ in range(5):
            with run.step(samples=3):
                run.flush()
    rows = [f"kernel_{n},{n * 0.5},{n * 7 % 5 * 1.5},{100 + n * 3.5 + n * 7 % 5 * 2.25}" for n in range(24)]
    (tmp_path / "features.csv").write_text("\n".join(["kernel,flops,bytes,power_w", *rows]) + "\n")
    (tmp_path / "wrong.csv").write_text("kernel,flops,power_w\nk,-1.5,2.5\n")
    english, german = (said(tmp_path, *each) for each in (("C", "."), ("de_DE.UTF-8", ",")))
    assert german == english
