"""Minimise a sum of logistic losses with a quadratic and a linear term, to a certified gradient.

F(w) = sum_i log(1 + e^{-<a_i, w>}) + (decay/2) ||w||^2 + <tilt, w>. The result is a function of the
arguments alone, and so is whether it is found quickly: nothing here is an output of a mechanism.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.learning.grid import RECORD_BITS, STATE_BITS, Integers, Vectors
from dpproof.mechanisms.learning.records import Matrix, is_sparse

# Largest gradient norm of a returned point, in units of the norm of a record. Soundness depends on
# it being a constant; halving it saves output noise, which is 2^-16 of that of b where the penalty
# decides. Roundings in binary64 are proved to be below it for 10^7 records; more take intervals.
GRADIENT: Final = Fraction(1, 2**24)

# Roundings per record in a certified gradient: exp, two products, a sum and an exact sum of all.
# Soundness depends on it; 17 are proved below.
_ROUNDINGS: Final = 32 * 2.0**-53
# Float iterations stop here, with room for the certificate. Heuristic.
_AIM: Final = float(GRADIENT) / 8
_LEAST_BITS: Final = 16  # Fewer would not reach the gradient. Heuristic.
_ROUNDS: Final = 200  # Most Newton steps; what is left is found exactly. Heuristic.
_CORRECTIONS: Final = 4  # Steps by exact sums of the gradient, and one. Heuristic.
_HALVINGS: Final = 40  # Shortest step tried: 2^-40 of Newton's. Heuristic.
_CURVED: Final = 1e-5  # Decay per record from which Newton's steps take float32. Heuristic.
_FIRST_BITS: Final = 128  # Precision of the first exact evaluation. Heuristic.
# Rows at once. Soundness: so many products of a share's first 18 bits and a record have exact sums.
_BLOCK: Final = 2 ** (53 - RECORD_BITS - 18)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Logistic losses and a quadratic term; a_i is one of the ``signed`` integers times 2^-24."""

    signed: Matrix
    decay: Fraction

    def minima(self, tilts: Vectors) -> Vectors:
        """Minimise F for every tilt, to a gradient of norm <= ``GRADIENT``; nan if unproved."""
        minima = self._newton(tilts)
        for run, tilt in enumerate(tilts):
            minima[run] = self._certified(minima[run], tilt)
        return minima

    def _certified(self, point: Vectors, tilt: Vectors) -> Vectors:
        """Return a point near one with a gradient proved short, corrected by exact sums, or nan."""
        for _ in range(_CORRECTIONS):
            split = _split(point)
            if split is None:
                break
            slope, error = self._slope(*split, tilt)
            point = split[0] + split[1]
            if float(np.linalg.norm(slope)) * (1 + 1e-9) + error <= float(GRADIENT):
                return point
            with np.errstate(over="ignore", invalid="ignore"):
                moves = self._newton_moves(point[np.newaxis], slope[np.newaxis])
                point = point - moves[0]
        return np.full(len(point), np.nan)

    def _newton(self, tilts: Vectors) -> Vectors:
        """Approximate minima by Newton steps, halved until the gradient gets shorter. Heuristic."""
        points: Vectors = -tilts / (float(self.decay) + self.signed.shape[0] / 4)
        slopes = self._slopes(tilts, points)
        active = np.flatnonzero(np.linalg.norm(slopes, axis=1) > _AIM)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(_ROUNDS):
                if not active.size:
                    break
                moves = self._newton_moves(points[active], slopes[active])
                active = self._improved(tilts, points, slopes, active, moves)
                active = active[np.linalg.norm(slopes[active], axis=1) > _AIM]
        return points

    def _slope(self, high: Vectors, low: Vectors, tilt: Vectors) -> tuple[Vectors, float]:
        """Return the gradient at high + low, and how far it may be from the true one.

        Proof: high and low are integers on grids on which products with records are exact
            (``grid``), so m = <a, w> is one sum of two exact numbers: relative error u = 2^-53.
            s = 1/(1 + e^m) moves by s (1 - s) |m| u <= 0.28 u with m, and by 8 units of exp, a sum
            and a division: |error of s| <= 12 u. Let t be s rounded to 2^-18. In a block the sum of
            t a_j is exact, and that of (s - t) a_j errs by at most 2^11 u 2^-18 sum_i |a_ij|. The
            sum of all is rounded once (``math.fsum``). So coordinate j errs by at most
            sum_i 17 u |a_ij|, and the vector by 17 u sum_i ||a_i|| <= 17 u n (the triangle
            inequality). ``_ROUNDINGS`` has room for the decay, the tilt, and the norm itself.
        """
        size = float(np.linalg.norm(high)) + float(np.linalg.norm(low))
        sums = []
        for block in self._blocks():
            with np.errstate(over="ignore"):
                shares = _shares((block @ high + block @ low) * 2.0**-RECORD_BITS)
            coarse = np.rint(shares * 2.0**18) * 2.0**-18
            sums.append(np.stack([coarse, shares - coarse]) @ block * 2.0**-RECORD_BITS)
        columns = np.concatenate(sums or [np.zeros((1, len(high)))]).T.tolist()
        total = np.array([math.fsum(column) for column in columns])
        slope = float(self.decay) * (high + low) + tilt - total
        rest = float(self.decay) * size + float(np.linalg.norm(tilt))
        rest += float(np.linalg.norm(total))
        return slope, _ROUNDINGS * (self.signed.shape[0] + rest)

    def _blocks(self, kind: type[np.floating[Any]] = np.float64) -> Iterator[NDArray[Any]]:
        for start in range(0, self.signed.shape[0], _BLOCK):
            block = self.signed[start : start + _BLOCK]
            yield (block.toarray() if is_sparse(block) else block).astype(kind, copy=False)

    def _slopes(self, tilts: Vectors, points: Vectors) -> Vectors:
        """Approximate the gradients at points, one for every tilt."""
        slopes, scaled = float(self.decay) * points + tilts, points * 2.0**-RECORD_BITS
        for block in self._blocks():
            slopes -= _shares(scaled @ block.T) @ block * 2.0**-RECORD_BITS
        return slopes

    def _newton_moves(self, points: Vectors, slopes: Vectors) -> Vectors:
        """Approximate the inverse Hessians times the gradients; nan if a Hessian is singular."""
        moves, scaled = np.empty_like(points), points * 2.0**-RECORD_BITS
        curved = float(self.decay) > self.signed.shape[0] * _CURVED
        kind = np.float32 if curved else np.float64
        for run, slope in enumerate(slopes):
            hessian = float(self.decay) * np.eye(len(slope))
            for block in self._blocks(kind):
                shares = _shares(block @ scaled[run].astype(kind))
                roots = np.sqrt(shares * (1 - shares)) * kind(2.0**-RECORD_BITS)
                weighed = block * roots[:, np.newaxis]
                hessian += weighed.T @ weighed
            try:
                moves[run] = np.linalg.solve(hessian, slope)
            except np.linalg.LinAlgError:
                moves[run] = np.nan
        return moves

    def _improved(
        self, tilts: Vectors, points: Vectors, slopes: Vectors, active: Integers, moves: Vectors
    ) -> Integers:
        """Move points by the longest halved step that shortens the gradient; return who moved."""
        left = np.arange(active.size)
        before = np.linalg.norm(slopes[active], axis=1)
        for halving in range(_HALVINGS):
            runs = active[left]
            tried = points[runs] - moves[left] * 2.0**-halving
            trials = self._slopes(tilts[runs], tried)
            shorter = np.linalg.norm(trials, axis=1) < before[left] * (1 - 2.0 ** -(halving + 4))
            points[runs[shorter]], slopes[runs[shorter]] = tried[shorter], trials[shorter]
            left = left[~shorter]
            if not left.size:
                break
        return np.delete(active, left)

    def exact_minimum(self, start: Vectors, tilt: Sequence[Fraction], unit: Fraction) -> list[int]:
        """Minimise F over multiples of a unit, in balls of growing precision; always succeeds.

        A step is Newton's if that shortens the gradient, else -gradient / (decay + n/4), which
        does: F has no larger curvature. It ends if the multiple of the unit next to the minimum is
        good enough: (decay + n/4) unit sqrt(features) <= GRADIENT / 2. The result is in units, one
        a feature; nan in ``start`` stands for 0.
        """
        usable = np.isfinite(start).all()
        point = [round(Fraction(float(x)) / unit) if usable else 0 for x in start]
        bits = _FIRST_BITS
        slope, low, high = self._ball(point, tilt, unit, bits)
        while high > GRADIENT:
            if high - low > GRADIENT / 8:
                bits *= 2
                slope, low, high = self._ball(point, tilt, unit, bits)
                continue
            for move in self._moves(point, slope, unit):
                tried = [k - round(step / unit) for k, step in zip(point, move, strict=True)]
                ends = self._ball(tried, tilt, unit, bits)
                if ends[2] < low:
                    point, (slope, low, high) = tried, ends
                    break
            else:
                bits *= 2
                slope, low, high = self._ball(point, tilt, unit, bits)
        return point

    def _moves(
        self, point: list[int], slope: list[Fraction], unit: Fraction
    ) -> list[list[Fraction]]:
        """Return Newton's step by a binary64 Hessian if it is finite, and the gradient step."""
        bound = self.decay + Fraction(self.signed.shape[0], 4)
        plain = [value / bound for value in slope]
        at = np.array([float(k * unit) for k in point])
        size = max(map(abs, slope)) or Fraction(1)
        scaled = np.array([float(value / size) for value in slope])
        newton = self._newton_moves(at[np.newaxis], scaled[np.newaxis])[0]
        if not np.isfinite(newton).all():
            return [plain]
        return [[Fraction(float(x)) * size for x in newton], plain]

    def _ball(
        self, point: Sequence[int], tilt: Sequence[Fraction], unit: Fraction, bits: int
    ) -> tuple[list[Fraction], Fraction, Fraction]:
        """Enclose the gradient at an exact point; mpmath's intervals are assumed to be right."""
        from mpmath.ctx_iv import MPIntervalContext  # noqa: PLC0415 - only rare minima need it

        iv: Any = MPIntervalContext()
        iv.prec = bits
        grain = iv.mpf(2) ** -RECORD_BITS
        at = [_interval(iv, k * unit) for k in point]
        pull = [_interval(iv, t) for t in tilt]
        total = [_interval(iv, self.decay) * x + t for x, t in zip(at, pull, strict=True)]
        for row in itertools.chain.from_iterable(self._blocks()):
            record = [int(k) for k in row]
            margin = sum((x * k for k, x in zip(record, at, strict=True)), iv.mpf(0)) * grain
            share = grain / (1 + iv.exp(margin))
            total = [s - share * k for s, k in zip(total, record, strict=True)]
        norm = iv.sqrt(sum((abs(s) ** 2 for s in total), iv.mpf(0)))
        middle = [(_rational(s.a) + _rational(s.b)) / 2 for s in total]
        return middle, _rational(norm.a), _rational(norm.b)


def _split(point: Vectors) -> tuple[Vectors, Vectors] | None:
    """Round to high + low, whose products with records are exact in binary64; None if that fails.

    High is a multiple of 2^(e - 28) and low of 2^(e - 28 - b), where all coordinates are at most
    2^(e - h) and h, b leave room for the Euclidean norm of as many coordinates as there are.
    """
    room = (math.isqrt(point.size - 1) + 1).bit_length() if point.size > 1 else 0
    bits = STATE_BITS - 1 - room
    largest = float(np.abs(point).max(initial=0.0))
    if not math.isfinite(largest) or bits < _LEAST_BITS:
        return None
    exponent = math.frexp(largest)[1] - bits
    high = np.ldexp(np.rint(np.ldexp(point, -exponent)), exponent)
    low = np.ldexp(np.rint(np.ldexp(point - high, bits - exponent)), exponent - bits)
    return high, low


def _shares(margins: Vectors) -> Vectors:
    """Approximate the slopes of the logistic loss, 1 / (1 + e^m)."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(margins)))


def _interval(iv: Any, value: Fraction) -> Any:  # noqa: ANN401 - mpmath has no types
    """Enclose a rational number at the current precision."""
    return iv.mpf(value.numerator) / iv.mpf(value.denominator)


def _rational(value: Any) -> Fraction:  # noqa: ANN401 - mpmath has no types
    """Return the exact value of an interval's end, which is a binary number."""
    sign, mantissa, exponent, _ = value._mpi_[0]
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)
