"""Random orders of {0, ..., size - 1}."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers.rng import Rng


def permutation(size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw a uniformly random order of ``size`` records.

    Law: every order has probability 1 / size!.
    Proof: sort the records by one word each; draw all words again if two are equal. Whether two are
        equal does not depend on which record has which word, so kept words are exchangeable still.

    Args:
        size: number of records.
        rng: source of words.
    Returns:
        shape (size,), int64, every record number once.
    Raises:
        ParameterError: size is not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> sorted(permutation(3, ReplayRng(1)).tolist())
        [0, 1, 2]
    """
    total = arguments.whole(size=size)
    while True:
        words = rng.words(total) if total else np.zeros(0, dtype=np.uint64)
        if np.unique(words).size == total:
            return np.argsort(words).astype(np.int64)
