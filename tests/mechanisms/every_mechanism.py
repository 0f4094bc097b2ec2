"""Every mechanism of the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from dpproof import mechanisms
from dpproof.mechanisms import Mechanism


def final_mechanisms() -> set[type]:
    """Every concrete mechanism class of the package, found by walking it."""
    found: set[type] = set()
    for module in pkgutil.walk_packages(mechanisms.__path__, prefix="dpproof.mechanisms."):
        for _, value in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(value, Mechanism) and not inspect.isabstract(value):
                found.add(value)
    return found
