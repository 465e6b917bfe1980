"""What Session and Recording share: reports on a recording, made one at a time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from joulemap import _arguments, _core
from joulemap._locks import Lock
from joulemap._report import Report, Sum, by_number
from joulemap._timeline import Timeline

if TYPE_CHECKING:
    import torch


def board_id(source: _core.Run | _core.Recording, gpu: _arguments.Gpu) -> int:
    """Return the number in the recording of a GPU.

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
    """Gives reports on what `_report_source` returns, and energies out of it."""

    def __init__(self) -> None:
        # One at a time: reports share what was read of the recording. A signal's handler may ask for one while
        # its own thread is at another.
        self._lock = Lock()

    def _report_source(self, until_ns: int) -> _core.Run | _core.Recording:
        """Return whose rows are reported, complete up to this time; 0: as they can be now."""
        raise NotImplementedError

    def energy(
        self, from_ns: int, to_ns: int, *, gpu: int | str | torch.device | None = None, cpu: bool = False
    ) -> Sum:
        """Return the energy of an interval of time, with its 95 % interval, without a report.

        It is a report's total of that time, from the readings around it alone: in a run of days it takes no longer.
        Time before the first reading and after the last does not count; None if all of it lies there.

        Parameters
        ----------
        from_ns, to_ns : int
            Begin and end on CLOCK_MONOTONIC (`time.monotonic_ns()`), nanoseconds.
        gpu : int, str or torch.device, optional
            One GPU, as in `report`; all boards without it.
        cpu : bool
            The CPU's energy alone, packages and DRAM together.

        Returns
        -------
        Sum
            Joules, with the ends of the 95 % interval.

        Raises
        ------
        TypeError, ValueError
            If an argument is none of the above.
        Error
            If there is no such GPU, or the recording cannot be read.
        """
        begin, end = _arguments.interval(_arguments.whole("from_ns", from_ns), _arguments.whole("to_ns", to_ns))
        asked = None if gpu is None else _arguments.gpu("gpu", gpu)
        if _arguments.flag("cpu", cpu) and asked is not None:
            raise ValueError("gpu and cpu exclude each other: leave both out for the sum of all boards")
        source = self._report_source(end)
        with self._lock:
            all_of_them = _core.CPU_BOARDS if cpu else 0
            return Sum(*source.energy(begin, end, all_of_them if asked is None else board_id(source, asked)))

    def timeline(self) -> Timeline:
        """Return what was recorded, row by row: readings, spans and marks. Of a run that goes on: up to now.

        All of it is read into memory, except kernels and hardware counters.

        Returns
        -------
        Timeline
            With `.series`, `.spans` and `.marks`.

        Raises
        ------
        Error
            If the recording cannot be read.
        """
        source = self._report_source(0)
        with self._lock:
            return Timeline(source.timeline())

    def readings(self, from_ns: int, to_ns: int) -> Timeline:
        """Return the readings of an interval of time: a Timeline without spans and marks.

        Nothing else is read: in a run of days it takes no longer.

        Parameters
        ----------
        from_ns, to_ns : int
            Begin and end on CLOCK_MONOTONIC (`time.monotonic_ns()`), nanoseconds.

        Returns
        -------
        Timeline
            Its `.series` hold the readings from the last before the interval to the first after it.

        Raises
        ------
        TypeError, ValueError
            If an argument is no time, or the end lies before the beginning.
        Error
            If the recording cannot be read.
        """
        begin, end = _arguments.interval(_arguments.whole("from_ns", from_ns), _arguments.whole("to_ns", to_ns))
        source = self._report_source(end)
        with self._lock:
            return Timeline(source.timeline(begin, end))

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
        """Report on all of the run, or on a part of it. Of a run that goes on: on what has happened so far.

        Parameters
        ----------
        by : str
            Key of the rows: "layer", "kernel", "type", "phase", "board", "span" or "request".
        phase : str, optional
            Only what happened inside phases of this name; all without it.
        gpu : int, str or torch.device, optional
            One GPU: its index as `joulemap list`, nvidia-smi and the rows have it, CUDA's own index after
            CUDA_VISIBLE_DEVICES as "cuda:1", or its UUID ("GPU-..."). All boards without it.
        process_id : int, optional
            One process of the run (`os.getpid()`); all without it.
        from_ns, to_ns : int, optional
            Only this interval of CLOCK_MONOTONIC (`time.monotonic_ns()`), nanoseconds. An end that is not given is that
            of the run.
        prior : path, optional
            CSV file of what is known of powers beside the readings; docs/report.md has its columns.
        model : path, optional
            What hardware counters are worth on this GPU, as `joulemap calibrate` learns it. Without it the GPU's own
            is taken, else the one for GPUs of its kind; "none": counters are left out.

        Returns
        -------
        Report
            Its rows, totals and notes. Another key of rows is computed when it is first asked for.

        Raises
        ------
        TypeError, ValueError
            If an argument is none of the above.
        Error
            If there is no such phase, GPU or process, or the recording or the file of `prior` cannot be read.

        Notes
        -----
        Energies come with 95 % intervals; docs/estimator.md derives them, docs/accuracy.md says how well they hold.
        """
        by_number(by)
        if phase is not None:
            phase = _arguments.text("phase", phase)
        asked = None if gpu is None else _arguments.gpu("gpu", gpu)
        process = _arguments.whole_or_all("process_id", process_id)
        begin, end = _arguments.interval(from_ns, to_ns)
        given = None if prior is None else _arguments.path("prior", prior)
        worth = None if model is None else _arguments.path("model", model)
        source = self._report_source(0 if to_ns is None else end)
        with self._lock:
            board = 0 if asked is None else board_id(source, asked)

        def make(number: int) -> _core.Report:
            with self._lock:
                return source.report(
                    number,
                    phase=phase,
                    board_id=board,
                    process_id=process,
                    from_ns=begin,
                    to_ns=end,
                    prior=given,
                    model=worth,
                )

        return Report(make, by)
