"""Interactive mechanisms asked at once: the theorem against every analyst of small ones."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    RDP,
    ZCDP,
    AddRemove,
    BoundedRange,
    DominatingPair,
    Guarantee,
    NotImplied,
    ParameterError,
    PrivacyProfile,
    PureDP,
    RelationMismatch,
    ReplaceOne,
    compose,
    compose_concurrent,
    self_compose,
)

ROUNDS = 2
EPSILONS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
Mechanism = dict[tuple[int, ...], tuple[float, float]]
"""For questions and answers so far and a question: the chance of answer 1 on both datasets."""


def mechanism(rng: np.random.Generator) -> Mechanism:
    """Answers bits to bits, by chances that depend on all that it was asked and said."""
    asked = [
        (*before, question)
        for turn in range(ROUNDS)
        for before in itertools.product((0, 1), repeat=2 * turn)
        for question in (0, 1)
    ]
    return {one: tuple(rng.uniform(0.25, 0.75, size=2)) for one in asked}


def worst(
    parts: list[Mechanism], threshold: float, seen: tuple[tuple[int, ...], ...],
    one: float = 1.0, other: float = 1.0,
) -> float:  # fmt: skip
    """The largest sum of (P - threshold Q)+ over transcripts, over all analysts of all parts."""
    best = max(one - threshold * other, 0.0)
    for place, (part, told) in enumerate(zip(parts, seen, strict=True)):
        for question in (0, 1) if len(told) < 2 * ROUNDS else ():
            first, second = part[(*told, question)]
            total = 0.0
            for answer in (0, 1):
                after = (*seen[:place], (*told, question, answer), *seen[place + 1 :])
                chances = (first, second) if answer else (1 - first, 1 - second)
                total += worst(parts, threshold, after, one * chances[0], other * chances[1])
            best = max(best, total)
    return best


def both_orders(parts: list[Mechanism], threshold: float) -> float:
    """The larger of both orders of the two datasets."""
    turned = [{asked: (q, p) for asked, (p, q) in part.items()} for part in parts]
    seen = ((),) * len(parts)
    return max(worst(way, threshold, seen) for way in (parts, turned))


@pytest.mark.parametrize("seed", range(4))
def test_no_analyst_of_two_mechanisms_exceeds_the_product(seed: int) -> None:
    """All strategies that alternate between two mechanisms of two questions each.

    Each mechanism's own profile is its worst over all analysts who ask it alone.
    """
    rng = np.random.default_rng(seed)
    pair = [mechanism(rng), mechanism(rng)]
    alone = [
        PrivacyProfile(
            points=[(e, min(1.0, both_orders([one], math.exp(e)) + 1e-12)) for e in EPSILONS],
            relation=AddRemove(),
        )
        for one in pair
    ]
    both = compose_concurrent(*alone)

    for epsilon in EPSILONS[:4]:
        found = both_orders(pair, math.exp(epsilon))
        assert found <= both.delta(epsilon=epsilon).upper
        assert found > 0.5 * both.delta(epsilon=epsilon).upper


@pytest.mark.parametrize(
    "parts",
    [
        (GDP(mu=3), GDP(mu=4)),
        (ZCDP(rho=1), ZCDP(rho=2), GDP(mu=1)),
        (GDP(mu=1), PureDP(epsilon=1)),
        (RDP(points=[(2, 1), (4, 3)]), RDP(points=[(2, 1)])),
        (self_compose(PureDP(epsilon=1), 3), GDP(mu=1), GDP(mu=1)),
    ],
    ids=str,
)
def test_numbers_are_those_of_composition_and_are_certified(
    parts: tuple[Guarantee[AddRemove], ...],
) -> None:
    """The notion is the same, and the checker says the conditions."""
    found, plain = compose_concurrent(*parts), compose(*parts)
    verdict = proofs.check(found.certify(delta=1e-4))

    assert type(found) is type(plain)
    assert found.epsilon(delta=1e-4) == plain.epsilon(delta=1e-4)
    assert found.derivation.rule == "compose/concurrent"
    assert isinstance(verdict, proofs.VerifiedUnder)
    assert any("one analyst asks them at the same time" in one for one in verdict.assumptions)


def test_bounded_ranges_and_single_parts_are_refused() -> None:
    """Also inside a product, and parts under different relations."""
    ranges = self_compose(BoundedRange(epsilon=1), 2)
    mixed: list[Any] = [GDP(mu=1, relation=ReplaceOne())]
    for part in (BoundedRange(epsilon=1), ranges):
        with pytest.raises(NotImplied, match="what runs after what"):
            compose_concurrent(part, GDP(mu=1))
    with pytest.raises(ParameterError, match="two guarantees"):
        compose_concurrent(GDP(mu=1))
    with pytest.raises(RelationMismatch):
        compose_concurrent(GDP(mu=1), *mixed)
    assert isinstance(ranges, DominatingPair)
