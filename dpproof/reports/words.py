"""Pipelines in plain words, answers as tables, and why two pipelines cost different amounts."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpproof.accountant import PrivacyError, ShuffledBatches, sampling as schemes
from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.relation import AddRemove, Relation, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.commands import budget as costs
from dpproof.commands.budget import ADVANTAGE, Budget, detected, together
from dpproof.pipeline.kinds.kind import NORM_WORDS
from dpproof.pipeline.pipeline import Pipeline, Release, Stage
from dpproof.pipeline.section import PARAMETERS, quoted
from dpproof.rounding import above, below, exactly, percent_above
from dpproof.streams import shown
from dpproof.time_limit import ROUGH, NotInTime, known_in, shares

if TYPE_CHECKING:
    from dpproof.commands.calibrate import Solved


LITTLE, SOME = 0.9, 0.65  # how often an attacker is right, of 0.5 for a coin
MOST_SAID: Final = math.log(1e6)
ROOM: Final = 1 + 1e-14  # for the rounding of exponentials, before they are rounded up
NEIGHBOURS: dict[type[Relation], str] = {
    AddRemove: "one record is added or removed",
    ReplaceOne: "one record is replaced by another",
    ZeroOut: "one record is replaced by a blank",
    ReplaceLabel: "the label of one record is replaced",
}
QUESTION: dict[type[Relation], str] = {
    AddRemove: "whether one known record was in the data",
    ReplaceOne: "which of two known records was in the data",
    ZeroOut: "whether one known record was blanked out",
    ReplaceLabel: "which of two known labels a known record had",
}


DOMINATING = (
    "the dominating pair bounds what any implementation leaks: this one may leak less, never more"
)


def number(value: Fraction) -> str:
    """Return a parameter with up to six digits, for reading, not for computing."""
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):.6g}"


def release(one: Release) -> str:
    """Return text like ``Gaussian noise, noise multiplier 1.1``."""
    words = {name: PARAMETERS[name].words for name in one.values}
    if one.norm:
        words["sensitivity"] = NORM_WORDS[one.norm]
    said = [
        f"{words[name]} {number(value)}"
        for name, value in one.values.items()
        if value != one.kind.defaults.get(name)
    ]
    return ", ".join([one.kind.words, *said])


def sampling(
    scheme: schemes.SamplingScheme
    | schemes.EpochScheme
    | schemes.CyclicPoisson
    | schemes.Shuffle
    | None,
) -> str:
    """Return ``Poisson sample of 1 %``; nothing when every record takes part at once."""
    match scheme:
        case schemes.Poisson():
            return f"Poisson sample of {_percent(scheme)}"
        case schemes.WithoutReplacement():
            return f"fixed-size sample of {scheme.sample_size:,} out of {scheme.population_size:,}"
        case schemes.WithReplacement():
            draws, population = scheme.sample_size, scheme.population_size
            return f"{draws:,} draws with replacement out of {population:,}"
        case schemes.TruncatedPoisson():
            return f"Poisson sample of {_percent(scheme)}, cut to {scheme.largest:,}"
        case schemes.UserPoisson():
            return f"{scheme.contributions:,} Poisson samples of {_percent(scheme)} together"
        case schemes.CyclicPoisson():
            return f"Poisson samples of {_percent(scheme)} of {scheme.cycle:,} parts in turn"
        case None:
            return ""
    return _allocation(scheme)


def _percent(scheme: Any) -> str:  # noqa: ANN401  # any with a rate
    return f"{float(100 * scheme.sampling_rate):.4g} %"


def _allocation(scheme: schemes.EpochScheme | schemes.Shuffle) -> str:
    """Return how all records are put into batches, or reported."""
    match scheme:
        case schemes.ShuffledBatches():
            order = f", in one order for {scheme.epochs:,} epochs"
            epochs = order if scheme.epochs > 1 else ""
            return f"all records in {scheme.batches:,} shuffled batches{epochs}"
        case schemes.RandomAllocation():
            some = "one round" if scheme.chosen == 1 else f"{scheme.chosen:,} rounds"
            return f"every record in {some} of {scheme.steps:,}, drawn at random"
        case schemes.BallsInBins():
            epochs = f", the same in {scheme.epochs:,} epochs" if scheme.epochs > 1 else ""
            return f"every record in one round of {scheme.steps:,}, drawn at random{epochs}"
        case schemes.Shuffle():
            return f"reports of {scheme.records:,} records in a random order"


def times(count: int) -> str:
    """Return text like ``14,062 times``."""
    return "once" if count == 1 else f"{count:,} times"


def stage(one: Stage) -> list[str]:
    """Return the lines on what a stage runs: each release, then sampling, count and selection."""
    lines = (
        _released(one)
        if one.releases
        else [
            line if place else f"{part.name}: {line}"
            for part in one.stages
            for place, line in enumerate(stage(part))
        ]
    )
    if one.stages and one.count > 1:
        lines.append(f"all of it {times(one.count)}")
    if one.runs is not None:
        mean = float(one.runs.mean)
        lines.append(f"best of {one.runs.describe()}, {mean:.4g} on average")
    return lines


def _released(one: Stage) -> list[str]:
    lines = [release(part) for part in one.releases]
    if len(lines) > 1:
        lines = [f"{'and ' if line is not lines[0] else ''}{line}" for line in lines]
    where = sampling(one.sampling)
    if len(lines) > 1 and where:
        where = f"all on one {where}"
    if where or one.count > 1:
        lines.append(", ".join(part for part in (where, times(one.count)) if part))
    return lines


def rest_share(budget: Budget) -> str:
    """Return the share of the stages that are not shown."""
    shares = [cost.share for cost in budget.shown]
    if None in shares:
        return "–"
    return f"{100 * max(1 - sum(one or 0.0 for one in shares), 0.0):.1f} %"


_CHANGE: Final[Mapping[type[Relation], str]] = {
    AddRemove: "One record more or less",
    ReplaceOne: "Another record in the place of one",
    ZeroOut: "Blanking one record",
    ReplaceLabel: "Another label of one record",
}
_MEASURED: Final = {
    "l1": "in all numbers together (L1 norm)",
    "l2": "in Euclidean length (L2 norm)",
    "linf": "in any one number",
}
SHARED: Final = (
    "What runs, and how often, was fixed before any output was seen.",
    "Every run draws fresh random numbers, which nobody knows.",
    "Only the results leave: no other number that depends on the data does.",
    "Nothing else is released about the same data, or it is counted elsewhere.",
)


def duties(one: Stage, relation: Relation) -> list[str]:
    """Return what a person has to confirm of a stage, each in a short sentence."""
    if one.stages:
        lines = [f"{part.name}: {line}" for part in one.stages for line in duties(part, relation)]
        if one.count > 1:
            lines.append(f"All of it runs {times(one.count)}, and no more often.")
    else:
        lines = [line for part in one.releases for line in _release_duties(part, relation)]
        where = sampling(one.sampling)
        if where:
            lines.append(f"The records are drawn as stated: {where}.")
        if one.count > 1:
            lines.append(f"It runs {times(one.count)}, and no more often.")
    if one.runs is not None:
        lines.append("The number of runs is drawn as stated, and the best result alone leaves.")
    return lines


def _release_duties(one: Release, relation: Relation) -> list[str]:
    values, change = one.values, _CHANGE[type(relation)]
    lines = [f"The code runs this: {release(one)}."]
    if one.mechanism == "stated":
        return ["The guarantee that others state of their mechanism is true."]
    if "sensitivity" in values:
        most = number(values["sensitivity"])
        measured = _MEASURED[one.norm]
        lines.append(f"{change} moves what is computed by at most {most} {measured}.")
    elif "contribution" in values:
        most = number(values["contribution"])
        lines.append(f"Every record adds a vector, clipped to a length of at most {most}.")
    elif "noise_multiplier" in values:
        lines.append(
            f"{change} moves what is computed by at most the unit of the noise multiplier."
        )
    elif {"contributions", "largest"} <= set(values):
        most, cells = number(values["largest"]), number(values["contributions"])
        lines.append(f"A record adds at most {most} to a count, in at most {cells} of them.")
    elif "norm" in values:
        lines.append(f"Every row has a Euclidean length of at most {number(values['norm'])}.")
    elif "categories" in values:
        lines.append(
            f"A record gives one report, of one of {number(values['categories'])} categories."
        )
    elif one.mechanism in ("exponential", "permute-and-flip", "report-noisy-max", "quantile"):
        lines.append(f"{change} moves every score by at most the sensitivity that the code has.")
    if {"lower", "upper"} <= set(values):
        ends = f"{number(values['lower'])} to {number(values['upper'])}"
        lines.append(f"Values are moved into the public range from {ends}.")
    return lines


def strength(budget: Budget) -> str:
    """Return how much the worst case protects, by how often an attacker is right. Heuristic."""
    if budget.advantage.upper >= 1 > budget.advantage.lower:
        return "How much this protects is not known"
    right, attacker = (1 + budget.advantage.upper) / 2, "an attacker who knows all other records"
    if right > LITTLE:
        return f"This protects little: {attacker} is almost always right"
    if right > SOME:
        return f"This protects in part: {attacker} is right far more often than a coin"
    return f"This protects well: {attacker} does little better than a coin"


def meaning_of_epsilon(epsilon: float, relation: Relation) -> str:
    """Return what epsilon says of what happens."""
    factor = above(math.exp(epsilon) * ROOM, 3) if epsilon < MOST_SAID else "more than a million"
    change = _CHANGE[type(relation)]
    return f"ε bounds a factor. {change} makes an event at most e^ε = {factor} times as likely."


def meaning_of_delta(delta: Fraction, betrayed: float, largest: float) -> str:
    """Return what delta says of what happens: an excess, averaged over outputs."""
    # It is the mean of (1 - e^(epsilon - loss)) over losses above epsilon, so that one above
    # epsilon + 1 has a probability of at most delta/(1 - 1/e).
    words = "δ is what may come on top, an excess averaged over outputs."
    if betrayed >= 1:
        return words
    if betrayed > 0:
        most = above(betrayed, 3)
        return f"{words} An output that gives a record away has a probability of at most {most}."
    if math.isfinite(largest):
        end = (
            above(math.exp(largest) * ROOM, 3)
            if largest < MOST_SAID
            else "a number above a million"
        )
        return f"{words} No output gives a record away: the factor is never above {end}."
    rare = above(float(delta) / (1 - 1 / math.e) * ROOM, 2)
    most = f"An output with a factor above e^(ε+1) has a probability of at most {rare}."
    return f"{words} No output gives a record away for certain. {most}"


def risks(budget: Budget) -> list[str]:
    """Return an attacker's gains that are bounded, each a line that begins small."""
    right, share = budget.advantage, percent_above((1 + Fraction(budget.advantage.upper)) / 2)
    line = f"right at most {share} of the time, a coin 50 % (advantage {above(right.upper, 3)})"
    lines = [_known(budget, ADVANTAGE, right, line, "how often it is right")]
    for rate, power in budget.true_positive_rates:
        alarms = f"at {exactly(100 * rate)} % false alarms"
        line = f"{alarms} detects at most {percent_above(power.upper)}"
        lines.append(_known(budget, detected(rate), power, line, f"{alarms} what it detects"))
    return lines


def _known(budget: Budget, name: str, risk: Bound, line: str, subject: str) -> str:
    """Return the line of a risk, and where its bound is from; or that there is no bound."""
    if risk.upper >= 1 and risk.lower < 1:
        return f"{subject} is not known"
    return f"{line}, as ε and δ imply" if name in budget.implied else line


def theorems(derivation: Derivation) -> list[tuple[str, str]]:
    """Return rule and source of every theorem in a derivation once, conclusions before premises."""
    listed: dict[tuple[str, str], None] = {}
    seen: set[int] = set()
    stack = [derivation]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            rule = node.rule if node.lossless else f"{node.rule} (loses information)"
            listed[rule, node.source] = None
            stack.extend(reversed(node.premises))
    return list(listed)


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
        first, *rest = [*stage(cost.stage), *_selected(cost, budget.missing)]
        what = Text("\n").join([Text(first), *(Text(line, style="dim") for line in rest)])
        table.add_row(Text(cost.stage.name), what, at_most + above(cost.epsilon.upper), share)
        for path, epsilon in cost.inner:
            table.add_row(Text(f"· {path}", style="dim"), "", above(epsilon.upper), "")
    if budget.rest is not None:
        others = f"{len(budget.stages) - len(budget.shown)} others"
        at_most = "≤ " if costs.REST in budget.missing else ""
        share = rest_share(budget)
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
    changed = f"{NEIGHBOURS[type(pipeline.relation)]}{often}"
    yield "neighbours", f"{changed} ({pipeline.relation})"
    yield "attack risk", f"an attacker who must tell {QUESTION[type(pipeline.relation)]}"
    for line in risks(budget):
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
    for position, (rule, source) in enumerate(theorems(budget.derivation)):
        yield "carried by" if position == 0 else "", f"{rule}: {source}"
    yield "assumed", "sensitivities, sampling and counts as the file states them, fixed in advance"
    epsilon = budget.epsilon
    yield "exactness", f"ε{epsilon.whose} lies in [{epsilon.lower!r}, {epsilon.upper!r}]"
    if epsilon.whose:
        yield "", DOMINATING


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
        runs = ["; ".join(stage(one)) for one in (new, old)]
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
