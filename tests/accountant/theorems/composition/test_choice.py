"""A mechanism drawn by a public law."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant.errors import NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.theorems.composition.choice import choice
from dpproof.accountant.theorems.composition.compose import compose
from dpproof.mechanisms import Gaussian, RandomizedResponse

SAMPLED = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.125)).guarantee()


@pytest.mark.parametrize(
    ("parts", "worst"),
    [
        ((GDP(mu=3), GDP(mu=2)), GDP(mu=3)),
        ((PureDP(epsilon=1), PureDP(epsilon=2)), PureDP(epsilon=2)),
        ((ZCDP(rho=1), ZCDP(rho=2)), ZCDP(rho=2)),
        ((SAMPLED, SAMPLED), SAMPLED),
        ((BoundedRange(epsilon=1), BoundedRange(epsilon=1)), BoundedRange(epsilon=1).to_pair()),
    ],
)
def test_the_worst_part_counts(
    parts: tuple[Guarantee[AddRemove], ...], worst: Guarantee[AddRemove]
) -> None:
    """The largest parameter, or the pair that all share, in any order."""
    assert choice(*parts) == worst
    assert choice(*reversed(parts)) == worst
    assert choice(parts[0]) is parts[0]


@pytest.mark.parametrize(
    "parts",
    [
        (GDP(mu=1), PureDP(epsilon=1)),
        (SAMPLED, compose(SAMPLED, SAMPLED)),
        (RDP(points=((2, 1),)), RDP(points=((2, 1),))),
        (BoundedRange(epsilon=1), BoundedRange(epsilon=2)),
    ],
)
def test_parts_without_a_common_worst_one_are_refused(
    parts: tuple[Guarantee[AddRemove], ...],
) -> None:
    """Different notions, different pairs and curves are refused, and the error says what to do."""
    with pytest.raises(NotImplied, match="the noise at which they cost the same"):
        choice(*parts)


def test_parts_are_guarantees_under_one_relation() -> None:
    """No part, something else and another relation are refused."""
    with pytest.raises(ParameterError):
        choice()
    with pytest.raises(ParameterError):
        choice(GDP(mu=1), 1)  # type: ignore[arg-type]
    with pytest.raises(RelationMismatch):
        choice(GDP(mu=1), GDP(mu=1, relation=ReplaceOne()))  # type: ignore[misc]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 1.7])
def test_every_choice_of_randomised_responses_costs_no_more(epsilon: float) -> None:
    """Brute force: mixtures of two responses, mirrored or not, for all weights of a grid."""
    keep = np.exp(1.0) / (1 + np.exp(1.0))
    one, other = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    stated = choice(*[RandomizedResponse(epsilon=1, categories=2).guarantee()] * 2).delta(
        epsilon=epsilon
    )
    for weight, (p, q) in product(np.linspace(0, 1, 11), [(one, other), (other, one)]):
        left = np.concatenate([weight * one, (1 - weight) * p])
        right = np.concatenate([weight * other, (1 - weight) * q])
        divergence = np.maximum(left - np.exp(epsilon) * right, 0).sum()

        assert divergence <= stated.upper + 1e-12
        assert divergence >= stated.lower - 1e-12  # attained by every one of them


@pytest.mark.parametrize("parts", [(GDP(mu=0.25), GDP(mu=0.5)), (SAMPLED, SAMPLED)])
def test_a_choice_is_certified(parts: tuple[Guarantee[AddRemove], ...]) -> None:
    """The checker accepts what is stated, and says that the draw looks at no data."""
    verdict = proofs.check(choice(*parts).certify(delta=1e-5))

    assert isinstance(verdict, proofs.VerifiedUnder)
    (drawn,) = (text for text in verdict.assumptions if "draws one of" in text)
    assert "by a law that is the same for all datasets, looking at no data" in drawn
    assert "what runs is fixed" not in drawn
