"""Cells of our CSV files hold no formula, and can be read back."""

from __future__ import annotations

import re

import pytest
from joulemap._csv import cell

TEXTS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''@a", "blocks.0", "'tis", "")


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_a_spreadsheet_would_run_has_an_apostrophe_more(text: str) -> None:
    told = cell(text)
    assert not told.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert re.sub(r"^'(?='*[-=+@\t\r])", "", told) == text  # as docs/report.md says


@pytest.mark.parametrize("number", [-1, -0.5, 3.25])
def test_numbers_stay_numbers(number: float) -> None:
    assert cell(number) is number


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_what_is_missing_is_empty(missing: float | None) -> None:
    assert cell(missing) == ""
