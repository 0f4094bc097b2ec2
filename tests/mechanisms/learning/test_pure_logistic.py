"""Logistic regression by spherical objective perturbation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import ReplaceLabel, ReplaceOne
from dpproof.accountant.relation import AddRemove
from dpproof.mechanisms import LogisticObjective, PureLogisticObjective, Records
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"epsilon": 1, "regulariser": 2}


class TestPureLogisticObjective(MechanismContract):
    """Two features, norm 1."""

    def mechanism(self) -> PureLogisticObjective[Any]:
        """Return the mechanism at epsilon 1."""
        return LogisticObjective.pure(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Rows on every side."""
        return Records([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[PureLogisticObjective[Any]]:
        """Epsilon from 4 to a tenth."""
        return [
            LogisticObjective.pure(epsilon=e, regulariser=10, relation=AddRemove())
            for e in (4, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "epsilon": NOT_POSITIVE,
            "regulariser": (*NOT_POSITIVE, 0.99),
            "norm": (0, -1, "1"),
            "relation": ("add-remove", None),
            "features": (0, 2.5),
        }
        return one_bad(LogisticObjective.pure, good={**GOOD, "relation": AddRemove()}, bad=bad)


def test_the_price_is_epsilon_and_the_condition_is_that_of_the_theorem() -> None:
    """The least regulariser is norm^2 / epsilon, twice that under replacement; all certified."""
    for relation, least in ((AddRemove(), 9 / 2), (ReplaceOne(), 9.0), (ReplaceLabel(), 9.0)):
        learner = LogisticObjective.pure(epsilon=2, regulariser=least, norm=3, relation=relation)
        certificate = learner.guarantee().certify(delta=0)

        assert learner.guarantee().epsilon(delta=0).upper == pytest.approx(2)
        assert isinstance(proofs.check(certificate), proofs.VerifiedUnder)


def densities(before: float, tilt: float, decay: float, rate: float) -> Any:  # noqa: ANN401
    """The density of the minimum in one dimension, with one record of weight ``before``."""
    w = np.linspace(-40, 40, 8_001)
    share = 1 / (1 + np.exp(w))
    noise = before * share + tilt - decay * w
    return 0.5 * rate * np.exp(-rate * np.abs(noise)) * (decay + before * share * (1 - share))


@pytest.mark.parametrize("price", [0.5, 1.0, 2.0])
def test_density_ratios_are_within_epsilon(price: float) -> None:
    """In one dimension, over tilts by other records; with a smaller regulariser they are not."""
    for decay, within in ((1 / price, True), (0.25 / price, False)):
        worst = 0.0
        for tilt in np.linspace(-3, 3, 25):
            p, q = (densities(one, float(tilt), decay, price) for one in (1.0, 0.0))
            worst = max(worst, float(np.abs(np.log(p / q)).max()))
        assert (worst <= price + 1e-9) is within


def test_learns() -> None:
    """Separable rows are separated."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3_000, 3))
    labels = np.where(rows[:, 0] > 0, 1, -1)
    weights = (
        LogisticObjective.pure(epsilon=1, regulariser=1, relation=AddRemove())
        .release(Records(rows, labels))
        .weights
    )

    assert np.mean(np.sign(rows @ weights) == labels) > 0.95
