"""One self-contained page for a review board."""

from __future__ import annotations

import importlib
import math
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dpproof.errors import InputError
from dpproof.reports import words
from dpproof.reports.facts import Facts
from dpproof.reports.figures import Axis, curve
from dpproof.rounding import above, exactly, percent_above

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
    found = []
    if finite:
        x = Axis(title="δ", low=min(facts.curve)[0], high=max(facts.curve)[0], log=True)
        y = Axis(title="ε", low=0.0, high=1.1 * max(epsilon for _, epsilon in finite) or 1.0)
        told = f"ε falls from {above(finite[-1][1], 3)} at δ = {finite[-1][0]:.1g} to "
        told += f"{above(finite[0][1], 3)} at δ = {finite[0][0]:.1g}."
        svg = curve("ε against δ", told, x, y, [("ours", sorted(finite))])
        found.append({"svg": svg, "words": f"ε against δ, upper ends. {told}"})
    x = Axis(title="false alarms", low=0.0, high=1.0)
    y = Axis(title="misses, at least", low=0.0, high=1.0)
    told = "Every attack lies on or above the solid line; dashed is guessing, which learns nothing."
    lines = [("none", [(0.0, 1.0), (1.0, 0.0)]), ("ours", facts.trade_off)]
    svg = curve("Trade-off of attacks", told, x, y, lines)
    found.append({"svg": svg, "words": f"Misses against false alarms. {told}"})
    return found


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
