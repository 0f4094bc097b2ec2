"""Evidence that may be looked at after every trial."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import BetProcess, Design, EProcess, EventBet, EventCounts
from dpproof.auditing.evidence import tangent, unbet


def expected_wealth(process: EProcess, etas: list[float], masses: list[list[float]]) -> float:
    """Exact expectation after one trial, over a few outputs with masses under P and Q."""
    total = 0.0
    for position, eta in enumerate(etas):
        for label, mass in ((True, masses[0][position]), (False, masses[1][position])):
            log = process.log_wealths(np.array([eta]), np.array([label]), highest=max(etas))
            total += 0.5 * mass * math.exp(EProcess.mixed(log))
    return total


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (0.3, 0.4)])
@pytest.mark.parametrize(
    "etas", [[0.9, 0.5, 0.1], [1.0, 0.0, 0.3], [0.2, 0.3, 0.4], [0.99, 0.99, 0.99]]
)
def test_wealth_does_not_grow_under_the_claim(
    epsilon: float, delta: float, etas: list[float]
) -> None:
    """Exactly, for the least favourable laws: all of the loss, and of delta, on the best bets."""
    process = EProcess(epsilon=epsilon, delta=delta)
    e = math.exp(epsilon)
    for q in np.linspace(0, (1 - delta) / e, 21):
        # P = delta + e^eps q on the first output; the rest of each on the others.
        p = delta + e * q
        laws = [[p, 0.0, 1 - p], [q, 0.0, 1 - q]]
        spread = [[p * 0.5, p * 0.5, 1 - p], [q * 0.5, q * 0.5, 1 - q]]

        assert expected_wealth(process, etas, laws) <= 1 + 1e-12
        assert expected_wealth(process, etas, spread) <= 1 + 1e-12


def test_wealth_grows_when_the_claim_is_false() -> None:
    """The expectation exceeds 1 at half the loss, and 1 / significance is reached."""
    process = EProcess(epsilon=0.5)
    bias = 1 / (1 + math.exp(-1))
    laws = [[bias, 1 - bias], [1 - bias, bias]]
    assert expected_wealth(process, [bias, 1 - bias], laws) > 1

    rng = np.random.default_rng(3)
    labels = rng.random(5_000) < bias
    log = process.log_wealths(np.full(5_000, bias), labels, highest=bias)
    assert process.refutes(EProcess.mixed(log), significance=1e-6)


def test_forgetting_delta_is_seen() -> None:
    """Betting against epsilon alone makes money from a mechanism that uses its delta."""
    laws = [[0.4, 0.6], [0.0, 1.0]]
    etas = [1.0, 0.4]

    assert expected_wealth(EProcess(epsilon=0, delta=0.4), etas, laws) <= 1
    assert expected_wealth(EProcess(epsilon=0), etas, laws) > 1.05


def test_one_bettor_never_bets() -> None:
    """Whatever is lost, a fifth of the wealth stays."""
    process = EProcess(epsilon=0)
    lost = process.log_wealths(np.ones(1_000), np.zeros(1_000, dtype=bool), highest=1.0)

    assert EProcess.mixed(lost) == pytest.approx(math.log(0.2), abs=1e-6)


@pytest.mark.parametrize("eta", [-0.1, 1.1, float("nan"), 0.9])
def test_refuses_predictions_beyond_their_limit(eta: float) -> None:
    """A prediction is a probability of at most ``highest``."""
    with pytest.raises(ParameterError):
        EProcess(epsilon=1).log_wealths(np.array([eta]), np.array([True]), highest=0.8)


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


def event_bet_expected(bet: EventBet, p: float, q: float, trials: int) -> float:
    """Exact expectation of the e-value of a few trials."""
    chances = (0.5 * p, 0.5 * (1 - p), 0.5 * q, 0.5 * (1 - q))
    return math.fsum(
        math.prod(chances[kind] for kind in cells) * math.exp(bet.log_evidence(counted(cells)))
        for cells in itertools.product(range(4), repeat=trials)
    )


@pytest.mark.some(8)
@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
@pytest.mark.parametrize(("p", "q"), PREDICTED)
def test_nothing_is_earned_while_the_claim_holds(
    epsilon: float, delta: float, p: float, q: float
) -> None:
    """Exactly, after one and after three trials, whatever was predicted."""
    bet = EventBet(epsilon=epsilon, delta=delta, p=p, q=q)
    for true_p, true_q in laws(epsilon, delta):
        for trials in (1, 3):
            assert event_bet_expected(bet, true_p, true_q, trials) <= 1 + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_the_edge_is_fair(epsilon: float, delta: float) -> None:
    """At the edge the expectation is 1: nothing is given away but the rounding."""
    bet = EventBet(epsilon=epsilon, delta=delta, p=0.999, q=0.05)
    q = 0.1 * (1 - delta)

    assert event_bet_expected(bet, math.exp(epsilon) * q + delta, q, 3) == pytest.approx(
        1, abs=1e-9
    )


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_event_bet_a_wrong_claim_pays(epsilon: float, delta: float) -> None:
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

    assert event_bet_expected(bet, p, q, 3) > 1 + 1e-6


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
