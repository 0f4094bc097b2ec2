"""The Poisson-subsampled Gaussian pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import EXTENDED
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs import subsampled_gaussian
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.pair import Pair, log_decay
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import (
    SubsampledGaussianPair,
    SubsampledGaussians,
    _merged,
    bundled,
)
from tests.accountant.pairs.builders import both
from tests.contracts.definition import ball
from tests.contracts.pair_contract import Case, PairContract


class TestSubsampledGaussian(PairContract):
    """The mixture's own integral, in both directions."""

    tilts = (1e-6, 0.03, 0.7, 8.0)
    heights = (0.0, 1e-5, 3.0, 40.0)
    frequencies = (0.01, 1.5, 20.0)
    bracket_width = 1e-8
    profile_width = 1e-8

    def cases(self) -> Sequence[Case]:
        """A rate near 0."""
        return both(Fraction(1), Fraction(1, 100))


@pytest.mark.slow
class TestExtremeSubsampledGaussian(TestSubsampledGaussian):
    """The same where the integrals take long."""

    def cases(self) -> Sequence[Case]:
        """Little noise at a tiny rate, much noise at a large one; a rate next to 1."""
        return (
            both(Fraction(1), Fraction(99, 100))
            + both(Fraction(4), Fraction(1, 10**4))
            + both(Fraction(1, 9), Fraction(1, 5))
            + both(Fraction(25), 1 - Fraction(1, 10**9))
        )


@pytest.mark.parametrize("exponent", [1, 3, 9, 14, 16, 20, 40, 80])
@pytest.mark.parametrize("mu_squared", [Fraction(1, 4), Fraction(1), Fraction(9), Fraction(16)])
def test_whole_powers_in_closed_form(mu_squared: Fraction, exponent: int) -> None:
    """M(1) and M(2) of removal are polynomials in q, also at rates next to nothing."""
    q, m = flint.arb(10) ** -exponent, ball(mu_squared)
    second = q**2 * m.expm1()
    third = 3 * second + q**3 * ((3 * m).exp() - 3 * m.exp() + 2)
    pair = SubsampledGaussianPair(
        mu_squared=mu_squared, sampling_rate=Fraction(1, 10**exponent), removal=True
    )
    found = pair.cgf(np.array([1.0, 2.0]) + 0j)
    for value, radius, moment in zip(found.value, found.radius, (second, third), strict=True):
        off = abs(flint.arb(float(value.real)) - moment.log1p())
        assert off <= flint.arb(float(radius))
        assert radius <= 1e-10 * abs(value)


def log_moment(mu: flint.arb, q: flint.arb, alpha: flint.acb, end: float) -> flint.acb:
    """Enclose the log of E (1 + u)^alpha, by integration from -15 to an end."""

    def term(z: flint.acb, analytic: bool) -> flint.acb:  # noqa: FBT001  # flint calls it so
        growth = (1 - q + q * (mu * z - mu * mu / 2).exp()).log(analytic)
        return (alpha * growth - z * z / 2).exp()

    accuracy = flint.arb(2) ** -120
    total = flint.acb.integral(term, -15, end, rel_tol=accuracy, abs_tol=accuracy)
    return (total / (2 * flint.arb.pi()).sqrt()).log()


@pytest.mark.some(4)
@pytest.mark.parametrize("mu", [24, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tilt", [2.0**-7, 0.25])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 10**9)])
@pytest.mark.parametrize("removal", [True, False])
def test_hardly_any_noise(*, mu: int, tilt: float, rate: Fraction, removal: bool) -> None:
    """What a record moves is far from where the density is; both count in E u = 0."""
    pair = SubsampledGaussianPair(mu_squared=Fraction(mu * mu), sampling_rate=rate, removal=removal)
    s = np.array([tilt, tilt + 3j])
    found = pair.cgf(s)
    for point, value, radius in zip(s, found.value, found.radius, strict=True):
        with flint.ctx.workprec(192):
            q, power = flint.arb(rate.numerator) / rate.denominator, flint.acb(complex(point))
            alpha = power + 1 if removal else -power
            off = flint.acb(complex(value)) - log_moment(
                flint.arb(mu), q, alpha, mu * (1 + tilt) + 14
            )
            if math.isinf(radius):  # M is next to 0, and may be nan to so many bits
                assert not off.real < 0
            else:
                assert off.real**2 + off.imag.sin() ** 2 <= (flint.arb(radius) + 1e-20) ** 2
        assert removal or radius <= 1e-7 * abs(value)


@pytest.mark.skipif(EXTENDED is np.float64, reason="no longer floats here")
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("height", [0.0, 2.0, 60.0])
@pytest.mark.parametrize(
    ("mu_squared", "rate"),
    [(Fraction(25, 16), Fraction(1, 10**4)), (Fraction(1), Fraction(1, 1000))],
)
def test_longer_floats_give_more_digits(
    *, mu_squared: Fraction, rate: Fraction, removal: bool, height: float
) -> None:
    """Refined, K is known to 17 digits or more, on short lines and on long ones."""
    pair = SubsampledGaussianPair(mu_squared=mu_squared, sampling_rate=rate, removal=removal)
    last = 3.5 + 1j * height
    with flint.ctx.workprec(192):
        mu = (flint.arb(mu_squared.numerator) / mu_squared.denominator).sqrt()
        q, power = flint.arb(rate.numerator) / rate.denominator, flint.acb(last)
        true = log_moment(mu, q, power + 1 if removal else -power, 24)
        for s in (np.array([last]), 3.5 + 1j * np.linspace(0.0, height, 65)):
            plain, finer = pair.cgf(s), pair.refined().cgf(s)
            ends = (flint.arb(repr_exact(x)) for x in (finer.value[-1].real, finer.value[-1].imag))
            assert abs(flint.acb(*ends) - true) <= float(finer.radius[-1]) + 1e-35
            assert finer.radius[-1] <= 0.02 * plain.radius[-1]
            assert (np.abs(plain.value - finer.value) <= plain.radius + finer.radius).all()


def repr_exact(value: np.longdouble) -> str:
    """As many digits as a long double has."""
    return np.format_float_scientific(value, precision=40, unique=False)


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("mu", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 50), Fraction(99, 100)])
def test_mass_beyond_a_loss(*, removal: bool, mu: float, rate: Fraction) -> None:
    """Against the normal law at 50 digits, up to the largest loss of an addition."""
    pair = SubsampledGaussianPair(mu_squared=Fraction(mu) ** 2, sampling_rate=rate, removal=removal)
    top = min(pair.max_loss, 600.0)
    at = np.append(top * np.geomspace(1e-15, 1 - 1e-15, 30), [0.0, top])
    low, high = pair.beyond(at)
    with mpmath.workdps(50):
        m, q = mpmath.mpf(mu), mpmath.mpf(rate.numerator) / rate.denominator
        for epsilon, least, most in zip(at.tolist(), low.tolist(), high.tolist(), strict=True):
            sign = 1 if removal else -1
            likely = 1 + mpmath.expm1(sign * mpmath.mpf(epsilon)) / q
            if likely <= 0:
                assert least == 0.0
                continue
            x = mpmath.log(likely) / m + m / 2
            mixed = (1 - q) * mpmath.ncdf(x) + q * mpmath.ncdf(x - m)
            true = mpmath.ncdf(-x) if removal else mixed
            assert least <= true <= most
            assert epsilon > 0.9 * top or most - least <= 1e-10 * true + 1e-299


def test_refined_pairs_are_others_and_mixtures_of_them_the_same() -> None:
    """A refined pair dominates the same; refining twice changes nothing; plain sums stay plain."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 3), removal=True
    )
    finer = pair.refined()
    assert finer.refined() == finer
    assert finer.swapped().refined() == finer.swapped()
    assert (finer == pair) == (EXTENDED is np.float64)
    s = np.array([6.0 + 0j, 6.0 + 2j])  # M far above 1
    assert (finer.cgf(s).value == pair.cgf(s).value).all()


def test_fractions_of_numbers_beyond_all_floats() -> None:
    """Numerators and denominators may have any length: K is that of the rounded parameters."""
    beyond = 10**400
    near = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 50), removal=True
    )
    far = SubsampledGaussianPair(
        mu_squared=Fraction(beyond + 1, beyond),
        sampling_rate=Fraction(beyond + 1, 50 * beyond),
        removal=True,
    )
    s = np.array([2.0 + 0j, 2.0 + 1j])
    for one, other in ((near, far), (near.refined(), far.refined())):
        apart = np.abs(one.cgf(s).value - other.cgf(s).value)
        assert (apart <= one.cgf(s).radius).all()


def parts(
    count: int = 70, *, removal: bool = True, most: Fraction = Fraction(1, 32)
) -> tuple[tuple[SubsampledGaussianPair, int], ...]:
    """Different pairs, in no order of noise, some more than once."""
    return tuple(
        (
            SubsampledGaussianPair(
                mu_squared=Fraction((37 * i) % count + 20, 70),
                sampling_rate=most * Fraction(i + 1, count),
                removal=removal,
            ),
            1 + i % 3,
        )
        for i in range(count)
    )


def bundle_of(case: Case) -> Case:
    """The same pair as a bundle of one part."""
    pair = case.pair
    assert isinstance(pair, SubsampledGaussianPair)
    return Case(SubsampledGaussians(((pair, 1),), pair.removal), case.definition, case.swapped)


class TestOnePart(PairContract):
    """A bundle of one against that one's own integral, in both directions."""

    tilts = (0.03, 8.0)
    heights = (0.0, 3.0)
    frequencies = (1.5, 20.0)
    bracket_width = 1e-8

    def cases(self) -> Sequence[Case]:
        """A rate neither near 0 nor near 1."""
        return [bundle_of(case) for case in both(Fraction(1), Fraction(1, 5))]

    def epsilons(self, pair: Pair) -> list[float]:
        """Not next to the largest loss: without a closed form no order is large enough."""
        top = 0.95 * min(pair.max_loss, pair.swapped().max_loss)
        return [x for x in super().epsilons(pair) if abs(x) < top]


LINES = [
    np.array([0.03, 2.7, 9.0]) + 0j,
    1.5 + 0.25j * np.arange(60),
    1.5 - 1j * np.arange(10),
    6.0 + 40j * np.arange(30),
]


@pytest.mark.some(6)
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("most", [Fraction(1, 32), Fraction(99, 100)])
@pytest.mark.parametrize("line", range(len(LINES)))
def test_k_is_the_sum(*, removal: bool, most: Fraction, line: int) -> None:
    """Of the parts' own, which are narrower; the bundle errs by little."""
    some, s = parts(removal=removal, most=most), LINES[line]
    found = SubsampledGaussians(some, removal).cgf(s)
    each = [(pair.cgf(s), count) for pair, count in some]
    value = sum(count * one.value for one, count in each)
    radius = sum(count * one.radius for one, count in each)

    turned = np.abs(np.exp(1j * (found.value - value).imag) - 1)  # K up to 2 pi i
    known = np.isfinite(found.radius + radius)
    assert (np.abs((found.value - value).real) <= found.radius + radius)[known].all()
    assert (turned <= found.radius + radius)[known].all()
    assert (value.real - radius <= found.value.real)[np.isinf(found.radius)].all()
    if line == 0 or (line < 3 and most < 1 / 2):  # where M itself is not tiny
        assert known.all()
        assert found.radius.max() < 1e-9


@pytest.mark.parametrize("removal", [True, False])
def test_very_different_orders_are_computed_apart(*, removal: bool) -> None:
    """One rule cannot serve both."""
    some = parts(20, removal=removal)
    s = np.array([0.5, 60.0]) + 0j
    found = SubsampledGaussians(some, removal).cgf(s)
    value = sum(count * pair.cgf(s).value for pair, count in some)

    assert found.value == pytest.approx(value, rel=1e-11)
    assert (found.radius < 1e-9).all()


@pytest.mark.parametrize("removal", [True, False])
def test_steering(*, removal: bool) -> None:
    """K and its derivatives are sums too."""
    some, c = parts(removal=removal), np.geomspace(0.05, 8.0, 9)
    found = SubsampledGaussians(some, removal).steer(c)
    each = [(pair.steer(c), count) for pair, count in some]
    for order in range(3):
        assert found[order] == pytest.approx(sum(n * one[order] for one, n in each), rel=1e-4)


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("c", [0.4, 5.0])
def test_smoothness(*, removal: bool, c: float) -> None:
    """Not above the truth, and not far below what the layers of the parts say."""
    bundle, y = SubsampledGaussians(parts(removal=removal), removal), np.geomspace(0.5, 300.0, 12)
    bound = log_decay([(bundle.smoothness(c, Bound(0.0, 0.0)), 1)], y)
    fallen = bundle.cgf(c + 1j * y).value.real - bundle.cgf(np.array([c + 0j])).value.real
    own = np.zeros(y.shape)
    for pair, count in bundle.parts:
        one = pair.cgf(np.array([c + 0j]))
        at, off = float(one.value.real[0]), float(one.radius[0])
        found = pair.smoothness(c, Bound(at - off, at + off))
        own = own + log_decay([(type(found)(0.0, found.masses, found.widths), count)], y)

    assert (fallen <= bound + 1e-9).all()
    assert (1.05 * own <= bound).all()
    assert (bound <= 0.85 * own).all()


def test_merged_layers_are_no_wider_than_any_that_they_stand_for() -> None:
    """Also next to the ends of a group; up to a width, no mass is added, and little is lost."""
    ends = np.exp(0.02 * np.arange(-40, 40, 3))
    widths = np.concatenate([np.nextafter(ends, 0.0), ends, ends * (1 + 1e-10), ends * 1.01])
    masses = 1.0 / np.arange(3, 3 + widths.size)
    found, narrow = _merged(masses, widths)

    for width in narrow:
        assert found[narrow >= width].sum() <= masses[widths >= width].sum()
        assert found[narrow >= width].sum() >= masses[widths >= 1.021 * width].sum() * (1 - 1e-9)
    assert found.sum() == pytest.approx(masses.sum(), rel=1e-9)
    assert [part.size for part in _merged(np.ones(2), np.array([1.0, 1e-20]))] == [1, 1]
    assert not _merged(np.empty(0), np.empty(0))[0].size


@pytest.mark.parametrize("removal", [True, False])
def test_what_else_is_known(*, removal: bool) -> None:
    """Sums over the parts, and the other direction."""
    some = parts(removal=removal)
    bundle = SubsampledGaussians(some, removal)

    assert bundle.swapped().swapped() == bundle
    assert {pair.removal for pair, _ in bundle.swapped().parts} == {not removal}
    assert bundle.max_loss == pytest.approx(sum(n * pair.max_loss for pair, n in some))
    assert bundle.zcdp_bound == pytest.approx(sum(n * pair.zcdp_bound for pair, n in some))
    assert bundle.gdp_bound**2 == pytest.approx(sum(n * pair.gdp_bound**2 for pair, n in some))
    assert bundle.infinite_mass == 0.0
    assert bundle.above(1) is bundle.below(1) is bundle
    assert bundle.lattice(0.0) is None
    assert bundle.exponentials() is None
    assert bundle.profile(np.zeros(1)) is None
    assert 1000 < bundle.work(1 + 5j) < bundle.work(1 + 500j)


def test_work_out_of_reach() -> None:
    """Noise so small that no quadrature has enough nodes."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(10**12), sampling_rate=Fraction(1, 2), removal=True
    )
    assert SubsampledGaussians(((pair, 1),), removal=True).work(1 + 1j) > 1 << 30


def test_only_many_rare_samples_that_are_not_repeated_often_are_bundled() -> None:
    """And each direction by itself; what is something else stays."""
    laplace = (LaplacePair(epsilon=Fraction(1, 10)), 3)
    there, back = parts(40), parts(30, removal=False)
    often = [(pair, 1000 * count) for pair, count in there]

    assert bundled([*there, laplace, *back]) == [
        laplace,
        (SubsampledGaussians(there, removal=True), 1),
        (SubsampledGaussians(back, removal=False), 1),
    ]
    assert bundled([laplace, *often]) == [laplace, *often]
    assert bundled([laplace, *there[:15]]) == [laplace, *there[:15]]
    often_sampled = list(parts(40, most=Fraction(1, 2)))
    assert bundled(often_sampled) == often_sampled


@pytest.mark.parametrize("removal", [True, False])
def test_the_answers_are_the_same(*, removal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon, delta and Rényi divergence, with and without the bundle."""
    factors = (
        *(Factor(pair, count) for pair, count in parts(24, removal=removal)),
        Factor(LaplacePair(epsilon=Fraction(1, 10)), 5),
    )

    def ask(expected: int) -> list[Bound]:
        answers.epsilon.cache_clear()
        answers.renyi.cache_clear()
        product = Product(factors)
        assert len(product.bundled().factors) == expected
        return [
            answers.epsilon(product, 1e-6),
            answers.delta(product, 0.7),
            answers.renyi(product, 8.0),
        ]

    together = ask(2)
    monkeypatch.setattr(subsampled_gaussian, "_MANY", 1000)
    apart = ask(25)
    for one, other in zip(together, apart, strict=True):
        assert one.lower <= other.upper
        assert other.lower <= one.upper
        assert one.relative_width < 1e-8
        assert 0 < one.upper < math.inf


def test_rates_that_are_hardly_floats_are_refused() -> None:
    """Their powers would vanish."""
    with pytest.raises(ParameterError, match="sampling_rate must be from 1e-100"):
        SubsampledGaussianPair(
            mu_squared=Fraction(1), sampling_rate=Fraction(1, 10**250), removal=True
        )


@pytest.mark.slow
def test_a_wide_answer_is_asked_for_one_by_one() -> None:
    """Little is left of tiny rates when M is summed plainly; each by itself stays narrow."""
    product = Product(
        tuple(
            Factor(
                SubsampledGaussianPair(
                    mu_squared=Fraction(4, 100) * Fraction(13, 10) ** i,
                    sampling_rate=Fraction(13 + 3 * i, 10**5),
                    removal=True,
                ),
                1,
            )
            for i in range(17)
        )
    )
    bundle = product.bundled()

    assert len(bundle.factors) == 1
    assert answers.epsilon(bundle, 5.9e-5).relative_width > 1e-3
    assert answers.epsilon(product, 5.9e-5).relative_width < 1e-6
