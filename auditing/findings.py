"""Findings: what one test says, with its event in words."""

from __future__ import annotations

from dpproof.auditing.counts.claim import Claim
from dpproof.auditing.counts.counts import PrefixCounts
from dpproof.auditing.planning.plan import CurvePlan, EpsilonPlan
from dpproof.auditing.report import Finding
from dpproof.auditing.witnesses.both_sides import BothSides
from dpproof.auditing.witnesses.standard import meaning
from dpproof.auditing.witnesses.witness import Question


def epsilon_finding(claim: Claim, plan: EpsilonPlan, counts: PrefixCounts, level: float) -> Finding:
    """Return the bound of epsilon at the claim's delta, with the event in words."""
    lower = plan.lower_bound(counts, claim, level)
    at = f" at delta = {claim.delta_up:.6g}" if claim.delta else ""
    return Finding(
        what=f"epsilon{at} >= {lower:.6g}, by {plan.method.value}",
        event=plan.question.describe(plan.position),
        order=order(plan.question),
        counts=counts.event(plan.position),
        significance=plan.share * level,
        refutes=lower > claim.epsilon,
        epsilon_lower=lower,
        meaning=meaning(plan.question.sides[0].score),
        epsilon=claim.epsilon,
        allowed=claim.delta_up,
    )


def curve_finding(plan: CurvePlan, counts: PrefixCounts, level: float) -> Finding:
    """Return the test of one tangent of a claimed curve, with the event in words."""
    p_value = plan.p_value(counts, level)
    tangent = plan.tangent
    return Finding(
        what=f"claimed delta({tangent.epsilon:.6g}) = {tangent.delta:.6g}: p-value {p_value:.3g}",
        event=plan.question.describe(0),
        order=order(plan.question),
        counts=counts.event(0),
        significance=level,
        refutes=p_value <= level,
        p_value=p_value,
        meaning=meaning(plan.question.score),
        epsilon=tangent.epsilon,
        allowed=tangent.delta,
    )


def order(question: Question | BothSides) -> str:
    """Return which dataset is more likely to be in the events."""
    return "neighbour" if question.swapped else "data"
