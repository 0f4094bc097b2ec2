"""Gaussian mixtures against a point, beside their definition at 40 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.sampling import (
    CountedScheme,
    TruncatedPoisson,
    UserPoisson,
    WithReplacement,
)
from dpproof.accountant.subsampling.count_laws import laws
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair

SCHEMES: list[CountedScheme] = [
    UserPoisson(sampling_rate=Fraction(1, 100), contributions=4),
    UserPoisson(sampling_rate=Fraction(2, 3), contributions=3),
    UserPoisson(sampling_rate=Fraction(1, 10**20), contributions=2),
    WithReplacement(sample_size=10, population_size=1000),
    WithReplacement(sample_size=40, population_size=20),
    TruncatedPoisson(sampling_rate=Fraction(1, 5), largest=3, population_size=22),
]


def made(
    scheme: CountedScheme, mu: Fraction = Fraction(1), *, removal: bool = True
) -> CountedGaussiansPair:
    """A pair."""
    return CountedGaussiansPair(mu_squared=mu**2, scheme=scheme, removal=removal)


def exact(pair: CountedGaussiansPair, epsilon: float) -> mpmath.mpf:
    """The profile by bisecting for the threshold, with the masses of the floats' laws."""
    t = mpmath.exp(mpmath.mpf(epsilon))
    mu = mpmath.sqrt(pair.mu_squared)
    values = []
    for cases in laws(pair.scheme):
        total = mpmath.mpf(0)
        for law in cases:
            masses = list(zip(map(mpmath.mpf, law.masses), law.shifts * 1, strict=True))
            zero = 1 - mpmath.fsum(w for w, _ in masses)
            listed = [(zero, mpmath.mpf(0)), *((w, mu * r) for w, r in masses)]

            def ratio(x: mpmath.mpf, listed=listed) -> mpmath.mpf:  # type: ignore[no-untyped-def]  # noqa: ANN001
                return mpmath.fsum(w * mpmath.exp(a * x - a * a / 2) for w, a in listed)

            low, high, goal = mpmath.mpf(-60), mpmath.mpf(200), t if pair.removal else 1 / t
            for _ in range(160):
                middle = (low + high) / 2
                low, high = (middle, high) if ratio(middle) < goal else (low, middle)
            if pair.removal:
                moved = mpmath.fsum(w * mpmath.ncdf(a - low) for w, a in listed)
                value = moved - t * mpmath.ncdf(-low)
            else:
                moved = mpmath.fsum(w * mpmath.ncdf(low - a) for w, a in listed)
                value = mpmath.ncdf(low) - t * moved
            total += mpmath.mpf(sum(law.share) / 2) * max(value, 0)
        values.append(total)
    return max(values)


@pytest.mark.some(8)
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("mu", [Fraction(1, 10), Fraction(2)])
def test_profile_encloses_the_definition(
    scheme: CountedScheme, mu: Fraction, *, removal: bool
) -> None:
    """At several epsilons, within 1e-7 of itself where it is no smaller than 1e-30."""
    pair = made(scheme, mu, removal=removal)
    for epsilon in (0.0, 0.05, 0.7, 3.0):
        low, high = (float(one[0]) for one in pair.profile(np.array([epsilon])))
        with mpmath.workdps(60):
            true = exact(pair, epsilon)
            assert mpmath.mpf(low) <= true * (1 + mpmath.mpf(10) ** -14)
            assert true * (1 - mpmath.mpf(10) ** -14) <= mpmath.mpf(high)
        assert high - low <= 1e-6 * high + 1e-30


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_negative_epsilons_are_those_of_the_swapped_pair(scheme: CountedScheme) -> None:
    """H_t of a pair is 1 - t + t H_{1/t} of its swap."""
    pair = made(scheme)
    low, high = pair.profile(np.array([-0.5]))
    other = pair.swapped().profile(np.array([0.5]))

    assert high[0] - low[0] < 1e-11
    assert high[0] == pytest.approx(-np.expm1(-0.5) + np.exp(-0.5) * other[1][0], rel=1e-9)


def test_finite_pairs_enclose_it() -> None:
    """The tables above and below, with both ends of a delta between."""
    pair = made(SCHEMES[0])
    for epsilon in (0.01, 0.3, 1.0):
        delta = pair.delta(epsilon)
        above, below = (one.profile(np.array([epsilon])) for one in (pair.above(9), pair.below(9)))
        assert above is not None
        assert below is not None
        assert below[0][0] <= delta.upper <= above[1][0] * (1 + 1e-9)
        assert above[1][0] - below[0][0] < 1e-3 * delta.upper + 1e-8


def test_inverts_the_profile() -> None:
    """The epsilon of a delta is where the profile is so large."""
    pair = made(SCHEMES[3])
    bound = pair.epsilon(1e-5)

    assert pair.delta(bound.upper).lower <= 1e-5 <= pair.delta(bound.lower).upper
    with pytest.raises(NotCertified, match="not resolved"):
        pair.epsilon(1e-31)


def test_reveals_the_count_for_other_notions() -> None:
    """The largest count is a Gaussian's shift; it bounds mu and rho."""
    pair = made(SCHEMES[3], Fraction(1, 2))

    assert pair.gdp_bound == pytest.approx(10.0)
    assert pair.zcdp_bound == pytest.approx(50.0)
    assert pair.swapped().swapped() == pair


def test_refuses_distances_that_are_no_floats() -> None:
    """From 1e-200 to 1e200."""
    with pytest.raises(ParameterError, match="mu_squared"):
        made(SCHEMES[0], Fraction(1, 10**101))
