"""AboveThreshold with the gaps of what is above."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof import proofs
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import LInf
from dpproof.mechanisms import AboveThreshold, Chained, NumericAnswers
from dpproof.mechanisms.samplers import enclosure
from dpproof.mechanisms.samplers.rng import GeneratorRng
from dpproof.mechanisms.samplers.rounded import NoisyReals, rounded_gaps
from dpproof.proofs import VerifiedUnder
from tests.contracts.mechanism_contract import FALSE_ALARM
from tests.mechanisms.selection import laws, test_above_threshold
from tests.mechanisms.selection.gaps import CELLS, EDGES, Later, gap_law


@pytest.mark.slow
class TestAboveThresholdWithGaps(test_above_threshold.TestAboveThreshold):
    """On the values of queries, one answer and its gap."""

    def mechanism(self) -> AboveThreshold[AddRemove]:
        """As without gaps."""
        return AboveThreshold(threshold_scale=1, query_scale=2, sensitivity=LInf(0.5), gap=True)


def test_gaps_cost_nothing_and_the_verdict_says_that_they_are_released() -> None:
    """The pair is the same, and what is taken for granted is not."""
    plain = AboveThreshold(threshold_scale=2, query_scale=4, sensitivity=LInf(1))
    with_gaps = AboveThreshold(threshold_scale=2, query_scale=4, gap=True, sensitivity=LInf(1))
    verdict = proofs.check(with_gaps.guarantee().certify(delta=1e-6))

    assert plain.guarantee().forward == with_gaps.guarantee().forward
    assert isinstance(verdict, VerifiedUnder)
    assert "by how much each of these exceeded" in str(verdict)
    assert "exceeded" not in str(proofs.check(plain.guarantee().certify(delta=1e-6)))


def test_outputs_follow_the_law() -> None:
    """Positions with cells of gaps stay in their band, except with probability 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    mechanism = AboveThreshold(threshold_scale=2, query_scale=3, gap=True, sensitivity=LInf(1))
    values = [-1.0, 1.0, 0.0, 2.5]
    outputs = mechanism.release_many(values, 100_000, rng=np.random.default_rng(seed))
    cell = np.searchsorted(EDGES, outputs["1"], side="right") - 1
    code = np.where(outputs["0"] < 0, 4 * CELLS, outputs["0"] * CELLS + cell)

    assert laws.within_band(code, gap_law(values, (2.0, 3.0), grid=6001), 0, FALSE_ALARM)


def test_several_gaps_and_what_comes_after() -> None:
    """Gaps stand beside the positions, 0 where there is none; numeric answers read positions."""
    mechanism = AboveThreshold(
        threshold_scale=1, query_scale=4, cutoff=2, gap=True, sensitivity=LInf(1)
    )
    positions, gaps = mechanism.release([-900, 900, -900])
    found = AboveThreshold(
        threshold_scale=1, query_scale=4, gap=True, query=lambda d: [len(d)], sensitivity=LInf(1)
    )
    values = NumericAnswers(query=lambda d: [len(d)], scale=4, sensitivity=LInf(1))
    (place, gap), size = Chained(first=found, then=values).release([0] * 900)

    assert (positions.tolist(), gaps[1]) == ([1, -1], 0.0)
    assert 700 < gaps[0] < 1100
    assert (place, abs(gap - 900) < 200, abs(size - 900) < 200) == (0, True, True)


def test_gaps_are_rounded_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is within half a step of the ideal gap, at every grid, and the slow path agrees."""

    def found(grid: Fraction) -> tuple[list[int], NoisyReals, NoisyReals]:
        values = np.array([1e300, 3.0, -2.0, 0.5, 0.25, 1e-300])
        left = NoisyReals(
            values, Fraction(1, 3), GeneratorRng(np.random.default_rng(2)), signed=True
        )
        right = NoisyReals(
            np.zeros(3), Fraction(5), GeneratorRng(np.random.default_rng(3)), signed=True
        )
        steps = rounded_gaps(left, right, np.arange(6), 2, grid)
        return [int(k) for k in steps], left, right

    grids = [Fraction(2) ** e for e in (-300, -40, -20, 0, 300)]
    fast = [found(grid)[0] for grid in grids]
    for grid, steps in zip(grids, fast, strict=True):
        _, left, right = found(grid)
        for i, k in enumerate(steps):
            low, high = left.exact(i).bracket(2_000)
            least, most = right.exact(i // 2).bracket(2_000)
            assert (k - Fraction(1, 2)) * grid <= high - least
            assert low - most <= (k + Fraction(1, 2)) * grid
    monkeypatch.setattr(enclosure, "ROUNDING", 1.0)
    assert [found(grid)[0] for grid in grids] == fast


def moved(
    rng: np.random.Generator, cutoff: int, low: float
) -> list[tuple[NDArray[np.float64], Later | None]]:
    """Queries, and later ones chosen by the first gap; and all of them after a move."""
    size = int(rng.integers(1, 10 if cutoff == 1 else 3))
    centre = rng.choice([-5.0, -2.0, 0.0, 2.0])
    first = centre + rng.choice([0.5, 3.0]) * rng.standard_normal(size)
    later = centre + rng.choice([0.5, 3.0]) * rng.standard_normal((size, CELLS, 2))
    moves = rng.choice([low, 1.0], size)
    others = np.where(np.arange(CELLS)[:, None] < rng.integers(0, CELLS), low, 1.0) + 0 * later
    if cutoff == 1:
        return [(first, None), (first + moves, None)]
    return [
        (first, lambda i, k: later[i, k]),
        (first + moves, lambda i, k: later[i, k] + others[i, k]),
    ]


def excess(scales: Sequence[tuple[float, float]], count: int, seed: int) -> float:
    """The largest excess over the statement, one or two answers, in any direction or rising."""
    rng, worst = np.random.default_rng(seed), -math.inf
    for b in scales:
        for cutoff, rising in ((1, False), (1, True), (2, False), (2, True)):
            stated = AboveThreshold(
                threshold_scale=b[0],
                query_scale=b[1],
                cutoff=cutoff,
                rising=rising,
                gap=True,
                sensitivity=LInf(1),
            ).guarantee()
            ways = [
                DominatingPair(forward=one, backward=one, relation=AddRemove())
                for one in (stated.forward, stated.backward)
            ]
            most = [[way.delta(epsilon=e).upper for e in laws.EPSILONS] for way in ways]
            for _ in range(count):
                both = moved(rng, cutoff, 0.0 if rising else -1.0)
                without, with_it = (gap_law(q, b, later) for q, later in both)
                for way, p, q in ((0, with_it, without), (1, without, with_it)):
                    for epsilon, bound in zip(laws.EPSILONS, most[way], strict=True):
                        found = np.maximum(p - math.exp(epsilon) * q, 0).sum()
                        worst = max(worst, float(found) - bound)
    return worst


def test_random_instances_stay_below() -> None:
    """No instance whose later queries depend on gaps reaches the stated profile."""
    assert excess([(1.0, 2.0)], 1, 3) <= 1e-5


@pytest.mark.slow
def test_hundreds_of_instances_stay_below() -> None:
    """Nor does any of hundreds."""
    assert excess([(1.0, 2.0), (2.0, 2.0), (1.0, 12.0)], 40, 4) <= 1e-5
