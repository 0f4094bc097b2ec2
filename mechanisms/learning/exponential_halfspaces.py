"""A halfspace from a public cover, with pure differential privacy, drawn level by level.

Scores are numbers of mistakes, integers from 0 to n. A first pass counts how many candidates make
how many mistakes; then a number of mistakes is drawn, with its exact probability, and which of its
candidates it is, uniformly; a second pass over a small part of the candidates finds it. Memory
holds counts and never the candidates, and nothing is computed in floating point that decides.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import BoundedRange, LInf, ParameterError, arguments, post_process
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import signed, signs
from dpproof.mechanisms.learning.covers import Cover, CoverUnion, FiniteCover
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap, map_or_none
from dpproof.mechanisms.learning.records import PRODUCT_BITS, Integers, Vectors, on_grid
from dpproof.mechanisms.mechanism import Mechanism, Outputs, record
from dpproof.mechanisms.samplers import Rng, categorical_exp, uniform_below
from dpproof.mechanisms.selection.exponential import ExponentialMechanism

Progress = Callable[[int, int], None]

# Entries of one block of products: it should stay in the fast memory of a core.
_ENTRIES: Final = 2**18
_ROWS: Final = 4096
# Parts of a block that are counted apart, so that the second pass is over one part.
_PARTS: Final = 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Candidates of one weight, numbered from an offset, and y x of mapped records, in 2^-24."""

    cover: Cover
    signed: Vectors
    offset: int
    weight: Fraction


@final
class Mistakes:
    """The numbers of mistakes y <w, x> <= 0 of a cover's directions, exactly."""

    def __init__(self, signed: Vectors, *, paired: bool) -> None:
        """Keep the records in binary32 too: products of integers up to 2^24 are nearly exact."""
        self._exact = np.ascontiguousarray(signed.T)
        self._rough = self._exact.astype(np.float32)
        # Soundness: |x| <= 2^24 is exact in binary32 and |w| <= 2^28 is rounded once; with k
        # products and k - 1 sums in any order, by Cauchy and Schwarz, the error is at most
        # 1.1 (k + 2) 2^-24 ||x|| ||w|| as long as k < 2^20.
        width = self._exact.shape[0]
        self._slack = np.float32(1.25 * (width + 2) * 2.0 ** (PRODUCT_BITS - 24))
        self.paired = paired
        shape = self.rows, self._exact.shape[1]
        self._near, self._flags = np.empty(shape, np.float32), np.empty(shape, np.bool_)

    @property
    def rows(self) -> int:
        """Return the number of vectors that are looked at together."""
        return int(np.clip(_ENTRIES // max(self._exact.shape[1], 1), 16, _ROWS))

    def counts(self, vectors: Vectors) -> Integers:
        """Count the mistakes of at most ``rows`` directions w on the grid, if paired of -w, too."""
        # A product beyond the error of binary32 has the sign of the exact one. Rows with any other
        # are counted again in binary64, where products are exact integers.
        near, flags = self._near[: len(vectors)], self._flags[: len(vectors)]
        np.matmul(vectors.astype(np.float32), self._rough, out=near)
        wrong = _true_counts(np.less_equal(near, 0, out=flags))
        unclear = np.flatnonzero(np.abs(near, out=near).min(axis=1, initial=np.inf) <= self._slack)
        opposite = self._exact.shape[1] - wrong
        if len(unclear):
            products = vectors[unclear] @ self._exact
            wrong[unclear] = _true_counts(products <= 0)
            opposite[unclear] = _true_counts(products >= 0)
        if not self.paired:
            return wrong
        return np.stack([wrong, opposite], axis=1).reshape(-1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Directions of a block from start (even if paired) to stop; how many make 0, 1, ... errors."""

    block: Block
    mistakes: Mistakes
    start: int
    stop: int
    levels: Integers


def draw_candidates(
    blocks: Sequence[Block],
    *,
    factor: Fraction,
    count: int,
    rng: Rng,
    progress: Progress | None = None,
) -> Integers:
    """Draw numbers of candidates, with probability exactly as their weight e^(-factor mistakes).

    Proof: N_(b, e) candidates of block b make e mistakes; the level (b, e) has probability
        N_(b, e) w_b e^(-factor e) over the total, and each of its candidates 1 / N_(b, e) of that.
    """
    parts = list(_parts(blocks, progress))
    scale = lcm(*(block.weight.denominator for block in blocks))
    levels: list[int] = []
    weights: list[int] = []
    owners: list[int] = []
    for owner, block in enumerate(blocks):
        start = np.zeros(1, np.int64)
        total = sum((part.levels for part in parts if part.block is block), start=start)
        present = np.flatnonzero(total)
        levels.extend(present.tolist())
        weights.extend(int(total[level]) * int(block.weight * scale) for level in present)
        owners.extend([owner] * len(present))
    drawn = categorical_exp(-np.array(levels), count, rng, factor=factor, multiplicities=weights)
    picked = np.empty(count, dtype=np.int64)
    for which in np.unique(drawn):
        places = np.flatnonzero(drawn == which)
        block, level = blocks[owners[which]], levels[which]
        own = [part for part in parts if part.block is block]
        number = int(sum(part.levels[level] for part in own))
        ranks = uniform_below(number, len(places), rng)
        picked[places] = _located(own, level, np.asarray(ranks, dtype=np.int64))
    return picked


def _parts(blocks: Sequence[Block], progress: Progress | None) -> Iterator[_Part]:
    """Yield the parts of all blocks, counted."""
    total, done = sum(block.cover.size for block in blocks), 0
    for block in blocks:
        mistakes = Mistakes(block.signed, paired=block.cover.paired)
        size = block.cover.size
        step = -(-size // (_PARTS * 2 * _ROWS)) * 2 * _ROWS
        for start in range(0, size, step):
            stop = min(start + step, size)
            levels = np.zeros(len(block.signed) + 1, dtype=np.int64)
            for counts, _ in _counted(block, mistakes, start, stop):
                levels += np.bincount(counts, minlength=len(levels))
            done += stop - start
            if progress is not None:
                progress(done, total)
            yield _Part(block, mistakes, start, stop, levels)


def _counted(
    block: Block, mistakes: Mistakes, start: int, stop: int
) -> Iterator[tuple[Integers, int]]:
    """Yield the mistakes of the directions from start to stop, with the number of the first."""
    each = 2 if mistakes.paired else 1
    for low in range(start // each, -(-stop // each), _ROWS):
        high = min(low + _ROWS, -(-stop // each))
        vectors = block.cover.on_grid(low, high)
        for row in range(0, len(vectors), mistakes.rows):
            first = (low + row) * each
            counts = mistakes.counts(vectors[row : row + mistakes.rows])
            yield counts[: stop - first], first


def _located(parts: Sequence[_Part], level: int, ranks: Integers) -> Integers:
    """Return the candidates of a level with these ranks among all that make so many mistakes."""
    places = np.empty(len(ranks), dtype=np.int64)
    before = 0
    for part in parts:
        inside = (ranks >= before) & (ranks < before + part.levels[level])
        if inside.any():
            places[inside] = _within(part, level, np.asarray(ranks[inside] - before))
        before += int(part.levels[level])
    return places


def _within(part: _Part, level: int, ranks: Integers) -> Integers:
    """Return the candidates of a level with these ranks within one part, counting it again."""
    places = np.empty(len(ranks), dtype=np.int64)
    before, last = 0, int(ranks.max())
    for counts, first in _counted(part.block, part.mistakes, part.start, part.stop):
        equal = np.flatnonzero(counts == level)
        inside = (ranks >= before) & (ranks < before + len(equal))
        places[inside] = part.block.offset + first + equal[ranks[inside] - before]
        before += len(equal)
        if before > last:
            break
    return places


def _true_counts(table: NDArray[np.bool_]) -> Integers:
    """Count what is true in each row; for a row at a time numpy has a fast way."""
    return np.array([np.count_nonzero(row) for row in table], dtype=np.int64)


Priors = tuple[Fraction, ...]


def _priors(weights: Sequence[Number] | None, name: str = "value") -> Priors | None:
    """Keep prior weights exactly."""
    prior: Any = weights
    if prior is None:
        return None
    if not isinstance(prior, Sequence | np.ndarray):
        raise ParameterError(name, weights, "weights above 0")
    return tuple(arguments.positive(**{name: weight}) for weight in prior)


def _positive_or_none(value: Number | None, name: str = "value") -> Fraction | None:
    """Keep a number above 0 exactly, or None."""
    return None if value is None else arguments.positive(**{name: value})


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ExponentialHalfspaces(Mechanism[R]):
    """Pick a direction of a public cover, those with few mistakes exponentially likely.

    A record (x, y) is a mistake of the direction w if y <w, map(x)> <= 0. The pick has probability
    proportional to prior(w) e^(-factor mistakes). Mistakes do not depend on the length of a row, so
    every mapped row is scaled to norm 1 and nothing is clipped.

    Statement: between neighbours numbers of mistakes move by at most 1, under add-remove and
        zero-out all in the same direction; so the pick is epsilon-bounded-range with
        epsilon = factor, or 2 factor under replace-one and replace-label, for every prior.
    Proof: proofs/theory/margins.md, section 4. The sampler is exact (``draw_candidates``).
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 1, over any public cover that can
        be listed, with counts for shares.

    Args:
        map: from rows to rows, public; None is the identity.
        cover: such as ``RandomDirections``, or a ``CoverUnion`` with maps of its own, chosen
            without looking at the data.
        epsilon: of the pick, in nats; give this or ``factor``.
        factor: the weight of a mistake in the exponent.
        prior: public weights above 0: of a ``FiniteCover`` one for each candidate, of a
            ``CoverUnion`` one for each cover, shared equally by its directions. None is equal.
        records: a public number of records, for ``excess_rate`` only.
        progress: called with the numbers of candidates looked at and of all, while counting.
    Outputs:
        A record with ``index``, of the candidate, and ``weights``, for mapped rows if the map is
        not linear. Of a union they are padded with zeros, and ``index`` says which map it was.
    Raises:
        ParameterError: as for ``BatchPerceptron``, whose data it takes.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> from dpproof.mechanisms.learning.covers import RandomDirections
        >>> cover = RandomDirections(size=1_000, dimension=2, seed=1)
        >>> learner = ExponentialHalfspaces(cover=cover, epsilon=20, relation=ReplaceOne())
        >>> learner.guarantee()
        BoundedRange(epsilon=20, relation=ReplaceOne())
        >>> bool(learner.release([([0.1, 0.9], 1), ([0.2, -0.9], -1)]).weights[1] > 0)
        True
    """

    whole = "it counts the mistakes of its cover in one order of all records"

    map: FeatureMap | None = field(default=None, validator=map_or_none)
    cover: Cover | CoverUnion
    relation: R = field(validator=parameters.neighbours)
    weight: Fraction | None = field(
        default=None, alias="factor", converter=_positive_or_none, eq=False, repr=False
    )
    epsilon: Fraction = field(converter=parameters.positive)
    prior: Priors | None = field(default=None, converter=_priors)
    records: int | None = field(default=None, converter=parameters.optional_count)
    progress: Progress | None = field(default=None, eq=False, repr=False)

    @epsilon.default
    def _by_weight(self) -> Fraction:
        if self.weight is None:
            raise ParameterError("epsilon, factor", (None, None), "exactly one of them")
        return self.weight * (2 if getattr(self.relation, "symmetric", False) else 1)

    @progress.validator
    def _is_called(self, _parameter: object, progress: object) -> None:
        if progress is not None and not callable(progress):
            raise ParameterError("progress", progress, "a function of two numbers, or None")

    def __attrs_post_init__(self) -> None:
        """Refuse directions of another width, weights of other candidates, and two prices."""
        _check_widths(self.cover, self.map)
        _check_prior(self.prior, self.cover)
        if self.weight is not None and self.weight != self.factor:
            raise ParameterError("epsilon, factor", "both", "exactly one of them")

    @property
    def factor(self) -> Fraction:
        """Return the weight of a mistake in the exponent: epsilon, half if records are replaced."""
        return fewest_mistakes(self.epsilon, self.relation).factor

    def guarantee(self) -> BoundedRange[R]:
        """State epsilon-bounded range of the direction that is looked up."""
        prior = "once" if self.prior is None else "in proportion to its public prior weight"
        said = "on rows as they are" if self.map is None else f"on {self.map.description}"
        description = (
            f"looking up the direction of an index, {prior} in the list of candidates, of "
            f"{self.cover.description}, {said}"
        )
        return post_process(
            fewest_mistakes(self.epsilon, self.relation).guarantee(), description=description
        )

    def excess(self, *, failure: Number, part: int | None = None) -> float:
        """Bound how many mistakes the pick makes beyond the best candidate.

        Statement: except with probability ``failure``, at most
            (log(1/share) + log(1/failure)) / factor more than the best one, share being the prior
            probability of each candidate that counts as best: of the rarest, or of one cover.

        With ``part`` it is compared with the best of that cover of a union.

        Example:
            >>> from dpproof.accountant import ReplaceOne
            >>> from dpproof.mechanisms.learning.covers import RandomDirections
            >>> cover = RandomDirections(size=10_000, dimension=3, seed=1)
            >>> learner = ExponentialHalfspaces(cover=cover, epsilon=1, relation=ReplaceOne())
            >>> round(learner.excess(failure=0.05), 1)
            24.4
        """
        weights = self._weights()
        if part is not None and not 0 <= part < len(weights):
            raise ParameterError("part", part, f"from 0 to {len(weights) - 1}, or None")
        total = sum(size * weight for size, weight in weights)
        chosen = [weights[part]] if part is not None else weights
        share = float(min(weight for _, weight in chosen) / total)
        lost = -math.log(share) - math.log(arguments.open_probability(failure=failure))
        return lost / float(self.factor)

    def excess_rate(self, *, failure: Number) -> float:
        """Return ``excess`` as a share of the public ``records``; from 1 on it says nothing."""
        if self.records is None:
            raise ParameterError("records", None, "a public number, given to the learner")
        return self.excess(failure=failure) / self.records

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Pick ``count`` times on each dataset: records of shape (len(datasets), count)."""
        return np.stack([self._outputs(self._picked(data, count, rng)) for data in datasets])

    def mistakes(self, data: object, *, start: int = 0, stop: int | None = None) -> Integers:
        """Count the records that some candidates are mistaken about, exactly; it is private.

        ``start`` is the first candidate, ``stop`` one beyond the last; None takes all.
        """
        end, counts = self.cover.size if stop is None else stop, []
        for cover, plan, offset in self._covers():
            low, high = max(start - offset, 0), min(end - offset, cover.size)
            if low < high:
                counter = Mistakes(self._signed(data, cover, plan), paired=False)
                for first in range(low, high, counter.rows):
                    some = cover.directions(first, min(first + counter.rows, high))
                    counts.append(counter.counts(some * 2.0**28))
        return np.concatenate(counts)

    def coefficients(self, index: int) -> Vectors:
        """Return a candidate's direction: for rows before mapping if its map is linear."""
        if not 0 <= index < self.cover.size:
            raise ParameterError("index", index, f"from 0 to {self.cover.size - 1}")
        cover, plan, offset = [one for one in self._covers() if one[2] <= index][-1]
        (direction,) = cover.directions(index - offset, index - offset + 1)
        return plan.back(direction) if isinstance(plan, LinearMap) else direction

    def _covers(self) -> list[tuple[Cover, FeatureMap | None, int]]:
        """Return every cover, its map, and the number of its first direction."""
        if isinstance(self.cover, Cover):
            return [(self.cover, self.map, 0)]
        maps = self.cover.maps or (self.map,) * len(self.cover.covers)
        sizes = [cover.size for cover in self.cover.covers]
        offsets = [sum(sizes[:place]) for place in range(len(sizes))]
        return list(zip(self.cover.covers, maps, offsets, strict=True))

    def _weights(self) -> list[tuple[int, Fraction]]:
        """Return runs of candidates of equal prior weight: their number, and the weight of each."""
        if isinstance(self.cover, CoverUnion):
            prior = self.prior or (Fraction(1),) * len(self.cover.covers)
            pairs = zip(self.cover.covers, prior, strict=True)
            return [(cover.size, weight / cover.size) for cover, weight in pairs]
        if self.prior is None:
            return [(self.cover.size, Fraction(1))]
        return [(1, weight) for weight in self.prior]

    def _picked(self, data: object, count: int, rng: Rng) -> Integers:
        """Draw numbers of candidates on one dataset."""
        weights = self._weights()
        if isinstance(self.cover, FiniteCover) and self.prior is not None:
            scale = lcm(*(weight.denominator for weight in self.prior))
            times = [int(weight * scale) for weight in self.prior]
            scores = -self.mistakes(data)
            return categorical_exp(scores, count, rng, factor=self.factor, multiplicities=times)
        blocks = [
            Block(cover, self._signed(data, cover, plan), offset, weight)
            for (cover, plan, offset), (_, weight) in zip(self._covers(), weights, strict=True)
        ]
        return draw_candidates(
            blocks, factor=self.factor, count=count, rng=rng, progress=self.progress
        )

    def _signed(self, data: object, cover: Cover, plan: FeatureMap | None) -> Vectors:
        """Return the products y x of the mapped records, scaled to norm 1, on the grid."""
        read = data if plan is None else plan.records(data)
        records = on_grid(read, signs, norm=None, features=cover.dimension)
        return np.asarray(signed(records))

    def _outputs(self, picked: Integers) -> Outputs:
        """Return numpy records with the numbers and the directions."""
        unique, places = np.unique(picked, return_inverse=True)
        rows = [self.coefficients(int(index)) for index in unique]
        widths = [
            plan.features if isinstance(plan, LinearMap) else cover.dimension
            for cover, plan, _ in self._covers()
        ]
        table = np.zeros((len(rows), max(widths)))
        for place, row in enumerate(rows):
            table[place, : len(row)] = row
        return record(1, index=picked, weights=table[places])


def fewest_mistakes(epsilon: Fraction, relation: R) -> ExponentialMechanism[R]:
    """Return the exponential mechanism on the negative numbers of mistakes."""
    monotone = not relation.symmetric
    return ExponentialMechanism(epsilon=epsilon, sensitivity=LInf(1, relation), monotone=monotone)


def _check_widths(cover: object, plan: FeatureMap | None) -> None:
    """Refuse what is no cover, and directions of another width than mapped rows."""
    if not isinstance(cover, Cover | CoverUnion):
        allowed = "RandomDirections(...), CubeSurface(...), FiniteCover(...) or a CoverUnion"
        raise ParameterError("cover", cover, allowed)
    covers: tuple[Cover, ...] = (cover,) if isinstance(cover, Cover) else cover.covers
    own = None if isinstance(cover, Cover) else cover.maps
    if own is not None and plan is not None:
        raise ParameterError("map", plan, "None for a union whose covers have maps of their own")
    for one, each in zip(covers, own or (plan,) * len(covers), strict=True):
        if each is not None and each.output_features != one.dimension:
            allowed = f"{each.output_features}, the width of mapped rows"
            raise ParameterError("dimension", one.dimension, allowed)


def _check_prior(prior: Priors | None, cover: Cover | CoverUnion) -> None:
    """Refuse weights that are not as many as there are candidates or covers."""
    if prior is None:
        return
    if not isinstance(cover, FiniteCover | CoverUnion):
        raise ParameterError("prior", prior, "None, or the cover a FiniteCover or a CoverUnion")
    needed = cover.size if isinstance(cover, FiniteCover) else len(cover.covers)
    if len(prior) != needed:
        raise ParameterError("prior", prior, f"{needed} weights above 0")
