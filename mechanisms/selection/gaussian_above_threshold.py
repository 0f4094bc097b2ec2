"""AboveThreshold with normal noise, for a number of queries that is bounded in advance."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.gaussian_threshold import Tangents, gaussian_threshold_pairs, tangents
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.noisy_reals import NoisyReals, exceeding
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.above_threshold import FirstAbove, first_above
from dpproof.mechanisms.selection.scores import in_parts, read_scores

MECHANISM_GAUSSIAN_ABOVE_THRESHOLD: Final = Theorem(
    rule="mechanism/gaussian-above-threshold",
    source="proofs/theory/above_threshold.md, Theorems 5 to 7",
    attained=Attained.POINTS,  # of one query, as far from the threshold as the epsilon asks for
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class GaussianAboveThreshold(FirstAbove[R]):
    """Release the positions of the first queries whose noisy value is above a noisy threshold.

    As ``AboveThreshold``, with normal noise, and a public bound on the number of queries: without
    one there is no small delta. Normal noise has lighter tails, so over many uses it costs less.

    Statement: if no query moves by more than Delta between neighbours, both orders are dominated by
        a finite pair above the isoperimetric bound of ``gaussian_threshold_pairs`` with a =
        Delta/threshold_sigma and b = Delta/query_sigma. One query alone is mu-GDP with mu^2 =
        Delta^2/(threshold_sigma^2 + query_sigma^2), and its answer attains each delta.
    Assumes: sensitivity; one shape; random bits; output alone; monotone scores (if monotone);
        rising queries (if rising).
    Source: proofs/theory/above_threshold.md, Theorems 5 to 7; the mechanism is that of Zhu & Wang
        (NeurIPS 2020), Algorithm 2.

    Args:
        threshold_sigma: standard deviation of the threshold's noise, in the queries' unit, in
            [2^-300, 2^300].
        query_sigma: of every query's noise.
        queries: the largest number of queries, 1 to 10^12; public.
        sensitivity: LInf, in the queries' unit: every query's exact value moves by at most this
            between neighbours.
        cutoff: after how many queries above the threshold to stop, at most ``queries``.
        monotone: claim that no two queries move in opposite directions between neighbours.
        rising: claim that a further record moves no query down; it includes ``monotone``.
        threshold: public, in the queries' unit, a binary64 number of at most 2^1023 in size.
        query: data -> the values of all queries; None when the data is already the values.
    Raises:
        ParameterError: a parameter outside its domain, or so little noise that the largest loss of
            the pair, at events of mass 2^-60, is above 16 nats; on release, values that are not a
            sequence of finite numbers, or more of them than ``queries``.
    Example:
        >>> from dpproof.accountant import LInf
        >>> alarm = GaussianAboveThreshold(
        ...     threshold_sigma=10,
        ...     query_sigma=20,
        ...     queries=100,
        ...     sensitivity=LInf(1),
        ...     threshold=500,
        ... )
        >>> alarm.release([-1000, 2000, 3000])
        1
    """

    threshold_sigma: Fraction = field(converter=parameters.scale)
    query_sigma: Fraction = field(converter=parameters.scale)
    queries: int = field(converter=parameters.count)

    @queries.validator
    def _enough(self, _parameter: object, queries: int) -> None:
        if queries < self.cutoff:
            raise ParameterError("queries", queries, f"at least the cut-off, {self.cutoff}")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.queries > 1:
            self._pairs()

    def guarantee(self) -> DominatingPair[R] | GDP[R]:
        """Return the pair of the isoperimetric bound, the same both ways unless rising.

        Of one query it is GDP, exactly.
        """
        at = None if self.queries == 1 else self._tangents()
        witness = {} if at is None else dataclasses.asdict(at)
        derivation = applied(
            MECHANISM_GAUSSIAN_ABOVE_THRESHOLD,
            f"the first {self.cutoff} of at most {self.queries} queries above a threshold, with "
            f"normal noise of sigma {show(self.threshold_sigma)} on the threshold and "
            f"{show(self.query_sigma)} on queries of sensitivity "
            f"{show(self.sensitivity.value)} ({self.relation})",
            assumptions=self._assumptions(),
            threshold_sigma=self.threshold_sigma,
            query_sigma=self.query_sigma,
            queries=self.queries,
            sensitivity=self.sensitivity.value,
            cutoff=self.cutoff,
            monotone=self.monotone,
            rising=self.rising,
            attained=None if at is None else Attained.NO,
            **witness,
        )
        if at is None:
            noise = self.threshold_sigma**2 + self.query_sigma**2
            square = self.sensitivity.value**2 / noise
            return GDP(mu_squared=square, relation=self.relation, derivation=derivation)
        forward, backward = self._pairs()
        return DominatingPair(
            forward=forward, backward=backward, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw positions from 0, -1 where there is none: int64 of shape (datasets, count).

        With a cut-off above 1 the shape is (datasets, count, cutoff), positions growing.
        """
        rows = read_scores(self.query, datasets)
        if rows.shape[1] > self.queries:
            raise ParameterError("queries", self.queries, f"at least {rows.shape[1]}, as given")

        def some(row: NDArray[np.float64], size: int) -> Outputs:
            bars = np.full(size, float(self.threshold))
            bar = NoisyReals(bars, self.threshold_sigma, rng, signed=True, normal=True)
            values = np.tile(row, size)
            noisy = NoisyReals(values, self.query_sigma, rng, signed=True, normal=True)
            return first_above(exceeding(noisy, bar, len(row)), self.cutoff)

        return in_parts(rows, count, some)

    def _tangents(self) -> Tangents:
        """Return where the bound is replaced by tangents."""
        return tangents(
            threshold=self.sensitivity.value / self.threshold_sigma,
            query=self.sensitivity.value / self.query_sigma,
            queries=self.queries,
            cutoff=self.cutoff,
            monotone=self.monotone,
        )

    def _pairs(self) -> tuple[Product, Product]:
        """Return the dominating pairs; refuse scales whose losses are out of reach."""
        both = gaussian_threshold_pairs(
            threshold=self.sensitivity.value / self.threshold_sigma,
            query=self.sensitivity.value / self.query_sigma,
            queries=self.queries,
            cutoff=self.cutoff,
            monotone=self.monotone,
            rising=self.rising,
            at=self._tangents(),
        )
        return Product.of(both[0]), Product.of(both[1])
