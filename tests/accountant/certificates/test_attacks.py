"""What attacks reach, as certificates: close to the engine's own answer."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import GDP, L2, Guarantee, LInf, NotCertified, Poisson, compose
from dpproof.mechanisms import ExponentialMechanism, Gaussian
from dpproof.proofs import VerifiedUnder
from tests.accountant.certificates.builders import CLOSE, MORE, certifiable
from tests.proofs.corpus import COMPUTATIONS

CURVES = {"zcdp", "rdp", "curves", "concentrated"}  # known by Renyi divergences
ATTACKED = (
    *("training", "noises", "choices", "groups", "gdp", "approx", "profile", "trade-off"),
    *("laplace", "sampled once", "mixed", "sample", "subsets"),
)


@pytest.mark.some(6)
@pytest.mark.parametrize("name", ATTACKED)
def test_what_attacks_reach(name: str) -> None:
    """True-positive rates and the advantage are the engine's upper ends, or smaller ones."""
    guarantee = certifiable({**COMPUTATIONS, **MORE}[name]())
    for rate in (0.001, 0.3):
        certificate = guarantee.certify(false_positive_rate=rate)
        claim = certificate.claim
        upper = guarantee.true_positive_rate(false_positive_rate=rate).upper

        assert isinstance(proofs.check(certificate), VerifiedUnder)
        assert Fraction(str(claim["false_positive_rate"])) == Fraction(rate)
        assert Fraction(str(claim["true_positive_rate"])) <= upper * (1 + Fraction(CLOSE))
        assert Fraction(str(claim["true_positive_rate"])) >= guarantee.true_positive_rate(
            false_positive_rate=rate
        ).lower * (1 - 1e-12)
    certificate = guarantee.certify(advantage=True)
    upper = guarantee.advantage().upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert upper <= Fraction(str(certificate.claim["advantage"])) <= upper * (1 + Fraction(CLOSE))


LONG: dict[str, Callable[[], Guarantee[Any]]] = {
    "many nodes": lambda: (
        Gaussian(sigma=2, sensitivity=L2(1))
        .subsample(Poisson(sampling_rate=0.3))
        .repeat(2)
        .guarantee()
    ),
    "much work a node": lambda: compose(
        Gaussian(sigma=5, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.02)).guarantee(),
        ExponentialMechanism(epsilon=0.1, sensitivity=LInf(1)).guarantee(),
    ),
}


@pytest.mark.parametrize(
    ("name", "rate"),
    [("many nodes", 0.1), pytest.param("much work a node", 0.001, marks=pytest.mark.slow)],
)
def test_long_lines(name: str, rate: float) -> None:
    """Sums of many nodes stay sharp, and within what the checker does."""
    guarantee = LONG[name]()
    certificate = guarantee.certify(false_positive_rate=rate)
    found = Fraction(str(certificate.claim["true_positive_rate"]))

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert found <= guarantee.true_positive_rate(false_positive_rate=rate).upper * (1 + 1e-5)


@pytest.mark.parametrize("name", sorted(CURVES))
def test_what_attacks_reach_where_renyi_divergences_are_known(name: str) -> None:
    """By one order as much is certified as by all of them; where none says anything, a point."""
    guarantee = {**COMPUTATIONS, **MORE}[name]()
    certificate = guarantee.certify(false_positive_rate=0.01)
    found = Fraction(str(certificate.claim["true_positive_rate"]))
    upper = guarantee.true_positive_rate(false_positive_rate=0.01).upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert certificate.steps[-1].rule == "convert/renyi-true-positive-rate"
    assert upper <= found <= upper * (1 + Fraction(CLOSE))
    certificate = guarantee.certify(false_positive_rate=0)
    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert Fraction(str(certificate.claim["true_positive_rate"])) < Fraction(1, 1000)


def test_nothing_below_one_is_refused() -> None:
    """At the false-positive rate 1 every attack may answer yes."""
    with pytest.raises(NotCertified, match="no proved bound below 1"):
        GDP(mu=1).certify(false_positive_rate=1)
