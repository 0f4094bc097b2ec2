"""The states of all steps, where they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    BatchPerceptron,
    ChooseIterate,
    GaussianStop,
    KeslerPerceptron,
    OneVsRest,
    Projected,
    Records,
    SignProjection,
)

ROWS = np.random.default_rng(4).normal(size=(60, 4))
DATA = Records(ROWS, np.where(ROWS[:, 0] > 0, 1, -1))
CLASSES = Records(ROWS, np.arange(60) % 3)
STEPS: dict[str, Any] = {"margin": 0.1, "steps": 6, "sigma": 4, "norm": 2}


def run(learner: Any, data: Records = DATA, seed: int = 1) -> Any:  # noqa: ANN401
    """Five runs by a seed."""
    return learner.release_many(data, 5, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("average", [True, False])
def test_the_weights_are_a_function_of_the_iterates(*, average: bool) -> None:
    """The last state, or the mean of the last half; without being asked nothing is different."""
    learner = BatchPerceptron(**STEPS, average=average, iterates=True)
    released, plain = run(learner), run(BatchPerceptron(**STEPS, average=average))
    states = released["iterates"]
    expected = states[:, 3:].mean(axis=1) if average else states[:, -1]

    assert states.shape == (5, 6, 4)
    assert released["weights"] == pytest.approx(expected, rel=1e-12)
    assert (released["weights"] == plain["weights"]).all()
    assert plain.dtype.names == ("stopped", "steps", "weights")
    assert learner.guarantee() == BatchPerceptron(**STEPS).guarantee()


def test_a_stopped_run_has_no_later_states() -> None:
    """From the step on at which it stopped they are nan, and the state before is its weights."""
    stop = GaussianStop(sigma=9, below=25)
    learner = BatchPerceptron(**STEPS | {"steps": 30}, stop=stop, iterates=True)
    released = run(learner, seed=3)
    assert released["stopped"].any()
    for one in released:
        made = int(one["steps"])
        assert np.isfinite(one["iterates"][:made]).all()
        assert np.isnan(one["iterates"][made:]).all()
        if one["stopped"] and made:
            assert (one["weights"] == one["iterates"][made - 1]).all()


def test_a_chosen_state_is_among_them() -> None:
    """Without averages the pick is the iterate of its number."""
    learner = BatchPerceptron(**STEPS, stop=ChooseIterate(epsilon=1), average=False, iterates=True)
    for one in run(learner):
        assert (one["weights"] == one["iterates"][int(one["steps"]) - 1]).all()


def test_learners_made_of_others_pass_them_on() -> None:
    """Of Kesler's perceptron, of one perceptron a class, and before projecting."""
    kesler = KeslerPerceptron(**STEPS, classes=3, iterates=True)
    base = BatchPerceptron(**STEPS, average=False, iterates=True)
    each = run(OneVsRest(base=base, classes=3), CLASSES)
    plan = SignProjection(features=4, dimension=2, seed=1)
    mapped = run(Projected(base=base, projection=plan))

    assert run(kesler, CLASSES)["iterates"].shape == (5, 6, 3, 4)
    assert each["iterates"].shape == (5, 6, 3, 4)
    assert (each["iterates"][:, -1] == each["weights"]).all()
    assert mapped["iterates"].shape == (5, 6, 4)
    assert (mapped["iterates"][:, -1] == mapped["weights"]).all()
    wrong: dict[str, Any] = {"iterates": 1}
    with pytest.raises(ParameterError, match="iterates must be True or False"):
        BatchPerceptron(**STEPS, **wrong)
