"""PowerDL's Report: samples, marks, summary, files, figures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulemap._recording import Recording
from joulemap._report import import_pandas
from joulemap._session import Session
from joulemap.compat.powerdl import export as files
from joulemap.compat.powerdl import figures
from joulemap.compat.powerdl.account import Account, Figures, take_account
from joulemap.compat.powerdl.progress import Progress
from joulemap.compat.powerdl.samples import Mark, Sample, Window, curve, iterate_marks, iterate_samples
from joulemap.compat.powerdl.settings import TorchRunConfig

if TYPE_CHECKING:
    import pandas as pd


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


class Report:
    """The result of a profile, from `profile_torch(...).report()`.

    Samples and marks are read on use; only `samples_df` and `marks_df` are kept.

    Attributes
    ----------
    summary : dict
        `train_energy_j`, `epoch_energies`, `batch_rows`, ...; None: not known, or nothing of the kind ran.
    """

    def __init__(
        self, source: Session | Recording, window: Window, progress: Progress, settings: TorchRunConfig, gpu_name: str
    ) -> None:
        self._source = source
        self._window = window
        self._settings = settings
        account = take_account(source, window, progress)
        self._losses = progress.losses[: len(account.batches)]
        self.summary: dict[str, Any] = {
            **_train_summary(account, progress),
            **_infer_summary(account),
            **self._utilisation(progress),
            "gpu_name": gpu_name,
            **_own_summary(account, progress, window),
        }

    def _utilisation(self, progress: Progress) -> dict[str, float | None]:
        means: dict[str, float | None] = {"epoch_avg_gpu_util_pct": None, "epoch_avg_mem_util_pct": None}
        intervals = [
            (1e-9 * (epoch.start_ns - self._window.begin_ns), 1e-9 * (epoch.end_ns - self._window.begin_ns))
            for epoch in progress.epochs
            if epoch.end_ns > 0
        ]
        if self._settings.collect_util and intervals:
            timeline = self._source.timeline()
            for key, quantity in zip(means, ("gpu_utilisation", "memory_utilisation"), strict=True):
                means[key] = curve(timeline, quantity, self._window.gpu, self._window.begin_ns).mean(intervals)
        return means

    # ---- row by row ----

    def samples(self) -> Iterator[Sample]:
        """Yield the samples, on a grid of `interval_s`."""
        return iterate_samples(
            self._source.timeline(), self._window, self._settings.interval_s, self._settings.collect_util
        )

    def marks(self) -> Iterator[Mark]:
        """Yield the marks."""
        return files.marks_with_losses(iterate_marks(self._source.timeline(), self._window), self._losses)

    @cached_property
    def samples_df(self) -> pd.DataFrame:
        """The samples as a pandas DataFrame: t, p_w, gpu_util, mem_util, ts; ImportError without pandas."""
        frame: pd.DataFrame = import_pandas().DataFrame(self.samples(), columns=list(Sample._fields))
        return frame

    @cached_property
    def marks_df(self) -> pd.DataFrame:
        """The marks as a pandas DataFrame: name, t, meta (a dict); ImportError without pandas."""
        rows = [(mark.name, mark.t, mark.meta) for mark in self.marks()]
        frame: pd.DataFrame = import_pandas().DataFrame(rows, columns=list(files.MARK_COLUMNS))
        return frame

    # ---- files and figures ----

    def export(
        self,
        out_dir: str | os.PathLike[str],
        *,
        include_csv: bool = True,
        include_summary: bool = True,
        include_figures: bool = False,
        **opts: Any,
    ) -> list[Path]:
        """Write the report's files.

        Parameters
        ----------
        out_dir : path
            The folder; it is created if needed.
        include_csv : bool
            Write samples.csv, marks.csv, batches.csv and epochs.csv.
        include_summary : bool
            Write summary.json.
        include_figures : bool
            Write all figures; needs matplotlib.
        **opts
            As in `plot`.

        Returns
        -------
        list of Path
            The written files.
        """
        folder = Path(out_dir)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        if include_summary:
            written.append(folder / "summary.json")
            files.write_json(written[-1], self.summary)
        if include_csv:
            paths = [folder / f"{name}.csv" for name in ("samples", "marks", "batches", "epochs")]
            written.extend(paths)
            timeline, settings = self._source.timeline(), self._settings
            files.write_samples(paths[0], timeline, self._window, settings.interval_s, settings.collect_util)
            files.write_marks(paths[1], timeline, self._window, self._losses)
            own = files.OWN_COLUMNS
            files.write_table(paths[2], files.BATCH_COLUMNS, self.summary["batch_rows"], (*own, "epoch"))
            files.write_table(paths[3], files.EPOCH_COLUMNS, self.summary["epoch_energies"], own)
        if include_figures:
            self.plot(all=True, out_dir=folder, **opts)
            written.extend(figures.path_of(folder, fig, opts.get("format", "png")) for fig in self.list_figures())
        return written

    def list_figures(self) -> list[str]:
        """Return the names of the figures of `plot`."""
        return figures.names()

    def plot_one(
        self,
        fig: str,
        *,
        out_dir: str | os.PathLike[str] | None = None,
        show: bool = False,
        dpi: int = 300,
        **opts: Any,
    ) -> Any:
        """Draw one figure, and return it: a matplotlib Figure.

        Parameters
        ----------
        fig : str
            One of `list_figures()`.
        out_dir : path, optional
            Folder of its file; without it no file is written.
        show : bool
            Whether to show it in a window.
        dpi : int
            Dots per inch of PNG.
        **opts
            `format`: "png", "svg" or "pdf"; others as in `joulemap.plots.plot`.

        Raises
        ------
        ValueError
            If there is no such figure; the message lists the known ones.
        ImportError
            Without matplotlib.
        """
        return figures.draw(self._source, self._window, fig, out_dir=out_dir, show=show, dpi=dpi, **opts)

    def plot(
        self,
        *,
        figs: list[str] | None = None,
        all: bool = False,
        out_dir: str | os.PathLike[str] | None = None,
        show: bool = False,
        smooth: int | None = None,
        shade_phases: bool = True,
        **opts: Any,
    ) -> list[Any]:
        """Draw some or all figures; by default power over time. A figure that cannot be drawn is an error.

        Parameters
        ----------
        figs : list of str, optional
            Names of figures.
        all : bool
            Draw all of `list_figures()`.
        out_dir, show, **opts
            As in `plot_one`.
        smooth : int, optional
            In figures over time, replace each reading by the mean of this many neighbours.
        shade_phases : bool
            Shade phases in figures over time.
        """
        chosen = self.list_figures() if all else figs if figs is not None else ["power_time"]
        opts = {"smooth": smooth, "shade_phases": shade_phases, **opts}
        return [self.plot_one(fig, out_dir=out_dir, show=show, **opts) for fig in chosen]

    def __repr__(self) -> str:
        energy = self.summary["train_energy_j"]
        text = "no training" if energy is None else f"training {energy:.6g} J"
        return f"<powerdl.Report {self.summary['gpu_name']}: {text}, {len(self.summary['batch_rows'])} batches>"


def _own_columns(figures: Figures) -> dict[str, Any]:
    return {"energy_low_j": figures.low_j, "energy_high_j": figures.high_j, "provenance": figures.provenance}


def _batch_row(number: int, size: int, loss: float, figures: Figures, epoch: int) -> dict[str, Any]:
    joules, seconds = figures.energy_j, figures.time_s
    return {
        "batch": number,
        "batch_size": size if size >= 0 else None,
        "time_s": seconds,
        "energy_j": joules,
        "avg_power_w": figures.power_w,
        "j_per_sample": joules / size if joules is not None and size > 0 else None,
        "throughput_img_s": size / seconds if size > 0 and seconds > 0 else None,
        "loss": _known(loss),
        **_own_columns(figures),
        "epoch": epoch,
    }


def _train_summary(account: Account, progress: Progress) -> dict[str, Any]:
    train, epochs = account.train, progress.epochs[: len(account.epochs)]
    return {
        "train_energy_j": None if train is None else train.energy_j,
        "train_time_s": None if train is None else train.time_s,
        "train_avg_power_w": None if train is None else train.power_w,
        "epoch_energies": [
            {
                "epoch": epoch.number,
                "energy_j": figures.energy_j,
                "time_s": figures.time_s,
                "avg_power_w": figures.power_w,
                **_own_columns(figures),
            }
            for epoch, figures in zip(epochs, account.epochs, strict=True)
        ],
        "batch_rows": [
            _batch_row(i - epoch.first, progress.sizes[i], progress.losses[i], account.batches[i], epoch.number)
            for epoch in epochs
            for i in range(epoch.first, epoch.first + epoch.count)
        ],
    }


def _infer_summary(account: Account) -> dict[str, Any]:
    infer = account.infer
    return {
        "infer_energy_j": None if infer is None else infer.energy_j,
        "infer_time_s": None if infer is None else infer.time_s,
        "infer_avg_power_w": None if infer is None else infer.power_w,
    }


def _own_summary(account: Account, progress: Progress, window: Window) -> dict[str, Any]:
    """Return joulemap's own keys."""
    train, infer = account.train, account.infer
    samples = sum(inference.samples for inference in progress.inferences) if infer is not None else None
    quality = account.report.quality
    return {
        "train_energy_low_j": None if train is None else train.low_j,
        "train_energy_high_j": None if train is None else train.high_j,
        "infer_energy_low_j": None if infer is None else infer.low_j,
        "infer_energy_high_j": None if infer is None else infer.high_j,
        "infer_n_samples": samples,
        "infer_j_per_sample": infer.energy_j / samples if infer and infer.energy_j is not None and samples else None,
        "infer_throughput_img_s": samples / infer.time_s if infer is not None and samples and infer.time_s else None,
        "gpu_index": window.gpu,
        "simulated": account.report.totals.simulated,
        "verdict": quality.verdict,
        "verdict_reason": quality.verdict_reason,
        "notes": account.report.notes,
    }
