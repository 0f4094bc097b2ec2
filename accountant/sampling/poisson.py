"""Poisson sampling: every record enters by a coin of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.readable import Readable


@final
@dataclass(frozen=True, slots=True)
class Poisson(Readable):
    """Every record enters independently with probability ``sampling_rate``.

    The batch size is random; a shuffled or fixed-size batch is a different scheme.
    """

    sampling_rate: Fraction

    def __init__(self, *, sampling_rate: Number) -> None:
        """Keep the exact rate, in (0, 1]."""
        object.__setattr__(self, "sampling_rate", arguments.rate(sampling_rate=sampling_rate))
