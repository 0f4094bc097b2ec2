"""A perceptron that stops at few mistakes on all records, by the sparse vector technique."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.mechanisms.learning.stops import Stop, Watch
from dpproof.mechanisms.samplers.noisy_reals import NoisyReals, exceeding
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import scale as noise_scale
from dpproof.mechanisms.selection.above_threshold import AboveThreshold


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorStop(Stop):
    """Stop at the first state whose noisy number of mistakes is below a noisy constant.

    Before every step the mistakes of the present state are counted among all records, also if the
    step sees a sample. The constant gets Laplace noise once, every count noise of its own.

    Statement: imagine all T noisy sums released first; they do not look at the tests. Given them
        the states are fixed, their counts move by at most 1 between neighbours, under add-remove
        and zero-out all in the same direction, and the tests are ``AboveThreshold`` of the
        negative counts. What a run releases is a function of both, whatever T is.
    Source: Lemma 10 of proofs/theory/learners.md; proofs/theory/above_threshold.md.

    Args:
        threshold_scale: of the Laplace noise on the constant, in records.
        query_scale: of the Laplace noise on every count, in records.
        below: the constant, in records, exactly a binary64 number; never computed from the number
            of records.
    Example:
        >>> SparseVectorStop(threshold_scale=20, query_scale=40, below=100).below
        Fraction(100, 1)
    """

    threshold_scale: Number
    query_scale: Number
    below: Number

    def __post_init__(self) -> None:
        """Keep exact values; refuse others."""
        for name in ("threshold_scale", "query_scale"):
            object.__setattr__(self, name, noise_scale(**{name: getattr(self, name)}))
        object.__setattr__(self, "below", arguments.real(below=self.below))
        AboveThreshold(
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            threshold=-Fraction(self.below),
        )

    @property
    def counts_all(self) -> bool:
        """The tests count the mistakes among all records."""
        return True

    def beside(self, relation: R) -> Guarantee[R]:
        """All tests together, once."""
        return AboveThreshold(
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            monotone=not relation.symmetric,
            threshold=-Fraction(self.below),
            relation=relation,
        ).guarantee()

    def watch(self, runs: int, rng: Rng) -> Watch:
        """Draw the noisy constant of every run; compare real numbers, of which none is rounded."""
        level = np.full(runs, -float(self.below))
        bar = NoisyReals(level, Fraction(self.threshold_scale), rng, signed=True)

        def now(_: NDArray[np.float64], counts: NDArray[np.int64], __: float) -> NDArray[np.bool_]:
            values = NoisyReals(
                -counts.astype(np.float64), Fraction(self.query_scale), rng, signed=True
            )
            return exceeding(values, bar, 1)[:, 0]

        return now
