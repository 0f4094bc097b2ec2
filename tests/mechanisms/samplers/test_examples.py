"""Every example in a docstring of the sampling layer runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from dpproof.mechanisms import samplers

MODULES = ["dpproof.mechanisms.samplers.rng", "dpproof.mechanisms.samplers"] + [
    f"dpproof.mechanisms.samplers.{module.name}"
    for module in pkgutil.iter_modules(samplers.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    """The doctests of one module."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
