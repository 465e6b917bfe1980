"""The figure of a search for a power cap: time, energy and what weighs both, over the cap."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulemap.plots.style import CannotDrawError, Look, dress, joules, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS = (("time", "time"), ("energy", "energy"), ("edp", "EDP"), ("ed2p", "ED2P"))
_POWER_OF_TIME = {"time": 1, "energy": 1, "edp": 2, "ed2p": 3}
_PLACES = ((0.065, 0.56), (0.575, 0.56), (0.065, 0.06), (0.575, 0.06))  # of the panels' left lower corners
_WIDTH, _HEIGHT = 0.425, 0.40
_MOST = 200.0  # percent of the reference: what is dearer is not worth its room
_PROOF_STAGES = ("proof", "clock")


@dataclass(frozen=True)
class Searched:
    """A search as its JSON has it."""

    told: dict[str, Any]

    @property
    def simulated(self) -> bool:
        """Whether no real GPU drew this power."""
        return bool(self.told.get("simulated", False))

    @property
    def gpu(self) -> str:
        """Name of the GPU; "" where not told."""
        gpu = self.told.get("gpu")
        return str(gpu.get("name", "")) if isinstance(gpu, dict) else ""


def searched(source: Any) -> Searched:
    """Return the search of a source: a `joulemap.types.CapSearch`, its dict, a file of its JSON, or a recording of one.

    Raises
    ------
    TypeError
        If it is none of these.
    CannotDrawError
        If there is no search in it.
    OSError
        If the file cannot be read.
    """
    from joulemap._recording import Recording
    from joulemap.caps.result import CapSearch

    if isinstance(source, CapSearch):
        return _checked(source.to_dict(), "this search")
    if isinstance(source, dict):
        return _checked(source, "this dict")
    if isinstance(source, Recording):
        return _checked(_of_recording(source), "this recording")
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"power_cap is drawn from a search for a cap: its JSON, or a recording, not {source!r}")
    path = Path(source)
    with path.open("rb") as file:
        is_text = file.read(1).lstrip() in (b"{", b"")
    if is_text:
        try:
            told = json.loads(path.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise CannotDrawError(f"{path} is no JSON of a search for a cap: {error}") from None
        return _checked(told, str(path))
    with Recording(path) as recording:
        return _checked(_of_recording(recording), str(path))


def _of_recording(recording: Any) -> Any:
    text = recording.meta("cap_search")
    if text is None:
        raise CannotDrawError("this recording is not one of a search for a power cap (joulemap cap search -o FILE)")
    try:
        return json.loads(text)
    except ValueError as error:
        raise CannotDrawError(f"the search for a power cap in this recording cannot be read: {error}") from None


def _checked(told: Any, what: str) -> Searched:
    """Return a search, if it has what the figure needs."""
    try:
        for one in told["predicted"]["caps"]:
            figures = [one["relative"][key] for key, _ in _PANELS]
            if not all(len(figure) == 3 for figure in figures):
                raise TypeError
            float(one["cap_w"])
        for name in ("chosen_cap_w", "reference_cap_w"):
            float(told[name])
        str(told["verdict"])
        points = _points(told)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CannotDrawError(
            f"{what} is not the JSON of `joulemap cap search --json` or of joulemap.caps.search(...).to_json()"
        ) from None
    if not points:
        raise CannotDrawError(f"{what} has no cap that was tried")
    return Searched(told)


@dataclass(frozen=True)
class _Point:
    """What was measured at a cap, in percent of the reference; a number only where it was a probe."""

    cap_w: float
    percent: dict[str, float]
    number: int | None


def _percent(one: dict[str, Any], reference: tuple[float, float]) -> dict[str, float]:
    time, power = one["time_s"] / reference[0], one["power_w"] / reference[1]
    return {key: 100 * time ** _POWER_OF_TIME[key] * (1 if key == "time" else power) for key, _ in _PANELS}


def _points(told: dict[str, Any]) -> list[_Point]:
    """Return what was measured: trials where they are told, else probes."""
    trials = [one for one in told.get("trials", []) if not one.get("clock_mhz")]
    probes = [one for one in trials if one["stage"] not in _PROOF_STAGES] or told["probes"]
    proofs = [one for one in trials if one["stage"] == "proof"]
    found = [*_numbered(probes, told["reference_cap_w"], True), *_numbered(proofs, told["reference_cap_w"], False)]
    return [point for point in found if point.percent]


def _numbered(ones: list[dict[str, Any]], reference_w: float, numbered: bool) -> list[_Point]:
    """Return points of one stage, in percent of the mean at the reference in that stage."""
    there = [one for one in ones if abs(one["cap_w"] - reference_w) < 0.5]
    if not there:
        return []
    mean = (sum(one["time_s"] for one in there) / len(there), sum(one["power_w"] for one in there) / len(there))
    return [
        _Point(one["cap_w"], _percent(one, mean), number if numbered else None) for number, one in enumerate(ones, 1)
    ]


def _panel(ax: Axes, looks: Look, told: dict[str, Any], key: str, title: str, colour: str) -> None:
    """Draw one quantity over the cap."""
    caps = told["predicted"]["caps"]
    watts = [one["cap_w"] for one in caps]
    values, lows, highs = ([100 * one["relative"][key][end] for one in caps] for end in range(3))
    points = _points(told)
    ax.fill_between(watts, lows, highs, color=colour, alpha=0.2, linewidth=0, gid=f"interval {key}")
    ax.plot(watts, values, color=colour, linewidth=1.4, gid=f"line {key}")
    ax.axhline(100, color=looks.muted, linewidth=0.7, linestyle=":")
    ax.axvline(told["chosen_cap_w"], color=looks.ink, linewidth=0.9, linestyle="--", gid=f"choice {key}")
    proofs = [point for point in points if point.number is None]
    ax.plot(
        [point.cap_w for point in proofs],
        [point.percent[key] for point in proofs],
        ".",
        color=looks.muted,
        markersize=3,
    )
    probes = [point for point in points if point.number is not None]
    for point in probes:
        _mark(ax, looks, point, key, colour, told)
    shown = [value for value in [*values, *(point.percent[key] for point in probes)] if value <= _MOST]
    low, high = min([*shown, 100.0]), max([*shown, 100.0])
    room = max(0.12 * (high - low), 1.5)
    ax.set_ylim(low - room, high + 1.6 * room)
    side = 0.03 * (max(watts) - min(watts)) + 1
    ax.set_xlim(min(watts) - side, max(watts) + side)
    chosen = key == told.get("objective")
    ax.set_title(
        f"{title} (%)" + (" — to be least" if chosen else ""),
        loc="left",
        fontsize=8.5,
        color=looks.ink,
        fontweight="bold" if chosen else "normal",
        pad=3,
    )


def _mark(ax: Axes, looks: Look, point: _Point, key: str, colour: str, told: dict[str, Any]) -> None:
    """Draw a probe with its number: the reference hollow and square, the choice filled and larger."""
    is_reference = abs(point.cap_w - told["reference_cap_w"]) < 0.5
    is_choice = abs(point.cap_w - told["chosen_cap_w"]) < 0.5
    ax.plot(
        [point.cap_w],
        [point.percent[key]],
        marker="s" if is_reference else "D" if is_choice else "o",
        markersize=5.5 if is_choice or is_reference else 4,
        markerfacecolor=looks.paper if is_reference else colour,
        markeredgecolor=looks.ink if is_choice else colour,
        linestyle="none",
        gid=f"probe {key}",
        zorder=3,
    )
    above = point.percent[key] <= _MOST
    ax.annotate(
        str(point.number),
        (point.cap_w, point.percent[key]),
        (6, 4) if is_choice else (0, 5),  # beside the line of the choice
        textcoords="offset points",
        ha="left" if is_choice else "center",
        fontsize=6.5,
        color=looks.ink,
        annotation_clip=True,
        visible=above,
    )


def _words(told: dict[str, Any]) -> str:
    """Return what was found, in a sentence."""
    reference = next((one for one in told["probes"] if abs(one["cap_w"] - told["reference_cap_w"]) < 0.5), None)
    parts = []
    if reference is not None:
        energy = reference["time_s"] * reference["power_w"]
        (per_j, joule), (per_s, second) = joules(energy), seconds(reference["time_s"])
        parts.append(
            f"100 %: {per_j * energy:.3g} {joule}, {per_s * reference['time_s']:.3g} {second} at "
            f"{told['reference_cap_w']:.0f} W (square)"
        )
    verdict = told["verdict"]
    if verdict == "no difference":
        parts.append("the cap makes no difference here")
    elif verdict == "as it is":
        parts.append("no other cap that was tried is better")
    else:
        parts.append(f"{verdict}: {told['chosen_cap_w']:.0f} W (diamond, dashed), {_saving(told)}")
    return "; ".join(parts)


def _saving(told: dict[str, Any]) -> str:
    proof = told.get("proof")
    if proof is None:
        saving, slowdown = told["found"]["saving"], told["found"]["slowdown"]
        return f"{100 * saving:.1f} % less energy, {100 * slowdown:+.1f} % time, not proven"
    value, low, high = (100 * proof[key] for key in ("saving", "saving_low", "saving_high"))
    words = f"{value:.1f} ({low:.1f} to {high:.1f}) % less energy, {100 * proof['slowdown']:+.1f} % time"
    if not proof.get("bound_proven", True):
        words += f" (at most {100 * told['max_slowdown']:g} % is not proven)"
    return words


def power_cap(ax: Axes, looks: Look, data: Searched) -> str:
    """Draw time, energy, EDP and ED2P over the cap, with 95 % intervals, what was tried, and the choice."""
    ax.set_axis_off()
    for number, ((key, title), (left, bottom)) in enumerate(zip(_PANELS, _PLACES, strict=True)):
        panel = ax.inset_axes((left, bottom, _WIDTH, _HEIGHT))
        dress(panel, looks)
        panel.tick_params(labelsize=7)
        _panel(panel, looks, data.told, key, title, looks.series[number % len(looks.series)])
        if bottom < 0.5:
            panel.set_xlabel("power cap (W)", fontsize=8)
        else:
            panel.tick_params(labelbottom=False)
    return _words(data.told)
