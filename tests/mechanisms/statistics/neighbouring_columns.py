"""Small columns of numbers, and their neighbours."""

from __future__ import annotations

import itertools
import math

from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut

VALUES = (-7.5, -1.0, 0.0, 0.3, 2.0, 1e300, math.inf, -math.inf, math.nan)
RELATIONS: tuple[Relation, ...] = (AddRemove(), ZeroOut(), ReplaceOne())
BOUNDS = [(-3, 2), (1, 2.5), (-4, -1.3), (0, 0.1)]


def neighbours(relation: Relation) -> list[tuple[list[float], list[float]]]:
    """All pairs of neighbouring datasets of at most two records of ``VALUES``."""
    rest = [[], *([value] for value in VALUES)]
    if isinstance(relation, ReplaceOne):
        return [
            ([x, *others], [y, *others])
            for others in rest
            for x, y in itertools.combinations(VALUES, 2)
        ]
    blank = [math.nan] if isinstance(relation, ZeroOut) else []
    return [([x, *others], [*blank, *others]) for others in rest for x in VALUES]
