"""infer_tensor on models of different input shapes; samples are counted exactly."""

from powerdl.highlevel import profile_torch
from torch import nn

seen = []


class Counted(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        seen.append(len(x))
        return self.inner(x)


cnn = Counted(nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))).cuda()
with profile_torch(interval_s=0.01) as prof:
    prof.infer_tensor(cnn, batch_size=64, n_samples=1000)
    report = prof.report()
s = report.summary
assert s["infer_energy_j"] > 0 and s["infer_time_s"] > 0
assert abs(s["infer_avg_power_w"] - s["infer_energy_j"] / s["infer_time_s"]) < 0.01 * s["infer_avg_power_w"]
names = list(report.marks_df["name"])
for a, b in (("warmup_start", "warmup_end"), ("warmup_end", "infer_start"), ("infer_start", "infer_end")):
    assert names.index(a) < names.index(b), names
assert 1000 % 64 in seen, "the last batch is the rest: %s" % sorted(set(seen))

# not 3 x 32 x 32: found from the model's first layer
mlp = nn.Sequential(nn.Linear(17, 32), nn.Tanh(), nn.Linear(32, 2)).to("cuda")
gray = nn.Sequential(
    nn.Conv2d(1, 4, 5, stride=2), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)
).to("cuda")
for model in (mlp, gray):
    with profile_torch(amp=False) as prof:
        prof.infer(model, batch_size=32, n_samples=100)
        assert prof.report().summary["infer_energy_j"] > 0
