"""One direction inside the packages: every file stands on a floor and imports from below only."""

from __future__ import annotations

import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGES, ROOT, imported, sources

# Files and folders of each package from the ground up; lazy and typing imports count.
FLOORS: dict[str, tuple[str, ...]] = {
    "proofs": (
        "core",
        "limits",
        "abbreviations",
        "certificate",
        "fields",
        "balls",
        "pairs",
        "sums",
        "sampled",
        "logic",
        "rules",
        "kernel",
        "__main__",
    ),
    "accountant": (
        "errors",
        "form",
        "public_names",
        "readable",
        "progress",
        "side_conditions",
        "arguments",
        "bound",
        "relation",
        "sensitivity",
        "sampling",
        "arithmetic",
        "run_counts",
        "pairs",
        "engine",
        "subsampling",
        "ranges",
        "selection",
        "answers",
        "guarantees",
        "theorems",
        "adaptive",
        "calibration",
        "certificates",
    ),
    "mechanisms": (
        "samplers",
        "batches",
        "blocks",
        "queries",
        "parameters",
        "mechanism",
        "noise",
        "correlated",
        "selection",
        "local",
        "combinators",
        "learning",
        "statistics",
    ),
    "auditing": (
        "counts",
        "bounds",
        "trials",
        "inspection",
        "report",
        "witnesses",
        "planning",
        "evidence",
        "canaries",
        "audit",
    ),
    "dpproof": (
        "errors",
        "streams",
        "time_limit",
        "files",
        "rounding",
        "search",
        "ledger",
        "interop",
        "refute",
        "learn",
        "pipeline",
        "tables",
        "commands",
        "reports",
        "plot",
        "pytest_plugin",
        "__main__",
    ),
}
# Methods that are sugar for public functions find them in the package's table of names.
SUGAR = {"accountant/guarantees/guarantee.py", "mechanisms/mechanism.py"}


def module(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def arrows(package: str) -> Iterator[tuple[Path, str]]:
    """Every import inside a package: the file, and the module of the package that it imports."""
    files = {module(path): path for path in sources(package)}
    for name, path in files.items():
        if name == package:
            continue  # the face imports every public name
        for _, target in imported(path):
            found = target if target in files else target.rpartition(".")[0]
            if found in files and found != name:
                yield path, found


def upward(package: str) -> Iterator[str]:
    """Every import that does not lead to the same folder or to a lower floor."""
    floors = FLOORS[package]
    for path, target in arrows(package):
        place = str(path.relative_to(ROOT))
        if target == package:
            if place not in SUGAR:
                yield f"{place} imports the face of its own package"
            continue
        here, there = module(path).split(".")[1], target.split(".")[1]
        if floors.index(there) > floors.index(here):
            yield f"{place} imports {target}, which stands above it"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_leads_up(package: str) -> None:
    """Every file imports from its own folder and from the floors below, lazily or not."""
    assert list(upward(package)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_has_a_floor(package: str) -> None:
    """The floors name every file and folder of a package, and nothing else."""
    found = {
        module(path).split(".")[1] for path in sources(package) if path.parent != ROOT / package
    }
    found |= {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}

    assert found == set(FLOORS[package])


def test_no_imports_go_in_a_circle() -> None:
    """No file imports, by any chain of lazy, typing or plain imports, a file that imports it."""
    graph: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path, target in arrows(package):
            if target != package:
                graph.setdefault(module(path), set()).add(target)

    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("place", "code", "seen"),
    [
        (
            "accountant/pairs/inner.py",
            "def f():\n    from dpproof.accountant.engine import profile",
            1,
        ),
        (
            "accountant/pairs/inner.py",
            "if TYPE_CHECKING:\n    from dpproof.accountant import Bound",
            1,
        ),
        ("accountant/engine/inner.py", "from dpproof.accountant.pairs import pair", 0),
        ("accountant/guarantees/guarantee.py", "import accountant", 0),
    ],
)
def test_the_test_sees_what_leads_up(
    place: str, code: str, seen: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import from a higher floor is seen wherever it stands, one from a lower floor is not."""
    for name in (
        "accountant/__init__.py",
        "accountant/engine/profile.py",
        "accountant/pairs/pair.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(code, encoding="utf-8")
    monkeypatch.setattr("tests.architecture.tree.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)

    assert len(list(upward("accountant"))) == seen
