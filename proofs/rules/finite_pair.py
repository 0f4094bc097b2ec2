"""Finite pairs above profiles: of bases, and of mechanisms of one bounded range together.

For neighbours D, D' with laws P, Q the facts about the pairs of one direction bound H_t(P || Q) for
t >= 1, those of the other direction H_t(Q || P), hence H_t(P || Q) for t < 1.

In t = e^eps a profile g is convex, falls, and is 1 at t = 0. That of a finite pair is 1 at 0,
linear between its corners and constant after the last. So if it is at or above g at its corners,
then everywhere. For t < 1, g(t) = 1 - t + t g'(1/t) with g' the profile of the swapped neighbours.

Source: Dong, Durfee & Rogers (arXiv:1909.13830) for the recursion; proofs/theory/bounded_range.md,
sections 1, 2 and 4, for all else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

from flint import arb

from dpproof.proofs import limits
from dpproof.proofs.core.arithmetic import ball, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import Pair, Product
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application
from dpproof.proofs.core.rules import split
from dpproof.proofs.core.statements import HockeyStick, Pairs, Points, merged
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.fields import wholes
from dpproof.proofs.limits import LEVEL, MAX_RANGE_BITS, PER_COMPARISON, ranges_work
from dpproof.proofs.logic.statement import BoundedRange
from dpproof.proofs.pairs.finite import FinitePair
from dpproof.proofs.pairs.pair import corners as corners_of
from dpproof.proofs.rules.compose import CHOSEN
from dpproof.proofs.rules.prices import corners_work
from dpproof.proofs.sums.ranges import Recursion

RatioBounds: TypeAlias = list[tuple[arb, arb]]
"""Ratios t, increasing, each with a bound of H_t(P || Q)."""


def profile_bounds(step: Application) -> dict[str, Points]:
    """Return, for each different direction, pairs (log t, delta) by increasing t.

    At t >= 1 delta bounds H_t of that direction, at t < 1 it bounds H_{1/t} of the other. Refuse
    a fact about another product, one that is listed twice, and none.
    """
    pairs, facts = split(step)
    required_facts([pairs], facts)
    return bounds_of(step, pairs, facts)


def required_facts(pairs: Sequence[Pairs], facts: Sequence[HockeyStick]) -> None:
    """Refuse facts about other products than those of the pairs, and a fact that is repeated."""
    products = {product for one in pairs for product in (one.forward, one.backward)}
    if not {fact.product for fact in facts} <= products or len(set(facts)) < len(facts):
        raise RefusedError("the rule takes bounds of the products of the pairs, each once")


def bounds_of(step: Application, pairs: Pairs, facts: Sequence[HockeyStick]) -> dict[str, Points]:
    """Return ``profile_bounds`` of pairs by facts about them; refuse a direction without any."""
    ways = {"forward": (pairs.forward, pairs.backward)}
    if pairs.forward != pairs.backward:
        ways["backward"] = (pairs.backward, pairs.forward)
    bounds = {}
    for name, (ahead, behind) in ways.items():
        points = {-x: y for fact in facts if fact.product == behind for x, y in fact.points}
        points |= {x: y for fact in facts if fact.product == ahead for x, y in fact.points}
        if not points:
            raise RefusedError("the rule takes bounds of the profile")
        bounds[name] = tuple(sorted(points.items()))
        step.budget.spend(8 * len(points))
    return bounds


def bound_at_ratio(log_ratio: Fraction, delta: Fraction) -> tuple[arb, arb]:
    """Return t and a bound of H_t(P || Q), which for t < 1 is 1 - t + t H_{1/t}(Q || P)."""
    t = ball(log_ratio).exp()
    return t, ball(delta) if log_ratio >= 0 else 1 - t + t * ball(delta)


def bounds_at_ratios(points: Points) -> RatioBounds:
    """Return every ratio with its bound, preceded by H_0 = 1."""
    return [(arb(0), arb(1)), *(bound_at_ratio(*point) for point in points)]


def chord_bound(listed: RatioBounds, t: arb) -> arb:
    """Return a bound of H_t at any t >= 0: H falls, and is convex, so below its chords."""
    place, end = 0, len(listed)
    while end - place > 1:
        middle = (place + end) // 2
        place, end = (middle, end) if listed[middle][0] <= t else (place, middle)
    left, start = listed[place]
    if place + 1 == len(listed):
        return start
    right, stop = listed[place + 1]
    return start + (stop - start) * ((t - left) / (right - left)).min(1)


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

    ``ahead`` bounds H_t(P || Q) and ``behind`` H_t(Q || P); a bound above 1 stands for 1.
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


LONGEST: Final = 64  # nats of a range
SHORTEST: Final = Fraction(1, 1 << 20)


def compose_ranges(step: Application) -> tuple[str, ...]:
    """Check finite pairs and a product of pairs above bounded ranges and pairs, each repeated.

    n mechanisms of one range, wherever they stand, cost at most the value of the recursion for n
    (Theorem 3), and k pairs above its value for n/k, rounded up, dominate that.
    """
    parts, counts = step.every(object), wholes(step.witness, "counts")
    if len(counts) != len(parts) or min(counts) < 1:
        raise RefusedError("the rule takes one count, at least 1, for each premise")
    claim = step.concludes(Pairs)
    lengths: dict[Fraction, int] = {}
    others: list[tuple[Product, Product]] = []
    for part, count in zip(parts, counts, strict=True):
        if isinstance(part, BoundedRange):
            lengths[part.epsilon] = lengths.get(part.epsilon, 0) + count
        elif isinstance(part, Pairs):
            others.append((_times(part.forward, count), _times(part.backward, count)))
        else:
            raise RefusedError("the rule takes bounded ranges and dominating pairs")
    grids, heads = step.witness.items("grids"), claim.forward[: len(lengths)]
    if not len(lengths) == len(grids) == len(heads) > 0:
        raise RefusedError("the rule takes one grid, and concludes one pair, for each length")
    for (length, count), grid, (pair, times) in zip(lengths.items(), grids, heads, strict=True):
        _require_above(step, length, -(-count // times), Fields(grid, "a grid"), pair)
    forward, backward = (merged(*(one[way] for one in others)) for way in (0, 1))
    step.expect(Pairs((*heads, *forward), (*heads, *backward)))
    named = zip(step.mechanisms, counts, strict=True)
    said = openable(" and ".join(f"{name} {count} times" for name, count in named))
    return (f"runs {said} on the same data", FIXED, FRESH, ALONE)


def _times(product: Product, count: int) -> Product:
    """Return the product with itself, so many times."""
    return tuple((pair, times * count) for pair, times in product)


def _require_above(
    step: Application, length: Fraction, count: int, grid: Fields, pair: Pair
) -> None:
    """Accept a finite pair above so many mechanisms of one range."""
    cells = grid.whole("cells", least=2, most=limits.MAX_RANGE_CELLS)
    bits = grid.whole("bits", least=64, most=MAX_RANGE_BITS)
    least = 1 << bits - grid.whole("level", most=bits)
    grid.close()
    if not SHORTEST <= length <= LONGEST:
        raise RefusedError(f"the rule takes ranges from {SHORTEST} to {LONGEST}")
    if not isinstance(pair, FinitePair):
        raise RefusedError("the rule concludes a finite pair for each length of a range")
    step.budget.spend(ranges_work(cells, bits))
    recursion = Recursion(length, cells, bits)
    for _ in range(count - 1):
        step.budget.spend(ranges_work(len(recursion.values) + cells, bits))
        recursion.step(least)
    require_above(step, pair, recursion.at, recursion.at)
