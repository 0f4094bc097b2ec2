"""Figures of a report as SVG in the colours of the page, with words for screen readers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, final

WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 520, 300, 62, 44, 14
Point = tuple[float, float]
_TICKS: Final = 5


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis.

    Attributes:
        title: the measured quantity.
        low: the least value shown.
        high: the largest value shown, above low.
        log: whether it is logarithmic; low is above 0 then.
    """

    title: str
    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a value stands, from 0 to 1."""
        scale: Callable[[float], float] = math.log10 if self.log else float
        low, high = scale(self.low), scale(self.high)
        kept = min(max(value, self.low), self.high)
        return (scale(kept) - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return values to name on the axis."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            step = max(1, (last - first) // _TICKS + 1)
            return [10.0**power for power in range(first, last + 1, step)]
        return [self.low + (self.high - self.low) * k / _TICKS for k in range(_TICKS + 1)]


def curve(
    name: str, words: str, x: Axis, y: Axis, lines: Sequence[tuple[str, Sequence[Point]]]
) -> str:
    """Return a figure of lines, each with the name of its style.

    Args:
        name: the title, which is the figure's accessible name.
        words: what it shows, in a sentence with its numbers.
        x: to the right.
        y: upwards.
        lines: a class of the page's style sheet, and points from left to right.
    """
    parts = [*_frame(x, y)]
    for style, points in lines:
        path = " ".join(f"{_across(x, a):.1f},{_up(y, b):.1f}" for a, b in points)
        parts.append(f'<polyline class="{style}" points="{path}"/>')
    return _figure(name, words, parts)


def _figure(name: str, words: str, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(name)}</title><desc>{escape(words)}</desc>{''.join(parts)}</svg>"
    )


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
