"""The contract of every mechanism: an instance of each, and data for it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from tests.architecture.tree import ROOT
from tests.contracts.mechanism_contract import MechanismContract


def contracts() -> Iterator[type[MechanismContract]]:
    """Every test class of a mechanism that pytest collects here."""
    for path in sorted((ROOT / "tests" / "mechanisms").rglob("test_*.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        tests = [item for name, item in vars(module).items() if name.startswith("Test")]
        yield from (test for test in tests if issubclass(test, MechanismContract))
