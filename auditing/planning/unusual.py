"""Beside the plans, nearly all of the significance for an event known before it was ever seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from dpproof.auditing.counts.claim import Claim
from dpproof.auditing.planning.plan import EpsilonPlan, Method
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.histogram import Unusual, row_keys
from dpproof.auditing.witnesses.witness import Question

_RARE: Final = 0.01  # Share of the pilot, at most, in which an output is unusual. Heuristic.
_SHARE: Final = 0.9  # Of the significance, for the events beside everything else. Heuristic.
_WEIGHT: Final = 30.0  # Log of the weight of a hit where none is expected: one ends it all.


def with_unusual(
    plans: tuple[EpsilonPlan, ...], training: Training, claim: Claim
) -> tuple[EpsilonPlan, ...]:
    """Return the plans, and beside them nearly all of the significance for a rare release.

    A key that its threshold lets through with probability e^epsilon delta, and never on the other
    dataset, comes up a few times in a pilot or not at all, so that nothing can be learned of it.
    Where nearly all outputs of the pilot are one value, the event that an output is another is
    fixed nevertheless: in the order that the pilot shows, or half and half in both.

    Returns:
        The plans alone, where outputs vary, or where the claim has no delta.
    """
    rows = row_keys(training.features, training.features.shape[1])
    values, first, seen = np.unique(rows, return_index=True, return_counts=True)
    usual = int(np.argmax(seen))
    if claim.delta == 0 or seen[usual] < (1 - _RARE) * len(rows):
        return plans
    score, unusual = Unusual(training.features[first[usual]]), rows != values[usual]
    on_data = int((unusual & training.labels).sum())
    on_neighbour = int(unusual.sum()) - on_data
    orders = [on_neighbour > on_data] if on_data != on_neighbour else [False, True]
    expected = claim.epsilon if min(on_data, on_neighbour) else _WEIGHT
    rare = [
        EpsilonPlan(
            Question(score, upwards=True, swapped=swapped, thresholds=np.array([1.0])),
            0,
            expected,
            Method.TWO_SAMPLE,
            _SHARE / len(orders),
        )
        for swapped in orders
    ]
    return (*(replace(plan, share=(1 - _SHARE) * plan.share) for plan in plans), *rare)
