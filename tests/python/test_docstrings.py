"""Docstrings of all that is public: each parameter, what comes back and what is raised have their words.

Those of frameworks' modules are in tests/proof/frameworks, as the frameworks take half a minute to import.
"""

from __future__ import annotations

import importlib

import joulemap
import pytest
from docstrings import faults, missing_arguments

MODULES = ("", ".types", ".calibration", ".caps", ".ncu", ".plots", ".sinks", ".torch")


@pytest.mark.parametrize("name", MODULES)
def test_all_that_is_public_has_its_words(name: str) -> None:
    if name == ".torch":
        pytest.importorskip("torch")
    assert faults(importlib.import_module(f"joulemap{name}")) == []


@pytest.mark.parametrize("kind", [joulemap.Session, joulemap.Recording])
def test_what_is_made_by_its_name_has_words_for_each_argument(kind: type) -> None:
    assert missing_arguments(kind) == []
