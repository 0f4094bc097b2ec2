"""Mechanisms that look at a count of records, on all datasets and all neighbours.

A table of laws, one a count, is all that such a mechanism is. What dominates its neighbours is
stated; sampling, composition and groups then run on every dataset, by exact enumeration.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.laws import Law, Neighbours, dominating, drawn_rows, product, sampled_rows
from tests.hunt.parts import Part, pair_guarantee
from tests.hunt.questions import ask


def rows(draw: Draw) -> list[Law]:
    """The laws of a mechanism at each count of records."""
    outcomes, zeros = draw.integer(2, 3), draw.rarely(5)
    return [draw.law(outcomes, zeros=zeros) for _ in range(draw.integer(2, 4))]


def stated(table: list[Law], relation: str = "AddRemove()") -> str:
    """The pairs that dominate all neighbours."""
    truth = Neighbours.of_rows(table)
    if relation == "ReplaceOne()":
        both = dominating([*truth.forward, *truth.backward])
        return f"convert({_one_direction(both)}, to=DominatingPair)"
    return pair_guarantee(dominating(truth.forward), dominating(truth.backward), relation)


def _one_direction(pair: tuple[Law, Law]) -> str:
    """The trade-off curve of the pair whose profile holds in both directions."""
    ranked = sorted(
        zip(*pair, strict=True), key=lambda mass: (0, -mass[0] / mass[1]) if mass[1] else (-1, 0)
    )
    points, rate, power = [(Fraction(0), Fraction(1))], Fraction(0), Fraction(0)
    for p, q in ranked:
        rate, power = rate + q, power + p
        points = [*(point for point in points if point[0] < rate), (rate, 1 - power)]
    listed = ", ".join(f"({text(a)}, {text(b)})" for a, b in points)
    return f"TradeOff(points=({listed}), relation=ReplaceOne())"


def _as_is(draw: Draw, table: list[Law]) -> Part:
    del draw
    return Part(stated(table), Neighbours.of_rows(table), attained=True)


def _sampled(draw: Draw, table: list[Law]) -> Part:
    rate = draw.fraction_below_one()
    return Part(
        f"subsample_poisson({stated(table)}, Poisson(sampling_rate={text(rate)}))",
        Neighbours.of_rows(sampled_rows(table, rate)),
        attained=False,
    )


def _sampled_twice(draw: Draw, table: list[Law]) -> Part:
    """Two mechanisms on one sample, or on two."""
    other = rows(draw)[: len(table)]
    table = table[: len(other)]
    rate = draw.fraction_below_one()
    scheme = f"Poisson(sampling_rate={text(rate)})"
    if draw.rarely(2):
        joint = [
            tuple(a * b for a in row for b in extra)
            for row, extra in zip(table, other, strict=True)
        ]
        return Part(
            f"subsample_poisson(compose({stated(table)}, {stated(other)}), {scheme})",
            Neighbours.of_rows(sampled_rows(joint, rate)),
            attained=False,
        )
    one, two = (Neighbours.of_rows(sampled_rows(each, rate)) for each in (table, other))
    return Part(
        f"compose(subsample_poisson({stated(table)}, {scheme}), "
        f"subsample_poisson({stated(other)}, {scheme}))",
        Neighbours(
            tuple(map(product, one.forward, two.forward)),
            tuple(map(product, one.backward, two.backward)),
        ),
        attained=False,
    )


def _drawn(draw: Draw, table: list[Law]) -> Part:
    population = len(table) - 1 + draw.integer(1, 4)
    scheme = f"WithoutReplacement(sample_size={len(table) - 1}, population_size={population})"
    return Part(
        f"subsample_without_replacement({stated(table, 'ReplaceOne()')}, {scheme})",
        Neighbours.of_rows(drawn_rows(table, population)),
        attained=False,
    )


def _grouped(draw: Draw, table: list[Law]) -> Part:
    size = draw.integer(2, 3)
    table = [*table, *rows(draw)][: max(size + 1, len(table))]
    table = [law for law in table if len(law) == len(table[0])]
    both = dominating([*(n := Neighbours.of_rows(table)).forward, *n.backward])
    source = _one_direction(both).replace(", relation=ReplaceOne()", "")
    size = min(size, len(table) - 1)
    return Part(
        f"group({source}, size={size})", Neighbours.of_rows(table, step=size), attained=False
    )


_CHEAP: tuple[Callable[[Draw, list[Law]], Part], ...] = (_as_is, _sampled, _drawn, _grouped)


def draw(source: Draw) -> Case:
    """A question about one of them."""
    one = source.choose(_CHEAP)(source, rows(source))
    return ask(source, one.pipeline(), ("delta", "advantage", "epsilon"))


def draw_sampled_twice(source: Draw) -> Case:
    """A question about two releases on samples."""
    one = _sampled_twice(source, rows(source))
    return ask(source, one.pipeline(), ("delta", "advantage", "epsilon", "renyi"))
