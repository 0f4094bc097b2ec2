"""The best few candidates, one after the other, by peeling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.provenance import rederived
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.composition import self_compose
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.exponential import ExponentialMechanism
from dpproof.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dpproof.mechanisms.selection.report_noisy_max import ReportNoisyMax
from dpproof.mechanisms.selection.scores import read_scores


@final
@frozen(repr=False, field_transformer=named)
class TopK(Mechanism[R]):
    """Pick a candidate, drop it, pick the next, ``k`` times: released in order of picking.

    With the exponential mechanism, or Gumbel noise, the law is that of the k largest scores with
    Gumbel noise, drawn once.

    Statement: the composition of k picks. Given the earlier ones, the next is the same mechanism on
        a list of candidates that is known from the outputs alone.
    Source: Durfee & Rogers (arXiv:1905.04273), for peeling and its equal, Gumbel noise drawn once;
        adaptive composition as for ``Chained``.

    Args:
        pick: ``ExponentialMechanism``, ``ReportNoisyMax`` or ``PermuteAndFlip``; its epsilon is
            that of one pick.
        k: the number of candidates to pick, a whole number from 1.
    Raises:
        ParameterError: another mechanism or number; on release, fewer than k candidates.
    Laws: the guarantee is that of ``pick.repeat(k)``.
    Example:
        >>> from dpproof.accountant import LInf
        >>> best = TopK(PermuteAndFlip(epsilon=1, sensitivity=LInf(1)), k=2)
        >>> best.release([0, 5000, 0, 9000]).tolist()
        [3, 1]
    """

    pick: ExponentialMechanism[R] | ReportNoisyMax[R] | PermuteAndFlip[R] = field(
        validator=parameters.instance(
            (ExponentialMechanism, ReportNoisyMax, PermuteAndFlip),
            "ExponentialMechanism, ReportNoisyMax or PermuteAndFlip",
        )
    )
    k: int = field(converter=parameters.count)

    @property
    def relation(self) -> R:
        """Return the relation of one pick."""
        return self.pick.relation

    @property
    def acts_on_records(self) -> bool:
        """Return whether the picks carry their query."""
        return self.pick.acts_on_records

    def guarantee(self) -> Guarantee[R]:
        """Return the composition of k picks, not known to attain the worst."""
        once = self.pick.guarantee()
        if self.k == 1:
            return once
        picks = self_compose(once, self.k)
        return rederived(picks, replace(picks.derivation, attained=Attained.NO))

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw positions of candidates: int64 of shape (datasets, count, k)."""
        scores = read_scores(self.pick.query, datasets)
        if scores.shape[1] < self.k:
            raise ParameterError("scores", scores.shape[1], f"at least {self.k} candidates")
        return np.stack([self._peeled(row, count, rng) for row in scores])

    def _peeled(self, row: NDArray[np.float64], count: int, rng: Rng) -> NDArray[np.int64]:
        """Pick from the candidates left, all draws with the same earlier picks together."""
        bare = evolve(self.pick, query=None)
        picked = np.empty((count, self.k), dtype=np.int64)
        picked[:, 0] = bare.draw([row], count, rng)[0]
        for place in range(1, self.k):
            earlier, same = np.unique(picked[:, :place], axis=0, return_inverse=True)
            for group, gone in enumerate(earlier):
                left = np.setdiff1d(np.arange(len(row)), gone)
                these = np.flatnonzero(same.ravel() == group)
                picked[these, place] = left[bare.draw([row[left]], len(these), rng)[0]]
        return picked
