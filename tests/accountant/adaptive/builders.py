"""What the tests of this folder share."""

from __future__ import annotations

import threading
from typing import Any

from dpproof.accountant import (
    GDP,
    L2,
    ZCDP,
    ApproxDP,
    ApproxDPFilter,
    GDPFilter,
    Poisson,
    PrivacyFilter,
    PureDP,
    RenyiFilter,
    ZCDPFilter,
)
from dpproof.mechanisms import Gaussian

SAMPLED = Gaussian(sigma=3, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01)).repeat(100)

SPENT: list[tuple[PrivacyFilter[Any], list[Any]]] = [
    (ZCDPFilter(rho=1), [GDP(mu=0.5), PureDP(epsilon=0.5), ZCDP(rho=0.1)]),
    (GDPFilter(mu=2), [GDP(mu=0.5), PureDP(epsilon=0.5)]),
    (RenyiFilter(order=8, epsilon=1), [ZCDP(rho=0.01), SAMPLED.guarantee()]),
    (ApproxDPFilter(epsilon=1, delta=1e-6), [ApproxDP(epsilon=0.05, delta=1e-8), GDP(mu=0.1)]),
    (ApproxDPFilter(epsilon=1, delta=1e-6, failures=0), []),
]


def apart(budget: Any) -> Any:  # noqa: ANN401  # a filter of any kind
    """A twin of which as much is spent, and that is spent apart; users have no such thing."""
    twin = object.__new__(type(budget))
    for kind in type(budget).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(budget, name):
                setattr(twin, name, getattr(budget, name))
    twin._admitted, twin._lock = list(budget._admitted), threading.Lock()
    return twin


def spent_filters() -> list[PrivacyFilter[Any]]:
    """Filters of every kind, of twins of which something was spent."""
    found = []
    for budget, parts in SPENT:
        used = apart(budget)
        for part in parts:
            used.spend(part)
        assert not budget.guarantee().derivation.premises  # a twin is spent apart
        found.append(used)
    return found
