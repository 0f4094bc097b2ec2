"""``dpproof explain``: why two numbers differ, one change at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import zip_longest

from dpproof.accountant.errors import PrivacyError
from dpproof.commands.budget import together
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.reports import words
from dpproof.rounding import above, exactly
from dpproof.time_limit import ROUGH, NotInTime, known_in, shares


def lines(before: Pipeline, after: Pipeline, seconds: float | None = None) -> list[str]:
    """Return a line for each change from one pipeline to the other, with epsilon after it.

    The order is delta, neighbours, stages in the order of the file; what a change costs depends
    on what was changed before it.
    """
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
