"""Every example in a docstring runs and prints what it shows."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.architecture.tree import importable, sources

MODULES = [importable(path) for path in sources()]


LONG = "dpproof.learn.tuned_classifier"  # searches take seconds


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == LONG)) for name in MODULES]
)
def test_examples_of_a_module(name: str) -> None:
    """No doctest of the module fails."""
    module = importlib.import_module(name)

    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)

    assert result.failed == 0
