"""Exact laws that several tests compare with."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

Law = dict[tuple[int, ...], float]


def histogram(truths: Sequence[int], categories: int, epsilon: float) -> Law:
    """The exact law of the histogram of reports of these true categories."""
    other = 1 / (math.exp(epsilon) + categories - 1)
    law: Law = {(0,) * categories: 1.0}
    for truth in truths:
        after: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for (counts, mass), value in itertools.product(law.items(), range(categories)):
            more = tuple(count + (place == value) for place, count in enumerate(counts))
            after[more] += mass * other * (math.exp(epsilon) if value == truth else 1)
        law = after
    return law
