"""Permute-and-flip: the first candidate in random order that accepts by its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from attrs import frozen

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.metric_dp import MetricDP
from dpproof.accountant.relation import R
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.scores import PathMechanism

MECHANISM_PERMUTE_AND_FLIP: Final = Theorem(
    rule="mechanism/permute-and-flip",
    source="proofs/theory/path.md, Theorem 2",
    attained=Attained.POINTS,  # two candidates, further apart for larger epsilons
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class PermuteAndFlip(PathMechanism[R]):
    """Go through the candidates in random order, and release the first whose coin says so.

    The coin of a candidate of score u is heads with probability e^((u - largest score)/b), b = 2
    sensitivity / epsilon, or sensitivity / epsilon for monotone scores. It is never worse than the
    exponential mechanism in expected score. Its law is that of report noisy max with exponential
    noise, from which it is drawn.

    Statement: if no score moves by more than Delta between neighbours, it is
        (2 Delta/b)-metric-DP along paths of scores, and (Delta/b)-metric-DP if no two scores move
        in opposite directions: dominated by the Laplace pair, whose profile two candidates attain.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: proofs/theory/path.md, Theorem 2; McKenna & Sheldon (arXiv:2010.12603) for the mechanism
        and pure DP; Ding et al. (arXiv:2105.07260) for the noise.

    Args:
        epsilon: nats, above 0.
        sensitivity: LInf, in the scores' unit: every candidate's exact score moves by at most
            this between neighbours.
        monotone: claim that no two scores move in opposite directions between neighbours; it
            halves the noise. Meaningless under replace-one, where it is refused.
        query: data -> one score per candidate, the candidates fixed in advance (``Scores`` builds
            one); None when the data is already the scores.
    Raises:
        ParameterError: a parameter outside its domain; on release, scores that are not a
            sequence of finite numbers.
    Example:
        >>> from dpproof.accountant import LInf
        >>> pick = PermuteAndFlip(epsilon=1, sensitivity=LInf(1))
        >>> pick.release([10, 0, 2000])
        2
    """

    def guarantee(self) -> MetricDP[R]:
        """State metric-DP along paths."""
        return self._along_paths(MECHANISM_PERMUTE_AND_FLIP, "permute-and-flip with coins")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        return self._largest(datasets, count, rng, signed=False)
