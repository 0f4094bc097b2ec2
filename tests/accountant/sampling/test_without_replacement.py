"""Samples of a fixed size."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling.without_replacement import WithoutReplacement


def test_sample_is_at_most_the_population() -> None:
    """The rate is exact; a sample larger than the population is refused."""
    scheme = WithoutReplacement(sample_size=2, population_size=6)

    assert scheme.sampling_rate == Fraction(1, 3)
    with pytest.raises(ParameterError, match="at most population_size = 6"):
        WithoutReplacement(sample_size=7, population_size=6)
    with pytest.raises(ParameterError, match="sample_size"):
        WithoutReplacement(sample_size=0, population_size=6)
