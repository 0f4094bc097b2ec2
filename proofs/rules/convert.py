"""From one notion to another, and from Renyi divergences to the reach of attackers.

Proofs: proofs/theory/conversions.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Final

from flint import arb

from dpproof.proofs.core.arithmetic import ball, normal_tail, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import Product
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.rules import directions, split
from dpproof.proofs.core.statements import GDP, ApproxDP, Pairs, Points, Power, PureDP
from dpproof.proofs.fields import alike
from dpproof.proofs.limits import PER_COMPARISON
from dpproof.proofs.logic.statement import RDP, ZCDP, BoundedRange, MetricDP, Profile, TradeOff
from dpproof.proofs.rules import compose
from dpproof.proofs.rules.compose import divergence, divergences, implied, look_up, lowest
from dpproof.proofs.rules.hockey_stick import finite_moment, largest_loss
from dpproof.proofs.rules.prices import spend


def delta_at(divergence: arb, order: Fraction, epsilon: arb) -> arb:
    """Return e^{(a-1)(R - epsilon)} (1 - 1/a)^a / (a - 1) from R at an order a above 1.

    Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Proposition 12.
    """
    exponent = ball(order - 1) * (divergence - epsilon) + ball(order) * ball(1 - 1 / order).log()
    return exponent.exp() / ball(order - 1)


def total_variation(divergence: arb) -> arb:
    """Return the smaller of sqrt(R/2) and sqrt(1 - e^-R), R of an order at or above 1.

    Source: Pinsker's inequality; Bretagnolle & Huber (1979).
    """
    return (divergence / 2).sqrt().min((-(-divergence).expm1()).sqrt())


pure_to_approx: Final = implied(PureDP, lambda one: ApproxDP(one.epsilon, Fraction(0)))
"""Epsilon-DP is (epsilon, 0)-DP, by definition."""

bounded_range_to_pure: Final = implied(BoundedRange, lambda one: PureDP(one.epsilon))
"""The loss is at most epsilon, as a range of epsilon holds 0. Source: arXiv:1905.04273."""

metric_to_pure: Final = implied(MetricDP, lambda one: PureDP(one.epsilon))
"""Pure DP from metric DP: the ends of a path are at distance 1."""

pure_to_bounded_range: Final = implied(PureDP, lambda one: BoundedRange(2 * one.epsilon))
"""A bounded range: a loss in [-epsilon, epsilon] has range 2 epsilon."""

gdp_to_zcdp: Final = implied(GDP, lambda one: ZCDP(one.mu_squared / 2))
"""ZCDP with rho = mu^2/2. Source: Mironov (arXiv:1702.07476), Proposition 7."""


def approx_to_pure(step: Application) -> tuple[str, ...]:
    """Check that (epsilon, 0)-DP is epsilon-DP, by definition."""
    claim = step.only(ApproxDP)
    if claim.delta:
        raise RefusedError("delta is above 0")
    step.expect(PureDP(claim.epsilon))
    return ()


def pure_to_zcdp(step: Application) -> tuple[str, ...]:
    """Check zCDP with rho = epsilon tanh(epsilon/2).

    Proof: proofs/theory/conversions.md, section 1.
    """
    _at_least_tanh(step, step.only(PureDP).epsilon)
    return ()


def bounded_range_to_zcdp(step: Application) -> tuple[str, ...]:
    """Check zCDP with rho = epsilon^2/8, or that of epsilon-DP.

    Proof: proofs/theory/conversions.md, section 2.
    """
    epsilon, rho = step.only(BoundedRange).epsilon, step.concludes(ZCDP).rho
    if rho < epsilon * epsilon / 8:
        _at_least_tanh(step, epsilon)
    return ()


def bounded_range_to_rdp(step: Application) -> tuple[str, ...]:
    """Check at order a the divergence of losses at both ends, epsilon, or a epsilon^2/8.

    Source: Dong, Durfee & Rogers (arXiv:1909.13830). Proof: proofs/theory/conversions.md, section
    8.
    """
    epsilon = step.only(BoundedRange).epsilon
    step.budget.spend(PER_COMPARISON * len(step.concludes(RDP).points))
    for order, value in step.concludes(RDP).points:
        if value < min(epsilon, epsilon * epsilon * order / 8):
            ends = partial(_both_ends, epsilon, order)
            require_at_most(ends, partial(ball, value), f"the divergence at order {order}")
    return ()


def pure_to_gdp(step: Application) -> tuple[str, ...]:
    """Check that Phi(-mu/2) <= 1/(1 + e^epsilon).

    Proof: proofs/theory/conversions.md, section 3.
    """
    epsilon, squared = step.only(PureDP).epsilon, step.concludes(GDP).mu_squared
    if not epsilon:
        return ()
    require_at_most(
        lambda: normal_tail(ball(squared).sqrt() / 2),
        lambda: 1 / (1 + ball(epsilon).exp()),
        "Phi(-mu/2)",
    )
    return ()


def point(step: Application) -> tuple[str, ...]:
    """Check (epsilon, delta)-DP at or above a point that the premise states, as delta falls."""
    claim = step.concludes(ApproxDP)
    (premise,) = step.every(object, most=1)
    points: Points = ()
    if isinstance(premise, PureDP | BoundedRange | MetricDP):
        points = ((premise.epsilon, Fraction(0)),)
    elif isinstance(premise, ApproxDP):
        points = ((premise.epsilon, premise.delta),)
    elif isinstance(premise, Profile):
        points = premise.points
    if not any(x <= claim.epsilon and y <= claim.delta for x, y in points):
        raise RefusedError("the premise states no such point")
    return ()


def pair_to_pure(step: Application) -> tuple[str, ...]:
    """Check the largest loss of both directions, if no loss is infinite.

    Source: Zhu, Dong & Wang (arXiv:2106.08567), Definition 7, at delta = 0.
    """
    pairs, epsilon = step.only(Pairs), step.concludes(PureDP).epsilon
    for product in directions(pairs):
        if any(pair.infinite for pair, _ in product):
            raise RefusedError("a loss is infinite")
        losses = partial(largest_loss, product)
        require_at_most(losses, partial(Fraction, epsilon), "the largest loss")
    return ()


def profile_to_trade_off(step: Application) -> tuple[str, ...]:
    """Check that the polygon lies below f: it does if the line of each of its edges does.

    A line b - m a lies below f iff delta <= 1 - b at e^eps = m.
    Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.12.
    """
    profile_points, curve = lowest(step.only(Profile).points), step.concludes(TradeOff).points
    step.budget.spend(PER_COMPARISON * (len(profile_points) + 2 * len(curve)))
    for (left, high), (right, low) in pairwise(curve):
        slope = (high - low) / (right - left)
        if not slope or not compose.certainly_below(profile_points, slope, 1 - high - slope * left):
            raise RefusedError("an edge is not below every trade-off with this profile")
    return ()


def pair_to_profile(step: Application) -> tuple[str, ...]:
    """Check points of a profile, each at or above a bound of every different direction."""
    points = step.concludes(Profile).points
    pairs, facts = split(step)
    both = directions(pairs)
    if {fact.product for fact in facts} != set(both) or len(set(facts)) < len(facts):
        raise RefusedError("the rule takes bounds of the products of the pairs, each once")
    for product in both:
        proved_points = [
            point for fact in facts if fact.product == product for point in fact.points
        ]
        step.budget.spend(len(points) * len(proved_points))
        for epsilon, delta in points:
            if not any(x <= epsilon and y <= delta for x, y in proved_points):
                raise RefusedError(f"no bound of each direction at epsilon = {epsilon}")
    return ()


def pair_to_rdp(step: Application) -> tuple[str, ...]:
    """Sum of n_i K_i(a - 1)/(a - 1), in both directions, at every listed order a.

    Source: data processing, Dong, Roth & Su (arXiv:1905.02383), Theorem 2.10.
    """
    claim, pairs = step.concludes(RDP), step.only(Pairs)
    listed = step.witness.items("orders")
    if len(listed) != len(claim.points):
        raise RefusedError("the rule takes one witness an order")
    fields = [Fields(item, "an order's witness") for item in listed]
    for product, name in zip(directions(pairs), ("forward", "backward"), strict=False):
        hints = [alike(one, name) for one in fields]
        for point, before, hint in zip(claim.points, [[], *hints], hints, strict=False):
            _renyi_at_most(step, product, point, hint, before)
    for one in fields:
        one.close()
    return ()


def zcdp_to_rdp(step: Application) -> tuple[str, ...]:
    """Check that R(a) = rho a, by definition.

    Source: Bun & Steinke, arXiv:1605.02065, Definition 1.1.
    """
    rho = step.only(ZCDP).rho
    if any(value < rho * order for order, value in step.concludes(RDP).points):
        raise RefusedError("a listed divergence is below rho times its order")
    return ()


def rdp_to_rdp(step: Application) -> tuple[str, ...]:
    """Check other orders of one curve: (a - 1) R(a) is convex (arXiv:1206.2459, Corollary 2)."""
    points = step.only(RDP).points
    step.budget.spend(len(step.concludes(RDP).points) * look_up(points))
    curve = divergences(points)
    for order, value in step.concludes(RDP).points:
        if value < curve(order):
            raise RefusedError("a listed divergence is below what is known")
    return ()


def renyi_to_approx(step: Application) -> tuple[str, ...]:
    """Check delta >= e^{(a-1)(R - eps)} (1 - 1/a)^a / (a - 1) at one order a.

    Total variation may take its place. Source: Canonne, Kamath & Steinke (arXiv:2004.00010),
    Proposition 12; at a = 1, ``divergence.total_variation``.
    """
    claim = step.concludes(ApproxDP)
    _renyi_delta(step, claim.epsilon, claim.delta, step.witness.rational("order"))
    return ()


def renyi_to_profile(step: Application) -> tuple[str, ...]:
    """Check points of a profile by the rule above, each with an order of its own."""
    points, orders = step.concludes(Profile).points, step.witness.rationals("orders")
    if len(orders) != len(points):
        raise RefusedError("the rule takes one order a point")
    step.budget.spend(PER_COMPARISON * len(points))
    for (epsilon, delta), order in zip(points, orders, strict=True):
        _renyi_delta(step, epsilon, delta, order)
    return ()


def _renyi_at_most(
    step: Application,
    product: Product,
    point: tuple[Fraction, Fraction],
    witnesses: list[object],
    before: list[object],
) -> None:
    """Accept a divergence at an order; ``before`` are the witnesses of the order before it."""
    order, value = point
    if any(pair.infinite for pair, _ in product):
        raise RefusedError("the divergence is infinite where the loss can be")
    if product:
        spend(step, 1, product, witnesses, before)
        require_at_most(
            lambda: finite_moment(product, witnesses, order - 1).log(),
            lambda: ball((order - 1) * value),
            f"(a - 1) times the divergence at order a = {order}",
        )


def _renyi_delta(step: Application, epsilon: Fraction, delta: Fraction, order: Fraction) -> None:
    value = known_divergence(step, order)

    def bound() -> arb:
        divergence = ball(value)
        return (
            total_variation(divergence)
            if order == 1
            else delta_at(divergence, order, ball(epsilon))
        )

    require_at_most(bound, lambda: ball(delta), "delta")


def known_divergence(step: Application, order: Fraction) -> Fraction:
    """Return what the one premise, zCDP or Renyi divergences, implies at an order at least 1."""
    (premise,) = step.every(object, most=1)
    if order < 1:
        raise RefusedError("a Renyi order must be at or above 1")
    if isinstance(premise, ZCDP):
        return premise.rho * order
    if isinstance(premise, RDP):
        step.budget.spend(look_up(premise.points))
        points = premise.points  # divergences grow with the order
        return divergence(points, order) if order > 1 else points[0][1]
    raise RefusedError("the rule takes zCDP or Renyi divergences")


def _both_ends(epsilon: Fraction, order: Fraction) -> arb:
    """Return the divergence of losses at both ends of the range at one order.

    With x = (1 - 1/a) e^{-eps} (e^{a eps} - 1) / (e^{(a-1) eps} - 1) it is
    log x + log((e^{a eps} - 1)/(e^eps - 1)/a)/(a - 1).
    """
    high, low, one = (ball(x * epsilon).expm1() for x in (order, order - 1, Fraction(1)))
    share = ball(1 - 1 / order) * ball(-epsilon).exp() * high / low
    return share.log() + (high / one / ball(order)).log() / ball(order - 1)


def _at_least_tanh(step: Application, epsilon: Fraction) -> None:
    rho = step.concludes(ZCDP).rho
    if rho < min(epsilon, epsilon * epsilon / 2):
        require_at_most(lambda: ball(epsilon) * ball(epsilon / 2).tanh(), lambda: ball(rho), "rho")


def relation(step: Application) -> tuple[str, ...]:
    """Check the same statement under a relation whose neighbours the premise covers.

    Neighbours under replace-label are neighbours under replace-one, and those under replace-one are
    two steps of add-remove apart. Source: proofs/theory/margins.md, section 1.
    """
    if len(step.premises) != 1:
        raise RefusedError("the rule takes 1 to 1 premises")
    (premise,), concluded = step.premises, step.conclusion
    size = step.witness.whole("size") if step.witness.has("size") else 1
    ways = {("replace-one", "replace-label"): 1, ("add-remove", "replace-one"): 2}
    if ways.get((premise.relation, concluded.relation)) != size:
        raise RefusedError(
            "the rule leads from replace-one to replace-label, or from two steps of "
            "add-remove to replace-one"
        )
    if premise.steps != size * concluded.steps:
        raise RefusedError("premises and conclusion compare datasets of different distance")
    if concluded.claim != premise.claim:
        raise RefusedError("the conclusion is not the premise")
    return ()


def renyi_true_positive_rate(step: Application) -> tuple[str, ...]:
    """Check that no test exceeds a rate b, as two outcomes of odds b and a are too far apart.

    At one order c: (c-1) R(c) <= log(b^c a^{1-c} + (1-b)^c (1-a)^{1-c}), or the same with a and b
    exchanged, 0 < a <= b < 1. Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9. Proof:
    proofs/theory/conversions.md, section 11.
    """
    order, claim = step.witness.rational("order"), step.concludes(Power)
    a, b = claim.false_positive_rate, claim.true_positive_rate
    value = known_divergence(step, order)
    if not (0 < a <= b < 1 < order):
        raise RefusedError("the rule takes rates 0 < a <= b < 1 and an order above 1")

    def apart() -> arb:
        log_a, log_b, not_a, not_b = (ball(x).log() for x in (a, b, 1 - a, 1 - b))
        c = ball(order)
        ahead = (c * log_b - (c - 1) * log_a).exp() + (c * not_b - (c - 1) * not_a).exp()
        behind = (c * log_a - (c - 1) * log_b).exp() + (c * not_a - (c - 1) * not_b).exp()
        return ahead.max(behind).log()

    what = "(c - 1) times the divergence at order c"
    require_at_most(lambda: ball((order - 1) * value), apart, what)
    return ()
