"""Certificates of many releases whose losses share a lattice, folded along one period."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import L1, AddRemove, Guarantee
from dpproof.mechanisms import DiscreteGaussian, DiscreteLaplace, RandomizedResponse

MANY: dict[str, Any] = {
    "laplace": (DiscreteLaplace(scale=30, sensitivity=L1(1)), 5_000),
    "gaussian": (DiscreteGaussian(sigma=20, sensitivity=L1(1)), 300),
    "coin": (RandomizedResponse(epsilon=0.01, categories=2, relation=AddRemove()), 100_000),
    "response": (RandomizedResponse(epsilon=0.01, categories=3, relation=AddRemove()), 100_000),
}
"""More losses than the checker multiplies out one by one."""


def claimed(guarantee: Guarantee[Any], name: str, **asked: Any) -> Fraction:  # noqa: ANN401  # a number
    """Return the number that a certificate claims, after the checker has accepted it."""
    certificate = guarantee.certify(**asked)
    verdict = proofs.check(certificate)
    rules = {step.rule for step in certificate.steps}
    assert not isinstance(verdict, proofs.Rejected), verdict
    assert rules & {"hockey-stick/lattice", "at-least/lattice"}
    return Fraction(str(certificate.claim[name]))


@pytest.mark.parametrize("name", MANY)
def test_claims_are_the_engines(name: str) -> None:
    """Upper and lower ends of epsilon and of delta, verified and within 1e-6 of the engine's."""
    mechanism, count = MANY[name]
    guarantee = mechanism.repeat(count).guarantee()
    epsilon, delta = guarantee.epsilon(delta=1e-6), guarantee.delta(epsilon=1)
    near = Fraction(1, 10**6)

    for found, key, asked in (
        (epsilon, "epsilon", {"delta": Fraction(1, 10**6)}),
        (delta, "delta", {"epsilon": 1}),
    ):
        upper = claimed(guarantee, key, **asked)
        lower = claimed(guarantee, key, **asked, lower=True)
        assert Fraction(found.lower) <= upper <= Fraction(found.upper) * (1 + near)
        assert Fraction(found.upper) >= lower >= Fraction(found.lower) * (1 - near)
