"""Certificates of Renyi divergences of selections, and of what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    RDP,
    ZCDP,
    FiniteRuns,
    FixedRuns,
    Guarantee,
    NotCertified,
    Poisson,
    PoissonRuns,
    compose,
    select,
    self_compose,
)
from dpproof.mechanisms import Gaussian, Laplace
from dpproof.proofs import VerifiedUnder
from tests.accountant.certificates.selections import DELTA, GEOMETRIC, LAWS, verified

RENYI: dict[str, Callable[[], Guarantee[Any]]] = {
    "shape": lambda: select(ZCDP(rho=0.05), GEOMETRIC),
    "rate": lambda: select(ZCDP(rho=0.05), PoissonRuns(rate=5)),
    "variation": lambda: select(RDP(points=((2, 0.1), (8, 0.4), (32, 1.6))), PoissonRuns(rate=5)),
    "all": lambda: select(RDP(points=((2, 0.1), (8, 0.4))), FixedRuns(count=3)),
    "finite": lambda: select(ZCDP(rho=0.05), FiniteRuns(probabilities=[Fraction(1, 4)] * 4)),
    "composed": lambda: compose(select(ZCDP(rho=0.01), GEOMETRIC), ZCDP(rho=0.1)),
}


@pytest.mark.parametrize("name", RENYI)
def test_renyi_curves(name: str) -> None:
    """What Renyi divergences imply is proved to a billionth."""
    guarantee = RENYI[name]()
    epsilon, _ = verified(guarantee, delta=DELTA)
    upper = guarantee.epsilon(delta=DELTA).upper

    assert upper <= epsilon <= upper * (1 + 1e-8)


@pytest.mark.parametrize("law", ["fixed", "geometric", "poisson"])
def test_renyi_divergences_of_pairs(law: str) -> None:
    """From those of one run, so above the bracket, which knows the selection's profile."""
    base = compose(select(GDP(mu=0.5), LAWS[law]), Laplace(scale=2, sensitivity=L1(1)).guarantee())
    guarantee = self_compose(base, 2)
    certificate = guarantee.certify(order=4)

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    points = cast("list[list[str]]", certificate.claim["points"])
    apart = [select(ZCDP(rho=0.125), LAWS[law]), Laplace(scale=2, sensitivity=L1(1)).guarantee()]
    known = sum(2 * Fraction(one.rdp(order=4).upper) for one in apart)
    assert [order for order, _ in points] == ["4"]
    assert Fraction(points[0][1]) <= known * Fraction(101, 100)
    assert Fraction(points[0][1]) >= Fraction(guarantee.rdp(order=4).lower)


def test_renyi_divergences_that_are_refused() -> None:
    """Those of a sampled selection, and large orders, which take too many nodes."""
    once = Gaussian(sigma=2, sensitivity=L2(1)).select(GEOMETRIC, score=len)
    sampled = once.subsample(Poisson(sampling_rate=0.1)).guarantee()
    with pytest.raises(NotCertified, match="ask for the number without a certificate"):
        sampled.certify(order=4)
    noise = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01))
    with pytest.raises(NotCertified, match="points, where the checker allows 16384"):
        noise.guarantee().certify(order=2_000)
