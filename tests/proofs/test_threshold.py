"""A threshold on small finite mechanisms: every set of accepted outcomes, every law of the runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import FixedRuns
from dpproof.accountant.selection import threshold_lines
from dpproof.accountant.selection.threshold import ceiling_of, floor_of
from dpproof.accountant.selection.thresholded_pair import ThresholdedPair
from tests.proofs.builders import (
    ROUNDING,
    Array,
    Runs,
    capped_geometric,
    drawn_masses,
    halved,
    outcomes,
    some_runs,
    worst_of_all_sets,
)


@pytest.fixture(autouse=True)
def few_rectangles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coarse rectangles, which hold as well and take a fiftieth of the time."""
    for name, value in (("_CUTS", 12), ("_ROUNDS", 4), ("_FINE", 100)):
        monkeypatch.setattr(threshold_lines, name, value)


def floats(masses: list[Fraction]) -> Array:
    """As floats."""
    return np.array([float(one) for one in masses])


def check(seed: int) -> None:
    """One random mechanism and law: enumeration against both ends."""
    rng = np.random.default_rng(seed)
    runs = some_runs(rng)
    p, q = drawn_masses(rng, int(rng.integers(2, 6)))
    epsilon = np.array([0.0, 0.1, rng.uniform(0.0, 2.5), rng.exponential(0.3), 4.0, 30.0])
    if not (floats(p) > 0).any():
        return
    base = outcomes(floats(p), floats(q))
    place = f"seed {seed}: {runs.law.describe()}, p {p}, q {q}, epsilon {epsilon}"

    fine = worst_of_all_sets(runs, halved(p, 8), halved(q, 8), epsilon)
    assert (fine <= ceiling_of(base, runs.law).upper(epsilon) + ROUNDING).all(), place
    # Rules that accept whole outcomes are all there is for the instance, so it is among them.
    whole = worst_of_all_sets(runs, floats(p), floats(q), epsilon)
    assert (floor_of(base, runs.law).lower(epsilon) <= whole + ROUNDING).all(), place


@pytest.mark.parametrize("part", range(4))
def test_no_set_beats_the_bounds(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of random mechanisms and laws, some with the coarsest rectangles."""
    if part == 0:
        monkeypatch.setattr(threshold_lines, "_CUTS", 2)
        monkeypatch.setattr(threshold_lines, "_ROUNDS", 0)
    for seed in range(part, 80, 4):
        check(seed)


@pytest.mark.slow
def test_no_set_beats_the_bounds_hundreds_of_times() -> None:
    """The same, hundreds of times."""
    for seed in range(80, 600):
        check(seed)


@pytest.mark.parametrize("seed", range(3))
def test_both_directions_and_negative_epsilons(seed: int) -> None:
    """The pair itself and its tables, in both orders, below 0 as well."""
    rng = np.random.default_rng(20_000 + seed)
    runs = capped_geometric(Fraction(1, 5), 7) if seed == 0 else some_runs(rng)
    p, q = drawn_masses(rng, 4)
    pair = ThresholdedPair(base=Product.of(FinitePair(p=tuple(p), q=tuple(q))), runs=runs.law)
    epsilon = np.array([-1.0, -0.2, 0.0, 0.4, 1.2, 3.0])
    for one, masses in ((pair, (p, q)), (pair.swapped(), (q, p))):
        fine = worst_of_all_sets(runs, halved(masses[0], 8), halved(masses[1], 8), epsilon)
        lower, upper = one.profile(epsilon)
        above, below = one.above(1).profile(epsilon), one.below(1).profile(epsilon)

        assert above is not None
        assert below is not None
        assert (fine <= upper + ROUNDING).all()
        assert (fine <= above[1] + ROUNDING).all()
        assert (lower <= upper).all()
        assert (below[0] <= upper + ROUNDING).all()


@pytest.mark.parametrize("seed", range(4))
def test_no_set_beats_the_answer_to_one_question(seed: int) -> None:
    """Delta at an epsilon and epsilon at a delta, of bases with atoms that rules may split."""
    rng = np.random.default_rng(30_000 + seed)
    runs = some_runs(rng)
    p, q = drawn_masses(rng, int(rng.integers(2, 5)))
    if not (floats(p) > 0).any():
        return
    base = Product.of(FinitePair(p=tuple(p), q=tuple(q)))
    pair = ThresholdedPair(base=base, runs=runs.law)
    epsilon = np.array([0.0, rng.uniform(0.0, 1.5)])
    true = worst_of_all_sets(runs, halved(p, 8), halved(q, 8), epsilon)
    for one, least in zip(epsilon.tolist(), true.tolist(), strict=True):
        found = pair.delta(one)
        assert least <= found.upper + ROUNDING
        assert found.lower <= pair.upper(np.array([one]))[0] + ROUNDING
        if least > 1e-5:
            again = pair.epsilon(least)
            assert one <= again.upper + ROUNDING
            assert pair.profile(np.array([again.lower]))[1][0] >= least * (1 - 1e-9)


def test_a_law_that_is_worse_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The enumeration finds a violation as soon as the law understates its runs."""
    monkeypatch.setattr(threshold_lines, "_CUTS", 80)
    p, q = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    longer = Runs(FixedRuns(count=2), np.eye(5)[4])
    epsilon = np.array([1.8])

    truth = worst_of_all_sets(longer, p, q, epsilon)

    assert truth[0] > ceiling_of(outcomes(p, q), longer.law).upper(epsilon)[0] + 0.01
    assert math.isfinite(float(truth[0]))
