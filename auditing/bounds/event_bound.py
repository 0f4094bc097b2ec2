"""Bounds from the counts of one event: two limits, a fair coin, one linear inequality."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant import Bound, DominatingPair, ParameterError, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect, bisect_integers
from dpproof.accountant.guarantees.guarantee import renyi_order
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.auditing.counts import (
    Claim,
    Design,
    EventCounts,
    Floats,
    Tangent,
    complement_up,
    exp_up,
    logistic_up,
    lower_limit,
    masses_up,
    special,
    tail_up,
    upper_limit,
)

LARGEST_EPSILON = 600.0
_STEPS, _CURVED = 60, 12


def significance_of(value: Number) -> float:
    """Return a significance level as a float at or below the exact value."""
    exact = arguments.open_probability(significance=value)
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, 0.0)


def thinning_of(value: Number) -> float:
    """Return the share of the significance that pays for delta."""
    return float(arguments.open_probability(thinning=value))


@frozen(kw_only=True)
class ConfidenceBound(ABC):  # noqa: B024  # no method is shared
    """A bound, or a test, that is wrong with probability at most ``significance``, in (0, 1)."""

    significance: float = field(converter=significance_of)


@frozen(kw_only=True)
class EventBound(ConfidenceBound, ABC):
    """A test of P(S) <= e^epsilon Q(S) + delta from the counts of one event S fixed in advance.

    Law: when the inequality holds, ``refutes`` is true with probability at most ``significance``,
    and so is ``epsilon(...) >`` the smallest epsilon for which it holds.
    """

    @abstractmethod
    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the inequality's p-value; it grows with epsilon."""

    @final
    def refutes(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> bool:
        """Return whether the counts contradict (epsilon, delta) at the significance."""
        return self.p_value(counts, epsilon=epsilon, delta=delta) <= self.significance

    @final
    def epsilon(self, counts: EventCounts, *, delta: Number = 0) -> float:
        """Return the lower confidence bound of epsilon at delta, in nats; 0 if none is refuted."""
        arguments.probability(delta=delta)
        return self.roughly(counts, delta=delta, tolerance=1e-5)

    @final
    def roughly(self, counts: EventCounts, *, delta: Number, tolerance: float) -> float:
        """Return the bound up to a tolerance, never above it."""
        return largest_at_most(
            lambda e: self.p_value(counts, epsilon=e, delta=delta), self.significance, tolerance
        )


def largest_refuted(refutes: Callable[[float], bool], tolerance: float = 1e-5) -> float:
    """Return a refuted epsilon within ``tolerance`` of the first that is not; 0 when none is."""
    if not refutes(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refutes(high):
        low, high = high, 2.0 * high
        if high > LARGEST_EPSILON:
            return low
    return bisect(refutes, low, high, rounds=_STEPS, close=tolerance)[0]


def largest_at_most(p_value: Callable[[float], float], level: float, tolerance: float) -> float:
    """Return a refuted epsilon as ``largest_refuted`` does, from p-values growing with epsilon."""
    # Illinois regula falsi on the logarithm; every fourth step halves, and all where it is curved.

    def excess(epsilon: float) -> float:
        value = p_value(epsilon)
        logarithm = math.log(max(value, 1e-300)) - math.log(level)
        return max(logarithm, 1e-12) if value > level else min(logarithm, 0.0)

    low, high = 0.0, 1.0
    below = excess(low)
    if below > 0.0:
        return 0.0
    while (above := excess(high)) <= 0.0:
        low, below, high = high, above, 2.0 * high
        if high > LARGEST_EPSILON:
            return low
    raised = lowered = False
    for step in range(_STEPS):
        if high - low <= tolerance:
            break
        share = 0.5 if step % 4 == 3 or step >= _CURVED else below / (below - above)
        beyond = 0.4 * tolerance * (raised - lowered)
        inset = min(0.4 * tolerance, 0.5 * (high - low))
        middle = min(max(low + share * (high - low) + beyond, low + inset), high - inset)
        here = excess(middle)
        if here <= 0.0:
            low, below, above = middle, here, (0.5 if raised else 1.0) * above
        else:
            high, above, below = middle, here, (0.5 if lowered else 1.0) * below
        raised, lowered = here <= 0.0, here > 0.0
    return low


_CELLS, _BLOCKS, _REACH, _FEW = 64, 192, 9.0, 1 << 10
_SUM_MARGIN = 4e-12


def _weight_of(value: Number) -> float:
    return float(arguments.positive(weight=value))


def _nuisance_of(value: Number) -> float:
    return float(arguments.open_probability(nuisance=value))


@final
@frozen(kw_only=True)
class TwoSample(EventBound):
    """The probability of a difference at least as large, under the worst Q(S) that is plausible.

    Statement: let k1 ~ Bin(n1, p) and k0 ~ Bin(n0, q) be independent (given the numbers of
        trials, whether coins or a plan drew them), and p <= e^eps q + delta. Let w > 0 be fixed in
        advance and T = k1/n1 - w k0/n0. With [q-, q+] the limits for q at level b/2 each, the
        p-value b + max over q in [q-, q+] of Pr(T >= observed | min(1, e^eps q + delta), q) is
        valid.
    Source: Berger & Boos, JASA 89 (1994), Lemma 1; proofs/theory/audits.md, section 5.
    Rounds: the p-value up.
    Use: a claimed curve delta(eps) says P(S) <= e^eps Q(S) + delta(eps) at every eps; one eps
        fixed in advance is a test of the curve. The power is best with w near e^eps.

    Args:
        weight: w.
        nuisance: the part b of the significance that pays for the limits of q, as a share.
    """

    weight: float = field(default=1, converter=_weight_of)
    nuisance: float = field(default=0.02, converter=_nuisance_of)

    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the p-value; it grows with epsilon."""
        counts.design.compare()
        loss = floats_around(arguments.real(epsilon=epsilon))[1]
        mass = floats_around(arguments.probability(delta=delta))[1]
        if loss > LARGEST_EPSILON or counts.trials == 0 or counts.other_trials == 0:
            return 1.0
        paid = self.nuisance * self.significance
        edges = _plausible(counts.other_hits, counts.other_trials, paid)
        p = np.minimum(1.0, (exp_up(loss) * edges[1:] + mass) * (1 + 4e-16))
        return min(1.0, paid + float(np.max(self._at_least(counts, p, edges[:-1], paid))))

    def _at_least(self, counts: EventCounts, p: Floats, q: Floats, paid: float) -> Floats:
        """Return upper bounds of Pr(T >= observed) for each (p, q)."""
        n1, n0 = counts.trials, counts.other_trials
        if max(n1, n0) <= _FEW:
            return self._of_few(counts, p, paid)
        first, last = _window(n0, q)
        blocks = np.linspace(0.0, 1.0, min(_BLOCKS, n0 + 1) + 1)
        starts = np.floor(first[:, None] + blocks * (last - first + 1)[:, None])
        lowest = starts[:, :-1]
        masses = _between(n0, q[:, None], starts)
        summed = np.sum(masses * tail_up(self._needed(counts, lowest), n1, p[:, None]), axis=1)
        outside = tail_up(last + 1, n0, q) + _below(n0, q, first)
        return np.asarray(summed + outside + _SUM_MARGIN)

    def _of_few(self, counts: EventCounts, p: Floats, paid: float) -> Floats:
        """Return them from a table of all probabilities."""
        tails = np.zeros((len(p), counts.trials + 2))
        tails[:, :-1] = masses_up(counts.trials, p)[:, ::-1].cumsum(axis=1)[:, ::-1]
        np.minimum(tails, 1.0, out=tails)
        others = np.arange(counts.other_trials + 1.0)
        needed = np.clip(self._needed(counts, others), 0, counts.trials + 1).astype(np.int64)
        masses = _plausible_masses(counts.other_hits, counts.other_trials, paid)
        summed = np.einsum("ij,ij->i", masses, tails[:, needed])
        return np.asarray(summed + _SUM_MARGIN)

    def _needed(self, counts: EventCounts, others: Floats) -> Floats:
        """Return the smallest number of hits with T >= observed, given the number of other hits."""
        ratio = self.weight * (counts.trials / counts.other_trials)
        change = ratio * (others - counts.other_hits)
        return np.ceil(counts.hits + change - 1e-9 - 1e-13 * np.abs(change))


@functools.lru_cache(maxsize=256)
def _plausible(hits: int, trials: int, level: float) -> Floats:
    """Return cells that cover the two probabilities with probability 1 - level."""
    low, high = lower_limit(hits, trials, level / 2), upper_limit(hits, trials, level / 2)
    return np.linspace(float(low), float(high), _CELLS + 1)


@functools.lru_cache(maxsize=8)
def _plausible_masses(hits: int, trials: int, level: float) -> Floats:
    """Return upper bounds of the probability of every number of hits, one row a cell."""
    return masses_up(trials, _plausible(hits, trials, level)[:-1])


def _window(n: int, q: Floats) -> tuple[Floats, Floats]:
    reach = _REACH * np.sqrt(n * q * (1 - q)) + 40
    return np.floor(np.clip(n * q - reach, 0, n)), np.ceil(np.clip(n * q + reach, 0, n))


def _between(n: int, q: Floats, starts: Floats) -> Floats:
    """Return Pr(start <= Bin(n, q) < next start)."""
    above = starts > n * q
    # From the smaller tail: Pr(Bin >= start) above the mean, Pr(Bin < start) up to it.
    k, p = np.where(above, starts, n - starts + 1), np.where(above, q, 1 - q)
    tails = tail_up(k, n, p)
    left, right = tails[:, :-1], tails[:, 1:]
    both = np.where(above[:, :-1], left - right, right - left)
    inside = np.where(above[:, :-1] == above[:, 1:], both, 1 - left - right)
    return np.asarray(np.maximum(inside, 0))


def _below(n: int, q: Floats, k: Floats) -> Floats:
    return tail_up(n - k + 1, n, complement_up(q))


# The outputs may be anything hashable.
Law = Mapping[Any, Number]


@final
@frozen(init=False)
class Enumeration:
    """The privacy loss of one pair of datasets, from the exact probabilities of its outputs.

    Statement: for discrete laws P and Q, sup over S of P(S) - e^eps Q(S) = sum of
        max(P(y) - e^eps Q(y), 0). A claim is refuted when this exceeds the claimed delta(eps) at
        some eps, in either order; both sides are rigorous brackets, so a refutation is a proof.
        Not being refuted is a proof for a claim of one point, and says for a curve that it holds
        at the epsilons that were looked at: the log ratios of the outputs.
    Rounds: the loss down, the claim up.

    Args:
        first: output -> exact probability on D, summing to exactly 1.
        second: the same on D'.
    Example:
        >>> law = Enumeration({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: 0.25, 1: 0.75})
        >>> law.refutes((1, 0)) is not None, law.refutes((1.1, 0)) is None
        (True, True)
    """

    pair: DominatingPair[Any]

    def __init__(self, first: Law, second: Law) -> None:
        outputs = list(dict.fromkeys([*first, *second]))
        p, q = (
            tuple(arguments.probability(mass=law.get(output, 0)) for output in outputs)
            for law in (first, second)
        )
        forward = Product.of(FinitePair(p=p, q=q))
        self.__attrs_init__(DominatingPair(forward=forward, backward=forward.swapped()))

    def epsilon(self, *, delta: Number = 0) -> Bound:
        """Return the smallest epsilon of this pair, in the worse order."""
        return self.pair.epsilon(delta=delta)

    def delta(self, *, epsilon: Number) -> Bound:
        """Return the smallest delta of this pair, in the worse order."""
        return self.pair.delta(epsilon=epsilon)

    def refutes(self, claim: object) -> Tangent | None:
        """Return a point (epsilon, delta) of the claim that is false for this pair, else None."""
        stated = Claim.of(claim)
        epsilon = stated.epsilon
        point = Tangent(epsilon, stated.guarantee.delta(epsilon=epsilon).upper, 0.0)
        for tangent in (point, *stated.tangents()):
            if self.delta(epsilon=Fraction(tangent.epsilon)).lower > tangent.delta:
                return tangent
        return None


@final
@frozen(kw_only=True)
class RandomisedLabel(EventBound):
    """One exact binomial: given the outputs, the labels of trials in S are coins.

    Statement: let L = 1 (dataset D) or 0 (D') be a fair coin for every one of N trials. Let P and Q
        be the laws of the outputs, S fixed, and P(T) <= e^eps Q(T) + delta for every T inside S.
        Let k1 be the trials in S with L = 1, k0 those with L = 0, and Pr(Bin(N, delta/2) > c) <= t.
        The p-value t + Pr(Bin(k1 - c + k0, e^eps / (1 + e^eps)) >= k1 - c) is valid. The same
        holds of right and wrong guesses, on disjoint events, with Bin(N, delta).
    Proof: proofs/theory/audits.md, section 1.
    Rounds: the p-value up.

    Args:
        thinning: the part t of the significance that pays for delta, as a share; unused when
            delta is 0.
    Example:
        >>> counts = EventCounts(hits=7311, trials=10_000, other_hits=2689, other_trials=10_000)
        >>> 0.95 < RandomisedLabel(significance=0.05).epsilon(counts) < 1
        True
    """

    thinning: float = field(default=0.1, converter=thinning_of)

    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the p-value; it grows with epsilon.

        Raises:
            ParameterError: the design is not by coins.
        """
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        marked = counts.design.marked(delta)
        paid, removed = thinned(counts.total, marked, self.thinning * self.significance)
        left = counts.hits - removed
        tail = float(tail_up(left, max(left, 0) + counts.other_hits, logistic_up(loss)))
        return min(1.0, paid + tail)


def thinned(
    trials: int, marked: Fraction, level: float, design: Design = Design.COIN
) -> tuple[float, int]:
    """Return the cost of delta: t <= level, and c with Pr(B > c) <= t for the number B of marks."""
    # B is Bin(trials, marked). Of one run only its mean is known to be at most that: Markov.
    mark = floats_around(marked)[1]
    if mark == 0.0 or trials == 0:
        return 0.0, 0
    if design is Design.ONE_RUN:
        mass = mark * trials * (1 + 1e-15)
        removed = max(0, math.ceil(mass / level) - 1)
        return mass / (removed + 1) * (1 + 1e-15), removed

    def likely(most: int) -> bool:
        return not float(tail_up(most + 1, trials, mark)) <= level

    most = bisect_integers(likely, -1, trials)[1]
    return float(tail_up(most + 1, trials, mark)), most


@final
@frozen(kw_only=True)
class Rectangle(EventBound):
    """P(S) and Q(S) each inside their limit, at half the significance each.

    Statement: for S and the numbers of trials fixed in advance, Pr(P(S) < lower limit) and
        Pr(Q(S) > upper limit) are at most significance / 2 each, so (epsilon, delta) is refuted
        when the lower limit exceeds e^eps times the upper limit plus delta. The p-value is the
        smallest significance at which that happens, bounded from above by bisection.
    Source: Clopper & Pearson, Biometrika 26 (1934); used so by Jagielski, Ullman & Oprea
        (arXiv:2006.07709), Section 4.
    Rounds: the p-value up.
    """

    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the p-value; it grows with epsilon."""
        counts.design.compare()
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        mass = floats_around(arguments.probability(delta=delta))[1]
        return 1.0 if loss > LARGEST_EPSILON else _crossing(counts, loss, mass)

    def limits(self, counts: EventCounts) -> tuple[float, float]:
        """Return the lower limit of P(S) and the upper limit of Q(S), valid jointly."""
        counts.design.compare()
        half = self.significance / 2
        return (
            float(lower_limit(counts.hits, counts.trials, half)),
            float(upper_limit(counts.other_hits, counts.other_trials, half)),
        )


def _crossing(counts: EventCounts, epsilon: float, delta: float) -> float:
    """Return twice the smallest level a at which the limits contradict the inequality."""
    # For any q and p = e^eps q + delta: if Pr(Bin >= hits | p) <= a and Pr(Bin <= other_hits | q)
    # <= a, the limits at level a are above p and below q. So the larger tail is a valid a wherever
    # q stands; the first grows with q, the second falls, and bisection finds where they cross.
    slope = exp_up(epsilon)

    def tails(q: float) -> tuple[float, float]:
        p = min(1.0, (slope * q + delta) * (1 + 4e-16))
        misses = counts.other_trials - counts.other_hits
        above = float(tail_up(counts.hits, counts.trials, p))
        unhit = complement_up(np.asarray(q))
        return above, float(tail_up(misses, counts.other_trials, unhit))

    low, high = 0.0, 1.0
    best = 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        first, second = tails(middle)
        best = min(best, max(first, second))
        if first < second:
            low = middle
        else:
            high = middle
        if high - low <= 1e-7 * high:
            break
    return min(1.0, 2.0 * best)


_MARGIN = 1e-9


@final
@frozen(kw_only=True)
class GaussianEvent(ConfidenceBound):
    """The distance of two normal distributions that is needed to explain one event.

    Statement: if the mechanism is mu-GDP then Phi^-1(P(S)) - Phi^-1(Q(S)) <= mu for every event
        S; with the limits of ``Rectangle`` in place of P(S) and Q(S), the left side exceeds mu
        with probability at most the significance.
    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6; used so by Nasr et al.
        (arXiv:2302.07956), Section 5.
    Rounds: down.
    Beware: this bounds mu for a claim of mu. A bound of epsilon from it assumes a Gaussian
        trade-off curve; ``epsilon`` of an event bound does not.
    """

    def mu(self, counts: EventCounts) -> float:
        """Return the lower confidence bound of mu; 0 when nothing is shown."""
        low, high = Rectangle(significance=self.significance).limits(counts)
        if not low > 0 or not high < 1 or low <= high:
            return 0.0
        quantile = special().ndtri
        return max(0.0, float(quantile(low) - quantile(high)) - _MARGIN)


_RENYI_EVENT_MARGIN = 1e-12
_FAR = 600.0  # e^x is a float for x up to here


@final
@frozen(kw_only=True)
class RenyiEvent(ConfidenceBound):
    """The divergence between two coins, which data processing puts below that of the outputs.

    Statement: D_a(P || Q) >= d_a(p, q) = ln(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) / (a - 1) with p =
        P(S), q = Q(S). It grows with p and falls with q where p > q, so that d_a at the limits of
        ``Rectangle`` exceeds D_a with probability at most the significance; the same limits serve
        every order, and rho >= D_a / a at each of them.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9 (data processing).
    Rounds: down.
    Limit: one event shows about two thirds of the divergence of Gaussians at order 2, less above.
    """

    def rdp(self, counts: EventCounts, *, order: Number) -> float:
        """Return the lower confidence bound of the divergence at an order above 1, in nats."""
        exact = float(renyi_order(order=order))
        low, high = Rectangle(significance=self.significance).limits(counts)
        if low <= high:
            return 0.0
        return _of_coins(low, high, exact - 1.0)

    def rho(self, counts: EventCounts, *, orders: Sequence[Number] = (1.01, 1.5, 2, 4, 8)) -> float:
        """Return the lower confidence bound of rho for a claim of zCDP: the best of the orders."""
        if not orders:
            raise ParameterError("orders", orders, "at least one order above 1")
        shares = [self.rdp(counts, order=order) / float(order) for order in orders]
        return max(shares) * (1 - _RENYI_EVENT_MARGIN)


def _of_coins(p: float, q: float, excess: float) -> float:
    """Return d_a(p, q) for p > q and a = 1 + excess, rounded down."""
    # As log(1 + p (e^(s l) - 1) + (1-p) (e^(s m) - 1))/s, s = a - 1, l = log p/q, m = log
    # (1-p)/(1-q): next to order 1 terms are as small as s, and so is their rounding. Far out one is
    # enough.
    hit = math.log1p((p - q) / q)
    if excess * hit > _FAR:
        value, size = math.log(p) + excess * hit, abs(math.log(p)) + excess * hit
    else:
        missed = math.log1p(-(p - q) / (1.0 - q)) if p < 1.0 else -math.inf
        terms = p * math.expm1(excess * hit), (1.0 - p) * math.expm1(excess * missed)
        size = value = math.log1p(max(sum(terms) - _RENYI_EVENT_MARGIN * sum(map(abs, terms)), 0.0))
    return max(0.0, (value - _RENYI_EVENT_MARGIN * size) / excess)
