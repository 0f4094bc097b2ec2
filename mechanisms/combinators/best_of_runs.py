"""The best of a random number of runs of one mechanism."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts.law import RunLaw, required_runs
from dpproof.accountant.theorems.selection import select, select_above
from dpproof.mechanisms.combinators.composed import Rerun
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs, join, unpack
from dpproof.mechanisms.queries import Score, required_score, scored
from dpproof.mechanisms.samplers import run_count
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Selected(Rerun[R]):
    """The base run a random number of times, the output of largest score released.

    The other outputs, their scores and the number of runs are not released. The score sees an
    output and nothing else: to select by accuracy on private data, let the base release a
    private estimate of the accuracy along with its model, and score that. Of equally good
    outputs the first is taken; runs are exchangeable, so that is a tie broken at random.

    Where the law allows no run at all, an output is a pair (ran, output): (True, the best), or
    (False, a placeholder of zeros) when nothing was run. Elsewhere it is the best output alone.

    Built by ``.select``.

    Attributes:
        base: the mechanism that is run.
        runs: the law of the number of runs.
        score: from an output to a number, the larger the better; None where the output is one
            number and the largest is wanted.
    Laws: with one run this is the base.
    Example:
        >>> from dpproof.accountant.run_counts.law import FixedRuns
        >>> from dpproof.accountant.sensitivity import L2
        >>> from dpproof.mechanisms import Gaussian
        >>> noise = Gaussian(sigma=1, sensitivity=L2(1))
        >>> type(noise.select(FixedRuns(count=3)).release(0.0)).__name__
        'float'
    """

    base: Mechanism[R]
    runs: RunLaw
    score: Score | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        required_runs(self.runs)
        required_score(self.score)

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee for the best of the runs, whatever the score."""
        return select(self.base.guarantee(), self.runs)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the number of runs and the runs themselves anew for every output."""
        drawn = [self._best(data, run_count(self.runs, count, rng), rng) for data in datasets]
        best = np.stack([output[1] for output in drawn])
        if self.runs.probability_of_none == 0.0:
            return best
        return join([np.stack([output[0] for output in drawn]), best], axes=2)

    def _best(self, data: object, numbers_of_runs: Outputs, rng: Rng) -> tuple[Outputs, Outputs]:
        """Return for each number of runs whether there was one, and the best output, or zeros."""
        total = int(numbers_of_runs.sum())
        outputs = self.base.draw([data], max(total, 1), rng)[0]
        best = np.zeros((numbers_of_runs.size, *outputs.shape[1:]), dtype=outputs.dtype)
        ran = numbers_of_runs > 0
        if self.score is None and outputs.ndim == 1 and outputs.dtype.kind in "iuf":
            best[ran] = _largest(outputs[:total], numbers_of_runs[ran])
            return ran, best
        end = 0
        for i, runs in enumerate(numbers_of_runs):
            start, end = end, end + int(runs)
            if runs:
                scores = [scored(self.score, unpack(output)) for output in outputs[start:end]]
                best[i] = outputs[start + max(range(int(runs)), key=scores.__getitem__)]
        return ran, best


def _largest(outputs: Outputs, runs: Outputs) -> Outputs:
    """Return the largest of each number of runs, all above 0, of consecutive outputs."""
    for wrong in outputs[np.isnan(outputs)][:1]:
        scored(None, unpack(wrong))
    starts = np.cumsum(runs) - runs
    return np.maximum.reduceat(outputs, starts) if runs.size else outputs[:0]


@final
@dataclass(frozen=True, slots=True)
class Thresholded(Rerun[R]):
    """The base run until an output's score reaches a threshold, at most a random number of times.

    An output is a pair (found, output): (True, the first that was good enough), or (False, a
    placeholder of zeros). The number of runs is not released, nor how long they took.

    Built by ``.select_above``.

    Attributes:
        base: the mechanism that is run.
        runs: the law of the most runs made.
        threshold: the least score that is good enough.
        score: from an output to a number; None where the output is one number.
    Laws: with a threshold below every score this is the base, where one run is certain.
    Example:
        >>> from dpproof.accountant.run_counts.law import FixedRuns
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import RandomizedResponse
        >>> coin = RandomizedResponse(epsilon=1, categories=2, relation=AddRemove())
        >>> coin.select_above(FixedRuns(count=99), threshold=1).release(1)
        (True, 1)
    """

    base: Mechanism[R]
    runs: RunLaw
    threshold: float
    score: Score | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        required_runs(self.runs)
        threshold: object = self.threshold
        if not isinstance(threshold, numbers.Real) or math.isnan(threshold):
            raise ParameterError("threshold", threshold, "a number")
        required_score(self.score)

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee for the first good run, whatever score and threshold are."""
        return select_above(self.base.guarantee(), self.runs)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw fresh runs for every output, none after the one that is released."""
        drawn = [self._first(data, run_count(self.runs, count, rng), rng) for data in datasets]
        return join([np.stack(parts) for parts in zip(*drawn, strict=True)], axes=2)

    def _first(self, data: object, most: Outputs, rng: Rng) -> tuple[Outputs, Outputs]:
        """Return per number of runs whether one reached the threshold, and its output or zeros."""
        successes = np.zeros(most.size, dtype=bool)
        like = self.base.draw([data], 1, rng)[0]  # only its shape is used
        kept = np.zeros((most.size, *like.shape[1:]), dtype=like.dtype)
        running, made = np.flatnonzero(most > 0), 0
        while running.size:
            outputs = self.base.draw([data], running.size, rng)[0]
            scores = [scored(self.score, unpack(output)) for output in outputs]
            good = np.array([value >= self.threshold for value in scores], dtype=bool)
            successes[running[good]] = True
            kept[running[good]] = outputs[good]
            made += 1
            running = running[~good]
            running = running[most[running] > made]
        return successes, kept
