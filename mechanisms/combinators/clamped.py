"""Outputs clamped to a public range, which costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.composition.post_process import post_process
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True, init=False)
class Clamped(Mechanism[R]):
    """Release a noisy number, or each of several, moved into a public range.

    Noise that is redrawn, or renormalised, until the sum lies in a range has a law whose size
    depends on where the value is, and is less private than the noise says. Clamping is not.

    Statement: the guarantee of the noise; clamping looks at the sum alone.
    Assumes: outputs alone.
    Source: post-processing (Dong, Roth & Su, arXiv:1905.02383, Proposition 2.8).

    Args:
        noise: a mechanism that releases numbers.
        lower, upper: public, lower at most upper, both floats exactly; not from the data.
    Raises:
        ParameterError: not a mechanism, or ends that are no range.
    Laws: every answer is that of ``noise``.
    Example:
        >>> from dpproof.accountant import L1
        >>> from dpproof.mechanisms import Laplace
        >>> share = Clamped(Laplace(scale=0.1, sensitivity=L1(0.01)), lower=0, upper=1)
        >>> 0 <= share.release(0.98) <= 1
        True
    """

    noise: Mechanism[R]
    lower: Fraction
    upper: Fraction

    def __init__(self, noise: Mechanism[R], *, lower: Number, upper: Number) -> None:
        if not isinstance(noise, Mechanism):
            raise ParameterError("noise", noise, "a mechanism that releases numbers")
        low, high = arguments.real(lower=lower), arguments.real(upper=upper)
        if not low <= high or Fraction(float(low)) != low or Fraction(float(high)) != high:
            raise ParameterError("lower, upper", (lower, upper), "two floats in order")
        self._set(noise=noise, lower=low, upper=high)

    @property
    def relation(self) -> R:
        """The relation of the noise."""
        return self.noise.relation

    @property
    def acts_on_records(self) -> bool:
        """Whether the noise carries its query."""
        return self.noise.acts_on_records

    def guarantee(self) -> Guarantee[R]:
        """What the noise guarantees, after post-processing."""
        ends = f"[{show(self.lower)}, {show(self.upper)}]"
        return post_process(self.noise.guarantee(), description=f"clamping to {ends}")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """What the noise draws, clamped: float64."""
        drawn = self.noise.draw(datasets, count, rng)
        if drawn.dtype.names is not None:
            raise ParameterError(
                "noise", self.noise, "a mechanism that releases numbers, not several outputs"
            )
        return np.clip(drawn.astype(np.float64), float(self.lower), float(self.upper))
