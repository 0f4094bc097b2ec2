"""The exact band over all thresholds of a score at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import largest_refuted, significance_of
from dpproof.auditing.bounds.randomised_label import thinned
from dpproof.auditing.counts.binomial import Floats, logistic_up, special, tail_up
from dpproof.auditing.counts.counts import PrefixCounts

_SMALLEST_PREFIX = 8
_FINE = 1e-6
_INTERVALS = 24
_SMALLEST_TAIL = 1e-290
_NEGLIGIBLE = 1e-22
_OUTSIDE = 1e-16
_RELATIVE = 1e-6
_DIRECT = 1 << 22
_STEP_ERROR = 1e-13


@final
@dataclass(frozen=True, slots=True, init=False)
class PrefixBand:
    """A bound that looks at every threshold and pays the exact price of looking.

    Statement: let trials be drawn by fair coins and sorted into nested events S_1 < S_2 < ...
        fixed before they were drawn, k_j of them in S_j and h_j of these on D, and q = e^eps /
        (1 + e^eps). If P(T) <= e^eps Q(T) + delta for all events T, then, given all outputs,
        (h_1, h_2, ...) is dominated by W(k_1) + B, W(k_2) + B, ... Here W(k) is a sum of k coins of
        bias q and B is dominated by Bin(N, delta / 2). Let t and c be as in ``RandomisedLabel``,
        and m the smallest of the tails Pr(Bin(k_j, q) >= h_j - c). The p-value
        t + Pr(for some j, Pr(Bin(k_j, q) >= W(k_j)) <= m) is valid.
    Proof: given the outputs, whether a trial is on D and not marked (the marks of
        ``RandomisedLabel``) is an independent coin of bias at most q; h_j is the number of these
        among the first k_j plus at most B marked ones. The probability that the walk W leaves the
        band is computed by a forward recursion over the events, dropping the states outside.
    Guesses: for pairs of events S1_j, S0_j, each disjoint and both nested, the same is true of
        right guesses, with Bin(N, delta); see ``RandomisedLabel``.
    One run: let a run with N canaries, each in or out by a fair coin, be (eps, delta)-DP for each,
        in both orders. Let guesses be made in an order that depends on the outputs only, and h_j of
        the first k_j be right. Then the same is true with E[B] <= N delta, so Pr(B > c) <= N delta
        / (c + 1): take the coins in that order. Given the earlier ones, the output's laws P, Q
        with the next coin up or down are mixtures of neighbours, so P = min(P, e^eps Q) + b and Q =
        min(Q, e^eps P) + b' with b, b' of mass <= delta. Mark the coin with probability db/dP or
        db'/dQ, so with probability <= delta. Given outputs and earlier coins, a coin is unmarked
        and as guessed with probability at most q, which is all that the walk needs. The method is
        Steinke, Nasr & Jagielski's (arXiv:2305.08846); their delta term is tighter where many
        canaries could be marked.
    Lower bound: every epsilon below it is refuted. Up to where t + J m <= significance that is
        so by the union bound, which grows with eps. Above, one interval [a, b] after the other
        is refuted as a whole: for eps inside, m is at most its value at b, the band at least the
        one at a with that m, and the walk dominated by the one at b.
    Rounds: the p-value up. Prefixes of fewer than 8 trials are left out, a choice that the
        labels have no part in.

    Args:
        significance: error probability, in (0, 1).
        thinning: the part of the significance that pays for delta, as a share.
    """

    significance: float
    thinning: float

    def __init__(self, *, significance: Number, thinning: Number = 0.1) -> None:
        object.__setattr__(self, "significance", significance_of(significance))
        object.__setattr__(self, "thinning", float(arguments.open_probability(thinning=thinning)))

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
        low = largest_refuted(lambda e: looked.union_bound(e) <= level, _FINE)
        high = largest_refuted(lambda e: looked.single(e) <= level, _FINE)
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
        paid, removed = thinned(counts.total, marked, level, counts.design)
        inside = np.asarray(counts.inside, dtype=np.float64)
        hits = np.asarray(counts.hits, dtype=np.float64) - removed
        keep = inside >= _SMALLEST_PREFIX
        if not keep.any():
            return None
        inside, first = np.unique(inside[keep], return_index=True)
        return _Prefixes(inside, hits[keep][first], paid)


@final
@dataclass(frozen=True, slots=True)
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
    """Return Pr(for some j, W(k_j) >= band_j) for the walk W of coins of one bias, rounded up.

    Args:
        inside: the k_j, increasing whole numbers, at least one.
        band: one number for each.
        bias: of each coin.
    """
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
