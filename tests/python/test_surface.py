"""What the package shows: few names at the top, one place for result types, no function that hides a module."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import joulemap
import joulemap.ncu
import pytest


def test_the_top_has_fifteen_names_at_most() -> None:
    assert len(joulemap.__all__) <= 15


@pytest.mark.parametrize("name", ["", ".calibration", ".caps", ".plots", ".sinks"])
def test_no_name_hides_a_module(name: str) -> None:
    package = importlib.import_module(f"joulemap{name}")
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    shown = [key for key in package.__all__ if not inspect.ismodule(getattr(package, key))]
    assert [key for key in shown if key in modules] == []


def test_every_result_type_is_a_class_and_nothing_at_the_top_is_one() -> None:
    assert all(inspect.isclass(getattr(joulemap.types, name)) for name in joulemap.types.__all__)
    assert not set(joulemap.types.__all__) & set(joulemap.__all__)


@pytest.mark.parametrize(
    ("old", "new"), [("estimate", "estimate"), ("train_estimate", "train"), ("profile_with_ncu", "profile")]
)
def test_a_moved_function_works_under_its_old_name_and_says_the_new_one(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"joulemap\.{old} is joulemap\.ncu\.{new} now"):
        assert getattr(joulemap, old) is getattr(joulemap.ncu, new)


def test_a_name_that_never_was_is_missing() -> None:
    assert not hasattr(joulemap, "trian")
