"""What the package shows: few names at the top, one place for result types, no function that hides a module."""

from __future__ import annotations

import inspect
import pkgutil

import joulemap


def test_the_top_has_fifteen_names_at_most() -> None:
    assert len(joulemap.__all__) <= 15


def test_no_name_at_the_top_hides_a_module() -> None:
    modules = {module.name for module in pkgutil.iter_modules(joulemap.__path__)}
    hiding = [name for name in joulemap.__all__ if name in modules and not inspect.ismodule(getattr(joulemap, name))]
    assert hiding == []


def test_every_result_type_is_a_class_and_nothing_at_the_top_is_one() -> None:
    assert all(inspect.isclass(getattr(joulemap.types, name)) for name in joulemap.types.__all__)
    assert not set(joulemap.types.__all__) & set(joulemap.__all__)
