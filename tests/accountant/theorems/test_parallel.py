"""Parallel composition."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import ReplaceLabel, group, parallel_positions
from dpproof.accountant.errors import NotImplied, RelationMismatch
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.relation import AddRemove, ReplaceOne, ZeroOut
from dpproof.accountant.side_conditions import APART, OWN_RANDOMNESS, SPLIT_KEPT
from dpproof.accountant.theorems.composition import compose
from dpproof.accountant.theorems.parallel import parallel_compose
from dpproof.mechanisms import RandomizedResponse

CURVE = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))


@pytest.mark.parametrize(
    ("parts", "worst"),
    [
        ((PureDP(epsilon=1), PureDP(epsilon=2)), PureDP(epsilon=2)),
        ((GDP(mu=3), GDP(mu=2)), GDP(mu=3)),
        ((ZCDP(rho=1), ZCDP(rho=2)), ZCDP(rho=2)),
        ((BoundedRange(epsilon=1), BoundedRange(epsilon=2)), BoundedRange(epsilon=2)),
        ((MetricDP(epsilon=1), MetricDP(epsilon=2)), MetricDP(epsilon=2)),
        ((CURVE, CURVE), CURVE),
        (
            (ApproxDP(epsilon=1, delta=1e-3), ApproxDP(epsilon=2, delta=1e-6)),
            ApproxDP(epsilon=2, delta=1e-3),
        ),
        (
            (RDP(points=((2, 1), (4, 8))), RDP(points=((2, 2), (4, 3)))),
            RDP(points=((2, 2), (4, 8))),
        ),
        ((RDP(points=((2, 1),)), ZCDP(rho=1)), RDP(points=((2, 2),))),
    ],
)
def test_the_worst_part_counts(
    parts: tuple[Guarantee[AddRemove], ...], worst: Guarantee[AddRemove]
) -> None:
    """Within one notion the largest parameters, in any order."""
    assert parallel_compose(*parts) == worst
    assert parallel_compose(*reversed(parts)) == worst


def test_never_better_than_a_part_nor_worse_than_all_in_sequence() -> None:
    """Profiles are compared point by point across notions."""
    parts = (GDP(mu=1), PureDP(epsilon=0.5))
    grid = [0, 0.25, 0.5, 1, 2, 4]
    result = parallel_compose(*parts, epsilons=grid)
    sequence = compose(*parts)

    assert isinstance(result, PrivacyProfile)
    for epsilon in grid:
        answer = result.delta(epsilon=epsilon)
        for part in parts:
            assert answer.upper >= part.delta(epsilon=epsilon).lower
        assert answer.lower <= sequence.delta(epsilon=epsilon).upper


def test_different_notions_need_a_grid() -> None:
    """Without one the refusal says what to give."""
    with pytest.raises(NotImplied, match="give epsilons="):
        parallel_compose(GDP(mu=1), PureDP(epsilon=1))


def test_replace_one_is_refused() -> None:
    """A replaced record may change two parts."""
    one = ReplaceOne()
    with pytest.raises(NotImplied, match="may move from one part to another"):
        parallel_compose(GDP(mu=1, relation=one), GDP(mu=1, relation=one))


def test_zero_out_holds() -> None:
    """The largest parameter, if a blanked record stays where it was."""
    blank = ZeroOut()
    result = parallel_compose(GDP(mu=1, relation=blank), GDP(mu=2, relation=blank))

    assert result == GDP(mu=2, relation=blank)


def test_assumes_a_split_record_by_record() -> None:
    """The derivation carries the assumption and every premise."""
    result = parallel_compose(GDP(mu=1), GDP(mu=2))

    assert len(result.derivation.premises) == 2
    assert any("that record alone" in text for text in result.derivation.all_assumptions())


def test_assumes_randomness_of_its_own() -> None:
    """Two parts that share one draw are not private, so every derivation asks for two."""
    result = parallel_compose(GDP(mu=1), GDP(mu=2))

    assert OWN_RANDOMNESS() in result.derivation.assumptions


def test_a_blank_must_not_move() -> None:
    """Under zero-out the split may look at nothing of a record that blanking changes."""
    blank = ZeroOut()
    parts = parallel_compose(GDP(mu=1, relation=blank), GDP(mu=1, relation=blank))

    assert SPLIT_KEPT() in parts.derivation.assumptions
    assert SPLIT_KEPT() not in parallel_compose(GDP(mu=1), GDP(mu=1)).derivation.assumptions


@pytest.mark.parametrize("epsilon", [0, 1])
def test_a_bounded_range_is_of_parts_that_see_no_other_outputs(epsilon: int) -> None:
    """Of this notion alone: its interval may move with the earlier outputs."""
    ranges = parallel_compose(BoundedRange(epsilon=1), BoundedRange(epsilon=epsilon))
    pure = parallel_compose(PureDP(epsilon=1), PureDP(epsilon=epsilon))

    assert APART() in ranges.derivation.assumptions
    assert APART() not in pure.derivation.assumptions


Law = dict[tuple[int, ...], Fraction]
TRUTH = Fraction(3, 4)  # an answer is the truth with this probability: log 3 differentially private


def answers(counts: tuple[int, int], *, shared: bool, adaptive: bool) -> Law:
    """The parity of the records of two parts by randomised response: the law of both answers."""
    law: Law = {}
    for first, second in product((0, 1), repeat=2):
        flip = first if shared else second
        weight = 1 if not shared else Fraction(first == second)
        if not weight:
            continue
        mass = TRUTH if first == 0 else 1 - TRUTH
        mass *= 1 if shared else (TRUTH if second == 0 else 1 - TRUTH)
        one = (counts[0] + first) % 2
        two = (counts[1] * (1 + one if adaptive else 1) + flip) % 2
        law[one, two] = law.get((one, two), Fraction(0)) + mass
    return law


def worst_ratio(one: Law, other: Law) -> Fraction | None:
    """The largest ratio of probabilities, None if it is infinite."""
    if any(other.get(outcome, 0) == 0 for outcome in one):
        return None
    return max(mass / other[outcome] for outcome, mass in one.items())


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_theorem_and_its_conditions_by_enumeration(*, adaptive: bool) -> None:
    """One part's change costs log 3; a moved blank costs twice that, and a shared draw all."""
    parts = [*product((0, 1), repeat=2)]
    for (a, b), (c, d) in product(parts, repeat=2):
        here = answers((a, b), shared=False, adaptive=adaptive)
        there = answers((c, d), shared=False, adaptive=adaptive)
        found = worst_ratio(here, there)
        assert found is not None
        assert found <= 3 ** ((a != c) + (b != d))

    kept = answers((0, 1), shared=False, adaptive=False)
    moved = answers((1, 0), shared=False, adaptive=False)
    assert worst_ratio(kept, moved) == 9
    one = answers((0, 1), shared=True, adaptive=False)
    assert worst_ratio(one, answers((1, 1), shared=True, adaptive=False)) is None


def test_adaptive_parts_leave_no_bounded_range() -> None:
    """With e^f = 2, part 2 steered by a fair coin has log ratios in two intervals of length f."""

    def law(records: int) -> Law:
        """Two candidates of scores 0 and records, or, after the coin, 2 and -records."""
        up, down = Fraction(2) ** records, Fraction(2) ** -records
        first = (1 / (1 + up), up / (1 + up))
        second = (4 / (4 + down), down / (4 + down))
        return {
            (coin, i): Fraction(1, 2) * (first, second)[coin][i] for coin in (0, 1) for i in (0, 1)
        }

    one, other = law(0), law(1)
    ratios = {outcome: one[outcome] / other[outcome] for outcome in one}
    for coin in (0, 1):
        assert ratios[coin, 0] / ratios[coin, 1] in {2, Fraction(1, 2)}

    assert max(ratios.values()) / min(ratios.values()) > 2


def test_mixed_relations_are_refused() -> None:
    """As in every composition."""
    with pytest.raises(RelationMismatch, match="compose in parallel"):
        parallel_compose(GDP(mu=1), GDP(mu=1, relation=ZeroOut()))  # type: ignore[misc]


def test_lists_at_the_same_points_are_one_list() -> None:
    """Of two profiles known at the same epsilons the larger delta at each, nothing else."""
    one = PrivacyProfile(points=[(0, Fraction(1, 2)), (1, Fraction(1, 100))])
    other = PrivacyProfile(points=[(0, Fraction(1, 3)), (1, Fraction(1, 50))])
    worst = PrivacyProfile(points=[(0, Fraction(1, 2)), (1, Fraction(1, 50))])
    assert parallel_compose(one, other) == worst


ONE = ReplaceOne()


@pytest.mark.parametrize("relation", [ONE, ReplaceLabel(), ZeroOut()], ids=str)
def test_parallel_positions_the_worst_part_counts(relation: Any) -> None:  # noqa: ANN401
    """Within one notion the largest parameter, in any order, with a certificate."""
    cases: list[tuple[list[Guarantee[Any]], Guarantee[Any]]] = [
        ([GDP(mu=m, relation=relation) for m in (1, 3, 2)], GDP(mu=3, relation=relation)),
        (
            [PureDP(epsilon=e, relation=relation) for e in (1, 2)],
            PureDP(epsilon=2, relation=relation),
        ),
        ([ZCDP(rho=r, relation=relation) for r in (1, 2)], ZCDP(rho=2, relation=relation)),
    ]
    for parts, worst in cases:
        assert parallel_positions(*parts) == worst
        assert parallel_positions(*reversed(parts)) == worst
        verdict = proofs.check(parallel_positions(*parts).certify(delta=1e-6))
        assert isinstance(verdict, proofs.VerifiedUnder)
        assert "disjoint sets of positions" in " ".join(verdict.assumptions)


def test_equal_pairs_are_shared() -> None:
    """Randomised response at every position has the pair of one answer; ranges give their pair."""
    answer = RandomizedResponse(epsilon=1, relation=ReplaceLabel()).guarantee()
    ranged = BoundedRange(epsilon=1, relation=ONE)

    assert parallel_positions(answer, answer) == answer
    assert parallel_positions(ranged, ranged) == ranged.to_pair()


def test_refusals() -> None:
    """Add-remove, groups, other notions, mixed relations."""
    with pytest.raises(NotImplied, match="move up"):
        parallel_positions(GDP(mu=1), GDP(mu=1))
    with pytest.raises(NotImplied, match="one record"):
        parallel_positions(*[group(GDP(mu=1, relation=ONE), size=2)] * 2)
    with pytest.raises(NotImplied, match="no common worst"):
        parallel_positions(GDP(mu=1, relation=ONE), PureDP(epsilon=1, relation=ONE))
    mixed: Any = (GDP(mu=1, relation=ONE), GDP(mu=1, relation=ZeroOut()))
    with pytest.raises(RelationMismatch):
        parallel_positions(*mixed)
    with pytest.raises(NotImplied):
        parallel_positions(GDP(mu=1, relation=AddRemove()))


def test_enumerated_splits_have_the_divergence_of_one_part() -> None:
    """Two bits, split uniformly, answered adaptively: no event exceeds the larger epsilon."""
    kept = {0: Fraction(3, 4), 1: Fraction(2, 3)}  # e^epsilon = 3 and 2

    def law(data: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        found: dict[tuple[int, ...], Fraction] = {}
        orders = [(0, 1), (1, 0)] if len(data) == 2 else [(0,)]
        for order in orders:
            for said in product((0, 1), repeat=2):
                mass = Fraction(1, len(orders))
                for part in (0, 1):
                    bit = data[order[part]] if part < len(order) else 0
                    asked = bit ^ (said[0] if part == 1 else 0)
                    mass *= kept[part] if said[part] == asked else 1 - kept[part]
                key = (*order, *said)
                found[key] = found.get(key, Fraction(0)) + mass
        return found

    worst = max(
        law(a)[key] / law(b)[key]
        for a, b in product(product((0, 1), repeat=2), repeat=2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
        for key in law(a)
    )

    assert worst == 3
