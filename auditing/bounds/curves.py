"""Bounds from many events, or guesses, at once: bands, measured regions, bins, and curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Self, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.guarantees.guarantee import renyi_order
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds import event_bound
from dpproof.auditing.counts import (
    MARGIN,
    BinCounts,
    Claim,
    Floats,
    LeastWrong,
    PrefixCounts,
    complement_up,
    gaussian,
    lines,
    logistic_up,
    lower_limit,
    special,
    supported,
    tail_up,
    upper_limit,
)

_SMALLEST_PREFIX, _FINE, _INTERVALS, _SMALLEST_TAIL = 8, 1e-6, 24, 1e-290
_NEGLIGIBLE, _OUTSIDE, _RELATIVE = 1e-22, 1e-16, 1e-6
_DIRECT, _STEP_ERROR = 1 << 22, 1e-13


@final
@frozen(kw_only=True)
class PrefixBand(event_bound.ConfidenceBound):
    """A bound that looks at every threshold and pays the exact price of looking.

    Statement: let trials be drawn by fair coins and sorted into nested events S_1 < S_2 < ...
        fixed before they were drawn, k_j of them in S_j and h_j of these on D, and q = e^eps / (1 +
        e^eps). Let P(T) <= e^eps Q(T) + delta for all events T. Let W(k) be a sum of k coins of
        bias q, t and c be as in ``RandomisedLabel``, and m the smallest of the tails Pr(Bin(k_j, q)
        >= h_j - c). Then t + Pr(for some j, Pr(Bin(k_j, q) >= W(k_j)) <= m) is a valid p-value. The
        same holds of right guesses, and of those of one run, each with its own c.
    Proof: proofs/theory/audits.md, section 2; one run: Steinke, Nasr & Jagielski
        (arXiv:2305.08846).
    Rounds: the p-value up. Prefixes of fewer than 8 trials are left out, a choice that the
        labels have no part in.

    Args:
        thinning: the part of the significance that pays for delta, as a share.
    """

    thinning: float = field(default=0.1, converter=event_bound.thinning_of)

    def p_value(self, counts: PrefixCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the p-value of (epsilon, delta)."""
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        looked = self._prefixes(counts, delta)
        return 1.0 if looked is None else looked.p_value(loss, loss)

    def refutes(self, counts: PrefixCounts, *, epsilon: Number, delta: Number = 0) -> bool:
        """Return whether the counts contradict (epsilon, delta) at the significance."""
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        looked = self._prefixes(counts, delta)
        if looked is None or looked.single(loss) > self.significance:
            return False
        if looked.union_bound(loss) <= self.significance:
            return True
        return looked.p_value(loss, loss) <= self.significance

    def epsilon(self, counts: PrefixCounts, *, delta: Number = 0) -> float:
        """Return the lower confidence bound of epsilon at delta, in nats; 0 if none is refuted."""
        looked = self._prefixes(counts, delta)
        if looked is None:
            return 0.0
        level = self.significance
        low = event_bound.largest_refuted(lambda e: looked.union_bound(e) <= level, _FINE)
        high = event_bound.largest_refuted(lambda e: looked.single(e) <= level, _FINE)
        edges = np.linspace(low, high, _INTERVALS + 1)
        if low == 0.0 and looked.p_value(0.0, 0.0) > level:
            return 0.0
        for left, right in pairwise(float(edge) for edge in edges):
            if not right > left or looked.p_value(left, right) > level:
                return left
        return high

    def _prefixes(self, counts: PrefixCounts, delta: Number) -> _Prefixes | None:
        marked = counts.design.marked(delta)
        level = self.thinning * self.significance
        paid, removed = event_bound.thinned(counts.total, marked, level, counts.design)
        inside = np.asarray(counts.inside, dtype=np.float64)
        hits = np.asarray(counts.hits, dtype=np.float64) - removed
        keep = inside >= _SMALLEST_PREFIX
        if not keep.any():
            return None
        inside, first = np.unique(inside[keep], return_index=True)
        return _Prefixes(inside, hits[keep][first], paid)


@final
@frozen
class _Prefixes:
    """The distinct prefixes that are long enough, and their hits minus what delta explains."""

    inside: Floats
    hits: Floats
    paid: float

    def smallest_tail(self, epsilon: float) -> float:
        """Return the statistic m: the smallest tail probability over all prefixes."""
        return float(np.min(tail_up(self.hits, self.inside, logistic_up(epsilon))))

    def single(self, epsilon: float) -> float:
        """Return a number at or below every p-value: no price for looking."""
        return self.paid + self.smallest_tail(epsilon)

    def union_bound(self, epsilon: float) -> float:
        """Return a number at or above every p-value: the full price for every prefix."""
        return self.paid + self.smallest_tail(epsilon) * self.inside.size

    def p_value(self, low: float, high: float) -> float:
        """Return an upper bound of the p-value at every epsilon in [low, high]."""
        smallest = max(self.smallest_tail(high), _SMALLEST_TAIL)
        band = band_of(self.inside, logistic_up(low) * (1 - 1e-15), smallest)
        left = leaving_probability(self.inside, band, logistic_up(high))
        return min(1.0, self.paid + left)


def band_of(inside: Floats, bias: float, level: float) -> Floats:
    """Return for each k the smallest h with Pr(Bin(k, bias) >= h) <= level, or one below it."""
    low = np.zeros(inside.size)
    high = inside + 1.0
    while (high - low > 1).any():
        middle = np.floor(0.5 * (low + high))
        small = tail_up(middle, inside, bias) <= level * (1 + 4e-9)
        low, high = np.where(small, low, middle), np.where(small, middle, high)
    return high


def leaving_probability(inside: Floats, band: Floats, bias: float) -> float:
    """Return Pr(some W(k_j) >= band_j), rounded up, for a walk W of coins, k_j in ``inside``."""
    lost, previous, low = 0.0, 0, 0
    masses = np.ones(1)
    for current, edge in zip(inside, band, strict=True):
        masses, low, cut = _step(masses, low, int(current) - previous, bias)
        outside = max(0, min(masses.size, int(edge) - low))
        lost += cut + float(masses[outside:].sum())
        masses = masses[:outside]
        alive = np.flatnonzero(masses > _NEGLIGIBLE)
        if alive.size == 0:
            return min(1.0, (lost + float(masses.sum())) * (1 + _RELATIVE))
        lost += float(masses[: alive[0]].sum() + masses[alive[-1] + 1 :].sum())
        masses, low = masses[alive[0] : alive[-1] + 1], low + int(alive[0])
        previous = int(current)
    return min(1.0, lost * (1 + _RELATIVE))


def _step(masses: Floats, low: int, coins: int, bias: float) -> tuple[Floats, int, float]:
    """Add ``coins`` tosses: new masses, their lowest state, and the mass lost to cutting."""
    steps, first, outside = _binomial(coins, bias)
    if masses.size * steps.size <= _DIRECT:
        joined = np.convolve(masses, steps)
        error = 0.0
    else:
        from scipy.signal import fftconvolve  # noqa: PLC0415  # start-up time

        joined = np.maximum(fftconvolve(masses, steps), 0.0)
        error = _STEP_ERROR
    return np.asarray(joined), low + first, outside + error


def _binomial(n: int, p: float) -> tuple[Floats, int, float]:
    """Return the masses of Bin(n, p) on a window, its start, and the mass outside."""
    reach = 9.0 * (n * p * (1 - p)) ** 0.5 + 45.0
    first, last = max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)
    k = np.arange(first, last + 1, dtype=np.float64)
    functions = special()
    # xlogy and xlog1py give 0 for 0 log 0; what lies outside is at most 2 e^-40 by Bernstein.
    logarithm = (
        functions.gammaln(n + 1)
        - functions.gammaln(k + 1)
        - functions.gammaln(n - k + 1)
        + functions.xlogy(k, p)
        + functions.xlog1py(n - k, -p)
    )
    masses = np.exp(logarithm)
    masses *= 1.0 / masses.sum()
    return masses, first, _OUTSIDE


# A test's false-alarm rate and its miss rate.
Rates = tuple[float, float]
_MARGIN = 1e-12


@final
@frozen(kw_only=True)
class TradeOffRegion(event_bound.ConfidenceBound):
    """Upper limits of both error rates of many tests at once; the curve is below their hull.

    Statement: let S_1, ..., S_J be events fixed before the trials were drawn. With probability at
        least 1 - significance, Q(S_j) is at most a_j and 1 - P(S_j) at most b_j for all j, the
        Clopper-Pearson limits at level significance / 2J each. Then the trade-off curve f of
        (Q, P), the least miss rate of any test at each false-alarm rate, is on or below the lower
        convex hull of the points (a_j, b_j), (0, 1) and (1, 0). A claim of a curve f0, in both
        orders of the datasets, is refuted when f0(a) > b at a vertex (a, b) of the hull.
    Proof: f is convex and falls, f(0) <= 1 and f(1) = 0, and the test that says P on S_j gives
        f(Q(S_j)) <= 1 - P(S_j), so f(a_j) <= b_j. As f0 is convex, where it is at or below the
        vertices it is below the hull, and no other point of the hull would refute it.
    Source: Dong, Roth & Su (arXiv:1905.02383), Definitions 2.1 and 2.3 and Proposition 2.2;
        Clopper & Pearson, Biometrika 26 (1934).
    Rounds: the limits up.
    Use: looking everywhere costs a factor 2J in the significance. ``audit`` tests one tangent
        that training chose, which sees more; this shows where a claim fails.

    Example:
        >>> counts = PrefixCounts((500, 1500), (450, 1050), 1200, 1200)
        >>> region = TradeOffRegion(significance=0.05)
        >>> region.refutes(counts, (1, 0)) is not None, region.refutes(counts, (3, 0)) is None
        (True, True)
    """

    def points(self, counts: PrefixCounts) -> tuple[Rates, ...]:
        """Return upper limits of the error rates of every event, valid jointly."""
        counts.design.compare()
        level = self.significance / (2 * max(1, len(counts.inside)))
        hits, inside = np.array(counts.hits, int), np.array(counts.inside, int)
        alarms = upper_limit(inside - hits, counts.other_trials, level)
        misses = complement_up(lower_limit(hits, counts.trials, level))
        return tuple(zip(alarms.tolist(), misses.tolist(), strict=True))

    def vertices(self, counts: PrefixCounts) -> tuple[Rates, ...]:
        """Return the vertices of the lower convex hull, from (0, 1) to (1, 0)."""
        return lower_hull([(0.0, 1.0), *self.points(counts), (1.0, 0.0)])

    def type_ii_error(self, counts: PrefixCounts, *, type_i_error: Number) -> float:
        """Return an upper confidence bound of the trade-off curve at a false-alarm rate."""
        at = floats_around(arguments.probability(type_i_error=type_i_error))[0]
        for (left, above), (right, below) in pairwise(self.vertices(counts)):
            if left <= at <= right and left < right:
                share = (at - left) / (right - left)
                return min(above, above + share * (below - above) + _MARGIN)
        raise ArithmeticError(f"no edge of the hull is above {at}")

    def refutes(self, counts: PrefixCounts, claim: object) -> Rates | None:
        """Return the measured point that the claim excludes most clearly; None if there is none."""
        guarantee = Claim.of(claim).guarantee
        clearest: tuple[float, Rates | None] = (0.0, None)
        for rates in self.vertices(counts):
            excess = guarantee.type_ii_error(type_i_error=rates[0]).lower - rates[1]
            if excess > clearest[0]:
                clearest = (excess, rates)
        return clearest[1]


ORDERS = (1.01, 1.25, 1.5, 2, 3, 4, 8)

_ROUNDING, _ROUNDS, _STILL = 2.0**-50, 200, 1e-7


@final
@frozen(kw_only=True)
class RenyiBins(event_bound.ConfidenceBound):
    """The smallest divergence among the laws of the bins that the counts leave plausible.

    Statement: let a partition into k bins be fixed before the trials were drawn, with
        probabilities p_i on D and q_i on D'. Let every p_i and q_i lie between its two
        Clopper-Pearson limits at level significance / 4k, which holds for all of them with
        probability at least 1 - significance. Then for every order a > 1 and all r_1, ..., r_k > 0,
        (a - 1) D_a(P || Q) >= ln (min_p sum u_i p_i - max_q sum v_i q_i). There p and q are within
        their limits and sum to 1; u_i = a r_i^(a-1), v_i = (a - 1) r_i^a.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9, for the divergence of the bins.
    Proof: proofs/theory/audits.md, section 7.
    Rounds: down.
    Use: one confidence set serves every order, so ``rho`` pays nothing for its choice of orders.
        Sixteen bins of equal probability show about nine tenths of Gaussians' divergence at order
        2; high orders stay hard. The other order of the datasets is ``counts.reversed()``.

    Example:
        >>> counts = BinCounts((900, 3000, 5000, 1100), (2400, 4600, 2700, 300))
        >>> bound = RenyiBins(significance=0.05)
        >>> 0.3 < bound.rdp(counts, order=2) < 0.6
        True
    """

    def rdp(self, counts: BinCounts, *, order: Number) -> float:
        """Return the lower confidence bound of the divergence at an order above 1, in nats."""
        limits = self._limits(counts)
        return limits.divergence(float(renyi_order(order=order)), limits.ratios())

    def rho(self, counts: BinCounts, *, orders: Sequence[Number] = ORDERS) -> float:
        """Return the lower confidence bound of rho for a zCDP claim: the best D_a / a."""
        if not orders:
            raise ParameterError("orders", orders, "at least one order above 1")
        exact = [float(renyi_order(order=order)) for order in orders]
        limits = self._limits(counts)
        ratios = limits.ratios()
        return max(limits.divergence(order, ratios) / order for order in exact) * (1 - _MARGIN)

    def _limits(self, counts: BinCounts) -> _Limits:
        level = self.significance / (4 * len(counts.hits))
        hits, others = np.array(counts.hits), np.array(counts.other_hits)
        return _Limits(
            lower_limit(hits, counts.trials, level),
            upper_limit(hits, counts.trials, level),
            lower_limit(others, counts.other_trials, level),
            upper_limit(others, counts.other_trials, level),
        )


@final
@frozen(eq=False)
class _Limits:
    """Lower and upper limits of the probability of every bin, on D and on D'."""

    low: Floats
    high: Floats
    other_low: Floats
    other_high: Floats

    def divergence(self, order: float, ratio: Floats) -> float:
        """Return the divergence that tangents at these ratios certify at one order."""
        # A price that overflows makes the total nan or -inf, which shows nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            first = order * ratio ** (order - 1)
            second = (order - 1) * ratio**order
            above = _cheapest(first, self.low, self.high)
            below = -_cheapest(-second, self.other_low, self.other_high)
            total = above - below - _MARGIN * (above + below)
        if not total > 1.0:
            return 0.0
        return math.log(total) / (order - 1) * (1 - _MARGIN)

    def ratios(self) -> Floats:
        """Return the ratios p / q of the least favourable pair: minimise over p and q in turn."""
        q = _filled(np.ones(self.low.size), self.other_low, self.other_high)
        ratio = np.ones(self.low.size)
        for _ in range(_ROUNDS):
            p = _filled(q, self.low, self.high)
            q = _filled(p, self.other_low, self.other_high)
            before, ratio = ratio, p / q
            if float(np.max(np.abs(ratio - before) / ratio)) < _STILL:
                break
        return ratio


def _filled(shape: Floats, low: Floats, high: Floats) -> Floats:
    """Scale a positive shape so that, cut to the limits, it sums to 1."""
    multiples = np.sort(np.concatenate([low / shape, high / shape]))
    sums = np.clip(multiples[:, None] * shape, low, high).sum(axis=1)  # linear in between
    return np.asarray(np.clip(np.interp(1.0, sums, multiples) * shape, low, high))


def _cheapest(prices: Floats, low: Floats, high: Floats) -> float:
    """Bound from below the sum of price times probability, within limits and of sum 1."""
    # For every level c it is at least c + sum min((price - c) low, (price - c) high), the minimum
    # at the price of the bin filled in part: each is tried, less what the terms lose to rounding.
    excess = prices - prices[:, None]
    terms = np.minimum(excess * low, excess * high)
    lost = _ROUNDING * prices.size * (np.abs(prices) + np.abs(terms).sum(axis=1))
    return float(np.max(prices + terms.sum(axis=1) - lost))


@final
@frozen
class Guesses:
    """The guesses made about the canaries of one run.

    Attributes:
        canaries: their number, each included by its own fair coin.
        made: for how many a guess was made; which ones may depend on the output, not on the coins.
        correct: the number of right guesses.
    """

    canaries: int
    made: int
    correct: int

    def __attrs_post_init__(self) -> None:
        for name in ("canaries", "made", "correct"):
            arguments.whole(**{name: getattr(self, name)})
        if not self.correct <= self.made <= self.canaries:
            raise ParameterError("guesses", self, "correct <= made <= canaries")


_LEAST_LOG, _CLOSE = -100.0, 1e-3


@final
@frozen(kw_only=True)
class OneRunCurve(event_bound.ConfidenceBound):
    """The number of right guesses has a tail that the curve f leaves room for.

    Statement: let m canaries be included by independent fair coins, the run be f-DP for the
        inclusion of each one, in both orders, and at most c guesses be made, c fixed in advance.
        Let g(r) = f(1 - r) and p_j the probability of j right guesses. Then for every i,
        sum_{j >= i} (c - j) p_j / m >= g(sum_{j > i} j p_j / m). If Pr(at least v right) >= a, so
        do the p_j that start with p_v = a and take for i = v - 1, ..., 0 the least p_i >= 0 that
        the inequality allows; if these sum to more than 1 then Pr(at least v right) < a.
    Proof: proofs/theory/audits.md, section 3; the recursion is Mahloujifar, Melis & Chaudhuri's
        (arXiv:2410.22235).
    Rounds: every p_i down, which the proof allows, so the p-value up.
    Use: tighter than ``PrefixBand`` for a claim that is a curve. With c below m some of the bound
        is lost, more than there.
    Limit: canaries disturb each other, and with r guesses no more than about ln(r / ln(1 /
        significance)) can be shown, so this bounds a large loss loosely.
    """

    def refutes(self, guesses: Guesses, claim: object) -> bool:
        """Return whether a claim, a guarantee or (epsilon, delta), is contradicted."""
        return contradicts(guesses, self.significance, supported(Claim.of(claim)))

    def p_value(self, guesses: Guesses, claim: object) -> float:
        """Return an upper bound of the p-value of a claim."""
        least = supported(Claim.of(claim))

        def holds(log_level: float) -> bool:
            return not contradicts(guesses, math.exp(log_level), least)

        return math.exp(bisect(holds, _LEAST_LOG, 0.0, close=_CLOSE)[1])

    def mu(self, guesses: Guesses) -> float:
        """Return the lower confidence bound of mu for a claim of GDP; 0 when nothing is shown."""
        return event_bound.largest_refuted(
            lambda mu: contradicts(guesses, self.significance, gaussian(mu)), 1e-4
        )

    def epsilon(self, guesses: Guesses, *, delta: Number = 0) -> float:
        """Return the lower confidence bound of epsilon at delta, in nats; 0 if nothing is shown."""
        mass = floats_around(arguments.probability(delta=delta))[1]
        return event_bound.largest_refuted(
            lambda e: contradicts(guesses, self.significance, lines([(e, mass)]))
        )


def contradicts(guesses: Guesses, tail: float, least_wrong: LeastWrong) -> bool:
    """Return whether Pr(at least this many right guesses) is below ``tail``, by the recursion."""
    c, m = guesses.made, guesses.canaries
    if guesses.correct == 0:
        return False
    mass, right, wrong = tail, tail * guesses.correct / m, tail * (c - guesses.correct) / m
    for i in range(guesses.correct - 1, -1, -1):
        missing = least_wrong(right * (1 - MARGIN)) * (1 - MARGIN) - wrong
        if missing > 0.0:
            added = missing * m / (c - i)
            mass, right, wrong = mass + added, right + added * i / m, wrong + missing
        if mass * (1 - MARGIN) > 1.0:
            return True
    return False


_STAKES: Final = (0.1, 0.3, 0.6, 0.95)


@final
@frozen(eq=False)
class RunBet:
    """The mean over runs of right minus wrong guesses is at most the advantage that a claim allows.

    Statement: let each of independent runs have canaries with fair coins, and no event tell one
        coin with more advantage than a, whatever the other coins. With X_k the share of right
        minus that of wrong guesses in run k, W_n = mean over s of prod_{k <= n} (1 + s (X_k - a) /
        (1 + a)) has Pr(some W_n >= 1 / significance) <= significance.
    Proof: proofs/theory/audits.md, section 4.
    Rounds: the wealth down. It falls in a.

    Attributes:
        gains: X_k, one a run; a guess may depend on the run's output and on earlier runs.
        significance: error probability, in (0, 1).
    """

    gains: Floats
    significance: float

    @classmethod
    def of(cls, scores: Floats, included: NDArray[np.bool_], *, significance: Number) -> Self:
        """Guess "in" above the middle of the quartiles of all scores up to this run.

        Both are of shape (runs, canaries).
        """
        gains = np.zeros(len(scores))
        for k, row in enumerate(scores):
            middle = np.quantile(scores[: k + 1], [0.25, 0.75]).mean()
            gains[k] = np.mean(np.sign(row - middle) * np.where(included[k], 1, -1))
        return cls(gains, event_bound.significance_of(significance))

    def refutes(self, advantage: float) -> bool:
        """Return whether the bet wins against an advantage, rounded up."""
        shares = (self.gains - advantage * (1 + 1e-12)) / (1 + advantage)
        grown = np.log1p(np.outer(_STAKES, shares)).cumsum(axis=1)
        wealth = special().logsumexp(grown, axis=0) - math.log(len(_STAKES))
        return bool(np.max(wealth, initial=0.0) * (1 - 1e-9) >= -math.log(self.significance))

    def epsilon(self, *, delta: float = 0.0) -> float:
        """Return the lower confidence bound of epsilon at delta; 0 when nothing is shown."""
        return event_bound.largest_refuted(
            lambda e: self.refutes(min(1.0, 2 * logistic_up(e) * (1 - delta) + 2 * delta - 1))
        )

    def mu(self) -> float:
        """Return the lower confidence bound of mu for a claim of GDP; 0 when nothing is shown."""
        return event_bound.largest_refuted(
            lambda mu: self.refutes(2 * float(special().ndtr(mu / 2)) - 1), 1e-4
        )
