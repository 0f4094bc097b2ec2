"""One self-contained page for a review board."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dpproof.accountant.errors import MissingDependency
from dpproof.commands.budget import EPSILON
from dpproof.files import save
from dpproof.pipeline.pipeline import Pipeline
from dpproof.reports import registry, words
from dpproof.reports.deployments import PUBLISHED, Deployment
from dpproof.reports.facts import Facts, collect
from dpproof.reports.figures import Axis, curve, smooth, smooth_below
from dpproof.reports.printing import browser, print_page
from dpproof.rounding import above, exactly, percent_above
from dpproof.streams import progress

CERTIFIED: Final = re.compile(r" is \(([^,()]+), [^()]+\)-DP")
LEAST: Final = 1e-12  # the smallest delta drawn
TEMPLATE: Final = Path(__file__).with_name("page.html.jinja")


def library() -> Any:  # noqa: ANN401  # an optional library
    """Return the library that fills the page."""
    try:
        return importlib.import_module("jinja2")
    except ImportError:
        raise MissingDependency("a report needs jinja2: pip install 'dpproof[report]'") from None


def rendered(facts: Facts, left: Sequence[str] = ()) -> str:
    """Return the page as HTML that needs no other file and no network."""
    jinja = library()
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return str(template.render(**_context(facts), balances=left))


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
        "version": version("dpproof"),
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


def write(
    pipeline: Pipeline,
    out: str | None,  # the page's file
    *,
    record: str | None = None,  # the file of the registry's record
    printed: str | None = None,  # the file of the print
    seconds: float | None = None,  # after which what is not known is left out
    left: Sequence[str] = (),  # what is left of each budget of a ledger, in words
) -> bool | None:
    """Write the page, its print, and the registry's record, those that are asked for.

    Returns:
        Whether the pipeline is within its budget; None without a budget.
    """
    library()  # a refusal now, not after the numbers
    if printed is not None:
        browser()
    if record is not None:
        registry.require(pipeline.about)
    with progress(len(pipeline.stages) + 4) as step:
        facts = collect(pipeline, step, seconds)
    page = rendered(facts, left)
    if out is not None:
        save(out, page)
    if printed is not None:
        print_page(page, printed)
    if record is not None:
        save(record, registry.text(registry.record(facts)))
    return facts.budget.within_budget
