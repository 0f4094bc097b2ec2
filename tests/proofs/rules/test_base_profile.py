"""Which facts bound which direction of a base's profile."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from dpproof.proofs.core.pairs import GaussianPair
from dpproof.proofs.core.rule import Budget
from dpproof.proofs.core.statements import HockeyStick, Pairs
from dpproof.proofs.rules.finite_pair import bounds_of

F = Fraction


def test_each_direction_has_the_other_below_one() -> None:
    """Facts about the product ahead hold above a ratio of 1, those of the other below."""
    one, other = (((GaussianPair(F(mu)), 1),) for mu in (1, 2))
    facts = (
        HockeyStick(one, ((F(0), F(1, 2)), (F(1), F(1, 5)))),
        HockeyStick(other, ((F(2), F(1, 7)),)),
    )
    step: Any = SimpleNamespace(budget=Budget())
    assert bounds_of(step, Pairs(one, other), facts) == {
        "forward": ((F(-2), F(1, 7)), (F(0), F(1, 2)), (F(1), F(1, 5))),
        "backward": ((F(-1), F(1, 5)), (F(0), F(1, 2)), (F(2), F(1, 7))),
    }
    alone = {"forward": ((F(-2), F(1, 7)), (F(2), F(1, 7)))}
    assert bounds_of(step, Pairs(other, other), facts) == alone
