"""Positions drawn with replacement: the mean of Gaussian profiles over how often one is drawn."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from tests.proofs.support import Case, Object, said

FIVE: Object = {"records": 5, "draws": [3, 2, 1]}


def gdp(mu_squared: str, *, relation: str = "replace-one", steps: int = 1) -> Object:
    """A GDP statement."""
    return said("gdp", mu_squared=mu_squared, relation=relation, steps=steps)


def profile(*points: tuple[str, Fraction], relation: str = "replace-one", steps: int = 1) -> Object:
    """A privacy profile."""
    listed = [[epsilon, str(delta)] for epsilon, delta in points]
    return said("privacy-profile", points=listed, relation=relation, steps=steps)


def mean(epsilon: float, records: int, draws: list[int], mu_squared: float = 1.0) -> Fraction:
    """The mean profile by enumeration of all counts, at 40 digits."""
    with mp.workdps(40):
        total = mpf(0)
        for times in product(*(range(n + 1) for n in draws)):
            mass = mpf(1)
            for n, c in zip(draws, times, strict=True):
                mass *= comb(n, c) * mpf(records - 1) ** (n - c) / mpf(records) ** n
            mu = sqrt(mu_squared * sum(c * c for c in times))
            if mu:
                tails = [erfc((epsilon / mu + s * mu / 2) / sqrt(2)) / 2 for s in (-1, 1)]
                total += mass * (tails[0] - exp(epsilon) * tails[1])
        return Fraction(str(total))


AT: Any = [(e, mean(float(Fraction(e)), 5, [3, 2, 1])) for e in ("0", "1/2", "3")]
ABOVE: Any = [(e, d + Fraction(1, 10**12)) for e, d in AT]
RULE = "subsample/positions"
CASES = [
    Case(RULE, profile(*ABOVE), [gdp("1")], FIVE),
    Case(RULE, profile(*ABOVE, relation="zero-out"), [gdp("1", relation="zero-out")], FIVE),
    Case(RULE, profile(("0", Fraction(1))), [gdp("1")], {"records": 1, "draws": [3, 2]}),
    Case(
        RULE,
        profile(("1", mean(1.0, 1, [3, 2]) + Fraction(1, 10**12))),
        [gdp("1")],
        {"records": 1, "draws": [3, 2]},
    ),
    Case(RULE, profile(("0", Fraction(1))), [gdp("1")], {"records": 1, "draws": [10**9]}),
    Case(
        RULE, profile(("0", Fraction(1, 30_000))), [gdp("1")], {"records": 10**6, "draws": [40, 40]}
    ),
    Case(
        RULE,
        profile(("600", Fraction(999, 1000))),
        [gdp("1/100")],
        {"records": 1, "draws": [21]},
        why="at least 1.0",
    ),
    *(
        Case(RULE, profile((e, d - Fraction(1, 10**9))), [gdp("1")], FIVE, why="the mean of delta")
        for e, d in AT
    ),
    Case(RULE, profile(*ABOVE), [gdp("2")], FIVE, why="the mean of delta"),
    Case(RULE, profile(*ABOVE), [gdp("1")], {**FIVE, "records": 4}, why="the mean of delta"),
    Case(RULE, profile(*ABOVE), [gdp("1")], {**FIVE, "draws": [3, 3, 1]}, why="the mean of delta"),
    Case(
        RULE,
        profile(*ABOVE, relation="add-remove"),
        [gdp("1", relation="add-remove")],
        FIVE,
        why="move up",
    ),
    Case(RULE, profile(*ABOVE, steps=2), [gdp("1", steps=2)], FIVE, why="one record"),
    Case(RULE, profile(*ABOVE), [gdp("1"), gdp("1")], FIVE, why="1 to 1"),
    Case(
        RULE,
        profile(*ABOVE),
        [said("zcdp", rho="1/2", relation="replace-one")],
        FIVE,
        why="wants GDP",
    ),
    Case(RULE, gdp("1"), [gdp("1")], FIVE, why="wants Profile"),
    Case(RULE, profile(*ABOVE), [gdp("1")], {**FIVE, "draws": []}, why="above 0"),
    Case(RULE, profile(*ABOVE), [gdp("1")], {**FIVE, "draws": [3, 0]}, why="above 0"),
    Case(RULE, profile(*ABOVE), [gdp("1")], {**FIVE, "records": 0}, why="whole number"),
    Case(RULE, profile(*ABOVE), [gdp("1")], {**FIVE, "draws": [1] * 10**5}, why="more work"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_repeated_positions(case: Case) -> None:
    """A profile at or above the enumerated mean is accepted, one a billionth below it is not."""
    case.holds()
