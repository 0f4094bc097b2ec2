"""The arrows between the packages: proofs <- accountant <- mechanisms <- dpproof, and auditing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGES, ROOT, imported, sources

OURS = (*PACKAGES, "tests", "benchmarks", "examples", "experiments", "scripts")
OWN: dict[str, tuple[str, ...]] = {
    "proofs": (),
    "accountant": ("proofs.certificate", "proofs.limits"),
    "mechanisms": ("accountant", "proofs.limits"),
    "auditing": ("accountant",),
    "dpproof": PACKAGES,
}
ALONE: dict[str, tuple[str, ...]] = {
    "accountant/certificates/certify.py": ("proofs.kernel", "proofs.core.verdict")
}
"""What one file alone may import: the door of certificates asks the checker about each."""
OTHERS: dict[str, tuple[str, ...]] = {
    "proofs": ("flint",),
    "accountant": ("attrs", "numpy", "scipy"),
    "mechanisms": ("attrs", "mpmath", "numpy", "scipy"),
    "auditing": ("attrs", "numpy", "scipy"),
    "dpproof": (
        "attrs",
        "click",
        "dp_accounting",
        "matplotlib",
        "numpy",
        "pytest",
        "rich",
        "sklearn",
    ),  # pytest: the plugin
}


def _within(name: str, allowed: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in allowed)


def violations(package: str, path: Path) -> Iterator[str]:
    """Every import of one file that its package may not have."""
    for line, name in imported(path):
        top = name.split(".")[0]
        if top == package or top in sys.stdlib_module_names:
            continue
        own = (*OWN[package], *ALONE.get(str(path.relative_to(ROOT)), ()))
        allowed = own if top in OURS else OTHERS[package]
        if not _within(name, allowed):
            yield f"{path.relative_to(ROOT)}:{line} imports {name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_only_allowed_imports(package: str) -> None:
    """No package imports what stands above it, nor a library it has no business with."""
    found = [text for path in sources(package) for text in violations(package, path)]

    assert found == []


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("proofs", "import numpy"),
        ("proofs", "from dpproof.accountant import Bound"),
        ("accountant", "from dpproof import proofs"),
        ("accountant", "import proofs"),
        ("accountant", "from dpproof.proofs import rules"),
        ("accountant", "from dpproof.proofs.rules import gdp"),
        ("accountant", "from dpproof.proofs import kernel"),
        ("accountant", "import dpproof.mechanisms.noise.gaussian"),
        ("mechanisms", "from dpproof.proofs import kernel"),
        ("mechanisms", "from dpproof.auditing import audit"),
        ("auditing", "from dpproof.mechanisms import Gaussian"),
        ("auditing", "from dpproof import mechanisms"),
        ("dpproof", "import mechanisms"),
        ("dpproof", "import tests.conftest"),
        ("dpproof", "import scipy"),
    ],
)
def test_the_test_sees_a_forbidden_import(
    package: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every arrow is seen to be refused in the other direction."""
    file = tmp_path / package / "inner.py"
    file.parent.mkdir()
    file.write_text(code, encoding="utf-8")
    monkeypatch.setattr("tests.architecture.tree.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)

    assert len(list(violations(package, file))) == 1


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("proofs", "from flint import arb"),
        ("accountant", "from dpproof.proofs.certificate import Certificate"),
        ("accountant", "from dpproof.proofs import certificate"),
        ("mechanisms", "from dpproof.accountant.guarantees import gdp"),
        ("dpproof", "from dpproof import auditing, proofs\nimport rich.table"),
        ("accountant", "from . import bound"),
    ],
)
def test_the_test_allows_an_allowed_import(
    package: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arrows themselves are allowed."""
    file = tmp_path / package / "inner.py"
    file.parent.mkdir()
    file.write_text(code, encoding="utf-8")
    monkeypatch.setattr("tests.architecture.tree.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)

    assert list(violations(package, file)) == []


def test_tests_take_nothing_from_other_tests() -> None:
    """What several tests build with stands in ``builders.py``; inventories take whole modules."""
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])
        for line, name in imported(path)
        if name.startswith("tests.")
        and any(part.startswith("test_") for part in name.split(".")[:-1])
    ]

    assert found == []
