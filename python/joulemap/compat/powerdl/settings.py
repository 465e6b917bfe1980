"""The arguments of `profile_torch` and `profile_tf`, and the memory guard that they configure."""

from __future__ import annotations

import math
import os
import tempfile
import time
import warnings
import weakref
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from joulemap import _arguments


@dataclass
class TorchRunConfig:
    """The arguments of `profile_torch`, by their names: `profile_torch(**vars(config))`.

    Attributes
    ----------
    out_dir : path, optional
        Folder for the report's files, written at the end of `with`; without it nothing is written.
    device_index : int
        CUDA's index of the GPU; for a simulated board its index.
    interval_s : float
        Grid of power and utilisation in `samples_df`, seconds. It changes neither how often the sensor is read, nor any
        energy.
    amp : bool
        Mixed precision on a CUDA GPU: bfloat16, or float16 with scaled gradients if the GPU lacks bfloat16.
    verbose : int
        1: print a line per epoch and inference.
    collect_util : bool
        Whether samples have utilisation.
    max_samples : int, optional
        Maximum number of samples, at `interval_s`, in memory.
    max_memory_mb : float, optional
        The same limit in MiB, at `approx_bytes_per_sample`. With either limit, or `auto_flush_dir`, readings are
        written to a file at once and not kept in memory.
    warn_at_pct : float
        Share of the limit at which there is a RuntimeWarning; values above 1 are percent.
    approx_bytes_per_sample : int
        Assumed size of a sample, bytes.
    auto_flush_dir : path, optional
        Folder of that file, and of the flushed samples as CSV at the end. The default is `out_dir`, else a temporary
        folder that is deleted with the profile.
    auto_flush_prefix : str
        Prefix of their names.
    auto_flush_keep_marks : bool
        Whether the marks are written next to the flushed samples. The recording has them in any case.
    """

    out_dir: str | os.PathLike[str] | None = None
    device_index: int = 0
    interval_s: float = 0.02
    amp: bool = True
    verbose: int = 0
    collect_util: bool = True
    max_samples: int | None = None
    max_memory_mb: float | None = None
    warn_at_pct: float = 0.8
    approx_bytes_per_sample: int = 1024
    auto_flush_dir: str | os.PathLike[str] | None = None
    auto_flush_prefix: str = "powerdl"
    auto_flush_keep_marks: bool = True

    def __post_init__(self) -> None:
        for name in ("out_dir", "auto_flush_dir"):
            if getattr(self, name) is not None:
                _arguments.path(name, getattr(self, name))
        _arguments.text("auto_flush_prefix", self.auto_flush_prefix)
        self.device_index = _arguments.whole("device_index", self.device_index, 2**31 - 1)
        self.interval_s = _arguments.real("interval_s", self.interval_s, 0, 3600)
        self.warn_at_pct = _arguments.real("warn_at_pct", self.warn_at_pct, 0, 100)
        self.approx_bytes_per_sample = _arguments.whole("approx_bytes_per_sample", self.approx_bytes_per_sample)
        if self.max_samples is not None:
            self.max_samples = _arguments.whole("max_samples", self.max_samples)
        if self.max_memory_mb is not None:
            self.max_memory_mb = _arguments.real("max_memory_mb", self.max_memory_mb, 0, math.inf)

    @property
    def sample_limit(self) -> float:
        """Maximum number of samples in memory; infinite without a limit."""
        limit = math.inf if self.max_samples is None else float(self.max_samples)
        if self.max_memory_mb is not None:
            limit = min(limit, self.max_memory_mb * 2**20 / max(1, self.approx_bytes_per_sample))
        return limit


class MemoryGuard:
    """Keeps samples in a recording file instead of memory, if there is a limit.

    Attributes
    ----------
    path : Path or None
        The recording; None: it is in memory.
    keeps_files : bool
        Whether samples are written as CSV next to it.
    """

    def __init__(self, settings: TorchRunConfig) -> None:
        self._limit = settings.sample_limit
        share = settings.warn_at_pct if settings.warn_at_pct <= 1 else settings.warn_at_pct / 100
        self._warn_s = share * self._limit * settings.interval_s
        self._interval_s = settings.interval_s
        self._begin_s = time.monotonic()
        self.path: Path | None = None
        self.keeps_files = settings.auto_flush_dir is not None
        if self.keeps_files or not math.isinf(self._limit):
            self.path = _free_path(self._folder(settings), settings.auto_flush_prefix)

    def _folder(self, settings: TorchRunConfig) -> Path:
        given = settings.auto_flush_dir if settings.auto_flush_dir is not None else settings.out_dir
        if given is not None:
            Path(given).mkdir(parents=True, exist_ok=True)
            return Path(given)
        folder = tempfile.mkdtemp(prefix="powerdl-")
        weakref.finalize(self, rmtree, folder, ignore_errors=True)
        return Path(folder)

    def beside(self, ending: str) -> Path:
        """Return the path of a file next to the recording: its name with `_` and `ending`."""
        assert self.path is not None
        return self.path.with_name(f"{self.path.stem}_{ending}")

    def check(self) -> None:
        """Warn, once, when the number of samples comes near the limit."""
        if time.monotonic() - self._begin_s < self._warn_s:
            return
        self._warn_s = math.inf
        warnings.warn(
            f"powerdl: samples every {self._interval_s:g} s come near the limit of {self._limit:.0f}. They are in "
            f"{self.path}, not in memory, and none is lost; samples_df reads all of them",
            RuntimeWarning,
            stacklevel=4,
        )


def _free_path(folder: Path, prefix: str) -> Path:
    """Return a path that does not exist yet."""
    path, number = folder / f"{prefix}.joulemap", 1
    while path.exists():
        number += 1
        path = folder / f"{prefix}-{number}.joulemap"
    return path
