"""A training that dies without stop(): the rows of the asynchronous log are whole."""

import csv
import os
import subprocess
import sys
import time


def train_and_die():
    from measurement import AsynchronousMeasurementTool

    tool = AsynchronousMeasurementTool("crash.csv")
    tool.start(interval=0.2)
    time.sleep(1.2)
    os.kill(os.getpid(), 9)


if __name__ == "__main__":
    if "child" in sys.argv[1:]:
        train_and_die()
    child = subprocess.run([sys.executable, os.path.abspath(__file__), "child"], timeout=60)
    assert child.returncode == -9, child.returncode
    time.sleep(0.6)
    with open("crash.csv", newline="") as f:
        text = f.read()
    rows = list(csv.reader(text.splitlines()))
    assert len(rows) >= 3, rows
    assert text.endswith("\n")
    assert {len(row) for row in rows} == {len(rows[0])}, "a row is whole or absent"
    assert all(float(row[7]) > 0 for row in rows[1:])
    size = os.path.getsize("crash.csv")
    time.sleep(0.8)
    assert os.path.getsize("crash.csv") - size < 200, "nobody is left to write"
