"""Renyi divergences and rho of selections, against explicit scores and one run's."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    AddRemove,
    BinomialRuns,
    FixedRuns,
    Guarantee,
    Poisson,
    PoissonRuns,
    TruncatedNegativeBinomial,
    compose,
    select,
    self_compose,
)
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.mechanisms import DiscreteGaussian, Gaussian, Histogram, Laplace, RandomizedResponse

LAWS: tuple[RunLaw, ...] = (
    TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 20)),
    TruncatedNegativeBinomial(eta=0, gamma=Fraction(1, 10)),
    PoissonRuns(rate=5),
    BinomialRuns(trials=10, probability=Fraction(1, 3)),
    FixedRuns(count=3),
)


def explicit(mu: float, law: RunLaw, order: float, sign: int) -> float:
    """The divergence of the best of runs of N(mu, 1) from N(0, 1), by the output or its negative.

    The density of the best output x is phi'(F(x)) f(x).
    """
    x = np.linspace(-9.0, 9.0 + order * mu, 4001)

    def log_density(mean: float) -> Reals:
        below = norm.cdf(sign * (x - mean))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(law.derivative(below)) + norm.logpdf(x - mean))

    terms = np.exp(order * log_density(mu) + (1 - order) * log_density(0.0))
    total = float(terms.sum()) * (x[1] - x[0])  # the trapezoid rule
    return float(np.log(law.probability_of_none + total) / (order - 1.0))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_no_score_exceeds_a_divergence_that_is_narrow(law: RunLaw, order: float) -> None:
    """Two scores of Gaussian runs are at or below the upper end, which is within 1 %."""
    found = select(GDP(mu=Fraction(1, 4)), law).rdp(order=order)
    best = max(explicit(0.25, law, order, sign) for sign in (1, -1))
    assert best <= found.upper
    assert found.lower <= found.upper <= 1.01 * found.lower


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_rho_of_selections_of_training(law: RunLaw) -> None:
    """Rho is that of the fewest runs, whose tails no law hides, and the divergences are small."""
    step = Gaussian(sigma=Fraction("2.13"), sensitivity=L2(1))
    step_guarantee = step.subsample(Poisson(sampling_rate=Fraction("6.18e-4"))).guarantee()
    training = self_compose(step_guarantee, 6556)
    chosen = select(training, law)
    rho = chosen.zcdp()
    one = training.zcdp()
    assert one.lower * law.smallest <= rho.upper
    assert rho.lower == pytest.approx(one.lower * law.smallest, rel=1e-9)
    assert rho.relative_width < 1e-4
    divergence = chosen.rdp(order=2)
    assert training.rdp(order=2).lower <= divergence.upper
    assert divergence.relative_width < 0.01


def test_rho_of_selections_of_gaussian_runs() -> None:
    """Rho is at or above every order's divergence over the order, and narrow."""
    chosen = select(GDP(mu=Fraction(1, 4)), PoissonRuns(rate=5))
    rho = chosen.zcdp()
    ratios = [chosen.rdp(order=a).lower / a for a in (1.01, 1.5, 2, 4, 16, 64)]
    assert max(ratios) <= rho.upper
    assert max(explicit(0.25, PoissonRuns(rate=5), a, -1) / a for a in (1.1, 2.0)) <= rho.upper
    assert rho.relative_width < 1e-3


def _counts() -> Guarantee[Any]:
    """Counts whose losses end far out, where a table's points meet at -1."""
    laplace = Laplace(scale=Fraction("5.2"), sensitivity=L1(1)).guarantee()
    response = RandomizedResponse(
        epsilon=Fraction("2.37"), categories=2, relation=AddRemove()
    ).guarantee()
    return compose(self_compose(laplace, 14), self_compose(response, 8))


def test_tables_that_end_far_out() -> None:
    """Corners at e^-40 and less divide nothing by 0."""
    chosen = select(_counts(), PoissonRuns(rate=Fraction("22.4")))
    rho = chosen.zcdp()
    assert _counts().zcdp().lower <= rho.upper
    assert rho.relative_width < 1e-3
    counts = self_compose(DiscreteGaussian(sigma=5, sensitivity=L1(1)).guarantee(), 100)
    both = compose(counts, self_compose(Histogram(scale=10, relation=AddRemove()).guarantee(), 2))
    found = select(both, TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10)))
    assert found.epsilon(delta=7e-8).relative_width < 1e-4
