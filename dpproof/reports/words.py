"""Pipelines in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from dpproof.accountant import sampling as schemes
from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.relation import AddRemove, Relation, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.commands.budget import ADVANTAGE, Budget, detected
from dpproof.pipeline.kinds.kind import NORM_WORDS
from dpproof.pipeline.pipeline import Release, Stage
from dpproof.pipeline.section import PARAMETERS
from dpproof.rounding import above, exactly, percent_above

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
