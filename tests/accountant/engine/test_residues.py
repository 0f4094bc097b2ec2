"""Finite sums of exponentials, against the closed profiles and enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.engine.residues import _kernels, exponential_sum
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, LogisticPair, RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from tests.contracts.definition import ball, complex_ball


@pytest.mark.parametrize(
    "pair",
    [
        LaplacePair(epsilon=Fraction(1)),
        LogisticPair(epsilon=Fraction(3)),
        RandomizedResponsePair(epsilon=Fraction(2), categories=5),
        LaplacePair(epsilon=Fraction(30)),
    ],
)
def test_moments_and_profile(pair: Pair) -> None:
    """The terms add up to M on the real axis, and the sum brackets the closed profile."""
    one = pair.exponentials()
    assert one is not None
    for s in (0.1, 1.0, 4.0):
        z = s + 0.5
        powers = z ** -np.arange(one.weights.shape[1])
        total = float(np.exp(z * one.exponents) @ one.weights @ powers)
        assert np.log(total) == pytest.approx(pair.cgf(np.array([s + 0j])).value[0].real, rel=1e-11)
    exact = exponential_sum(Product.of(pair))
    assert exact is not None
    epsilon = pair.max_loss * np.array([0.0, 0.3, 0.9, 0.999])
    low, high = exact.log_profile(epsilon)
    closed = pair.profile(epsilon)
    assert closed is not None
    assert (np.exp(low) <= closed[1] * (1 + 1e-13)).all()
    assert (closed[0] * (1 - 1e-13) <= np.exp(high)).all()


def test_three_logistic_pairs() -> None:
    """Against the inversion integral in ball arithmetic."""
    e, x = flint.arb(1), flint.arb(3) / 2

    def integrand(y: flint.acb, _: bool) -> flint.acb:  # noqa: FBT001 -- Arb's signature
        s = 3 + y * complex_ball(1j)
        half = (s + complex_ball(0.5)) * e
        moment = (half.sinh() / ((2 * s + 1) * (e / 2).sinh())) ** 3
        value: flint.acb = moment * (-s * x).exp() / (s * (s + 1))
        return value

    with flint.ctx.workdps(30):
        true = flint.arb(0)
        for k in range(-40, 40):
            true += flint.acb.integral(integrand, 10 * k, 10 * k + 10).real / (2 * flint.arb.pi())
    exact = exponential_sum(Product((Factor(LogisticPair(epsilon=Fraction(1)), 3),)))
    assert exact is not None
    low, high = exact.log_profile(np.array([1.5]))
    cut = ball(1e-8)  # |M e^{-sx}| / 400^2 and less, oscillating
    assert ball(float(low[0])).exp().lower() <= (true + cut).upper()
    assert (true - cut).lower() <= ball(float(high[0])).exp().upper()
    assert high[0] - low[0] < 1e-10


def test_declines_what_it_cannot_do() -> None:
    """Other pairs, many of them, losses beyond floats and too many terms: None, never wrong."""
    laplace, logistic = LaplacePair(epsilon=Fraction(1)), LogisticPair(epsilon=Fraction(1))
    assert exponential_sum(Product.of(laplace, GaussianPair(mu_squared=Fraction(1)))) is None
    assert exponential_sum(Product((Factor(laplace, 1000),))) is None
    assert exponential_sum(Product.of(LaplacePair(epsilon=Fraction(2000)))) is None
    many = (Factor(laplace, 60), Factor(logistic, 60), Factor(LaplacePair(epsilon=Fraction(2)), 60))
    assert exponential_sum(Product(many)) is None


def test_merging_is_accounted_for() -> None:
    """Exponents 1e-13 apart may be merged, but then the bracket says so."""
    near = Fraction(3, 8) * (1 + Fraction(1, 10**13))
    pair = FinitePair(
        p=(Fraction(3, 8), near, Fraction(5, 8) - near),
        q=(Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
    )
    exact = exponential_sum(Product.of(pair))
    assert exact is not None
    low, high = exact.log_profile(np.array([0.1]))
    closed = pair.profile(np.array([0.1]))
    assert np.exp(low[0]) <= closed[1][0]
    assert closed[0][0] <= np.exp(high[0])


MP = mpmath.mp.clone()
MP.dps = 450
SIZES = st.one_of(
    st.integers(0, 300).map(lambda k: Fraction(1, 2**k)), st.fractions(Fraction(1, 8), 4)
)
LAWS = st.lists(st.integers(1, 9), min_size=2, max_size=3)
PAIRS = st.one_of(
    SIZES.map(lambda size: LaplacePair(epsilon=size)),
    SIZES.map(lambda size: LogisticPair(epsilon=size)),
    LAWS.map(
        lambda law: FinitePair(
            p=tuple(Fraction(one, sum(law)) for one in law),
            q=tuple(Fraction(one, sum(law)) for one in law[::-1]),
        )
    ),
)


def terms_of(pair: Pair) -> list[tuple[Any, tuple[Any, Any]]]:
    """Exponents of one pair, each with its weights of 1 and of 1/z, from the formulas of M."""
    if isinstance(pair, FinitePair):
        both = [
            (MP.mpf(p.numerator) / p.denominator, MP.mpf(q.numerator) / q.denominator)
            for p, q in zip(pair.p, pair.q, strict=True)
        ]
        return [(MP.log(p / q), (MP.sqrt(p * q), 0)) for p, q in both]
    assert isinstance(pair, LaplacePair | LogisticPair)
    a = MP.mpf(pair.epsilon.numerator) / pair.epsilon.denominator
    if isinstance(pair, LogisticPair):
        weight = 1 / (4 * MP.sinh(a / 2))
        return [(a, (0, weight)), (-a, (0, -weight))]
    scale = MP.exp(-a / 2) / 2
    return [(a, (scale, scale / 2)), (-a, (scale, -scale / 2))]


def true_delta(pairs: list[Pair], epsilon: Fraction) -> Any:  # noqa: ANN401 -- mpmath's numbers
    """Invert every term of the product at 450 digits, none merged with another."""
    at = MP.mpf(epsilon.numerator) / epsilon.denominator
    terms: list[tuple[Any, tuple[Any, ...]]] = [(MP.mpf(0), (MP.mpf(1),))]
    for pair in pairs:
        terms = [
            (a + b, tuple(f * y + g * x for f, g in zip((*w, 0), (0, *w), strict=True)))
            for a, w in terms
            for b, (y, x) in terms_of(pair)
        ]
    total = MP.mpf(0)
    for a, weights in terms:
        u = a - at
        for j, weight in enumerate(weights if u > 0 else ()):
            total += weight * sum(
                u ** (2 * i + 1 + j) / (MP.mpf(4) ** i * MP.factorial(2 * i + 1 + j))
                for i in range(90)
            )
    return MP.exp(at / 2) * total


@settings(max_examples=60)
@given(pairs=st.lists(PAIRS, min_size=1, max_size=3), epsilon=st.fractions(0, 3, max_denominator=8))
def test_brackets_hold_the_truth_whatever_cancels(pairs: list[Pair], epsilon: Fraction) -> None:
    """Weights of exponents next to one another cancel, down to 0, and the bracket says so."""
    exact = exponential_sum(Product.of(*pairs))
    assert exact is not None
    low, high = exact.log_profile(np.array([float(epsilon)]))
    truth = true_delta(pairs, epsilon)
    slack = MP.mpf(10) ** -80
    assert MP.exp(float(low[0])) <= truth + slack
    assert truth <= MP.exp(float(high[0])) + slack


@pytest.mark.parametrize("degrees", [1, 2, 3, 40, 151])
def test_kernels_of_every_degree(degrees: int) -> None:
    """The recursion from the last two series is each series; slopes are of a degree less."""
    u = np.array([0.0, 1e-9, 0.3, 5.0, 60.0])
    values, slopes = _kernels(u, degrees)
    for place, x in enumerate(u.tolist()):
        for j in {0, degrees // 2, degrees - 1}:
            terms = (
                ball(x) ** (2 * i + 1 + j) / (4**i * flint.arb.fac_ui(2 * i + 1 + j))
                for i in range(200)
            )
            exact = float(sum(terms, flint.arb(0)).mid())
            assert values[place, j] == pytest.approx(exact, rel=1e-13, abs=1e-300)
    assert (slopes[:, 1:] == values[:, :-1]).all()
    assert slopes[:, 0] == pytest.approx(np.cosh(0.5 * u))
