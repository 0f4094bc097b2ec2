"""The public surface: what a package says it exports is what it has."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import pytest

from dpproof.accountant.public_names import homes_of
from tests.architecture.tree import ROOT

LAZY = ("accountant", "mechanisms", "dpproof.learn", "dpproof.interop")


def public_names(module: ModuleType) -> list[str]:
    """Public names that are no modules, sorted."""
    ours = {"annotations", "TYPE_CHECKING"}
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in ours
    )


@pytest.mark.parametrize("package", LAZY)
def test_names_are_found_where_type_checkers_find_them(package: str) -> None:
    """What is imported when asked for is what the static imports say, under the same names."""
    module = importlib.import_module(package)

    for name, home in homes_of(package).items():
        assert getattr(module, name) is vars(importlib.import_module(home))[name]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing  # noqa: B018  # asking is the test


@pytest.mark.parametrize("package", LAZY)
def test_no_public_name_is_a_modules_name(package: str) -> None:
    """Else the module would stand in the place of what it defines once something imports it."""
    module = importlib.import_module(package)

    files = (ROOT / package.replace(".", "/")).iterdir()
    assert {path.stem for path in files}.isdisjoint(module.__all__)


def test_importing_a_package_loads_nothing_slow() -> None:
    """``import accountant, mechanisms`` waits for no numerical library."""
    code = "import sys, accountant, mechanisms; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("package", ["auditing", "proofs", *LAZY])
def test_all_is_the_sorted_public_names(package: str) -> None:
    """``__all__`` equals the sorted public names: the surface cannot drift."""
    module = importlib.import_module(package)
    for name in module.__all__:
        getattr(module, name)

    assert list(module.__all__) == public_names(module)


def test_facade_has_everything_public() -> None:
    """``dpproof`` exports what the packages under it export, the very same objects, and the ledger.

    Where two have a name in common (``compose``), the mechanisms' wins.
    """
    facade = importlib.import_module("dpproof")
    expected: dict[str, object] = {}
    for package in ("proofs", "accountant", "auditing", "mechanisms"):
        module = importlib.import_module(package)
        expected |= {name: getattr(module, name) for name in module.__all__}
    expected["Ledger"] = importlib.import_module("dpproof.ledger.ledger").Ledger
    errors = importlib.import_module("dpproof.ledger.errors")
    for name in ("AlreadySpent", "KeyConflict", "LedgerDamaged", "LedgerError"):
        expected[name] = getattr(errors, name)

    assert list(facade.__all__) == sorted(facade.__all__)
    assert set(facade.__all__) <= set(dir(facade))  # what interactive shells complete
    assert {name: getattr(facade, name) for name in facade.__all__} == expected


def test_version_is_the_distributions() -> None:
    """``dpproof.__version__`` is the installed version."""
    facade = importlib.import_module("dpproof")

    assert facade.__version__ == version("dpproof")
