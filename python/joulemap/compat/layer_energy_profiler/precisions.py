"""The same layers at several precisions."""

from __future__ import annotations

import copy
import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from joulemap._csv import cell
from joulemap._isolation.layer_inputs import map_tensors
from joulemap._isolation.layers import device_of
from joulemap.compat.layer_energy_profiler.int8 import to_int8
from joulemap.compat.layer_energy_profiler.pictures import rounded_shares
from joulemap.compat.layer_energy_profiler.profiler import LayerEnergyProfiler, rows_of

FLOATS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
PRECISIONS = (*FLOATS, "int8")


@dataclass(frozen=True)
class PrecisionComparison:
    """Layers at several precisions.

    Attributes
    ----------
    results : dict
        The result of `LayerEnergyProfiler.profile_all_layers` by precision.
    """

    results: dict[str, list[dict[str, Any]]]

    def total_mj(self, precision: str) -> float:
        """Return the energy of a loop over all layers, millijoules."""
        return float(sum(one["energy_per_loop_mj"] for one in self.results[precision]))

    def table(self) -> str:
        """Return a table of mJ per loop, and percent of the precision's total, by layer and precision."""
        names = list(dict.fromkeys(one["layer_name"] for rows in self.results.values() for one in rows))
        width = max([len("layer"), *map(len, names)])
        columns = []
        for precision, rows in self.results.items():
            shares = rounded_shares([one["energy_per_loop_mj"] for one in rows])
            cells = {
                one["layer_name"]: f"{one['energy_per_loop_mj']:12.4f} {share:6.1f}"
                for one, share in zip(rows, shares, strict=True)
            }
            total = f"{self.total_mj(precision):12.4f} {sum(shares):6.1f}"
            head = f"{precision + ' mJ':>12} {'%':>6}"
            columns.append([head, *(cells.get(name, " " * len(head)) for name in names), total])
        first = [f"{name:{width}}" for name in ("layer", *names, "all")]
        return "\n".join("  ".join(line) for line in zip(first, *columns, strict=True))

    def __str__(self) -> str:
        return self.table()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all results as CSV, a row per precision and layer."""
        rows = [{"precision": precision, **one} for precision, layers in self.results.items() for one in layers]
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(rows[0])
            writer.writerows([cell(value) for value in one.values()] for one in rows)


def compare_precisions(
    model: nn.Module,
    inputs: Any,
    dtypes: Sequence[str] = PRECISIONS,
    *,
    layers: Sequence[str] | Mapping[str, str] | None = None,
    batch_size: int | None = None,
    num_loops: int = 100,
    seconds: float | None = None,
    progress: bool = True,
) -> PrecisionComparison:
    """Measure the layers of a model at several precisions, each on a copy of it.

    Parameters
    ----------
    model : torch.nn.Module
        The model; it is not changed.
    inputs : tensor, tuple, list or mapping
        Inputs of one pass; floating-point tensors are cast like the model.
    dtypes : list of str
        "fp32", "fp16" and "bf16" cast weights and inputs. "int8" computes the products of Linear layers with 8-bit
        integers (a scale per row and output, found at each call); the rest of the model stays.
    layers : list or dict, optional
        As in `LayerEnergyProfiler`.
    batch_size : int, optional
        Rows of a pass; by default all rows of the inputs.
    num_loops, seconds, progress
        As in `profile_all_layers`; `seconds` is per precision.

    Raises
    ------
    ValueError
        If a precision is not known, or the model has no Linear layer for "int8".
    """
    unknown = [name for name in dtypes if name not in PRECISIONS]
    if unknown or isinstance(dtypes, str) or not dtypes:
        raise ValueError(f"dtypes={dtypes!r}: a list of {', '.join(PRECISIONS)}")
    results = {}
    for name in dtypes:
        cast_model, cast_inputs = _cast(copy.deepcopy(model), inputs, name)
        profiler = LayerEnergyProfiler(cast_model, device_of(model, inputs), layers=layers)
        rows = batch_size if batch_size is not None else rows_of(cast_inputs)
        results[name] = profiler.profile_all_layers(
            cast_inputs, batch_size=rows, num_loops=num_loops, seconds=seconds, progress=progress
        )
    return PrecisionComparison(results)


def _cast(model: nn.Module, inputs: Any, name: str) -> tuple[nn.Module, Any]:
    """Return a model and its inputs at a precision."""
    if name == "int8":
        if to_int8(model) == 0:
            raise ValueError("int8: the model has no Linear layer of its own: leave int8 out of dtypes")
        return model, inputs
    dtype = FLOATS[name]

    def cast(tensor: Tensor) -> Tensor:
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    return model.to(dtype), map_tensors(dict(inputs) if isinstance(inputs, Mapping) else inputs, cast)
