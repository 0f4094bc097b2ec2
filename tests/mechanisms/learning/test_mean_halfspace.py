"""The noisy mean as a halfspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dpproof.accountant import AddRemove
from dpproof.mechanisms import BatchPerceptron, MeanHalfspace, Records
from tests.contracts.learner_contract import LearnerContract
from tests.contracts.mechanism_contract import one_bad
from tests.mechanisms.learning.builders import BAD


class TestMeanHalfspace(LearnerContract):
    """One release."""

    def learner(self, **changes: Any) -> MeanHalfspace[Any]:  # noqa: ANN401
        """There are no steps and no rate."""
        changes.pop("rate", None)
        changes.pop("steps", None)
        return MeanHalfspace(**{"relation": AddRemove(), "sigma": 2, **changes})

    def labels(self) -> list[float]:
        """Both signs."""
        return [1.0, -1.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {name: BAD[name] for name in ("sigma", "norm", "relation", "features")}
        return one_bad(MeanHalfspace, good={"sigma": 2, "relation": AddRemove()}, bad=bad)


def test_is_a_perceptron_to_which_every_record_is_a_mistake() -> None:
    """Same price, same sum, in data units."""
    data = Records([[3.0, 0.0], [0.0, 2.0], [4.0, 0.0]], [1, -1, 1])
    mean = MeanHalfspace(sigma=2.0**-30, norm=4, relation=AddRemove())
    perceptron = BatchPerceptron(margin=4, steps=1, sigma=2.0**-30, norm=4, relation=AddRemove())

    assert mean.guarantee() == perceptron.guarantee()
    assert mean.release(data).weights == pytest.approx([7, -2], abs=1e-6)
    assert perceptron.release(data).weights == pytest.approx([7, -2], abs=1e-6)
