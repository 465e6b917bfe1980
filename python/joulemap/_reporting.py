"""The base of Session and Recording: reports, energies and timelines of a recording."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulemap import _arguments, _core
from joulemap._locks import Lock

if TYPE_CHECKING:
    import torch

    from joulemap._report import Report, Sum
    from joulemap._sampling import SamplingSensitivity
    from joulemap._timeline import Timeline


def board_id(source: _core.Run | _core.Recording, gpu: _arguments.Gpu) -> int:
    """Return the number that a GPU has in the recording.

    Raises
    ------
    Error
        If there is no such GPU.
    """
    if not gpu.uuid:
        return source.board_id(gpu.number, gpu.is_cuda)
    for series in source.timeline(1, 1)["series"]:
        if series["uuid"] == gpu.uuid and series["gpu"] is not None:
            return source.board_id(series["gpu"])
    raise _core.Error(f"no GPU of this recording has the UUID {gpu.uuid}: `joulemap list` shows those of this machine")


class Reporting:
    """Makes reports and energies from the recording that `_report_source` returns."""

    def __init__(self) -> None:
        # Reports share data of the recording, so they are made one at a time. The lock is reentrant because a signal
        # handler may make a report while its thread makes another.
        self._lock = Lock()

    def _report_source(self, until_ns: int) -> _core.Run | _core.Recording:
        """Return the run or recording to report on, complete up to this time (0: up to now)."""
        raise NotImplementedError

    def energy(
        self, from_ns: int, to_ns: int, *, gpu: int | str | torch.device | None = None, cpu: bool = False
    ) -> Sum:
        """Return the energy of an interval of time, with its 95 % interval, without a report.

        The result equals a report's total of that time. Only the readings of the interval are read, so this is as fast
        in a run of days. Time before the first reading and after the last does not count; the energy is None if the
        whole interval lies there.

        Parameters
        ----------
        from_ns, to_ns : int
            Begin and end on CLOCK_MONOTONIC (`time.monotonic_ns()`), nanoseconds.
        gpu : int, str or torch.device, optional
            One GPU, as in `report`; all boards without it.
        cpu : bool
            Only the CPU's energy, packages and DRAM together.

        Returns
        -------
        Sum
            Joules, with the ends of the 95 % interval.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong.
        Error
            If there is no such GPU, or the recording cannot be read.
        """
        from joulemap._report import Sum  # its classes take as long to import as the session's

        begin, end = _arguments.interval(_arguments.whole("from_ns", from_ns), _arguments.whole("to_ns", to_ns))
        one_gpu = None if gpu is None else _arguments.gpu("gpu", gpu)
        if _arguments.flag("cpu", cpu) and one_gpu is not None:
            raise ValueError("gpu and cpu exclude each other: leave both out for the sum of all boards")
        source = self._report_source(end)
        with self._lock:
            group = _core.CPU_BOARDS if cpu else 0
            return Sum(*source.energy(begin, end, group if one_gpu is None else board_id(source, one_gpu)))

    def timeline(self) -> Timeline:
        """Return the recorded readings, spans and marks, up to now if the run goes on.

        All of them are read into memory; kernels and hardware counters are not included.

        Returns
        -------
        Timeline
            An object with `.series`, `.spans` and `.marks`.

        Raises
        ------
        Error
            If the recording cannot be read.
        """
        from joulemap._timeline import Timeline  # with its classes it takes 3 ms to import

        source = self._report_source(0)
        with self._lock:
            return Timeline(source.timeline())

    def readings(self, from_ns: int, to_ns: int) -> Timeline:
        """Return the readings of an interval of time: a Timeline without spans and marks.

        Nothing else is read, so this is as fast in a run of days.

        Parameters
        ----------
        from_ns, to_ns : int
            Begin and end on CLOCK_MONOTONIC (`time.monotonic_ns()`), nanoseconds.

        Returns
        -------
        Timeline
            Its `.series` have the readings from the last one before the interval to the first one after it.

        Raises
        ------
        TypeError, ValueError
            If an argument is no time, or the end lies before the beginning.
        Error
            If the recording cannot be read.
        """
        from joulemap._timeline import Timeline

        begin, end = _arguments.interval(_arguments.whole("from_ns", from_ns), _arguments.whole("to_ns", to_ns))
        source = self._report_source(end)
        with self._lock:
            return Timeline(source.timeline(begin, end))

    def sampling_sensitivity(
        self,
        *,
        intervals_s: Sequence[float] = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0),
        gpu: int | str | torch.device = 0,
        from_ns: int | None = None,
        to_ns: int | None = None,
    ) -> SamplingSensitivity:
        """Return how the run's total depends on how often the power sensor is read.

        This thins the recorded readings; nothing runs again. A poll sees the newest reading, and power between polls is
        interpolated linearly. The full total is the same sum over all readings. It differs from a report's total, which
        also uses properties of the sensor (lag, energy counter).

        Parameters
        ----------
        intervals_s : list of float
            Sampling intervals, seconds; by default those of common tools.
        gpu : int, str or torch.device
            One GPU, as in `Timeline.readings`.
        from_ns, to_ns : int, optional
            Only this interval of CLOCK_MONOTONIC, nanoseconds; without an end all readings on that side.

        Returns
        -------
        SamplingSensitivity
            The total, and a row per sampling interval.

        Raises
        ------
        LookupError
            If there are no readings of the GPU's power.
        TypeError, ValueError
            If an argument is wrong.
        Error
            If the recording cannot be read.
        """
        from joulemap._sampling import thin

        return thin(self, intervals_s, gpu, from_ns, to_ns)

    def _boards_text(self, gpu: int | str | torch.device | None) -> str:
        """Return the boards that `energy` adds up: "GPU 0", "GPU 0, 1, CPU", "simulated GPU 0"."""
        source = self._report_source(1)
        with self._lock:
            read = [series for series in source.timeline(1, 1)["series"] if not series["missing"]]
        if gpu is not None:
            one = _arguments.gpu("gpu", gpu)
            read = [each for each in read if one.is_that_of(each["gpu"], each["cuda_index"], each["uuid"])]
        numbers = sorted({each["gpu"] for each in read if each["kind"] == "gpu"})
        simulated = "simulated " if any(each["simulated"] for each in read) else ""
        texts = [f"{simulated}GPU {', '.join(map(str, numbers))}"] if numbers else []
        texts += ["CPU"] if gpu is None and any(each["kind"] == "cpu" for each in read) else []
        return ", ".join(texts)

    def report(
        self,
        by: str = "layer",
        phase: str | None = None,
        *,
        gpu: int | str | torch.device | None = None,
        process_id: int | None = None,
        from_ns: int | None = None,
        to_ns: int | None = None,
        prior: str | os.PathLike[str] | None = None,
        model: str | os.PathLike[str] | None = None,
    ) -> Report:
        """Report on all of the run or a part of it, up to now if the run goes on.

        Parameters
        ----------
        by : str
            Key of the rows: "layer", "kernel", "type", "phase", "board", "span", "request" or "class".
        phase : str, optional
            Only time inside phases of this name; all without it.
        gpu : int, str or torch.device, optional
            One GPU: its index in `joulemap list`, nvidia-smi and the rows; CUDA's index after CUDA_VISIBLE_DEVICES as
            "cuda:1"; or its UUID ("GPU-..."). All boards without it.
        process_id : int, optional
            One process of the run (`os.getpid()`); all without it.
        from_ns, to_ns : int, optional
            Only this interval of CLOCK_MONOTONIC (`time.monotonic_ns()`), nanoseconds. The default is the begin or the
            end of the run.
        prior : path, optional
            CSV file of power priors; docs/report.md has its columns.
        model : path, optional
            Board model of `joulemap calibrate`: the energy per count of each hardware counter. The default is the
            model of this GPU, else of its product; "none" leaves counters out.

        Returns
        -------
        Report
            Rows, totals and notes. Rows by another key are computed on first use.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong.
        Error
            If there is no such phase, GPU or process, or the recording or the file of `prior` cannot be read.

        Notes
        -----
        Energies come with 95 % intervals; docs/estimator.md derives them, docs/accuracy.md checks their coverage.
        """
        from joulemap._report import Report, by_number

        by_number(by)
        if phase is not None:
            phase = _arguments.text("phase", phase)
        one_gpu = None if gpu is None else _arguments.gpu("gpu", gpu)
        process = _arguments.whole_or_all("process_id", process_id)
        begin, end = _arguments.interval(from_ns, to_ns)
        prior_path = None if prior is None else _arguments.path("prior", prior)
        model_path = None if model is None else _arguments.path("model", model)
        source = self._report_source(0 if to_ns is None else end)
        with self._lock:
            board = 0 if one_gpu is None else board_id(source, one_gpu)

        def make(number: int) -> _core.Report:
            with self._lock:
                return source.report(
                    number,
                    phase=phase,
                    board_id=board,
                    process_id=process,
                    from_ns=begin,
                    to_ns=end,
                    prior=prior_path,
                    model=model_path,
                )

        return Report(make, by)
