"""Tables that can be shown, written as Markdown, and written as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

from rich.console import Console
from rich.table import Table


@final
@dataclass(frozen=True, slots=True)
class Goal:
    """One number to reach.

    Attributes:
        what: in words.
        goal: in words, with its unit.
        measured: with its unit.
        met: whether the goal is reached.
    """

    what: str
    goal: str
    measured: str
    met: bool


@final
@dataclass(slots=True)
class Section:
    """One table.

    Attributes:
        name: of the subcommand.
        title: above the table.
        columns: headings.
        rows: texts, as many as headings.
        notes: sentences below it.
        goals: the goals, each with whether it is met.
        data: the numbers, for JSON.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)


def show(console: Console, section: Section) -> None:
    """Print one section."""
    table = Table(title=section.title, title_justify="left", header_style="bold")
    for i, column in enumerate(section.columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in section.rows:
        table.add_row(*row)
    console.print(table)
    for note in section.notes:
        console.print(note, style="dim", soft_wrap=True)
    console.print()


def goals(sections: list[Section]) -> Section:
    """Return the table of all goals."""
    all_goals = [goal for section in sections for goal in section.goals]
    return Section(
        name="goals",
        title="Goals",
        columns=("what", "goal", "measured", "met"),
        rows=[(g.what, g.goal, g.measured, "yes" if g.met else "NO") for g in all_goals],
        data=[
            {"what": g.what, "goal": g.goal, "measured": g.measured, "met": g.met}
            for g in all_goals
        ],
    )


def markdown(sections: list[Section], heading: str, facts: list[str]) -> str:
    """Return all sections as a Markdown document."""
    lines = [f"# {heading}", "", *facts, ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        lines.append("| " + " | ".join(section.columns) + " |")
        lines.append("|---|" + "---:|" * (len(section.columns) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in section.rows]
        lines += ["", *section.notes, ""] if section.notes else [""]
    return "\n".join(lines).rstrip() + "\n"


def seconds(value: float) -> str:
    """Return a duration with three digits and a unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def megabytes(value: float) -> str:
    """Return a size in units of 10^6 bytes."""
    return f"{value / 1e6:.0f} MB"


def ratio(value: float) -> str:
    """Return a factor in words, "-" where it is not finite."""
    return f"{value:.3g}x" if math.isfinite(value) else "-"


def difference(value: float) -> str:
    """Return a signed relative distance as text."""
    return "0" if value == 0 else f"{value:+.1e}"


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean of positive numbers; nan of none."""
    if not values:
        return math.nan
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def column(rows: list[dict[str, Any]], key: str) -> list[float]:
    """Return the finite numbers under one key."""
    found = [row[key] for row in rows if isinstance(row.get(key), int | float)]
    return [float(value) for value in found if math.isfinite(value)]


Progress = Callable[[str], None]
