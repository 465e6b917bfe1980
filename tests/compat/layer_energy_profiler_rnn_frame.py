"""A recurrent classifier; the results as a data frame, sorted, with the user's own columns."""

import pandas as pd
import torch
import torch.nn as nn
from layer_energy_profiler import LayerEnergyProfiler


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(300, 24)
        self.rnn = nn.LSTM(24, 32, batch_first=True)
        self.dense = nn.Linear(32, 2)

    def forward(self, input_ids, attention_mask=None):
        states, _ = self.rnn(self.words(input_ids))
        return self.dense(states[:, -1])


model = Sentiment().cuda()
ids = torch.randint(0, 300, (16, 20)).cuda()
weights = [p.detach().clone() for p in model.parameters()]
results = LayerEnergyProfiler(model).profile_all_layers(
    input_ids=ids, attention_mask=torch.ones_like(ids)
)  # the defaults: 16, 100
df = pd.DataFrame(results).sort_values("energy_per_inference_mj", ascending=False)
assert set(df["layer_name"]) == {"words", "rnn", "dense"}
assert (df["num_loops"] >= 100).all()
df["cumulative"] = df["energy_per_inference_mj"].cumsum() / df["energy_per_inference_mj"].sum()
assert abs(df["cumulative"].iloc[-1] - 1) < 1e-9
per_loop = df["energy_total_j"] / df["num_loops"] * 1e3
ratio = (per_loop / df["energy_per_inference_mj"]).round(3)
assert ratio.nunique() == 1 and ratio.iloc[0] in (1, 16), "mJ a loop, or a sample of the 16: %s" % list(ratio)
df.to_csv("sentiment.csv", index=False)
assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters()))
