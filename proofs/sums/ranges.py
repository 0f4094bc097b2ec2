"""Bound the profile of composed mechanisms of one bounded range, in integers.

Proof: proofs/theory/bounded_range.md, section 4. An integer x stands for x 2^-bits. In u = e^y the
bound is linear between the powers of a rational r, r^cells = a at or above e^range; after one more
mechanism it is the largest chord of the bound before, from w to aw, w <= u <= aw.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Final, final

from dpproof.proofs.balls.arithmetic import lower_units
from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError

_DIGITS: Final = 48  # Bits of the logarithm of r. Soundness does not depend on them.
_SPARE: Final = 4  # Bounds that are raised later, for each value. Heuristic, for a price.


@final
class Recursion:
    """Bounds of a profile at u = r^0, r^1, ..., the last of which holds for all larger u.

    Attributes:
        values: the bounds.
    """

    def __init__(self, length: Fraction, cells: int, bits: int) -> None:
        """Begin with one mechanism, (sqrt(a) - sqrt(u))^2 / (a - 1), of this range above 0.

        Of cells there are at least 2 for each range, and every number has so many bits.
        """
        scale = _DIGITS + (int(cells / length) + 1).bit_length()
        step = -lower_units(-(ball(length) / cells).expm1(), scale)
        exact: list[int] = [((1 << scale) + step) ** d for d in range(cells + 1)]
        self.growth, self.scale, self.cells, self.bits = exact[1], scale, cells, bits
        self.power = [(x << bits) >> scale * d for d, x in enumerate(exact)]
        self.root = [isqrt((x << 2 * bits) >> scale * d) for d, x in enumerate(exact)]
        self.inverse = [(1 << bits + scale * d) // x for d, x in enumerate(exact)]
        self.per_step = (1 << bits + scale) // step
        self.per_range = (1 << bits + scale * cells) // (exact[-1] - (1 << scale * cells))
        self.error = 32 * ((self.power[-1] >> bits) + 1)
        self.error *= ((self.per_step >> bits) + 2) * ((self.per_range >> bits) + 2)
        last, top = self.root[-1], self.power[-1]
        parts = zip(self.power, self.root, strict=True)
        first = (top - (2 * last * root >> bits) + u for u, root in parts)
        self.values = [(x * self.per_range >> bits) + self.error for x in first]

    def step(self, least: int) -> None:
        """Add one mechanism; end where the value is at most ``least`` above the one before.

        Refuse if rounding hides that the bound is convex, or which chord is the largest.
        """
        one, cells = 1 << self.bits, self.cells
        level = self.values[-1]
        right = [*self.values, *[level] * (3 * cells)]
        left = [
            one - ((one - x) * share >> self.bits)
            for x, share in zip(right[1 : cells + 1], self.inverse[1:], strict=True)
        ]
        chords = _Chords(self, [*left[::-1], *right])
        values = chords.largest(len(self.values) - 1 + cells, level + least)
        slack = 3 * cells * self.error
        self.values = [min(x + slack, one) for x in values]

    def at(self, ratios: list[Fraction]) -> dict[Fraction, Fraction]:
        """Return bounds at growing ratios u >= 1: of the chord between two powers of r."""
        high, points = [1 << self.bits], {}
        for _ in self.values:
            high.append(-(-high[-1] * self.growth >> self.scale))
        for u in ratios:
            units = (u.numerator << self.bits) // u.denominator
            place = bisect_right(high, units) - 1
            bound = self.values[min(place, len(self.values) - 1)]
            if place + 1 < len(self.values):
                step = high[place] * (self.growth - (1 << self.scale))
                share = Fraction((units - high[place]) << self.scale, step)
                bound -= int(min(share, Fraction(1)) * max(bound - self.values[place + 1], 0))
            points[u] = Fraction(bound, 1 << self.bits)
        return points


@final
class _Chords:
    """The largest chords of a convex bound, by the cells of their left ends."""

    def __init__(self, scale: Recursion, values: list[int]) -> None:
        """Prepare what does not depend on u; cell k of the lines begins at r^(k - cells)."""
        rise = [after - before for before, after in pairwise(values)]
        grown, shift, bits = scale.growth, scale.scale, scale.bits
        if any(b << shift < a * grown for a, b in pairwise(rise)):
            raise RefusedError("rounding hides that the profile of bounded ranges is convex")
        per_step, per_range, square = scale.per_step, scale.per_range, scale.power[2]
        self.lines = []
        far = zip(values, rise, values[scale.cells :], rise[scale.cells :], strict=False)
        for start, fall, end, next_fall in far:
            slope = fall * per_step >> bits
            bend = (next_fall - fall) * per_step >> bits
            less = bend * per_range >> bits
            c = (start - end + bend) * per_range >> bits
            b = less - slope
            root = isqrt(b * c) if b > 0 and c > 0 else 0
            self.lines.append((start - slope + c, less, b, c, b * square >> bits, root))
        self.scale, self.spare = scale, _SPARE * len(values)
        self.away = list(zip(scale.power, scale.root, strict=True))

    def largest(self, last: int, stop: int) -> list[int]:
        """Return the largest chords at r^0, r^1, ..., up to one that is at most ``stop``."""
        cells, chord = self.scale.cells, self._chord
        firsts = [chord(cell, 0) for cell in range(-cells, 0)]
        best = max(firsts)
        cell = firsts.index(best) - cells
        front, values = cell, [best]
        for row in range(1, last + 1):
            if values[-1] <= stop:
                break
            cell = max(cell, row - cells)
            best = chord(cell, row)
            while cell + 1 < row:
                value = chord(cell + 1, row)
                if value < best:
                    front = max(front, cell + 1)
                    break
                cell, best = cell + 1, value
                if cell > front:
                    front = cell
                    self._raise_back(values, cell)
            values.append(best)
        for rest in range(front + 1, len(values) - 1):
            self._raise_back(values, rest)
        return values

    def _raise_back(self, values: list[int], cell: int) -> None:
        """Raise bounds from the last row back as long as the chord of a cell is larger."""
        for row in range(len(values) - 1, max(cell, -1), -1):
            value = self._chord(cell, row)
            if value <= values[row]:
                return
            values[row] = value
            self.spare -= 1
            if self.spare < 0:
                raise RefusedError("the largest chords of bounded ranges are not next to others")

    def _chord(self, cell: int, row: int) -> int:
        """Return the largest chord at r^row whose left end is in a cell."""
        scale = self.scale
        power, root = self.away[row - cell]
        top, less, b, c, most, middle = self.lines[cell + scale.cells]
        bits = scale.bits
        c = c * power >> bits
        if b < c < most:
            return top + (less * power - 2 * middle * root >> bits)
        top += less * power >> bits
        return top - min(b + c, b * scale.power[1] + c * scale.inverse[1] >> bits)
