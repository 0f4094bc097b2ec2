"""Delta and total variation from a Renyi divergence, for the rules that use them."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpproof.proofs.balls.arithmetic import ball


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
