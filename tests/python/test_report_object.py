"""What can be done with a report, a recording and a window in Python."""

from __future__ import annotations

import csv
import lzma
import pickle
import random
import re
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import joulemap
import pytest
import torch
from joulemap._cli import native_folder
from torch import nn
from values import known

RECORDINGS = Path(__file__).parents[1] / "data" / "recordings"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with equal layers, steps and phases."""
    path = tmp_path_factory.mktemp("object") / "run.joulemap"
    model = nn.Sequential(nn.ModuleDict({"blocks": nn.Sequential(*(nn.Linear(64, 64) for _ in range(6)))})["blocks"])
    with joulemap.Session(path, sim="h200", cpu=False) as run:
        run.watch(model)
        for name in ("train", "validate"):
            with run.phase(name):
                for _ in range(5):
                    with run.step(samples=4):
                        for _ in range(100):
                            model(torch.randn(4, 64))
    return path


@pytest.fixture(scope="module")
def report(recording: Path) -> joulemap.types.Report:
    return joulemap.Recording(recording).report()


# ---- reports ----


def test_a_report_is_its_rows(report: joulemap.types.Report) -> None:
    assert list(report) == report.rows
    assert len(report) == len(report.rows) > 3
    assert report
    assert pickle.loads(pickle.dumps(report.rows)) == report.rows


def test_rows_are_sorted_by_words_and_by_fields(report: joulemap.types.Report) -> None:
    by_energy = [row.energy_j for row in report.sorted()]
    assert by_energy == sorted(by_energy, key=lambda energy: -known(energy))
    for word, field in (("self", "energy_self_j"), ("time", "busy_s"), ("calls", "calls"), ("path", "path")):
        values = [getattr(row, field) for row in report.sorted(word, reverse=False)]
        assert values == sorted(values)
    by_power = [row.power_w for row in report.sorted("power")]
    assert None in by_power
    assert None not in by_power[: by_power.index(None)]  # what is not known comes last
    assert by_power[by_power.index(None) :] == [None] * by_power.count(None)
    assert report.sorted(lambda row: len(row.path))[0] == max(report, key=lambda row: len(row.path))
    with pytest.raises(ValueError, match="key='colour' is not known: use one of energy, self, power, time, name, path"):
        report.sorted("colour")


def test_the_tree_has_each_row_once_below_its_parent(report: joulemap.types.Report) -> None:
    root = report.tree()
    assert root.row is None
    assert [node.row for node in root] == report.rows
    for node in root:
        assert node.row is not None
        for child in node.children:
            assert child.row is not None
            assert child.row.depth == node.row.depth + 1
            assert known(child.row.energy_j) <= known(node.row.energy_j) + 1e-9
    top = next(node for node in root if node.row is not None and node.row.path == "Sequential")
    first = 1 + report.rows.index(top.row)  # type: ignore[arg-type]
    assert [node.row for node in top] == report.rows[first : first + 7]
    lines = str(root).splitlines()
    assert len(lines) == len(report)
    assert lines[first].startswith("  0: ")
    assert str(top.children[0]).startswith("0: ")
    assert repr(root) == f"<joulemap.types.Node all rows: {len(root.children)} children>"
    assert repr(top) == "<joulemap.types.Node 'Sequential' (layer): 1 children>"


def test_groups_are_sums_of_their_rows(report: joulemap.types.Report) -> None:
    groups = report.groups()
    rows = report.rows
    assert sorted(number for group in groups for number in group.rows) == list(range(len(rows)))
    several = [group for group in groups if group.members > 1]
    assert several
    for group in groups:
        assert group.members == len(group.rows)
        assert group.energy_j == pytest.approx(sum(known(rows[number].energy_j) for number in group.rows))
    for group in several:
        assert group.path.startswith("0.")
        both = [rows[number] for number in group.rows]
        total = report.sum(lambda row, both=both: row in both)  # type: ignore[misc]
        assert (group.energy_low_j, group.energy_high_j) == pytest.approx((total.energy_low_j, total.energy_high_j))
    assert {group.path for group in groups if group.members == 1} <= {row.path for row in rows}
    assert [group["members"] for group in report.to_dict()["groups"]] == [group.members for group in groups]
    assert [group.members for group in report.groups("phase")] == [1] * len(report.groups("phase"))


def test_csv_reads_back(report: joulemap.types.Report, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    assert report.to_csv(path) is None
    assert path.read_text(encoding="utf-8") == report.to_csv()
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["path"] for line in lines] == [row.path for row in report]
    assert [float(line["energy_j"]) for line in lines] == pytest.approx([known(row.energy_j) for row in report])
    assert {line["simulated"] for line in lines} == {"true"}


def test_wrong_wishes_of_a_view_are_named(report: joulemap.types.Report) -> None:
    with pytest.raises(ValueError, match="width is a whole number from 0 to"):
        report.table(width=-1)
    with pytest.raises(TypeError, match="limit is a whole number, not 'ten'"):
        report.table(limit="ten")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="notes is True or False, not 1"):
        report.table(notes=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"of is a pattern of paths or what takes a Row, not 3 \(int\)"):
        report.sum(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path is a path, not 3"):
        report.to_csv(3)  # type: ignore[call-overload]


def test_none_is_all_of_it(recording: Path) -> None:
    opened = joulemap.Recording(recording)
    whole = opened.timeline()
    middle_ns = (whole.start_ns + whole.end_ns) // 2
    late, early = opened.report("board", from_ns=middle_ns), opened.report("board", to_ns=middle_ns)
    assert late.totals == opened.report("board", from_ns=middle_ns, to_ns=whole.end_ns + 10**12).totals
    assert early.totals == opened.report("board", from_ns=0, to_ns=middle_ns).totals
    with pytest.raises(ValueError, match="limit is a whole number from 1, or None for all, not 0"):
        opened.report().table(limit=0)


def test_a_table_says_how_python_gets_its_notes(report: joulemap.types.Report) -> None:
    assert "and how the fit went: notes=True" in report.table()
    assert "--" not in report.table()
    assert "notes=True" not in report.table(notes=True)


# ---- recordings ----


def test_a_recording_is_closed_by_its_block(recording: Path) -> None:
    with joulemap.Recording(recording) as opened:
        assert repr(opened) == f"<joulemap.Recording {str(recording)!r}: open>"
        report = opened.report()
    assert opened.closed
    assert repr(opened).endswith(": closed>")
    assert (opened.path, opened.name) == (str(recording), "run")
    assert report.table()
    opened.close()
    for use in (opened.report, lambda: opened.meta("host"), lambda: opened.damage, opened.__enter__):
        with pytest.raises(ValueError, match="is closed: open it again"):
            use()
    assert "train" in report.table("phase")  # what was made of it stays, with all its keys
    with pytest.raises(TypeError, match=r"path is a path, not 3 \(int\)"):
        joulemap.Recording(3)  # type: ignore[arg-type]


# ---- one GPU ----


def test_a_gpu_has_the_index_of_the_rows_and_of_cuda(recording: Path) -> None:
    opened = joulemap.Recording(recording)
    whole = opened.report("board")
    (gpu,) = [row for row in whole if row.kind == "gpu"]
    uuid = opened.timeline().readings().uuid
    for index in (int(gpu.boards), "cuda:0", "cuda", torch.device("cuda", 0), uuid):
        assert opened.report("board", gpu=index).totals == whole.totals
        assert opened.timeline().readings(gpu=index).uuid == uuid
    with pytest.raises(joulemap.Error, match="no GPU of this recording has the UUID GPU-none"):
        opened.report(gpu="GPU-none")
    for index, words in ((4, "no GPU 4; this recording has: 0"), ("cuda:1", "no CUDA device 1; this recording has: 0")):
        with pytest.raises(joulemap.Error, match=words):
            opened.report(gpu=index)
        with pytest.raises(joulemap.Error, match=words):
            opened.energy(0, 1, gpu=index)
    for wrong in ("1", "cpu", "cuda:x", torch.device("cpu")):
        with pytest.raises(ValueError, match='gpu is the index or UUID of a GPU, as 0, "cuda:0" or'):
            opened.report(gpu=wrong)


# ---- energy without a report ----


def long_recording(tmp_path: Path) -> joulemap.Recording:
    path = tmp_path / "long.joulemap"
    path.write_bytes(lzma.decompress((RECORDINGS / "live.joulemap.xz").read_bytes()))
    return joulemap.Recording(path)


def test_the_energy_of_any_time_is_that_of_a_report_within_what_a_fit_adds(tmp_path: Path) -> None:
    opened = long_recording(tmp_path)
    begin_ns, end_ns = (int(opened.meta(key) or 0) for key in ("start_ns", "end_ns"))
    chance = random.Random(1)
    for _ in range(20):
        from_ns, to_ns = sorted(chance.randrange(begin_ns, end_ns) for _ in range(2))
        light, totals = opened.energy(from_ns, to_ns), opened.report("board", from_ns=from_ns, to_ns=to_ns).totals
        width_j = known(light.energy_high_j) - known(light.energy_low_j)
        assert known(light.energy_low_j) <= known(light.energy_j) <= known(light.energy_high_j)
        assert abs(known(light.energy_j) - known(totals.total_energy_j)) <= width_j
    whole = opened.report("board").totals
    assert opened.energy(begin_ns, end_ns).energy_j == pytest.approx(known(whole.total_energy_j), rel=0.001)
    with pytest.raises(ValueError, match="to_ns=1 lies before from_ns=2"):
        opened.energy(2, 1)


def test_the_energy_of_an_import_whose_rows_stand_sensor_by_sensor(tmp_path: Path) -> None:
    small, path = RECORDINGS.parent / "small", tmp_path / "small.joulemap"
    options: list[str | Path] = ["--board", "h200", "--readings", small / "readings.csv", "-o", path]
    subprocess.run([native_folder() / "joulemap", "import", *options], check=True)
    opened = joulemap.Recording(path)
    begin_ns, end_ns = (int(opened.meta(key) or 0) for key in ("start_ns", "end_ns"))
    whole = known(opened.report("board").totals.total_energy_j)
    assert opened.energy(max(0, begin_ns), end_ns).energy_j == pytest.approx(whole, rel=0.001)


def test_parts_of_a_run_add_up_to_it(tmp_path: Path) -> None:
    opened = long_recording(tmp_path)
    begin_ns, end_ns = (int(opened.meta(key) or 0) for key in ("start_ns", "end_ns"))
    cuts = sorted([begin_ns, end_ns, *(begin_ns + (end_ns - begin_ns) * part // 7 for part in range(1, 7))])
    parts = [known(opened.energy(first, last).energy_j) for first, last in pairwise(cuts)]
    assert sum(parts) == pytest.approx(known(opened.energy(begin_ns, end_ns).energy_j), rel=0.02)


def test_a_light_window_takes_a_millisecond(session: joulemap.Session) -> None:
    windows = []
    for _ in range(40):
        with session.window("w", type="work") as window:
            time.sleep(0.05)
        windows.append(window)
    session.flush()
    begin_s = time.thread_time()
    energies = [window.energy() for window in windows]
    each_s = (time.thread_time() - begin_s) / len(windows)
    assert each_s < 0.003  # 0.5 ms; three times 1 ms for machines that do other things
    seconds = [1e-9 * (known(window.end_ns) - known(window.start_ns)) for window in windows]
    power_w = [known(energy.energy_j) / length_s for energy, length_s in zip(energies, seconds, strict=True)]
    assert max(power_w[2:]) < 1.3 * min(power_w[2:])  # the sensor remembers what was before
    assert windows[0].joules == energies[0].energy_j


def test_a_window_tells_its_state(session: joulemap.Session) -> None:
    window = session.window("one")
    assert repr(window) == "<joulemap.types.Scope window 'one': not begun>"
    with pytest.raises(RuntimeError, match="'one' has not begun: nothing to report"):
        print(window.joules)
    with window:
        assert repr(window) == "<joulemap.types.Scope window 'one': open>"
        assert known(window.joules) >= 0
    assert re.fullmatch(r"<joulemap.types.Scope window 'one': [0-9.]+ m?s>", repr(window))  # no wait for readings
    text = str(window)
    assert re.fullmatch(r"[0-9.]+ ±[0-9.]+ m?J in [0-9.]+ m?s, [0-9.]+ W \(simulated GPU 0\)", text)
    assert repr(window) == f"<joulemap.types.Scope window 'one': {text.partition(',')[0]}>"
    watch = session.watch(nn.Sequential(nn.Linear(2, 2)))
    assert repr(watch) == "<joulemap.torch.Watch 'Sequential': 2 layers>"
    watch.remove()
    assert repr(watch) == "<joulemap.torch.Watch 'Sequential': removed>"
    assert repr(session) == "<joulemap.Session in memory: running>"
    assert repr(joulemap.Session("a.joulemap")) == "<joulemap.Session 'a.joulemap': not started>"


# ---- sessions ----


def test_a_mark_holds_what_json_can_hold(session: joulemap.Session) -> None:
    with pytest.raises(TypeError, match=r"a value of the mark 'epoch' is nothing that JSON can hold: .*object"):
        session.mark("epoch", model=object())
    around: list[object] = []
    around.append(around)
    with pytest.raises(ValueError, match="a value of the mark 'epoch' is nothing that JSON can hold: Circular"):
        session.mark("epoch", values=around)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"path": 3}, TypeError, r"path is a path, not 3 \(int\)"),
        ({"kernels": "yes"}, ValueError, "kernels is \"auto\", True or False, not 'yes'"),
        ({"kernels": 1}, ValueError, 'kernels is "auto", True or False, not 1'),
        ({"overwrite": "no"}, TypeError, "overwrite is True or False, not 'no'"),
        ({"cpu": None}, TypeError, "cpu is True or False, not None"),
        ({"on_window_ready": 3}, TypeError, "on_window_ready is callable, not 3"),
    ],
)
def test_a_wrong_argument_of_a_session_is_named(wrong: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        joulemap.Session(**wrong)  # type: ignore[arg-type]


NO_KERNELS = r"/nowhere/libcupti\.so|no CUDA driver"  # with and without a driver on this machine


def test_kernels_are_traced_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_CUPTI", "/nowhere/libcupti.so")
    with joulemap.Session(sim="h200", cpu=False) as run:  # a simulated board runs none
        time.sleep(0.1)
    assert run.kernels_missing is None
    assert not any("CUPTI" in note for note in run.report().notes)
    with pytest.raises(joulemap.Error, match=NO_KERNELS) as demanded:
        joulemap.Session(sim="h200", cpu=False, kernels=True).start()
    assert demanded.value.status == "NOT_SUPPORTED"
    assert "joulemap doctor" in demanded.value.hint
    assert joulemap.current_session() is None


def test_without_cupti_a_run_goes_on_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_CUPTI", "/nowhere/libcupti.so")
    monkeypatch.setattr("joulemap._session_options.SessionOptions.is_simulated", lambda self: False)
    with joulemap.Session(sim="h200", cpu=False) as run, run.window("w"):
        time.sleep(0.2)
    assert re.search(NO_KERNELS, run.kernels_missing or "")
    assert sum(re.search(NO_KERNELS, note) is not None for note in run.report().notes) == 1


def test_errors_speak_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "there.joulemap"
    path.write_text("something")
    with pytest.raises(joulemap.Error) as there:
        joulemap.Session(path, sim="h200", cpu=False).start()
    assert there.value.hint == "choose another path=, or overwrite=True"
    assert str(there.value).endswith(there.value.hint)
    with pytest.raises(joulemap.Error, match="make the folder first, or choose another with path=") as folder:
        joulemap.Session(tmp_path / "nowhere" / "run.joulemap", sim="h200", cpu=False).start()
    with pytest.raises(joulemap.Error) as simulated:
        joulemap.Session(sim="no-such-board", cpu=False).start()
    monkeypatch.setenv("JOULEMAP_NVML", "/nowhere/libnvidia-ml.so.1")
    monkeypatch.delenv("JOULEMAP_SIM", raising=False)
    with pytest.raises(joulemap.NoDeviceError) as nothing:
        joulemap.Session(cpu=False).start()
    for error in (there, folder, simulated, nothing):
        assert "--" not in str(error.value)
        assert " -o" not in str(error.value)
