"""Public names of a package, imported from where they are defined when they are first asked for."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys


def homes_of(package: str) -> dict[str, str]:
    """Return the module of each name that the source of a package imports from its own modules.

    They stand under ``if TYPE_CHECKING`` for type checkers, and are the only list of the names.
    """
    source = pkgutil.get_data(package, "__init__.py") or b""
    homes = {
        alias.name: node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith(f"{package}.")
        for alias in node.names
        if alias.asname == alias.name
    }
    return dict(sorted(homes.items()))


def fetch(package: str, homes: dict[str, str], name: str) -> object:
    """Import a public name from its module, and keep it as an attribute of the package."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(homes[name]), name)
    setattr(sys.modules[package], name, value)
    return value
