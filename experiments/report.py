"""Tables and figures of experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from rich.console import Console
from rich.table import Table as Grid


@final
@dataclass(frozen=True, slots=True)
class Table:
    """One table of results.

    Attributes:
        title: its subject.
        columns: their names.
        rows: cells, numbers and words.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]

    def markdown(self) -> str:
        """Return the table as a section in Markdown."""
        lines = [f"### {self.title}", "", _line(self.columns), "|" + "---|" * len(self.columns)]
        return "\n".join([*lines, *(_line([cell(x) for x in row]) for row in self.rows)]) + "\n"

    def show(self) -> None:
        """Print the table."""
        grid = Grid(title=self.title)
        for name in self.columns:
            grid.add_column(name)
        for row in self.rows:
            grid.add_row(*[cell(x) for x in row])
        Console().print(grid)


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """Curves over one axis.

    Attributes:
        name: of the file, without ending.
        title: above the curves.
        x, y: what the axes are.
        curves: by name, points (x, y).
        log: whether x is drawn on a logarithmic axis.
    """

    name: str
    title: str
    x: str
    y: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    log: bool = False

    def save(self, directory: Path) -> Path:
        """Draw the curves as a PNG file."""
        from matplotlib.figure import Figure as Canvas  # noqa: PLC0415  # an optional library

        canvas = Canvas(figsize=(6, 4), layout="constrained")
        axes = canvas.subplots()
        for name, points in self.curves.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        if self.log:
            axes.set_xscale("log")
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y)
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
        path = directory / f"{self.name}.png"
        canvas.savefig(path, dpi=120)
        return path


def finish(name: str, tables: Sequence[Table], figures: Sequence[Figure], out: Path | None) -> None:
    """Print all tables; with a directory write them there as NAME.md, and the figures."""
    for table in tables:
        table.show()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        text = "\n".join(table.markdown() for table in tables)
        (out / f"{name}.md").write_text(text, encoding="utf-8")
        for figure in figures:
            figure.save(out)


def cell(value: object) -> str:
    """Return a number in three decimals, or four digits if small or large; words as they are."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f}" if 0.1 <= abs(value) < 10 else f"{value:.4g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
