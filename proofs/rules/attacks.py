"""From Renyi divergences to what an attacker can reach.

Proofs: proofs/theory/conversions.md.
"""

from __future__ import annotations

from flint import arb

from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.statements import Power
from dpproof.proofs.rules.convert import known_divergence


def renyi_true_positive_rate(step: Application) -> tuple[str, ...]:
    """Check that no test exceeds a rate b, as two outcomes of odds b and a are too far apart.

    At one order c: (c-1) R(c) <= log(b^c a^{1-c} + (1-b)^c (1-a)^{1-c}), or the same with a and b
    exchanged, 0 < a <= b < 1.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9. Proof: proofs/theory/conversions.md,
    section 11.
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
