"""The trapezoid sum: brackets hold whatever the contour, the spacing and the cut."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from dpproof.accountant import L2, Poisson
from dpproof.accountant.arithmetic.enclosure import rounded_short
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine import contour
from dpproof.accountant.engine.contour import (
    Aliases,
    Contour,
    alias_step,
    along,
    build,
    expected,
    real_bounds,
)
from dpproof.accountant.engine.saddle_point import (
    Saddle,
    find_saddle,
    saddle_at,
    smoothnesses,
    total_cgf,
)
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair, skellam_pair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.mechanisms import Gaussian
from tests.contracts.definition import ball
from tests.contracts.pair_contract import gaussian_hockey_stick

GAUSSIANS = Product((Factor(GaussianPair(mu_squared=Fraction(1, 4)), 4),))  # mu = 1


def gaussian(epsilon: float) -> float:
    """Log of delta of mu = 1."""
    return float(gaussian_hockey_stick(1.0, epsilon).log())


def at(product: Product, epsilon: float) -> Saddle:
    """The saddle of an epsilon."""
    return find_saddle(product, lambda one: one.epsilon - epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0, 9.0, 30.0])
def test_gaussian(epsilon: float) -> None:
    """The closed form is inside, to ten digits relative even at 1e-180."""
    low, high = build(GAUSSIANS, at(GAUSSIANS, epsilon)).log_profile(np.array([epsilon]))
    assert low[0] <= gaussian(epsilon) <= high[0]
    assert high[0] - low[0] < 1e-10


@pytest.mark.parametrize("c", [1e-3, 0.05, 0.7, 3.0, 12.0, 80.0])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 6.0])
def test_a_bad_abscissa_only_widens(c: float, epsilon: float) -> None:
    """At any c > 0, far from the saddle of the question, the bracket still holds."""
    made = build(GAUSSIANS, saddle_at(GAUSSIANS, c))
    low, high = made.log_profile(np.array([epsilon]))
    assert low[0] <= gaussian(epsilon) <= high[0]


def trapezoid(step: float, nodes: int, c: float = 1.5) -> Contour:
    """A contour of the given spacing and length for mu = 1, written out by hand."""
    s = c + 1j * step * np.arange(nodes)
    cgf = total_cgf(GAUSSIANS, s)
    points = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 5.0])
    reach = step * (nodes - 1)
    return Contour(
        s=s,
        log_kernel=cgf.value - np.log(s) - np.log(s + 1.0),
        radius=cgf.radius + 1e-14,
        step=step,
        log_cut=0.5 * c * (c + 1) - 0.5 * reach**2 - math.log(math.pi * reach),
        known=np.column_stack([points, 0.5 * points * (points + 1) * (1 + 1e-12)]),
        tau=0.0,
    )


@pytest.mark.parametrize("step", [0.05, 0.3, 0.8, 1.5, 3.0])
@pytest.mark.parametrize("reach", [2.0, 4.0, 8.0])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_any_spacing_and_length(step: float, reach: float, epsilon: float) -> None:
    """Coarse spacing and early cuts are paid for in full: alias and cut bounds hold."""
    made = trapezoid(step, max(int(reach / step) + 1, 2))
    low, high = made.log_brackets(np.array([epsilon]))
    assert low[0] <= gaussian(epsilon) <= high[0]


def test_finer_is_inside_coarser() -> None:
    """More nodes on the same line never contradict fewer."""
    epsilon = np.array([0.5, 2.0])
    brackets = [
        trapezoid(step, int(9 / step) + 1).log_brackets(epsilon) for step in (1.2, 0.6, 0.3, 0.1)
    ]
    for low, high in brackets:
        assert (low <= brackets[-1][1]).all()
        assert (brackets[-1][0] <= high).all()
    widths = [float((high - low).max()) for low, high in brackets]
    assert widths[0] > widths[-1]


def test_a_sum_alone_is_above() -> None:
    """Without subtracting aliases the sum exceeds delta by the aliases, and by no more."""
    made = trapezoid(1.5, 9)
    _, high = made.log_brackets(np.array([0.5]))
    excess = math.exp(float(high[0])) - math.exp(gaussian(0.5))
    period = 2 * math.pi / 1.5
    alias = [
        float(gaussian_hockey_stick(1.0, 0.5 + m * period)) * math.exp(1.5 * m * period)
        for m in (-3, -2, -1, 1, 2, 3)
    ]
    assert excess == pytest.approx(sum(alias), rel=1e-3)


def test_unknown_nodes_count_in_full() -> None:
    """A node whose K is only bounded adds its size to both sides."""
    made = trapezoid(0.3, 30)
    radius = made.radius.copy()
    radius[10:] = np.inf
    vague = dataclasses.replace(made, radius=radius)
    low, high = vague.log_brackets(np.array([1.0]))
    assert low[0] <= gaussian(1.0) <= high[0]
    radius[3] = 2.0
    kernel = made.log_kernel.copy()
    kernel[3] += 1.5j  # wrong, but within the radius
    low, high = dataclasses.replace(vague, radius=radius, log_kernel=kernel).log_brackets(
        np.array([1.0])
    )
    assert low[0] <= gaussian(1.0) <= high[0]


def test_nodes_below_a_rounding_are_part_of_the_error() -> None:
    """The sum ends where the others are less than a rounding, and their sizes are its error."""
    made = trapezoid(0.3, 400)
    weights = np.where(np.arange(400) == 0, 1.0, 2.0) * 0.3 / (2 * math.pi)
    sizes = weights * np.exp(made.log_kernel.real - made.log_kernel[0].real)
    terms = made.terms
    assert 10 < terms.known.size < 60
    rest = float(sizes[terms.known.size :].sum())
    assert 0.0 < rest <= 2.0**-53 * terms.size
    assert terms.base - trapezoid(0.3, terms.known.size).terms.base >= 0.9 * rest
    low, high = made.log_brackets(np.array([1.0]))
    assert low[0] <= gaussian(1.0) <= high[0]


def test_an_epsilon_beyond_all_digits() -> None:
    """The phases are lost, the sizes of the terms are not."""
    made = trapezoid(0.3, 30)
    low, high = made.log_brackets(np.array([1e16]))
    chernoff = float(made.log_kernel[0].real) - 1.5e16
    assert low[0] == -math.inf
    assert abs(high[0] - chernoff) < 100
    assert made.terms.error(1e16) > made.terms.size > made.terms.error(1e3)


@pytest.mark.parametrize("tau", [0.003, 0.05, 0.4])
def test_tent(tau: float) -> None:
    """With an extra mechanism, exact: mu = 1 and tau are one Gaussian, and _untilt undoes tau."""
    c, epsilon = 1.5, np.array([0.2, 1.0, 2.5])
    base = trapezoid(0.1, 120, c)
    with_tau = dataclasses.replace(
        base,
        log_kernel=base.log_kernel + 0.5 * tau**2 * base.s * (base.s + 1),
        log_cut=base.log_cut + 0.5 * tau**2 * c * (c + 1),
        known=base.known + np.outer(base.known[:, 0] * (base.known[:, 0] + 1), [0, 0.5 * tau**2]),
        tau=tau,
    )
    low, high = with_tau.log_profile(epsilon)
    joint = [float(gaussian_hockey_stick(math.sqrt(1 + tau**2), x).log()) for x in epsilon]
    true = [gaussian(x) for x in epsilon]
    assert (low <= true).all()
    assert (np.array(true) <= high).all()
    assert (np.abs(high - joint) < 1e-6).all()
    if tau < 0.1:  # beyond, the tent is too wide for convexity to say much
        assert (np.array(true) - low < 30 * tau**2 + 1e-6).all()


@pytest.mark.parametrize("c", [0.3, 2.0, 20.0])
def test_tent_with_kinks(c: float) -> None:
    """Laplace has atoms at both ends of its losses: with and without smoothing it is inside."""
    product = Product.of(LaplacePair(epsilon=Fraction(1)))
    made = build(product, saddle_at(product, c))
    for epsilon in (0.0, 0.5, 0.9, 0.99, 0.9999):
        low, high = made.log_profile(np.array([epsilon]))
        true = float((-((ball(epsilon) - 1) / 2).expm1()).log())
        assert low[0] <= true <= high[0]


def test_atoms_take_no_tau_where_their_mass_is_small() -> None:
    """The cut of 100 Laplace falls to the mass of their atoms: delta within 1e-8 without tau."""
    product = Product((Factor(LaplacePair(epsilon=Fraction(1, 2)), 100),))
    made = build(product, at(product, 30.4837))
    low, high = made.log_profile(np.array([30.4837]))
    assert made.tau == 0.0
    assert high[0] - low[0] < 1e-8


def test_a_tau_costs_as_much_as_the_cut() -> None:
    """For loss atoms without decay the smoothing is no larger than the cut behind it asks for."""
    product = Product((Factor(skellam_pair(variance=Fraction(9), shift=2), 100),))
    made = build(product, at(product, 52.646))
    low, high = made.log_profile(np.array([52.646]))
    assert made.tau > 0.0
    assert high[0] - low[0] < 3e-5


def test_atoms_without_lattice() -> None:
    """Two incommensurable randomised responses: the contour, forced, holds the finite sum."""
    one, two = Fraction(1), Fraction(7, 5)
    product = Product.of(RandomizedResponsePair(epsilon=one), RandomizedResponsePair(epsilon=two))
    a, b = math.exp(1.0), math.exp(1.4)
    norm = (1 + a) * (1 + b)
    masses = [(a * b, 1), (a, b), (b, a), (1, a * b)]
    for epsilon in (0.0, 0.3, 1.0, 2.3):
        true = sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in masses) / norm
        low, high = build(product, at(product, epsilon)).log_profile(np.array([epsilon]))
        assert low[0] <= math.log(true) + 1e-12
        assert math.log(true) - 1e-12 <= high[0]


def test_hats_are_above_their_integrals() -> None:
    """E[T] + E[T_u] + E[T_v] is the mass within six standard deviations, to 1e-12."""
    for tau in (1e-6, 0.01, 0.3, 2.0):
        hat, left, right = contour.hats(tau)
        inside = 1 - 0.5 * (
            math.erfc((6 - tau / 2) / math.sqrt(2)) + math.erfc((6 + tau / 2) / math.sqrt(2))
        )
        assert inside <= hat + left + right <= inside * (1 + 1e-12)
        assert left > 0
        assert right > 0


def test_huge_smoothing_gives_no_lower_bound() -> None:
    """Beyond a tau whose e^{6 tau} is no float the lower end is 0, not an overflow."""
    made = dataclasses.replace(trapezoid(0.3, 30), tau=1000.0)
    low = made._untilt(np.array([1.0]), *(np.array([-1.0]),) * 3)
    assert low[0] == -math.inf


def test_a_tent_too_wide_says_nothing() -> None:
    """Where the extra mechanism's noise exceeds the tent, no lower end follows."""
    wide = dataclasses.replace(trapezoid(0.1, 120), tau=25.0)
    assert wide.log_profile(np.array([1.0]))[0][0] == -math.inf


def test_far_tails_of_billions_of_rare_samples() -> None:
    """Where a line is too long Chernoff's bound is left: at epsilon 50 it is below all floats."""
    step = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=1e-10))
    assert step.repeat(10**9).guarantee().delta(epsilon=50).upper <= 1e-300


PAIRS: list[Pair] = [
    GaussianPair(mu_squared=Fraction(1, 7)),
    LaplacePair(epsilon=Fraction(1, 3)),
    SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 50), removal=True),
    SubsampledGaussianPair(mu_squared=Fraction(4), sampling_rate=Fraction(1, 3), removal=False),
    FinitePair(p=(Fraction(1, 4), Fraction(3, 4)), q=(Fraction(2, 3), Fraction(1, 3))),
]


@pytest.mark.parametrize("nodes", [5, 40, 2000])
def test_points_and_line_together_are_each_by_itself(nodes: int) -> None:
    """Whatever the pairs share, enclosures on the line and beside it overlap those alone."""
    for product in [*(Product((Factor(one, 3),)) for one in PAIRS), Product.of(*PAIRS)]:
        saddle = saddle_at(product, 1.5)
        s = rounded_short(saddle.c) + 0.125j * np.arange(nodes)
        line, known = along(product, saddle, s)
        alone, beside = total_cgf(product, s), real_bounds(product, saddle)

        assert line.value.shape == s.shape
        assert (np.abs(line.value - alone.value) <= line.radius + alone.radius).all()
        assert (known.points == beside.points).all()
        assert np.allclose(known.upper, beside.upper, rtol=1e-9, atol=1e-12)
        assert known.at(rounded_short(saddle.c)) >= alone.value[0].real - alone.radius[0]
        assert len(known.moments) == len(product.factors)


@pytest.mark.parametrize("pairs", [PAIRS[:1], PAIRS[2:3], PAIRS])
def test_expectations_come_true(pairs: list[Pair]) -> None:
    """K is where a saddle expects it, and each pair's within what is left open for it."""
    product = Product.of(*pairs)
    saddle = find_saddle(product, lambda one: one.epsilon - 1.0)
    guess, known = expected(product, saddle), real_bounds(product, saddle)
    assert (guess.points == known.points).all()
    assert np.allclose(guess.upper, known.upper, rtol=1e-4, atol=1e-9)
    for around, true in zip(guess.moments, known.moments, strict=True):
        assert true.lower in around
        assert true.upper in around
    assert guess.moments_hold(known)
    assert not known.moments_hold(guess)


def test_smoothness_is_asked_again_where_a_guess_was_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of guessed moments is used only if the true ones lie within them."""
    product = Product.of(*PAIRS[:3])
    saddle = find_saddle(product, lambda one: one.epsilon - 1.0)
    asked = mock.Mock(wraps=smoothnesses)
    monkeypatch.setattr("dpproof.accountant.engine.contour.smoothnesses", asked)
    contour.build(product, saddle)
    assert asked.call_count == 1

    right = contour.expected(product, saddle)
    moments = (*right.moments[:2], Bound(-1.0, right.moments[2].lower))  # far too smooth
    wrong = dataclasses.replace(right, moments=moments)
    monkeypatch.setattr(contour, "expected", lambda *_: wrong)
    contour.build(product, saddle)
    assert asked.call_count == 3
    truth = asked.call_args_list[2].args[2]
    assert truth[2].upper > moments[2].upper
    assert truth[2].width < right.moments[2].width


def test_alias_bound() -> None:
    """It exceeds the sum of the aliases themselves."""
    c, period, epsilon = 1.5, 5.0, 0.7
    points = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0])
    aliases = np.column_stack([points, 0.5 * points * (points + 1)])
    bound = float(Aliases.of(aliases, c, period).log_excess(np.array([epsilon]))[0])
    true = sum(
        float(gaussian_hockey_stick(1.0, epsilon + m * period)) * math.exp(c * m * period)
        for m in range(-8, 9)
        if m
    )
    assert true <= math.exp(bound) <= 100 * true


def test_aliases_of_a_side_without_points_are_unbounded() -> None:
    """Nothing is known of them, so nothing is claimed."""
    for points in ([[0.0, 0.0]], [[3.0, 6.0]], np.empty((0, 2))):
        bound = Aliases.of(np.array(points), 1.5, 5.0).log_excess(np.array([0.7]))
        assert bound[0] == math.inf


def test_a_vanishing_step_is_refused() -> None:
    """Next to the largest loss no period is long enough; so where K is known no further."""
    product = Product.of(PAIRS[0])
    one = saddle_at(product, 1.5)
    for saddle in (replace(one, log_delta=-1e200), replace(one, points=(), values=())):
        with pytest.raises(
            NotCertified, match=r"near the largest privacy loss.*ask at a larger delta"
        ):
            alias_step(saddle, real_bounds(product, saddle))


def test_alias_points_stand_where_k_turns() -> None:
    """Where K explodes within a few per cent, the ridge is refined: the sum stays short."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 1000), removal=True
    )
    product = Product((Factor(pair, 10**4),))
    for target in (1e-6, 1e-30, 1e-100):
        found = find_saddle(product, lambda one, x=target: math.log(x) - one.log_delta)  # type: ignore[misc]
        assert alias_step(found, real_bounds(product, found)) > 0.01
