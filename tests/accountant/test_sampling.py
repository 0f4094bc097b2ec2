"""Poisson sampling."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling import (
    Poisson,
    ShuffledBatches,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)


@pytest.mark.parametrize("bad", [0, -0.1, 1.1, float("nan"), "1", None, True])
def test_rate_is_in_the_unit_interval(bad: Any) -> None:  # noqa: ANN401
    """Above 0 and at most 1."""
    assert Poisson(sampling_rate=1).sampling_rate == 1
    with pytest.raises(ParameterError, match="sampling_rate"):
        Poisson(sampling_rate=bad)


def test_sample_is_at_most_the_population() -> None:
    """The rate is exact; a sample larger than the population is refused."""
    scheme = WithoutReplacement(sample_size=2, population_size=6)

    assert scheme.sampling_rate == Fraction(1, 3)
    with pytest.raises(ParameterError, match="at most population_size = 6"):
        WithoutReplacement(sample_size=7, population_size=6)
    with pytest.raises(ParameterError, match="sample_size"):
        WithoutReplacement(sample_size=0, population_size=6)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "3", None, True])
def test_batches_and_epochs_are_counts(bad: Any) -> None:  # noqa: ANN401
    """Whole numbers from 1; one epoch by default."""
    assert ShuffledBatches(batches=3).epochs == 1
    with pytest.raises(ParameterError, match="batches"):
        ShuffledBatches(batches=bad)
    with pytest.raises(ParameterError, match="epochs"):
        ShuffledBatches(batches=3, epochs=bad)


def test_schemes_of_one_step_refuse_what_draws_nothing_at_random() -> None:
    """Rates below 1, whole numbers from 1, and two records to draw from."""
    for scheme in (UserPoisson, TruncatedPoisson):
        counts = {"largest": 2, "population_size": 3} if scheme is TruncatedPoisson else {}
        counts = counts or {"contributions": 2}
        assert scheme(sampling_rate=0.5, **counts).sampling_rate == Fraction(1, 2)
        with pytest.raises(ParameterError, match="below 1"):
            scheme(sampling_rate=1, **counts)
        for name in counts:
            with pytest.raises(ParameterError, match=name):
                scheme(sampling_rate=0.5, **{**counts, name: 0})
    with pytest.raises(ParameterError, match="at least 2"):
        WithReplacement(sample_size=1, population_size=1)
