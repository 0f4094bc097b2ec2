"""One number of a pipeline that calibration or a question changes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from dpproof.errors import InputError, placed
from dpproof.pipeline.parse import SCHEMES, Document
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.pipeline.section import (
    INSIDE,
    PARAMETERS,
    POSITIVE,
    Parameter,
    Section,
    listed,
    nearest,
    quoted,
)
from dpproof.pipeline.vocabulary import KINDS


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """One number of one stage, to be solved for."""

    pipeline: Pipeline
    stage: Stage  # the stage, as the file has it
    address: str  # its name in ``stage.numbers()``

    @property
    def parameter(self) -> Parameter:
        """Return the kind of number that the parameter is: its range and direction."""
        return PARAMETERS[self.address.rpartition(".")[2]]

    @property
    def others(self) -> tuple[Stage, ...]:
        """Return all stages but the one that has the free parameter."""
        return tuple(stage for stage in self.pipeline.stages if stage.name != self.stage.name)

    def at(self, value: Fraction) -> Stage:
        """Return the stage with the free parameter set to this number."""
        return self.stage.replaced(self.address, value)

    def solved(self, value: Fraction) -> Pipeline:
        """Return the pipeline with the free parameter set to this number."""
        stages = tuple(
            self.at(value) if stage.name == self.stage.name else stage
            for stage in self.pipeline.stages
        )
        return replace(self.pipeline, stages=stages)


def find(pipeline: Pipeline, stage: str, address: str) -> Free:
    """Return the number of an address, or of its only ending, in a stage or an inner one."""
    names = [one.name for one in pipeline.stages]
    places = [(one, inner) for one in pipeline.stages for inner in _paths(one, stage)]
    outer = [place for place in places if place[1] == ""]
    if len(outer or places) != 1:
        if places:
            raise InputError(f"{pipeline.file}: several stages {quoted(stage)}; name the outer one")
        hint = nearest(stage, names) or f"; expected {listed(quoted(name) for name in names)}"
        raise InputError(f"{pipeline.file}: no stage {quoted(stage)}{hint}")
    ((owner, inside),) = outer or places
    addresses = [
        name.removeprefix(inside)
        for name in owner.numbers()
        if name.startswith(inside)
        and PARAMETERS[name.rpartition(".")[2]].more_is_private is not None
    ]
    ending = [name for name in addresses if name == address or name.endswith(f".{address}")]
    if address not in addresses and len(ending) != 1:
        what = f"several numbers {quoted(address)}" if ending else f"no number {quoted(address)}"
        expected = listed(ending or addresses)
        hint = "; gamma sets the mean number of runs" if address.endswith("mean") else ""
        raise InputError(f"{owner.place}: {what} to solve for; expected {expected}{hint}")
    full = address if address in addresses else ending[0]
    return Free(pipeline=pipeline, stage=owner, address=inside + full)


def _paths(stage: Stage, name: str) -> Iterator[str]:
    """Yield what addresses of each stage of that name begin with, the stage itself included."""
    if stage.name == name:
        yield ""
    for inner in stage.stages:
        for path in _paths(inner, name):
            yield f"{inner.name}.{path}"


def completed(document: Document, stage: str, address: str) -> Document:
    """Return the document with 1 where the number to solve for was left out, and nothing else."""
    return {**document, **_inner(document, lambda table: _named(table, stage, address))}


def _inner(
    table: Document, change: Callable[[Document], Document]
) -> dict[str, list[Document | object]]:
    """Return the changed stages of a table, if it has any."""
    stages = table.get("stage")
    if not isinstance(stages, list):
        return {}
    return {"stage": [change(one) if isinstance(one, Mapping) else one for one in stages]}


def _named(table: Document, stage: str, address: str) -> Document:
    """Complete the stage of a name, wherever it is."""
    if table.get("name") == stage:
        return _anywhere(table, address)
    return {**table, **_inner(table, lambda one: _named(one, stage, address))}


def _anywhere(table: Document, address: str) -> Document:
    """Complete a stage, or the one of its inner stages that can be completed."""
    own = _completed_stage(table, address)
    stages = table.get("stage")
    if own != table or not isinstance(stages, list):
        return own
    changed = _inner(table, lambda one: _anywhere(one, address.removeprefix(f"{one.get('name')}.")))
    differ = sum(a != b for a, b in zip(changed["stage"], stages, strict=True))
    return {**table, **changed} if differ == 1 else table


def _completed_stage(table: Document, address: str) -> Document:
    owner, _, name = address.rpartition(".")
    sampling, releases = table.get("sampling"), table.get("release")
    select = table.get("select")
    if name == "gamma" and isinstance(select, Mapping) and "mean" not in select:
        return {**table, "select": {name: 0.5, **select}}
    if isinstance(sampling, Mapping) and name in SCHEMES.get(str(sampling.get("scheme")), ()):
        return {**table, "sampling": {name: 1, **sampling}}
    if owner and isinstance(releases, list):
        return {
            **table,
            "release": [
                _completed_release(release, name)
                if isinstance(release, Mapping) and release.get("name", str(position)) == owner
                else release
                for position, release in enumerate(releases, start=1)
            ],
        }
    return table if owner else _completed_release(table, name)


def _completed_release(table: Document, name: str) -> Document:
    """Add the free parameter if that completes the form of the mechanism that the table uses."""
    kind = KINDS.get(str(table.get("mechanism")))
    if kind is None or name in table:
        return table
    keys = {key for key in kind.parameters if key in table} - set(kind.defaults)
    is_required = name in kind.parameters and name not in kind.defaults
    return {**table, name: 1} if is_required and kind.complete({*keys, name}) else table


def changed(pipeline: Pipeline, numbers: Sequence[str], without: Sequence[str]) -> Pipeline:
    """Return a pipeline with numbers replaced and stages left out; its file name says so."""
    for text in numbers:
        pipeline = replace(_set(pipeline, text), digest="")
    for name in without:
        left = tuple(stage for stage in pipeline.stages if stage.name != name)
        if not left or left == pipeline.stages:
            names = listed(quoted(stage.name) for stage in pipeline.stages)
            why = "the last stage" if not left else "no stage"
            raise InputError(f"--without: {quoted(name)} is {why}; the stages are {names}")
        pipeline = replace(pipeline, stages=left, digest="")
    changes = [*(f"--set {text}" for text in numbers), *(f"--without {name}" for name in without)]
    if not changes:
        return pipeline
    return replace(pipeline, file=" ".join(f"{pipeline.file} with {', '.join(changes)}".split()))


def _set(pipeline: Pipeline, text: str) -> Pipeline:
    """Return a pipeline with one number replaced."""
    address, sign, value = text.partition("=")
    stage, point, name = address.strip().partition(".")
    section = Section("--set", {name or stage: _number(value.strip())})
    if sign and not point and stage in ("delta", "epsilon"):
        if stage == "delta":
            return replace(pipeline, delta=section.number(stage, INSIDE))
        return replace(pipeline, epsilon=section.number(stage, POSITIVE))
    if not sign or not point:
        expected = "expected STAGE.NAME=VALUE, delta=VALUE or epsilon=VALUE"
        raise InputError(f"--set: {expected}, found {quoted(text)}")
    free = find(pipeline, stage, name)
    with placed(f"--set: {quoted(text)}"):
        return free.solved(section.number(name, free.parameter.rule))


def _number(text: str) -> int | float | str:
    """Return a number as a pipeline file has it; any other text as it is."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
