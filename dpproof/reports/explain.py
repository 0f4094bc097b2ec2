"""``dpproof explain``: why two numbers differ, one change at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest

from dpproof.accountant.errors import PrivacyError
from dpproof.commands.budget import total
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.reports import words
from dpproof.rounding import above, exactly


def lines(before: Pipeline, after: Pipeline) -> list[str]:
    """Return a line for each change from one pipeline to the other, with epsilon after it.

    The order is delta, neighbours, stages in the order of the file; what a change costs depends
    on what was changed before it.
    """
    shown = [f"ε = {_epsilon(before)}  {before.file}"]
    at = before
    for told, pipeline in _changes(before, after):
        at = pipeline
        shown.append(f"ε = {_epsilon(at)}  {told}")
    if len(shown) == 1:
        return [*shown, "no difference changes the cost"]
    return [*shown, f"ε = {_epsilon(after)}  {after.file}"]


def _epsilon(pipeline: Pipeline) -> str:
    try:
        whole = total(
            [stage.guarantee(pipeline.relation) for stage in pipeline.stages], pipeline.delta
        )
        return f"{above(whole.epsilon(delta=pipeline.delta).upper):>8}"
    except PrivacyError:
        return "     –  "  # no theorem covers what stands between the two


def _changes(before: Pipeline, after: Pipeline) -> Iterator[tuple[str, Pipeline]]:
    at = before
    if at.delta != after.delta:
        told = f"δ from {exactly(at.delta)} to {exactly(after.delta)}"
        at = replace(at, delta=after.delta)
        yield told, at
    if at.relation != after.relation:
        told = f"neighbours from {at.relation} to {after.relation}"
        at = replace(at, relation=after.relation)
        yield told, at
    for place, (old, new) in enumerate(zip_longest(before.stages, after.stages)):
        for told, stage in _stage_changes(old, new):
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
            yield told, at


def _stage_changes(old: Stage | None, new: Stage | None) -> Iterator[tuple[str, Stage | None]]:
    """Yield each change of a stage: its numbers one by one if its form is the same."""
    if old is None or new is None:
        present = new if old is None else old
        if present is not None:
            yield f'stage "{present.name}" {"added" if old is None else "left out"}', new
        return
    if _form(old) != _form(new):
        name = f'"{old.name}"' if old.name == new.name else f'"{old.name}" becomes "{new.name}"'
        yield f"stage {name}: {_runs(new)} instead of {_runs(old)}", new
        return
    at, numbers = old, old.numbers()
    for address, value in new.numbers().items():
        if value != numbers[address] and at.numbers()[address] != value:
            at = at.replaced(address, value)
            told = f"{address} from {_number(numbers[address])} to {_number(value)}"
            yield f'stage "{old.name}": {told}', at
    if at.numbers() != new.numbers() or at.runs != new.runs:
        yield f'stage "{old.name}": the rest of it, such as its selection', new


def _form(stage: Stage) -> tuple[object, ...]:
    """Return what has to be equal if only numbers differ."""
    releases = tuple((one.mechanism, one.norm, tuple(one.values)) for one in stage.releases)
    inner = tuple(_form(one) for one in stage.stages)
    return (releases, inner, type(stage.sampling), tuple(stage.numbers()))


def _runs(stage: Stage) -> str:
    return "; ".join(words.stage(stage))


def _number(value: Fraction) -> str:
    return exactly(value)
