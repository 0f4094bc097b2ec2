"""Certified privacy budgets: everything public of the packages below, and the ledger.

``compose`` is the one of ``mechanisms``; guarantees are composed by ``accountant.compose``.

>>> import dpproof as dp
>>> dp.Gaussian(sigma=2, sensitivity=dp.L2(1)).guarantee().delta(epsilon=0).upper < 0.2
True
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

# isort: off
if TYPE_CHECKING:  # some type checkers take the first of a name, some the last
    from dpproof.mechanisms import Histogram as Histogram, compose as compose
    from dpproof.accountant import *  # type: ignore[assignment]  # noqa: F403
    from dpproof.auditing import *  # type: ignore[assignment]  # noqa: F403
    from dpproof.proofs import *  # noqa: F403
    from dpproof.mechanisms import *  # noqa: F403
    from dpproof.ledger.errors import (
        AlreadySpent as AlreadySpent,
        KeyConflict as KeyConflict,
        LedgerDamaged as LedgerDamaged,
        LedgerError as LedgerError,
    )
    from dpproof.ledger.ledger import Ledger as Ledger
# isort: on

# The first that has a name gives it; the numerical libraries are loaded last.
_LEDGER = {
    "Ledger": "dpproof.ledger.ledger",
    **dict.fromkeys(
        ("AlreadySpent", "KeyConflict", "LedgerDamaged", "LedgerError"), "dpproof.ledger.errors"
    ),
}
_PACKAGES = tuple(f"dpproof.{name}" for name in ("mechanisms", "accountant", "proofs", "auditing"))


def __getattr__(name: str) -> object:
    """Return a public name or a module of this package, imported on first use.

    A name is taken from the first package that has it. So ``dpproof.pytest_plugin``, which every
    pytest run of an environment imports, costs nothing. ``__version__`` is read from the installed
    metadata.
    """
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("dpproof")
    if name == "__all__":
        packages = map(importlib.import_module, _PACKAGES)
        return sorted({*_LEDGER, *(public for package in packages for public in package.__all__)})
    if name in _LEDGER:
        return getattr(importlib.import_module(_LEDGER[name]), name)
    public = not name.startswith("_")
    if public and importlib.util.find_spec(f"{__name__}.{name}"):  # as ``dpproof.learn``
        return importlib.import_module(f"{__name__}.{name}")
    for package in _PACKAGES if public else ():
        module = importlib.import_module(package)
        if name in module.__all__:
            value = globals()[name] = getattr(module, name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return every public name, so that an interactive shell completes unimported ones too."""
    return [*globals(), *__getattr__("__all__")]  # type: ignore[misc]  # a list of names
