"""The asynchronous log, one row an interval, all there when stop() returns; read with pandas."""

import time

import pandas as pd
import torch
from measurement import AsynchronousMeasurementTool

if __name__ == "__main__":
    tool = AsynchronousMeasurementTool("log.csv", gpu_num=0)
    tool.start(interval=0.25)
    begin = time.time()
    a = torch.randn(256, 256).cuda()
    while time.time() < begin + 1.6:
        a = torch.tanh(a @ a)
    tool.stop()
    elapsed = time.time() - begin
    df = pd.read_csv("log.csv", skipinitialspace=True)
    df.columns = [c.strip() for c in df.columns]
    assert list(df.columns[:8]) == [
        "elapsed time (s)",
        "CPU energy (kWh)",
        "CPU utilisation (%)",
        "CPU temp (C)",
        "GPU energy (kWh)",
        "GPU utilisation (%)",
        "GPU temp (C)",
        "GPU power (W)",
    ], list(df.columns)
    assert 3 <= len(df) <= 10, len(df)
    t = df["elapsed time (s)"]
    assert t.is_monotonic_increasing and 0 <= t.iloc[0] and t.iloc[-1] <= elapsed + 1
    assert df["GPU power (W)"].between(1, 1500).all()
    assert df["GPU utilisation (%)"].dropna().between(0, 100).all()
    assert df["CPU utilisation (%)"].dropna().between(0, 100).all()
    assert df["GPU temp (C)"].between(1, 120).all()
    assert (df["GPU energy (kWh)"] > 0).any() and (df["GPU energy (kWh)"] >= 0).all()
