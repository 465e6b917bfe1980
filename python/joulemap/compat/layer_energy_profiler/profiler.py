"""The energy of each layer of a model in isolation."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from joulemap import _arguments, _core, compat
from joulemap._isolation.layer_inputs import map_tensors, tensors_of
from joulemap._isolation.layers import chosen_layers
from joulemap._isolation.result import IsolatedLayer, IsolatedLayers
from joulemap._timeline import Timeline
from joulemap.compat._cpu import device_here
from joulemap.compat._shared import shared
from joulemap.torch import isolate


class LayerEnergyProfiler:
    """Measures the layers of a model in inference, each in isolation.

    Parameters
    ----------
    model : torch.nn.Module
        The model; it is moved to `device` and otherwise not changed.
    device : str or torch.device
        Device of the model. Without CUDA, but with a simulated board, "cuda" is the CPU.
    layers : list or dict, optional
        Paths or patterns of modules; a dict maps names to paths. By default the top-level blocks; for a DistilBERT
        embeddings, transformer_block_0 ..., pre_classifier and classifier.
    """

    def __init__(
        self,
        model: nn.Module,
        device: str | torch.device = "cuda",
        *,
        layers: Sequence[str] | Mapping[str, str] | None = None,
    ) -> None:
        self.device = device_here(device)
        self.model = model.to(self.device)
        self._names = layer_names(model, layers)

    def profile_all_layers(
        self,
        input_ids: Any,
        attention_mask: Tensor | None = None,
        batch_size: int = 16,
        num_loops: int = 100,
        *,
        seconds: float | None = None,
        progress: bool = True,
    ) -> list[dict[str, Any]]:
        """Measure each layer on its inputs in one forward pass.

        Parameters
        ----------
        input_ids : tensor, tuple, list or mapping
            Inputs of the model; with `attention_mask` both are passed by name. Tensors with more than `batch_size` rows
            are cut.
        attention_mask : tensor, optional
            Mask with the same number of rows.
        batch_size : int
            Maximum number of rows of a pass.
        num_loops : int
            Number of passes that `total_time_s` and `energy_total_j` are scaled to. How often a layer really runs is
            decided by the time and the precision.
        seconds : float, optional
            Approximate time in total, seconds; at least 2.5 s per layer. The default is 60, or the runner's option.
        progress : bool
            Show a progress bar if stderr is a terminal.

        Returns
        -------
        list of dict
            In the order of the model: layer_name, layer_idx, avg_power_w, total_time_s, energy_total_j,
            energy_per_inference_mj (of a sample, as energy_per_sample_mj), num_loops, latency_per_loop_ms,
            num_power_samples; then energy_per_loop_mj, energy_per_sample_mj, percent, energy_low_j, energy_high_j (95 %
            interval of energy_total_j), batch_size, calls (in one pass), clock_mhz, type, path, how.

        Raises
        ------
        joulemap.Error
            If no layer could be measured; the message says why.
        """
        loops = _arguments.whole("num_loops", num_loops, 10**9)
        requested = _arguments.whole("batch_size", batch_size, 10**9)
        if loops == 0 or requested == 0:
            raise ValueError(f"num_loops={num_loops}, batch_size={batch_size}: at least one of each is needed")
        inputs = _inputs(input_ids, attention_mask)
        rows = rows_of(inputs)
        if rows < requested:
            warnings.warn(
                f"the input has {rows} rows: a batch of {rows}, not {requested}", RuntimeWarning, stacklevel=2
            )
        batch = min(rows, requested)
        inputs = map_tensors(
            inputs, lambda tensor: tensor[:batch] if tensor.dim() > 0 and len(tensor) == rows else tensor
        )
        inputs = map_tensors(inputs, lambda tensor: tensor.to(self.device))
        isolated, samples = self._isolate(inputs, compat.isolation_s if seconds is None else seconds, progress)
        for path, why in isolated.left_out.items():
            warnings.warn(f"layer {path} is left out: {why}", RuntimeWarning, stacklevel=2)
        if not isolated.rows:
            raise _core.Error(f"no layer could be measured: {'; '.join(isolated.left_out.values()) or 'there is none'}")
        total_j = sum(row.energy_j * row.calls for row in isolated)
        return [
            _result(row, number, self._names[row.path], loops, batch, total_j, samples[row.path])
            for number, row in enumerate(isolated)
        ]

    def _isolate(self, inputs: Any, seconds: float, progress: bool) -> tuple[IsolatedLayers, Counter[str]]:
        """Return the isolated layers, and the number of power readings by layer."""
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        try:
            with shared.held(kernels=False) as session:
                with torch.no_grad():
                    isolated = isolate(self.model, inputs, layers=list(self._names), seconds=seconds, progress=progress)
                samples = _power_samples(session.timeline(), set(self._names))
        finally:
            for module, training in modes:
                module.training = training
        return isolated, samples


def layer_names(model: nn.Module, layers: Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Return the names of the layers to measure by their paths, in the model's order."""
    if isinstance(layers, Mapping):
        named = {path: name for name, path in layers.items()}
        return {path: named[path] for path in chosen_layers(model, list(named))}
    if layers is None:
        known = _distilbert(model)
        if known:
            return known
    return {path: path for path in chosen_layers(model, layers)}


def _distilbert(model: nn.Module) -> dict[str, str]:
    """Return the groups of a DistilBERT, which has embeddings and a transformer of layers; {} for other models."""
    modules = dict(model.named_modules())
    for prefix in ("distilbert.", ""):
        blocks = modules.get(f"{prefix}transformer.layer")
        if not isinstance(blocks, nn.ModuleList) or f"{prefix}embeddings" not in modules:
            continue
        found = {f"{prefix}embeddings": "embeddings"}
        found |= {f"{prefix}transformer.layer.{i}": f"transformer_block_{i}" for i in range(len(blocks))}
        found |= {name: name for name in ("pre_classifier", "classifier") if name in modules}
        return found
    return {}


def _inputs(input_ids: Any, attention_mask: Tensor | None) -> Any:
    """Return the arguments of the model."""
    if isinstance(input_ids, Mapping):
        input_ids = dict(input_ids)
    if attention_mask is None:
        return input_ids
    if isinstance(input_ids, dict):
        return {**input_ids, "attention_mask": attention_mask}
    return {"input_ids": input_ids, "attention_mask": attention_mask}


def rows_of(inputs: Any) -> int:
    """Return the number of samples: the rows of the first tensor."""
    for tensor in tensors_of(inputs):
        if tensor.dim() > 0:
            return len(tensor)
    raise ValueError("the inputs have no tensor with rows: how many samples they are is not known")


def _power_samples(timeline: Timeline, paths: set[str]) -> Counter[str]:
    """Count power readings by the layer of the latest burst before them, including gaps between bursts."""
    bursts = [span for span in timeline.spans if span.kind == "forward" and span.name in paths]
    starts = [span.start_ns for span in bursts]
    found: Counter[str] = Counter()
    gpus = {series.gpu for series in timeline.series if series.kind == "gpu" and series.gpu is not None}
    if not gpus or not bursts:
        return found
    power = timeline.readings("power", min(gpus))
    for t_ns in power.t_ns:
        number = bisect_right(starts, t_ns) - 1
        if number >= 0 and (number + 1 < len(starts) or t_ns <= bursts[number].end_ns):
            found[bursts[number].name] += 1
    return found


def _result(
    row: IsolatedLayer, number: int, name: str, loops: int, batch: int, total_j: float, samples: int
) -> dict[str, Any]:
    """Return a layer's figures under their old names, followed by joulemap's own."""
    loop_j, loop_s = row.energy_j * row.calls, row.call_s * row.calls
    return {
        "layer_name": name,
        "layer_idx": number,
        "avg_power_w": row.energy_j / row.call_s,
        "total_time_s": loop_s * loops,
        "energy_total_j": loop_j * loops,
        "energy_per_inference_mj": 1e3 * loop_j / batch,
        "num_loops": loops,
        "latency_per_loop_ms": 1e3 * loop_s,
        "num_power_samples": samples,
        "energy_per_loop_mj": 1e3 * loop_j,
        "energy_per_sample_mj": 1e3 * loop_j / batch,
        "percent": 100 * loop_j / total_j,
        "energy_low_j": row.energy_low_j * row.calls * loops,
        "energy_high_j": row.energy_high_j * row.calls * loops,
        "batch_size": batch,
        "calls": row.calls,
        "clock_mhz": row.clock_mhz,
        "type": row.type,
        "path": row.path,
        "how": row.how,
    }
