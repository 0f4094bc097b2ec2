"""The public surface: what a package says it exports is what it has."""

from __future__ import annotations

import importlib
import os
import pydoc
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

from dpproof.accountant.public_names import homes_of
from tests.architecture.tree import ROOT

PARTS = ("dpproof.proofs", "dpproof.accountant", "dpproof.auditing", "dpproof.mechanisms")
UNSAID = {  # what help(dpproof) leaves out: errors, and results that nobody makes
    *("AlreadySpent", "BudgetExceeded", "CalibrationError", "ClaimRefuted", "DataError"),
    *("Guarantee", "KeyConflict", "LedgerDamaged", "LedgerError", "NotCertified", "NotImplied"),
    *("Outcome", "ParameterError", "PrivacyError", "RelationMismatch", "bound_contributions"),
}
LAZY = (
    "dpproof.accountant",
    "dpproof.mechanisms",
    "dpproof.learn",
    "dpproof.interop",
    "dpproof.mechanisms.learning",
)


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


@pytest.mark.parametrize("modules", ["accountant, dpproof.mechanisms", "__main__"])
def test_importing_a_package_loads_nothing_slow(modules: str) -> None:
    """Importing accountant and mechanisms, and ``--help``, wait for no numerical library."""
    code = f"import sys, dpproof.{modules}; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("package", ["dpproof.auditing", "dpproof.proofs", *LAZY])
def test_all_is_the_sorted_public_names(package: str) -> None:
    """``__all__`` equals the sorted public names: the surface cannot drift."""
    module = importlib.import_module(package)
    for name in module.__all__:
        getattr(module, name)

    assert list(module.__all__) == public_names(module)


def test_the_front_door_is_small_and_leads_everywhere() -> None:
    """``dpproof`` shows at most a hundred names, each from where it is defined."""
    facade = importlib.import_module("dpproof")
    homes = homes_of("dpproof")

    assert 60 < len(homes) <= 100
    assert {*homes, "learning"} <= set(dir(facade))  # what interactive shells complete
    for name, home in homes.items():
        assert getattr(facade, name) is getattr(importlib.import_module(home), name)
    assert facade.learning is importlib.import_module("dpproof.mechanisms.learning")
    with pytest.raises(AttributeError, match="no attribute 'Grid'"):
        facade.Grid  # noqa: B018  # asking is the test


def test_every_public_name_has_a_place() -> None:
    """What the front door lacks stands in a package that its help names."""
    facade = importlib.import_module("dpproof")
    named = [part for part in (*PARTS, "dpproof.learning") if part in (facade.__doc__ or "")]

    assert named == [*PARTS, "dpproof.learning"]
    assert len(pydoc.render_doc(facade).splitlines()) < 150
    for name in homes_of("dpproof"):
        assert name in (facade.__doc__ or "") or name.endswith("Filter") or name in UNSAID


def test_version_is_the_distributions() -> None:
    """``dpproof.__version__`` is the installed version."""
    facade = importlib.import_module("dpproof")

    assert facade.__version__ == version("dpproof")


@pytest.mark.parametrize("package", [part.partition(".")[2] for part in PARTS])
def test_bare_names_are_refused(package: str) -> None:
    """In a checkout ``import accountant`` is refused, and says what to import."""
    code = f"import {package}"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True
    )

    assert run.returncode == 1
    assert f"ImportError: {package} is a part of dpproof: import dpproof.{package}" in run.stderr


def test_a_users_files_of_the_same_names_change_nothing(tmp_path: Path) -> None:
    """Modules named as our folders, beside a script, are the user's own."""
    for name in ("accountant", "mechanisms", "auditing"):
        (tmp_path / f"{name}.py").write_text("MINE = True\n", encoding="utf-8")
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / "__init__.py").write_text("MINE = True\n", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import accountant, auditing, mechanisms, proofs\n"
        "import dpproof as dp\n"
        "run = dp.Gaussian(sigma=2, sensitivity=dp.L2(1)).guarantee()\n"
        "print(dp.check(run.certify(delta=1e-6)).claim, dp.audit.__module__, proofs.MINE)\n",
        encoding="utf-8",
    )
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )

    assert run.stdout.endswith("dpproof.auditing.audit True\n")
