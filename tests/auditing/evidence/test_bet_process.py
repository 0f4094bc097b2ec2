"""Bets one after the other, each chosen by what was seen before."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from dpproof.auditing import BetProcess, EventBet, EventCounts
from dpproof.auditing.evidence.gaussian_sequence import tangent

NORMAL = NormalDist()
# One trial: on D in S, on D outside, on D' in S, on D' outside.
TRIALS = [EventCounts(1, 1, 0, 0), EventCounts(0, 1, 0, 0)]
TRIALS += [EventCounts(0, 0, 1, 1), EventCounts(0, 0, 0, 1)]


def greedy(history: tuple[int, ...]) -> EventBet:
    """A bet that follows every streak: another tangent of 1-GDP, another prediction."""
    quantile = -0.5 + 0.4 * (history.count(0) - history.count(2))
    epsilon, delta = tangent(1.0, quantile)
    q = NORMAL.cdf(quantile)
    p = NORMAL.cdf(quantile + 1.3 + 0.1 * len(history))
    return EventBet(epsilon=epsilon, delta=delta, p=p, q=q)


def expected(p: float, q: float, history: tuple[int, ...] = ()) -> tuple[float, float]:
    """Exact expectation of the wealth of four trials, and the chance that it was ever above 4/3."""

    def grown(history: tuple[int, ...], process: BetProcess) -> tuple[float, float]:
        if len(history) == 4:
            return math.exp(process.evidence), float(process.refutes(significance=0.75))
        chances = (0.5 * p, 0.5 * (1 - p), 0.5 * q, 0.5 * (1 - q))
        bet = greedy(history)
        parts = [
            (chance, grown((*history, kind), process.after(bet, TRIALS[kind])))
            for kind, chance in enumerate(chances)
            if chance
        ]
        return sum(c * e for c, (e, _) in parts), sum(c * r for c, (_, r) in parts)

    return grown(history, BetProcess.start())


@pytest.mark.parametrize("q", [0.0, 1e-3, 0.1, 0.3, 0.6, 1.0])
def test_no_strategy_earns_while_the_claim_holds(q: float) -> None:
    """Exactly, at the edge of 1-GDP; and Ville's inequality holds."""
    p = NORMAL.cdf(NORMAL.inv_cdf(q) + 1.0) if 0 < q < 1 else q
    wealth, refuted = expected(p, q)

    assert wealth <= 1 + 1e-12
    assert refuted <= 0.75


def test_a_wrong_claim_pays() -> None:
    """Beyond the edge the same strategy earns."""
    assert expected(NORMAL.cdf(1.5), NORMAL.cdf(-0.5))[0] > 1.05


def test_the_largest_wealth_is_kept() -> None:
    """What was reached once refutes, whatever is lost later; evidence is what is left."""
    bet = EventBet(epsilon=0, delta=0, p=0.9, q=0.1)
    rich = BetProcess.start().after(bet, EventCounts(30, 30, 0, 30))
    poor = rich.after(bet, EventCounts(0, 40, 40, 40))

    assert rich.refutes(significance=1e-6)
    assert poor.refutes(significance=1e-6)
    assert poor.evidence < 0 < rich.evidence == poor.largest
    assert not BetProcess.start().refutes(significance=0.5)


def test_blocks_add_up_for_every_bettor() -> None:
    """Two blocks with one bet are worth what both together are, not the product of the means."""
    bet = EventBet(epsilon=0.5, delta=0.01, p=0.8, q=0.2)
    apart = BetProcess.start().after(bet, TRIALS[0]).after(bet, TRIALS[3])
    together = BetProcess.start().after(bet, EventCounts(1, 1, 0, 1))

    assert np.allclose(apart.wealths, together.wealths, atol=1e-12)
    assert apart.evidence == pytest.approx(bet.log_evidence(EventCounts(1, 1, 0, 1)), abs=1e-12)
