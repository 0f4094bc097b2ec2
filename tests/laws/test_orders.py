"""Compositions in every combination of the two orders of neighbours, by exact enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant import DominatingPair, ReplaceOne, compose
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.proofs import Rejected, Step, VerifiedUnder, check
from tests.proofs.support import Object, certificate, factor, stated

Law = tuple[Fraction, ...]
RATIOS = (Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(3))


def independent(laws: Sequence[Law]) -> Law:
    """The joint law of independent outputs."""
    joint: Law = (Fraction(1),)
    for law in laws:
        joint = tuple(a * b for a in joint for b in law)
    return joint


def hockey_stick(one: Law, other: Law, ratio: Fraction) -> Fraction:
    """The exact divergence."""
    pairs = zip(one, other, strict=True)
    return sum((max(a - ratio * b, Fraction(0)) for a, b in pairs), Fraction(0))


def worst_of_all_orders(mechanisms: Sequence[tuple[Law, Law]], ratio: Fraction) -> Fraction:
    """The largest divergence if each mechanism may have its two laws in either order."""
    found = []
    for turned in product((False, True), repeat=len(mechanisms)):
        both = [(q, p) if turn else (p, q) for turn, (p, q) in zip(turned, mechanisms, strict=True)]
        here, there = (independent([laws[side] for laws in both]) for side in (0, 1))
        found.append(hockey_stick(here, there, ratio))
    return max(found)


def law(weights: list[int]) -> Law:
    """Masses in proportion to weights."""
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


laws = st.lists(st.integers(1, 20), min_size=2, max_size=2).map(law)
neighbours = st.tuples(laws, laws).filter(lambda both: both[0] != both[1])


@settings(max_examples=40, deadline=None)
@given(st.lists(neighbours, min_size=2, max_size=2))
def test_one_product_for_both_orders_composes(mechanisms: list[tuple[Law, Law]]) -> None:
    """Of a pair that dominates both orders, the composition covers every combination of orders."""
    parts = []
    for p, q in mechanisms:
        both = FinitePair(p=independent([p, q]), q=independent([q, p]))
        parts.append(DominatingPair(forward=Product.of(both), relation=ReplaceOne()))
    advantage = compose(*parts).advantage()

    assert worst_of_all_orders(mechanisms, Fraction(1)) <= Fraction(advantage.upper)


def listed(p: Law, q: Law, count: int = 1) -> Object:
    """A finite pair of a certificate."""
    return factor("finite", count, p=[str(a) for a in p], q=[str(b) for b in q])


def dominated(relation: str, steps: int, forward: Object, backward: Object) -> Object:
    """A dominating pair of a certificate."""
    named = {"notion": "dominating-pair", "forward": [forward], "backward": [backward]}
    return {**named, "relation": relation, "steps": steps}


P, Q = (Fraction(17, 29), Fraction(12, 29)), (Fraction(1, 11), Fraction(10, 11))


def test_two_products_would_not_compose() -> None:
    """Mechanisms of opposite orders reveal more than either product of equal orders says."""
    truth = worst_of_all_orders([(P, Q), (P, Q)], Fraction(3))
    orders = ([P, P], [Q, Q]), ([Q, Q], [P, P])
    claims = [hockey_stick(independent(a), independent(b), Fraction(3)) for a, b in orders]

    assert truth == Fraction(134, 319)
    assert max(claims) == Fraction(32446, 101761) < truth


@pytest.mark.parametrize(
    ("relation", "steps", "why"),
    [
        ("replace-one", 1, "same in both directions"),
        ("replace-one", 2, "same in both directions"),
        ("add-remove", 2, "same in both directions"),
        ("zero-out", 2, "same in both directions"),
        ("add-remove", 1, ""),
        ("zero-out", 1, ""),
    ],
)
def test_the_checker_wants_one_product_where_no_order_is_told(
    relation: str, steps: int, why: str
) -> None:
    """Different directions are refused under replace-one and of groups, wherever they appear."""
    once = dominated(relation, steps, listed(P, Q), listed(Q, P))
    twice = dominated(relation, steps, listed(P, Q, 2), listed(Q, P, 2))
    last = Step(rule="compose/pair", premises=(0,), witness={"count": 2}, conclusion=twice)
    verdict = check(certificate(stated(once), last))

    assert isinstance(verdict, Rejected) if why else isinstance(verdict, VerifiedUnder)
    assert not isinstance(verdict, Rejected) or why in verdict.reason


def test_the_checker_takes_one_product_for_both_orders() -> None:
    """A pair that stands for both orders is accepted and composes, its own swap or not."""
    once = dominated("replace-one", 1, listed(P, Q), listed(P, Q))
    twice = dominated("replace-one", 1, listed(P, Q, 2), listed(P, Q, 2))
    last = Step(rule="compose/pair", premises=(0,), witness={"count": 2}, conclusion=twice)

    assert isinstance(check(certificate(stated(once), last)), VerifiedUnder)


@pytest.mark.parametrize("ratio", RATIOS)
def test_swaps_of_pairs_for_both_orders_are_pairs_for_both_orders(ratio: Fraction) -> None:
    """Under a symmetric relation a dominating pair's swap dominates as well."""
    both = independent([P, Q]), independent([Q, P])
    for here, there in ((P, Q), (Q, P)):
        assert hockey_stick(here, there, ratio) <= hockey_stick(*both, ratio)
        assert hockey_stick(here, there, ratio) <= hockey_stick(both[1], both[0], ratio)
