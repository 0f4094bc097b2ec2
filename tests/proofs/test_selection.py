"""Selection from small finite mechanisms: every order of the outcomes, every law of the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import FixedRuns
from dpproof.accountant.selection.selected_pair import SelectedPair
from dpproof.accountant.selection.shifted_mixture import shifts
from dpproof.accountant.selection.worst_instance import instance
from dpproof.accountant.selection.worst_order import worst_case, worst_order_terms
from tests.proofs.builders import (
    ROUNDING,
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
    exact = worst_case(base, runs.law, epsilon, -math.inf, CHANGE)
    least, ignored = divergence.ignored(1e-3)
    cut = worst_case(base, runs.law, epsilon, epsilon + least, CHANGE) + ignored
    sizes = {"blocks": int(rng.integers(2, 40)), "masses": int(rng.integers(2, 80))}
    terms = worst_order_terms(base, runs.law, **sizes).upper(np.array([epsilon]))[0]
    lower = instance(base, runs.law, epsilon, -math.inf, CHANGE).lower(np.array([epsilon]))[0]

    place = f"seed {seed}: {runs.law.describe()}, p {p}, q {q}, epsilon {epsilon}"
    assert truth <= float(divergence.upper(np.array([epsilon]))[0]) + ROUNDING, place
    assert truth <= exact + ROUNDING, place
    assert truth <= cut + ROUNDING, place
    assert truth <= terms + ROUNDING, place
    assert lower <= exact + ROUNDING, place
    assert exact - lower <= 0.01 * exact + 2e-3, place


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

    assert truth > worst_case(outcomes(p, q), runs.law, 1.8, -math.inf, CHANGE) + 0.01
