"""Scattering features, made again."""

from __future__ import annotations

import pytest

from experiments import data, tramer2021


@pytest.mark.slow
def test_scattering_and_the_mean_are_worth_it() -> None:
    """On the small digits at epsilon 3 both together are better than pixels alone."""
    rows = {
        (row[1], row[2]): float(str(row[4])) for row in tramer2021.accuracy(data.digits(), fits=1)
    }

    assert rows["scattering", "yes"] > 0.9
    assert rows["scattering", "yes"] > rows["pixels", "no"]
