"""The bet on one event: fair at the edge of the claim, profitable beyond it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Design, EventBet, EventCounts
from dpproof.auditing.evidence.event_bet import unbet

CLAIMS = [(0.0, 0.0), (1.0, 0.0), (0.3, 0.2), (2.0, 1e-3), (0.0, 0.4)]
PREDICTED = [(0.9, 0.05), (0.5, 0.1), (0.99, 0.3), (0.02, 1e-4), (0.75, 0.74)]


def laws(epsilon: float, delta: float) -> Iterator[tuple[float, float]]:
    """Probabilities at the edge of a claim, and inside it."""
    e = math.exp(epsilon)
    for q in (0.0, 1e-3, 0.05, 0.2, 0.5, 0.9, (1 - delta) / e):
        if e * q + delta <= 1 + 1e-12:
            yield min(1.0, e * q + delta), q
        yield min(1.0, 0.5 * (e * q + delta)), q


def counted(cells: tuple[int, ...]) -> EventCounts:
    """Counts from trials in the four cells: on D in S, on D outside, on D' in S, outside."""
    hit, miss, other_hit, other_miss = (cells.count(kind) for kind in range(4))
    return EventCounts(hit, hit + miss, other_hit, other_hit + other_miss)


def expected(bet: EventBet, p: float, q: float, trials: int) -> float:
    """Exact expectation of the e-value of a few trials."""
    chances = (0.5 * p, 0.5 * (1 - p), 0.5 * q, 0.5 * (1 - q))
    return math.fsum(
        math.prod(chances[kind] for kind in cells) * math.exp(bet.log_evidence(counted(cells)))
        for cells in itertools.product(range(4), repeat=trials)
    )


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
@pytest.mark.parametrize(("p", "q"), PREDICTED)
def test_nothing_is_earned_while_the_claim_holds(
    epsilon: float, delta: float, p: float, q: float
) -> None:
    """Exactly, after one and after three trials, whatever was predicted."""
    bet = EventBet(epsilon=epsilon, delta=delta, p=p, q=q)
    for true_p, true_q in laws(epsilon, delta):
        for trials in (1, 3):
            assert expected(bet, true_p, true_q, trials) <= 1 + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_the_edge_is_fair(epsilon: float, delta: float) -> None:
    """At the edge the expectation is 1: nothing is given away but the rounding."""
    bet = EventBet(epsilon=epsilon, delta=delta, p=0.999, q=0.05)
    q = 0.1 * (1 - delta)

    assert expected(bet, math.exp(epsilon) * q + delta, q, 3) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_a_wrong_claim_pays(epsilon: float, delta: float) -> None:
    """Beyond the edge it grows, and no other stake or balance would grow faster."""
    q = 0.05
    p = math.exp(epsilon + 0.3) * q + delta + 0.02
    bet = EventBet(epsilon=epsilon, delta=delta, p=p, q=q)
    chances = (0.5 * p, 0.5 * (1 - p), 0.5 * q, 0.5 * (1 - q))

    def growth(stake: float, balance: float) -> float:
        other = EventBet(epsilon=epsilon, delta=delta, p=p, q=q)
        object.__setattr__(other, "balance", balance)
        gains = other._gains()
        return math.fsum(c * math.log1p(stake * z) for c, z in zip(chances, gains, strict=True))

    best = growth(bet.stake, bet.balance)

    assert best > 0
    for change in (0.9, 0.99, 1.01, 1.1):
        assert growth(bet.stake * change, bet.balance) < best
        assert growth(bet.stake, bet.balance * change) < best


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_forgetting_part_of_the_claim_is_seen(epsilon: float, delta: float) -> None:
    """A bet against less than is claimed earns from a mechanism that keeps its promise."""
    q = 0.1
    p = math.exp(epsilon + 0.05) * q + delta + 0.01
    bet = EventBet(epsilon=epsilon, delta=delta, p=0.99, q=q)

    assert expected(bet, p, q, 3) > 1 + 1e-6


def test_nothing_is_bet_on_a_claim_that_was_kept() -> None:
    """Without a predicted violation, or against an infinite loss, the e-value is 1."""
    for epsilon, p in ((1.0, 0.2), (700.0, 0.9)):
        bet = EventBet(epsilon=epsilon, delta=0, p=p, q=0.1)

        assert bet.log_evidence(EventCounts(50, 60, 1, 60)) == pytest.approx(0, abs=1e-9)


def test_whoever_does_not_bet_keeps_a_fifth() -> None:
    """The worst counts leave it, and a run that ended early is worth no more."""
    bet = EventBet(epsilon=0, delta=0, p=0.9, q=0.1)

    assert bet.log_evidence(EventCounts(0, 0, 10_000, 10_000)) == pytest.approx(math.log(0.2))
    assert unbet() == pytest.approx(math.log(0.2))
    assert unbet() <= math.log(0.2)


@pytest.mark.parametrize(("p", "q"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, math.nan)])
def test_refuses_predictions_that_are_certain(p: float, q: float) -> None:
    """A predicted probability is inside (0, 1)."""
    with pytest.raises(ParameterError, match="predicted"):
        EventBet(epsilon=1, delta=0, p=p, q=q)


def test_refuses_fixed_designs() -> None:
    """Labels have to be coins."""
    with pytest.raises(ParameterError, match=r"Design\.COIN"):
        EventBet(epsilon=0, delta=0, p=0.9, q=0.1).log_evidence(
            EventCounts(5, 10, 1, 10, Design.FIXED)
        )
