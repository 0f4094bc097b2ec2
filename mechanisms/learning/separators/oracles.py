"""Exact minimisers of losses plus noise over a finite space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable
from dpproof.mechanisms.learning.separators.losses import Loss, Patterns
from dpproof.mechanisms.learning.separators.spaces import Integers, Space
from dpproof.mechanisms.learning.separators.totals import halves, total_losses
from dpproof.mechanisms.samplers.arrays import largest_size

MOST_CANDIDATES: Final = 2**26
# Sums below it are exact in 64 bits. Soundness depends on it.
_LONG: Final = 2**62


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """The losses of one dataset over a space.

    Attributes:
        space: of the candidates.
        loss: of a candidate at a record.
        data: the records, grouped.
        unit: the worth of one loss, in units of the noise.
        heights: the factors of the last entry of a noise vector, by the sum of the squares
            of a candidate's coordinates; None if noise vectors have no such entry.
    """

    space: Space
    loss: Loss
    data: Patterns
    unit: int
    heights: Integers | None = None

    def totals(self) -> Integers:
        """Return the exact losses of all vectors of levels, as ``total_losses``."""
        return total_losses(self.space, self.loss, self.data)

    def objective(self, levels: Integers, noise: NDArray[Any]) -> int:
        """Return the exact objective of one candidate, given by its levels' positions."""
        values = np.array(self.space.levels)[levels]
        margins = values @ self.space.weights(self.data.rows).T
        total = self.loss.losses(
            margins[np.newaxis], np.array([values.sum()]), self.data, self.space
        )
        places = charges(self.space, noise)
        rest = sum(int(places[j, k]) for j, k in enumerate(levels))
        if self.heights is not None:
            height = self.heights[int((values**2).sum())]
            rest += int(noise[-1]) * int(height)
        return int(total[0]) * self.unit + rest


class Oracle(Readable, ABC):
    """An algorithm that finds the best candidate."""

    __slots__ = ()

    @property
    @abstractmethod
    def tolerance(self) -> Fraction | None:
        """Return by how many losses the candidate found may miss the minimum, for every dataset.

        None says that it is a minimum, and among equals the first in the order of levels.
        """

    @abstractmethod
    def accepts(self, space: Space, loss: Loss) -> None:
        """Refuse a space or loss that the oracle cannot minimise over, whatever the data.

        Raises:
            ParameterError: it cannot.
        """

    @abstractmethod
    def minima(self, problem: Problem, noises: NDArray[Any]) -> Integers:
        """Find the minimum for every noise vector.

        Args:
            problem: the losses.
            noises: integers, shape (runs, separators), one more if the problem has heights.
        Returns:
            Positions of levels, shape (runs, coordinates).
        """


@final
@dataclass(frozen=True, slots=True)
class EnumerationOracle(Oracle):
    """Compute the exact losses of all candidates once, then add each noise vector and compare.

    Everything is an integer, and among equals the first candidate in the order of levels is taken.

    Example:
        >>> EnumerationOracle().tolerance is None
        True
    """

    @property
    def tolerance(self) -> None:
        """Return None: the oracle is exact, ties included."""
        return

    def accepts(self, space: Space, loss: Loss) -> None:  # noqa: ARG002  # any loss
        """Refuse more than 2^26 vectors of levels.

        Raises:
            ParameterError: there are more.
        """
        if len(space.levels) ** space.coordinates > MOST_CANDIDATES:
            raise ParameterError(
                "oracle", self, "able to list the space", f"at most {MOST_CANDIDATES} vectors"
            )

    def minima(self, problem: Problem, noises: NDArray[Any]) -> Integers:
        """Compare all candidates."""
        return best_candidates(problem, problem.totals(), noises)


def best_candidates(problem: Problem, totals: Integers, noises: NDArray[Any]) -> Integers:
    """Find the first minimum of losses plus noise, for every noise vector.

    Args:
        problem: whose losses they are.
        totals: the problem's, computed once for many noises and laws of noise.
        noises: integers, shape (runs, separators), one more if the problem has heights.
    Returns:
        Positions of levels, shape (runs, coordinates).
    """
    space = problem.space
    head, _ = halves(space)
    outside = totals < 0
    restricted = bool(outside.any())
    squares = np.tile(np.array(space.levels) ** 2, (space.coordinates, 1))
    norms = _sums(squares[:head]), _sums(squares[head:])
    largest = int(totals.max(initial=0)) * problem.unit
    places = []
    for noise in noises:
        costs, pays = _fitting(problem, noise, largest)
        first, second = _sums(costs[:head]), _sums(costs[head:])
        best = []
        for i, start in enumerate(first):
            row = totals[i].astype(costs.dtype) * problem.unit + (second + start)
            if pays is not None:
                row += pays[norms[1] + norms[0][i]]
            if restricted:
                if outside[i].all():
                    continue
                row[outside[i]] = row.max() + 1
            j = int(row.argmin())
            best.append((int(row[j]), i, j))
        _, i, j = min(best)
        places.append(i * len(second) + j)
    return levels_at(space, np.array(places, dtype=np.int64))


def levels_at(space: Space, places: Integers) -> Integers:
    """Return the positions of levels of vectors, by their places in the order of all.

    Returns:
        Shape (places, coordinates).
    """
    base, width = len(space.levels), space.coordinates
    powers = np.array([base ** (width - 1 - j) for j in range(width)], dtype=np.int64)
    return np.asarray(places[:, np.newaxis] // powers % base)


def _fitting(
    problem: Problem, noise: NDArray[Any], largest: int
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the charges of a noise vector and of heights, in 64 bits unless more are needed."""
    costs, pays = charges(problem.space, noise), None
    rows = [*map(list, costs)]
    if problem.heights is not None:
        pays = problem.heights.astype(np.object_) * int(noise[-1])
        rows.append(list(pays))
    most = largest + sum(max(abs(int(x)) for x in row) for row in rows)
    kind = np.int64 if most < _LONG else np.object_
    return costs.astype(kind), None if pays is None else pays.astype(kind)


def charges(space: Space, noise: NDArray[Any]) -> NDArray[Any]:
    """Return the charge of each level of each coordinate: the noise of the places that are 1.

    Returns:
        Shape (coordinates, levels), exact integers.
    """
    steps = noise[: space.separators].reshape(space.coordinates, len(space.levels) - 1)
    if largest_size(steps.reshape(-1)) * steps.shape[1] >= _LONG:
        steps = steps.astype(np.object_)
    zero = np.zeros((space.coordinates, 1), dtype=steps.dtype)
    return np.concatenate([zero, np.cumsum(steps, axis=1)], axis=1)


def vectors(space: Space) -> Iterator[Integers]:
    """Return every candidate's levels' positions in order, for tests and small spaces."""
    values = np.array(space.levels)
    for digits in levels_at(space, np.arange(len(space.levels) ** space.coordinates)):
        admitted = space.admits(values[digits].sum(keepdims=True))
        if admitted is None or admitted[0]:
            yield digits


def _sums(costs: NDArray[Any]) -> NDArray[Any]:
    """Return the costs of all vectors of levels, in order."""
    sums = np.zeros(1, dtype=costs.dtype)
    for row in costs:
        sums = (sums[:, np.newaxis] + row).reshape(-1)
    return sums
