"""Mean energy of each layer of a model, in training or inference."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from joulemap import _core
from joulemap._gpu import find_gpu, synchronize
from joulemap._row_types import Row
from joulemap._session import Session
from joulemap.compat._shared import RowFile, shared

if TYPE_CHECKING:
    import torch

    from joulemap.torch import Watch

COLUMNS = (
    "layer",
    "mean energy (J)",
    "mean energy low (J)",
    "mean energy high (J)",
    "calls",
    "self energy (J)",
    "forward (%)",
    "backward (%)",
    "type",
    "scope",
    "provenance",
)
"""Columns of a layer. Scope: "leaf", or "inclusive" for a layer whose energy includes inner layers."""


class LayerwiseMeasurementTool:
    """Measures the layers of a model from `start` to `stop`, by attribution: GPU time and fitted power, not timers.

    Parameters
    ----------
    out_file : path
        CSV file, written by `stop`, with a row per layer.
    gpu_num : int
        CUDA index of the model's GPU; for a simulated board its index.

    Attributes
    ----------
    results : dict
        Mean joules of a call by layer, after `stop`; None if not known.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """

    def __init__(self, out_file: str | os.PathLike[str], gpu_num: int = 0) -> None:
        self.out_file = out_file
        self.gpu_num = gpu_num
        self.results: dict[str, float | None] = {}
        self._gpu = find_gpu(gpu_num).index
        self._session: Session | None = None
        self._watch: Watch | None = None
        self._begin_ns = 0

    def start(self, model: torch.nn.Module) -> torch.nn.Module:
        """Watch a model until `stop`; return the model itself, with its own layers."""
        if self._session is not None:
            raise RuntimeError("start() was called twice: call stop() between")
        self._session = shared.hold(kernels="auto")
        try:
            self._watch = self._session.watch(model)
        except BaseException:
            session, self._session = self._session, None
            shared.release(session)
            raise
        synchronize()
        self._begin_ns = time.monotonic_ns()
        return model

    def stop(self) -> None:
        """Remove the hooks and write the file.

        Raises
        ------
        RuntimeError
            Without a previous `start`.
        joulemap.Error
            If no layer ran, or there were no readings of the GPU's power.
        """
        session, watch = self._session, self._watch
        if session is None or watch is None:
            raise RuntimeError("stop() without start(model): nothing is being measured")
        synchronize()
        end_ns = time.monotonic_ns()
        self._session = self._watch = None
        try:
            watch.remove()
            rows = self._rows(session, end_ns)
        finally:
            shared.release(session)
        if not rows:
            raise _core.Error("no layer of the model ran between start() and stop(): run the returned model")
        if all(row.energy_j is None for row in rows):
            raise _core.Error("no reading of the GPU's power came in: run `joulemap doctor` to see what is missing")
        file = RowFile(self.out_file, COLUMNS)
        try:
            for number, row in enumerate(rows):
                inside = number + 1 < len(rows) and rows[number + 1].depth > row.depth
                file.write(_cells(row, "inclusive" if inside else "leaf"))
        finally:
            file.close()
        self.results = {row.path or row.name: _mean(row, row.energy_j) for row in rows}

    def _rows(self, session: Session, end_ns: int) -> list[Row]:
        """Return the rows of layers that ran."""
        try:
            report = session.report(
                "layer", gpu=self._gpu, from_ns=self._begin_ns, to_ns=end_ns, process_id=os.getpid()
            )
        except _core.Error as error:
            if error.status == "NOT_FOUND":  # this process has recorded nothing
                return []
            raise
        return [row for row in report.rows if row.kind == "layer" and row.calls > 0]


def _mean(row: Row, energy_j: float | None) -> float | None:
    return None if energy_j is None else energy_j / row.calls


def _cells(row: Row, scope: str) -> list[object]:
    """Return the columns of a layer."""
    energies = (row.energy_j, row.energy_low_j, row.energy_high_j)
    shares = [None if share is None else 100 * share for share in (row.forward_share, row.backward_share)]
    return [
        row.path or row.name,
        *(_mean(row, energy_j) for energy_j in energies),
        row.calls,
        _mean(row, row.energy_self_j),
        *shares,
        row.type,
        scope,
        row.provenance,
    ]
