"""The engine of every learner here: repeat a noisy sum of bounded contributions, and update.

Theorem A (proofs/theory/learners.md). Let v(w, z) be a function of the current state w and of one
record z, with ||v|| <= C, and 0 for a blank record. Repeat T times: draw a sample of the records,
release the sum of v(w, z) over it plus N(0, sigma^2 I), and compute the next state from everything
released. Then all releases together are dominated by T repetitions of one Gaussian mechanism of
sensitivity C (2 C under replace-one) on such a sample.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import R, Relation, ReplaceOne
from dpproof.accountant.sampling import Poisson, WithoutReplacement
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.accountant.theorems.composition import compose, post_process
from dpproof.mechanisms.learning.grid import RECORD_BITS
from dpproof.mechanisms.learning.records import GridRecords, Matrix
from dpproof.mechanisms.learning.stops import ChooseIterate, Stop
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.broadcast import on_grid as in_data_units
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers import (
    default_granularity,
    gaussian_rounded,
    poisson_mask,
    subset_without_replacement,
)
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Batches:
    """The samples of one dataset, drawn afresh for every step of every run.

    They are drawn from all records of the data, also those that contribute nothing because they are
    blank or malformed: whether a record contributes must not change how the others are drawn.

    Raises:
        ParameterError: the data has not as many records as the scheme's population.
    """

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
    """Refuse batches of a fixed size that are no scheme, or whose size is not public.

    Raises:
        ParameterError: not a scheme, a rate beside it, or another relation than replace-one, under
            which the number of records is not public.
    """
    if batch is None:
        return
    if not isinstance(batch, WithoutReplacement):
        allowed = "WithoutReplacement(sample_size=..., population_size=...) or None"
        raise ParameterError("batch", batch, allowed, "rate= is for Poisson samples")
    if not isinstance(relation, ReplaceOne):
        raise ParameterError(
            "batch", batch, f"None under {relation}", "give relation=ReplaceOne(), or rate="
        )
    if rate != 1:
        raise ParameterError("rate", rate, "left out with batch=", "the batch has a fixed size")


_ALL: Final = Poisson(sampling_rate=1)

# Bounds the memory of many runs on many records: entries of the largest temporary array.
_ENTRIES = 2**22


@final
@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """The contributions of the sampled records in some states.

    Attributes:
        sums: of the contributions, integers as float64 in units of 2^-24: shape (runs, ...).
        counts: of the records that contribute, shape (runs,).
    """

    sums: NDArray[np.float64]
    counts: NDArray[np.int64]


# From vectors and classes of some records, and which of them each run has sampled, to the sums of
# their contributions and the numbers of those that contribute.
Adding = Callable[
    [Matrix, NDArray[np.int64], NDArray[np.bool_] | None],
    tuple[NDArray[np.float64], NDArray[np.int64]],
]


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
    def at(self, states: NDArray[np.float64]) -> Adding:
        """Return what adds up the contributions of some records in states, exactly."""

    def totals(self, states: NDArray[np.float64], chosen: NDArray[np.bool_] | None) -> Totals:
        """Add up the contributions of the chosen records in every state.

        Args:
            states: one per run, shape (runs, *shape).
            chosen: mask of the records that each run has sampled, shape (runs, all records of the
                data or more); None for all.
        Laws: exact; what one record adds depends on the state and that record alone.
        """
        if chosen is not None:
            chosen = chosen[:, self.grid.positions]
        add, sums, counts = self.at(states), np.zeros_like(states), np.zeros(len(states), np.int64)
        for vectors, classes, place in self.grid.pieces():
            some, wrong = add(vectors, classes, None if chosen is None else chosen[:, place])
            sums += some.reshape(states.shape)
            counts += wrong
        return Totals(sums, counts)

    def advance(
        self, states: NDArray[np.float64], noisy: NDArray[np.float64], step: int
    ) -> NDArray[np.float64]:
        """Return the next states from noisy sums, in a step counted from 0: by default, add."""
        del step
        return states + noisy


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySums(Generic[R]):
    """T noisy sums of bounded contributions, each of a fresh sample, in units of the norm bound.

    Attributes:
        scheme: the scheme by which the records of a step are drawn; Poisson at rate 1 takes all.
        steps: T.
        sigma: standard deviation of the noise, in data units.
        norm: largest norm of a record, in data units.
        squared_bound: bound of the squared norm of a contribution, in units of norm^2.
        relation: the neighbouring relation.
        stop: the rule by which a run ends early or picks a state; None to make all steps.
        iterates: true if the states after every step are returned, too.
        whole: whether an average is over all states, the zero state that a run starts from
            included, instead of over the last part.
        tail: averages are over the last 1 / tail of the states.
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
        """Return the guarantee of all noisy sums together, and so of every function of them.

        Raises:
            NotImplied: no theorem covers a sample of the sum and the test under the relation.
        """
        steps = self.step().repeat(self.steps).guarantee()
        beside = None if self.stop is None else self.stop.beside(self.relation)
        joint = steps if beside is None else compose(steps, beside)
        return post_process(joint, description=description)

    def run(
        self, contributions: Contributions, batches: Batches, count: int, *, average: bool, rng: Rng
    ) -> Outputs:
        """Run the learner ``count`` times on one dataset.

        Args:
            contributions: of the records.
            batches: samples of the same records.
            count: the number of independent runs.
            average: whether the weights are a mean of the states, or the last.
            rng: source of words.
        Returns:
            Records with fields ``stopped``, ``steps``, ``weights`` and perhaps ``iterates``, shape
            (count,).
        """
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
        self,
        stopped: NDArray[np.bool_],
        steps: NDArray[np.int64],
        weights: NDArray[np.float64],
        trail: NDArray[np.float64],
    ) -> Outputs:
        """Return outputs in data units, with the states after every step if they are asked for."""
        unit = float(self.norm)
        return learned(stopped, steps, weights * unit, trail * unit if self.iterates else None)

    def _noisy(self, sums: NDArray[np.float64], rng: Rng) -> NDArray[np.float64]:
        """Add noise to sums in units of the norm bound; round to a grid that sigma decides."""
        scale = self.sigma / self.norm
        grain = default_granularity(scale)
        return in_data_units(gaussian_rounded(sums * 2.0**-RECORD_BITS, scale, grain, rng), grain)


def learned(
    stopped: NDArray[np.bool_],
    steps: NDArray[np.int64],
    weights: NDArray[np.float64],
    iterates: NDArray[np.float64] | None = None,
) -> Outputs:
    """Return the outputs of runs as numpy records, so that ``release`` gives ``.weights``.

    Example:
        >>> learned(np.array([False]), np.array([3]), np.array([[0.5]]))[0].weights
        array([0.5])
    """
    columns: dict[str, NDArray[Any]] = {"stopped": stopped, "steps": steps, "weights": weights}
    if iterates is not None:
        columns["iterates"] = iterates
    kinds: dict[str, type[np.generic]] = {"stopped": np.bool_, "steps": np.int64}
    fields = [(name, kinds.get(name, np.float64), one.shape[1:]) for name, one in columns.items()]
    outputs = np.recarray(len(weights), dtype=fields)
    for name, one in columns.items():
        outputs[name] = one
    return np.asarray(outputs)
