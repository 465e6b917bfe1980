"""`joulemap export -f hatchet`, read by Hatchet."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import hatchet
import pytest
from recorded import KEYS, export, record_two_gpus, report, unpack


@pytest.fixture(scope="module", params=["live", "kernels", "small", "two-gpus"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    return record_two_gpus(folder) if request.param == "two-gpus" else unpack(request.param, folder)


def read(recording: Path, *options: str) -> Any:
    return hatchet.GraphFrame.from_literal(json.loads(export(recording, "hatchet", *options)))


@pytest.mark.parametrize("by", KEYS)
def test_the_tree_has_each_row_and_adds_up_to_the_total(recording: Path, by: str) -> None:
    whole = report(recording, "--by", by)
    graph = read(recording, "--by", by)
    rows, frame = whole["rows"], graph.dataframe
    assert len(frame) == len(rows)
    assert frame["energy (J)"].sum() == pytest.approx(whole["total_energy_j"], rel=1e-9)
    outermost = frame.loc[graph.graph.roots]
    assert outermost["energy (J) (inc)"].sum() == pytest.approx(whole["total_energy_j"], rel=1e-9)
    assert outermost["time (inc)"].sum() == pytest.approx(frame["time"].sum(), rel=1e-9)
    assert {"energy (J)", "time", "calls"} == set(graph.exc_metrics)
    assert all(metric.endswith("(inc)") for metric in graph.inc_metrics) and len(graph.inc_metrics) == 4
    told = sorted(
        (node.frame["path"], node.frame["type"], frame.loc[node, "energy (J) (inc)"]) for node in graph.graph.traverse()
    )
    wanted = sorted((row["path"], row["kind"], row["energy_j"]) for row in rows)
    assert [one[:2] for one in told] == [row[:2] for row in wanted]
    assert [one[2] for one in told] == pytest.approx([row[2] for row in wanted])


def test_layers_are_inside_the_layers_that_call_them(tmp_path: Path) -> None:
    graph = read(unpack("live", tmp_path), "--kernels")
    (kernel,) = [node for node in graph.graph.traverse() if node.frame["name"] == "helper_kernel"]
    assert [node.frame["name"] for node in kernel.path()] == ["helper (no layer)", "helper_kernel"]
    (layer,) = [node for node in graph.graph.traverse() if node.frame["path"] == "0.2"]
    assert [node.frame["path"] for node in layer.path()] == ["Sequential", "0", "0.2"]
    inside = [graph.dataframe.loc[node, "energy (J)"] for node in layer.traverse()]
    assert sum(inside) == pytest.approx(graph.dataframe.loc[layer, "energy (J) (inc)"], rel=1e-9)


def test_hatchet_finds_what_is_dearest(tmp_path: Path) -> None:
    graph = read(unpack("live", tmp_path), "--kernels")
    dear = graph.filter(lambda row: row["energy (J) (inc)"] > 1000, squash=False).dataframe
    assert "gemm_large_backward" not in set(dear["name"]) and {"Sequential", "0", "1"} <= set(dear["name"])
    assert not math.isnan(dear["energy high (J) (inc)"].min())
