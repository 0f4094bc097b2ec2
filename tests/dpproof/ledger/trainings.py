"""A training by DP-SGD, as ledgers are asked to pay for."""

from __future__ import annotations

from fractions import Fraction

import dpproof as dp


def training(sigma: int) -> dp.Guarantee[dp.AddRemove]:
    """Ten epochs of batches of 512 of 250,000 records."""
    step = dp.Gaussian(sigma=sigma, sensitivity=dp.L2(1))
    batch = step.subsample(dp.Poisson(sampling_rate=Fraction(512, 250_000)))
    return batch.repeat(4883).guarantee()
