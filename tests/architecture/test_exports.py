"""The public surface: what a package says it exports is what it has."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from types import ModuleType

import pytest

from tests.architecture.tree import PACKAGES


def public_names(module: ModuleType) -> list[str]:
    """Public names that are no modules, sorted."""
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    )


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "dpproof"])
def test_all_is_the_sorted_public_names(package: str) -> None:
    """``__all__`` equals the sorted public names: the surface cannot drift."""
    module = importlib.import_module(package)

    assert list(module.__all__) == public_names(module)


def test_facade_has_everything_public() -> None:
    """``dpproof`` exports what the packages under it export, the very same objects.

    Where two have a name in common (``compose``), the mechanisms' wins.
    """
    facade = importlib.import_module("dpproof")
    expected: dict[str, object] = {}
    for package in ("proofs", "accountant", "auditing", "mechanisms"):
        module = importlib.import_module(package)
        expected |= {name: getattr(module, name) for name in module.__all__}

    assert list(facade.__all__) == sorted(facade.__all__)
    assert {name: getattr(facade, name) for name in facade.__all__} == expected


def test_version_is_the_distributions() -> None:
    """``dpproof.__version__`` is the installed version."""
    facade = importlib.import_module("dpproof")

    assert facade.__version__ == version("dpproof")
