"""Very many steps at tiny rates: moments by mpmath, answers by a series, and what is set aside."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpproof as dp
from dpproof import accountant
from dpproof.accountant import answers
from dpproof.accountant.engine import profile
from dpproof.accountant.pairs import cut_gaussian
from dpproof.accountant.pairs.cut_gaussian import CutGaussianPair, cut
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair


def training(sigma: float, rate: float, steps: int) -> dp.Guarantee[dp.AddRemove]:
    """Return the guarantee of so many steps of DP-SGD at a rate."""
    one = dp.Gaussian(sigma=sigma, sensitivity=dp.L2(1))
    return one.subsample(dp.Poisson(sampling_rate=rate)).repeat(steps).guarantee()


def whole(sigma: float, rate: float, *, removal: bool = True) -> SubsampledGaussianPair:
    """Return one step in one direction."""
    squared = 1 / Fraction(sigma) ** 2
    return SubsampledGaussianPair(mu_squared=squared, sampling_rate=Fraction(rate), removal=removal)


@pytest.mark.slow
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize(
    ("sigma", "rate", "end", "s", "digits"),
    [
        (1.0, 1e-10, 10, 5e5, 1e-9),
        (1.0, 1e-10, 10, 2e5 + 3e6j, 1e-9),
        (2.0, 1e-7, 10, 3e3 - 1e4j, 1e-9),
        (0.5, 1e-13, 10, 3e4 + 1j, 1e-9),
        (2.5, 8.5e-4, 28, 90.0, 1e-7),
        (1.75, 7e-4, 14, 80 + 60j, 1e-6),
    ],
)
def test_moments_are_the_integrals(
    sigma: float, rate: float, end: float, s: complex, digits: float, *, removal: bool
) -> None:
    """K of the cut pair encloses the integral by mpmath, to many digits of M - 1."""
    pair = whole(sigma, rate, removal=removal)
    with mpmath.workdps(50):
        mu, q = 1 / mpmath.mpf(sigma), mpmath.mpf(rate)
        alpha = (mpmath.mpc(s) + 1) if removal else -mpmath.mpc(s)

        def term(z: mpmath.mpf) -> mpmath.mpc:
            u = q * mpmath.expm1(mu * z - mu * mu / 2)
            power = mpmath.exp(alpha * mpmath.log1p(u))
            return power * mpmath.npdf(z)

        top = int(end) if removal else 20
        moment = mpmath.quad(term, [*range(-20, top + 1, 1)])
        truth = mpmath.log(moment)
    found = CutGaussianPair(whole=pair, end=end, outside=0.0).cgf(np.array([s]))

    off = abs(complex(truth - mpmath.mpc(complex(found.value[0]))))
    assert off <= found.radius[0]
    assert found.radius[0] <= digits * abs(complex(truth)) + 1e-21


def test_rounded_weights_are_within_the_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights wrong by what is allowed for move K by less than its radius, at small orders too."""
    one = CutGaussianPair(whole=whole(1.0, 1e-8), end=15.0, outside=0.0)
    s = np.array([-0.999, -0.99, -0.9, -0.5, 1.0])
    cgfs = [one.cgf(s[at : at + 1]) for at in range(s.size)]
    nodes, weights = cut_gaussian._RULE
    monkeypatch.setattr(cut_gaussian, "_RULE", (nodes, weights * (1 + 0.95e-13)))
    cut_gaussian.gauss_panels.cache_clear()
    moved = [one.cgf(s[at : at + 1]).value[0] for at in range(s.size)]
    cut_gaussian.gauss_panels.cache_clear()
    for cgf, value in zip(cgfs, moved, strict=True):
        assert 0.0 < abs(value - cgf.value[0]) < cgf.radius[0]


def by_series(rate: float, steps: int, epsilon: float) -> float:
    """Return delta of removals at noise 1 from the first five moments, on a line of its own."""
    moments = [
        sum(math.comb(j, i) * (-1) ** (j - i) * math.exp(i * (i - 1) / 2) for i in range(j + 1))
        for j in range(6)
    ]
    spread = rate * math.sqrt(steps * moments[2])
    s = 1 / spread + 1j * np.linspace(0.0, 40.0 / spread, 40_001)
    power, inner = s + 1.0, np.zeros(s.shape, dtype=complex)
    for j in range(2, 6):
        factor = np.ones(s.shape, dtype=complex)
        for i in range(j):
            factor = factor * (power - i) / (i + 1)
        inner += factor * rate**j * moments[j]
    values = (np.exp(steps * np.log1p(inner) - s * epsilon) / (s * (s + 1.0))).real
    step = 40.0 / spread / 40_000
    return float((values.sum() - 0.5 * values[0]) * step / math.pi)


@pytest.mark.parametrize(("rate", "steps"), [(1e-10, 10**9), (1e-9, 10**9), (1e-12, 10**12)])
def test_very_many_steps_are_narrow(rate: float, steps: int) -> None:
    """Epsilon and delta of the public call are narrow and agree with the series."""
    one = training(1, rate, steps)
    spread = rate * math.sqrt(steps * (math.e - 1))
    for delta in (0.3 * spread, 1e-3 * spread):
        epsilon = one.epsilon(delta=delta)
        assert epsilon.relative_width < 1e-6
        assert by_series(rate, steps, epsilon.upper) == pytest.approx(delta, rel=1e-5)
    for at in (0.0, 0.7 * spread):
        found = one.delta(epsilon=at)
        assert found.relative_width < 1e-6
        assert by_series(rate, steps, at) == pytest.approx(found.upper, rel=1e-5)


@pytest.mark.slow
def test_other_questions_are_narrow() -> None:
    """The true-positive rate and mu of such a training are narrow, and mu is that of its losses."""
    one = training(1, 1e-9, 10**9)
    spread = 1e-9 * math.sqrt(1e9 * (math.e - 1))

    assert one.true_positive_rate(false_positive_rate=0.01).relative_width < 1e-9
    mu = one.gdp(smallest_delta=1e-7)
    assert mu.relative_width < 1e-5
    assert mu.upper == pytest.approx(spread, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("end", [7.0, 8.0])
def test_what_is_set_aside_is_between_the_ends(end: float, *, removal: bool) -> None:
    """A cut that matters leaves the whole product's delta between both ends."""
    pair, count = whole(2.0, 1e-5, removal=removal), 10**6
    beyond = math.erfc(end / math.sqrt(2)) / 2 + 1e-5 * math.erfc((end - 0.5) / math.sqrt(2)) / 2
    one = CutGaussianPair(whole=pair, end=end, outside=beyond * (1 + 1e-12))
    for epsilon in (0.0, 1e-4, 1e-3):
        truth = profile.delta(Product.of(pair).times(count), epsilon)
        upper = profile.delta(Product.of(one).times(count), epsilon).upper
        lower = profile.delta(Product.of(replace(one, counted=False)).times(count), epsilon).lower
        assert lower <= truth.upper
        assert truth.lower <= upper
        assert upper - lower <= 30 * count * beyond + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "epsilon"),
    [(2.5, 8.48e-4, 29388, 3.83), (1.73, 7.03e-4, 24444, 0.93)],
)
def test_one_large_loss(sigma: float, rate: float, steps: int, epsilon: float) -> None:
    """Delta is narrow where one step's large loss, and not many small ones, decides it."""
    found = training(sigma, rate, steps).delta(epsilon=epsilon)
    assert found.relative_width < 0.05
    assert found.lower / 10 < by_one_loss(sigma, rate, steps, epsilon) < 1.1 * found.upper


def by_one_loss(sigma: float, rate: float, steps: int, epsilon: float) -> float:
    """Return what one step of any loss and normal losses of the others come to, by mpmath."""
    mu = 1 / sigma
    spread = rate * math.sqrt(steps * math.expm1(mu * mu))

    def term(z: mpmath.mpf) -> mpmath.mpf:
        u = rate * mpmath.expm1(mu * z - mu * mu / 2)
        left = epsilon - mpmath.log1p(u)
        y = left / spread
        rest = mpmath.ncdf(-y + spread / 2) - mpmath.exp(left) * mpmath.ncdf(-y - spread / 2)
        return (1 + u) * mpmath.npdf(z) * rest

    with mpmath.workdps(30):
        return float(steps * mpmath.quad(term, [*range(-9, 40)]))


def test_epsilon_is_narrow_where_few_large_losses_decide() -> None:
    """Epsilon at a tiny delta is narrow for rare samples, of one kind and of a schedule."""
    alone = training(1.52, 4.93e-4, 5299)
    assert alone.epsilon(delta=1.8e-12).relative_width < 1e-4
    stages = [training(1.82 + k / 1000, 2.85e-4 + k / 10**6, 186) for k in range(40)]
    schedule = accountant.compose(*stages)
    assert schedule.epsilon(delta=1e-12).relative_width < 1e-4
    assert schedule.gdp(smallest_delta=1e-11).relative_width < 1e-4


@pytest.mark.parametrize("second", [(1.3, 1e-3), (1.1, 2e-3)])
@pytest.mark.parametrize("steps", [2, 3])
def test_ends_agree_with_tables(steps: int, second: tuple[float, float]) -> None:
    """Few steps, alike or not, with any ends, are answered by tables of each as well."""
    product = Product.of(*[whole(1.3, 1e-3)] * (steps - 1), whole(*second))
    for epsilon in (0.5, 1.5):
        truth = answers.delta(product, epsilon)
        for by in (None, truth.lower, 1e-6 * truth.lower):
            rare = cut(product, by, epsilon, rare=True)
            finite, more = profile.delta(rare.below(), epsilon), profile.infinite_mass(rare).upper
            assert finite.lower <= truth.upper
            assert truth.lower <= finite.upper + more


def test_larger_losses_are_not_cut() -> None:
    """Where one step may lose more than all of them typically do, nothing is set aside."""
    for sigma, rate, count, delta in ((1.0, 1e-2, 1000, 1e-6), (1.0, 1e-10, 10**9, 1e-80)):
        product = Product.of(whole(sigma, rate)).times(count)
        assert cut(product, delta) is product


@pytest.mark.parametrize("epsilon", [600.0, 1e5, 1e90])
@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.0, 1e-3, 100), (50.0, 1e-9, 10**9)])
def test_epsilons_beyond_floats_warn_of_nothing(
    sigma: float, rate: float, steps: int, epsilon: float
) -> None:
    """Delta far beyond what any loss is likely to be is next to 0, without an overflow."""
    with np.errstate(all="raise", under="ignore"):
        cut(Product.of(whole(sigma, rate)).times(steps), None, epsilon, rare=True)
    assert training(sigma, rate, steps).delta(epsilon=epsilon).upper < 1e-200
