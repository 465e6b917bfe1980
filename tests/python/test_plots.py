"""Figures: what is drawn is what is known, read off the artists; each is written whole and without a warning."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joulemap
import matplotlib
import numpy as np
import pytest
import recorded
import torch
from joulemap._tree import Node
from joulemap.plots import CannotDrawError, PhaseEnergy, PlotData, count, figures, plot
from joulemap.plots.layers import frames
from joulemap.plots.roofline import fit
from joulemap.plots.table import FIGURES
from matplotlib.figure import Figure
from values import known

COUNTS = {"0.0": (1e9, 1e7), "0.2": (2e9, 1e8), "1.0": (1e9, 1e7), "1.2": (2e9, 1e8), "3": (3e8, 1e8)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run on a simulated GPU: phases, steps, layers."""
    return recorded.unpack("live", tmp_path_factory.mktemp("plots"))


@pytest.fixture(scope="module")
def recording(path: Path) -> Iterator[joulemap.Recording]:
    with joulemap.Recording(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def readings(recording: joulemap.Recording) -> PlotData:
    return PlotData.of(recording)


@pytest.fixture(scope="module")
def layers(recording: joulemap.Recording) -> joulemap.types.Report:
    return recording.report("layer")


@pytest.fixture(scope="module")
def spans(recording: joulemap.Recording) -> joulemap.types.Report:
    return recording.report("span")


def made(watts: Any, seconds: float = 10.0, **fields: Any) -> PlotData:
    """Return data of power alone, evenly read."""
    return PlotData(t_s=list(np.linspace(0, seconds, len(watts))), power_w=list(watts), **fields)


def axes(figure: Figure) -> Any:
    return figure.axes[0]


def values(figure: Figure, gid: str = "values") -> tuple[Any, Any]:
    """Return the points of the line of that name."""
    (line,) = (line for line in axes(figure).lines if line.get_gid() == gid)
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def words(figure: Figure) -> str:
    ax = axes(figure)
    titles = [ax.get_title(loc=side) for side in ("left", "right")]
    return "\n".join([*titles, *(text.get_text() for text in ax.texts)])


def intervals(figure: Figure) -> list[tuple[float, float]]:
    """Return the ends of all error bars that stand upright, in order."""
    ax = axes(figure)
    return [
        (float(segment[0][1]), float(segment[1][1]))
        for bars in ax.containers
        if isinstance(bars, matplotlib.container.ErrorbarContainer)
        for segment in bars.lines[2][0].get_segments()
    ]


# ---- all of them ----


def source_of(key: str, readings: PlotData, layers: joulemap.types.Report, spans: joulemap.types.Report) -> Any:
    needs = FIGURES[key].needs
    if needs == "caps":
        return {**searched(), "simulated": True}
    return {"readings": readings, "layer": layers, "span": spans, "runs": (layers, layers)}[needs]


def searched(slow: float = 0.3, **options: Any) -> dict[str, Any]:
    """Return a search on work whose clock falls with the cap, of which so large a share waits for the clock."""
    search = joulemap._core.Search(200, 700, 700, step_w=10, **options)
    while (trial := search.next()) is not None:
        power_w = min(trial["cap_w"], 600.0)
        search.tell(trial["cap_w"], 0.01 * (1 - slow + slow * (600 / power_w) ** 0.7), power_w)
    told: dict[str, Any] = json.loads(search.json())
    return told


@pytest.mark.parametrize("key", figures())
def test_each_is_written_in_each_format_without_a_warning_and_twice_the_same(
    key: str, readings: PlotData, layers: joulemap.types.Report, spans: joulemap.types.Report, tmp_path: Path
) -> None:
    source = source_of(key, readings, layers, spans)
    options: dict[str, Any] = {"counts": COUNTS} if key == "roofline" else {}
    beginnings = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ending, beginning in beginnings.items():
            file = tmp_path / f"1.{ending}"
            figure = plot(source, key, path=file, dpi=60, dark=ending == "svg", **options)
            assert file.read_bytes().startswith(beginning)
        again = [*beginnings][figures().index(key) % len(beginnings)]  # by turns: each takes a second to draw
        plot(source, key, path=tmp_path / f"2.{again}", dpi=60, dark=again == "svg", **options)
        assert (tmp_path / f"1.{again}").read_bytes() == (tmp_path / f"2.{again}").read_bytes()
    assert "simulated GPU" in words(figure)
    shown = axes(figure).child_axes[-1] if key == "power_cap" else axes(figure)
    assert shown.get_xlabel() or shown.get_xticklabels()


def test_keys_are_those_that_scripts_of_powerdl_know() -> None:
    asked = """power_time gpu_util_time mem_util_time util_time_dual energy_rate power_derivative cumulative_energy
        power_hist util_hist power_ecdf util_ecdf power_boxplot_phase util_boxplot_phase phase_energy_bar phase_time_bar
        power_util_scatter power_util_hexbin layer_energy energy_flame step_energy roofline two_runs power_cap"""
    assert figures() == asked.split()


def test_what_is_wrong_is_said(path: Path, readings: PlotData, layers: joulemap.types.Report, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'power_tim' is not known \(did you mean power_time\?\): use one of power_t"):
        plot(path, "power_tim")
    with pytest.raises(TypeError, match="power_time has no option 'bins': it has no options of its own"):
        plot(readings, "power_time", bins=3)
    with pytest.raises(TypeError, match="power_hist has no option 'limit': its options are bins"):
        plot(readings, "power_hist", limit=3)
    with pytest.raises(ValueError, match=r"ends with one of \.png, \.svg, \.pdf"):
        plot(readings, "power_time", path=tmp_path / "power.gif")
    with pytest.raises(TypeError, match="a Report holds no readings"):
        plot(layers, "power_time")
    with pytest.raises(TypeError, match="a PlotData holds no layers"):
        plot(readings, "layer_energy")
    with pytest.raises(TypeError, match="two_runs is drawn from a pair"):
        plot(path, "two_runs")
    with pytest.raises(TypeError, match="takes a single run"):
        plot((path, path), "power_time")
    with pytest.raises(ValueError, match="power_w has 1 values at 2 times"):
        PlotData(t_s=[0, 1], power_w=[3])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("power_time", "GPU 0 has no readings of power"),
        ("cumulative_energy", "GPU 0 has no readings of power"),
        ("gpu_util_time", "GPU 0 has no readings of its utilisation"),
        ("util_time_dual", "GPU 0 has no readings of its utilisation"),
        ("util_ecdf", "GPU 0 has no readings of its utilisation"),
        ("mem_util_time", "no readings of its memory's utilisation"),
        ("power_util_scatter", "GPU 0 has no readings"),
        ("phase_energy_bar", "this run has no phases"),
        ("phase_time_bar", "this run has no phases"),
    ],
)
def test_what_cannot_be_drawn_says_why(key: str, why: str) -> None:
    with pytest.raises(CannotDrawError, match=why):
        plot(PlotData(), key)


def test_nothing_of_matplotlib_is_changed_or_shown(readings: PlotData, tmp_path: Path) -> None:
    with matplotlib.rc_context({"svg.hashsalt": "theirs", "font.family": ["serif"], "hatch.linewidth": 3}):
        before = dict(matplotlib.rcParams)
        plot(readings, "power_time", path=tmp_path / "power.svg")
        assert dict(matplotlib.rcParams) == before
    program = (
        "import sys, joulemap, joulemap.plots\n"
        "print(sorted({'matplotlib', 'numpy', 'torch'} & set(sys.modules)))\n"
        "joulemap.plots.plot(joulemap.plots.PlotData([0, 1], [3, 4]), 'power_time', path=sys.argv[1])\n"
        "print('matplotlib.pyplot' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "own.png"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\nFalse\n"


def test_what_the_user_set_of_matplotlib_draws_no_latex(readings: PlotData, tmp_path: Path) -> None:
    with matplotlib.rc_context({"text.usetex": True, "font.family": ["no such font"]}):
        plot(readings, "power_time", path=tmp_path / "power.png", dpi=30)


def test_axes_of_the_user_are_drawn_into(readings: PlotData) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot(readings, "power_time", ax=left) is figure
    assert plot(readings, "power_hist", ax=right) is figure
    assert len(left.lines) == 1
    part: Any = figure.subfigures(1, 1)
    inner = part.subplots()
    assert plot(readings, "power_time", ax=inner) is figure


def test_threads_draw_at_the_same_time(readings: PlotData, tmp_path: Path) -> None:
    files = [tmp_path / f"{k}.svg" for k in range(4)]
    threads = [threading.Thread(target=plot, args=(readings, "power_time"), kwargs={"path": f}) for f in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({file.read_bytes() for file in files}) == 1


def test_a_file_is_whole_or_not_there(readings: PlotData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "power.png"
    target.write_text("what was there")

    def full(self: Path, data: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left"):
            plot(readings, "power_time", path=target)
    assert [file.name for file in tmp_path.iterdir()] == ["power.png"]
    assert target.read_text() == "what was there"
    link = tmp_path / "link.png"
    link.symlink_to(target)
    plot(readings, "power_time", path=link, dpi=30)
    assert link.is_symlink()
    assert target.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"figures need matplotlib: pip install 'joulemap\[plot\]'"):
        plot("no.joulemap", "power_time")


def test_names_are_no_formulas_and_steer_nothing(tmp_path: Path) -> None:
    data = made([100.0] * 50, phases=[("$x_1$ \x1b[31m", 0, 8)], gpu_name="a $ b $ c")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot(data, "power_time", path=tmp_path / "names.svg")
    assert "\x1b" not in (tmp_path / "names.svg").read_text()
    assert "\\$x_1\\$ \ufffd[31m" in words(figure)


# ---- data of a recording ----


def test_power_stands_when_it_was_drawn(recording: joulemap.Recording, readings: PlotData) -> None:
    timeline = recording.timeline()
    power = timeline.readings()
    assert power.lag_s == pytest.approx(0.0035)
    assert list(readings.power_w) == list(power.values)
    told = [1e-9 * (t_ns - timeline.start_ns) - power.lag_s for t_ns in power.t_ns]
    assert list(readings.t_s) == pytest.approx(told, abs=1e-9)  # a nanosecond: what stamps are of
    util = timeline.readings("gpu_utilisation")
    assert readings.gpu_util_t_s[0] == pytest.approx(  # a mean of 0.2 s tells of its middle
        1e-9 * (util.t_ns[0] - timeline.start_ns) - util.lag_s - util.window_s / 2, abs=1e-9
    )
    assert (readings.gpu_name, readings.simulated, readings.sensor) == ("NVIDIA H200", True, "power_ring")
    assert [name for name, _, _ in readings.phases] == ["train", "helper", "validate"]
    assert PlotData.of(recording.path) == readings
    with pytest.raises(joulemap.Error):
        PlotData.of(recording, gpu=3)


def test_only_a_simulated_gpu_is_called_so() -> None:
    assert "simulated" not in words(plot(made([1, 2]), "power_time"))
    assert "simulated" in words(plot(made([1, 2], simulated=True), "power_time"))


# ---- over time ----


def test_energy_ends_at_the_integral_of_power() -> None:
    figure = plot(made(np.linspace(100, 200, 51)), "cumulative_energy")
    t, joules = values(figure)
    assert joules[0] == 0
    assert joules[-1] == pytest.approx(1500, rel=1e-12)  # a line: the trapezoidal rule is exact but for rounding
    assert joules[25] == pytest.approx(100 * 5 + 10 * 5**2 / 2, rel=1e-12)
    assert "1500 J" in words(figure)
    assert t[-1] == 10


def test_missing_readings_and_gaps_are_not_drawn_as_zero() -> None:
    times = [*np.arange(0, 5, 0.1), *np.arange(8, 10, 0.1)]
    watts = [100.0] * len(times)
    watts[10] = float("nan")
    data = PlotData(t_s=times, power_w=watts)
    _, drawn = values(plot(data, "power_time"))
    assert np.isnan(drawn).sum() == 2  # the one that is missing, and the gap
    assert np.nanmin(drawn) == 100
    _, joules = values(plot(data, "cumulative_energy"))
    assert np.nanmax(joules) == pytest.approx(990)  # 9.9 s: the gap is bridged,
    assert np.isnan(joules).sum() == 1  # and not drawn
    _, slope = values(plot(data, "power_derivative"))
    assert np.nanmax(np.abs(slope)) == pytest.approx(0, abs=1e-9)


def test_a_smoothed_line_is_the_mean_of_neighbours_on_its_side_of_a_gap() -> None:
    times = [0, 1, 2, 3, 4, 50, 51, 52]
    data = PlotData(t_s=times, power_w=[10, 20, 60, 20, 10, 500, 500, 500])
    _, drawn = values(plot(data, "power_time", smooth=3))
    expected = [15, 30, 100 / 3, 30, 15, np.nan, 500, 500, 500]
    assert list(drawn) == pytest.approx(expected, nan_ok=True)


def test_the_rate_of_energy_is_its_mean_and_band() -> None:
    watts = [100.0, 200.0] * 500
    figure = plot(made(watts, 100.0), "energy_rate", bins=10)
    _, rate = values(figure, "mean")
    assert rate == pytest.approx(np.full(10, 150), abs=0.5)  # half a reading of 100 at an edge: 50 / 100
    (band,) = (c for c in axes(figure).collections if c.get_gid() == "band")
    heights = band.get_paths()[0].vertices[:, 1]
    assert set(np.round(heights, 9)) == {100.0, 200.0}  # 10 and 90 % of what is 100 half of the time and 200 the other


def test_a_rate_over_a_gap_is_missing() -> None:
    times = [*np.arange(0, 4, 0.1), *np.arange(6, 10.01, 0.1)]
    _, rate = values(plot(PlotData(t_s=times, power_w=[100.0] * len(times)), "energy_rate", bins=10), "mean")
    assert np.isnan(rate).any()
    assert np.nanmin(rate) == pytest.approx(100)


def test_the_change_of_power_is_its_slope() -> None:
    _, slope = values(plot(made(np.linspace(100, 200, 51)), "power_derivative"))
    assert slope == pytest.approx(np.full(51, 10.0))  # W/s


def test_phases_are_shaded_where_they_are(readings: PlotData) -> None:
    figure = plot(readings, "power_time")
    to_data = axes(figure).transData.inverted()
    shaded = {patch.get_label(): patch.get_extents().transformed(to_data) for patch in axes(figure).patches}
    for name, start, end in readings.phases:
        box = shaded[f"_phase {name}"]
        assert (box.x0, box.x1) == pytest.approx((start, end), rel=1e-6)
    assert not axes(plot(readings, "power_time", shade_phases=False)).patches
    ranks = made([1, 1], phases=[("train", 1.0, 5.0), ("train", 1.1, 5.2)])  # of two processes
    assert len(axes(plot(ranks, "power_time")).patches) == 1
    assert words(plot(ranks, "power_time")).count("train") == 1


def test_ten_thousand_phases_are_drawn_as_what_can_be_seen() -> None:
    phases = [("step", k * 1.0, k + 0.5) for k in range(10000)]
    t = np.arange(0, 10000, 0.25)
    watts = np.where(t % 1 < 0.5, 200.0, 100.0)
    data = PlotData(t_s=list(t), power_w=list(watts), phases=[("all", 0, 9000), *phases])
    figure = plot(data, "power_time")
    assert [patch.get_label() for patch in axes(figure).patches] == ["_phase all"]
    (bar,) = axes(plot(PlotData(t_s=list(t), power_w=list(watts), phases=phases), "phase_energy_bar")).patches
    assert bar.get_height() == pytest.approx(0.0875 * 10000)  # kJ: 0.25 s of 200 W, then 0.25 s down to 100 W


def test_utilisations_are_their_readings(readings: PlotData) -> None:
    for key, gid, told in (
        ("gpu_util_time", "values", readings.gpu_util),
        ("mem_util_time", "values", readings.mem_util),
        ("util_time_dual", "GPU", readings.gpu_util),
        ("util_time_dual", "memory", readings.mem_util),
    ):
        _, drawn = values(plot(readings, key), gid)
        assert list(drawn[np.isfinite(drawn)]) == list(told)


def test_long_runs_have_minutes_and_hours() -> None:
    assert axes(plot(made([1.0] * 99, 4000), "power_time")).get_xlabel() == "time (min)"
    figure = plot(made([1.0] * 99, 36000), "power_time")
    figure.canvas.draw()
    assert axes(figure).get_xlabel() == "time (h)"
    labels = [text.get_text() for text in axes(figure).get_xticklabels()]
    assert {"2", "4", "6", "8", "10"} <= set(labels)


# ---- distributions ----


def test_bars_of_a_histogram_count_readings() -> None:
    figure = plot(made([100] * 3 + [200] * 5 + [300] * 2), "power_hist", bins=2)
    assert [bar.get_height() for bar in axes(figure).patches] == [3, 7]  # the last range has both its ends
    assert values(figure, "median")[0][0] == 200
    with pytest.raises(ValueError, match="bins is at least 1"):
        plot(made([1, 2]), "power_hist", bins=0)


def test_bars_of_utilisations_count_readings(readings: PlotData) -> None:
    figure = plot(readings, "util_hist", bins=10)
    heights = [bar.get_height() for bar in axes(figure).patches]
    assert sum(heights[:10]) == len(readings.gpu_util)
    assert sum(heights[10:]) == len(readings.mem_util)
    assert heights[9] == sum(1 for percent in readings.gpu_util if percent >= 90)


def test_a_distribution_function_has_the_share_at_most_so_large() -> None:
    rng = np.random.default_rng(0)
    figure = plot(made(rng.permutation(np.arange(1, 101))), "power_ecdf")
    watts, share = values(figure, "share")
    assert share[0] == 0
    assert list(watts[1:]) == list(range(1, 101))
    assert share[1:] == pytest.approx(np.arange(1, 101) / 100)
    assert values(figure, "median")[0][0] == pytest.approx(50.5)
    assert values(figure, "p90")[0][0] == pytest.approx(90.1)  # linear between the readings: 1 + 0.9 * 99


def test_distribution_functions_of_utilisations_end_at_one(readings: PlotData) -> None:
    figure = plot(readings, "util_ecdf")
    for gid in ("GPU", "memory"):
        assert values(figure, gid)[1][-1] == 1


# ---- phases ----

PHASES = [("low", 0.0, 4.0), ("high", 5.0, 9.0)]


def two_levels(**fields: Any) -> PlotData:
    t = np.arange(0, 10, 0.01)
    return PlotData(t_s=list(t), power_w=list(np.where(t < 4.5, 100.0, 300.0)), phases=PHASES, **fields)


def test_boxes_are_of_the_readings_in_each_phase() -> None:
    t = np.arange(0, 10, 0.1)
    utils: dict[str, Any] = {"gpu_util_t_s": list(t), "gpu_util": list(np.where(t < 4.5, 20.0, 80.0))}
    data = two_levels(**utils)
    for key, levels in (("power_boxplot_phase", (100, 300)), ("util_boxplot_phase", (20, 80))):
        figure = plot(data, key)
        names = [text.get_text() for text in axes(figure).get_xticklabels()]
        assert names == ["low", "high", "(no phase)"]
        medians = [line.get_ydata()[0] for line in axes(figure).lines if line.get_linewidth() == 2]
        assert medians[:2] == list(levels)


def test_joules_of_phases_without_a_report_are_integrals() -> None:
    figure = plot(two_levels(), "phase_energy_bar")
    heights = [bar.get_height() for bar in axes(figure).patches]
    assert heights == pytest.approx([400, 1200])  # W x 4 s, levels that do not change inside: rounding alone
    assert "integrals of the readings, without intervals" in words(figure)
    assert intervals(figure) == []


def test_an_integral_over_a_part_of_a_reading_is_exact_on_a_line() -> None:
    data = made(np.linspace(0, 100, 11), 10.0, phases=[("odd", 0.25, 3.5)])
    heights = [bar.get_height() for bar in axes(plot(data, "phase_energy_bar")).patches]
    assert heights == pytest.approx([5 * (3.5**2 - 0.25**2)])  # of 10 W/s: 10/2 (b2 - a2)


def test_joules_of_phases_are_those_of_the_report(recording: joulemap.Recording, readings: PlotData) -> None:
    rows = [row for row in recording.report("phase", gpu=0) if row.kind == "phase"]
    figure = plot(readings, "phase_energy_bar")
    bars = list(axes(figure).patches)
    assert [bar.get_height() for bar in bars] == pytest.approx([known(row.energy_j) for row in rows])
    ends = [(known(row.energy_low_j), known(row.energy_high_j)) for row in rows]
    assert intervals(figure) == [pytest.approx(pair) for pair in ends]
    assert "95 % intervals" in words(figure)


def test_joules_of_phases_of_one_name_in_several_places_have_their_paths() -> None:
    energies = [PhaseEnergy("train", 5e4, 4e4, 6e4), PhaseEnergy("train/step/check", 1e4, None, None)]
    figure = plot(two_levels(phase_energies=energies), "phase_energy_bar")
    assert [bar.get_height() for bar in axes(figure).patches] == [50, 10]
    assert axes(figure).get_ylabel() == "energy (kJ)"
    assert intervals(figure) == []  # not one that is made up


def test_seconds_of_phases_count_common_time_once() -> None:
    phases = [("train", 0.0, 4.0), ("train", 2.0, 5.0), ("train", 7.0, 8.0), ("check", 1.0, 2.5)]
    figure = plot(made([1, 1], phases=phases), "phase_time_bar")
    assert [bar.get_height() for bar in axes(figure).patches] == [6.0, 1.5]


# ---- power over utilisation ----


def test_points_pair_utilisation_with_the_power_of_its_time() -> None:
    data = made(
        np.linspace(0, 100, 101),
        gpu_util_t_s=[-1.0, 2.5, 5.0, 7.25, 11.0],
        gpu_util=[1.0, 20.0, 30.0, 40.0, 99.0],
        phases=[("a", 0, 4)],
    )
    figure = plot(data, "power_util_scatter")
    points = {c.get_label(): c.get_offsets().tolist() for c in axes(figure).collections}
    assert points["a"] == [pytest.approx([20, 25])]  # those before and after the readings of power are left out
    assert points["(no phase)"] == [pytest.approx([30, 50]), pytest.approx([40, 72.5])]
    assert sum(axes(plot(data, "power_util_hexbin")).collections[0].get_array()) == 3


def test_points_in_gaps_of_power_are_left_out() -> None:
    times = [*np.arange(0, 4, 0.1), *np.arange(6, 10, 0.1)]
    data = PlotData(t_s=times, power_w=[100.0] * 80, gpu_util_t_s=[2.0, 5.0, 7.0], gpu_util=[1.0, 2.0, 3.0])
    (points,) = axes(plot(data, "power_util_scatter")).collections
    assert points.get_offsets()[:, 0].tolist() == [1, 3]


# ---- layers ----


def test_bars_of_layers_are_the_groups_of_the_report(layers: joulemap.types.Report) -> None:
    figure = plot(layers, "layer_energy", limit=6)
    groups = {group.path: group for group in layers.groups()}
    bars = list(axes(figure).patches)
    assert len(bars) == 6
    told = sorted((abs(group.energy_j or 0) for group in groups.values()), reverse=True)
    assert sorted((abs(bar.get_width()) for bar in bars), reverse=True) == pytest.approx(told[:6])
    for bar in bars:
        assert bar.get_width() == pytest.approx(known(groups[bar.get_label()[1:]].energy_j))
    ends = [
        (float(segment[0][0]), float(segment[1][0]))
        for bars in axes(figure).containers
        if isinstance(bars, matplotlib.container.ErrorbarContainer)
        for segment in bars.lines[2][0].get_segments()
    ]
    shown = [groups[bar.get_label()[1:]] for bar in bars]
    expected = [(known(group.energy_low_j), known(group.energy_high_j)) for group in shown]
    assert ends == [pytest.approx(pair) for pair in expected]
    faces = {bar.get_label()[1:]: bar.get_facecolor()[3] for bar in bars}
    assert faces["Sequential"] == 0  # hollow: other layers are in it
    assert faces["*.2"] == 1
    smaller = sum(1 for group in groups.values() if group.energy_j) - 6
    assert f"{smaller} smaller rows are not shown" in words(figure)


def test_bars_of_layers_a_step_are_those_of_a_steady_step(layers: joulemap.types.Report) -> None:
    bars = {bar.get_label()[1:]: bar.get_width() for bar in axes(plot(layers, "layer_energy", per="step")).patches}
    step_j = {group.path: known(group.step_j) for group in layers.groups()}
    factor = max(bars.values()) / max(step_j[path] for path in bars)
    assert factor == pytest.approx(1) or factor == pytest.approx(1000)
    assert len(bars) > 2
    assert bars == pytest.approx({path: factor * step_j[path] for path in bars})
    with pytest.raises(ValueError, match="per='layer' is not known: use one of run, step"):
        plot(layers, "layer_energy", per="layer")


def test_the_flame_graph_adds_up_to_the_total(layers: joulemap.types.Report) -> None:
    figure = plot(layers, "energy_flame")
    by_depth: dict[float, float] = {}
    for frame in axes(figure).patches:
        middle = frame.get_y() + frame.get_height() / 2
        by_depth[middle] = by_depth.get(middle, 0) + frame.get_width()
    total = known(layers.totals.total_energy_j)
    assert by_depth[0] == pytest.approx(total)
    # Frames below a hair (1/4000) are not drawn: as many rows as stand in the row may lack as much.
    lacking = sum(1 for row in layers if row.depth == 0) / 4000
    assert by_depth[1] == pytest.approx(total, rel=lacking)
    assert by_depth[2] < by_depth[1]


class Row:
    """What `frames` looks at in a row."""

    def __init__(self, path: str, energy_j: float | None) -> None:
        self.path = path
        self.energy_j = energy_j


def tree(*children: tuple[str, float | None, Any]) -> Node:
    root = Node(None)
    for path, energy_j, below in children:
        node = Node(Row(path, energy_j))  # type: ignore[arg-type]
        node.children = tree(*below).children
        root.children.append(node)
    return root


def test_frames_lie_in_those_around_them_and_rows_below_zero_take_from_those_beside_them() -> None:
    inner = (("a.x", 40.0, ()), ("a.y", 20.0, ()))
    root = tree(("a", 66.0, inner), ("none", None, ()), ("b", 44.0, ()), ("less", -10.0, ()))
    found = {frame.node.row.path: frame for frame in frames(root, 100.0, 0.0) if frame.node.row is not None}
    assert (found["a"].left, found["a"].width) == pytest.approx((0, 60))  # 66 of 110, on 100
    assert (found["b"].left, found["b"].width) == pytest.approx((60, 40))
    assert found["a.x"].width == pytest.approx(40 * 60 / 66)
    assert found["a.y"].left == pytest.approx(found["a.x"].width)
    assert set(found) == {"a", "a.x", "a.y", "b"}


# ---- steps ----


def test_points_of_steps_are_the_rows_of_the_report(spans: joulemap.types.Report) -> None:
    steps = sorted((row for row in spans if row.kind == "step"), key=lambda row: row.start_ns)
    figure = plot(spans, "step_energy")
    t, joules = values(figure)
    assert joules == pytest.approx([known(row.energy_j) for row in steps])
    middles = [0.5e-9 * (row.start_ns + row.end_ns - 2 * steps[0].start_ns) for row in steps]
    assert t == pytest.approx(middles)
    (band,) = axes(figure).collections
    corners = band.get_paths()[0].vertices
    count = len(steps)  # the polygon goes along the lower ends, then back along the upper ones
    assert corners[1 : count + 1, 1] == pytest.approx([known(row.energy_low_j) for row in steps])
    assert corners[count + 2 : -1, 1] == pytest.approx([known(row.energy_high_j) for row in reversed(steps)])
    assert values(figure, "steady")[1][0] == pytest.approx(known(spans.totals.steady_step_j))


def test_of_very_many_steps_each_point_is_the_mean_of_several(
    spans: joulemap.types.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    from joulemap.plots import steps as module

    monkeypatch.setattr(module, "_MOST_POINTS", 100)
    monkeypatch.setattr(module, "_MOST_GROUPS", 40)
    rows = sorted((row for row in spans if row.kind == "step"), key=lambda row: row.start_ns)
    _, joules = values(plot(spans, "step_energy"))
    assert len(rows) == 151
    assert len(joules) == 38  # 151 in fours
    first = sum(known(row.energy_j) for row in rows[:4]) / 4
    assert joules[0] == pytest.approx(first)


def test_a_run_without_steps_says_so(tmp_path: Path) -> None:
    with pytest.raises(CannotDrawError, match="this run has no steps"):
        plot(recorded.unpack("small", tmp_path), "step_energy")


# ---- roofline ----


def test_a_point_of_the_roofline_is_joules_of_the_forward_passes_by_their_flops(layers: joulemap.types.Report) -> None:
    figure = plot(layers, "roofline", counts={"3": (3e8, 1e8)})
    (row,) = (row for row in layers if row.path == "3")
    (bars,) = axes(figure).containers
    x, y = bars.lines[0].get_data()
    each = 1e12 * known(row.forward_share) / (3e8 * row.calls)
    assert list(x) == [3.0]
    assert list(y) == pytest.approx([each * known(row.energy_j)])
    ((start, end),) = intervals(figure)
    assert (start, end) == pytest.approx((each * known(row.energy_low_j), each * known(row.energy_high_j)))


def test_equal_layers_are_one_point_and_what_holds_others_is_none(layers: joulemap.types.Report) -> None:
    figure = plot(layers, "roofline", counts={**COUNTS, "0": (3e9, 2e8), "Sequential": (9e9, 9e8)})
    drawn = [line for bars in axes(figure).containers for line in bars.lines[0].get_xdata()]
    assert sorted(drawn) == pytest.approx([3, 20, 100])  # layer 3, both .2, both .0


def test_the_fit_of_the_roofline_finds_the_joules_of_a_flop_and_a_byte() -> None:
    intensity = np.array([0.3, 1, 4, 20, 150])
    assert fit(intensity, 0.7e-12 + 25e-12 / intensity) == pytest.approx((0.7e-12, 25e-12), rel=1e-9)
    assert fit(intensity, np.full(5, 3e-12)) == pytest.approx((3e-12, 0), abs=1e-24)
    flop, byte = fit(intensity, 1e-12 * intensity)  # dearer with intensity: no byte has a price below zero
    assert flop > 0
    assert byte == 0


def test_without_counts_there_is_no_roofline(layers: joulemap.types.Report) -> None:
    with pytest.raises(CannotDrawError, match=r"counts=joulemap.plots.count\(model, \*inputs\)"):
        plot(layers, "roofline")
    with pytest.raises(CannotDrawError, match="are the paths of counts those of its rows"):
        plot(layers, "roofline", counts={"elsewhere": (1, 1)})
    with pytest.raises(TypeError, match=r"counts is \{path"):
        plot(layers, "roofline", counts={"3": 4})


def test_counts_of_a_model_are_its_products_and_operands() -> None:
    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide = torch.nn.Linear(64, 256)
            self.act = torch.nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.act(self.wide(self.act(x)))
            return result

    model = Block()
    found = count(model, torch.zeros(32, 64))
    linear_bytes = 4 * (32 * 64 + 256 * 64 + 256 + 32 * 256)
    assert found["wide"] == (2 * 32 * 64 * 256, linear_bytes)
    relu_bytes = 4 * 2 * (32 * 64 + 32 * 256)  # two calls, each reads and writes
    assert found["act"] == (0, relu_bytes / 2)
    assert found["Block"] == (2 * 32 * 64 * 256, linear_bytes + relu_bytes)
    assert not model._forward_hooks
    assert not model.wide._forward_pre_hooks


# ---- two runs ----


@pytest.mark.parametrize("unit", [(1.0, "J"), (1e-3, "kJ")])
def test_bars_of_two_runs_are_those_of_their_diff(
    unit: tuple[float, str], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulemap.plots.runs.joules", lambda _: unit)
    other = recorded.unpack("small", tmp_path)
    diff = joulemap.diff(path, other, per="run")
    figure = plot((path, other), "two_runs", per="run", limit=3)
    scale, name = unit
    assert axes(figure).get_xlabel() == f"energy a run ({name}), with 95 % intervals"
    sides = [side for side in axes(figure).containers if isinstance(side, matplotlib.container.BarContainer)]
    bars = {side.get_label(): [bar.get_width() for bar in side] for side in sides}
    assert bars["live"][0] == pytest.approx(scale * known(diff.total.a_j))
    assert bars["small"][0] == pytest.approx(scale * known(diff.total.b_j))
    names = [text.get_text() for text in axes(figure).get_yticklabels()]
    assert names[0] == "all"
    assert len(names) == 4
    rows = {row.path: row for row in diff.rows}
    in_a = [path for path in names[1:] if rows[path].a_j is not None]
    assert bars["live"][1:] == pytest.approx([scale * known(rows[path].a_j) for path in in_a])
    assert diff.total.verdict in words(figure)
    assert "simulated GPU" in words(plot(diff, "two_runs"))
    named = plot((path, other), "two_runs", per="run", names=("before", "after"))
    assert [text.get_text() for text in axes(named).get_legend().get_texts()] == ["before", "after"]


# ---- the page ----

PAGE = Path(__file__).parents[2] / "docs/figures.md"


def test_what_the_page_shows_in_python_works(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("run", "before", "after"):
        Path(f"{name}.joulemap").symlink_to(path)

    def block() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8))

    model = torch.nn.Sequential(block(), block(), torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))  # with the run's paths
    given = {"model": model, "x": torch.zeros(2, 8)}
    programs = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(programs) == 3
    for program in programs:
        exec(program, dict(given))  # in the order of the page
    assert {"power.png", "runs.pdf", "energy.svg", "counts.json"} <= {file.name for file in tmp_path.iterdir()}


def test_the_page_has_all_figures() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| key |")[2].partition("\n\n")[0]
    keys = [key for line in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(keys) == sorted(figures())


# ---- the command ----


def command(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "joulemap", "plot", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_the_command_knows_the_same_figures() -> None:
    listed = command("--list")
    assert listed.returncode == 0, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()] == figures()
    refused = command("x.joulemap", "--figure", "nothing", "-o", "x.png")
    assert refused.returncode == 2
    assert refused.stderr.partition("it is one of ")[2].split()[0].split("|") == figures()


def test_the_command_writes_a_figure(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "power.svg"
    done = command(path, "--figure", "power_time", "-o", target, "--dark", "--smooth", 5, "--gpu", 0)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    plot(path, "power_time", path=tmp_path / "same.svg", dark=True, smooth=5, gpu=0)
    assert target.read_bytes() == (tmp_path / "same.svg").read_bytes()
    counts = tmp_path / "counts.json"
    counts.write_text('{"3": [3e8, 1e8]}')
    done = command(path, "--figure", "roofline", "--counts", counts, "-o", tmp_path / "roofline.pdf")
    assert (done.returncode, done.stderr) == (0, "")
    done = command(path, path, "--figure", "two_runs", "-o", tmp_path / "runs.png", "--dpi", 50)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_says_why_it_cannot(path: Path, tmp_path: Path) -> None:
    small = recorded.unpack("small", tmp_path)
    target = tmp_path / "figure.png"
    counts = tmp_path / "counts.json"
    counts.write_text("[")
    for words_, code, said in (
        ((small, "--figure", "util_hist", "-o", target), 66, "GPU 0 has no readings of its utilisation in this run"),
        ((path, "--figure", "power_time", "-o", tmp_path / "x.gif"), 2, "ends with one of .png, .svg, .pdf"),
        ((path, "--figure", "power_time", "-o", tmp_path / "no/x.png"), 74, "cannot be written: No such file"),
        ((path, "--figure", "roofline", "--counts", counts, "-o", target), 65, "counts.json is not JSON"),
        ((path, "--figure", "roofline", "--counts", "none", "-o", target), 66, "none: No such file"),
    ):
        done = command(*words_)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
        assert not target.exists()


def test_the_command_says_what_to_install(path: Path, tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')\n")
    own = tmp_path / "python"
    own.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec "{sys.executable}" "$@"\n')
    own.chmod(0o755)
    native = Path(joulemap.__file__).parent / "_native/joulemap"
    line: list[str | Path] = [native, "plot", path, "--figure", "power_time", "-o", tmp_path / "power.png"]
    done = subprocess.run(
        line, capture_output=True, text=True, env={**os.environ, "JOULEMAP_PYTHON": str(own)}, check=False
    )
    assert done.returncode == 69
    assert done.stderr == "joulemap plot: figures need matplotlib: pip install 'joulemap[plot]'\n"


# ---- a search for a power cap ----


def line_of(figure: Figure, gid: str) -> tuple[Any, Any]:
    (line,) = (line for panel in axes(figure).child_axes for line in panel.lines if line.get_gid() == gid)
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def test_a_search_shows_what_is_thought_of_each_cap_the_probes_by_number_and_the_choice() -> None:
    told = searched()
    figure = plot(told, "power_cap")
    panels = axes(figure).child_axes
    assert [panel.get_title(loc="left") for panel in panels] == [
        "time (%)",
        "energy (%)",
        "EDP (%)",
        "ED2P (%) — to be least",
    ]
    for key, panel in zip(("time", "energy", "edp", "ed2p"), panels, strict=True):
        caps_w, percent = line_of(figure, f"line {key}")
        assert list(caps_w) == [one["cap_w"] for one in told["predicted"]["caps"]]
        assert percent == pytest.approx([100 * one["relative"][key][0] for one in told["predicted"]["caps"]])
        assert line_of(figure, f"choice {key}")[0] == pytest.approx([told["chosen_cap_w"]] * 2)
        probes = [line for line in panel.lines if line.get_gid() == f"probe {key}"]
        asked = [one["cap_w"] for one in told["trials"] if one["stage"] == "probe"]
        assert [line.get_xdata()[0] for line in probes] == asked
        assert [text.get_text() for text in panel.texts] == [str(number) for number in range(1, len(asked) + 1)]
    first, second = told["trials"][:2]
    (marked,) = (
        line
        for line in panels[3].lines
        if line.get_gid() == "probe ed2p" and line.get_xdata()[0] != 700 and line.get_xdata()[0] == second["cap_w"]
    )
    share = second["power_w"] / first["power_w"] * (second["time_s"] / first["time_s"]) ** 3
    assert marked.get_ydata()[0] == pytest.approx(100 * share)
    said = words(figure)
    assert f"better: {told['chosen_cap_w']:.0f} W" in said.replace("\n", " ")
    assert "simulated" not in said


def test_a_search_without_a_saving_says_so_in_the_figure() -> None:
    search = joulemap._core.Search(200, 700, 700, step_w=10)
    while (trial := search.next()) is not None:
        search.tell(trial["cap_w"], 0.01, 150.0)
    assert "the cap makes no difference here" in words(plot(json.loads(search.json()), "power_cap")).replace("\n", " ")
    assert "not proven" in words(plot(searched(proof=False), "power_cap")).replace("\n", " ")


def test_what_is_no_search_is_said(path: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotDrawError, match="not one of a search for a power cap"):
        plot(path, "power_cap")
    with pytest.raises(FileNotFoundError):
        plot(tmp_path / "none.json", "power_cap")
    with pytest.raises(TypeError, match="power_cap is drawn from a search"):
        plot(PlotData(), "power_cap")
    wrong = searched()
    del wrong["predicted"]["caps"][3]["relative"]["edp"]
    for text in ("{", "{}", '{"predicted": {"caps": [3]}}', "[]", json.dumps(wrong), ""):
        file = tmp_path / "wrong.json"
        file.write_text(text)
        with pytest.raises((CannotDrawError, joulemap.Error)):
            plot(file, "power_cap")


def test_the_command_draws_a_search_from_its_json(tmp_path: Path) -> None:
    file = tmp_path / "search.json"
    file.write_text(json.dumps(searched()))
    command = [sys.executable, "-m", "joulemap", "plot", str(file), "--figure", "power_cap", "-o", "cap.svg"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert (tmp_path / "cap.svg").read_bytes().startswith(b"<?xml")
    done = subprocess.run([*command[:-4], "none", *command[-4:]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2  # two of them
    file.unlink()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "No such file" in done.stderr) == (66, True)
