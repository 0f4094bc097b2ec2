"""Trapezoid rules: what they leave out is bounded, and they are no longer than needed."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian_mixtures import (
    GaussianMixtures,
    TrapezoidRules,
    choose_rule,
    log_size,
)
from tests.accountant.pairs.builders import mixture_terms

CASES = [
    (Fraction(1), Fraction(1, 100)),
    (Fraction(25, 16), Fraction(1, 10**4)),
    (Fraction(1, 9), Fraction(1, 5)),
    (Fraction(4), Fraction(9, 10)),
]
ALPHAS = [[2.0], [5.0 + 3j], [1.5, 4.0 + 40j], [12.0]]


def sums(
    rule: TrapezoidRules, mixture: GaussianMixtures, alpha: flint.acb
) -> tuple[flint.acb, flint.acb]:
    """The rule's sums of both."""
    step = flint.arb(float(rule.z[0, 1] - rule.z[0, 0]))
    nodes = [flint.acb(float(real), float(rule.shift[0])) for real in rule.z[0]]
    pairs = [mixture_terms(mixture, z, alpha) for z in nodes]
    second, plain = (step * sum(parts, flint.acb(0)) for parts in zip(*pairs, strict=True))
    return second, plain


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("mu_squared", "rate"), CASES)
@pytest.mark.parametrize("removal", [True, False])
def test_what_is_left_out(
    *, mu_squared: Fraction, rate: Fraction, removal: bool, alpha: list[complex]
) -> None:
    """Both sums are as near to the expectations as a rule says, which is near enough."""
    mixture = GaussianMixtures.of([mu_squared], [rate], removal=removal)
    alphas = np.array(alpha) * (1 if removal else -1)
    alphas = np.where(alphas.imag < 0, alphas.conj(), alphas)
    rule = choose_rule(mixture, alphas)
    for one in alphas.tolist():
        last = 16 + float(mixture.mu[0]) * max(one.real, 1.0)
        with flint.ctx.workprec(192):
            a, accuracy = flint.acb(complex(one)), flint.arb(2) ** -130

            def excess(z: flint.acb, analytic: bool, a: flint.acb = a) -> flint.acb:  # noqa: FBT001  # flint calls it so
                return mixture_terms(mixture, z, a, analytic=analytic)[0]

            true = flint.acb.integral(excess, -14, last, rel_tol=accuracy, abs_tol=accuracy)
            second, plain = sums(rule, mixture, a)
            room = [math.exp(one) + 1e-28 for one in (rule.log_truncation[0], rule.log_plain[0])]
            assert abs(second - true) <= room[0]
            assert abs(plain - 1 - true) <= room[1]
    size = log_size(math.sqrt(mu_squared), math.log(rate), float(alphas.real.min()))
    assert rule.log_truncation[0] <= 2.0 * math.log(rate) - 33.0 + size


def test_nodes_are_spaced_exactly() -> None:
    """Step and shift are so short that every node is a float, and the ends hold what matters."""
    mixture = GaussianMixtures.of([Fraction(1, 3)], [Fraction(1, 7)], removal=True)
    rule = choose_rule(mixture, np.array([3.0 + 1j, 3.0 + 50j]))
    step = Fraction(rule.z[0, 1]) - Fraction(rule.z[0, 0])
    first = Fraction(rule.z[0, 0])
    assert all(Fraction(z) == first + k * step for k, z in enumerate(rule.z[0]))
    assert rule.shift[0] > 0.0
    assert rule.z.size < 300


def test_orders_far_out_need_no_nodes_far_out() -> None:
    """Where a rate is so small that the power does not matter, the range is that of z."""
    mixture = GaussianMixtures.of([Fraction(1, 4)], [Fraction(1, 10**5)], removal=True)
    rule = choose_rule(mixture, np.array([34.0 + 0j]))
    assert rule.z[0, -1] < 45.0


def test_longer_floats_have_finer_weights() -> None:
    """The same nodes; weights agree to double precision, and are no less precise."""
    mixture = GaussianMixtures.of([Fraction(1)], [Fraction(1, 100)], removal=True)
    for alpha in (np.array([3.0 + 0j]), np.array([3.0 + 60j])):
        rule = choose_rule(mixture, alpha)
        longer = rule.to(np.dtype(np.longdouble))
        assert longer.z is rule.z
        assert longer.log_weights.real.dtype == np.longdouble
        assert np.abs(longer.log_weights - rule.log_weights).max() < 1e-13


@pytest.mark.parametrize(
    ("mu", "rate", "alpha"),
    [(5.6e-5, 0.0634, 58102.0), (1e-3, 0.1, 4e4), (1e-4, 0.5, 1e5), (1e-2, 0.3, 3001.0)],
)
def test_high_orders_of_losses_next_to_0(mu: float, rate: float, alpha: float) -> None:
    """Where (1+q)^alpha is huge and M is not, little of M is left out, and the ends are near."""
    mixture = GaussianMixtures.of([Fraction(mu) ** 2], [Fraction(rate)], removal=True)
    rule = choose_rule(mixture, np.array([alpha + 0j]))
    assert max(rule.log_truncation[0], rule.log_plain[0]) <= 2.0 * math.log(rate) - 33.0
    assert rule.z[0, -1] < 100.0


def test_too_many_nodes_are_refused() -> None:
    """With hardly any noise, and the noise multiplier is named."""
    mixture = GaussianMixtures.of([Fraction(10**10)], [Fraction(1, 100)], removal=True)
    with pytest.raises(NotCertified, match="noise multiplier 1e-05"):
        choose_rule(mixture, np.array([3.0 + 0j]))


@pytest.mark.parametrize("order", [1e8, 1e12, 1e228])
def test_peaks_beyond_floats_are_refused(order: float) -> None:
    """Where order times mu is so large that the right end is lost in its rounding."""
    mixture = GaussianMixtures.of([Fraction(10**16)], [Fraction(1, 10)], removal=True)
    with pytest.raises(NotCertified, match="smaller order"):
        choose_rule(mixture, np.array([order + 0j]))
