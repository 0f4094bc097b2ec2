"""Report noisy max: the index of the largest noisy score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, final

from attrs import field, frozen

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.metric_dp import MetricDP
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.exponential import ExponentialMechanism
from dpproof.mechanisms.selection.scores import PathMechanism

Noise: TypeAlias = Literal["exponential", "laplace", "gumbel"]

MECHANISM_REPORT_NOISY_MAX: Final = Theorem(
    rule="mechanism/report-noisy-max",
    source="proofs/theory/path.md, Theorem 2",
    attained=Attained.POINTS,  # exponential noise is permute-and-flip
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class ReportNoisyMax(PathMechanism[R]):
    """Release the index of the largest score after adding independent noise to every score.

    The noise is exponential, Laplace or Gumbel of scale 2 sensitivity / epsilon, or sensitivity /
    epsilon for monotone scores, and is never rounded. Exponential noise is most often right;
    with it the law is that of permute-and-flip.

    Statement: if no score moves by more than Delta between neighbours, exponential or Laplace noise
        of scale b is (2 Delta/b)-metric-DP along paths of scores, and (Delta/b)-metric-DP if no
        two scores move in opposite directions: dominated by the Laplace pair. With Gumbel noise it
        is the exponential mechanism: epsilon-bounded-range.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: proofs/theory/path.md, Theorem 2; Dwork & Roth (2014), Section 3.3, for pure DP.

    Args:
        epsilon: nats, above 0.
        sensitivity: LInf, in the scores' unit: every candidate's exact score moves by at most
            this between neighbours.
        noise: "exponential", "laplace" or "gumbel".
        monotone: claim that no two scores move in opposite directions between neighbours; it
            halves the noise. Meaningless under replace-one, where it is refused.
        query: data -> one score per candidate, the candidates fixed in advance (``Scores`` builds
            one); None when the data is already the scores.
    Raises:
        ParameterError: a parameter outside its domain; on release, scores that are not a
            sequence of finite numbers.
    Example:
        >>> from dpproof.accountant import LInf
        >>> pick = ReportNoisyMax(epsilon=1, sensitivity=LInf(1))
        >>> pick.release([10, 0, 2000])
        2
    """

    noise: Noise = field(
        default="exponential", validator=parameters.one_of("exponential", "laplace", "gumbel")
    )

    def guarantee(self) -> MetricDP[R] | BoundedRange[R]:
        """State metric-DP along paths, or of Gumbel noise bounded range."""
        if self.noise == "gumbel":
            return self._gumbel().guarantee()
        said = f"the largest score with {self.noise} noise"
        level = Attained.NO if self.noise == "laplace" else None
        return self._along_paths(MECHANISM_REPORT_NOISY_MAX, said, level, noise=self.noise)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        if self.noise == "gumbel":
            return self._gumbel().draw(datasets, count, rng)
        return self._largest(datasets, count, rng, signed=self.noise == "laplace")

    def _gumbel(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism, which is the largest score with Gumbel noise."""
        return ExponentialMechanism(
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
            query=self.query,
        )
