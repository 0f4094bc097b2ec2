"""Mechanisms that look at a count of records, on all datasets and all neighbours.

A table of laws, one a count, is all that such a mechanism is. What is true of it is stated in some
notion; samples, compositions, groups, parts and selections then run on every dataset, by exact
enumeration.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.laws import Law, Neighbours, drawn_rows, product, sampled_rows
from tests.hunt.parts import Part, law_text
from tests.hunt.questions import ask
from tests.hunt.restated import restated

EPSILONS = "epsilons=(0, Fraction(1, 4), 1, 2)"


def rows(draw: Draw, counts: int = 0, *, zeros: bool = True) -> list[Law]:
    """The laws of a mechanism at each count of records, zeros as the case may be."""
    outcomes, zeros = draw.integer(2, 3), draw.rarely(5) and zeros
    return [draw.law(outcomes, zeros=zeros) for _ in range(counts or draw.integer(2, 4))]


def _as_is(draw: Draw) -> Part:
    table = rows(draw)
    return Part(restated(draw, table), Neighbours.of_rows(table), attained=False)


def _sampled(draw: Draw) -> Part:
    table, rate = rows(draw), draw.fraction_below_one()
    stated = restated(draw, table, kind="pair")
    return Part(
        f"subsample_poisson({stated}, Poisson(sampling_rate={text(rate)}))",
        Neighbours.of_rows(sampled_rows(table, rate)),
        attained=False,
    )


def _drawn(draw: Draw) -> Part:
    table = rows(draw)
    population = len(table) - 1 + draw.integer(1, 4)
    scheme = f"WithoutReplacement(sample_size={len(table) - 1}, population_size={population})"
    stated = restated(draw, table, kind="pair", relation="ReplaceOne()")
    return Part(
        f"subsample_without_replacement({stated}, {scheme})",
        Neighbours.of_rows(drawn_rows(table, population)),
        attained=False,
    )


def _grouped(draw: Draw) -> Part:
    size = draw.integer(2, 3)
    table = rows(draw, size + draw.integer(1, 2))
    stated = restated(draw, table)
    return Part(f"group({stated}, size={size})", Neighbours.of_rows(table, size), attained=False)


def _disjoint(draw: Draw) -> Part:
    """A record belongs to one part, and the other part's output has the same law."""
    one, other = rows(draw), rows(draw)
    known = Neighbours.of_rows(one), Neighbours.of_rows(other)
    return Part(
        f"parallel_compose({restated(draw, one)}, {restated(draw, other)}, {EPSILONS})",
        Neighbours(known[0].forward + known[1].forward, known[0].backward + known[1].backward),
        attained=False,
    )


def _composed(draw: Draw) -> Part:
    counts = draw.integer(2, 3)
    one, other = rows(draw, counts), rows(draw, counts)
    joint = [tuple(a * b for a in row for b in more) for row, more in zip(one, other, strict=True)]
    return Part(
        f"compose({restated(draw, one)}, {restated(draw, other)})",
        Neighbours.of_rows(joint),
        attained=False,
    )


def _mixed(draw: Draw) -> Part:
    """One of two or three, drawn at random, and which."""
    counts, weights = draw.integer(2, 4), draw.law(draw.integer(2, 3))
    tables = [rows(draw, counts) for _ in weights]
    joint = [
        tuple(
            weight * mass
            for weight, table in zip(weights, tables, strict=True)
            for mass in table[count]
        )
        for count in range(counts)
    ]
    stated = ", ".join(restated(draw, table, kind="pair") for table in tables)
    return Part(
        f"accountant.mixture([{stated}], weights={law_text(weights)})",
        Neighbours.of_rows(joint),
        attained=False,
    )


def _sampled_together(draw: Draw) -> Part:
    """Two mechanisms on one sample."""
    counts, rate = draw.integer(2, 3), draw.fraction_below_one()
    one, other = rows(draw, counts), rows(draw, counts)
    joint = [tuple(a * b for a in row for b in more) for row, more in zip(one, other, strict=True)]
    first, second = (restated(draw, table, kind="pair") for table in (one, other))
    return Part(
        f"subsample_poisson(compose({first}, {second}), Poisson(sampling_rate={text(rate)}))",
        Neighbours.of_rows(sampled_rows(joint, rate)),
        attained=False,
    )


def _sampled_apart(draw: Draw) -> Part:
    """Two mechanisms, each on a sample of its own."""
    counts, rate = draw.integer(2, 3), draw.fraction_below_one()
    one, other = rows(draw, counts), rows(draw, counts)
    scheme = f"Poisson(sampling_rate={text(rate)})"
    known = [Neighbours.of_rows(sampled_rows(table, rate)) for table in (one, other)]
    first, second = (restated(draw, table, kind="pair") for table in (one, other))
    return Part(
        f"compose(subsample_poisson({first}, {scheme}), subsample_poisson({second}, {scheme}))",
        Neighbours(
            tuple(map(product, known[0].forward, known[1].forward)),
            tuple(map(product, known[0].backward, known[1].backward)),
        ),
        attained=False,
    )


Maker = Callable[[Draw], Part]
_QUICK: tuple[Maker, ...] = (_as_is, _sampled, _drawn, _grouped, _disjoint, _composed, _mixed)
_SLOW: tuple[Maker, ...] = (_sampled_together, _sampled_apart)


def draw(source: Draw) -> Case:
    """A question about one release, group, sample, mixture, or disjoint parts."""
    one = source.choose(_QUICK)(source)
    return ask(
        source, one.pipeline(), ("delta", "advantage", "epsilon"), ("renyi", "power", "miss")
    )


def draw_sampled_twice(source: Draw) -> Case:
    """A question about two releases on samples."""
    one = source.choose(_SLOW)(source)
    return ask(source, one.pipeline(), ("delta", "advantage", "epsilon", "renyi"))
