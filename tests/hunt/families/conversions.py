"""Chains of conversions: what they end in still holds of the mechanism they began with."""

from __future__ import annotations

from fractions import Fraction

from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.families.data import rows
from tests.hunt.laws import Neighbours
from tests.hunt.parts import Part
from tests.hunt.questions import ask
from tests.hunt.restated import restated

_PLAIN = ("PureDP", "ZCDP", "GDP", "BoundedRange", "DominatingPair")


def _orders(draw: Draw) -> str:
    """A few Renyi orders."""
    return _sorted({1 + Fraction(draw.integer(1, 64), 4) for _ in range(draw.integer(1, 4))})


def _epsilons(draw: Draw) -> str:
    """A few epsilons."""
    return _sorted({Fraction(draw.integer(0, 16), 4) for _ in range(draw.integer(1, 4))})


def _sorted(values: set[Fraction]) -> str:
    return "(" + "".join(f"{text(value)}, " for value in sorted(values)) + ")"


def converted(draw: Draw, source: str) -> str:
    """The source of one conversion."""
    kind = draw.integer(0, 5)
    if kind == 0:
        return f"convert({source}, to=ApproxDP, delta={text(draw.fraction_below_one())})"
    if kind == 1:
        return f"convert({source}, to=RDP, orders={_orders(draw)})"
    if kind == 2:
        return f"convert({source}, to=PrivacyProfile, epsilons={_epsilons(draw)})"
    if kind == 3:
        return f"convert({source}, to=TradeOff, epsilons={_epsilons(draw)})"
    if kind == 4:
        return f"post_process({source}, description='rounded')"
    return f"convert({source}, to={draw.choose(_PLAIN)})"


def _part(draw: Draw, most: int) -> Part:
    table = rows(draw, zeros=draw.rarely(4))
    source = restated(draw, table)
    for _ in range(draw.integer(1, most)):
        source = converted(draw, source)
    return Part(source, Neighbours.of_rows(table), attained=False)


def draw(source: Draw) -> Case:
    """A question about the end of one chain; many chains are refused at some link."""
    part = _part(source, 2)
    return ask(source, part.pipeline(), ("delta", "epsilon", "advantage"), ("power", "renyi"))


def draw_grouped(source: Draw) -> Case:
    """A chain with groups at its end."""
    size = source.integer(2, 3)
    table = rows(source, size + 1, zeros=False)
    chain = converted(source, restated(source, table))
    part = Part(f"group({chain}, size={size})", Neighbours.of_rows(table, size), attained=False)
    return ask(source, part.pipeline(), ("delta", "epsilon", "advantage", "renyi"))
