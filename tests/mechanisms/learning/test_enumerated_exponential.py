"""The exponential mechanism over a finite space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, BoundedRange, ReplaceOne
from dpproof.mechanisms import Cube, EnumeratedExponential, ParityLoss, Records, Subsets
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"epsilon": 1, "space": Cube(3)}


class TestEnumeratedExponential(MechanismContract):
    """Three signs."""

    def mechanism(self) -> EnumeratedExponential[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return EnumeratedExponential(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Integer rows of both labels."""
        return Records([[1, 0, 2], [-1, 1, 0], [0, 1, 1], [1, 1, 1]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[EnumeratedExponential[AddRemove]]:
        """Epsilon from 4 to a tenth."""
        return [
            EnumeratedExponential(epsilon=e, space=Cube(3), relation=AddRemove())
            for e in (4, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "epsilon": NOT_POSITIVE,
            "space": (3, None, Cube(40)),
            "loss": ("zero-one", 3),
            "relation": ("add-remove", None),
        }
        return one_bad(EnumeratedExponential, good={**GOOD, "relation": AddRemove()}, bad=bad)


def test_probabilities_are_those_of_the_losses() -> None:
    """Odd candidates have one loss, even ones none; half the factor under replace-one."""
    record = Records([[0, 0]], [1])
    for relation, factor in ((AddRemove(), 1.0), (ReplaceOne(), 0.5)):
        pick = EnumeratedExponential(epsilon=1, space=Cube(2), loss=ParityLoss(), relation=relation)
        odd = (pick.release_many(record, 20_000)["weights"] == 1).sum(axis=1) % 2
        expected = np.exp(-factor) / (1 + np.exp(-factor))

        assert odd.mean() == pytest.approx(expected, abs=0.025)
        assert pick.guarantee() == BoundedRange(epsilon=1, relation=relation)


def test_only_candidates_are_picked() -> None:
    """Of five features two, whatever the data."""
    found = EnumeratedExponential(
        epsilon=0.1, space=Subsets(5, 2), relation=AddRemove()
    ).release_many([], 200)["weights"]

    assert (found.sum(axis=1) == 2).all()
    assert len(np.unique(found, axis=0)) == 10
