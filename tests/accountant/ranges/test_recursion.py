"""The recursion of composed bounded ranges, against trees of explicit adversaries."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpproof.accountant.ranges import ComposedRangePair, value_table


def best_on_grid(epsilon: float, count: int, y: float, cells: int) -> float:
    """Return the largest divergence of trees whose losses are multiples of epsilon / cells."""
    rest = math.expm1(epsilon)

    @cache
    def value(left: int, place: int) -> float:
        at = y + place * epsilon / cells
        if left == 0:
            return max(-math.expm1(at), 0.0)
        chances = [(math.exp(epsilon) - math.exp(t * epsilon / cells)) / rest for t in range(cells)]
        return max(
            p * value(left - 1, place - t) + (1 - p) * value(left - 1, place - t + cells)
            for t, p in enumerate(chances)
        )

    return value(count, 0)


@pytest.mark.parametrize("count", [2, 3])
def test_trees_in_rationals_are_below_the_upper_end(count: int) -> None:
    """The best of all trees on a grid of rational ratios, in rationals, is at most the bound."""
    step, cells = Fraction(31, 30), 24  # e^epsilon is step^cells
    most = step**cells
    length = Fraction(cells * math.log(31 / 30) * (1 + 1e-15))  # at or above it
    chances = [(most - step**t) / (most - 1) for t in range(cells + 1)]

    @cache
    def value(left: int, place: int) -> Fraction:
        if left == 0:
            return max(1 - step**place, Fraction(0))
        return max(
            p * value(left - 1, place - t) + (1 - p) * value(left - 1, place - t + cells)
            for t, p in enumerate(chances)
        )

    pair = ComposedRangePair(length=length, count=count)
    for place in range(0, count * cells, 3):
        bound = pair.delta(place * math.log(31 / 30))
        tree = value(count, place)

        assert float(tree) <= bound.upper * (1 + 1e-12)
        assert float(tree) == pytest.approx(bound.upper, rel=0.05, abs=2e-4)


@pytest.mark.parametrize(("epsilon", "count"), [(1.0, 2), (2.0, 3), (0.1, 4), (0.5, 6)])
def test_trees_of_losses_are_below_and_nearly_there(epsilon: float, count: int) -> None:
    """Explicit trees never exceed the upper end, and fine ones come within 1e-3 of both ends."""
    pair = ComposedRangePair(length=Fraction(epsilon), count=count)
    for share in (0.0, 0.2, 0.55, 0.8):
        y = share * count * epsilon
        tree = best_on_grid(epsilon, count, y, 60)
        bound = pair.delta(y)

        assert tree <= bound.upper * (1 + 1e-12)
        assert bound.lower <= bound.upper
        assert tree == pytest.approx(bound.upper, rel=1e-2)
        assert bound.relative_width <= 1e-4


def test_random_adversaries_are_below_the_upper_end() -> None:
    """Random trees of depth 5, evaluated by all 32 paths, are below the bound (seed 20)."""
    drawn = random.Random(20)  # noqa: S311  # adversaries, no secrets
    epsilon, count = 1.5, 5
    pair = ComposedRangePair(length=Fraction(epsilon), count=count)
    for _ in range(200):
        y = drawn.uniform(0, 4)
        lean = drawn.uniform(0, 1)
        paths = [(1.0, 0.0)]
        for _ in range(count):
            split = []
            for chance, loss in paths:
                t = epsilon * min(max(drawn.gauss(lean, 0.2), 0.0), 1.0)
                p = math.expm1(epsilon - t) / (math.exp(epsilon - t) - math.exp(-t))
                split += [(chance * p, loss + t), (chance * (1 - p), loss + t - epsilon)]
            paths = split
        found = math.fsum(chance * max(-math.expm1(y - loss), 0.0) for chance, loss in paths)

        assert found <= pair.delta(y).upper * (1 + 1e-12)


def test_one_step_is_the_largest_chord() -> None:
    """Two mechanisms' bounds on the grid are at or above every chord of the logistic profile."""
    table = value_table(1.0, 1.0, 2)
    span = table.above.span
    for row in (0, 100, 777, 1500):
        y = row * span
        t = np.linspace(0.0, 1.0, 5001)
        w = y - t

        def logistic(x: np.ndarray) -> np.ndarray:
            inside = np.clip(x, -1.0, 1.0)
            value = np.expm1(0.5 * (inside - 1.0)) ** 2 / -math.expm1(-1.0)
            return np.where(x >= 1.0, 0.0, np.where(x <= -1.0, -np.expm1(np.minimum(x, 0)), value))

        p = np.expm1(t - 1.0) / math.expm1(-1.0)
        chord = float((p * logistic(w) + (1 - p) * logistic(w + 1.0)).max())
        bound = float(table.upper.value[row - table.upper.start])

        assert chord <= bound * (1 + 1e-13)
        assert chord == pytest.approx(bound, rel=1e-5)
