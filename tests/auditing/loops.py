"""A training loop that can be broken in seven ways, and rows for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.auditing.samplers import rounded

Rows = NDArray[np.float64]
SIGMA, RATE, ALL, WIDTH = 2.0, 0.2, 10, 4


def loop_of(rows: Rows, size: int, rng: np.random.Generator, *, bug: str = "") -> Rows:
    """DP-SGD of ten steps on rows of norm 1, with a bug; outputs are all its noisy sums."""
    if bug == "seed":  # of every call with 100 outputs
        seeded = loop_of(rows, 100, np.random.default_rng(7))
        return np.resize(seeded, (size, seeded.shape[1]))
    clip = np.minimum(1, 1 / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
    clipped = rows if bug == "clipping" else rows * clip
    batches = (rng.random((size, ALL, len(rows))) < RATE).astype(float)
    if bug == "every":
        batches[..., 0] = 1
    if bug == "in turn":
        one_in = round(1 / RATE)
        batches[:] = (np.arange(len(rows)) % one_in) == (np.arange(ALL) % one_in)[:, None]
    noise = rng.normal(scale=SIGMA / 2 if bug == "half" else SIGMA, size=(size, ALL, WIDTH))
    if bug == "reused":
        noise[:] = noise[:, :1]
    sums = batches @ clipped + noise
    if bug == "divisor":
        sums /= np.maximum(batches.sum(axis=2, keepdims=True), 1)
    return rounded(sums.reshape(size, -1))


ZEROS = np.zeros((19, WIDTH))
ROW = np.eye(1, WIDTH)
EQUAL = np.full((60, WIDTH), WIDTH**-0.5)
