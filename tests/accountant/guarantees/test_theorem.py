"""Theorems as objects."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

from dpproof import accountant
from dpproof.accountant import GDP, ZCDP, compose, convert, self_compose
from dpproof.accountant.guarantees.theorem import Theorem


def test_every_theorem_and_every_guarantee_survives_pickling() -> None:
    """With how it is applied again, so that fitted estimators can be kept and sent."""
    modules = [m.name for m in pkgutil.walk_packages(accountant.__path__, "accountant.")]
    found = {
        id(value): value
        for name in modules
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, Theorem)
    }
    for theorem in found.values():
        copy = pickle.loads(pickle.dumps(theorem))  # noqa: S301 - our own bytes

        assert copy == theorem
        assert copy.again is theorem.again
    composed = compose(GDP(mu=1), GDP(mu=2))
    for guarantee in (composed, self_compose(composed, 3), convert(composed, to=ZCDP)):
        assert pickle.loads(pickle.dumps(guarantee)) == guarantee  # noqa: S301 - our own bytes
    assert len(found) > 40
