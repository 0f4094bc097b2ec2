"""Numeric answers behind the sparse vector technique."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import (
    AboveThreshold,
    Chained,
    ExponentialMechanism,
    Laplace,
    NumericAnswers,
    ReplayRng,
    TopK,
    compose,
)
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad


def counts(records: Sequence[int]) -> list[int]:
    """How many records are above 0, 2 and 4."""
    return [sum(record > k for record in records) for k in (0, 2, 4)]


def chain(scale: float = 3, cutoff: int = 1) -> Chained[AddRemove]:
    """Positions of counts above 2, and their values."""
    first = AboveThreshold(
        threshold_scale=2,
        query_scale=6,
        threshold=2,
        cutoff=cutoff,
        rising=True,
        query=counts,
        sensitivity=LInf(1),
    )
    return Chained(
        first=first,
        then=NumericAnswers(query=counts, scale=scale, cutoff=cutoff, sensitivity=LInf(1)),
    )


@pytest.mark.slow
class TestNumericAnswers(MechanismContract):
    """One answer with its value."""

    def mechanism(self) -> Chained[AddRemove]:
        """Counts of records."""
        return chain()

    def data(self) -> object:
        """Five records."""
        return [1, 2, 3, 5, 5]

    def increasing_noise(self) -> Sequence[Chained[AddRemove]]:
        """More and more noise on the answers."""
        return [chain(scale) for scale in (0.5, 1, 20)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            NumericAnswers,
            good={"query": counts, "scale": 1, "sensitivity": LInf(1), "cutoff": 2},
            bad={
                "query": (None, 3),
                "scale": NOT_POSITIVE,
                "sensitivity": (L1(1), 1, None),
                "cutoff": (0, 1.5, "1"),
            },
        )


def test_costs_the_positions_and_a_shift_for_each_answer() -> None:
    """The guarantee is that of the parts, composed; positions and values run together."""
    mechanism = chain(scale=4, cutoff=2)
    answers = Laplace(scale=4, sensitivity=L1(1)).repeat(2)
    parts = compose(mechanism.first, answers).guarantee()

    assert mechanism.guarantee().epsilon(delta=1e-6) == parts.epsilon(delta=1e-6)


def test_answers_are_about_the_queries() -> None:
    """Within 40 scales, 0 where there is no position; chosen candidates are measured as well."""
    drawn = chain(scale=0.25, cutoff=2).release_many([5] * 60, 300, rng=ReplayRng(1))
    places, values = (drawn[name] for name in drawn.dtype.names or ())
    assert np.abs(values[places >= 0] - 60).max() < 10
    assert (values[places < 0] == 0).all()
    best = TopK(ExponentialMechanism(epsilon=1, sensitivity=LInf(1), query=counts), k=2)
    measured = Chained(
        first=best, then=NumericAnswers(query=counts, scale=1, cutoff=2, sensitivity=LInf(1))
    )
    _, sizes = measured.release([1, 1, 9] * 500)
    assert set(np.round(np.asarray(sizes) / 500).tolist()) <= {1.0, 3.0}
    with pytest.raises(ParameterError, match="at least 2"):
        Chained(
            first=best, then=NumericAnswers(query=counts, scale=1, sensitivity=LInf(1))
        ).release([1])
