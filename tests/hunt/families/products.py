"""Compositions of guarantees with finitely many outcomes, against the sum over all of them."""

from __future__ import annotations

from tests.hunt.case import Case
from tests.hunt.draw import Draw
from tests.hunt.laws import Neighbours
from tests.hunt.parts import Part, part
from tests.hunt.questions import ask

MOST_OUTCOMES = 100


def composed(draw: Draw) -> Part:
    """One to three parts, each one to three times."""
    total = part(draw)
    for _ in range(draw.integer(0, 2)):
        extra = part(draw)
        count = draw.integer(1, 3)
        neighbours = repeated(extra.neighbours, count)
        if outcomes(neighbours) * outcomes(total.neighbours) > MOST_OUTCOMES:
            break
        total = Part(
            f"compose({total.source}, self_compose({extra.source}, {count}))",
            total.neighbours.times(neighbours),
            total.attained and extra.attained,
        )
    return total


def repeated(neighbours: Neighbours, count: int) -> Neighbours:
    """The laws of several runs on the same data."""
    total = neighbours
    for _ in range(count - 1):
        total = total.times(neighbours)
    return total


def outcomes(neighbours: Neighbours) -> int:
    """The largest number of outcomes of a pair."""
    return max(len(pair[0]) for pair in neighbours.forward)


def draw(source: Draw) -> Case:
    """A question about one."""
    often, rarely = ("delta", "epsilon", "advantage", "renyi"), ("power", "miss", "mu", "rho")
    return ask(source, composed(source).pipeline(), often, rarely)
