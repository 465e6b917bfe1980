"""Convert a source (a path, a recording, a session, a report) to the data of a figure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from joulemap import _arguments
from joulemap._diff import Diff, diff
from joulemap._recording import Recording
from joulemap._report import Report
from joulemap._session import Session
from joulemap.plots.caps import find_search
from joulemap.plots.data import PlotData

if TYPE_CHECKING:
    from typing import TypeAlias

    from joulemap.caps.result import CapSearch

    Source: TypeAlias = (
        str
        | os.PathLike[str]
        | Recording
        | Session
        | Report
        | PlotData
        | Diff
        | CapSearch
        | dict[str, Any]
        | tuple[Any, Any]
    )


class Found(NamedTuple):
    """The data of a figure, a text about them, and options that follow from them."""

    data: Any
    about: str
    simulated: bool
    options: dict[str, Any]


def find(source: Any, needs: str, gpu: Any, options: dict[str, Any]) -> Found:
    """Return the data of a figure; options for the source are removed from `options`.

    Raises
    ------
    TypeError
        If the source has no such data.
    """
    if needs == "runs":
        return _runs(source, gpu, options)
    if needs == "caps":
        search = find_search(source)
        return Found(search, search.gpu, search.simulated, {})
    if isinstance(source, (tuple, list, Diff)):
        raise TypeError("two runs are for the figure two_runs; this one takes a single run")
    return _readings(source, gpu) if needs == "readings" else _report(source, needs, gpu)


def _readings(source: Any, gpu: Any) -> Found:
    if isinstance(source, Report):
        raise TypeError("a Report holds no readings: give the recording or the session that it was made of")
    data = PlotData.of(source, 0 if gpu is None else gpu)
    return Found(data, f"GPU {data.gpu}" + (f", {data.gpu_name}" if data.gpu_name else ""), data.simulated, {})


def _report(source: Any, by: str, gpu: Any) -> Found:
    if isinstance(source, PlotData):
        raise TypeError("a PlotData holds no layers and no steps: give the recording or the session")
    if isinstance(source, Report):
        if gpu is not None:
            raise TypeError("a Report is of its GPUs: gpu= is for recordings and sessions")
        report = source if source.by == by else Report(source._make, by)
    elif isinstance(source, Recording | Session):
        report = source.report(by, gpu=gpu)
    else:
        with Recording(_arguments.path("source", source)) as recording:
            report = recording.report(by, gpu=gpu)
    return Found(report, "" if gpu is None else f"GPU {gpu}", report.totals.simulated, {})


def _runs(source: Any, gpu: Any, options: dict[str, Any]) -> Found:
    if isinstance(source, Diff):
        return _diff(source)
    if not isinstance(source, (tuple, list)) or len(source) != 2:
        raise TypeError("two_runs is drawn from a pair: (before, after), each a path, Recording, Session or Report")
    report_options = {} if gpu is None else {"gpu": gpu}
    return _diff(diff(*source, per=options.pop("per", None), names=options.pop("names", None), **report_options))


def _diff(diff_: Diff) -> Found:
    fields = diff_.to_dict()
    return Found(diff_, "", fields["simulated"], {"names": (fields["a"]["name"], fields["b"]["name"])})
