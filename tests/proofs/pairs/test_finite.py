"""The closed profile of finite pairs against exact rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.pairs.finite import FinitePair

F = Fraction
NEAR = F(1, 10**22)  # next to no balls of 64 bits apart
PAIRS = {
    "infinite losses": FinitePair((F(1, 8), F(3, 8), F(1, 2)), (F(0), F(3, 4), F(1, 4))),
    "only these": FinitePair((F(1), F(0)), (F(0), F(1))),
    "equal": FinitePair((F(1, 3), F(2, 3)), (F(1, 3), F(2, 3))),
    "close ratios": FinitePair((F(1, 4),) * 4, (F(1, 4) + NEAR, F(1, 4), F(1, 4), F(1, 4) - NEAR)),
    "close above 2": FinitePair(
        (F(1, 3), F(1, 3), F(1, 3) - NEAR, NEAR), (F(1, 6), F(1, 6) - NEAR, F(1, 6), F(1, 2) + NEAR)
    ),
}
BLURS = [arb(0), arb(0, 2.0**-70), arb(0, 2.0**-20), arb(0, 1.5)]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("precision", [64, 512])
def test_the_profile_holds_the_exact_sum(name: str, precision: int) -> None:
    """At every ratio of the outcomes and between them, wherever a blurred epsilon may be."""
    pair = PAIRS[name]
    both = list(zip(pair.p, pair.q, strict=True))
    ratios = {a / b for a, b in both if a and b} | {F(1, 9), F(2, 3), F(1), F(7, 4), F(50)}
    with ctx.workprec(precision):
        value = pair.profile_at()
        for t in ratios:
            for blur in BLURS:
                epsilon = ball(t).log() + blur
                found = value(epsilon)
                with ctx.workprec(2_000):
                    for end in (ball(t).log(), epsilon.lower(), epsilon.upper()):
                        gaps = (ball(a) - end.exp() * ball(b) for a, b in both)
                        truth = sum((gap.nonnegative_part() for gap in gaps), arb(0))
                        assert found.overlaps(truth), (t, blur)
                if blur == 0:
                    assert found.rad() < 2.0 ** (8 - precision)


def test_nothing_is_left_past_the_largest_ratio() -> None:
    """Past the largest loss the profile is the infinite mass, without error."""
    with ctx.workprec(64):
        assert PAIRS["infinite losses"].profile(arb(1)) == arb(1) / 8
        assert not PAIRS["infinite losses"].profile(arb("nan")).is_finite()
