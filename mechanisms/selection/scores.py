"""What mechanisms that choose among scores share: their parameters, and reading the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accountant.errors import ParameterError
from accountant.relation import Relation
from accountant.sensitivity import LInf
from accountant.side_conditions import MONOTONE, SAME_CANDIDATES
from mechanisms import parameters
from mechanisms.outputs import Outputs
from mechanisms.queries.query import Query, real_values

UNIT: Final = LInf(1)

_AT_ONCE: Final = 1 << 18  # Noisy numbers in memory at a time.


def require_monotone(monotone: object, relation: Relation) -> bool:
    """Accept a claim of monotone scores, which symmetric relations do not allow.

    Raises:
        ParameterError: not True or False, or True under replace-one and the like.
    Example:
        >>> from accountant.relation import AddRemove
        >>> require_monotone(True, AddRemove())
        True
    """
    if not isinstance(monotone, bool):
        raise ParameterError("monotone", monotone, "True or False")
    if monotone and relation.symmetric:
        raise ParameterError(
            "monotone",
            monotone,
            f"False under {relation}",
            "replacing a record can raise one score and lower another",
        )
    return monotone


def score_assumptions(sensitivity: LInf, relation: Relation, *, monotone: bool) -> tuple[str, ...]:
    """Return what a choice among scores takes for granted.

    Example:
        >>> from accountant.relation import AddRemove
        >>> len(score_assumptions(LInf(1), AddRemove(), monotone=True))
        6
    """
    found = (*parameters.assumptions(sensitivity, relation), SAME_CANDIDATES())
    return (*found, MONOTONE()) if monotone else found


def read_scores(query: Query | None, datasets: Sequence[object]) -> NDArray[np.float64]:
    """Return one row of scores for each dataset.

    Raises:
        ParameterError: not a sequence of at least one finite number for each.
    Example:
        >>> read_scores(None, [[1, 2]])
        array([[1., 2.]])
    """
    scores = real_values(query, datasets)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise ParameterError("scores", scores.tolist(), "one number per candidate, at least 1")
    return scores


def in_parts(
    scores: NDArray[np.float64],
    count: int,
    draw: Callable[[NDArray[np.float64], int], NDArray[np.int64]],
) -> Outputs:
    """Draw ``count`` outputs for each row of scores, some at a time to bound memory.

    Args:
        scores: shape (datasets, candidates).
        count: outputs for each row.
        draw: (row, size) -> outputs, first axis of that size.
    Example:
        >>> in_parts(np.zeros((2, 3)), 4, lambda row, size: np.zeros(size, dtype=np.int64)).shape
        (2, 4)
    """
    return np.stack([np.concatenate(list(_parts(row, count, draw))) for row in scores])


def _parts(
    row: NDArray[np.float64],
    count: int,
    draw: Callable[[NDArray[np.float64], int], NDArray[np.int64]],
) -> Iterator[NDArray[np.int64]]:
    """Yield the outputs of one row."""
    size = max(_AT_ONCE // len(row), 1)
    for start in range(0, count, size):
        yield draw(row, min(size, count - start))
