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


def concrete() -> set[str]:
    """Return the name of every concrete pair, found by walking the package."""
    found = set()
    for info in pkgutil.iter_modules(pairs.__path__):
        module = importlib.import_module(f"dpproof.accountant.pairs.{info.name}")
        for name, value in vars(module).items():
            local = inspect.isclass(value) and value.__module__ == module.__name__
            shared = inspect.isabstract(value) or ABC in getattr(value, "__bases__", ())
            if local and issubclass(value, Pair) and not shared:
                found.add(name)
    return found


def test_every_pair_has_a_contract() -> None:
    """A test file beside this one names each pair, and holds a class that inherits the contract."""
    texts = [path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")]
    contracts = [text for text in texts if _inherits_contract(text)]
    assert concrete()
    for name in concrete():
        assert any(name in text for text in (texts if name in PARTS else contracts)), name


def _inherits_contract(text: str) -> bool:
    """Return whether a class of a file is a PairContract."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return "PairContract" in {ast.unparse(base) for node in classes for base in node.bases}
