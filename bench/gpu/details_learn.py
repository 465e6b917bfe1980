"""Learn models on Nsight Compute's details page from kernels of the suite: src/model/shipped/h200_details*.json.

One is for kernels at the clock that the board chose, which tells of their power; one for a clock that ncu set.

    python bench/gpu/details_learn.py [--check]

Reads tests/data/ncu-details (bench/gpu/details.py). `--check` writes nothing, and prints the errors on the kernels that
it has not learnt from.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/ncu-details"
FULL_GHZ = 1.98
SOL, COMPUTE = "GPU Speed Of Light Throughput", "Compute Workload Analysis"
FEATURES = [
    "pipe_tensor",
    "sm__inst_threads",
    "l1tex__throughput",
    "lts__throughput",
    "dram__throughput",
    "sm__active",
    "clock_drop",
]
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
HERTZ = {"Mhz": 1e-3, "Ghz": 1.0}
FREE, BASE = "h200_details", "h200_details_base"
HUBER, RIDGE = 0.1, 1e-3
SLOTS = 132 * 64  # of warps
RESIDUAL_W = 14.3  # of the readings that the kernels' watts come from (joulemap calibrate)


def kernels(name: str) -> list[dict[str, float]]:
    """Return the features of each kernel of a details page, with its seconds."""
    rows: dict[str, dict[tuple[str, str], tuple[float, str]]] = defaultdict(dict)
    with gzip.open(DATA / f"{name}.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            value = float(row["Metric Value"].replace(",", ""))
            rows[row["ID"]][row["Section Name"], row["Metric Name"]] = value, row["Metric Unit"]
    return [features(row) for row in rows.values()]


def features(row: dict[tuple[str, str], tuple[float, str]]) -> dict[str, float]:
    """As tools/estimate/power.c has them, at the kernel's own clock."""
    seconds, unit = row[SOL, "Duration"]
    clock, clock_unit = row[SOL, "SM Frequency"]
    clock *= HERTZ[clock_unit]
    active = row[SOL, "SM Active Cycles"][0] / row[SOL, "Elapsed Cycles"][0]
    busy, issued = row[COMPUTE, "SM Busy"][0] * active, row[COMPUTE, "Issue Slots Busy"][0] * active
    threads = row["Warp State Statistics", "Avg. Not Predicated Off Threads Per Warp"][0] / 32
    values = {
        "pipe_tensor": max(busy - issued, 0),
        "sm__inst_threads": 25 * row[COMPUTE, "Executed Ipc Elapsed"][0] * threads,
        "l1tex__throughput": row[SOL, "L1/TEX Cache Throughput"][0] * active,
        "lts__throughput": row[SOL, "L2 Cache Throughput"][0],
        "dram__throughput": row[SOL, "DRAM Throughput"][0],
        "sm__active": 100 * active,
        "clock_drop": max(100 * (1 - clock / FULL_GHZ), 0),
    }
    return {"seconds": seconds * SECONDS[unit], "clock": clock / FULL_GHZ, **values}


def table(name: str, model: str) -> tuple[list[str], np.ndarray, np.ndarray, list[float]]:
    """Return names, rows of features by the clock (1 first), watts, and seconds that they were measured for."""
    calls: dict[str, list[dict[str, float]]] = defaultdict(list)
    watts: dict[str, float] = {}
    played: dict[str, float] = {}
    with (DATA / f"{name}-power.csv").open() as file:
        for row, kernel in zip(csv.DictReader(file), kernels(name), strict=True):
            calls[row["kernel"]].append(kernel)
            watts[row["kernel"]] = float(row["power_w"])
            played[row["kernel"]] = float(row["seconds"])
    rows = []
    used = FEATURES if model == FREE else FEATURES[:-1]
    for parts in calls.values():
        time = sum(part["seconds"] for part in parts)
        weights = [(part["clock"] if model == FREE else 1) * part["seconds"] / time for part in parts]
        rows.append([1.0, *(sum(w * p[f] for w, p in zip(weights, parts, strict=True)) for f in used)])
    return list(calls), np.array(rows), np.array(list(watts.values())), list(played.values())


def fit(rows: np.ndarray, watts: np.ndarray) -> np.ndarray:
    """Least squares on relative errors, none below 0, with Huber's weights."""
    keep, scale = np.ones(len(watts)), rows.max(0)
    ridge = np.sqrt(RIDGE * len(watts)) / np.median(watts) * np.eye(len(scale))[1:]
    for _ in range(20):
        weight = np.sqrt(keep) / watts
        found, _ = nnls(np.vstack([rows / scale * weight[:, None], ridge]), np.r_[watts * weight, np.zeros(len(ridge))])
        found /= scale
        off = np.abs(rows @ found / watts - 1)
        keep = np.where(off < HUBER, 1, HUBER / np.maximum(off, 1e-9))
    return found


def variance_components(errors: np.ndarray, families: np.ndarray) -> tuple[float, float]:
    """Return the standard error of a kernel within its family, and of a family (one-way analysis of variance)."""
    groups = [errors[families == family] for family in dict.fromkeys(families)]
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / max(len(errors) - len(groups), 1)
    spread = len(errors) - sum(len(g) ** 2 for g in groups) / len(errors)
    between = (sum(len(g) * g.mean() ** 2 for g in groups) - (len(groups) - 1) * within) / spread
    return float(np.sqrt(within)), float(np.sqrt(max(between, 0)))


def learn(name: str) -> None:
    """Learn one, predict each family by the others, write."""
    names, rows, watts, seconds = table("suite", name)
    families = np.array([name.split("/")[0] for name in names])
    weights = fit(rows, watts)
    left_out, parts = np.zeros(len(watts)), []
    for family in dict.fromkeys(families):
        others = fit(rows[families != family], watts[families != family])
        parts.append(others - weights)
        left_out[families == family] = rows[families == family] @ others
    errors = left_out / watts - 1
    covariance = (len(parts) - 1) / len(parts) * sum(np.outer(part, part) for part in parts)
    kernel_u, family_u = variance_components(errors, families)
    print(
        f"{name}: {len(names)} kernels of {len(parts)} families: a family left out is "
        f"{100 * np.abs(errors).mean():.1f} % off on average, {100 * np.median(np.abs(errors)):.1f} % at the median"
    )
    if "--check" in sys.argv:
        _, rows, watts, _ = table("others", name)
        errors = np.abs(rows @ weights / watts - 1)
        print(f"{len(watts)} other kernels: {100 * errors.mean():.1f} % on average, {100 * np.median(errors):.1f} %")
        return
    most = rows.max(0)
    order = [*range(1, len(weights)), 0]
    model = {
        "format": "joulemap board model",
        "version": 1,
        "board": "NVIDIA H200",
        "uuid": "",
        "driver": "580.159.04",
        "date": "2026-11-29",
        "clock": {"reference_mhz": 1000 * FULL_GHZ, "exponent": 1.0, "slots": SLOTS},
        "features": [
            {"metric": f"details/{feature}", "reference": most[i], "weight_w": weights[i] * most[i], "most": most[i]}
            for i, feature in enumerate(FEATURES[: len(weights) - 1], 1)
        ],
        "constant_w": weights[0],
        "covariance": [
            [covariance[i, j] * (most[i] if i else 1) * (most[j] if j else 1) for j in order] for i in order
        ],
        "errors": {
            "kernel": kernel_u,
            "family": family_u,
            "gain": 0.03,
            "residual_w": RESIDUAL_W,
        },
        "response": {"sensor": "", "lag_ns": None, "width_ns": None},
        "idle": [],
        "sampler": {"power_w": None, "u_w": None},
        "noise_w": None,
        "kernels": [
            {
                "name": kernel,
                "family": str(family),
                "data": "random",
                "seconds": time,
                "power_w": w,
                "predicted_w": p,
                "left_out": False,
            }
            for kernel, family, time, w, p in zip(names, families, seconds, watts, left_out, strict=True)
        ],
    }
    rounded = json.loads(json.dumps(model), parse_float=lambda text: float(f"{float(text):.9g}"))
    (ROOT / f"src/model/shipped/{name}.json").write_text(json.dumps(rounded, indent=1) + "\n")


if __name__ == "__main__":
    for model in (FREE, BASE):
        learn(model)
