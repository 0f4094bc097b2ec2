"""Training runs by their numbers alone."""

from __future__ import annotations

from typing import Any

import pytest

import dpproof as dp
from dpproof.errors import InputError
from dpproof.interop import from_shuffled_training
from dpproof.interop.histories import from_training

TUTORIAL = {"n": 60_000, "batch_size": 128, "epochs": 10, "noise_multiplier": 1.0}


def test_the_tutorial_of_the_field() -> None:
    """Poisson accounting prints .8535 of it; the truth of shuffled batches is far above."""
    shuffled = from_training(TUTORIAL, None, poisson=False).epsilon(delta=1e-6)
    samples = from_training(TUTORIAL, None, poisson=True).epsilon(delta=1e-6)

    assert 6.902 < shuffled.lower < 6.903
    assert 19.423 < shuffled.upper < 19.424
    assert 0.853 < samples.lower <= samples.upper < 0.854


def test_a_smaller_last_batch_is_a_batch() -> None:
    """Batches are counted up, and a run of one batch is the Gaussian mechanism."""
    runs = (
        from_shuffled_training(records=n, batch_size=10, epochs=1, noise_multiplier=1)
        for n in (10, 11, 20, 21)
    )
    found = [run.epsilon(delta=1e-6).lower for run in runs]

    assert found[0] == pytest.approx(4.8865541)
    assert found[0] > found[1] == found[2] > found[3]


@pytest.mark.parametrize(
    ("numbers", "error"),
    [
        ({"n": 0}, dp.ParameterError),
        ({"batch_size": 1.5}, dp.ParameterError),
        ({"epochs": 0.5}, dp.ParameterError),
        ({"noise_multiplier": 0}, dp.ParameterError),
        ({"noise_multiplier": "1"}, dp.ParameterError),
        ({"number_of_examples": 60_000}, InputError),
    ],
)
@pytest.mark.parametrize("poisson", [False, True])
def test_refusals(numbers: Any, error: type[Exception], *, poisson: bool) -> None:  # noqa: ANN401
    """Numbers outside their domain, and two names of one number, are refused either way."""
    with pytest.raises(error):
        from_training({**TUTORIAL, **numbers}, None, poisson=poisson)


def test_names_of_tensorflow_privacy_are_read() -> None:
    """Both sets of names say the same; one that is missing is asked for."""
    renamed = {"number_of_examples": 60_000, "num_epochs": 10}
    other = {**renamed, "batch_size": 128, "noise_multiplier": 1.0}

    assert from_training(other, dp.ReplaceOne(), poisson=False) == from_training(
        TUTORIAL, dp.ReplaceOne(), poisson=False
    )
    with pytest.raises(InputError, match="one epochs or num_epochs"):
        from_training({**TUTORIAL, "epochs": 1, "num_epochs": 1}, None, poisson=False)
    with pytest.raises(InputError, match="one batch_size"):
        from_training({"n": 9, "epochs": 1, "noise_multiplier": 1}, None, poisson=False)
