"""Quantiles among public candidates."""

from __future__ import annotations

import functools
import itertools
import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut
from dpproof.mechanisms import Quantile
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.selection import laws


@pytest.mark.slow
class TestQuantile(MechanismContract):
    """Of a few values."""

    def mechanism(self) -> Quantile[AddRemove]:
        """An upper quartile."""
        return Quantile(epsilon=1.5, q=0.75, candidates=(-1, 0.5, 2), relation=AddRemove())

    def data(self) -> object:
        """Values on both sides of every candidate, and one that is a candidate."""
        return [-3.0, 0.5, 1.0, 7.0]

    def increasing_noise(self) -> Sequence[Quantile[AddRemove]]:
        """Epsilon from 3 down to 1/10."""
        return [
            Quantile(epsilon=e, q=0.5, candidates=(0, 1), relation=AddRemove()) for e in (3, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        good: dict[str, Any] = {"epsilon": 1, "q": 0.5, "candidates": (0, 1)}
        bad: dict[str, Sequence[Any]] = {
            "epsilon": NOT_POSITIVE,
            "q": (-0.1, 1.1, float("nan"), None),
            "candidates": (
                (),
                "ab",
                3,
                (1, 1),
                (2, 1),
                (0, float("nan")),
                (Fraction(1, 3),),
                (10**400,),
            ),
            "relation": (AddRemove, None),
        }
        return one_bad(functools.partial(Quantile, relation=AddRemove()), good=good, bad=bad)


def law(data: Sequence[float], q: float, candidates: Sequence[float], factor: float) -> list[float]:
    """The textbook's law, with nan as no value."""
    weights = []
    for c in candidates:
        below, above = sum(x < c for x in data), sum(x > c for x in data)
        weights.append(math.exp(-factor * abs((1 - q) * below - q * above)))
    return [one / sum(weights) for one in weights]


@pytest.mark.parametrize("relation", [AddRemove(), ZeroOut(), ReplaceOne()])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.875])
def test_all_small_datasets_keep_the_range_and_some_attain_it(relation: Relation, q: float) -> None:
    """Over all datasets of up to four values the log ratios span at most epsilon, and nearly it."""
    candidates, points = (0.0, 1.0, 2.0), (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 9.0)
    mechanism = Quantile(epsilon=1.5, q=q, candidates=candidates, relation=relation)
    factor = 1.5 / (2 * float(mechanism.sensitivity.value))
    widest = 0.0
    for size in range(4):
        for rest in itertools.combinations_with_replacement(points, size):
            every = [law([*rest, x], q, candidates, factor) for x in points]
            blank = [law(rest, q, candidates, factor)]
            for p in every:
                for other in every if relation.symmetric else blank:
                    losses = [math.log(a / b) for a, b in zip(p, other, strict=True)]
                    widest = max(widest, max(losses) - min(losses))
    assert widest <= 1.5 + 1e-9
    # Ranks move in steps of 1 around q n, which four values cannot always place at its ends.
    assert widest >= 0.49 * 1.5


def test_the_median_attains_its_range() -> None:
    """One value more raises one candidate's score by 1/2 and lowers another's by as much."""
    before, after = (law(d, 0.5, (0.0, 1.0), 1.0) for d in ([0.5], [0.5, 7.0]))
    losses = [math.log(a / b) for a, b in zip(before, after, strict=True)]

    assert Quantile(
        epsilon=1, q=0.5, candidates=(0, 1), relation=AddRemove()
    ).sensitivity.value == Fraction(1, 2)
    assert max(losses) - min(losses) == pytest.approx(1.0)


def test_outputs_follow_the_law() -> None:
    """Frequencies stay in their band, blanks and infinities included, except with chance 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    mechanism = Quantile(epsilon=1.5, q=0.75, candidates=(0, 1, 2), relation=AddRemove())
    data = [0.5, float("nan"), 1.0, -float("inf"), float("inf"), 1.5]
    outputs = mechanism.release_many(data, 100_000, rng=np.random.default_rng(seed))

    assert laws.within_band(
        outputs.astype(np.int64), np.array(law(data, 0.75, (0, 1, 2), 1.0)), 0, FALSE_ALARM
    )


def test_reads_no_values_and_refuses_other_data() -> None:
    """Without values all candidates are equally good; tables and words are refused."""
    mechanism = Quantile(epsilon=1, q=0.5, candidates=(0, 1), relation=AddRemove())

    assert mechanism.release([]) in (0.0, 1.0)
    for data in ([[1.0]], ["a"], 3.0, [True, False]):
        with pytest.raises(ParameterError, match="sequence of real numbers"):
            mechanism.release(data)
