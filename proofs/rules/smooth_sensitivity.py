"""Cauchy noise of the scale of a smooth bound on the local sensitivity."""

from __future__ import annotations

from functools import partial

from flint import arb

from dpproof.proofs.balls.arithmetic import ball, exact, require_at_most
from dpproof.proofs.logic.rule import Application
from dpproof.proofs.logic.statement import PureDP


def smooth_sensitivity(step: Application) -> tuple[str, ...]:
    """Pure DP of at least beta + 2 asinh(1/(2 scale)).

    Proof: proofs/theory/smooth_sensitivity.md, Theorem 1.
    """
    step.axiom()
    beta, scale = step.witness.positive("beta"), step.witness.positive("scale")
    stated = step.concludes(PureDP).epsilon

    def needed() -> arb:
        return ball(beta) + 2 * ball(1 / (2 * scale)).asinh()

    require_at_most(needed, partial(ball, stated), "what the mechanism costs")
    relation = step.conclusion.relation
    adds = (
        "computes from the data a number, as one for every dataset, and a bound above 0, such that "
        f"between {relation} neighbours the number moves by at most the bound of either, and the "
        f"bounds differ by a factor of at most e^{exact(beta)}, adds to the number Cauchy noise of "
        f"scale {exact(scale)} times the bound, drawn anew for every coordinate and independent of "
        "the data and of all other noise, and releases a function of the sum alone that is the "
        "same for all datasets, and nothing else"
    )
    return (adds,)
