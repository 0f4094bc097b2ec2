"""Pipelines in plain words."""

from __future__ import annotations

from fractions import Fraction

from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.relation import AddRemove, Relation, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import (
    BallsInBins,
    CyclicPoisson,
    EpochScheme,
    Poisson,
    RandomAllocation,
    SamplingScheme,
    Shuffle,
    ShuffledBatches,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.commands.budget import ADVANTAGE, Budget, detected
from dpproof.pipeline.kinds.kind import NORM_WORDS
from dpproof.pipeline.parameters import PARAMETERS
from dpproof.pipeline.pipeline import Release, Stage
from dpproof.rounding import above, exactly, grouped, percent_above

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
    return grouped(int(value)) if value.denominator == 1 else f"{float(value):.6g}"


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


def sampling(scheme: SamplingScheme | EpochScheme | CyclicPoisson | Shuffle | None) -> str:
    """Return ``Poisson sample of 1 %``; nothing when every record takes part at once."""
    match scheme:
        case Poisson():
            return f"Poisson sample of {float(100 * scheme.sampling_rate):.4g} %"
        case WithoutReplacement():
            population = grouped(scheme.population_size)
            return f"fixed-size sample of {grouped(scheme.sample_size)} out of {population}"
        case WithReplacement():
            population = grouped(scheme.population_size)
            return f"{grouped(scheme.sample_size)} draws with replacement out of {population}"
        case TruncatedPoisson():
            rate = f"{float(100 * scheme.sampling_rate):.4g} %"
            return f"Poisson sample of {rate}, cut to {grouped(scheme.largest)}"
        case UserPoisson():
            rate = f"{float(100 * scheme.sampling_rate):.4g} %"
            return f"{grouped(scheme.contributions)} Poisson samples of {rate} together"
        case CyclicPoisson():
            rate = f"{float(100 * scheme.sampling_rate):.4g} %"
            return f"Poisson samples of {rate} of {grouped(scheme.cycle)} parts in turn"
        case None:
            return ""
    return _allocation(scheme)


def _allocation(scheme: EpochScheme | Shuffle) -> str:
    """Return how all records are put into batches, or reported."""
    match scheme:
        case ShuffledBatches():
            kept = (
                f", in one order for {grouped(scheme.epochs)} epochs" if scheme.epochs > 1 else ""
            )
            return f"all records in {grouped(scheme.batches)} shuffled batches{kept}"
        case RandomAllocation():
            some = "one round" if scheme.chosen == 1 else f"{grouped(scheme.chosen)} rounds"
            return f"every record in {some} of {grouped(scheme.steps)}, drawn at random"
        case BallsInBins():
            kept = f", the same in {grouped(scheme.epochs)} epochs" if scheme.epochs > 1 else ""
            return f"every record in one round of {grouped(scheme.steps)}, drawn at random{kept}"
        case Shuffle():
            return f"reports of {grouped(scheme.records)} records in a random order"


def times(count: int) -> str:
    """Return text like ``14,062 times``."""
    return "once" if count == 1 else f"{grouped(count)} times"


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


def risks(budget: Budget) -> list[str]:
    """Return an attacker's gains, each a line that begins small.

    A bound that holds for everything is none, and is not shown.
    """
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
    """Return rule and source of every theorem in a derivation, conclusions before premises.

    Each is listed once.
    """
    found: dict[tuple[str, str], None] = {}
    seen: set[int] = set()
    stack = [derivation]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            rule = node.rule if node.lossless else f"{node.rule} (loses information)"
            found[rule, node.source] = None
            stack.extend(reversed(node.premises))
    return list(found)
