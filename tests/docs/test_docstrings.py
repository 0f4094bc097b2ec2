"""Every example in a docstring runs and prints what it shows."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.architecture.tree import importable, sources

MODULES = [importable(path) for path in sources()]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    """No doctest of the module fails."""
    module = importlib.import_module(name)

    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)

    assert result.failed == 0
