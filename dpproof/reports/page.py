"""One self-contained page for a review board."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, final

from dpproof.errors import InputError
from dpproof.files import save
from dpproof.pipeline.pipeline import Pipeline
from dpproof.reports import registry, words
from dpproof.reports.facts import Facts, collect
from dpproof.rounding import above, exactly, percent_above
from dpproof.streams import progress

TEMPLATE: Final = Path(__file__).with_name("page.html.jinja")


def library() -> Any:  # noqa: ANN401  # an optional library
    """Return the library that fills the page.

    Raises:
        InputError: it is not installed.
    """
    try:
        return importlib.import_module("jinja2")
    except ImportError:
        raise InputError("a report needs jinja2: pip install 'dpproof[report]'") from None


def rendered(facts: Facts) -> str:
    """Return the page as HTML that needs no other file and no network.

    Raises:
        InputError: the library that fills it is not installed.
    """
    jinja = library()
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return str(template.render(**_context(facts)))


def _context(facts: Facts) -> dict[str, Any]:
    budget, pipeline = facts.budget, facts.budget.pipeline
    mood, verdict = _verdict(facts)
    relation = type(pipeline.relation)
    return {
        "file": pipeline.file,
        "mood": mood,
        "verdict": verdict,
        "neighbours": words.NEIGHBOURS[relation],
        "relation": str(pipeline.relation),
        "question": words.QUESTION[relation],
        "risks": words.risks(budget),
        "figures": _figures(facts),
        "curve": [(f"{delta:.3g}", above(epsilon)) for delta, epsilon in facts.curve],
        "stages": [
            {
                "name": cost.stage.name,
                "what": words.stage(cost.stage),
                "epsilon": above(cost.epsilon.upper),
                "inner": [(path, above(one.upper)) for path, one in cost.inner],
                "share": "–" if cost.share is None else f"{100 * cost.share:.1f} %",
                "width": f"{100 * (cost.share or 0):.1f}",
            }
            for cost in budget.stages
        ],
        "changes": _changes(facts),
        "unchanged": _unchanged(facts),
        "dominating": words.DOMINATING,
        "epsilon": above(budget.epsilon.upper),
        "assumptions": facts.proof.assumptions,
        "labels": facts.proof.labels,
        "theorems": words.theorems(budget.derivation),
        "claim": facts.proof.claim,
        "digest": facts.proof.digest,
        "whose": budget.epsilon.whose,
        "lower": repr(budget.epsilon.lower),
        "upper": repr(budget.epsilon.upper),
        "delta": exactly(pipeline.delta),
        "version": version("dpproof"),
    }


def _verdict(facts: Facts) -> tuple[str, str]:
    budget, allowed = facts.budget, facts.budget.pipeline.epsilon
    cost = f"ε = {above(budget.epsilon.upper)} at δ = {exactly(budget.pipeline.delta)}"
    if allowed is None:
        return "", f"{cost}; no budget is stated"
    used = f"{percent_above(budget.epsilon.upper / float(allowed))} of {exactly(allowed)}"
    if budget.within_budget:
        return "good", f"✓ Within the budget: {cost}, {used}"
    return "bad", f"✗ Over the budget: {cost}, {used}"


def _figures(facts: Facts) -> list[dict[str, str]]:
    finite = [(delta, epsilon) for delta, epsilon in facts.curve if math.isfinite(epsilon)]
    figures = []
    if finite:
        x = Axis(title="δ", low=min(facts.curve)[0], high=max(facts.curve)[0], log=True)
        y = Axis(title="ε", low=0.0, high=1.1 * max(epsilon for _, epsilon in finite) or 1.0)
        told = f"ε falls from {above(finite[-1][1], 3)} at δ = {finite[-1][0]:.1g} to "
        told += f"{above(finite[0][1], 3)} at δ = {finite[0][0]:.1g}."
        svg = curve("ε against δ", told, x, y, [("ours", sorted(finite))])
        figures.append({"svg": svg, "words": f"ε against δ, upper ends. {told}"})
    x = Axis(title="false alarms", low=0.0, high=1.0)
    y = Axis(title="misses, at least", low=0.0, high=1.0)
    told = "Every attack lies on or above the solid line; dashed is guessing, which learns nothing."
    lines = [("none", [(0.0, 1.0), (1.0, 0.0)]), ("ours", facts.trade_off)]
    svg = curve("Trade-off of attacks", told, x, y, lines)
    figures.append({"svg": svg, "words": f"Misses against false alarms. {told}"})
    return figures


def _unchanged(facts: Facts) -> list[str]:
    """Return the names of stages without a number to raise, and of those beyond the limit."""
    shown = {one.stage for one in facts.what_if}
    return [cost.stage.name for cost in facts.budget.stages if cost.stage.name not in shown]


def _changes(facts: Facts) -> list[dict[str, str]]:
    now = facts.budget.epsilon.upper
    return [
        {
            "stage": one.stage,
            "changed": ", ".join(one.changed),
            "epsilon": above(one.epsilon),
            "gain": f"−{100 * (1 - one.epsilon / now):.1f} %" if 0 < now < math.inf else "–",
        }
        for one in facts.what_if
    ]


def write(pipeline: Pipeline, out: str, record: str | None) -> bool | None:
    """Write the page, and the registry's record if it is asked for.

    Returns:
        Whether the pipeline is within its budget; None without a budget.
    Raises:
        InputError: a stage is refused, a library is missing, or a file cannot be written.
    """
    library()  # a refusal now, not after the numbers
    with progress(len(pipeline.stages) + 4) as step:
        facts = collect(pipeline, step)
    save(out, rendered(facts))
    if record is not None:
        save(record, registry.text(registry.record(facts)))
    return facts.budget.within_budget


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
