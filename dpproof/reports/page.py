"""One self-contained page for a review board, or about a ledger, with its figures."""

import importlib
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from html import escape
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, final

from dpproof.accountant.arithmetic.enclosure import float_down
from dpproof.accountant.errors import MissingDependency
from dpproof.commands.budget import EPSILON
from dpproof.errors import InputError
from dpproof.files import save
from dpproof.ledger import names
from dpproof.ledger.status import BudgetStatus, Logged, Status
from dpproof.pipeline.pipeline import Pipeline
from dpproof.reports import facts, words
from dpproof.reports.facts import Facts, collect
from dpproof.rounding import above, below, exactly, percent_above
from dpproof.streams import progress

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
    """Return a smooth line through points whose first numbers rise on a logarithmic scale."""
    # Fritsch & Butland, "A method for constructing local monotone piecewise cubic interpolants",
    # SIAM J. Sci. Stat. Comput. 5(2), 1984: it stays between heights, flat at turning points.
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
    """Return a smooth line through the corners of a convex falling polygon, nowhere above it."""
    # Each piece is a parabola in the triangle of an edge and the tangents at its ends.
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


CERTIFIED: Final = re.compile(r" is \(([^,()]+), [^()]+\)-DP")
LEAST: Final = 1e-12  # the smallest delta drawn
BROWSERS: Final = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"),
)
TEMPLATE: Final = Path(__file__).with_name("page.html.jinja")


@final
class Deployment(NamedTuple):
    """One published deployment: who released what, its unit, epsilon, delta and source."""

    name: str
    unit: str
    epsilon: float
    delta: str  # as published, empty for pure privacy
    source: str


# Every number was read at its source: the papers named, as the Deployments Registry of OpenDP
# quotes them (2026-07-15). That the Spanish model has epsilon 8.9 at delta = 1e-10 (its rho is
# 0.81) is stated by Google Research, "Advances in private training for production on-device
# language models" (2024).
PUBLISHED: Final = (
    Deployment("Broadband coverage, Microsoft 2021", "a user", 0.2, "", "arXiv:2103.14035"),
    Deployment(
        "Historical page views, Wikimedia 2023",
        "30 or 300 views a day",
        1.0,
        "",
        "arXiv:2308.16298",
    ),
    Deployment("Mobility reports, Google 2020", "a user's day", 2.64, "", "arXiv:2004.04145"),
    Deployment(
        "Popular emojis, Apple 2017", "one event, local", 4.0, "", "Learning with Privacy at Scale"
    ),
    Deployment(
        "Spanish next words, Google 2022", "a user's device", 8.9, "1e-10", "Google Research, 2024"
    ),
    Deployment(
        "Redistricting counts, US Census 2021", "a person", 17.14, "1e-10", "arXiv:2204.08986"
    ),
    Deployment(
        "Audience engagement, LinkedIn 2020", "a member's month", 34.9, "7e-9", "arXiv:2002.05839"
    ),
)


def library() -> Any:  # noqa: ANN401  # an optional library
    """Return the library that fills the page."""
    try:
        return importlib.import_module("jinja2")
    except ImportError:
        raise MissingDependency("a report needs jinja2: pip install 'dpproof[report]'") from None


def filled(template: Path, **context: object) -> str:
    """Return a page as HTML that needs no other file and no network."""
    jinja = library()
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined)
    text = template.read_text(encoding="utf-8")
    return str(environment.from_string(text).render(context, version=version("dpproof")))


def rendered(facts: Facts, left: Sequence[str] = ()) -> str:
    """Return the page about a pipeline."""
    return filled(TEMPLATE, **_context(facts), balances=left)


def _context(facts: Facts) -> dict[str, Any]:
    budget, pipeline = facts.budget, facts.budget.pipeline
    epsilon, allowed = budget.epsilon.upper, pipeline.epsilon
    left = None if allowed is None else 1 - epsilon / float(allowed)
    ours = Deployment("This file", pipeline.about.unit or "a record", epsilon, "", "")
    shown = {one.stage for one in facts.what_if}
    return {
        "facts": facts,
        "budget": budget,
        "pipeline": pipeline,
        "about": pipeline.about,
        "words": words,
        "above": above,
        "exactly": exactly,
        "rounded": _rounded,
        "ours": ours,
        "scale": Axis(title="ε", low=0.05, high=50.0, log=True),
        "name": Path(pipeline.file).name,
        "relation": pipeline.relation,
        "kind": type(pipeline.relation),
        "unknown": EPSILON in budget.missing,
        "percent_above": percent_above,
        "left": None if left is None else math.floor(1000 * max(left, -1.0)) / 10,
        "published": sorted([*PUBLISHED, ours], key=lambda one: one.epsilon),
        "figures": _figures(facts),
        "unchanged": [one.stage.name for one in budget.shown if one.stage.name not in shown],
        "certified": CERTIFIED.search(facts.proof.claim) if facts.proof.digest else None,
    }


def _rounded(delta: Fraction) -> str:
    """Return delta exactly where that is short, else rounded up."""
    exact = exactly(delta)
    return exact if len(exact) <= len("1.2345e-7") else f"{above(delta, 3)} (rounded up)"


def _figures(facts: Facts) -> list[dict[str, str]]:
    here = (float(facts.budget.pipeline.delta), facts.budget.epsilon.upper)
    points = dict((*facts.middle, *facts.curve, here))
    drawn = sorted((at, cost) for at, cost in points.items() if at >= LEAST and math.isfinite(cost))
    figures = []
    if len(drawn) > 1:
        x = Axis(title="δ", low=drawn[0][0], high=drawn[-1][0], log=True)
        allowed = facts.budget.pipeline.epsilon
        y = Axis(title="ε", low=0.0, high=1.05 * drawn[0][1] or 1.0)
        words = f"At δ = {_rounded(facts.budget.pipeline.delta)} this file has ε = {above(here[1])}"
        lines = [("ours", smooth(drawn))]
        if allowed is not None and float(allowed) <= y.high:
            lines.append(("none", [(x.low, float(allowed)), (x.high, float(allowed))]))
            words += f", and its budget is {exactly(allowed)} (dashed)"
        svg = curve("ε against δ", f"{words}.", (x, y), lines, mark=here)
        figures.append({"svg": svg, "words": f"ε against δ, upper ends. {words}."})
    x = Axis(title="false alarms", low=0.0, high=1.0)
    y = Axis(title="misses, at least", low=0.0, high=1.0)
    words = (
        "Every attack lies on or above the solid line; dashed is guessing, which learns nothing."
    )
    lines = [("none", [(0.0, 1.0), (1.0, 0.0)]), ("ours", smooth_below(facts.trade_off))]
    svg = curve("Trade-off of attacks", words, (x, y), lines)
    figures.append({"svg": svg, "words": f"Misses against false alarms. {words}"})
    return figures


def browser() -> str:
    """Return the path of a browser that prints pages."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise InputError(
            f"--pdf needs a browser on PATH, one of {', '.join(BROWSERS)}; "
            "write the page with -o, open it and print it"
        )
    return path


def print_page(page: str, out: str) -> None:
    """Print a page to a PDF file by an installed browser, which loads nothing else."""
    with tempfile.TemporaryDirectory(prefix="dpproof-") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        save(str(source), page)
        asked = [browser(), "--headless", "--disable-gpu", "--no-pdf-header-footer"]
        if getattr(os, "geteuid", lambda: 1)() == 0:
            asked.append("--no-sandbox")  # which root has to do without
        asked += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri()]
        try:
            subprocess.run(asked, check=True, capture_output=True, timeout=60)  # noqa: S603  # a browser of PATH
            Path(out).write_bytes(target.read_bytes())
        except (subprocess.SubprocessError, OSError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(f"{out}: {asked[0]} did not print it ({reason})") from None


def write(
    pipeline: Pipeline,
    out: str | None,  # the page's file
    *,
    record: str | None = None,  # the file of the registry's record
    printed: str | None = None,  # the file of the print
    seconds: float | None = None,  # after which what is not known is left out
    left: Sequence[str] = (),  # what is left of each budget of a ledger, in words
) -> bool | None:
    """Write the page, its print and the registry's record; return whether the budget holds it."""
    library()  # a refusal now, not after the numbers
    if printed is not None:
        browser()
    if record is not None:
        facts.require(pipeline.about)
    with progress(len(pipeline.stages) + 4) as step:
        found = collect(pipeline, step, seconds)
    page = rendered(found, left)
    if out is not None:
        save(out, page)
    if printed is not None:
        print_page(page, printed)
    if record is not None:
        save(record, facts.text(facts.record(found)))
    return found.budget.within_budget


LEDGER: Final = Path(__file__).with_name("ledger.html.jinja")
MOST: Final = 500  # rows of the table of spends
DAY: Final = 86400.0


def ledger_page(place: str, status: Status, entries: Sequence[Logged]) -> str:
    """Return the page as HTML that needs no other file, no network and no script."""
    style = TEMPLATE.read_text(encoding="utf-8").partition("<style>")[2]
    spends = [one for one in entries if one.costs]
    spenders = Counter(one.principal or one.who or "not said" for one in spends)
    return filled(
        LEDGER,
        style=style.partition("</style>")[0],
        place=place,
        status=status,
        made=entries[0].time[:10],
        last=entries[-1].time[:16].replace("T", " "),
        budgets=[_budget(one, entries) for one in status.budgets],
        spends=spends[: -MOST - 1 : -1],
        others=max(0, len(spends) - MOST),
        spenders=spenders.most_common(),
        above=above,
        below=below,
    )


def _budget(one: BudgetStatus, entries: Sequence[Logged]) -> dict[str, Any]:
    """Return what the page says of a budget."""
    about = ", ".join(name for name in (one.dataset, one.principal) if name) or "everything"
    mine = names.name((one.dataset, one.principal))
    left = below(100 * one.remaining, 4)
    start = datetime.fromisoformat(entries[0].time)
    points = [
        (
            (datetime.fromisoformat(entry.time) - start).total_seconds() / DAY,
            float_down(100 * share),
        )
        for entry in entries
        for label, share in entry.left.items()
        if label == mine
    ]
    steps = [
        corner
        for (_, before), (day, share) in pairwise(points)
        for corner in ((day, before), (day, share))
    ]
    x = Axis(title="days", low=0.0, high=float(max(1, math.ceil(points[-1][0]))))
    y = Axis(title="% left", low=0.0, high=100.0)
    words = f"{left} % of the budget is left after {len(points)} entries about it."
    return {
        "about": about,
        "status": one,
        "left": left,
        "figure": curve(f"Left of {about}", words, (x, y), [("ours", [*points[:1], *steps])]),
        "words": f"{about}: {words}",
    }
