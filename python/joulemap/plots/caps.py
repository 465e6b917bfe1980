"""The figure of a search for a power cap: time, energy, EDP and ED2P over the cap."""

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
_CORNERS = ((0.065, 0.56), (0.575, 0.56), (0.065, 0.06), (0.575, 0.06))  # lower left corners of the panels
_WIDTH, _HEIGHT = 0.425, 0.40
_MAX_PERCENT = 200.0  # of the reference; larger values are cut off
_PROOF_STAGES = ("proof", "clock")


@dataclass(frozen=True)
class Search:
    """The JSON of a search."""

    fields: dict[str, Any]

    @property
    def simulated(self) -> bool:
        """Whether the GPU was simulated."""
        return bool(self.fields.get("simulated", False))

    @property
    def gpu(self) -> str:
        """Name of the GPU; "" if unknown."""
        gpu = self.fields.get("gpu")
        return str(gpu.get("name", "")) if isinstance(gpu, dict) else ""


def find_search(source: Any) -> Search:
    """Return the search in a source: a `joulemap.types.CapSearch`, its dict, a file of its JSON, or a recording.

    Raises
    ------
    TypeError
        If the source is none of these.
    CannotDrawError
        If it has no search.
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
            fields = json.loads(path.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise CannotDrawError(f"{path} is not JSON of a search for a cap: {error}") from None
        return _checked(fields, str(path))
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


def _checked(fields: Any, what: str) -> Search:
    """Return a search if it has all that the figure needs."""
    try:
        for one in fields["predicted"]["caps"]:
            figures = [one["relative"][key] for key, _ in _PANELS]
            if not all(len(figure) == 3 for figure in figures):
                raise TypeError
            float(one["cap_w"])
        for name in ("chosen_cap_w", "reference_cap_w"):
            float(fields[name])
        str(fields["verdict"])
        points = _points(fields)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CannotDrawError(
            f"{what} is not the JSON of `joulemap cap search --json` or of joulemap.caps.search(...).to_json()"
        ) from None
    if not points:
        raise CannotDrawError(f"{what} has no cap that was tried")
    return Search(fields)


@dataclass(frozen=True)
class _Point:
    """A measurement at a cap, in percent of the reference; only probes have a number."""

    cap_w: float
    percent: dict[str, float]
    number: int | None


def _percent(one: dict[str, Any], reference: tuple[float, float]) -> dict[str, float]:
    time, power = one["time_s"] / reference[0], one["power_w"] / reference[1]
    return {key: 100 * time ** _POWER_OF_TIME[key] * (1 if key == "time" else power) for key, _ in _PANELS}


def _points(fields: dict[str, Any]) -> list[_Point]:
    """Return the measured points: the trials, or the probes if there are no trials."""
    trials = [one for one in fields.get("trials", []) if not one.get("clock_mhz")]
    probes = [one for one in trials if one["stage"] not in _PROOF_STAGES] or fields["probes"]
    proofs = [one for one in trials if one["stage"] == "proof"]
    reference_w = fields["reference_cap_w"]
    points = [*_relative(probes, reference_w, numbered=True), *_relative(proofs, reference_w, numbered=False)]
    return [point for point in points if point.percent]


def _relative(trials: list[dict[str, Any]], reference_w: float, *, numbered: bool) -> list[_Point]:
    """Return the points of one stage, in percent of the stage's mean at the reference."""
    references = [one for one in trials if abs(one["cap_w"] - reference_w) < 0.5]
    if not references:
        return []
    mean_s, mean_w = (sum(one[key] for one in references) / len(references) for key in ("time_s", "power_w"))
    return [
        _Point(one["cap_w"], _percent(one, (mean_s, mean_w)), number if numbered else None)
        for number, one in enumerate(trials, 1)
    ]


def _panel(ax: Axes, looks: Look, fields: dict[str, Any], key: str, title: str, colour: str) -> None:
    """Draw one quantity over the cap."""
    caps = fields["predicted"]["caps"]
    watts = [one["cap_w"] for one in caps]
    values, lows, highs = ([100 * one["relative"][key][end] for one in caps] for end in range(3))
    points = _points(fields)
    ax.fill_between(watts, lows, highs, color=colour, alpha=0.2, linewidth=0, gid=f"interval {key}")
    ax.plot(watts, values, color=colour, linewidth=1.4, gid=f"line {key}")
    ax.axhline(100, color=looks.muted, linewidth=0.7, linestyle=":")
    ax.axvline(fields["chosen_cap_w"], color=looks.ink, linewidth=0.9, linestyle="--", gid=f"choice {key}")
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
        _mark(ax, looks, point, key, colour, fields)
    shown = [value for value in [*values, *(point.percent[key] for point in probes)] if value <= _MAX_PERCENT]
    low, high = min([*shown, 100.0]), max([*shown, 100.0])
    margin = max(0.12 * (high - low), 1.5)
    ax.set_ylim(low - margin, high + 1.6 * margin)
    side = 0.03 * (max(watts) - min(watts)) + 1
    ax.set_xlim(min(watts) - side, max(watts) + side)
    is_objective = key == fields.get("objective")
    ax.set_title(
        f"{title} (%)" + (" — to be least" if is_objective else ""),
        loc="left",
        fontsize=8.5,
        color=looks.ink,
        fontweight="bold" if is_objective else "normal",
        pad=3,
    )


def _mark(ax: Axes, looks: Look, point: _Point, key: str, colour: str, fields: dict[str, Any]) -> None:
    """Draw a probe with its number: the reference as a hollow square, the choice as a diamond."""
    is_reference = abs(point.cap_w - fields["reference_cap_w"]) < 0.5
    is_choice = abs(point.cap_w - fields["chosen_cap_w"]) < 0.5
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
    is_visible = point.percent[key] <= _MAX_PERCENT
    ax.annotate(
        str(point.number),
        (point.cap_w, point.percent[key]),
        (6, 4) if is_choice else (0, 5),  # beside the line of the choice
        textcoords="offset points",
        ha="left" if is_choice else "center",
        fontsize=6.5,
        color=looks.ink,
        annotation_clip=True,
        visible=is_visible,
    )


def _sentence(fields: dict[str, Any]) -> str:
    """Return the result in a sentence."""
    reference = next((one for one in fields["probes"] if abs(one["cap_w"] - fields["reference_cap_w"]) < 0.5), None)
    parts = []
    if reference is not None:
        energy = reference["time_s"] * reference["power_w"]
        (per_j, joule), (per_s, second) = joules(energy), seconds(reference["time_s"])
        parts.append(
            f"100 %: {per_j * energy:.3g} {joule}, {per_s * reference['time_s']:.3g} {second} at "
            f"{fields['reference_cap_w']:.0f} W (square)"
        )
    verdict = fields["verdict"]
    if verdict == "no difference":
        parts.append("the cap makes no difference here")
    elif verdict == "as it is":
        parts.append("no other cap that was tried is better")
    else:
        parts.append(f"{verdict}: {fields['chosen_cap_w']:.0f} W (diamond, dashed), {_saving(fields)}")
    return "; ".join(parts)


def _saving(fields: dict[str, Any]) -> str:
    proof = fields.get("proof")
    if proof is None:
        saving, slowdown = fields["found"]["saving"], fields["found"]["slowdown"]
        return f"{100 * saving:.1f} % less energy, {100 * slowdown:+.1f} % time, not proven"
    value, low, high = (100 * proof[key] for key in ("saving", "saving_low", "saving_high"))
    text = f"{value:.1f} ({low:.1f} to {high:.1f}) % less energy, {100 * proof['slowdown']:+.1f} % time"
    if not proof.get("bound_proven", True):
        text += f" (at most {100 * fields['max_slowdown']:g} % is not proven)"
    return text


def power_cap(ax: Axes, looks: Look, data: Search) -> str:
    """Draw time, energy, EDP and ED2P over the cap with 95 % intervals, the tried caps, and the choice."""
    ax.set_axis_off()
    for number, ((key, title), (left, bottom)) in enumerate(zip(_PANELS, _CORNERS, strict=True)):
        panel = ax.inset_axes((left, bottom, _WIDTH, _HEIGHT))
        dress(panel, looks)
        panel.tick_params(labelsize=7)
        _panel(panel, looks, data.fields, key, title, looks.series[number % len(looks.series)])
        if bottom < 0.5:
            panel.set_xlabel("power cap (W)", fontsize=8)
        else:
            panel.tick_params(labelbottom=False)
    return _sentence(data.fields)
