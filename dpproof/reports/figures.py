"""Line figures as SVG, without any library: round ticks, smooth lines, one marked point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final, final

WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 520, 300, 62, 44, 14
Point = tuple[float, float]
PIECES: Final = 8  # of a smooth line, between two points
_TICKS: Final = 5


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis."""

    title: str  # the measured quantity
    low: float  # the least value shown
    high: float  # the largest value shown, above low
    log: bool = False  # whether it is logarithmic; low is above 0 then

    def place(self, value: float) -> float:
        """Return where a value stands, from 0 to 1."""
        scale: Callable[[float], float] = math.log10 if self.log else float
        low, high = scale(self.low), scale(self.high)
        inside = min(max(value, self.low), self.high)
        return (scale(inside) - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return values to name on the axis."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            powers = range(first, last + 1, max(1, (last - first) // _TICKS + 1))
            return [10.0**power for power in powers]
        rough = (self.high - self.low) / _TICKS
        unit = 10.0 ** math.floor(math.log10(rough))
        steps = (unit * size for size in (1.0, 2.0, 5.0, 10.0))
        step = next(one for one in steps if one >= rough * (1 - 1e-9))
        start, end = math.ceil(self.low / step), math.floor(self.high / step * (1 + 1e-9))
        return [step * k for k in range(start, end + 1)]


def curve(
    name: str,  # the title, which is the figure's accessible name
    words: str,  # what it shows, in a sentence with its numbers
    axes: tuple[Axis, Axis],  # to the right, and upwards
    lines: Sequence[tuple[str, Sequence[Point]]],
    *,
    mark: Point | None = None,  # a point to mark
) -> str:
    """Return a figure of lines, each with the name of its style."""
    x, y = axes
    parts = [*_frame(x, y)]
    for style, points in lines:
        path = " ".join(f"{_across(x, a):.1f},{_up(y, b):.1f}" for a, b in points)
        parts.append(f'<polyline class="{style}" points="{path}"/>')
    if mark is not None:
        at, up = _across(x, mark[0]), _up(y, mark[1])
        parts.append(f'<circle class="mark" cx="{at:.1f}" cy="{up:.1f}" r="5"/>')
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(name)}</title><desc>{escape(words)}</desc>{''.join(parts)}</svg>"
    )


def smooth(points: Sequence[Point]) -> list[Point]:
    """Return a smooth line through points whose first numbers rise on a logarithmic scale.

    Between two points it stays between their heights.

    Source: Fritsch & Butland, "A method for constructing local monotone piecewise cubic

    interpolants", SIAM J. Sci. Stat. Comput. 5(2), 1984; slopes are 0 at turning points.
    """
    places, heights = [math.log10(at) for at, _ in points], [height for _, height in points]
    steps = [b - a for a, b in pairwise(places)]
    rises = [(b - a) / step for (a, b), step in zip(pairwise(heights), steps, strict=True)]
    inner = [2 / (1 / a + 1 / b) if a * b > 0 else 0.0 for a, b in pairwise(rises)]
    slopes = [rises[0], *inner, rises[-1]]
    line = []
    for k, step in enumerate(steps):
        for piece in range(PIECES):
            t = piece / PIECES
            height = (1 - t) ** 2 * ((1 + 2 * t) * heights[k] + t * step * slopes[k])
            height += t**2 * ((3 - 2 * t) * heights[k + 1] - (1 - t) * step * slopes[k + 1])
            line.append((10.0 ** (places[k] + t * step), height))
    return [*line, points[-1]]


def smooth_below(corners: Sequence[Point]) -> list[Point]:
    """Return a smooth line through the corners of a convex falling polygon, nowhere above it.

    Each piece is a parabola in the triangle of an edge and the tangents at its ends.
    """
    edges = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(corners)]
    inner = [2 * one * other / (one + other or 1.0) for one, other in pairwise(edges)]
    slopes, line = [edges[0], *inner, edges[-1]], [corners[0]]
    for k, ((a, b), (c, d)) in enumerate(pairwise(corners)):
        left, right = slopes[k], slopes[k + 1]
        x = (d - b + left * a - right * c) / (left - right) if left < right else c
        y = b + left * (x - a)
        for t in (piece / PIECES for piece in range(1, PIECES + 1)):
            first, second, last = (1 - t) ** 2, 2 * t * (1 - t), t**2
            line.append((first * a + second * x + last * c, first * b + second * y + last * d))
    return line


def _across(axis: Axis, value: float) -> float:
    return LEFT + axis.place(value) * (WIDTH - LEFT - EDGE)


def _up(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.place(value) * (HEIGHT - BOTTOM - EDGE)


def _frame(x: Axis, y: Axis) -> list[str]:
    """Return the axes with their ticks and titles."""
    floor, parts = HEIGHT - BOTTOM, []
    for value in x.ticks():
        at = _across(x, value)
        parts += [
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{EDGE}" y2="{floor}"/>',
            f'<text x="{at:.1f}" y="{floor + 16}" text-anchor="middle">{value:g}</text>',
        ]
    for value in y.ticks():
        at = _up(y, value)
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - EDGE}" y1="{at:.1f}" y2="{at:.1f}"/>',
            f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:.3g}</text>',
        ]
    middle = (LEFT + WIDTH - EDGE) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x.title)}</text>'
    )
    turned = f'transform="translate(14 {floor / 2}) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {turned}>{escape(y.title)}</text>")
    return parts
