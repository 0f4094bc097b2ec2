"""From (epsilon, delta)-DP to what an attacker can reach; proofs in proofs/conversions.md."""

from __future__ import annotations

from flint import arb

from proofs.arithmetic import ball, require_at_most
from proofs.rules.rule import Application
from proofs.statement import Advantage, ApproxDP, Power


def true_positive_rate(step: Application) -> tuple[str, ...]:
    """e^epsilon a + delta, 1 - (1 - a - delta) e^-epsilon, or 1, at the false-positive rate a.

    Source: Wasserman & Zhou (arXiv:0811.2501), Theorem 2.4; Kairouz, Oh & Viswanath
    (arXiv:1311.0776), Theorem 2.1. Proof: proofs/conversions.md, section 10.
    """
    known, claim = step.only(ApproxDP), step.concludes(Power)

    def bound() -> arb:
        rate, ratio, delta = ball(claim.false_positive_rate), ball(known.epsilon), ball(known.delta)
        by_event, by_rest = ratio.exp() * rate + delta, 1 - (1 - rate - delta) * (-ratio).exp()
        return by_event.min(by_rest).min(arb(1))

    require_at_most(bound, lambda: ball(claim.true_positive_rate), "the true-positive rate")
    return ()


def advantage(step: Application) -> tuple[str, ...]:
    """At least delta + (1 - delta) tanh(epsilon/2), where both lines of the rule above meet.

    Source: Kairouz, Oh & Viswanath (arXiv:1311.0776), Theorem 2.1. Proof: proofs/conversions.md,
    section 10.
    """
    known, claim = step.only(ApproxDP), step.concludes(Advantage)

    def bound() -> arb:
        return ball(known.delta) + ball(1 - known.delta) * ball(known.epsilon / 2).tanh()

    require_at_most(bound, lambda: ball(claim.advantage), "the advantage")
    return ()
