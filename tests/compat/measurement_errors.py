"""Wrong calls end in an exception with a text, and right calls work after them."""

import time

from measurement import AsynchronousMeasurementTool, EnergyMeasurementTool, LayerwiseMeasurementTool


def fails(call):
    try:
        call()
    except Exception as e:
        assert len(str(e)) > 10, repr(e)
        return e
    raise AssertionError("accepted")


def no_such_gpu(tool):
    t = tool("x.csv", gpu_num=77)
    t.start()


fails(lambda: no_such_gpu(EnergyMeasurementTool))
fails(lambda: no_such_gpu(AsynchronousMeasurementTool))
fails(lambda: EnergyMeasurementTool("twice.csv").stop())
fails(lambda: LayerwiseMeasurementTool("l.csv").stop())

tool = EnergyMeasurementTool("after.csv")
tool.start()
try:
    time.sleep(0.1)
    raise ValueError("the user's own error in the middle")
except ValueError:
    pass
finally:
    tool.stop()
assert len(open("after.csv").read().splitlines()) == 2
