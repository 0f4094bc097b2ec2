"""Cases from users' bug reports against other libraries.

Source: regressions.json next to this file, a copy of the table in the project's
reference/README.md. Three rows' intervals there ("stated") end just below the true epsilon, cut
off rather than rounded up; "at_least" and "at_most" of those rows are from a trapezoid sum of the
inversion integral in ball arithmetic (python-flint, 50 digits, M by acb.integral), made for this
test without the engine. So are the two values of the logistic pair.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import PrivacyError
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, LogisticPair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L2
from dpproof.mechanisms import Gaussian

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "regressions.json").read_text(encoding="utf-8")
)


def dp_sgd(sigma: float, rate: Fraction, count: int) -> Product:
    """Poisson-subsampled Gaussians, remove direction."""
    pair = SubsampledGaussianPair(
        mu_squared=1 / Fraction(sigma) ** 2, sampling_rate=rate, removal=True
    )
    return Product((Factor(pair, count),))


def larger(product: Product, delta: float) -> Bound:
    """The larger epsilon of both directions."""
    return answers.larger_epsilon(product, product.swapped(), delta)


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['sigma']}-{row['rate']}-{row['count']}"
)
def test_regression(row: dict[str, Any]) -> None:
    """The bracket meets the stated interval, within seconds."""
    start = time.process_time()
    found = larger(
        dp_sgd(row["sigma"], Fraction(row["rate"]), row["count"]), float(Fraction(row["delta"]))
    )
    assert time.process_time() - start < 10.0
    assert found.upper >= row["at_least"]
    if row["at_most"] is not None:
        assert found.lower <= row["at_most"]
        assert found.upper <= row["at_most"] * (1 + 1e-6)
    assert found.lower >= row["at_least"] * (1 - 1e-6)


@pytest.mark.parametrize(
    ("epsilon", "count", "randomized_response", "logistic", "zcdp"),
    [(Fraction(1, 10), 100, 4.77, 2.6118, 2.42), (Fraction(1), 10, 10.0, 8.1159, 8.85)],
)
def test_exponential_mechanism(
    epsilon: Fraction, count: int, randomized_response: float, logistic: float, zcdp: float
) -> None:
    """Three analyses of the exponential mechanism at delta 1e-6, to the digits stated."""
    for pair, stated in (
        (RandomizedResponsePair(epsilon=epsilon), randomized_response),
        (LogisticPair(epsilon=epsilon), logistic),
    ):
        found = answers.epsilon(Product((Factor(pair, count),)), 1e-6)
        assert abs(found.upper - stated) <= 0.005
        assert abs(found.lower - stated) <= 0.005
    # bounded range: rho = epsilon^2 / 8, then the best order of Canonne, Kamath & Steinke
    # (arXiv:2004.00010), Proposition 12, in their own formula
    rho = count * float(epsilon) ** 2 / 8
    orders = 1 + np.geomspace(1e-3, 1e3, 20_000)
    costs = rho * orders + np.log1p(-1 / orders) - (math.log(1e-6) + np.log(orders)) / (orders - 1)
    assert abs(float(costs.min()) - zcdp) <= 0.005


def test_calibrated_noise() -> None:
    """At rate 0.01 and 10^4 steps, sigma 4.302106 is just enough for (1, 1e-6)."""
    rate = Fraction(0.01)
    assert larger(dp_sgd(4.302107, rate, 10_000), 1e-6).upper <= 1.0
    assert larger(dp_sgd(4.302105, rate, 10_000), 1e-6).lower > 1.0
    assert larger(dp_sgd(4.2969, rate, 10_000), 1e-6).lower > 1.0


@pytest.mark.slow
def test_mixed_pipeline() -> None:
    """A thousand different subsampled Gaussians and a hundred Laplace releases: 2.54495."""
    sigmas, rates = np.linspace(0.8, 2, 1000), np.linspace(0.001, 0.02, 1000)
    factors = [
        Factor(
            SubsampledGaussianPair(
                mu_squared=1 / Fraction(sigma) ** 2, sampling_rate=Fraction(rate), removal=True
            ),
            1,
        )
        for sigma, rate in zip(sigmas.tolist(), rates.tolist(), strict=True)
    ]
    product = Product.merge([*factors, Factor(LaplacePair(epsilon=Fraction(1, 20)), 100)])
    found = answers.epsilon(product, 1e-6)
    assert abs(found.lower - 2.54495) <= 5e-6
    assert abs(found.upper - 2.54495) <= 5e-6


BAD: dict[str, Callable[[], object]] = {
    "count -5": lambda: (
        Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01)).repeat(-5)
    ),
    "count 2.5": lambda: Gaussian(sigma=1, sensitivity=L2(1)).repeat(2.5),  # type: ignore[arg-type]
    "sigma nan": lambda: Gaussian(sigma=math.nan, sensitivity=L2(1)),
    "mu nan": lambda: GDP(mu=math.nan),
    "delta nan": lambda: Gaussian(sigma=1, sensitivity=L2(1)).guarantee().epsilon(delta=math.nan),
    "epsilon nan": lambda: Gaussian(sigma=1, sensitivity=L2(1)).guarantee().delta(epsilon=math.nan),
    "rate nan": lambda: Poisson(sampling_rate=math.nan),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_numbers_are_refused_at_once(name: str) -> None:
    """A negative or broken count and every nan: a typed error, without any search."""
    start = time.process_time()
    with pytest.raises(PrivacyError):
        BAD[name]()
    assert time.process_time() - start < 5.0


def test_delta_one() -> None:
    """At delta = 1 epsilon is 0, whatever the release."""
    assert Gaussian(sigma=1e-3, sensitivity=L2(1)).guarantee().epsilon(delta=1) == Bound(0.0, 0.0)
    for product in (
        dp_sgd(1.0, Fraction(1, 100), 10_000),
        Product.of(GaussianPair(mu_squared=Fraction(1, 9))),
    ):
        assert answers.epsilon(product, 1.0) == Bound(0.0, 0.0)


def test_very_little_noise() -> None:
    """Sigma = 1e-3 is answered right and at once: about mu^2 / 2 + 4.26 mu at delta = 1e-5."""
    start = time.process_time()
    found = answers.epsilon(Product.of(GaussianPair(mu_squared=Fraction(10**6))), 1e-5)
    assert time.process_time() - start < 5.0
    assert 504_200 < found.lower <= found.upper < 504_300
    assert found.relative_width < 1e-9
