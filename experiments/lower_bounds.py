"""Caps on the success of every private learner, and how many records it needs.

Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Theorem 2 and Lemma 15, with the exact
trade-off function in place of e^(n epsilon); Nguyen, Ullman & Zakynthinou, arXiv:1902.09009,
Theorem 6, as repaired in docs/CLAIMS.md. Theorems 3 and 4 of the former are asymptotic, with
constants that are vacuous at sizes that run; appendix G of Bassily, Mohri & Suresh is not at hand.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dpproof.accountant import Guarantee, group
from dpproof.accountant.relation import Relation
from dpproof.mechanisms import Records

R = TypeVar("R", bound=Relation)


def packing_cap(guarantee: Guarantee[R], *, records: int, sets: int) -> float:
    """Return the most that a private learner can succeed with, on average over tasks.

    Statement: let G_1, ..., G_K be disjoint sets of hypotheses and D_i data of n records. Then the
        mean over i of P(M(D_i) in G_i) is at most the power of a test between M(D_i) and M(no
        records) at false positive rate 1/K.
    Proof: P(M(none) in G_i) has a mean of at most 1/K; the power, at n steps of the relation, is
        concave in it.

    Args:
        guarantee: of one run of the learner.
        records: n, by which every D_i differs from no records at all.
        sets: K.
    Example:
        >>> from dpproof.accountant import PureDP
        >>> round(packing_cap(PureDP(epsilon=1), records=1, sets=20), 3)
        0.136
    """
    rate = Fraction(1, sets)
    return group(guarantee, size=records).true_positive_rate(false_positive_rate=rate).upper


def packing_records(guarantee: Guarantee[R], *, sets: int, success: float) -> int:
    """Return how many records a learner needs at least, to succeed with that probability.

    Example:
        >>> from dpproof.accountant import PureDP
        >>> packing_records(PureDP(epsilon=1), sets=2 * 1_000, success=0.9)
        8
    """
    records = 1
    while packing_cap(guarantee, records=records, sets=sets) < success:
        records += 1
    return records


def axis_task(axis: int, *, dimension: int, margin: float, records: int) -> Records:
    """Return records of the task of Theorem 2: the direction e_axis, or -e_(axis - dimension).

    Half of the rows are 1.01 margin times it, labelled 1, and half minus that, labelled -1. No
    halfspace has robust risk 0 at 0.9 margin for two tasks.
    """
    row = np.zeros(dimension)
    row[axis % dimension] = 1.01 * margin * (1 if axis < dimension else -1)
    signs = np.where(np.arange(records) % 2, -1, 1)
    return Records(signs[:, np.newaxis] * row, signs)


def robust(weights: Any, data: Records, *, margin: float) -> Any:  # noqa: ANN401  # arrays
    """Return which weight vectors have every record beyond a margin, shape (models,)."""
    scores = (data.rows @ np.asarray(weights).T) * data.labels[:, np.newaxis]
    return (scores > margin * np.linalg.norm(weights, axis=1)).all(axis=0)


def copies_cap(*, epsilon: float, delta: float, records: int) -> float:
    """Return the most that a learner of n copies of one bit can succeed with (Lemma 15).

    Example:
        >>> [round(copies_cap(epsilon=0.5, delta=1e-5, records=n), 5) for n in (1, 2, 5)]
        [0.69674, 0.81608, 0.95898]
    """
    left = math.exp(-records * epsilon)
    return 1 - left / 2 + delta * (1 - left) / (1 - math.exp(-epsilon))


def halfspace_tasks(margin: float) -> int:
    """Return how many halfspaces of a margin no hypothesis serves two of, by Theorem 6 repaired.

    Statement: codewords of length d = 1/(1000 margin^2) at distance 0.15 d, of which there are
        2^(0.39 d) by the bound of Gilbert and Varshamov.
    """
    return int(2 ** (0.39 / (1000 * margin**2)))
