"""Selection from small finite mechanisms: every order of the outcomes, every law of the runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import FixedRuns
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve
from dpproof.accountant.selection.selected_pair import SelectedPair
from dpproof.accountant.selection.shifted_mixture import shifts
from dpproof.accountant.selection.worst_instance import instance
from dpproof.accountant.selection.worst_order import Lines
from tests.proofs.builders import (
    ROUNDING,
    Array,
    Runs,
    drawn_masses,
    drawn_runs,
    halved,
    outcomes,
    worst_of_all_orders,
)

CHANGE = 0.06


def check(seed: int) -> None:
    """One random mechanism, law and epsilon: enumeration against both bounds and the instance."""
    rng = np.random.default_rng(seed)
    runs = drawn_runs(rng)
    p, q = drawn_masses(rng, int(rng.integers(2, 6)))
    epsilon = float(rng.choice([0.0, rng.uniform(0.0, 2.5), rng.exponential(0.3)]))
    truth = worst_of_all_orders(runs, halved(p, 6), halved(q, 6), epsilon)
    base = outcomes(np.array([float(one) for one in p]), np.array([float(one) for one in q]))
    if not base.p.size:
        return

    divergence = shifts(base, runs.law, CHANGE)
    curve, at = NeymanPearsonCurve.of(base), np.array([epsilon])
    sizes = {"blocks": int(rng.integers(2, 40)), "masses": int(rng.integers(2, 80))}
    rough = Lines.of(curve, runs.law, **sizes)
    close = Lines.of(curve, runs.law, blocks=64, masses=96).refined(epsilon)
    exact = close.delta(epsilon)
    lower = instance(curve, runs.law, close.order(epsilon)).lower(at)[0]

    place = f"seed {seed}: {runs.law.describe()}, p {p}, q {q}, epsilon {epsilon}"
    assert truth <= float(divergence.upper(at)[0]) + ROUNDING, place
    assert truth <= exact + ROUNDING, place
    assert truth <= rough.delta(epsilon) + ROUNDING, place
    for grid in (np.array([0.0, 9.0]), np.linspace(0.0, 9.0, 500)):
        assert truth <= rough.terms(grid).upper(at)[0] + ROUNDING, place
    assert truth <= rough.refined(epsilon).delta(epsilon) + ROUNDING, place
    assert lower <= exact + ROUNDING, place
    assert exact - lower <= 0.002 * exact + 1e-4, place


@pytest.mark.parametrize("part", range(4))
def test_no_order_beats_the_bounds(part: int) -> None:
    """Hundreds of random mechanisms, laws and epsilons; the instance comes close to the bound."""
    for seed in range(part, 64, 4):
        check(seed)


@pytest.mark.slow
def test_no_order_beats_the_bounds_in_hundreds() -> None:
    """The same, hundreds of times more."""
    for seed in range(64, 500):
        check(seed)


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(7))
def test_both_directions_and_negative_epsilons(seed: int) -> None:
    """The pair itself, in both orders, below 0 as well, where no run at all counts."""
    rng = np.random.default_rng(10_000 + seed)
    runs = drawn_runs(rng)
    p, q = drawn_masses(rng, 3)
    pair = SelectedPair(base=Product.of(FinitePair(p=tuple(p), q=tuple(q))), runs=runs.law)
    for one, masses in ((pair, (p, q)), (pair.swapped(), (q, p))):
        first, second = (halved(mass, 6) for mass in masses)
        for epsilon in (-1.0, -0.2, 0.0, 0.4, 1.2):
            truth = worst_of_all_orders(runs, first, second, epsilon)
            lower, upper = one.profile(np.array([epsilon]))

            assert truth <= upper[0] + ROUNDING
            assert lower[0] <= upper[0]


def test_a_law_that_is_worse_is_caught() -> None:
    """The enumeration finds a violation as soon as the law understates its runs."""
    p, q = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    runs = Runs(FixedRuns(count=2), np.eye(4)[3])

    truth = worst_of_all_orders(runs, np.repeat(p / 2, 2), np.repeat(q / 2, 2), 1.8)

    assert truth > Lines.of(NeymanPearsonCurve.of(outcomes(p, q)), runs.law).delta(1.8) + 0.01


RUNS = 5


def selected_by_noisy_counts(masses: Array, counts: Array, sigma: float) -> Array:
    """The law of the model selected in five runs, where scores are its count and Gaussian noise."""
    places, weights = np.polynomial.legendre.leggauss(400)
    ends = np.unique(np.concatenate([counts - 10 * sigma, counts, counts + 10 * sigma]))
    law = np.zeros(masses.size)
    for start, end in itertools.pairwise(ends):
        scores = start + 0.5 * (end - start) * (1 + places)
        distance = (scores - counts[:, None]) / sigma
        density = np.exp(-0.5 * distance**2) * masses[:, None] / (sigma * math.sqrt(2 * math.pi))
        others_below = RUNS * (masses @ ndtr(distance)) ** (RUNS - 1)
        law += (density * others_below) @ weights * 0.5 * (end - start)
    return law


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(3))
def test_noisy_counts_as_scores_reach_the_worst_case_of_all_scores(seed: int) -> None:
    """Counts far apart attain it; counts within a standard deviation do not."""
    rng = np.random.default_rng(20_000 + seed)
    p, q = (weights / weights.sum() for weights in rng.integers(1, 9, (2, 4)))
    epsilon, sigma = 0.2, 3.0
    runs = Runs(FixedRuns(count=RUNS), np.eye(RUNS + 1)[RUNS])
    truth = worst_of_all_orders(runs, p, q, epsilon)

    def reached(gap: float) -> float:
        gains = []
        for order in itertools.permutations(range(p.size)):
            counts = gap * np.array(order, dtype=float)
            one, other = (selected_by_noisy_counts(masses, counts, sigma) for masses in (p, q))
            assert one.sum() == pytest.approx(1.0, abs=1e-9)
            gains.append(float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum()))
        return max(gains)

    assert reached(60.0) == pytest.approx(truth, abs=1e-9)
    assert reached(1.0) < 0.95 * truth
