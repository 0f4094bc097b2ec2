"""Laws of the number of runs, given by their mean."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant import BinomialRuns, PoissonRuns, RunLaw, TruncatedNegativeBinomial
from dpproof.accountant.errors import ParameterError


@pytest.mark.parametrize("eta", [-0.999, -0.5, 0, 1e-15, 0.5, 1, 2, 1000])
@pytest.mark.parametrize("mean", [1 + 1e-9, 1.5, 30, 590])
def test_gamma_of_a_mean(eta: float, mean: float) -> None:
    """The mean at 50 digits is the wanted one or larger, by at most 2e-9 of it."""
    try:
        law = TruncatedNegativeBinomial(eta=eta, mean=mean)
    except ParameterError:
        assert eta == -0.999  # whose mean is below 1.03 for every gamma
        assert mean > 1.03
        return
    with mpmath.workdps(50):
        g, shape = mpmath.mpf(law.gamma.numerator) / law.gamma.denominator, mpmath.mpf(eta)
        size = shape / (1 - g**shape) if shape else -1 / mpmath.log(g)
        reached = size * (1 - g) / g
        assert -1e-13 * mean <= reached - mean <= 2e-9 * mean


def test_other_laws_of_a_mean() -> None:
    """Poisson runs have it as their rate, binomial ones over the trials, geometric ones below 1."""
    assert PoissonRuns(mean=2.5) == PoissonRuns(rate=2.5)
    assert BinomialRuns(trials=3, mean=2).probability == Fraction(2, 3)
    assert TruncatedNegativeBinomial(eta=1, mean=3).gamma == Fraction(1, 3)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (PoissonRuns, "rate must be given, or mean"),
        (lambda: PoissonRuns(rate=1, mean=1), "not both"),
        (lambda: BinomialRuns(trials=3), "probability must be given, or mean"),
        (lambda: BinomialRuns(trials=3, mean=3), "probability must be in"),
        (lambda: TruncatedNegativeBinomial(eta=0), "gamma must be given, or mean"),
        (lambda: TruncatedNegativeBinomial(eta=0, gamma=0.5, mean=2), "not both"),
        (lambda: TruncatedNegativeBinomial(eta=-1, mean=2), "eta must be above -1"),
        *(
            (lambda mean=mean, eta=eta: TruncatedNegativeBinomial(eta=eta, mean=mean), "mean must")
            for mean in (0, 0.5, 1, 1e12, float("nan"), "3", 10**400)
            for eta in (0, 1)
        ),
    ],
)
def test_no_law(build: Callable[[], RunLaw], why: str) -> None:
    """Both numbers, neither, or a mean out of reach."""
    with pytest.raises(ParameterError, match=why):
        build()
