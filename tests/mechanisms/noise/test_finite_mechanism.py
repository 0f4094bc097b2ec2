"""Finite mechanisms from their tables."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.finite import FinitePair, smallest_pair_above
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.mechanisms import FiniteMechanism, RandomizedResponse
from tests.contracts.mechanism_contract import FALSE_ALARM, MechanismContract, one_bad

THIRD = Fraction(1, 3)


def table(rows: int, outputs: int, seed: int) -> list[list[Fraction]]:
    """Rows of random rationals."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 30, (rows, outputs)) + 1
    return [[Fraction(int(one), int(row.sum())) for one in row] for row in weights]


def hockey_stick(p: Sequence[Fraction], q: Sequence[Fraction], t: Fraction) -> Fraction:
    """By its definition."""
    return sum((max(a - t * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


class TestFiniteMechanism(MechanismContract):
    """Three datasets, four outputs."""

    def mechanism(self) -> FiniteMechanism[AddRemove]:
        """Any two datasets are neighbours."""
        return FiniteMechanism(table(3, 4, 1), relation=AddRemove())

    def data(self) -> object:
        """The first dataset."""
        return 0

    def neighbour(self) -> object:
        """The last."""
        return 2

    def increasing_noise(self) -> Sequence[FiniteMechanism[AddRemove]]:
        """Coins nearer and nearer to fair."""
        return [
            FiniteMechanism([[1 - x, x], [x, 1 - x]], relation=AddRemove())
            for x in (0.0625, 0.25, Fraction(49, 100))
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Tables that are none, and neighbours that are none."""
        tables: list[Any] = [
            [],
            [[1]],
            [[0.5, 0.5], [1]],
            [[0.5, 0.4], [0.5, 0.5]],
            [[0.1, 0.9], [0.5, 0.5]],
            [[2, -1], [1, 0]],
            ["ab", "cd"],
            7,
            [[], []],
        ]
        good: dict[str, Any] = {"table": [[1, 0], [0, 1]]}
        bad: dict[str, Sequence[Any]] = {
            "table": tables,
            "neighbours": ([], [(0, 0)], [(0, 2)], [(0,)], 3, [(0.5, 1)]),
            "relation": (AddRemove, "add-remove"),
            "query": ([1],),
        }
        return one_bad(FiniteMechanism, good={**good, "relation": AddRemove()}, bad=bad)


@pytest.mark.parametrize("seed", range(6))
def test_the_pair_is_the_largest_of_all_profiles(seed: int) -> None:
    """At every ratio the profile of the pair is exactly the largest of all ordered pairs."""
    rows = table(4, 5, seed)
    laws = [(rows[x], rows[y]) for x, y in permutations(range(4), 2)]
    pair = smallest_pair_above(laws)
    ratios = [Fraction(k, 17) for k in range(1, 90)]
    ratios += [p / q for p, q in zip(pair.p, pair.q, strict=True) if q]
    for t in ratios:
        assert hockey_stick(pair.p, pair.q, t) == max(hockey_stick(p, q, t) for p, q in laws)


def test_directions_follow_the_neighbours() -> None:
    """One ordered pair under add-remove leaves the two directions different, replace-one not."""
    rows = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1), Fraction(0)]]
    one = FiniteMechanism(rows, neighbours=[(0, 1)], relation=AddRemove()).guarantee()
    both = FiniteMechanism(rows, neighbours=[(0, 1)], relation=ReplaceOne()).guarantee()

    assert one.forward.factors[0].pair == FinitePair(
        p=(Fraction(1, 2), Fraction(1, 2)), q=(Fraction(0), Fraction(1))
    )
    assert one.backward.factors[0].pair == FinitePair(
        p=(Fraction(1), Fraction(0)), q=(Fraction(1, 2), Fraction(1, 2))
    )
    assert both.forward == both.backward
    assert one.epsilon(delta=0.25).upper == math.inf


def test_randomised_response_is_one() -> None:
    """Its table gives its pair: equal answers at every delta."""
    keep = Fraction(1, 2)
    rest = (1 - keep) / 3
    rows = [[keep if i == j else rest for j in range(4)] for i in range(4)]
    mine = FiniteMechanism(rows, relation=AddRemove()).repeat(5).guarantee()
    theirs = (
        RandomizedResponse(epsilon=Fraction(math.log(3)), categories=4, relation=AddRemove())
        .repeat(5)
        .guarantee()
    )
    for delta in (0.1, 1e-3, 1e-6):
        assert mine.epsilon(delta=delta).upper == pytest.approx(
            theirs.epsilon(delta=delta).upper, rel=1e-9
        )


def test_equal_rows_reveal_nothing() -> None:
    """A table of equal rows costs nothing."""
    assert (
        FiniteMechanism([[THIRD, 1 - THIRD]] * 3, relation=AddRemove())
        .guarantee()
        .delta(epsilon=0)
        .upper
        < 1e-14
    )


@pytest.mark.parametrize("unit", [60, 3 * 2**70])
def test_outputs_follow_the_table(unit: int) -> None:
    """Frequencies stay in their band, whatever the common denominator, except with 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    law = [Fraction(unit // 3, unit), Fraction(1, unit), 1 - Fraction(unit // 3 + 1, unit)]
    mechanism, size = FiniteMechanism([law, law], relation=AddRemove()), 50_000
    outputs = mechanism.release_many(1, size, rng=np.random.default_rng(seed))
    empirical = np.cumsum(np.bincount(outputs, minlength=3)) / size
    band = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * size))

    assert np.abs(empirical - np.cumsum([float(one) for one in law])).max() <= band


def test_refuses_what_is_no_dataset() -> None:
    """One number of a dataset."""
    for value in (-1, 3, 0.5, [0, 1]):
        with pytest.raises(ParameterError):
            FiniteMechanism(table(3, 2, 1), relation=AddRemove()).release(value)
