"""Skellam noise: a finite pair above its shifts."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Final

from flint import arb

from dpproof.proofs.balls.arithmetic import ball, each_precision, exact, require_at_most, show
from dpproof.proofs.balls.skellam import reach, shifted
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.limits import PER_COMPARISON, PRECISIONS, VALUE
from dpproof.proofs.logic.rule import Application
from dpproof.proofs.logic.statement import Pairs
from dpproof.proofs.pairs.finite import FinitePair
from dpproof.proofs.rules.finite_pair import copied
from dpproof.proofs.rules.mechanisms import adds
from dpproof.proofs.rules.prices import corners_work

MAX_VARIANCE: Final = 1 << 20
MAX_SHIFT: Final = 1 << 14


def skellam(step: Application) -> tuple[str, ...]:
    """Skellam noise on an integer query of L1 sensitivity k, or squared L2 sensitivity k <= 3.

    It is dominated by one shift by k, or by k shifts by 1; a finite pair's profile above that of a
    shift at its corners is above it everywhere. Source: docs/shift-lemma.md, Corollaries 1 and 2.
    """
    step.axiom()
    variance = step.witness.positive("variance")
    units, norm = step.witness.whole("units"), step.witness.words("norm")
    if not (norm == "L1" or (norm == "L2" and units <= 3)):
        raise RefusedError("the rule wants norm L1, or L2 with a squared sensitivity of at most 3")
    if variance > MAX_VARIANCE or units > MAX_SHIFT:
        raise RefusedError("the rule wants smaller numbers")
    shift, copies = (units, 1) if norm == "L1" else (1, units)
    claim = step.concludes(Pairs)
    for product in dict.fromkeys((claim.forward, claim.backward)):
        _compare(step, copied(product, copies), variance, shift)
    noise = (
        f"Skellam noise of variance {exact(variance)}, the difference of two independent Poisson "
        "variables of one mean"
    )
    moved = f"{units} in squared L2 norm" if norm == "L2" else f"{units} in L1 norm"
    return adds(step, noise, moved, "whole ")


def _compare(step: Application, pair: FinitePair, variance: Fraction, shift: int) -> None:
    """Refuse if the profile of a shift is above the pair's somewhere."""
    price = VALUE * (reach(variance, PRECISIONS[0]) + shift)
    step.budget.spend(price + corners_work(pair) + (PER_COMPARISON + VALUE) * len(pair.p))
    table = each_precision(partial(shifted, variance, shift))

    def bound(t: Fraction) -> arb:
        return table().profile(ball(t))

    for t, allowed in pair.corners():
        require_at_most(partial(bound, t), partial(ball, allowed), f"the profile at {show(t)}")
