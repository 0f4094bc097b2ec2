"""AboveThreshold."""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import AboveThreshold
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.selection import laws


class TestAboveThreshold(MechanismContract):
    """On the values of queries, one answer."""

    def mechanism(self) -> AboveThreshold[AddRemove]:
        """Fractional sensitivity, a threshold of its own."""
        return AboveThreshold(
            threshold_scale=1, query_scale=2, sensitivity=LInf(0.5), threshold=0.25
        )

    def data(self) -> object:
        """Four queries next to the threshold."""
        return [0.25, 0.5, 0.25, 1.0]

    def neighbour(self) -> object:
        """Down before, up after."""
        return [-0.25, 0.0, 0.75, 1.5]

    def increasing_noise(self) -> Sequence[AboveThreshold[AddRemove]]:
        """From half the sensitivity to twenty times."""
        return [
            AboveThreshold(threshold_scale=b, query_scale=2 * b, sensitivity=LInf(1))
            for b in (0.5, 2, 20)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each, monotone queries under replace-one, too little noise."""
        good: dict[str, Any] = {"threshold_scale": 1, "query_scale": 2, "sensitivity": LInf(1)}
        bad: dict[str, Sequence[Any]] = {
            "threshold_scale": (*NOT_POSITIVE, Fraction(1, 50)),
            "query_scale": NOT_POSITIVE,
            "sensitivity": (L1(1), 2, None),
            "cutoff": (0, -1, 1.5, None, 100),
            "monotone": (1, "yes", None),
            "rising": (1, "yes", None),
            "gap": (1, "yes", None),
            "granularity": (0.3, -1, "1"),
            "threshold": (float("nan"), "1", None, Fraction(1, 3)),
            "query": ([1, 2],),
        }
        replaced = {**good, "monotone": True, "sensitivity": LInf(1, ReplaceOne())}
        return [
            functools.partial(AboveThreshold, **replaced),
            *one_bad(AboveThreshold, good=good, bad=bad),
        ]


@pytest.mark.slow
class TestAboveThresholdOnRecords(TestAboveThreshold):
    """Three answers to monotone queries on records."""

    def mechanism(self) -> AboveThreshold[AddRemove]:
        """How many records are above each of five numbers."""
        return AboveThreshold(
            threshold_scale=2,
            query_scale=8,
            cutoff=3,
            monotone=True,
            threshold=2,
            query=counts,
            sensitivity=LInf(1),
        )

    def data(self) -> object:
        """Numbers."""
        return [1, 2, 3, 5, 5]

    def neighbour(self) -> object:
        """One more."""
        return [1, 2, 3, 5, 5, 4]


def counts(records: Sequence[int]) -> list[int]:
    """How many records are above 0, ..., 4."""
    return [sum(record > k for record in records) for k in range(5)]


SCALES = ((1.0, 2.0), (2.0, 2.0), (1.0, 12.0))


def instances(
    rng: np.random.Generator, *, monotone: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Queries and a move of each of at most 1; deep ones, and moves of one size, as often."""
    size = int(rng.integers(1, 25))
    centre = rng.choice([-8.0, -3.0, 0.0, 2.0])
    queries = centre + rng.choice([0.5, 3.0]) * rng.standard_normal(size)
    low = 0.0 if monotone else -1.0
    moves = rng.choice([low, 1.0], size) if rng.random() < 0.8 else rng.uniform(low, 1.0, size)
    return queries, moves


def excess(count: int, seed: int, *, monotone: bool) -> float:
    """The largest excess over the statement of random instances with one answer."""
    rng, worst = np.random.default_rng(seed), -math.inf
    for threshold, query in SCALES:
        mechanism = AboveThreshold(
            threshold_scale=threshold, query_scale=query, monotone=monotone, sensitivity=LInf(1)
        )
        stated = [mechanism.guarantee().delta(epsilon=e).upper for e in laws.EPSILONS]
        for _ in range(count):
            queries, moves = instances(rng, monotone=monotone)
            p, q = (
                laws.above_threshold(values, threshold, query, grid=801)
                for values in (queries, queries + moves)
            )
            for epsilon, most in zip(laws.EPSILONS, stated, strict=True):
                for one, other in ((p, q), (q, p)):
                    found = np.maximum(one - math.exp(epsilon) * other, 0).sum()
                    worst = max(worst, float(found) - most)
    return worst


@pytest.mark.parametrize("monotone", [False, True])
def test_random_instances_stay_below(monotone: bool) -> None:  # noqa: FBT001
    """No instance of up to 24 queries reaches the stated profile."""
    assert excess(2, 5, monotone=monotone) <= 1e-5


def rising_excess(count: int, seed: int) -> float:
    """The same of queries that rise, each order of neighbours against its own pair."""
    rng, worst = np.random.default_rng(seed), -math.inf
    for threshold, query in SCALES:
        stated = AboveThreshold(
            threshold_scale=threshold, query_scale=query, rising=True, sensitivity=LInf(1)
        ).guarantee()
        ways = [
            DominatingPair(forward=one, backward=one, relation=AddRemove())
            for one in (stated.forward, stated.backward)
        ]
        for _ in range(count):
            queries, moves = instances(rng, monotone=True)
            without, with_it = (
                laws.above_threshold(values, threshold, query, grid=801)
                for values in (queries, queries + moves)
            )
            for epsilon in laws.EPSILONS:
                for way, p, q in ((ways[0], with_it, without), (ways[1], without, with_it)):
                    found = np.maximum(p - math.exp(epsilon) * q, 0).sum()
                    worst = max(worst, float(found) - way.delta(epsilon=epsilon).upper)
    return worst


def test_random_rising_instances_stay_below() -> None:
    """No instance reaches the profile of its order, and the orders differ."""
    assert rising_excess(1, 7) <= 1e-5
    rising = AboveThreshold(
        threshold_scale=2, query_scale=2, rising=True, sensitivity=LInf(1)
    ).repeat(100)
    monotone = AboveThreshold(
        threshold_scale=2, query_scale=2, monotone=True, sensitivity=LInf(1)
    ).repeat(100)
    assert rising.guarantee().epsilon(delta=1e-6).upper < 46.92
    assert monotone.guarantee().epsilon(delta=1e-6).upper > 50.66


@pytest.mark.slow
def test_thousands_of_rising_instances_stay_below() -> None:
    """The same, of a hundred and fifty."""
    assert rising_excess(50, 8) <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("monotone", [False, True])
def test_thousands_of_instances_stay_below(monotone: bool) -> None:  # noqa: FBT001
    """The same, of thousands."""
    assert excess(700, 6, monotone=monotone) <= 1e-5


def two_answers(
    queries: NDArray[np.float64], threshold: float, query: float, z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of two answers, P(i and then j first above | z), i and j = n for none; flattened."""
    below = laws.laplace_cdf((threshold * z[:, None] - queries) / query)
    size = len(queries)
    found = np.zeros((len(z), size + 1, size + 1))
    reach = np.ones(len(z))
    for i in range(size):
        stop, left = reach * (1 - below[:, i]), np.ones(len(z))
        for j in range(i + 1, size):
            found[:, i, j] = stop * left * (1 - below[:, j])
            left = left * below[:, j]
        found[:, i, size] = stop * left
        reach = reach * below[:, i]
    found[:, size, size] = reach
    return found.reshape(len(z), -1)


def test_two_answers_stay_below() -> None:
    """Nor do instances with two answers."""
    rng, z = np.random.default_rng(9), np.linspace(-40, 40, 801)
    weight = np.exp(-np.abs(z))
    weight /= weight.sum()
    mechanism = AboveThreshold(threshold_scale=1, query_scale=3, cutoff=2, sensitivity=LInf(1))
    stated = [mechanism.guarantee().delta(epsilon=e).upper for e in laws.EPSILONS]
    for _ in range(25):
        queries, moves = instances(rng, monotone=False)
        p, q = (weight @ two_answers(v, 1.0, 3.0, z) for v in (queries, queries + moves))
        for epsilon, most in zip(laws.EPSILONS, stated, strict=True):
            for one, other in ((p, q), (q, p)):
                assert np.maximum(one - math.exp(epsilon) * other, 0).sum() <= most + 1e-5


def test_a_bad_instance_comes_near() -> None:
    """With little noise on the threshold one query is nearly the worst: 0.01320 of 0.01333."""
    mechanism = AboveThreshold(threshold_scale=1, query_scale=50, sensitivity=LInf(1))
    stated = mechanism.guarantee().delta(epsilon=0)
    queries = np.full(40, 0.0)
    p = laws.above_threshold(queries, 1.0, 50.0)
    best = 0.0
    for cut in range(1, 40):
        moves = np.where(np.arange(40) < cut, 1.0, -1.0)
        q = laws.above_threshold(queries + moves, 1.0, 50.0)
        best = max(best, float(np.maximum(q - p, 0).sum()))

    assert stated.upper == pytest.approx(1 / 75, rel=1e-6)
    assert 0.6 * stated.upper < best <= stated.upper


def test_a_hundred_uses() -> None:
    """100 uses at epsilon 1 and delta 1e-6 cost 32.83; the Laplace pair alone gives 71.6."""
    guarantee = (
        AboveThreshold(threshold_scale=2, query_scale=4, sensitivity=LInf(1))
        .repeat(100)
        .guarantee()
    )
    together = AboveThreshold(threshold_scale=2, query_scale=4, monotone=True, sensitivity=LInf(1))

    assert 32.8 < guarantee.epsilon(delta=1e-6).upper < 32.83
    assert together.repeat(100).guarantee().epsilon(delta=1e-6).upper < 25.2


@pytest.mark.parametrize(("scales", "cutoff"), [((2, 4), 1), ((1, 8), 4)])
def test_is_pure_at_the_textbook_epsilon(scales: tuple[int, int], cutoff: int) -> None:
    """The largest loss is Delta/b1 + 2 c Delta/b2, or Delta/b1 + c Delta/b2 if monotone."""
    for monotone in (False, True):
        mechanism = AboveThreshold(
            threshold_scale=scales[0],
            query_scale=scales[1],
            cutoff=cutoff,
            monotone=monotone,
            sensitivity=LInf(1),
        )
        pure = 1 / scales[0] + (1 if monotone else 2) * cutoff / scales[1]
        assert mechanism.guarantee().epsilon(delta=0).upper == pytest.approx(pure, rel=1e-12)


def test_outputs_follow_the_law() -> None:
    """Frequencies stay in their band, except with probability 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    mechanism, values = (
        AboveThreshold(threshold_scale=2, query_scale=3, sensitivity=LInf(1)),
        [-1.0, 1.0, 0.0, 2.5],
    )
    outputs = mechanism.release_many(values, 200_000, rng=np.random.default_rng(seed))
    law = laws.above_threshold(values, 2.0, 3.0, grid=20_001)

    assert laws.within_band(np.where(outputs < 0, 4, outputs), law, 0, FALSE_ALARM)


def test_stops_at_the_cutoff() -> None:
    """The first positions above, in order, and -1 for what is missing."""
    mechanism = AboveThreshold(threshold_scale=1, query_scale=4, cutoff=3, sensitivity=LInf(1))

    assert mechanism.release([-900, 900, -900, 900, 900, 900]).tolist() == [1, 3, 4]
    assert mechanism.release([-900, 900, -900]).tolist() == [1, -1, -1]
    assert (
        AboveThreshold(threshold_scale=1, query_scale=2, sensitivity=LInf(1)).release([-900]) == -1
    )


def test_the_number_of_queries_is_the_data_s_only_if_it_is_public() -> None:
    """Datasets with another number of queries are refused together."""
    with pytest.raises(ParameterError, match="one shape"):
        AboveThreshold(threshold_scale=1, query_scale=2, sensitivity=LInf(1)).draw(
            [[1.0], [1.0, 2.0]],
            1,
            np.random.default_rng(1),  # type: ignore[arg-type]
        )


SLOW = pytest.mark.slow
Broken = Callable[[Sequence[float], int, np.random.Generator], NDArray[np.float64]]


def _laplace(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    return rng.laplace(size=shape)


def roth(values: Sequence[float], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Lyu, Su & Li, Algorithm 3: the noisy value that was compared is released."""
    noisy = np.array(values) + 4 * _laplace(rng, size, len(values))
    above = noisy >= 2 * _laplace(rng, size, 1)
    first = np.where(above.any(axis=1), above.argmax(axis=1), 0)
    value = noisy[np.arange(size), first]
    return np.stack([np.where(above.any(axis=1), first, -1), value], axis=1)


def lee(values: Sequence[float], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Algorithm 4: noise on queries that does not grow with the number of answers."""
    above = np.array(values) + 4 * _laplace(rng, size, len(values)) >= 4 * _laplace(rng, size, 1)
    return above.astype(np.float64)


def stoddard(values: Sequence[float], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Algorithm 5: no noise on queries, no cut-off."""
    return (np.array(values) >= 2 * _laplace(rng, size, 1)).astype(np.float64)


def chen(values: Sequence[float], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Algorithm 6: no cut-off, however many answers."""
    above = np.array(values) + 2 * _laplace(rng, size, len(values)) >= 2 * _laplace(rng, size, 1)
    return above.astype(np.float64)


@pytest.mark.parametrize(
    ("broken", "one", "other"),
    [
        (roth, [0.0], [1.0]),
        pytest.param(lee, [0.0] * 40 + [1.0] * 40, [1.0] * 40 + [0.0] * 40, marks=SLOW),
        (stoddard, [0.0, 1.0], [1.0, 0.0]),
        pytest.param(chen, [0.0] * 10 + [1.0] * 10, [1.0] * 10 + [0.0] * 10, marks=SLOW),
    ],
)
def test_published_broken_variants_are_refuted(
    broken: Broken, one: list[float], other: list[float]
) -> None:
    """An audit of each against what AboveThreshold states with as much noise finds it out."""
    claim: Guarantee[Any] = AboveThreshold(
        threshold_scale=2, query_scale=4, sensitivity=LInf(1)
    ).guarantee()

    report = auditing.audit(broken, (one, other), claim, samples=6_000, significance=1e-6, seed=3)

    assert report.outcome is auditing.Outcome.VIOLATION, str(report)
