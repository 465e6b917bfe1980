"""Docstrings of the modules of frameworks; tests/python/test_docstrings.py has the others."""

from __future__ import annotations

import importlib

import pytest
from docstrings import faults, missing_arguments
from joulemap._energy_hooks import EnergyHooks

MODULES = {
    "jax": "jax",
    "keras": "keras",
    "lightning": "lightning",
    "huggingface": "transformers",
    "accelerate": "accelerate",
}


@pytest.mark.parametrize("name", MODULES)
def test_all_that_is_public_has_its_words(name: str) -> None:
    pytest.importorskip(MODULES[name])
    module = importlib.import_module(f"joulemap.{name}")
    assert faults(module) == []
    if hasattr(module, "EnergyCallback"):
        assert missing_arguments(module.EnergyCallback, EnergyHooks) == []
