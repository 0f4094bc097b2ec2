"""Laws of runs, and checks of certificates of selections."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpproof import proofs
from dpproof.accountant import (
    BinomialRuns,
    FiniteRuns,
    FixedRuns,
    Guarantee,
    PoissonRuns,
    TruncatedNegativeBinomial,
)
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.proofs import VerifiedUnder

DELTA = 1e-6

GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=0.1)

LAWS: dict[str, RunLaw] = {
    "fixed": FixedRuns(count=3),
    "geometric": GEOMETRIC,
    "logarithmic": TruncatedNegativeBinomial(eta=0, gamma=0.1),
    "light": TruncatedNegativeBinomial(eta=Fraction(-1, 2), gamma=0.1),
    "heavy": TruncatedNegativeBinomial(eta=2, gamma=0.1),
    "poisson": PoissonRuns(rate=3),
    "finite": FiniteRuns(probabilities=[Fraction(1, 4)] * 4),
    "binomial": BinomialRuns(trials=5, probability=0.5),
}


def verified(guarantee: Guarantee[Any], **at: float) -> tuple[Fraction, Fraction]:
    """Epsilon and delta of the claim, if the checker accepts it."""
    certificate = guarantee.certify(delta=at.get("delta"), epsilon=at.get("epsilon"))
    verdict = proofs.check(certificate)
    assert isinstance(verdict, VerifiedUnder), verdict
    assert any("drawn independently of everything" in text for text in verdict.assumptions)
    epsilon, delta = (certificate.claim[name] for name in ("epsilon", "delta"))
    return Fraction(str(epsilon)), Fraction(str(delta))


def check_law(guarantee: Guarantee[Any], room: float) -> None:
    """Verified, and hardly above the engine."""
    epsilon, _ = verified(guarantee, delta=DELTA)
    bracket = guarantee.epsilon(delta=DELTA)

    assert bracket.lower <= epsilon <= bracket.upper * (1 + room)
