"""The one number of a pipeline that calibration may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from dpproof.errors import InputError
from dpproof.pipeline.parameters import PARAMETERS, Parameter
from dpproof.pipeline.parse import SCHEMES, Document
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.pipeline.section import listed, nearest, quoted
from dpproof.pipeline.vocabulary import KINDS


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """One number of one stage, to be solved for.

    Attributes:
        pipeline: where it stands.
        stage: the stage, as the file has it.
        address: its name in ``stage.numbers()``.
    """

    pipeline: Pipeline
    stage: Stage
    address: str

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
    """Return the number of that address in the stage of that name.

    Raises:
        InputError: no such stage, no such number, or one whose value says nothing about privacy.
    """
    names = [one.name for one in pipeline.stages]
    if stage not in names:
        hint = nearest(stage, names) or f"; expected {listed(quoted(name) for name in names)}"
        raise InputError(f"{pipeline.file}: no stage {quoted(stage)}{hint}")
    found = pipeline.stages[names.index(stage)]
    addresses = [
        name
        for name in found.numbers()
        if PARAMETERS[name.rpartition(".")[2]].more_is_private is not None
    ]
    if address not in addresses:
        raise InputError(
            f"{found.place}: no number {quoted(address)} to solve for; expected {listed(addresses)}"
        )
    return Free(pipeline=pipeline, stage=found, address=address)


def completed(document: Document, stage: str, address: str) -> Document:
    """Return the document with 1 where the number to solve for was left out.

    Anything else that is wrong or missing stays, for the parser to refuse.
    """
    stages = document.get("stage")
    if not isinstance(stages, list):
        return document
    tables = [
        _completed_stage(table, address)
        if isinstance(table, Mapping) and table.get("name") == stage
        else table
        for table in stages
    ]
    return {**document, "stage": tables}


def _completed_stage(table: Document, address: str) -> Document:
    owner, _, name = address.rpartition(".")
    sampling, releases = table.get("sampling"), table.get("release")
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
    given = {key for key in kind.parameters if key in table} - set(kind.defaults)
    known = name in kind.parameters and name not in kind.defaults
    return {**table, name: 1} if known and kind.complete({*given, name}) else table
