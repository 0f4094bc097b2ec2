"""A lower bound of mu that holds at all times at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts.binomial import Floats, special
from dpproof.auditing.counts.counts import PrefixCounts
from dpproof.auditing.evidence.confidence_sequence import refuted_from_below
from dpproof.auditing.evidence.e_process import BetProcess, EProcess, EventBet

_MARGIN = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class GaussianSequence:
    """Bets against mu-GDP for many mu at once; the bound is how far from below all are refuted.

    Statement: for every mu of a grid fixed in advance let W be the wealth of a ``BetProcess``
        against tangents of mu-GDP: P(T) <= e^eps Q(T) + Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 -
        eps/mu). Let the bound be the largest grid point such that there and at every smaller one
        W has reached 1 / significance at some time, 0 when there is none. Then the probability
        that the bound is ever above a mu for which the mechanism is mu-GDP is at most the
        significance.
    Source: Dong, Roth & Su (arXiv:1905.02383), Corollary 2.13, for the tangents.
    Proof: as of ``ConfidenceSequence``; mu-GDP is mu'-GDP for every larger mu'.
    Laws: the bound is a grid point or 0, and never falls.
    Rounds: the wealth down, tangents up. Assumed: scipy's normal distribution function is right
        to a relative 1e-13.

    Attributes:
        mus: the grid, increasing.
        significance: error probability of all times together.
        processes: one for each mu.
    Example:
        >>> sequence = GaussianSequence.over([0, 0.5, 1, 1.5], significance=0.05)
        >>> seen = PrefixCounts((400,), (300,), 400, 400)
        >>> sequence.after(seen, seen).mu
        1.0
    """

    mus: tuple[float, ...]
    significance: float
    processes: tuple[BetProcess, ...]

    @staticmethod
    def over(mus: Sequence[Number], *, significance: Number) -> GaussianSequence:
        """Return the sequence before any trial.

        Args:
            mus: the grid, at least one number >= 0.
            significance: error probability of all times together, in (0, 1).
        """
        grid = sorted({floats_around(arguments.non_negative(mu=mu))[1] for mu in mus})
        if not grid:
            raise ParameterError("mus", mus, "at least one")
        processes = tuple(BetProcess.start() for _ in grid)
        return GaussianSequence(tuple(grid), significance_of(significance), processes)

    def after(self, past: PrefixCounts, fresh: PrefixCounts) -> GaussianSequence:
        """Return the sequence after one more block, with the bets that the past recommends.

        Args:
            past: what earlier trials showed of nested events.
            fresh: counts of the same events in this block.
        """
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
