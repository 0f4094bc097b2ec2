"""The exact test of one linear inequality between two binomial probabilities."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.auditing.bounds.event_bound import LARGEST_EPSILON, EventBound, significance_of
from dpproof.auditing.counts.binomial import (
    Floats,
    complement_up,
    exp_up,
    lower_limit,
    masses_up,
    tail_up,
    upper_limit,
)
from dpproof.auditing.counts.claim import Claim, Tangent
from dpproof.auditing.counts.counts import EventCounts

_CELLS = 64
_BLOCKS = 192
_REACH = 9.0
_FEW = 1 << 10
_SUM_MARGIN = 4e-12


@final
@dataclass(frozen=True, slots=True, init=False)
class TwoSample(EventBound):
    """The probability of a difference at least as large, under the worst Q(S) that is plausible.

    Statement: let k1 ~ Bin(n1, p) and k0 ~ Bin(n0, q) be independent (given the numbers of
        trials, whether coins or a plan drew them), and p <= e^eps q + delta. Let w > 0 be fixed in
        advance and T = k1/n1 - w k0/n0. With [q-, q+] the limits for q at level b/2 each, the
        p-value b + max over q in [q-, q+] of Pr(T >= observed | min(1, e^eps q + delta), q) is
        valid.
    Source: Berger & Boos, JASA 89 (1994), Lemma 1, for the confidence set in the maximum.
    Proof of the maximum: {T >= t} grows with k1 and falls with k0, so its probability grows with
        p and falls with q; on a cell [a, a'] it is at most the one at p = e^eps a' + delta,
        q = a. In the sum over k0, blocks of values are taken at their smallest, for the same
        reason, and what lies outside the summed window counts in full; of few trials every value
        is summed. The region does not depend on eps, so the p-value grows with eps.
    Rounds: the p-value up.
    Use: a claimed curve delta(eps) says P(S) <= e^eps Q(S) + delta(eps) at every eps; one eps
        fixed in advance is a test of the curve. The power is best with w near e^eps.

    Args:
        significance: error probability, in (0, 1).
        weight: w.
        nuisance: the part b of the significance that pays for the limits of q, as a share.
    """

    significance: float
    weight: float
    nuisance: float

    def __init__(
        self, *, significance: Number, weight: Number = 1, nuisance: Number = 0.02
    ) -> None:
        object.__setattr__(self, "significance", significance_of(significance))
        object.__setattr__(self, "weight", float(arguments.positive(weight=weight)))
        object.__setattr__(self, "nuisance", float(arguments.open_probability(nuisance=nuisance)))

    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the p-value of P(S) <= e^epsilon Q(S) + delta.

        It grows with epsilon.
        """
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
        """Return upper bounds of Pr(T >= observed) for each (p, q), shape (cells,)."""
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
        """Return the upper bounds of Pr(T >= observed) from a table of all probabilities."""
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
    """Return the first and the last value of Bin(n, q) that are summed block by block."""
    reach = _REACH * np.sqrt(n * q * (1 - q)) + 40
    return np.floor(np.clip(n * q - reach, 0, n)), np.ceil(np.clip(n * q + reach, 0, n))


def _between(n: int, q: Floats, starts: Floats) -> Floats:
    """Return Pr(start <= Bin(n, q) < next start), computed from the smaller tail."""
    above = starts > n * q
    # Pr(Bin >= start) above the mean, Pr(Bin < start) up to it: one evaluation each.
    k, p = np.where(above, starts, n - starts + 1), np.where(above, q, 1 - q)
    tails = tail_up(k, n, p)
    left, right = tails[:, :-1], tails[:, 1:]
    both = np.where(above[:, :-1], left - right, right - left)
    return np.asarray(
        np.maximum(np.where(above[:, :-1] == above[:, 1:], both, 1 - left - right), 0)
    )


def _below(n: int, q: Floats, k: Floats) -> Floats:
    """Return Pr(Bin(n, q) < k)."""
    return tail_up(n - k + 1, n, complement_up(q))


# The outputs may be anything hashable.
Law = Mapping[Any, Number]


@final
@dataclass(frozen=True, slots=True, init=False)
class Enumeration:
    """The privacy loss of one pair of datasets, from the exact probabilities of every output.

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
        object.__setattr__(
            self, "pair", DominatingPair(forward=forward, backward=forward.swapped())
        )

    def epsilon(self, *, delta: Number = 0) -> Bound:
        """Return the smallest epsilon of this pair, in the worse order."""
        return self.pair.epsilon(delta=delta)

    def delta(self, *, epsilon: Number) -> Bound:
        """Return the smallest delta of this pair, in the worse order."""
        return self.pair.delta(epsilon=epsilon)

    def refutes(self, claim: object) -> Tangent | None:
        """Return a point (epsilon, delta) of the claim that is false for this pair, else None."""
        stated = Claim.of(claim)
        for tangent in (self._point(stated), *stated.tangents()):
            if self.delta(epsilon=Fraction(tangent.epsilon)).lower > tangent.delta:
                return tangent
        return None

    def _point(self, claim: Claim) -> Tangent:
        epsilon = claim.epsilon
        return Tangent(epsilon, claim.guarantee.delta(epsilon=epsilon).upper, 0.0)
