"""Every law of the number of runs against 40 digits, and what it refuses."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import (
    LAW_ERROR,
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)

Z = np.array([0.0, 1e-9, 0.125, 0.5, 0.75, 1 - 2.0**-20, 1 - 2.0**-40, 1.0])
Masses = Callable[[int], mpmath.mpf]


def negative_binomial(eta: Fraction, gamma: Fraction) -> Masses:
    """Definition 1 of Papernot & Steinke, term by term."""

    def mass(k: int) -> mpmath.mpf:
        if k == 0:
            return mpmath.mpf(0)
        e, g = mpmath.mpf(eta.numerator) / eta.denominator, mpmath.mpf(gamma.numerator)
        g /= gamma.denominator
        if eta == 0:
            return (1 - g) ** k / (k * mpmath.log(1 / g))
        product = mpmath.rf(e, k) / mpmath.factorial(k)
        return (1 - g) ** k / (g**-e - 1) * product

    return mass


def poisson(rate: float) -> Masses:
    """The textbook's."""
    return lambda k: mpmath.exp(-mpmath.mpf(rate)) * mpmath.mpf(rate) ** k / mpmath.factorial(k)


def binomial(n: int, p: float) -> Masses:
    """The textbook's."""
    q = mpmath.mpf(p)
    return lambda k: mpmath.binomial(n, k) * q**k * (1 - q) ** (n - k) if k <= n else mpmath.mpf(0)


def finite(*masses: Fraction) -> Masses:
    """As given."""
    return lambda k: (
        mpmath.mpf(masses[k].numerator) / masses[k].denominator
        if k < len(masses)
        else mpmath.mpf(0)
    )


THIRD = (Fraction(1, 3), Fraction(0), Fraction(1, 6), Fraction(1, 2))
LAWS: list[tuple[RunLaw, Masses, int]] = [
    *(
        (
            TruncatedNegativeBinomial(eta=eta, gamma=gamma),
            negative_binomial(Fraction(eta), Fraction(gamma)),
            int(60 / gamma),
        )
        for eta in (-0.75, 0.0, 2.0**-40, 1.0, 2.5)
        for gamma in (0.125, 0.5, 0.875)
    ),
    (PoissonRuns(rate=0.25), poisson(0.25), 60),
    (PoissonRuns(rate=20), poisson(20), 200),
    (BinomialRuns(trials=1, probability=0.5), binomial(1, 0.5), 1),
    (BinomialRuns(trials=40, probability=0.125), binomial(40, 0.125), 40),
    (FixedRuns(count=1), finite(Fraction(0), Fraction(1)), 1),
    (FixedRuns(count=12), finite(*[Fraction(0)] * 12, Fraction(1)), 12),
    (FiniteRuns(probabilities=THIRD), finite(*THIRD), 3),
]


def close(found: float, true: mpmath.mpf, relative: float = 0.1 * LAW_ERROR) -> bool:
    """Within a relative error, zeros exactly."""
    return bool(abs(mpmath.mpf(float(found)) - true) <= relative * abs(true))


@pytest.mark.parametrize(("law", "mass", "last"), LAWS, ids=lambda x: getattr(x, "describe", str)())
def test_laws_are_their_masses(law: RunLaw, mass: Masses, last: int) -> None:
    """Mean, generating function and its derivatives are the sums over the masses."""
    with mpmath.workdps(40):
        known = [mass(k) for k in range(last + 1)]
        found = law.masses(last)
        assert all(close(one, true, 1e-10) for one, true in zip(found, known, strict=True))
        assert close(law.mean, mpmath.fsum(k * one for k, one in enumerate(known)))
        assert close(law.probability_of_none, known[0])
        functions = law.pgf(Z), law.derivative(Z), law.growth(Z), law.third(Z)
        for z, *values in zip(Z, *functions, strict=True):
            x = mpmath.mpf(float(z))
            powers = [known[k] * x**k for k in range(last + 1)]
            first = mpmath.fsum(k * known[k] * x ** (k - 1) for k in range(1, last + 1))
            second = mpmath.fsum(k * (k - 1) * known[k] * x ** (k - 2) for k in range(2, last + 1))
            assert close(values[0], mpmath.fsum(powers), LAW_ERROR)
            assert close(values[1], first)
            assert first == 0 or close(values[2] * float(first), second, 1e-12)
            falling = [k * (k - 1) * (k - 2) * known[k] for k in range(last + 1)]
            third = mpmath.fsum(falling[k] * x ** (k - 3) for k in range(3, last + 1))
            assert close(values[3], third)


@pytest.mark.parametrize(("law", "mass", "last"), LAWS, ids=lambda x: getattr(x, "describe", str)())
def test_laws_are_values(law: RunLaw, mass: Masses, last: int) -> None:
    """Equal, hashable and picklable; quantiles and coverage are what the masses say."""
    assert pickle.loads(pickle.dumps(law)) == law  # noqa: S301
    assert hash(law) == hash(pickle.loads(pickle.dumps(law)))  # noqa: S301
    assert law.largest in (None, last)
    with mpmath.workdps(40):
        known = [float(mass(k)) for k in range(last + 1)]
    reached = np.cumsum(known)
    for level in (0.1, 0.5, 0.9, 0.999):
        k = law.quantile(level=level)
        assert reached[k] >= level - 1e-12
        assert k == 0 or reached[k - 1] < level + 1e-12
    assert law.probability_drawn(candidates=1) == pytest.approx(1 - known[0])
    three = sum(one * (2 / 3) ** k for k, one in enumerate(known))
    assert law.probability_drawn(candidates=3) == pytest.approx(1 - three)


def test_named_values() -> None:
    """The geometric and the logarithmic law have the means of the literature."""
    assert TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10)).mean == pytest.approx(10)
    logarithmic = TruncatedNegativeBinomial(eta=0, gamma=Fraction(1, 10))
    assert logarithmic.mean == pytest.approx(9 / math.log(10))


@pytest.mark.parametrize("law", [law for law, _, _ in LAWS if law.corner_is_worst])
def test_the_corner_is_worst(law: RunLaw) -> None:
    """Where a law says so, a phi''(1 - a)/phi'(1 - a) grows with a."""
    a = np.linspace(0.0, 0.999, 2000)
    values: Reals = a * law.growth(1.0 - a)
    assert (np.diff(values) >= -1e-12 * np.abs(values[1:])).all()


BAD: list[Callable[[], object]] = [
    *(
        lambda eta=eta: TruncatedNegativeBinomial(eta=eta, gamma=0.5)
        for eta in (-1, -2, float("nan"), float("inf"), "1", None, True, 1e4)
    ),
    *(
        lambda gamma=gamma: TruncatedNegativeBinomial(eta=1, gamma=gamma)
        for gamma in (0, 1, -0.1, 2, 1e-12, float("nan"), "0.5", None)
    ),
    *(lambda rate=rate: PoissonRuns(rate=rate) for rate in (0, -1, 1e5, float("nan"), None)),
    *(
        lambda n=n, p=p: BinomialRuns(trials=n, probability=p)
        for n, p in ((0, 0.5), (2.5, 0.5), (10**6, 0.5), (3, 0), (3, 1), (3, float("nan")))
    ),
    *(lambda n=n: FixedRuns(count=n) for n in (0, -1, 1.5, True, None, 10**5)),
    *(
        lambda p=p: FiniteRuns(probabilities=p)
        for p in ((), (1,), (0.5, 0.4), (0.5, 0.6), (0, 1, -1, 1), (float("nan"), 1))
    ),
]


@pytest.mark.parametrize("build", BAD)
def test_bad_parameters_are_refused(build: Callable[[], Any]) -> None:
    """A number outside its domain is refused where it enters."""
    with pytest.raises(ParameterError, match="must be"):
        build()


def test_quantiles_refuse() -> None:
    """A level outside (0, 1), and a level no feasible number of runs reaches."""
    law = TruncatedNegativeBinomial(eta=1, gamma=1e-9)
    for level in (0, 1, -1, 2, float("nan")):
        with pytest.raises(ParameterError):
            law.quantile(level=level)
    with pytest.raises(NotCertified):
        law.quantile(level=0.5)
