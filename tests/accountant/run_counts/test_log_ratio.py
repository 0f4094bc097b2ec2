"""How much a selection adds to epsilon, also where e^epsilon is no float."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant import (
    BinomialRuns,
    FiniteRuns,
    FixedRuns,
    PoissonRuns,
    PureDP,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.accountant.theorems.selection import select_pure

EPSILONS = [0.0, 0.5, 50.0, 100.0, 650.0, 699.0, 701.0, 720.0, 1000.0, 1e6, 1e300]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [1, 2, 10])
def test_a_fixed_number_of_runs(count: int, epsilon: float) -> None:
    """Exactly n - 1 times epsilon, and hardly more."""
    for law in (FixedRuns(count=count), FiniteRuns(probabilities=(0,) * count + (1,))):
        found = law.log_ratio_up(epsilon)

        assert (count - 1) * epsilon <= found
        assert found <= (count - 1) * epsilon * (1 + 1e-12) + 1e-9


def shrink(one: float, epsilon: float) -> float:
    """Log((a + e^epsilon)/(1 + a e^epsilon)) for 0 < a <= 1."""
    return math.log1p(one * math.exp(-epsilon)) - math.log(math.exp(-epsilon) + one)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("law", "factor", "one"),
    [
        (TruncatedNegativeBinomial(eta=1, gamma=0.125), 2, 0.125),
        (BinomialRuns(trials=5, probability=0.5), 4, 0.5),
    ],
)
def test_closed_forms(law: RunLaw, factor: int, one: float, epsilon: float) -> None:
    """Those of Corollary 3 from above, in the limit as well."""
    true = factor * shrink(one, epsilon)

    assert true <= law.log_ratio_up(epsilon) <= true + 1e-9


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_poisson_runs(epsilon: float) -> None:
    """The rate times tanh(epsilon/2)."""
    true = 3 * math.tanh(epsilon / 2)

    assert true <= PoissonRuns(rate=3).log_ratio_up(epsilon) <= true + 1e-9


def test_a_selection_of_two_runs_doubles_a_large_epsilon() -> None:
    """As it does a small one."""
    assert select_pure(PureDP(epsilon=1000), FixedRuns(count=2)).stated_epsilon >= 2000


@pytest.mark.parametrize("variation", [0.0, 1e-9, 0.01, 0.3, 1.0])
@pytest.mark.parametrize(
    "law",
    [
        TruncatedNegativeBinomial(eta=1, gamma=0.05),
        TruncatedNegativeBinomial(eta=-0.5, gamma=0.2),
        BinomialRuns(trials=8, probability=0.9),
        PoissonRuns(rate=7),
    ],
)
def test_masses_that_differ_little(law: RunLaw, variation: float) -> None:
    """No two masses so near have a larger ratio, and two of them nearly that."""
    tau = np.linspace(0.0, 1.0 - variation, 1001)
    slopes = law.derivative(tau), law.derivative(np.minimum(tau + variation, 1.0))
    true = float(np.log(slopes[1] / slopes[0]).max())

    assert true <= law.log_ratio_within(variation) + 1e-10
    assert law.log_ratio_within(variation) <= true + 1e-9


def test_masses_of_other_laws() -> None:
    """Nothing is stated where runs may be few or many in any way."""
    assert FixedRuns(count=3).log_ratio_within(0.1) == math.inf
    assert FiniteRuns(probabilities=(0, 0.5, 0.5)).log_ratio_within(0.1) == math.inf
