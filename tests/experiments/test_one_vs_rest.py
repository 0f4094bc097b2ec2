"""Several classes by one halfspace each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove
from dpproof.mechanisms import BatchPerceptron, KeslerPerceptron, MeanHalfspace, Records
from experiments.noisy_hinge import NoisyHinge, SubsampledHinge
from experiments.one_vs_rest import OneVsRest
from tests.contracts.mechanism_contract import MechanismContract, one_bad
from tests.contracts.weakened import assert_caught


def base(**changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
    """A perceptron of two steps."""
    return BatchPerceptron(
        **{"relation": AddRemove(), "margin": 0.1, "steps": 2, "sigma": 2, **changes}
    )


class TestOneVsRest(MechanismContract):
    """Three classes."""

    def mechanism(self) -> OneVsRest[AddRemove]:
        """Of two steps each."""
        return OneVsRest(base=base(), classes=3)

    def data(self) -> Records:
        """A row of every class, and an unknown one."""
        return Records([[1.0, 0.0], [0.0, 1.0], [-0.6, -0.8], [0.5, 0.5]], [0, 1, 2, 7])

    def neighbour(self) -> Records:
        """Without the row of class 2."""
        return self.data().cut(np.array([0, 1, 3]))

    def increasing_noise(self) -> Sequence[OneVsRest[AddRemove]]:
        """Standard deviations from half the norm to fifty times."""
        return [OneVsRest(base=base(sigma=sigma), classes=3) for sigma in (0.5, 1, 2.5, 50)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other bases, and other numbers of classes."""
        kesler = KeslerPerceptron(classes=3, margin=0, steps=1, sigma=1, relation=AddRemove())
        bad: dict[str, Sequence[Any]] = {
            "base": (None, "perceptron", kesler),
            "classes": (1, 0, 2.5, None, 2**17),
        }
        return one_bad(OneVsRest, good={"base": base(), "classes": 3}, bad=bad)


@pytest.mark.parametrize(("classes", "rate", "epsilon"), [(1, 1 / 120, 1), (10, 1 / 120, 2.249)])
def test_every_class_is_paid_for(classes: int, rate: float, epsilon: float) -> None:
    """Noise for (1, 1e-5) of one class costs 2.249 for ten: the budget of the paper's section 5."""
    one = base(steps=120, sigma=0.871199, rate=rate)
    run = one if classes == 1 else OneVsRest(base=one, classes=classes)

    assert run.guarantee().epsilon(delta=1e-5).upper == pytest.approx(epsilon, abs=6e-4)


@pytest.mark.parametrize(
    "halfspace",
    [
        base(sigma=2.0**-20, steps=6),
        SubsampledHinge(learning_rate=0.3, steps=6, sigma=2.0**-20, relation=AddRemove()),
        NoisyHinge(margin=0.5, expected_size=3, steps=6, sigma=2.0**-20, relation=AddRemove()),
        MeanHalfspace(sigma=2.0**-20, relation=AddRemove()),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_every_class_has_its_own_halfspace(halfspace: Any) -> None:  # noqa: ANN401
    """Weights of class c are those of the base on labels "is c"; unknown labels are left out."""
    rows = np.eye(3)[[0, 1, 2, 0, 0]]
    labels = np.array([0, 1, 2, 0, 9])
    released = OneVsRest(base=halfspace, classes=3).release(Records(rows, labels))
    for c in range(3):
        binary = Records(rows[:4], np.where(labels[:4] == c, 1, -1))

        assert released.weights[c] == pytest.approx(halfspace.release(binary).weights, abs=1e-3)
    assert (rows[:4] @ released.weights.T).argmax(axis=1).tolist() == [0, 1, 2, 0]


def test_thirty_classes_at_the_price_of_one_are_caught() -> None:
    """The budget of the paper's section 5, taken for all classes, is refuted by one record."""
    one = base(steps=1, sigma=3)
    row = Records([[1.0]], [0])

    assert_caught(OneVsRest(base=one, classes=30), one.guarantee(), (row, row[:0]), 6_000)
