"""The exponential mechanism."""

from __future__ import annotations

import functools
import itertools
import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.relation import AddRemove, ReplaceOne, ZeroOut
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import ExponentialMechanism
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.selection.builders import FAVOURITE

EPSILON = 1.5


class TestExponentialMechanism(MechanismContract):
    """On scores."""

    def mechanism(self) -> ExponentialMechanism[AddRemove]:
        """Fractional sensitivity."""
        return ExponentialMechanism(epsilon=EPSILON, sensitivity=LInf(0.5))

    def data(self) -> object:
        """Scores of four candidates."""
        return [1.0, 0.5, 0.25, 1.125]

    def neighbour(self) -> object:
        """Every score moves, up and down by turns."""
        return [0.5, 1.0, -0.25, 1.625]

    def increasing_noise(self) -> Sequence[ExponentialMechanism[AddRemove]]:
        """Epsilon from 3 down to 1/10."""
        return [ExponentialMechanism(epsilon=e, sensitivity=LInf(1)) for e in (3, 1, 0.1)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each, and monotone scores under replace-one."""
        good: dict[str, Any] = {"epsilon": 1, "sensitivity": LInf(1)}
        replaced = {**good, "monotone": True, "sensitivity": LInf(1, ReplaceOne())}
        return [
            functools.partial(ExponentialMechanism, **replaced),
            *one_bad(
                ExponentialMechanism,
                good=good,
                bad={
                    "epsilon": NOT_POSITIVE,
                    "sensitivity": (L1(1), 2, None),
                    "monotone": (1, "yes", None),
                    "query": ([1, 2],),
                },
            ),
        ]


class TestExponentialMechanismOnRecords(MechanismContract):
    """Carrying its query."""

    def mechanism(self) -> ExponentialMechanism[AddRemove]:
        """The most frequent word; adding a record never lowers a score."""
        return ExponentialMechanism(epsilon=1, sensitivity=LInf(1), monotone=True, query=FAVOURITE)

    def data(self) -> object:
        """Words."""
        return ["tea", "tea", "water"]

    def increasing_noise(self) -> Sequence[ExponentialMechanism[AddRemove]]:
        """Epsilon from 3 down to 1/10."""
        return [
            ExponentialMechanism(epsilon=e, sensitivity=LInf(1), query=FAVOURITE)
            for e in (3, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A query that is not one."""
        return one_bad(
            ExponentialMechanism,
            good={"epsilon": 1, "sensitivity": LInf(1)},
            bad={"query": ("score",)},
        )


def law(scores: ArrayLike, factor: float) -> NDArray[np.float64]:
    """Softmax of factor * scores."""
    weights = np.exp(factor * np.asarray(scores, dtype=np.float64))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 0.75, 1.25])
@pytest.mark.parametrize("monotone", [False, True])
def test_statement_covers_every_neighbour(monotone: bool, epsilon: float) -> None:  # noqa: FBT001
    """Over all extreme moves of four scores, the profile is never above the statement."""
    mechanism = ExponentialMechanism(epsilon=EPSILON, sensitivity=LInf(2), monotone=monotone)
    assert mechanism.factor == Fraction(EPSILON) / (2 if monotone else 4)
    factor = float(mechanism.factor)
    stated = mechanism.guarantee().delta(epsilon=epsilon).upper
    worst = 0.0
    low = 0 if monotone else -2
    for scores in ((0.0, 0, 0, 0), (5.0, 0, -3, 1), (1.0, 9, 9, 9)):
        for move in itertools.product((low, 0, 2), repeat=4):
            p, q = law(scores, factor), law(np.add(scores, move), factor)
            for one, other in ((p, q), (q, p)):
                worst = max(worst, float(np.maximum(one - math.exp(epsilon) * other, 0).sum()))

    assert worst <= stated + 1e-12


def test_two_candidates_attain_the_range() -> None:
    """Scores that move apart by the full sensitivity reach epsilon: the factor is not too small."""
    p = law([0, 0], EPSILON / 2)
    q = law([1, -1], EPSILON / 2)
    losses = np.log(q / p)

    assert np.ptp(losses) == pytest.approx(EPSILON)


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne(), ZeroOut()])
def test_states_bounded_range(relation: AddRemove | ReplaceOne | ZeroOut) -> None:
    """The native notion is bounded range, under any relation."""
    mechanism = ExponentialMechanism(epsilon=0.5, sensitivity=LInf(3, relation))

    assert isinstance(mechanism.guarantee(), BoundedRange)
    assert mechanism.guarantee().stated_epsilon == Fraction(1, 2)


def test_outputs_follow_the_law() -> None:
    """Frequencies stay in their DKW band, except with probability 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    size, scores = 200_000, [3.0, 1.0, 2.5, 0.0]
    mechanism = ExponentialMechanism(epsilon=EPSILON, sensitivity=LInf(1))
    outputs = mechanism.release_many(scores, size, rng=np.random.default_rng(seed))
    empirical = np.cumsum(np.bincount(outputs, minlength=4)) / size
    band = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * size))

    assert np.abs(empirical - np.cumsum(law(scores, EPSILON / 2))).max() <= band


@pytest.mark.parametrize("scores", [[], 3.0, [[1.0, 2.0]], [float("nan"), 1.0], "ab", None])
def test_refuses_what_is_not_scores(scores: object) -> None:
    """One finite number for each candidate, at least one candidate."""
    with pytest.raises(ParameterError):
        ExponentialMechanism(epsilon=1, sensitivity=LInf(1)).release(scores)


def test_scores_far_apart_do_not_overflow() -> None:
    """Only differences of scores matter."""
    mechanism = ExponentialMechanism(epsilon=1, sensitivity=LInf(1))

    assert mechanism.release([1e300, -1e300, 0.0]) == 0
