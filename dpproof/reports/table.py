"""Answers as tables on a terminal, and why two pipelines cost different amounts."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpproof.accountant import PrivacyError, ShuffledBatches
from dpproof.commands import budget as costs
from dpproof.commands.budget import together
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.pipeline.section import PARAMETERS, quoted
from dpproof.reports import words
from dpproof.rounding import above, below, exactly, percent_above
from dpproof.streams import shown
from dpproof.time_limit import ROUGH, NotInTime, known_in, shares

if TYPE_CHECKING:
    from dpproof.commands.calibrate import Solved


MOST_NAMED: Final = 10  # numbers that are missing


def show(budget: costs.Budget, console: Console) -> None:
    """Print a budget."""
    console.print(Group(*_page(budget)), highlight=False)


def show_solved(solved: Solved, console: Console) -> None:
    """Print the number that was found, rounded to the safe side, and what it leads to."""
    free, pipeline = solved.free, solved.free.pipeline
    side, rounded = ("up", above) if free.parameter.more_is_private else ("down", below)
    value = str(solved.value) if free.parameter.whole else rounded(solved.value, 6)
    how = f"in whole numbers, rounded {side}" if free.parameter.whole else f"rounded {side}"
    name = free.address.rpartition(".")[2]
    cost = f"ε = {above(solved.epsilon.upper)} at δ = {exactly(pipeline.delta)}"
    lines = [
        Text(f"{pipeline.file}, stage {quoted(free.stage.name)}"),
        Text(f"{free.address} = {value}", style="bold green"),
        Text(f"the {PARAMETERS[name].words} at which everything together costs {cost}; {how}"),
    ]
    if solved.rough:
        lines.append(Text("INCOMPLETE, the time was up: Rényi divergences show that it is safe"))
    if solved.at_limit:
        lines.append(Text("every allowed value meets the budget; this one costs the most"))
    console.print(*lines, sep="\n", highlight=False)


def _page(budget: costs.Budget) -> Iterator[RenderableType]:
    yield Text(budget.pipeline.file, style="bold")
    yield _costs(budget)
    yield _verdict(budget)
    if budget.missing:
        why = "interrupted" if budget.interrupted else "the time was up"
        more = len(budget.missing) - MOST_NAMED
        named = [*budget.missing[:MOST_NAMED], *([f"{more} others"] if more > 0 else [])]
        left = f"INCOMPLETE, {why}. Not computed: {', '.join(named)}"
        yield Text(left, style="bold yellow")
    yield Text()
    yield _facts(_meaning(budget))
    yield Text()
    yield _facts(_grounds(budget))


def _costs(budget: costs.Budget) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_footer=True, footer_style="bold")
    table.add_column("stage", "together", style="bold", max_width=24, overflow="fold")
    table.add_column("what runs", ratio=1)
    alone = shown("ε alone", sys.stdout)
    table.add_column(alone, above(budget.epsilon.upper), justify="right", no_wrap=True)
    whole = "100 %" if any(cost.share is not None for cost in budget.stages) else "–"
    table.add_column("share", whole, justify="right", no_wrap=True)
    for cost in budget.shown:
        share = "–" if cost.share is None else f"{100 * cost.share:.1f} %"
        at_most = "≤ " if costs.alone_of(cost.stage) in budget.missing else ""
        first, *rest = [*words.stage(cost.stage), *_selected(cost, budget.missing)]
        what = Text("\n").join([Text(first), *(Text(line, style="dim") for line in rest)])
        table.add_row(Text(cost.stage.name), what, at_most + above(cost.epsilon.upper), share)
        for path, epsilon in cost.inner:
            table.add_row(Text(f"· {path}", style="dim"), "", above(epsilon.upper), "")
    if budget.rest is not None:
        others = f"{len(budget.stages) - len(budget.shown)} others"
        at_most = "≤ " if costs.REST in budget.missing else ""
        share = words.rest_share(budget)
        table.add_row(others, "all of them together", at_most + above(budget.rest.upper), share)
    return table


def _selected(cost: costs.StageCost, missing: Sequence[str]) -> list[str]:
    """Return text like ``one run ε 1.06, selecting 1.47 times that``."""
    if cost.one_run is None:
        return []
    if costs.run_of(cost.stage) in missing:
        return ["one run: not computed"]
    one = f"one run ε {above(cost.one_run.upper)}"
    return [one if cost.factor is None else f"{one}, the best {above(cost.factor, 3)} times that"]


def _verdict(budget: costs.Budget) -> Text:
    spent, allowed = above(budget.epsilon.upper), budget.pipeline.epsilon
    cost = f"ε = {spent} at δ = {exactly(budget.pipeline.delta)}"
    if allowed is None:
        return Text(f"{cost}; the file states no budget", style="bold")
    used = percent_above(budget.epsilon.upper / float(allowed))
    share = f"{used} of the {exactly(allowed)} allowed"
    if budget.within_budget:
        return Text(f"Within the budget: {cost}, {share}", style="bold green")
    if costs.EPSILON in budget.missing:
        return Text(f"NOT SHOWN TO BE WITHIN THE BUDGET: {cost}, {share}", style="bold red")
    return Text(f"OVER THE BUDGET: {cost}, {share}", style="bold red")


def _meaning(budget: costs.Budget) -> Iterator[tuple[str, str]]:
    """Return lines that say what the numbers mean for the person whose record it is."""
    pipeline = budget.pipeline
    often = f", up to {pipeline.protect} times" if pipeline.protect > 1 else ""
    changed = f"{words.NEIGHBOURS[type(pipeline.relation)]}{often}"
    yield "neighbours", f"{changed} ({pipeline.relation})"
    yield "attack risk", f"an attacker who must tell {words.QUESTION[type(pipeline.relation)]}"
    for line in words.risks(budget):
        yield "", f"· {line}"
    mu = budget.mu.upper
    if math.isfinite(mu) and mu > 0:
        noise = f"noise {below(1 / mu, 3)} times its sensitivity"
        where = f"at every δ from {exactly(pipeline.delta)} up"
        yield "μ", f"{above(mu)}: {where}, covered by one Gaussian release with {noise}"
    else:
        unknown = "not computed" if costs.MU in budget.missing else "no finite μ is certified"
        yield "μ", "0: everything is within δ" if mu == 0 else unknown
    for cost in budget.shown:
        if isinstance(cost.stage.sampling, ShuffledBatches) and cost.epsilon.attained:
            meant = costs.beside_poisson(cost.epsilon, cost.poisson)
            yield "shuffled", f"ε of stage {quoted(cost.stage.name)}: {meant}"
    yield (
        "share",
        f"part of the total Rényi divergence at order {costs.SHARE_ORDER}, where parts add up",
    )


def _grounds(budget: costs.Budget) -> Iterator[tuple[str, str]]:
    """Return lines with the theorems, assumptions and exactness behind the numbers."""
    for position, (rule, source) in enumerate(words.theorems(budget.derivation)):
        yield "carried by" if position == 0 else "", f"{rule}: {source}"
    yield "assumed", "sensitivities, sampling and counts as the file states them, fixed in advance"
    epsilon = budget.epsilon
    yield "exactness", f"ε{epsilon.whose} lies in [{epsilon.lower!r}, {epsilon.upper!r}]"
    if epsilon.whose:
        yield "", words.DOMINATING


def _facts(lines: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True, min_width=11)
    table.add_column()
    for name, text in lines:
        table.add_row(Text(name), Text(text))
    return table


def lines(before: Pipeline, after: Pipeline, seconds: float | None = None) -> list[str]:
    """Return a line for each change from one pipeline to the other, with epsilon after it."""
    changes = [*_changes(before, after)]
    if not changes:
        return [_line(before, before.file, seconds), "no difference changes the cost"]
    shown = [(before.file, before), *changes, (after.file, after)]
    parts = shares(seconds, len(shown))
    return [_line(one, text, part) for (text, one), part in zip(shown, parts, strict=True)]


def _line(pipeline: Pipeline, told: str, seconds: float | None) -> str:
    make, delta = partial(together, pipeline), pipeline.delta
    try:
        upper, is_rough = known_in(
            seconds, make, lambda whole: whole.epsilon(delta=delta).upper, delta, "ε"
        )
    except NotInTime as late:
        return f"ε =      –    {told} ({late})"
    except PrivacyError:
        return f"ε =      –    {told}"  # no theorem covers what stands between the two
    return f"ε = {above(upper):>8}  {told}{f' ({ROUGH})' if is_rough else ''}"


def _changes(before: Pipeline, after: Pipeline) -> Iterator[tuple[str, Pipeline]]:
    at = before
    if at.delta != after.delta:
        words = f"δ from {exactly(at.delta)} to {exactly(after.delta)}"
        at = replace(at, delta=after.delta)
        yield words, at
    if at.relation != after.relation:
        words = f"neighbours from {at.relation} to {after.relation}"
        at = replace(at, relation=after.relation)
        yield words, at
    for place, (old, new) in enumerate(zip_longest(before.stages, after.stages)):
        for words, stage in _stage_changes(old, new):
            stages = list(at.stages)
            if stage is None:
                stages = [one for one in stages if one is not old]
            elif old is None or place >= len(stages):
                stages.append(stage)
            else:
                stages[place] = stage
            if not stages:
                continue
            at = replace(at, stages=tuple(stages))
            yield words, at


def _stage_changes(old: Stage | None, new: Stage | None) -> Iterator[tuple[str, Stage | None]]:
    """Yield each change of a stage: its numbers one by one if its form is the same."""
    if old is None or new is None:
        present = new if old is None else old
        if present is not None:
            yield f'stage "{present.name}" {"added" if old is None else "left out"}', new
        return
    if _form(old) != _form(new):
        name = f'"{old.name}"' if old.name == new.name else f'"{old.name}" becomes "{new.name}"'
        runs = ["; ".join(words.stage(one)) for one in (new, old)]
        yield f"stage {name}: {' instead of '.join(runs)}", new
        return
    at, numbers = old, old.numbers()
    for address, value in new.numbers().items():
        if value != numbers[address] and at.numbers()[address] != value:
            at = at.replaced(address, value)
            change = f"{address} from {exactly(numbers[address])} to {exactly(value)}"
            yield f'stage "{old.name}": {change}', at
    if at.numbers() != new.numbers() or at.runs != new.runs:
        yield f'stage "{old.name}": the rest of it, such as its selection', new


def _form(stage: Stage) -> tuple[object, ...]:
    """Return what has to be equal if only numbers differ."""
    releases = tuple((one.mechanism, one.norm, tuple(one.values)) for one in stage.releases)
    inner = tuple(_form(one) for one in stage.stages)
    return (releases, inner, type(stage.sampling), tuple(stage.numbers()))
