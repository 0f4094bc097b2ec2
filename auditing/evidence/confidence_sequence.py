"""A lower bound of epsilon that holds at all times at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.evidence.e_process import EProcess, gained, mixed_rows, tallies


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

    Attributes:
        bets: one against each epsilon of the grid, increasing.
        significance: error probability of all times together.
        wealths: log wealth of every bettor, shape (grid, 2, bettors).
        largest: log of the largest wealth so far, shape (grid,).
    Example:
        >>> sequence = ConfidenceSequence.over([0, 0.5, 1], significance=0.05)
        >>> labels = np.arange(400) % 4 < 3
        >>> sequence.after(np.full(400, 0.75), labels, highest=0.75, lowest=0.75).epsilon
        0.5
    """

    bets: tuple[EProcess, ...]
    significance: float
    wealths: Floats
    largest: Floats

    @staticmethod
    def over(
        epsilons: Sequence[Number], *, significance: Number, delta: Number = 0
    ) -> ConfidenceSequence:
        """Return the sequence before any trial.

        Args:
            epsilons: the grid, at least one number >= 0.
            significance: error probability of all times together, in (0, 1).
            delta: at which epsilon is bounded.
        """
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

        Args:
            eta: shape (n,), predictions of Pr(L = 1 | x), fixed before the labels were seen.
            labels: shape (n,), True where the trial was on D.
            highest: no prediction is above it; fixed before the outputs were seen.
            lowest: no prediction is below it; fixed before the outputs were seen.
        Raises:
            ParameterError: shapes differ, or a prediction is not within these limits and [0, 1].
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
