"""Several filters against every adversary that chooses among a few finite mechanisms."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.adaptive import several_filters as filters

Law = NDArray[np.float64]
Left = tuple[tuple[float, ...] | None, ...]
WAYS = ("basic", "renyi-2", "renyi-3", "renyi-5", "renyi-9")


def divergence(p: Law, q: Law, order: float) -> float:
    """The larger Renyi divergence of two laws; infinite if one has an outcome of its own."""
    if np.any((p > 0) != (q > 0)):
        return math.inf
    p, q = p[p > 0], q[q > 0]
    sums = (np.sum(a**order * b ** (1 - order)) for a, b in ((p, q), (q, p)))
    return max(math.log(one) for one in sums) / (order - 1)


def stated(p: Law, q: Law) -> list[tuple[float, float]]:
    """What (epsilon, delta) an adversary may state: with the least delta, half of epsilon, 0."""
    both = (p > 0) & (q > 0)
    largest = float(np.max(np.abs(np.log(p[both] / q[both]))))
    points = []
    for epsilon in (largest, largest / 2, 0.0):
        sides = (np.sum(np.maximum(a - math.exp(epsilon) * b, 0)) for a, b in ((p, q), (q, p)))
        points.append((epsilon, float(max(sides)) + 1e-15))
    return points


@dataclass
class Game:
    """Filters of (epsilon, delta) by way, and mechanisms with what they cost in each."""

    epsilon: float
    limits: dict[str, tuple[float, ...]]
    menu: list[tuple[Law, Law]]
    costs: list[list[tuple[tuple[float, ...] | None, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for p, q in self.menu:
            orders = {way: filters.order_of(way) for way in self.limits}
            known = {way: (divergence(p, q, a),) for way, a in orders.items() if a is not None}
            points = stated(p, q) if "basic" in self.limits else [(0.0, 0.0)]
            self.costs.append(
                [tuple((known | {"basic": e}).get(w) for w in orders) for e in points]
            )

    def best(self, rounds: int) -> float:
        """The largest E_P[(1 - e^{epsilon - L})_+] of so many rounds, by every choice."""

        @cache
        def gained(rounds: int, left: Left, loss: float) -> float:
            now = -math.expm1(min(self.epsilon - loss, 0.0))
            if not rounds or math.isinf(loss):
                return now
            found = [now]
            for (p, q), costs in zip(self.menu, self.costs, strict=True):
                for cost in costs:
                    after = tuple(map(charged, left, cost))
                    if any(one is not None for one in after):
                        found += [summed(a, b, rounds, after, loss) for a, b in ((p, q), (q, p))]
            return max(found)

        def summed(p: Law, q: Law, rounds: int, left: Left, loss: float) -> float:
            with np.errstate(divide="ignore"):
                losses = loss + np.log(p) - np.log(q)
            pairs = zip(p.tolist(), losses.tolist(), strict=True)
            terms = [a * gained(rounds - 1, left, round(one, 9)) for a, one in pairs if a]
            return float(sum(terms))

        return gained(rounds, tuple(self.limits.values()), 0.0)


def charged(
    left: tuple[float, ...] | None, cost: tuple[float, ...] | None
) -> tuple[float, ...] | None:
    """What a filter has left; None if it refuses, or did before."""
    if left is None or cost is None or any(a > b for a, b in zip(cost, left, strict=True)):
        return None
    return tuple(round(b - a, 12) for a, b in zip(cost, left, strict=True))


def drawn(rng: np.random.Generator) -> tuple[Law, Law]:
    """A mechanism: three outcomes of which one may tell everything, or rare and telling."""
    rare, ratio = 10 ** rng.uniform(-3, -0.7), math.exp(-rng.choice([0.3, 1, 2, 3]))
    odds = 1 / (1 + math.exp(rng.choice([0.05, 0.2, 0.5, 1])))
    if rng.random() < 0.5:
        rest = (1 - rare) * np.array([odds, 1 - odds])
        return np.array([rare, 0.0, *rest]), np.array([0.0, rare, *rest[::-1]])
    p = np.array([rare, rare * ratio, 1 - rare * (1 + ratio)])
    return p, p[[1, 0, 2]]


def reached(seed: int, *, more: int = 1) -> float:
    """The share of delta that the best adversary of one game has, where limits are of more."""
    rng = np.random.default_rng(seed)
    epsilon, delta = float(rng.choice([0.3, 0.5, 1, 2])), float(rng.choice([0.01, 0.03, 0.1]))
    ways = [str(way) for way in rng.choice(WAYS, size=rng.integers(1, 4), replace=False)]
    budget = {"epsilon": Fraction(epsilon), "delta": more * Fraction(delta)}
    limits = filters.limits(**budget, ways=ways)
    known = {way: tuple(map(float, limit)) for way, limit in limits.items()}
    return Game(epsilon, known, [drawn(rng) for _ in range(3)]).best(rounds=3) / delta


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_no_adversary_gains_more_than_delta(start: int) -> None:
    """Whatever is chosen after looking, whichever filter admits it."""
    assert max(reached(seed) for seed in range(start, start + 100)) <= 1 + 1e-9


def test_the_adversaries_are_strong() -> None:
    """They have most of delta, and more of it where every share is taken eight times."""
    assert max(reached(seed) for seed in range(120)) > 0.9
    assert max(reached(seed, more=8) for seed in range(30)) > 3
