"""All figures, some, one with options; an unknown one."""

import os
import struct
import time

import matplotlib

matplotlib.use("Agg")
import torch
from powerdl.highlevel import profile_torch

FIGURES = """power_time gpu_util_time mem_util_time util_time_dual energy_rate power_derivative cumulative_energy power_hist
util_hist power_ecdf util_ecdf power_boxplot_phase util_boxplot_phase phase_energy_bar phase_time_bar power_util_scatter
power_util_hexbin""".split()


class Classifier(torch.nn.Linear):
    def forward(self, x):
        time.sleep(0.04)  # long enough for all sensors
        return super().forward(x)


model = Classifier(32, 4).cuda()
data = [(torch.randn(16, 32), torch.randint(0, 4, (16,))) for _ in range(8)]
with profile_torch(interval_s=0.005) as prof:
    prof.train(model, data, torch.optim.SGD(model.parameters(), 0.1), torch.nn.functional.cross_entropy, epochs=2)
    prof.infer_tensor(model, batch_size=64, n_samples=640)
report = prof.report()

assert sorted(report.list_figures()) == sorted(FIGURES)
report.plot(all=True, out_dir="all", show=False, smooth=5, shade_phases=True)
files = {os.path.splitext(f)[0] for f in os.listdir("all")}
for name in FIGURES:
    assert any(name in f for f in files), (name, files)

report.plot_one("power_time", out_dir="one", show=False, dpi=300)
(png,) = [f for f in os.listdir("one") if f.endswith(".png")]
width, height = struct.unpack(">II", open(os.path.join("one", png), "rb").read(24)[16:])
assert abs(width - 2160) < 40 and abs(height - 1260) < 40, (width, height)  # 7.2 x 4.2 in at 300 dpi

report.plot(figs=["power_hist", "phase_energy_bar"], out_dir="some", show=True)
report.plot_one("power_ecdf", show=True)
assert len([f for f in os.listdir("some") if f.endswith(".png")]) == 2
try:
    report.plot_one("power_pie", out_dir="one")
except ValueError as e:
    assert "power_ecdf" in str(e), "the message lists those there are"
else:
    raise AssertionError("power_pie was drawn")
