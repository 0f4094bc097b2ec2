"""Random samples of records."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sampling.without_replacement import WithoutReplacement
from dpproof.mechanisms import ReplayRng
from dpproof.mechanisms.combinators.draw_samples import draw_samples


def test_samples_keep_the_kind_and_the_order() -> None:
    """An array gives arrays, a sequence gives lists; records stay in order."""
    scheme = Poisson(sampling_rate=0.5)
    arrays = next(draw_samples(np.arange(20), scheme, 3, ReplayRng(1)))
    lists = next(draw_samples(tuple(range(20)), scheme, 3, ReplayRng(1)))

    assert [a.tolist() for a in arrays if isinstance(a, np.ndarray)] == lists
    assert all(list(x) == sorted(x) for x in lists if isinstance(x, list))


def test_batches_add_up() -> None:
    """However large the dataset, every sample is drawn."""
    scheme = Poisson(sampling_rate=2**-18)
    batches = [len(b) for b in draw_samples(range(2**19), scheme, 5, ReplayRng(1))]

    assert batches == [2, 2, 1]


def test_fixed_size_needs_its_population() -> None:
    """A dataset of another size is refused, also where the sample would fit."""
    scheme = WithoutReplacement(sample_size=2, population_size=4)
    samples = next(draw_samples([1, 2, 3, 4], scheme, 10, ReplayRng(1)))

    assert {len(sample) for sample in samples} == {2}
    with pytest.raises(ParameterError, match="4 records"):
        next(draw_samples([1, 2, 3], scheme, 1, ReplayRng(1)))


def test_rate_one_keeps_everything() -> None:
    """Subsampling at rate 1 is the identity, not only nearly."""
    samples = next(draw_samples([1, 2, 3], Poisson(sampling_rate=1), 50, ReplayRng(1)))

    assert samples == [[1, 2, 3]] * 50
