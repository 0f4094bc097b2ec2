"""Finite pairs above other profiles: the comparison at the corners that proves one.

In t = e^eps a profile g is convex, falls, and is 1 at t = 0. That of a finite pair is 1 at 0,
linear between its corners and constant after the last. So if it is at or above g at its corners,
then everywhere. For t < 1, g(t) = 1 - t + t g'(1/t) with g' the profile of the swapped neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from flint import arb

from dpproof.proofs.core.arithmetic import ball, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import FinitePair, Product
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application
from dpproof.proofs.core.statements import HockeyStick, Pairs, Points
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.limits import LEVEL, PER_COMPARISON
from dpproof.proofs.pairs.core_pairs import corners as corners_of
from dpproof.proofs.rules.base_profile import (
    bounds_at_ratios,
    bounds_of,
    chord_bound,
    profile_bounds,
    required_facts,
)
from dpproof.proofs.rules.compose import CHOSEN
from dpproof.proofs.rules.prices import corners_work

Heights: TypeAlias = Callable[[list[Fraction]], dict[Fraction, Fraction]]
"""Bounds of a profile at growing ratios t >= 1."""


def above(step: Application) -> tuple[str, ...]:
    """Check a finite pair above each direction, from pairs and bounds of their profiles.

    Between two ratios at which H_t is known it is at most its chord. Proof:
    proofs/theory/sampled.md, Section 3.
    """
    claim, ways = step.concludes(Pairs), profile_bounds(step)
    both = [ways["forward"], ways.get("backward", ways["forward"])]
    for product, points in zip((claim.forward, claim.backward), both, strict=True):
        pair = alone(product, "concludes")
        step.budget.spend(corners_work(pair) + PER_COMPARISON * len(pair.p) + LEVEL * len(points))
        bound = _chords(points)
        for t, allowed in corners_of(pair):
            what = f"the profile at ratio {show(t)}"
            require_at_most(partial(bound, t), partial(ball, allowed), what)
    return ()


def mixture(step: Application) -> tuple[str, ...]:
    """Check a finite pair above a mixture, from pairs, bounds of their profiles, and weights.

    One of the mechanisms is drawn with these probabilities, whatever the data: its profile is at
    most the mean of the parts' profiles, which is at most the mean of their chords. Proof:
    proofs/theory/choice.md, Theorem 2.
    """
    apart = step.conclusion.steps
    parts = [p.claim for p in step.premises if isinstance(p.claim, Pairs) and p.steps == apart]
    facts = [p.claim for p in step.premises if isinstance(p.claim, HockeyStick)]
    if not parts or len(parts) + len(facts) != len(step.premises):
        raise RefusedError("the rule takes pairs and hockey-stick bounds")
    weights = step.witness.rationals("weights")
    if len(weights) != len(parts) or min(weights) <= 0 or sum(weights) != 1:
        raise RefusedError("the rule takes a weight above 0 for each pair, of sum 1")
    required_facts(parts, facts)
    each = [bounds_of(step, one, facts) for one in parts]
    claim = step.concludes(Pairs)
    for name, product in (("forward", claim.forward), ("backward", claim.backward)):
        pair = alone(product, "concludes")
        listed = [ways.get(name, ways["forward"]) for ways in each]
        corners = len(parts) * PER_COMPARISON * len(pair.p)
        step.budget.spend(corners_work(pair) + corners + LEVEL * sum(map(len, listed)))
        bounds = [(ball(w), _chords(points)) for w, points in zip(weights, listed, strict=True)]
        for t, allowed in corners_of(pair):
            what = f"the mean of the profiles at ratio {show(t)}"
            require_at_most(partial(_mean, bounds, t), partial(ball, allowed), what)
    names = openable(" and ".join(name for name in step.mechanisms if name))
    shares = openable(", ".join(map(show, weights)))
    law = f"with probabilities {shares}, in this order, the same for all datasets"
    return (f"draws one of {names} {law}, {CHOSEN}", FIXED, FRESH, ALONE)


def _mean(bounds: list[tuple[arb, Callable[[Fraction], arb]]], t: Fraction) -> arb:
    """Return the mean of some bounds at a ratio."""
    return sum((weight * bound(t) for weight, bound in bounds), arb(0))


def _chords(points: Points) -> Callable[[Fraction], arb]:
    """Return a bound at every ratio, from bounds at some: the chords between them."""
    listed = bounds_at_ratios(points)
    return lambda t: chord_bound(listed, ball(t))


def require_above(step: Application, pair: FinitePair, ahead: Heights, behind: Heights) -> None:
    """Accept a pair above bounds, for t < 1 by H_t(P || Q) = 1 - t + t H_{1/t}(Q || P).

    A bound above 1 stands for 1.

    Args:
        step: whose conclusion the pair is.
        pair: P and Q.
        ahead: bounds of H_t(P || Q).
        behind: bounds of H_t(Q || P).
    """
    step.budget.spend(corners_work(pair))
    corners, one = corners_of(pair), Fraction(1)
    ratios = sorted({max(t, 1 / t) for t, _ in corners})
    above = ahead(ratios)
    below = above if behind == ahead else behind(ratios)
    for t, allowed in corners:
        bound = min(above[t], one) if t >= 1 else one - t + t * min(below[1 / t], one)
        if bound > allowed:
            raise RefusedError(
                f"the profile at ratio {show(t)} may be {show(bound)}, above {show(allowed)}"
            )


def require_both_above(step: Application, claim: Pairs, bounds: list[Heights]) -> None:
    """Accept pairs above the bounds of each direction, or of both if there is one bound."""
    forward, backward = (alone(one, "concludes") for one in (claim.forward, claim.backward))
    require_above(step, forward, bounds[0], bounds[-1])
    if forward != backward or len(bounds) > 1:
        require_above(step, backward, bounds[-1], bounds[0])


def alone(product: Product, verb: str) -> FinitePair:
    """Return the finite pair that a product consists of, once; refuse other products."""
    if len(product) == 1 and isinstance(product[0][0], FinitePair) and product[0][1] == 1:
        return product[0][0]
    raise RefusedError(f"the rule {verb} one finite pair, once, in each direction")


def copied(product: Product, copies: int) -> FinitePair:
    """Return the finite pair that a product consists of, so many times; refuse other products."""
    if len(product) == 1 and isinstance(product[0][0], FinitePair) and product[0][1] == copies:
        return product[0][0]
    raise RefusedError(f"the rule concludes one finite pair, {copies} times, in each order")
