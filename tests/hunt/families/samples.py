"""Poisson samples of guarantees with finitely many outcomes: mixtures, outcome by outcome."""

from __future__ import annotations

from fractions import Fraction

from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.families.products import MOST_OUTCOMES, outcomes, repeated
from tests.hunt.laws import Neighbours, mixture
from tests.hunt.parts import Part, part
from tests.hunt.questions import ask


def mixed(neighbours: Neighbours, rate: Fraction) -> Neighbours:
    """The extra record is drawn with probability rate, and without it the other law runs."""
    return Neighbours(
        tuple((mixture(rate, p, q), q) for p, q in neighbours.forward),
        tuple((p, mixture(rate, q, p)) for p, q in neighbours.backward),
    )


def sampled(draw: Draw, *, extreme: bool = True) -> Part:
    """A Poisson sample of one part, or of two that share it."""
    base = part(draw)
    if draw.rarely(4):
        other = part(draw)
        base = Part(
            f"compose({base.source}, {other.source})",
            base.neighbours.times(other.neighbours),
            base.attained and other.attained,
        )
    rate = draw.fraction_below_one() if extreme else Fraction(draw.integer(1, 15), 16)
    return Part(
        f"subsample_poisson({base.source}, Poisson(sampling_rate={text(rate)}))",
        mixed(base.neighbours, rate),
        base.attained,
    )


def draw(source: Draw) -> Case:
    """A question about one sample, of those that its profile answers at once."""
    often = ("delta", "advantage", "delta", "advantage", "epsilon")
    return ask(source, sampled(source).pipeline(), often)


def draw_repeated(source: Draw) -> Case:
    """A question about several samples, or one that one sample answers by tables."""
    one = sampled(source, extreme=source.rarely(10))
    count = source.integer(1, 3)
    neighbours = repeated(one.neighbours, count)
    if count > 1 and outcomes(neighbours) <= MOST_OUTCOMES:
        one = Part(f"self_compose({one.source}, {count})", neighbours, one.attained)
    often = ("delta", "epsilon", "advantage", "renyi")
    return ask(source, one.pipeline(), often, ("power", "miss", "mu", "rho"))
