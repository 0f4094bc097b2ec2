"""The best of several runs, and the first above a threshold: every score, by enumeration."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hunt.case import Case
from tests.hunt.draw import Draw
from tests.hunt.families.data import rows
from tests.hunt.laws import Generating, Law, Neighbours, best_of_runs, first_above
from tests.hunt.parts import Part
from tests.hunt.questions import ask
from tests.hunt.restated import restated
from tests.hunt.runs import runs


def _score(draw: Draw, outcomes: int) -> list[int]:
    """Ranks, perhaps with ties."""
    return [draw.integer(0, 2) for _ in range(outcomes)]


def _chosen(
    table: Sequence[Law], law: Generating, score: Sequence[int], *, threshold: bool
) -> Neighbours:
    choose = first_above if threshold else best_of_runs
    return Neighbours.of_rows([choose(row, law, score) for row in table])


def draw(source: Draw) -> Case:
    """The best of runs."""
    table, law = rows(source), runs(source)
    truth = _chosen(table, law.generating, _score(source, len(table[0])), threshold=False)
    part = Part(
        f"select({restated(source, table, kind='pair')}, {law.source})", truth, attained=False
    )
    return ask(source, part.pipeline(), ("delta", "epsilon", "advantage"), ("renyi",))


def draw_renyi(source: Draw) -> Case:
    """The best of runs of a base that is known by its Renyi curve alone."""
    table, law = rows(source, zeros=False), runs(source)
    truth = _chosen(table, law.generating, _score(source, len(table[0])), threshold=False)
    stated = restated(source, table, kind="renyi")
    part = Part(f"select({stated}, {law.source})", truth, attained=False)
    return ask(source, part.pipeline(), ("renyi", "delta", "epsilon"))


def draw_threshold(source: Draw) -> Case:
    """The first run above a threshold."""
    table, law = rows(source), runs(source)
    truth = _chosen(table, law.generating, _score(source, len(table[0])), threshold=True)
    part = Part(
        f"select_above({restated(source, table, kind='pair')}, {law.source})", truth, attained=False
    )
    return ask(source, part.pipeline(), ("delta", "epsilon", "advantage"))
