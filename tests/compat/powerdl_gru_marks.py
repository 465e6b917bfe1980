"""A recurrent net in full precision with train_epochs; the user's own analysis of marks and samples."""

import numpy as np
import torch
from powerdl.highlevel import profile_torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, series):
        _, h = self.rnn(series)
        return self.head(h[-1])


# a loader is anything that yields pairs
batches = [(torch.randn(12, 15, 6), torch.randn(12, 1)) for _ in range(5)]
net = Forecaster().cuda()
opt = torch.optim.RMSprop(net.parameters())
with profile_torch(amp=False, collect_util=False, interval_s=0.005) as prof:
    prof.train_epochs(net, batches, opt, nn.MSELoss(), epochs=2)
    report = prof.report()

marks, samples = report.marks_df, report.samples_df
assert set(samples.columns) >= {"t", "p_w", "gpu_util", "mem_util", "ts"}
assert set(marks.columns) >= {"name", "t", "meta"}
order = ["session_start", "train_start", "epoch_start", "batch_start", "batch_end"]
positions = [list(marks["name"]).index(n) for n in order]
assert positions == sorted(positions)
assert (np.diff(marks["t"]) >= 0).all()
ends = marks[marks["name"] == "batch_end"]
assert len(ends) == 10
losses = [m["loss"] for m in ends["meta"]]
assert all(np.isfinite(losses)) and {m["batch_size"] for m in ends["meta"]} == {12}
start = marks[marks["name"] == "train_start"]["t"].iloc[0]
end = marks[marks["name"] == "train_end"]["t"].iloc[-1]
inside = samples[(samples["t"] >= start) & (samples["t"] <= end)]
mine = np.interp(
    [start, end], samples["t"], np.concatenate([[0], np.cumsum(np.diff(samples["t"]) * samples["p_w"][1:])])
)
print(
    "my own integral %.2f J over %d samples; summary %.2f J"
    % (mine[1] - mine[0], len(inside), report.summary["train_energy_j"])
)
assert report.summary["train_time_s"] > 0 and abs(report.summary["train_time_s"] - (end - start)) < 0.05
