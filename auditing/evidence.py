"""Evidence that may be looked at after every trial, and that multiplies over runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import LARGEST_EPSILON, significance_of
from dpproof.auditing.counts import (
    Claim,
    Design,
    EventCounts,
    Floats,
    PrefixCounts,
    Tangent,
    exp_up,
    logistic_up,
    special,
)
from dpproof.auditing.planning.plan import CurvePlan
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.witness import BothSides, Question

# How much of the excess of a predicted posterior over the claim's bias is bet, mixed equally.
SHARES = (1.0, 0.6, 0.3, 0.1, 0.0)


@final
@dataclass(frozen=True, slots=True, init=False)
class EProcess:
    """Bets against a claim that a true claim does not let grow.

    Statement: let labels be fair coins, P(T) <= e^eps Q(T) + delta for all events T, q = e^eps /
        (1 + e^eps). Let eta be any predictions of Pr(L = 1 | x) that depend on earlier trials and
        on x alone, eta <= h with h fixed before x. With eta replaced by q where it is smaller, and
        h by q where that is smaller, each trial multiplies the wealth by (eta / q if L = 1, (1 -
        eta) / (1 - q) if L = 0) / (1 + delta (h / q - 1) / 2). Then the wealth is a non-negative
        supermartingale that starts at 1, and Pr(it ever reaches 1 / significance) <= significance.
    Proof: proofs/theory/audits.md, section 4. A mixture of such wealths is one, and so is a product
        over independent runs.
    Rounds: the wealth down.

    Args:
        epsilon: claimed.
        delta: claimed.
    """

    claimed_epsilon: float
    claimed_delta: float

    def __init__(self, *, epsilon: Number, delta: Number = 0) -> None:
        above = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        object.__setattr__(self, "claimed_epsilon", above)
        object.__setattr__(
            self, "claimed_delta", floats_around(arguments.probability(delta=delta))[1]
        )

    def log_wealths(self, eta: Floats, labels: NDArray[np.bool_], *, highest: float) -> Floats:
        """Return the log wealths that several bettors gain from some trials, shape (bettors,).

        Add them over the blocks of a run; ``mixed`` gives the wealth. The predictions ``eta``, one
        a label, are fixed before labels are seen, and ``highest`` before outputs are.
        """
        if eta.shape != labels.shape or not ((eta >= 0) & (eta <= min(highest, 1.0))).all():
            raise ParameterError("eta", eta, f"one number up to {highest} for every label")
        return self.tallied(*tallies(eta, labels), highest=highest)

    def tallied(self, eta: Floats, hits: Floats, misses: Floats, *, highest: float) -> Floats:
        """Return the log wealths from the numbers of trials on D and on D' with each prediction."""
        return np.asarray(gained([self], eta, hits, misses, highest=highest)[0])

    def start(self) -> Floats:
        """Return the log wealths before any trial."""
        return np.zeros(len(SHARES))

    @staticmethod
    def mixed(log_wealths: Floats) -> float:
        """Return the log of the bettors' mixture, rounded down: evidence against the claim."""
        return float(mixed_rows(np.asarray(log_wealths)[None])[0])

    @staticmethod
    def refutes(log_wealth: float, *, significance: Number) -> bool:
        """Return whether the evidence, at any time, contradicts the claim at the significance."""
        return log_wealth >= EProcess.needed(significance=significance)

    @staticmethod
    def needed(*, significance: Number) -> float:
        """Return the log of the wealth that contradicts a claim: 1 / significance, rounded up."""
        return -math.log(significance_of(significance)) * (1 + 1e-12)


def tallies(eta: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return the distinct predictions and the numbers of trials with each, on D and on D'."""
    values, place = np.unique(eta, return_inverse=True)
    hits, misses = (np.bincount(place[side], minlength=len(values)) for side in (labels, ~labels))
    return values, hits.astype(np.float64), misses.astype(np.float64)


def gained(
    bets: Sequence[EProcess], eta: Floats, hits: Floats, misses: Floats, *, highest: float
) -> Floats:
    """Return ``EProcess.tallied`` of many claims at once, shape (claims, bettors)."""
    q = np.array([logistic_up(bet.claimed_epsilon) for bet in bets])[:, None]
    delta = np.array([bet.claimed_delta for bet in bets])[:, None]
    excess = np.maximum(eta - q, 0.0)
    most = np.maximum(highest - q, 0.0) / q
    shares = np.array(SHARES)
    costs = np.log1p(0.5 * delta * shares * most)
    with np.errstate(divide="ignore"):
        won = np.log1p(shares[:, None] * (excess / q)[:, None, :])
        lost = np.log1p(-shares[:, None] * (excess / (1 - q))[:, None, :])
    # A prediction that nobody had loses nothing, even if it were certain.
    lost = np.where(misses > 0, lost, 0.0)
    trials = float(hits.sum() + misses.sum())
    return np.asarray(won @ hits + lost @ misses - trials * costs * (1 + 1e-12))


def mixed_rows(log_wealths: Floats) -> Floats:
    """Return ``EProcess.mixed`` of every row, shape (rows,)."""
    largest = log_wealths.max(axis=1)
    lost = largest == -math.inf
    apart = log_wealths - np.where(lost, 0.0, largest)[:, None]
    with np.errstate(divide="ignore"):
        value = np.where(lost, 0.0, largest) + np.log(np.exp(apart).mean(axis=1))
        return np.asarray(np.where(lost, -math.inf, value - 1e-12 * (1 + np.abs(value))))


_MOST, _STEPS = 0.99, 100


@final
@dataclass(frozen=True, slots=True, init=False)
class EventBet:
    """A bet against P(S) <= e^eps Q(S) + delta that is fair or worse while that holds.

    Statement: let labels be fair coins and S, g >= e^eps, delta, w, b >= 0 be fixed in advance,
        and for one trial Z = 2 1{x in S} (1{L = 1} - g 1{L = 0}) - w (1{L = 1} - 1{L = 0}) -
        delta. If b Z >= -1 always, the product of 1 + b Z over independent trials has expectation
        at most 1: it is an e-value. So is a mixture over several b, and a product over runs.
    Proof: E Z = P(S) - g Q(S) - delta <= 0, since E 1{L = 1} = E 1{L = 0}; and 1 + b Z >= 0.
    Choice: for predicted p > g q + delta let (p', q') on p' = g q' + delta be nearest to (p, q) in
        relative entropy. The likelihood ratio of (p, q) to (p', q') has the form 1 + b Z, and its
        b and w make the evidence grow fastest where the prediction is true. Any b and w are valid.
    Rounds: the evidence down.

    Args:
        epsilon: claimed, or of a tangent of the claimed curve.
        delta: with it.
        p: predicted P(S), from other trials.
        q: predicted Q(S). Where p <= e^epsilon q + delta nothing is bet.
    """

    slope: float
    delta: float
    balance: float
    stake: float

    def __init__(self, *, epsilon: Number, delta: Number, p: float, q: float) -> None:
        loss = floats_around(arguments.real(epsilon=epsilon))[1]
        slope = exp_up(min(loss, LARGEST_EPSILON))
        mass = floats_around(arguments.probability(delta=delta))[1]
        for name, value in (("p", p), ("q", q)):
            if not 0 < value < 1:
                raise ParameterError(name, value, "a predicted probability in (0, 1)")
        stake = balance = 0.0
        if loss <= LARGEST_EPSILON and p > slope * q + mass:
            nearest = _nearest(p, q, slope, mass)
            here = slope * nearest + mass
            stake = 0.5 * (p / here - (1 - p) / (1 - here))
            balance = (1 - (1 - p) / (1 - here)) / stake - mass
        object.__setattr__(self, "slope", slope)
        object.__setattr__(self, "delta", mass)
        object.__setattr__(self, "balance", balance)
        worst = min(self._gains())
        object.__setattr__(self, "stake", min(stake, _MOST / -worst) if worst < 0 else 0.0)

    def _gains(self) -> tuple[float, float, float, float]:
        """Return the four values of Z: on D in S, on D outside, on D' in S, on D' outside."""
        w, delta = self.balance, self.delta
        return 2 - w - delta, -w - delta, w - 2 * self.slope - delta, w - delta

    def log_evidence(self, counts: EventCounts) -> float:
        """Return the log of the e-value of fresh counts by coins, rounded down."""
        return EProcess.mixed(self.log_wealths(counts))

    def log_wealths(self, counts: EventCounts) -> Floats:
        """Return the log wealths that several bettors gain from fresh counts, shape (bettors,)."""
        if counts.design is not Design.COIN:
            raise ParameterError("counts.design", counts.design, "Design.COIN")
        times = (
            counts.hits,
            counts.trials - counts.hits,
            counts.other_hits,
            counts.other_trials - counts.other_hits,
        )
        return np.array([self._log_wealth(share * self.stake, times) for share in SHARES])

    def _log_wealth(self, stake: float, times: tuple[int, ...]) -> float:
        terms = [n * math.log1p(stake * z) for n, z in zip(times, self._gains(), strict=True)]
        rounding = 1e-14 * (sum(times) + math.fsum(map(abs, terms)))
        return math.fsum(terms) - rounding


def unbet() -> float:
    """Return the log of the wealth not bet, left when a run ends before its counts are complete."""
    # e 1{complete} + unbet 1{not} is at most e, whatever ends it: share 0 keeps its wealth.
    return EProcess.mixed(np.array([0.0 if share == 0 else -math.inf for share in SHARES]))


def _nearest(p: float, q: float, slope: float, delta: float) -> float:
    """Return the q' in [q, (p - delta) / slope] with (slope q' + delta, q') nearest to (p, q)."""

    def falling(there: float) -> bool:
        here = slope * there + delta
        rise = slope * (here - p) / (here * (1 - here)) + (there - q) / (there * (1 - there))
        return not rise > 0

    return 0.5 * sum(bisect(falling, q, (p - delta) / slope, rounds=_STEPS))


@final
@dataclass(frozen=True, slots=True, eq=False)
class BetProcess:
    """One ``EventBet`` after the other, against a claim of which each bet's inequality is a part.

    Statement: let a claim say P(T) <= e^eps Q(T) + delta for all events T and all (eps, delta) of
        a set, in both orders of the datasets, as a trade-off curve does. Let trials be drawn by
        fair coins, block after block, and let the order, the event, the (eps, delta) and the bet
        of each block be functions of the blocks before. Then the wealth, the mean over the
        bettors' products, is a non-negative supermartingale that starts at 1, and Pr(it ever
        reaches 1 / significance) <= significance.
    Proof: given the earlier blocks the bet is fixed and the block's trials are independent of
        them, so by ``EventBet`` no bettor's wealth grows in expectation. Ville's inequality.
    Rounds: the wealth down.

    Example:
        >>> bet = EventBet(epsilon=0, delta=0, p=0.9, q=0.1)
        >>> process = BetProcess.start().after(bet, EventCounts(9, 10, 1, 10))
        >>> process.refutes(significance=0.05)
        True
    """

    wealths: Floats  # log wealth of every bettor, shape (bettors,)
    largest: float  # log of the largest wealth so far

    @staticmethod
    def start() -> BetProcess:
        """Return the process before any trial."""
        return BetProcess(np.zeros(len(SHARES)), 0.0)

    def after(self, bet: EventBet, counts: EventCounts) -> BetProcess:
        """Return the process after a block, with counts of the event of a bet made before it."""
        wealths = self.wealths + bet.log_wealths(counts)
        return BetProcess(wealths, max(self.largest, EProcess.mixed(wealths)))

    @property
    def evidence(self) -> float:
        """Return the log of the present wealth: an e-value."""
        return EProcess.mixed(self.wealths)

    def refutes(self, *, significance: float) -> bool:
        """Return whether the wealth was large enough at any time."""
        return EProcess.refutes(self.largest, significance=significance)


_GROWTH, _LARGEST = 1.1, 600.0

# No audit's e-value is below this, in logarithm: at most two stages, each with what nobody bets.
LEAST = 2 * unbet() - 1e-9


def log_evidence(
    training: Training,
    claim: Claim,
    question: Question,
    curves: Sequence[CurvePlan],
    counts: Sequence[PrefixCounts],
) -> float:
    """Return the log of the e-value of a stage's counts: the mean of bets on its questions."""
    # A bet is on what training showed, and at least a tenth more loss than is claimed.
    logs = [0.0]
    if math.isfinite(claim.epsilon):
        logs = [_best_bet(question, training, claim, counts[0])]
    for curve, counted in zip(curves, counts[1:], strict=False):
        bet = bet_on(training_counts(curve.question, training).event(0), curve.tangent)
        logs.append(bet.log_evidence(counted.event(0)))
    return EProcess.mixed(np.array(logs))


def _best_bet(question: Question, training: Training, claim: Claim, counts: PrefixCounts) -> float:
    """Return the log wealth of the bet on the event that would have earned most in training."""
    past = training_counts(question, training)
    against = [past.event(position) for position in range(len(past.inside))]
    bets = [bet_on(event, _tangent(event, claim)) for event in against]
    earned = [bet.log_evidence(event) for bet, event in zip(bets, against, strict=True)]
    best = int(np.argmax(earned))
    return bets[best].log_evidence(counts.event(best))


def _tangent(past: EventCounts, claim: Claim) -> Tangent:
    """Return the claim at its own epsilon, with the room that a tenth more epsilon would make."""
    q = _frequency(past.other_hits, past.other_trials)
    here, more = (math.exp(min(a * claim.epsilon, _LARGEST)) for a in (1.0, _GROWTH))
    return Tangent(claim.epsilon, claim.delta_up, (more - here) * q)


def training_counts(question: Question | BothSides, training: Training) -> PrefixCounts:
    """Count the events of a question on training samples."""
    inside, hits = question.count(training.features, training.labels)
    on_data = int(training.labels.sum())
    return question.counts(inside, hits, on_data, len(training) - on_data)


def bet_on(past: EventCounts, tangent: Tangent) -> EventBet:
    """Return a bet on the past frequencies, or on a tenth more loss than claimed if larger."""
    p = _frequency(past.hits, past.trials)
    q = _frequency(past.other_hits, past.other_trials)
    grown = math.exp(min(tangent.epsilon, _LARGEST)) * q + tangent.delta + tangent.room
    p = min(max(p, grown), _frequency(past.trials, past.trials))
    return EventBet(epsilon=tangent.epsilon, delta=tangent.delta, p=p, q=q)


def _frequency(hits: int, trials: int) -> float:
    return (hits + 0.5) / (trials + 1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSequence:
    """Bets against many epsilons at once; the bound is how far from below all of them are refuted.

    Statement: for every epsilon of a grid fixed in advance let W be the wealth of ``EProcess``
        against (epsilon, delta), half of it bet in either order of the datasets. Let the bound
        after t trials be the largest grid point such that there and at every smaller one W has
        reached 1 / significance at some time up to t, 0 when there is none. Then the probability
        that the bound is ever above an epsilon at which the mechanism is (epsilon, delta)-DP is
        at most the significance.
    Proof: let e be the smallest grid point at or above such an epsilon; the claim (e, delta) holds.
        A bound above epsilon is a grid point, so it is e or beyond, and W at e has reached 1 /
        significance. Ville's inequality allows that with probability at most the significance.
        The grid costs nothing, because the bound cannot pass e without refuting e.
    Laws: the bound is a grid point or 0; it falls neither with more trials nor with a larger
        significance.
    Rounds: the wealth down.

    Example:
        >>> sequence = ConfidenceSequence.over([0, 0.5, 1], significance=0.05)
        >>> labels = np.arange(400) % 4 < 3
        >>> sequence.after(np.full(400, 0.75), labels, highest=0.75, lowest=0.75).epsilon
        0.5
    """

    bets: tuple[EProcess, ...]  # one against each epsilon of the grid, increasing
    significance: float  # error probability of all times together
    wealths: Floats  # log wealth of every bettor, shape (grid, 2, bettors)
    largest: Floats  # log of the largest wealth so far, shape (grid,)

    @staticmethod
    def over(
        epsilons: Sequence[Number], *, significance: Number, delta: Number = 0
    ) -> ConfidenceSequence:
        """Return the sequence before any trial."""
        grid = sorted({arguments.non_negative(epsilon=epsilon) for epsilon in epsilons})
        if not grid:
            raise ParameterError("epsilons", epsilons, "at least one")
        bets = tuple(EProcess(epsilon=epsilon, delta=delta) for epsilon in grid)
        wealths = np.zeros((len(bets), 2, bets[0].start().size))
        return ConfidenceSequence(bets, significance_of(significance), wealths, np.zeros(len(bets)))

    def after(
        self, eta: Floats, labels: NDArray[np.bool_], *, highest: float, lowest: float
    ) -> ConfidenceSequence:
        """Return the sequence after one more block of trials, looked at once, at its end.

        The predictions ``eta``, one a label, are fixed before the labels are seen; the limits that
        they keep before the outputs are.
        """
        within = (eta >= max(lowest, 0.0)) & (eta <= min(highest, 1.0))
        if eta.shape != labels.shape or not within.all():
            raise ParameterError("eta", eta, f"one in [{lowest}, {highest}] for every label")
        values, hits, misses = tallies(eta, labels)
        either = [
            gained(self.bets, values, hits, misses, highest=highest),
            gained(self.bets, 1.0 - values, misses, hits, highest=1.0 - lowest),
        ]
        later = replace(self, wealths=self.wealths + np.stack(either, axis=1))
        now = mixed_rows(later.wealths.reshape(len(self.bets), -1))
        return replace(later, largest=np.maximum(self.largest, now))

    @property
    def epsilon(self) -> float:
        """Return the lower confidence bound of epsilon, in nats; 0 when nothing is refuted."""
        refuted = self.largest >= EProcess.needed(significance=self.significance)
        return refuted_from_below([bet.claimed_epsilon for bet in self.bets], refuted.tolist())

    def refutes(self, position: int) -> bool:
        """Return whether the wealth against one epsilon of the grid was ever large enough."""
        return EProcess.refutes(float(self.largest[position]), significance=self.significance)

    def evidence(self, position: int) -> float:
        """Return the log of the present wealth against one epsilon of the grid: an e-value."""
        return EProcess.mixed(self.wealths[position].ravel())


def refuted_from_below(grid: Sequence[float], refuted: Sequence[bool]) -> float:
    """Return the largest number of a grid up to which all are refuted, 0 if the first is not."""
    first_left = (*refuted, False).index(False)
    return grid[first_left - 1] if first_left else 0.0


_MARGIN = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class GaussianSequence:
    """Bets against mu-GDP for many mu at once; the bound is how far from below all are refuted.

    Statement: for every mu of a grid fixed in advance let W be the wealth of a ``BetProcess``
        against tangents of mu-GDP: P(T) <= e^eps Q(T) + Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 -
        eps/mu). Let the bound be the largest grid point such that there and at every smaller one W
        has reached 1 / significance at some time, 0 when there is none. Then the probability that
        the bound is ever above a mu for which the mechanism is mu-GDP is at most the significance.
    Source: Dong, Roth & Su (arXiv:1905.02383), Corollary 2.13, for the tangents.
    Proof: as of ``ConfidenceSequence``; mu-GDP is mu'-GDP for every larger mu'.
    Laws: the bound is a grid point or 0, and never falls.
    Rounds: the wealth down, tangents up. Assumed: scipy's normal distribution function is right
        to a relative 1e-13.

    Example:
        >>> sequence = GaussianSequence.over([0, 0.5, 1, 1.5], significance=0.05)
        >>> seen = PrefixCounts((400,), (300,), 400, 400)
        >>> sequence.after(seen, seen).mu
        1.0
    """

    mus: tuple[float, ...]  # the grid, increasing
    significance: float
    processes: tuple[BetProcess, ...]  # one for each mu

    @staticmethod
    def over(mus: Sequence[Number], *, significance: Number) -> GaussianSequence:
        """Return the sequence before any trial."""
        grid = sorted({floats_around(arguments.non_negative(mu=mu))[1] for mu in mus})
        if not grid:
            raise ParameterError("mus", mus, "at least one")
        processes = tuple(BetProcess.start() for _ in grid)
        return GaussianSequence(tuple(grid), significance_of(significance), processes)

    def after(self, past: PrefixCounts, fresh: PrefixCounts) -> GaussianSequence:
        """Return the sequence after a block of the same events, by bets the past recommends."""
        predictions = _Predictions.of(past)
        later = [
            process if refuted else predictions.bet(mu, process, fresh)
            for mu, process, refuted in zip(self.mus, self.processes, self._refuted(), strict=True)
        ]
        return replace(self, processes=tuple(later))

    @property
    def mu(self) -> float:
        """Return the lower confidence bound of mu; 0 when nothing is refuted."""
        return refuted_from_below(self.mus, self._refuted())

    def _refuted(self) -> list[bool]:
        needed = EProcess.needed(significance=self.significance)
        return [process.largest >= needed for process in self.processes]


@final
@dataclass(frozen=True, slots=True)
class _Predictions:
    """Predicted Gaussian shifts of nested events, made from past blocks alone."""

    p: Floats  # on D
    q: Floats  # on D'
    apart: Floats  # difference of their normal quantiles
    errors: Floats  # variances of these, shape (2, events)

    @staticmethod
    def of(past: PrefixCounts) -> _Predictions:
        """Return predictions from the past, half an observation added so that none is certain."""
        hits, inside = np.array(past.hits, float), np.array(past.inside, float)
        p = (hits + 0.5) / (past.trials + 1)
        q = (inside - hits + 0.5) / (past.other_trials + 1)
        quantiles = special().ndtri(np.array([p, q]))
        numbers = np.array([[past.trials + 1.0], [past.other_trials + 1.0]])
        density = np.exp(-0.5 * quantiles**2) / math.sqrt(2 * math.pi)
        spread = np.array([p * (1 - p), q * (1 - q)])
        return _Predictions(p, q, quantiles[0] - quantiles[1], spread / (numbers * density**2))

    def bet(self, mu: float, process: BetProcess, fresh: PrefixCounts) -> BetProcess:
        """Return the process after a bet on the clearest event; no bet if no event is beyond mu."""
        beyond = (self.apart - mu) / np.sqrt(self.errors.sum(axis=0))
        if not beyond.max(initial=-math.inf) > 0:
            return process
        best = int(np.argmax(beyond))
        share = float(self.errors[1, best] / self.errors[:, best].sum())
        nearest = special().ndtri(self.q[best]) + share * (self.apart[best] - mu)
        epsilon, delta = tangent(mu, float(nearest))
        bet = EventBet(epsilon=epsilon, delta=delta, p=float(self.p[best]), q=float(self.q[best]))
        return process.after(bet, fresh.event(best))


def tangent(mu: float, quantile: float) -> tuple[float, float]:
    """Return the tangent (epsilon, delta) of mu-GDP at Q(S) = Phi(quantile), delta rounded up."""
    if mu == 0.0:
        return 0.0, 0.0
    epsilon = -mu * quantile - 0.5 * mu**2
    ndtr = special().ndtr
    right, wrong = (float(ndtr(-epsilon / mu + side * mu / 2)) for side in (1, -1))
    taken = math.exp(epsilon) * wrong
    return epsilon, min(1.0, right - taken + _MARGIN * (right + taken))
