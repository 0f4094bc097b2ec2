"""The engine of the learners: repeat a noisy sum of bounded contributions, and update.

Theorem A (proofs/theory/learners.md). Let v(w, z) be a function of the current state w and of one
record z, with ||v|| <= C, and 0 for a blank record. Repeat T times: draw a sample of the records,
release the sum of v(w, z) over it plus N(0, sigma^2 I), and compute the next state from everything
released. Then all releases together are dominated by T repetitions of one Gaussian mechanism of
sensitivity C (2 C under replace-one) on such a sample.
"""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy import sparse

from dpproof.accountant import Guarantee, L2Contribution, ParameterError, compose, post_process
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import R, Relation, ReplaceOne
from dpproof.accountant.sampling import Poisson, WithoutReplacement
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import BlockError, Blocks, added
from dpproof.mechanisms.learning.maps.feature_map import LinearMap
from dpproof.mechanisms.learning.records import (
    PRODUCT_BITS,
    RECORD_BITS,
    STATE_BITS,
    GridRecords,
    Integers,
    Matrix,
    Vectors,
    as_records,
    empty,
    is_sparse,
    on_grid,
    row_width,
    unit_rows,
)
from dpproof.mechanisms.learning.stops import ChooseIterate, Stop
from dpproof.mechanisms.mechanism import Mechanism, Outputs, record
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.samplers import (
    Rng,
    gaussian_rounded,
    poisson_mask,
    subset_without_replacement,
    with_noise,
)


@final
@dataclass(frozen=True, slots=True)
class Batches:
    """The samples of one dataset, fresh in every step of every run, of all its records."""

    # Records that contribute nothing are drawn too: whether one does must not change other draws.

    scheme: Poisson | WithoutReplacement
    total: int

    def __post_init__(self) -> None:
        """Refuse another number of records, which is public wherever sizes are fixed."""
        if isinstance(self.scheme, WithoutReplacement):
            population = self.scheme.population_size
            if self.total != population:
                raise ParameterError("data", self.total, f"{population} records")

    def chosen(self, runs: int, rng: Rng) -> NDArray[np.bool_] | None:
        """Draw which records each run takes: shape (runs, total); None for all."""
        if self.scheme.sampling_rate == 1:
            return None
        if isinstance(self.scheme, Poisson):
            mask = poisson_mask(runs * self.total, self.scheme.sampling_rate, rng)
            return mask.reshape(runs, self.total)
        drawn = np.zeros((runs, self.total), dtype=np.bool_)
        for run in drawn:
            run[subset_without_replacement(len(run), self.scheme.sample_size, rng)] = True
        return drawn


def require_fixed_size(batch: object, *, rate: Fraction, relation: Relation) -> None:
    """Refuse batches of a fixed size that are no scheme, or whose size is not public."""
    if batch is None:
        return
    if not isinstance(batch, WithoutReplacement):
        allowed = "WithoutReplacement(sample_size=..., population_size=...) or None"
        raise ParameterError("batch", batch, allowed, "rate= is for Poisson samples")
    if not isinstance(relation, ReplaceOne):
        allowed = f"None under {relation}"
        raise ParameterError("batch", batch, allowed, "give relation=ReplaceOne(), or rate=")
    if rate != 1:
        raise ParameterError("rate", rate, "left out with batch=", "the batch has a fixed size")


_ALL: Final = Poisson(sampling_rate=1)

# Bounds the memory of many runs on many records: entries of the largest temporary array.
_ENTRIES = 2**22


@final
@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Sums of contributions, (runs, ...), in units of 2^-24, and how many records contribute."""

    sums: Vectors
    counts: Integers


# From vectors and classes of some records, and which of them each run has sampled, to the sums of
# their contributions and the numbers of those that contribute.
Adding = Callable[[Matrix, Integers, NDArray[np.bool_] | None], tuple[Vectors, Integers]]


class Contributions(ABC):
    """The contributions of the records of one dataset: v(w, z) of the theorem, on the grid."""

    __slots__ = ()

    grid: GridRecords

    @property
    def records(self) -> int:
        """Return the number of records that contribute."""
        return len(self.grid)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one state."""

    @abstractmethod
    def at(self, states: Vectors) -> Adding:
        """Return what adds up the contributions of some records in states, exactly."""

    def totals(self, states: Vectors, chosen: NDArray[np.bool_] | None) -> Totals:
        """Add up exactly what records add in every state; ``chosen`` is (runs, records) or None."""
        if chosen is not None:
            chosen = chosen[:, self.grid.positions]
        add, sums, counts = self.at(states), np.zeros_like(states), np.zeros(len(states), np.int64)
        for vectors, classes, place in self.grid.pieces():
            some, wrong = add(vectors, classes, None if chosen is None else chosen[:, place])
            sums += some.reshape(states.shape)
            counts += wrong
        return Totals(sums, counts)

    def advance(self, states: Vectors, noisy: Vectors, step: int) -> Vectors:
        """Return the next states from noisy sums, in a step counted from 0: by default, add."""
        del step
        return states + noisy


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySums(Generic[R]):
    """T noisy sums of bounded contributions, each of a fresh sample, in units of the norm bound.

    Attributes:
        scheme: draws the records of each of ``steps`` T; Poisson at rate 1 takes all.
        sigma, norm: of the noise, and the largest of a record, in data units.
        squared_bound: bound of the squared norm of a contribution, in units of norm^2.
        iterates: true if the states after every step are returned, too.
        whole: whether an average is over all states, the first, zero, included.
        tail: averages are over the last 1 / tail of the states, if not ``whole``.
    """

    scheme: Poisson | WithoutReplacement = _ALL
    steps: int
    sigma: Fraction
    norm: Fraction
    squared_bound: int = 1
    relation: R
    stop: Stop | None = None
    whole: bool = False
    iterates: bool = False
    tail: int = 2

    @property
    def contribution(self) -> L2Contribution[R]:
        """Return the most that one record adds to a sum, in data units: C."""
        return L2Contribution(sqrt_up(self.squared_bound * self.norm**2), self.relation)

    def step(self) -> Mechanism[R]:
        """Return the mechanism of one noisy sum, with what a test releases beside it."""
        sampled = self.scheme.sampling_rate < 1
        noise = Gaussian(sigma=self.sigma, sensitivity=self.contribution)
        step = noise if self.stop is None else self.stop.step(noise, whole=self._whole)
        return step.subsample(self.scheme) if sampled else step

    @property
    def _whole(self) -> bool:
        """Return whether a step sees all records, or a sample whose size is fixed."""
        return not isinstance(self.scheme, Poisson) or self.scheme.sampling_rate == 1

    def guarantee(self, description: str) -> Guarantee[R]:
        """Return the guarantee of all noisy sums together, and so of every function of them."""
        steps = self.step().repeat(self.steps).guarantee()
        beside = None if self.stop is None else self.stop.beside(self.relation)
        joint = steps if beside is None else compose(steps, beside)
        return post_process(joint, description=description)

    def run(
        self, contributions: Contributions, batches: Batches, count: int, *, average: bool, rng: Rng
    ) -> Outputs:
        """Run the learner on one dataset, to a mean of the states if ``average``, else the last."""
        run = self._run
        if isinstance(self.stop, ChooseIterate):
            run = functools.partial(self._choose, self.stop)
        size = max(1, contributions.records * int(np.prod(contributions.shape[:-1])))
        batch = max(1, _ENTRIES // size)
        parts = [
            run(contributions, batches, min(batch, count - start), average=average, rng=rng)
            for start in range(0, count, batch)
        ]
        return np.concatenate(parts)

    def _run(
        self, contributions: Contributions, batches: Batches, runs: int, *, average: bool, rng: Rng
    ) -> Outputs:
        """Make the steps, each run until it is stopped; a stopped run keeps the state it tested."""
        states = np.zeros((runs, *contributions.shape))
        late, kept = np.zeros_like(states), np.zeros_like(states)
        stopped, taken = np.zeros(runs, dtype=np.bool_), np.full(runs, self.steps)
        trail = np.full((runs, self.steps * self.iterates, *contributions.shape), np.nan)
        watch = None if self.stop is None else self.stop.watch(runs, rng)
        averaged = -(-self.steps // self.tail)
        for step in range(self.steps):
            totals = contributions.totals(states, batches.chosen(runs, rng))
            noisy = self._noisy(totals.sums, rng)
            if self.stop is not None and watch is not None:
                counted = contributions.totals(states, None) if self.stop.counts_all else totals
                now = watch(noisy * float(self.norm), counted.counts, float(self.sigma)) & ~stopped
                kept[now], taken[now] = states[now], step
                stopped |= now
                if stopped.all():
                    break
            states = contributions.advance(states, noisy, step)
            if self.iterates:
                trail[~stopped, step] = states[~stopped]
            if self.whole or step >= self.steps - averaged:
                late += states
        added = self.steps + 1 if self.whole else averaged
        last = late / added if average else states
        kept[~stopped] = last[~stopped]
        return self._learned(stopped, taken, kept, trail)

    def _choose(
        self,
        rule: ChooseIterate,
        contributions: Contributions,
        batches: Batches,
        runs: int,
        *,
        average: bool,
        rng: Rng,
    ) -> Outputs:
        """Make all steps, and let the rule pick among the states, and their means if asked."""
        states = np.zeros((runs, self.steps, *contributions.shape))
        state = np.zeros((runs, *contributions.shape))
        for step in range(self.steps):
            chosen = batches.chosen(runs, rng)
            noisy = self._noisy(contributions.totals(state, chosen).sums, rng)
            state = contributions.advance(state, noisy, step)
            states[:, step] = state
        trail = states
        if average:
            count = np.arange(1, self.steps + 1).reshape(-1, *[1] * len(contributions.shape))
            states = np.concatenate([states, states.cumsum(axis=1) / count], axis=1)
        mistakes = [
            contributions.totals(candidates, None).counts for candidates in states.swapaxes(0, 1)
        ]
        picked = rule.choose(np.stack(mistakes, axis=1), self.relation, rng)
        weights = states[np.arange(runs), picked]
        none = np.zeros(runs, dtype=np.bool_)
        return self._learned(none, picked % self.steps + 1, weights, trail)

    def _learned(
        self, stopped: NDArray[np.bool_], steps: Integers, weights: Vectors, trail: Vectors
    ) -> Outputs:
        """Return outputs in data units, with the states after every step if they are asked for."""
        unit = float(self.norm)
        return learned(stopped, steps, weights * unit, trail * unit if self.iterates else None)

    def _noisy(self, sums: Vectors, rng: Rng) -> Vectors:
        """Add noise to sums in units of the norm bound; round to a grid that sigma decides."""
        return with_noise(gaussian_rounded, sums * 2.0**-RECORD_BITS, self.sigma / self.norm, rng)


def learned(
    stopped: NDArray[np.bool_], steps: Integers, weights: Vectors, iterates: Vectors | None = None
) -> Outputs:
    """Return the outputs of runs as numpy records, so that ``release`` gives ``.weights``."""
    more = {} if iterates is None else {"iterates": iterates}
    return record(1, stopped=stopped, steps=steps, weights=weights, **more)


def mapped_back(plan: LinearMap, runs: Outputs) -> Outputs:
    """Return the outputs of runs with weights, and states, for rows before mapping."""
    names = [name for name in ("weights", "iterates") if name in (runs.dtype.names or ())]
    return learned(runs["stopped"], runs["steps"], *(plan.back(runs[name]) for name in names))


# From states of shape (runs, features) to one number each, shape (runs,).
Limits = Callable[[Vectors], Vectors]
# From states and noisy sums of one step to the next states.
Update = Callable[[Vectors, Vectors], Vectors]


def signs(labels: Vectors) -> Integers:
    """Return class 1 for the label 1, class 0 for the label -1, and -1 for every other label."""
    return np.where(labels == 1, 1, np.where(labels == -1, 0, -1))


def signed(records: GridRecords) -> Matrix:
    """Return the products y x of labels and rows; those of an array take its place."""
    signs = 2.0 * records.classes - 1.0
    if is_sparse(records.vectors):
        diagonal: Matrix = sparse.diags_array(signs, format="csr")
        return diagonal @ records.vectors
    return np.multiply(
        records.vectors, signs[:, np.newaxis], out=records.vectors, casting="same_kind"
    )


def hinge_limits(threshold: float) -> Limits:
    """Return limits for mistakes y <w, x> < threshold, above 0, in units whose product is 1."""

    def limits(states: Vectors) -> Vectors:
        with np.errstate(divide="ignore", over="ignore"):
            reach = threshold / np.linalg.norm(states, axis=1)
        return np.asarray(np.ceil(np.minimum(reach, 2.0) * 2.0**PRODUCT_BITS) - 1)

    return limits


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HalfspaceMistakes(Contributions):
    """Contributions y x of records with y <w / ||w||, x> at most a limit, in units of 2^-52."""

    grid: GridRecords
    limits: Limits
    update: Update

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one weight per feature."""
        return (int(self.grid.vectors.shape[1]),)

    def at(self, states: Vectors) -> Adding:
        """Return what adds up the mistakes: one product finds them, one adds them, both exact."""
        directions, limits = unit_rows(states, STATE_BITS), self.limits(states)[:, np.newaxis]

        def add(
            vectors: Matrix, classes: Integers, chosen: NDArray[np.bool_] | None
        ) -> tuple[Vectors, Integers]:
            signs = 2.0 * classes - 1.0
            mistakes = (directions @ vectors.T) * signs <= limits
            if chosen is not None:
                mistakes &= chosen
            return (mistakes * signs) @ vectors, mistakes.sum(axis=1)

        return add

    def advance(self, states: Vectors, noisy: Vectors, step: int) -> Vectors:
        """Return the next states by the update that the learner was given."""
        del step
        return self.update(states, noisy)


def mistakes_of_coordinates(records: GridRecords, margin: float) -> HalfspaceMistakes:
    """Return mistakes y <w, x> <= margin ||w||_1, the margin in units of the norm bound."""

    def limits(states: Vectors) -> Vectors:
        lengths = np.linalg.norm(states, axis=1)
        ratios = np.linalg.norm(states, ord=1, axis=1) / np.where(lengths > 0, lengths, 1.0)
        return np.asarray(np.floor(np.minimum(margin * ratios, 2.0) * 2.0**PRODUCT_BITS))

    return HalfspaceMistakes(records, limits, operator.add)


def mistakes_within(records: GridRecords, limit: float) -> HalfspaceMistakes:
    """Return mistakes y <w / ||w||, x> <= limit, an integer in units of 2^-52 of the norm bound."""
    return HalfspaceMistakes(records, lambda states: np.full(len(states), limit), operator.add)


def _size(learner: SumLearner[Any], data: object) -> tuple[int, int, int]:
    """Return the number of records, their width on the grid, and 1."""
    records = as_records(data, learner.features)
    return len(records), learner.contributions(records[:0]).grid.vectors.shape[1], 1


def _added(
    learner: SumLearner[Any], states: Vectors, data: object, chosen: NDArray[np.bool_] | None = None
) -> tuple[int, Vectors, Integers]:
    """Return the number of records of a part of a block, and their totals."""
    found = learner.contributions(data)
    totals = found.totals(states, chosen)
    return found.grid.total, totals.sums, totals.counts


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InBlocks(Contributions):
    """The contributions of records in blocks, added up there; ``like`` has those of no records."""

    learner: SumLearner[Any]
    like: Contributions
    blocks: Blocks
    sizes: tuple[int, ...]

    @property
    def grid(self) -> GridRecords:  # type: ignore[override]  # a field of others
        """Return no records, with the number of all."""
        return self.like.grid

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one state."""
        return self.like.shape

    def at(self, states: Vectors) -> Adding:
        """Return what adds up contributions."""
        return self.like.at(states)

    def totals(self, states: Vectors, chosen: NDArray[np.bool_] | None) -> Totals:
        """Add up the totals of the blocks."""
        ends = np.cumsum(self.sizes)[:-1]
        beside = () if chosen is None else (np.split(chosen, ends, axis=1),)
        work = functools.partial(_added, self.learner, states)
        records, sums, counts = self.blocks.sum(work, *beside)
        if records != self.grid.total:
            raise BlockError("the blocks do not have the records that they had before")
        return Totals(sums, counts)

    def advance(self, states: Vectors, noisy: Vectors, step: int) -> Vectors:
        """Return the next states, as of the learner."""
        return self.like.advance(states, noisy, step)


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SumLearner(Mechanism[R], ABC):
    """A learner whose states follow from noisy sums of contributions, a fixed number of times."""

    whole = ""

    relation: R = field(validator=parameters.neighbours)
    average: bool = field(default=True, converter=parameters.flag)
    features: int | None = field(default=None, converter=row_width)

    @property
    @abstractmethod
    def norm(self) -> Fraction | None:
        """Return the norm that rows are clipped to; None scales them to norm 1."""

    @abstractmethod
    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""

    def _encode(self, labels: Vectors) -> Integers:
        """Return the class numbers of the labels, by default of 1 and -1; -1 for an unknown one."""
        return signs(labels)

    @abstractmethod
    def _contributions(self, records: GridRecords) -> Contributions:
        """Return the contributions of the records of one dataset."""

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the noisy sums of all steps, and so of every function of them."""
        return self.sums().guarantee("the learner's rule for its next state")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        sums, runs = self.sums(), []
        for data in datasets:
            read = self.contributions(data)
            batches = Batches(sums.scheme, read.grid.total)
            runs.append(sums.run(read, batches, count, average=self.average, rng=rng))
        return np.stack(runs)

    @final
    def contributions(self, data: object) -> Contributions:
        """Return the contributions of the records of one dataset, for tests and audits."""
        if not isinstance(data, Blocks) or data.records is not None:
            return self._contributions(self._read(data))
        sizes = data.each(functools.partial(_size, self))
        total, width, pieces = added(sizes)
        like = self._contributions(empty(total, width // pieces))
        return InBlocks(self, like, data, tuple(one.parts[0] for one in sizes))

    def _read(self, data: object) -> GridRecords:
        """Put the labelled rows on the grid in units of the norm bound."""
        return on_grid(data, self._encode, norm=self.norm, features=self.features, compact=True)

    @property
    @final
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units: 1 if rows are scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class StepLearner(SumLearner[R], ABC):
    """A learner whose every step sees all records, a Poisson sample, or one of a fixed size."""

    steps: int = field(converter=parameters.count)
    sigma: Fraction = field(converter=parameters.scale)
    rate: Fraction = field(default=Fraction(1), converter=parameters.rate)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    batch: WithoutReplacement | None = field(default=None)

    @batch.validator
    def _is_public(self, _parameter: object, batch: object) -> None:
        require_fixed_size(batch, rate=self.rate, relation=self.relation)

    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        scheme = Poisson(sampling_rate=self.rate) if self.batch is None else self.batch
        return NoisySums(
            scheme=scheme,
            steps=self.steps,
            sigma=self.sigma,
            norm=self._unit,
            relation=self.relation,
        )
