"""The results are in the file at exit. (The first handler to be registered runs last.)"""

import atexit
import os
import sys
import time


def check():
    lines = open("exit.csv").read().splitlines()
    if len(lines) != 2 or float(lines[1].split(",")[0]) < 0.1:
        print("at exit the file holds:", lines, file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)


atexit.register(check)

from measurement import EnergyMeasurementTool  # noqa: E402

tool = EnergyMeasurementTool("exit.csv")
tool.start()
time.sleep(0.15)
tool.stop()
