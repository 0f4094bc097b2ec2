"""AboveThreshold with normal noise."""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import special

from dpproof import proofs
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.derivation import Attained
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import GaussianAboveThreshold
from dpproof.mechanisms.samplers import enclosure
from dpproof.mechanisms.samplers.rng import GeneratorRng
from dpproof.mechanisms.samplers.rounded import NoisyReals, exceeding
from dpproof.proofs import VerifiedUnder
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.selection import laws

EPSILONS = (0.0, 0.1, 0.3, 0.7)
FLAGS: tuple[dict[str, Any], ...] = ({}, {"monotone": True}, {"rising": True})


@pytest.mark.slow
class TestGaussianAboveThreshold(MechanismContract):
    """On the values of queries, one answer."""

    def mechanism(self) -> GaussianAboveThreshold[AddRemove]:
        """Fractional sensitivity, a threshold of its own."""
        return GaussianAboveThreshold(
            threshold_sigma=1, query_sigma=2, queries=6, sensitivity=LInf(0.5), threshold=0.25
        )

    def data(self) -> object:
        """Four queries next to the threshold."""
        return [0.25, 0.5, 0.25, 1.0]

    def neighbour(self) -> object:
        """Down before, up after."""
        return [-0.25, 0.0, 0.75, 1.5]

    def increasing_noise(self) -> Sequence[GaussianAboveThreshold[AddRemove]]:
        """More and more."""
        return [
            GaussianAboveThreshold(
                threshold_sigma=s, query_sigma=2 * s, queries=9, sensitivity=LInf(1)
            )
            for s in (2, 5, 20)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each, monotone queries under replace-one, too little noise."""
        good: dict[str, Any] = {"threshold_sigma": 3, "query_sigma": 6, "queries": 50}
        good["sensitivity"] = LInf(1)
        bad: dict[str, Sequence[Any]] = {
            "threshold_sigma": NOT_POSITIVE,
            "query_sigma": (*NOT_POSITIVE, Fraction(1, 10**60)),
            "queries": (0, -1, 1.5, None, 10**13),
            "sensitivity": (L1(1), 2, None),
            "cutoff": (0, -1, 1.5, None, 51),
            "monotone": (1, "yes", None),
            "rising": (1, "yes", None),
            "threshold": (float("nan"), "1", None, Fraction(1, 3)),
            "query": ([1, 2],),
        }
        replaced = {**good, "monotone": True, "sensitivity": LInf(1, ReplaceOne())}
        return [
            functools.partial(GaussianAboveThreshold, **replaced),
            *one_bad(GaussianAboveThreshold, good=good, bad=bad),
        ]


def law(queries: ArrayLike, threshold: float, query: float) -> laws.Law:
    """P(query i is the first above), and of none last, the threshold's noise on a grid."""
    values, z = np.asarray(queries, dtype=np.float64), np.linspace(-9, 9, 1201)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    below = special.ndtr((threshold * z[:, None] - values) / query)
    reach = np.cumprod(np.concatenate([np.ones((len(z), 1)), below], axis=1), axis=1)
    stops = np.concatenate([reach[:, :-1] * (1 - below), reach[:, -1:]], axis=1)
    return np.asarray(weight @ stops)


def excess(count: int, seed: int) -> float:
    """The largest excess over the statement, in any direction, together or rising."""
    rng, worst = np.random.default_rng(seed), -math.inf
    for threshold, query, size in ((2.0, 4.0, 20), (2.0, 16.0, 60), (8.0, 4.0, 3)):
        for flags in FLAGS:
            stated = GaussianAboveThreshold(
                threshold_sigma=threshold,
                query_sigma=query,
                queries=size,
                sensitivity=LInf(1),
                **flags,
            ).guarantee()
            pair = stated.to_pair()
            ways = [
                DominatingPair(forward=one, backward=one, relation=AddRemove())
                for one in (pair.forward, pair.backward)
            ]
            most = [[way.delta(epsilon=e).upper for e in EPSILONS] for way in ways]
            for _ in range(count):
                level = -query * math.sqrt(2 * math.log(size)) * rng.choice([0, 0.5, 0.8, 1])
                values = level + rng.choice([0, 1]) * rng.standard_normal(size)
                low, cut = 0.0 if flags else -1.0, rng.integers(0, size + 1)
                moves = np.where(np.arange(size) < cut, 1.0, low)
                if rng.random() < 0.5:
                    moves = rng.permutation(moves) if rng.random() < 0.5 else moves[::-1]
                without, with_it = (law(v, threshold, query) for v in (values, values + moves))
                for way, p, q in ((0, with_it, without), (1, without, with_it)):
                    for epsilon, bound in zip(EPSILONS, most[way], strict=True):
                        found = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
                        worst = max(worst, found - bound)
    return worst


@pytest.mark.slow
def test_hundreds_of_instances_stay_below() -> None:
    """No instance of as many queries as there may be reaches the stated profile."""
    assert excess(60, 5) <= 1e-6


def test_an_instance_stays_below() -> None:
    """Twenty queries next to the threshold, the first three of which move up."""
    mechanism = GaussianAboveThreshold(
        threshold_sigma=2, query_sigma=4, queries=20, sensitivity=LInf(1)
    )
    stated = mechanism.guarantee()
    values, moves = np.full(20, -5.0), np.where(np.arange(20) < 3, 1.0, -1.0)
    p, q = law(values, 2, 4), law(values + moves, 2, 4)
    for epsilon in EPSILONS[:2]:
        found = float(np.maximum(q - math.exp(epsilon) * p, 0).sum())
        assert 0.3 * stated.delta(epsilon=epsilon).lower < found
        assert found <= stated.delta(epsilon=epsilon).upper + 1e-6


def test_a_single_query_is_a_gaussian_one() -> None:
    """One bit behind noise of variance 9 + 36 costs what is known of N(0, 45), and attains it."""
    alarm = GaussianAboveThreshold(threshold_sigma=3, query_sigma=6, queries=1, sensitivity=LInf(1))
    stated = alarm.guarantee()
    assert isinstance(stated, GDP)
    assert stated.mu_squared == Fraction(1, 45)
    assert stated.delta(epsilon=0).upper == pytest.approx(0.05942, abs=5e-6)
    assert stated.epsilon(delta=1e-6).upper == pytest.approx(0.60845, abs=5e-6)
    assert stated.attained is Attained.POINTS
    assert alarm.repeat(2).guarantee().attained is Attained.NO
    proved = proofs.check(stated.certify(delta=1e-6))
    assert isinstance(proved, VerifiedUnder)
    assert "the values of at most 1 queries" in proved.assumptions[0]
    p, q = law([0.5], 3, 6), law([-0.5], 3, 6)
    assert float(np.maximum(p - q, 0).sum()) == pytest.approx(stated.delta(epsilon=0).upper)


def test_little_noise_misses_rarer_events() -> None:
    """A natural first try, whose losses at events of mass 2^-100 are above 16 nats, answers."""
    alarm = GaussianAboveThreshold(threshold_sigma=1, query_sigma=2, queries=9, sensitivity=LInf(1))
    stated = alarm.guarantee()
    assert dict(stated.derivation.parameters)["missed"] == 80
    assert 7 < stated.epsilon(delta=1e-6).upper < 8
    assert isinstance(proofs.check(stated.certify(delta=1e-6)), VerifiedUnder)
    values, moves = np.zeros(9), np.where(np.arange(9) < 3, 1.0, -1.0)
    p, q = law(values, 1, 2), law(values + moves, 1, 2)
    for epsilon in EPSILONS:
        found = float(np.maximum(q - math.exp(epsilon) * p, 0).sum())
        assert found <= stated.delta(epsilon=epsilon).upper + 1e-6
    with pytest.raises(ParameterError, match="16 nats"):
        GaussianAboveThreshold(threshold_sigma=0.1, query_sigma=0.2, queries=9, sensitivity=LInf(1))


@pytest.mark.slow
def test_many_uses() -> None:
    """One and a hundred uses; the Renyi bound of Zhu and Wang gives 0.98 and 57.7."""
    mechanism = GaussianAboveThreshold(
        threshold_sigma=10, query_sigma=17.3, queries=100, sensitivity=LInf(1)
    )
    costs = [mechanism.repeat(n).guarantee().epsilon(delta=1e-6).upper for n in (1, 100)]

    assert costs[0] < 1.021
    assert costs[1] < 18.6
    assert isinstance(proofs.check(mechanism.guarantee().certify(delta=1e-6)), VerifiedUnder)


@pytest.mark.slow
def test_many_monotone_queries_are_certified() -> None:
    """Pairs above two curves, of many outcomes, are not too much work for the checker."""
    mechanism = GaussianAboveThreshold(
        threshold_sigma=12.5, query_sigma=1.032, queries=1000, sensitivity=LInf(0.3), monotone=True
    )
    certificate = mechanism.guarantee().certify(delta=1e-6)

    assert isinstance(proofs.check(certificate), VerifiedUnder)


def test_outputs_follow_the_law() -> None:
    """Frequencies stay in their band, except with probability 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    mechanism = GaussianAboveThreshold(
        threshold_sigma=2, query_sigma=3, queries=4, sensitivity=LInf(1)
    )
    values = [-1.0, 1.0, 0.0, 2.5]
    outputs = mechanism.release_many(values, 100_000, rng=np.random.default_rng(seed))

    assert laws.within_band(np.where(outputs < 0, 4, outputs), law(values, 2, 3), 0, FALSE_ALARM)
    with pytest.raises(ParameterError, match="queries"):
        mechanism.release([*values, 1.0])


def test_normal_numbers_are_compared_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What binary64 decides is what further digits decide, and all can be decided by these."""
    values = np.random.default_rng(1).normal(size=36)

    def found() -> tuple[list[list[bool]], NoisyReals]:
        left, right = (
            NoisyReals(v, s, GeneratorRng(np.random.default_rng(k)), signed=True, normal=True)
            for k, (v, s) in enumerate(((values, Fraction(1, 3)), (values[:6], Fraction(5))))
        )
        return exceeding(left, right, 6).tolist(), left

    fast, numbers = found()
    for i in range(20):
        low, high = numbers.exact(i).bracket(200)
        assert low <= Fraction(float(numbers.near[i] + numbers.margin[i]))
        assert high >= Fraction(float(numbers.near[i] - numbers.margin[i]))
        assert 0 <= high - low < Fraction(1, 2**150)
    monkeypatch.setattr(enclosure, "ROUNDING", 1e6)
    assert found()[0] == fast
