"""Batches as loaders yield them, and what is refused without showing a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.form import DataError
from dpproof.accountant.sampling import ShuffledBatches
from dpproof.auditing import RecordedDataset, inspect_loader
from tests.auditing.inspection import loaders


def test_a_recorded_dataset_tells_which_records_are_in_a_batch() -> None:
    """Of a loader that yields records, also where a record was looked at before."""
    rng, dataset = np.random.default_rng(1), RecordedDataset([f"name {i}" for i in range(60)])

    def start() -> Iterator[list[str]]:
        for batch in loaders.in_batches(rng.permutation(60)[:56], 7):
            yield [dataset[place] for place in batch]

    dataset[3]  # as a constructor may, to see its form
    report = inspect_loader(start, epochs=3, dataset=dataset)

    assert (report.records, report.scheme) == (60, ShuffledBatches(batches=8))
    with pytest.raises(DataError, match="load in this one"):  # read elsewhere
        inspect_loader([["a record"]], epochs=2, dataset=dataset)


@pytest.mark.parametrize(
    "batch", [(0, 1), [0, 1], np.array([0, 1], np.uint8), [np.array([0, 1])], np.array([[0, 1]])]
)
def test_batches_may_be_of_many_types(batch: object) -> None:
    """Lists, tuples, arrays, and a collated dataset of one column; empty ones too."""
    assert inspect_loader([batch, [], np.zeros((1, 0))], epochs=2).records == 2


@pytest.mark.parametrize(
    "batch",
    [
        [0.5, 1.5],
        ["Alice"],
        [True, False],
        [-1, 0],
        [[0, 1], [1, 0]],
        {"x": [0, 1]},
        3,
        [[1], [2, 3]],
    ],
)
def test_batches_that_are_no_record_numbers_are_refused(batch: object) -> None:
    """The error says which batch, and none of its values."""
    with pytest.raises(DataError) as refusal:
        inspect_loader([[0], batch], epochs=2)
    assert "Alice" not in str(refusal.value)
    assert "0.5" not in str(refusal.value)


def test_an_error_of_a_loader_does_not_show_its_message() -> None:
    """It may quote a record."""

    def start() -> list[Any]:
        raise ValueError("Alice")

    with pytest.raises(DataError, match="ValueError") as refusal:
        inspect_loader(start, epochs=2)
    assert "Alice" not in str(refusal.value)
