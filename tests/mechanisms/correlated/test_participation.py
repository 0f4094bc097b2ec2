"""The rounds that a record takes part in."""

from __future__ import annotations

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import FixedEpochs, MinSeparation, SingleParticipation


def test_patterns_of_one_round() -> None:
    """Every round alone."""
    assert list(SingleParticipation().within(3).patterns()) == [(0,), (1,), (2,)]


def test_fewer_participations_are_kept() -> None:
    """A limit below what fits cuts patterns; one above it changes nothing."""
    assert MinSeparation(2, participations=1).within(5).participations == 1
    assert MinSeparation(2, participations=9).within(5) == MinSeparation(2).within(5)


def test_a_separation_beyond_all_rounds_is_one_round() -> None:
    """Nobody takes part twice."""
    assert MinSeparation(99).within(5).participations == 1


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", None, True])
def test_refuses(bad: object) -> None:
    """Whole numbers from 1 alone."""
    with pytest.raises(ParameterError):
        MinSeparation(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        FixedEpochs(bad)  # type: ignore[arg-type]


def test_epochs_divide_the_rounds() -> None:
    """Else the error names the participation that fits."""
    with pytest.raises(ParameterError, match="MinSeparation"):
        FixedEpochs(3).within(10)
