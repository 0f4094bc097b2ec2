"""One pass of projected descent over records, on the smoothed hinge loss of a margin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.learning.grid import RECORD_BITS, Vectors

# Soundness: what rounding moves a step by is below this many units, see the proof of ``moves``.
_ROUNDINGS: Final = 8
_UNIT: Final = Fraction(1, 2**53)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothedPass:
    """Steps w <- P(w - rate gradient) over some records z = y x of norm at most 1, one each.

    The loss is the Moreau envelope of max(0, 1 - <w, z>/margin), with c = smoothness/||z||^2 and
    a = <w, z>: 0 from a = margin on, (c/2)(margin - a)^2 next to it, and linear of slope 1/margin
    beyond margin - 1/(margin c). It is (1/margin)-Lipschitz, ``smoothness``-smooth and convex.

    Attributes:
        margin: above 0.
        smoothness: above 0.
        rate: of a step, at most 2/smoothness, at which steps are non-expansive.
        radius: of the ball that P projects on.
    """

    margin: Fraction
    smoothness: float
    rate: float
    radius: Fraction

    def moves(self, *, steps: int, width: int, sides: int) -> Fraction:
        """Bound how far one record moves the mean state of a pass, in Euclidean norm.

        Statement: sides rate / margin, and what rounding adds; sides is 2 if a record is replaced,
            1 if it is blanked.
        Proof: proofs/theory/margins.md, section 6. Binary64 errs in a step of two vectors of
            ``width`` coordinates by at most (3 width + 6) u (radius + rate/margin), in the mean by
            at most steps u radius; non-expansive steps only add these up, in either run.
        """
        slope = Fraction(self.rate) / self.margin
        rounded = _ROUNDINGS * (width + 2) * _UNIT * (self.radius + slope)
        return sides * slope + 2 * steps * rounded

    def run(self, start: Vectors, signed: Vectors, order: NDArray[np.int64]) -> Vectors:
        """Return the mean state of each run after its steps.

        Args:
            start: shape (runs, width), inside the ball.
            signed: y x on the grid, in units of 2^-24, shape (records, width).
            order: the records of each run's steps, shape (runs, steps), at least one step.
        """
        squares = np.square(signed).sum(axis=1) * 4.0**-RECORD_BITS
        curve = self.smoothness / np.where(squares > 0, squares, 1.0)
        states, total = start.copy(), np.zeros_like(start)
        margin, slope, radius = float(self.margin), float(1 / self.margin), float(self.radius)
        for places in order.T:
            rows = signed[places] * 2.0**-RECORD_BITS
            short = np.maximum(margin - np.einsum("ij,ij->i", states, rows), 0.0)
            states += (self.rate * np.minimum(slope, curve[places] * short))[:, np.newaxis] * rows
            states = projected(states, radius)
            total += states
        return np.asarray(total / order.shape[1])


def projected(states: Vectors, radius: float) -> Vectors:
    """Shorten states to the radius of a ball.

    Example:
        >>> projected(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)
        array([[0.6, 0.8],
               [0.3, 0.4]])
    """
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    return np.asarray(states * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))
