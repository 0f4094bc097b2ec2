"""Uniform whole numbers below a bound."""

from __future__ import annotations

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers.arrays import Integers, first_accepted
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import WORD

_INT64 = 2**63


def uniform_below(bound: int, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent whole numbers, each uniform on {0, ..., bound - 1}.

    Law: P(k) = 1 / bound for 0 <= k < bound.
    Proof: a block of b bits is uniform on [0, 2^b). Given that it is below the largest multiple
        of ``bound`` that is at most 2^b, its remainder modulo ``bound`` is uniform; blocks above
        are dropped, at most half of them.

    Args:
        bound: a whole number >= 1, of any size.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,); int64, or Python integers when bound exceeds 2^63.
    Raises:
        ParameterError: bound is below 1, or an argument is not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> bool((uniform_below(6, 100, ReplayRng(1)) < 6).all())
        True
    """
    below = arguments.whole(bound=bound)
    if below < 1:
        raise ParameterError("bound", bound, "a whole number >= 1")
    count = arguments.whole(size=size)
    blocks = -(-below.bit_length() // WORD)
    unit = 2 ** (WORD * blocks)
    limit = unit - unit % below

    def small(proposals: int) -> Integers:
        words = rng.words(proposals)
        kept = words if limit == unit else words[words < np.uint64(limit)]
        return (kept % np.uint64(below)).astype(np.int64)

    def large(proposals: int) -> Integers:
        words = rng.words(proposals * blocks).reshape(proposals, blocks)
        numbers = [int.from_bytes(row.tobytes(), "little") for row in words.astype("<u8")]
        return np.array([n % below for n in numbers if n < limit], dtype=np.object_)

    return first_accepted(count, small if below <= _INT64 else large, rate=limit / unit)
