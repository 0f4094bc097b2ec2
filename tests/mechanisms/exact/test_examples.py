"""Every example in a docstring of the sampling layer runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import mechanisms.exact

MODULES = ["mechanisms.rng", "mechanisms.exact"] + [
    f"mechanisms.exact.{module.name}" for module in pkgutil.iter_modules(mechanisms.exact.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    """The doctests of one module."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
