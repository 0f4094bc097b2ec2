"""Parallel composition."""

from __future__ import annotations

import pytest

from accountant.errors import NotImplied, RelationMismatch
from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.bounded_range import BoundedRange
from accountant.guarantees.gdp import GDP
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.privacy_profile import PrivacyProfile
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.rdp import RDP
from accountant.guarantees.trade_off import TradeOff
from accountant.guarantees.zcdp import ZCDP
from accountant.relation import AddRemove, ReplaceOne, ZeroOut
from accountant.theorems.composition.compose import compose
from accountant.theorems.composition.parallel import parallel_compose

CURVE = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))


@pytest.mark.parametrize(
    ("parts", "worst"),
    [
        ((PureDP(epsilon=1), PureDP(epsilon=2)), PureDP(epsilon=2)),
        ((GDP(mu=3), GDP(mu=2)), GDP(mu=3)),
        ((ZCDP(rho=1), ZCDP(rho=2)), ZCDP(rho=2)),
        ((BoundedRange(epsilon=1), BoundedRange(epsilon=2)), BoundedRange(epsilon=2)),
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
    """A blanked record stays where it was."""
    blank = ZeroOut()
    result = parallel_compose(GDP(mu=1, relation=blank), GDP(mu=2, relation=blank))

    assert result == GDP(mu=2, relation=blank)


def test_assumes_a_split_record_by_record() -> None:
    """The derivation carries the assumption and every premise."""
    result = parallel_compose(GDP(mu=1), GDP(mu=2))

    assert len(result.derivation.premises) == 2
    assert any("that record alone" in text for text in result.derivation.all_assumptions())


def test_mixed_relations_are_refused() -> None:
    """As in every composition."""
    with pytest.raises(RelationMismatch, match="compose in parallel"):
        parallel_compose(GDP(mu=1), GDP(mu=1, relation=ZeroOut()))  # type: ignore[misc]
