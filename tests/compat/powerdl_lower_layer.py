"""The parts underneath: the reader, the recorder with marks, the callback's names. Only what their names promise."""

import time

import powerdl
from powerdl.highlevel import profile_tf, profile_torch  # noqa: F401

assert callable(powerdl.profile_torch)
from powerdl import (  # noqa: E402  # noqa: E402,F401
    Mark,
    NvmlPowerReader,
    PowerRecorder,
    Sample,
    TorchRunConfig,
)

for cls in (NvmlPowerReader, PowerRecorder, Sample, Mark, TorchRunConfig):
    assert isinstance(cls, type), cls

reader = NvmlPowerReader(device_index=0)
recorder = PowerRecorder(reader, interval_s=0.01)
recorder.start()
recorder.mark("load_start")
time.sleep(0.25)
recorder.mark("load_end")
recorder.stop()
assert len(recorder.samples) >= 5
sample = next(s for s in recorder.samples if s.p_w == s.p_w)
assert isinstance(sample, Sample)
assert sample.p_w > 0 and sample.t >= 0
marks = [m for m in recorder.marks if m.name.startswith("load")]
assert [m.name for m in marks] == ["load_start", "load_end"]
assert 0.2 < marks[1].t - marks[0].t < 2
times = [s.t for s in recorder.samples]
assert times == sorted(times)
