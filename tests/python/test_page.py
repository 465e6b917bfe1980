"""The page of a report, and what it shows of itself in a notebook."""

from __future__ import annotations

import json
import re
import resource
import sqlite3
from pathlib import Path
from typing import Any

import joulemap
import pytest


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> joulemap.Recording:
    """Three steps on the simulated board, in a layer with a name that a browser could take for more."""
    path = tmp_path_factory.mktemp("page") / "run.joulemap"
    with joulemap.Session(path=path, sim="h200", cpu=False) as run, run.phase("<script>alert(1)</script>"):
        for _ in range(3):
            with run.step(samples=2), run.window("work"):
                pass
    return joulemap.Recording(path)


def data_of(page: Path) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text())
    assert found is not None
    return json.loads(found[1])


def test_a_page_has_the_figures_of_the_report_and_its_steps(recording: joulemap.Recording, tmp_path: Path) -> None:
    report = recording.report(by="phase")
    report.to_html(tmp_path / "page.html", name="three steps")
    run = data_of(tmp_path / "page.html")["runs"][0]
    assert run["name"] == "three steps"
    assert run["summary"]["total_energy_j"] == pytest.approx(report.totals.total_energy_j, rel=1e-6)
    assert run["rows"]["energy_j"] == [pytest.approx(row.energy_j, rel=1e-6) for row in report.rows]
    assert run["steps"]["samples"] == [2, 2, 2]
    assert dict(run["machine"]["facts"])["host"] is not None


def test_a_page_that_cannot_be_written_is_an_error_with_the_path(recording: joulemap.Recording, tmp_path: Path) -> None:
    with pytest.raises(joulemap.Error, match=r"none/page\.html"):
        recording.report().to_html(tmp_path / "none" / "page.html")


def test_an_older_page_outlives_one_that_cannot_be_made_or_written(
    recording: joulemap.Recording, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("older")
    with pytest.raises(joulemap.Error, match="a page has no rows by span"):
        recording.report(by="span").to_html(page)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(joulemap.Error, match=r"cannot write .*/page\.html: File too large"):
            recording.report().to_html(page)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert page.read_text() == "older"
    assert list(tmp_path.iterdir()) == [page]


def test_a_page_is_written_through_a_link_and_is_as_readable_as_others(
    recording: joulemap.Recording, tmp_path: Path
) -> None:
    page, link, other = (tmp_path / name for name in ("page.html", "link.html", "other"))
    link.symlink_to(page)
    other.touch()
    recording.report().to_html(link)
    assert link.is_symlink()
    assert data_of(page)["runs"]
    assert page.stat().st_mode == other.stat().st_mode


def test_a_notebook_shows_a_small_table_that_runs_nothing(recording: joulemap.Recording) -> None:
    shown = recording.report(by="phase")._repr_html_()
    assert len(shown) < 20_000
    assert "<script" not in shown
    assert "SIMULATED" in shown
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in shown


# ---- a search for a power cap ----


def searched() -> dict[str, Any]:
    """Return a search on work of which a part follows the clock."""
    search = joulemap._core.Search(200, 700, 700, step_w=10)
    while (trial := search.next()) is not None:
        power_w = min(trial["cap_w"], 600.0)
        search.tell(trial["cap_w"], 0.01 * (0.7 + 0.3 * (600 / power_w) ** 0.7), power_w)
    told: dict[str, Any] = json.loads(search.json())
    return told


def page_of_search(text: str, tmp_path: Path) -> Any:
    """Return what a page shows of a recording whose search is this text."""
    path, page = tmp_path / "run.joulemap", tmp_path / "page.html"
    for old in (path, page):
        old.unlink(missing_ok=True)
    with joulemap.Session(path=path, sim="h200", cpu=False) as run, run.phase("all"):
        pass
    file = sqlite3.connect(path)
    with file:
        file.execute("insert into meta values ('cap_search', ?)", (text,))
    file.close()
    with joulemap.Recording(path) as recording:
        recording.report(by="phase").to_html(page)
    return data_of(page)["runs"][0]["cap"]


def test_a_page_has_the_search_that_its_recording_was_made_for(tmp_path: Path) -> None:
    told = searched()
    shown = page_of_search(json.dumps(told), tmp_path)
    assert (shown["verdict"], shown["chosen_w"], shown["reference_w"]) == ("better", told["chosen_cap_w"], 700)
    assert shown["saving"] == pytest.approx([told["proof"][key] for key in ("saving", "saving_low", "saving_high")])
    assert [cap["ed2p"] for cap in shown["caps"]] == [
        pytest.approx(cap["relative"]["ed2p"], rel=1e-5) for cap in told["predicted"]["caps"]
    ]
    assert [trial["cap_w"] for trial in shown["trials"]] == [trial["cap_w"] for trial in told["trials"]]


def test_what_is_no_search_is_not_shown(tmp_path: Path) -> None:
    told = searched()
    many = {**told, "trials": told["trials"] * 600}
    texts = {**told, "predicted": {"caps": [{"cap_w": "300"}]}}
    short = json.loads(json.dumps(told))
    short["predicted"]["caps"][2]["relative"]["time"].pop()
    for wrong in ("", "{", "[]", "{}", json.dumps(many), json.dumps(texts), json.dumps(short), "[" * 5000):
        assert page_of_search(wrong, tmp_path) is None
