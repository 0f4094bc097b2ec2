"""One run with many canaries."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse, stats

from dpproof.accountant import GDP
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Guesses, OneRunCurve, PrefixBand, PrefixCounts
from dpproof.auditing.bounds.curves import contradicts
from dpproof.auditing.counts import Design, gaussian, lines

SIGNIFICANCE = 0.05
BAND = PrefixBand(significance=SIGNIFICANCE)


def counted(guesses: Guesses) -> PrefixCounts:
    """Guesses of one run as one prefix."""
    made, right = (guesses.made,), (guesses.correct,)
    return PrefixCounts(made, right, guesses.canaries, 0, Design.ONE_RUN)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("made", [8, 20, 200])
def test_error_probability_for_randomised_response(epsilon: float, made: int) -> None:
    """Exactly: independent randomised responses, of which every guess is right with bias q."""
    right = stats.binom(made, 1 / (1 + math.exp(-epsilon)))
    error = sum(
        right.pmf(v)
        for v in range(made + 1)
        if BAND.epsilon(counted(Guesses(made, made, v))) > epsilon
    )

    assert error <= SIGNIFICANCE


@pytest.mark.parametrize(("delta", "leaks"), [(1e-4, "each"), (2e-3, "each"), (2e-3, "all")])
def test_error_probability_when_delta_is_used(delta: float, leaks: str) -> None:
    """Exactly: each canary's bit leaks on its own, or all leak together, with probability delta."""
    m, epsilon = 100, 0.5
    honest = 1 / (1 + math.exp(-epsilon))
    refuted = np.array(
        [BAND.epsilon(counted(Guesses(m, m, v)), delta=delta) > epsilon for v in range(101)]
    )
    if leaks == "each":
        error = stats.binom(m, delta + (1 - delta) * honest).pmf(np.arange(101))[refuted].sum()
    else:
        error = (1 - delta) * stats.binom(m, honest).pmf(np.arange(101))[refuted].sum() + delta

    assert error <= SIGNIFICANCE


def test_forgetting_delta_is_seen() -> None:
    """Without paying for delta the same computation errs more often than 5 %."""
    m, epsilon, delta = 100, 0.5, 0.03
    right = stats.binom(m, delta + (1 - delta) / (1 + math.exp(-epsilon)))
    error = sum(
        right.pmf(v) for v in range(101) if BAND.epsilon(counted(Guesses(m, m, v))) > epsilon
    )

    assert error > SIGNIFICANCE


def test_bound_approaches_the_truth() -> None:
    """A million canaries that answer by randomised response show 99 % of epsilon."""
    m = 1_000_000
    guesses = Guesses(m, m, round(m / (1 + math.exp(-1))))

    assert 0.99 < BAND.epsilon(counted(guesses)) < 1
    assert BAND.epsilon(counted(guesses), delta=1e-9) < BAND.epsilon(counted(guesses))
    assert BAND.epsilon(counted(guesses), delta=0.5) == 0.0


def test_nothing_is_shown_by_nothing() -> None:
    """No guess, or none right: 0."""
    assert BAND.epsilon(counted(Guesses(10, 0, 0))) == 0.0
    assert BAND.epsilon(counted(Guesses(10, 10, 0))) == 0.0


@pytest.mark.parametrize("numbers", [(5, 6, 1), (5, 4, 5), (5, 4, -1), (5.0, 4, 1)])
def test_refuses_impossible_guesses(numbers: tuple[int, int, int]) -> None:
    """No more right than made, no more made than canaries."""
    with pytest.raises(ParameterError):
        Guesses(*numbers)


def test_delta_is_paid_for_once() -> None:
    """Few canaries and a small delta: the p-value is their product more than at delta 0."""
    guesses = Guesses(100, 100, 70)
    without = BAND.p_value(counted(guesses), epsilon=0.5)
    assert BAND.p_value(counted(guesses), epsilon=0.5, delta=1e-6) == pytest.approx(
        without + 1e-4, rel=1e-12
    )
    assert BAND.p_value(counted(guesses), epsilon=0.5, delta=1e-6) >= without + 1e-4


def test_what_pays_for_delta_is_rounded_up() -> None:
    """At least canaries times delta, exactly, where no guess is removed."""
    for canaries in range(100, 400):
        delta = Fraction(canaries + 1, 3 * 10**8)
        guesses = Guesses(canaries, canaries, canaries)
        p_value = Fraction(BAND.p_value(counted(guesses), epsilon=0, delta=delta))
        assert canaries * delta <= p_value - Fraction(1, 2**canaries)
        assert p_value <= canaries * delta * (1 + Fraction(1, 10**11)) + Fraction(1, 10**14)


ONE_RUN_CURVE_BOUND = OneRunCurve(significance=SIGNIFICANCE)
Points = tuple[tuple[float, float], ...]
PURE: Points = ((0.5, 0.0),)
APPROXIMATE: Points = ((0.5, 0.1),)
CURVE: Points = tuple((e, GDP(mu=1).delta(epsilon=e).upper) for e in (0.0, 0.5, 1.0, 1.5))


def worst_tail(canaries: int, made: int, correct: int, points: Points) -> float:
    """Largest Pr(at least ``correct`` right guesses) of ANY mechanism with this privacy.

    A linear program over all laws of the guesses given the coins: for canaries that differ in one
    coin, the hockey-stick divergence at every epsilon is at most its delta, in both orders.
    """
    coins = list(product((0, 1), repeat=canaries))
    guesses = [g for g in product((-1, 0, 1), repeat=canaries) if sum(x >= 0 for x in g) <= made]
    neighbours = [
        (s, tuple(1 - x if j == flipped else x for j, x in enumerate(s)), e, d)
        for s in coins
        for flipped in range(canaries)
        for e, d in points
    ]
    size, width = len(coins) * len(guesses), len(guesses)
    unit = sparse.identity(width, format="csr")
    nothing = sparse.csr_matrix((width, width))
    rows: list[Any] = []
    limits: list[float] = []
    for number, (s, other, epsilon, delta) in enumerate(neighbours):
        blocks = [
            unit if t == s else -math.exp(epsilon) * unit if t == other else nothing for t in coins
        ]
        excess = [unit if j == number else nothing for j in range(len(neighbours))]
        rows.append(sparse.hstack([*blocks, *(-block for block in excess)]))
        limits.extend([0.0] * width)
        total = [
            sparse.csr_matrix(np.full((1, width), float(j == number)))
            for j in range(len(neighbours))
        ]
        rows.append(sparse.hstack([sparse.csr_matrix((1, size)), *total]))
        limits.append(delta)
    sums = sparse.hstack(
        [
            sparse.kron(sparse.identity(len(coins)), np.ones((1, width))),
            sparse.csr_matrix((len(coins), width * len(neighbours))),
        ]
    )
    right = [
        sum(x == y for x, y in zip(s, g, strict=True)) >= correct for s in coins for g in guesses
    ]
    price = np.concatenate(
        [-np.array(right, float) / len(coins), np.zeros(width * len(neighbours))]
    )
    inequalities: Any = sparse.vstack(rows)  # the library takes sparse matrices, its stubs do not
    equalities: Any = sums
    solved = optimize.linprog(
        price, A_ub=inequalities, b_ub=limits, A_eq=equalities, b_eq=np.ones(len(coins))
    )
    assert solved.success
    return -float(solved.fun or 0.0)


def claimed_tail(guesses: Guesses, points: Points) -> float:
    """The smallest tail probability that the recursion contradicts."""
    tails = np.linspace(0.0, 1.0, 4_001)[1:]
    least = lines(list(points))
    return next((float(t) for t in tails if contradicts(guesses, float(t), least)), 1.0)


SMALL = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2)]
LARGE = [(3, 3, 2), (3, 3, 3)]


@pytest.mark.some(6)
@pytest.mark.parametrize(
    ("canaries", "made", "correct", "points"),
    [
        *((*numbers, points) for numbers in SMALL for points in (PURE, APPROXIMATE, CURVE)),
        *((*numbers, points) for numbers in LARGE for points in (PURE, APPROXIMATE)),
    ],
)
def test_no_mechanism_has_a_larger_tail(
    canaries: int, made: int, correct: int, points: Points
) -> None:
    """Against the exact worst case over all mechanisms; with all guesses right it is attained."""
    claimed = claimed_tail(Guesses(canaries, made, correct), points)
    worst = worst_tail(canaries, made, correct, points)

    assert worst <= claimed + 1e-7
    if made == correct:
        assert claimed <= worst + 5e-4


@pytest.mark.parametrize(("made", "mu"), [(30, 0.5), (200, 1.0), (200, 0.1)])
def test_error_probability_for_independent_gaussians(made: int, mu: float) -> None:
    """Exactly: canaries with noise of their own, each guessed by the sign."""
    right = stats.binom(made, stats.norm.cdf(mu / 2))
    refuted = [
        contradicts(Guesses(made, made, v), SIGNIFICANCE, gaussian(mu)) for v in range(made + 1)
    ]
    error = right.pmf(np.arange(made + 1))[refuted].sum()

    assert error <= SIGNIFICANCE
    assert any(refuted)


def test_p_value_agrees_with_refuting() -> None:
    """The claim is refuted exactly where the p-value is at most the significance."""
    for correct in range(100, 141, 10):
        guesses = Guesses(200, 200, correct)
        p_value = ONE_RUN_CURVE_BOUND.p_value(guesses, GDP(mu=0.5))

        assert ONE_RUN_CURVE_BOUND.refutes(guesses, GDP(mu=0.5)) == (p_value <= SIGNIFICANCE)
    assert ONE_RUN_CURVE_BOUND.p_value(Guesses(200, 200, 0), GDP(mu=0.5)) == 1.0
    assert ONE_RUN_CURVE_BOUND.p_value(Guesses(200, 200, 200), GDP(mu=0.5)) < 1e-8


def test_lines_are_below_the_curve_and_close_to_it() -> None:
    """The claim as lines costs less than 1 % of mu."""
    guesses = Guesses(1_000, 200, 176)
    mu = ONE_RUN_CURVE_BOUND.mu(guesses)

    assert 0.5 < mu < 1
    assert ONE_RUN_CURVE_BOUND.refutes(guesses, GDP(mu=0.99 * mu))
    assert not ONE_RUN_CURVE_BOUND.refutes(guesses, GDP(mu=1.001 * mu))


def test_a_curve_shows_more_than_a_point() -> None:
    """Independent Gaussians of mu = 1, ten thousand canaries, 500 guesses as right as expected.

    One half more epsilon at delta = 1e-5 than from the same guesses without the curve.
    """
    cut = stats.norm.ppf(1 - 500 / 2e4, loc=0)  # the threshold of |score| is near this
    right = stats.norm.sf(cut - 0.5) / (stats.norm.sf(cut - 0.5) + stats.norm.sf(cut + 0.5))
    guesses = Guesses(10_000, 500, int(500 * right))
    curve = GDP(mu=ONE_RUN_CURVE_BOUND.mu(guesses)).epsilon(delta=1e-5).lower
    point = BAND.epsilon(counted(guesses), delta=1e-5)

    assert 1.5 * point < curve < GDP(mu=1).epsilon(delta=1e-5).upper


def test_delta_is_paid_for() -> None:
    """Epsilon from the same guesses falls with delta and is below that of randomised response."""
    guesses = Guesses(2_000, 2_000, round(2e3 / (1 + math.exp(-1))))
    bounds = [ONE_RUN_CURVE_BOUND.epsilon(guesses, delta=delta) for delta in (0, 1e-4, 1e-2, 0.4)]

    assert 0.88 < bounds[0] < 1
    assert bounds[0] > bounds[1] > bounds[2] > bounds[3] == 0.0


def test_one_run_curve_nothing_is_shown_by_nothing() -> None:
    """No canaries, no guess, or none right: 0."""
    for guesses in (Guesses(0, 0, 0), Guesses(10, 0, 0), Guesses(10, 10, 0)):
        assert ONE_RUN_CURVE_BOUND.mu(guesses) == 0.0
        assert ONE_RUN_CURVE_BOUND.epsilon(guesses) == 0.0
        assert not ONE_RUN_CURVE_BOUND.refutes(guesses, (0, 0))
