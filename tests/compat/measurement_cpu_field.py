"""CPU energy: a figure, or an empty field and a warning that says what to do; GPU figures go on."""

import csv
import time
import warnings

from measurement import EnergyMeasurementTool

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tool = EnergyMeasurementTool("cpu.csv", gpu_num=0)
    tool.start()
    end = time.time() + 0.4
    x = 0
    while time.time() < end:
        x += 1
    tool.stop()
row = list(csv.reader(open("cpu.csv")))[-1]
assert float(row[2]) > 0
if row[1].strip() == "":
    said = [str(w.message) for w in caught]
    assert any("rapl" in s.lower() or "cpu" in s.lower() for s in said), said
else:
    assert 0 < float(row[1]) * 3.6e6 < 0.4 * 5000
