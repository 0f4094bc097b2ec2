"""The first of a random number of runs of one mechanism that is good enough."""

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
from dpproof.accountant.theorems.selection.above import select_above
from dpproof.mechanisms.combinators.rerun import Rerun
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs, join, unpack
from dpproof.mechanisms.queries.score import Score, required_score, scored
from dpproof.mechanisms.samplers import run_count
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Thresholded(Rerun[R]):
    """The base run until an output's score reaches a threshold, at most a random number of times.

    An output is a pair (found, output): (True, the first that was good enough), or (False, a
    placeholder of zeros). The number of runs is not released, nor how long they took.

    Built by ``.select_above``.

    Attributes:
        base: what is run.
        runs: the law of the most runs made.
        threshold: what is good enough.
        score: from an output to a number; None where the output is one number.
    Laws: with a threshold below every score this is the base, where one run is certain.
    Example:
        >>> from dpproof.accountant.run_counts.fixed import FixedRuns
        >>> from dpproof.mechanisms import RandomizedResponse
        >>> coin = RandomizedResponse(epsilon=1, categories=2)
        >>> coin.select_above(FixedRuns(count=99), threshold=1).release(1)
        (True, 1)
    """

    base: Mechanism[R]
    runs: RunLaw
    threshold: float
    score: Score | None = None

    def __post_init__(self) -> None:
        """Refuse anything that is not a mechanism, a law, a threshold and a score."""
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        required_runs(self.runs)
        given: object = self.threshold
        if not isinstance(given, numbers.Real) or math.isnan(given):
            raise ParameterError("threshold", given, "a number")
        required_score(self.score)

    def guarantee(self) -> Guarantee[R]:
        """The base's guarantee, for the first good run, whatever the score and the threshold."""
        return select_above(self.base.guarantee(), self.runs)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Fresh runs for every output, none after the one that is released.

        Raises:
            ParameterError: a score is not a number, or there is none and the output is not one.
        """
        drawn = [self._first(data, run_count(self.runs, count, rng), rng) for data in datasets]
        return join([np.stack(parts) for parts in zip(*drawn, strict=True)], axes=2)

    def _first(self, data: object, most: Outputs, rng: Rng) -> tuple[Outputs, Outputs]:
        """Return per number of runs whether one reached the threshold, and its output or zeros."""
        found = np.zeros(most.size, dtype=bool)
        like = self.base.draw([data], 1, rng)[0]  # only its shape is used
        kept = np.zeros((most.size, *like.shape[1:]), dtype=like.dtype)
        running, made = np.flatnonzero(most > 0), 0
        while running.size:
            outputs = self.base.draw([data], running.size, rng)[0]
            scores = [scored(self.score, unpack(output)) for output in outputs]
            good = np.array([value >= self.threshold for value in scores], dtype=bool)
            found[running[good]] = True
            kept[running[good]] = outputs[good]
            made += 1
            running = running[~good]
            running = running[most[running] > made]
        return found, kept
