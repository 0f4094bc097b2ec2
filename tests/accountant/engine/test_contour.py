"""The trapezoid sum: brackets hold whatever the contour, the spacing and the cut."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant import L2, Poisson
from dpproof.accountant.engine import contour
from dpproof.accountant.engine.contour import Contour, build
from dpproof.accountant.engine.saddle_point import Saddle, find_saddle, saddle_at, total_cgf
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair
from dpproof.accountant.pairs.skellam import skellam_pair
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
