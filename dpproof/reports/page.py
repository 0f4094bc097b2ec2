"""One self-contained page for a review board."""

from __future__ import annotations

import importlib
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple, final

from dpproof.accountant.errors import MissingDependency
from dpproof.commands.budget import EPSILON
from dpproof.errors import InputError
from dpproof.files import save
from dpproof.pipeline.pipeline import Pipeline
from dpproof.reports import registry, words
from dpproof.reports.facts import Facts, collect
from dpproof.reports.figures import Axis, curve, smooth, smooth_below
from dpproof.rounding import above, exactly, percent_above
from dpproof.streams import progress

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
