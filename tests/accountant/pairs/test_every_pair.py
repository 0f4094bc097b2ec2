"""Every pair has a contract test."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from abc import ABC
from pathlib import Path

from dpproof.accountant import pairs
from dpproof.accountant.pairs.pair import Pair

HERE = Path(__file__).parent
PARTS = {"CutGaussianPair"}  # of another pair: their moments and answers are tested, by mpmath


def concrete() -> set[tuple[str, str]]:
    """Module and name of every concrete pair, found by walking the package."""
    found = set()
    for info in pkgutil.iter_modules(pairs.__path__):
        module = importlib.import_module(f"dpproof.accountant.pairs.{info.name}")
        for name, value in vars(module).items():
            local = inspect.isclass(value) and value.__module__ == module.__name__
            shared = inspect.isabstract(value) or ABC in getattr(value, "__bases__", ())
            if local and issubclass(value, Pair) and not shared:
                found.add((info.name, name))
    return found


def test_every_pair_has_a_contract() -> None:
    """The test file of each pair's module holds a class that inherits the contract."""
    assert concrete()
    for module, name in concrete():
        path = HERE / f"test_{module}.py"
        assert path.exists(), f"{name} has no test file {path.name}"
        classes = [
            node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)
        ]
        bases = {ast.unparse(base) for node in classes for base in node.bases}
        if name not in PARTS:
            assert "PairContract" in bases, f"{path.name} does not run the contract for {name}"
        assert name in path.read_text()
