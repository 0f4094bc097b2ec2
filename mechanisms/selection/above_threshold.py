"""AboveThreshold, the sparse vector technique, with Laplace or normal noise."""

import dataclasses
from abc import ABC
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import GDP, DominatingPair, ParameterError
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs import isoperimetric
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import MONOTONE, RISING
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Outputs, join
from dpproof.mechanisms.samplers import Rng, as_floats, default_granularity
from dpproof.mechanisms.samplers.rounded import NoisyReals, exceeding, rounded_gaps
from dpproof.mechanisms.selection import exponential

MECHANISM_ABOVE_THRESHOLD: Final = Theorem(
    rule="mechanism/above-threshold",
    source="proofs/theory/above_threshold.md, Theorems 1 to 4",
    attained=Attained.NO,  # an isoperimetric bound
)


def binary64(value: Number, name: str = "value") -> Fraction:
    """Return a threshold that binary64 holds exactly, as it does the queries' values."""
    exact = parameters.real(value, name)
    if not -(2**1023) <= exact <= 2**1023 or Fraction(float(exact)) != exact:
        allowed = "exactly a binary64 number of at most 2^1023 in size"
        raise ParameterError(name, value, allowed, "use the nearest one")
    return exact


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class FirstAbove(exponential.ScoreMechanism[R], ABC):
    """A search for the first queries above a threshold; ``rising`` includes ``monotone``."""

    cutoff: int = field(default=1, converter=parameters.count)
    rising: bool = field(
        default=False, converter=parameters.flag, validator=exponential.one_direction
    )
    threshold: Fraction = field(default=Fraction(0), converter=binary64)

    def __attrs_post_init__(self) -> None:
        if self.rising:
            object.__setattr__(self, "monotone", True)

    def _assumptions(self) -> tuple[str, ...]:
        plain = parameters.assumptions(self.sensitivity)
        if self.rising:
            return (*plain, RISING())
        return (*plain, MONOTONE()) if self.monotone else plain


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class AboveThreshold(FirstAbove[R]):
    """Release the positions of the first queries whose noisy value is above a noisy threshold.

    The threshold gets Laplace noise once, every query noise of its own, none of it rounded; after
    ``cutoff`` queries above the threshold nothing more is compared.

    Statement: if no query moves by more than Delta between neighbours, both orders are dominated by
        the pair of the isoperimetric bound kappa of ``above_threshold_pair`` with a =
        Delta/threshold_scale and b = Delta/query_scale; in particular the output is
        (a + 2 cutoff b)-DP, or (a + cutoff b)-DP if no two queries move in opposite directions,
        and much better than that at every delta > 0. The number of queries costs nothing, and
        neither does the gap: by how much each sum found exceeds the noisy threshold.
    Assumes: sensitivity; one shape; random bits; output alone; monotone scores (if monotone);
        rising queries (if rising).
    Source: proofs/theory/above_threshold.md; the mechanism is Dwork, Naor, Reingold, Rothblum &
        Vadhan (STOC 2009) in the form of Lyu, Su & Li (arXiv:1603.01699), Algorithm 7.

    Args:
        threshold_scale: of the threshold's noise, in the queries' unit, in [2^-300, 2^300].
        query_scale: of every query's noise; twice the threshold's (``cutoff`` 1) is usual.
        sensitivity: LInf: every query's exact value moves by at most this between neighbours.
        cutoff: after how many queries above the threshold to stop.
        monotone: claim that no two queries move in opposite directions between neighbours, as of
            counts. Meaningless under replace-one, where it is refused.
        rising: claim that a further record moves no query down, as of counts; it includes
            ``monotone`` and costs less, as each order of neighbours then has a pair of its own.
        threshold: public, a binary64 number of at most 2^1023 in size.
        gap: whether to release the gaps too: then an output is the positions and their gaps.
        granularity: a power of two in the queries' unit, to whose nearest multiple gaps are
            rounded; by default 2^-20 of ``query_scale``.
    Example:
        >>> from dpproof.accountant import LInf
        >>> noise = {"threshold_scale": 2, "query_scale": 4, "sensitivity": LInf(1)}
        >>> first = AboveThreshold(**noise, threshold=50)
        >>> first.release([-1000, 2000, 3000])
        1
        >>> first = AboveThreshold(**noise, threshold=50, gap=True)
        >>> position, gap = first.release([-1000, 2000, 3000])
        >>> position, 1500 < gap < 2500
        (1, True)
    """

    threshold_scale: Fraction = field(converter=parameters.scale)
    query_scale: Fraction = field(converter=parameters.scale)
    gap: bool = field(default=False, converter=parameters.flag)
    granularity: Fraction = field(converter=parameters.granularity)

    @granularity.default
    def _fine(self) -> Fraction:
        return default_granularity(self.query_scale)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._pairs()

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of the isoperimetric bound, the same both ways unless rising."""
        values = show(self.threshold_scale), show(self.query_scale)
        flags: dict[str, Any] = {one: True for one in ("rising", "gap") if getattr(self, one)}
        forward, backward = self._pairs()
        return self._dominated(
            MECHANISM_ABOVE_THRESHOLD,
            f"the first {self.cutoff} above a threshold, with Laplace noise of scale "
            f"{values[0]} on the threshold and {values[1]} on queries of sensitivity "
            f"{show(self.sensitivity.value)}{', and their gaps' * self.gap} ({self.relation})",
            forward,
            backward=backward,
            assumptions=self._assumptions(),
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            sensitivity=self.sensitivity.value,
            cutoff=self.cutoff,
            monotone=self.monotone,
            **flags,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw positions from 0, -1 where there is none: int64 of shape (datasets, count).

        With a cut-off above 1 the shape is (datasets, count, cutoff), positions growing. With
        gaps these come second, float64 of the same shape, 0 where there is none.
        """

        def some(row: NDArray[np.float64], size: int) -> Outputs:
            bars = np.full(size, float(self.threshold))
            bar = NoisyReals(bars, self.threshold_scale, rng, signed=True)
            values = NoisyReals(np.tile(row, size), self.query_scale, rng, signed=True)
            places = first_above(exceeding(values, bar, len(row)), self.cutoff)
            if not self.gap:
                return places
            starts = len(row) * np.arange(size).reshape(-1, *[1] * (places.ndim - 1))
            gaps, there = np.zeros(places.shape), places >= 0
            steps = rounded_gaps(values, bar, (places + starts)[there], len(row), self.granularity)
            gaps[there] = as_floats(steps, self.granularity)
            return join([places, gaps], axes=1)

        return exponential.in_parts(exponential.read_scores(self.query, datasets), count, some)

    def _pairs(self) -> tuple[Product, Product]:
        """Return the dominating pairs; refuse scales whose losses are out of reach."""
        moved = self.sensitivity.value
        scales = moved / self.threshold_scale, moved / self.query_scale
        if self.rising:
            query = scales[1]
            both = isoperimetric.rising_pairs(threshold=scales[0], query=query, cutoff=self.cutoff)
            return Product.of(both[0]), Product.of(both[1])
        pair = isoperimetric.above_threshold_pair(
            threshold=scales[0], query=scales[1], cutoff=self.cutoff, monotone=self.monotone
        )
        return Product.of(pair), Product.of(pair)


def first_above(above: NDArray[np.bool_], cutoff: int) -> NDArray[np.int64]:
    """Return the positions of the first ``cutoff`` True of each row, -1 where there are fewer."""
    if cutoff == 1:
        return np.where(above.any(axis=1), above.argmax(axis=1), -1).astype(np.int64)
    places = np.full((len(above), cutoff), -1, dtype=np.int64)
    rank = above.cumsum(axis=1) - 1
    row, position = np.nonzero(above & (rank < cutoff))
    places[row, rank[row, position]] = position
    return places


MECHANISM_GAUSSIAN_ABOVE_THRESHOLD: Final = Theorem(
    rule="mechanism/gaussian-above-threshold",
    source="proofs/theory/above_threshold.md, Theorems 5 to 7",
    attained=Attained.POINTS,  # of one query, as far from the threshold as the epsilon asks for
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
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
        threshold_sigma: standard deviation of the threshold's noise.
        query_sigma: of every query's noise.
        queries: the largest number of queries, 1 to 10^12, at least ``cutoff``; public.
    Raises:
        ParameterError: so little noise that the largest loss of the pair, at events of mass 2^-60,
            is above 16 nats; on release, more values than ``queries``.
    Example:
        >>> from dpproof.accountant import LInf
        >>> noise = {"threshold_sigma": 10, "query_sigma": 20, "sensitivity": LInf(1)}
        >>> alarm = GaussianAboveThreshold(**noise, queries=100, threshold=500)
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
        rows = exponential.read_scores(self.query, datasets)
        if rows.shape[1] > self.queries:
            raise ParameterError("queries", self.queries, f"at least {rows.shape[1]}, as given")

        def some(row: NDArray[np.float64], size: int) -> Outputs:
            bars = np.full(size, float(self.threshold))
            bar = NoisyReals(bars, self.threshold_sigma, rng, signed=True, normal=True)
            values = np.tile(row, size)
            noisy = NoisyReals(values, self.query_sigma, rng, signed=True, normal=True)
            return first_above(exceeding(noisy, bar, len(row)), self.cutoff)

        return exponential.in_parts(rows, count, some)

    def _tangents(self) -> isoperimetric.Tangents:
        return isoperimetric.tangents(
            threshold=self.sensitivity.value / self.threshold_sigma,
            query=self.sensitivity.value / self.query_sigma,
            queries=self.queries,
            cutoff=self.cutoff,
            monotone=self.monotone,
        )

    def _pairs(self) -> tuple[Product, Product]:
        """Return the dominating pairs; refuse scales whose losses are out of reach."""
        both = isoperimetric.gaussian_threshold_pairs(
            threshold=self.sensitivity.value / self.threshold_sigma,
            query=self.sensitivity.value / self.query_sigma,
            queries=self.queries,
            cutoff=self.cutoff,
            monotone=self.monotone,
            rising=self.rising,
            at=self._tangents(),
        )
        return Product.of(both[0]), Product.of(both[1])
