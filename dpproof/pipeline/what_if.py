"""A pipeline with other numbers, or without some stages: what ``--set`` and ``--without`` ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpproof.errors import InputError, placed
from dpproof.pipeline.free_parameter import find
from dpproof.pipeline.pipeline import Pipeline
from dpproof.pipeline.section import INSIDE, POSITIVE, Section, listed, quoted


def changed(pipeline: Pipeline, numbers: Sequence[str], without: Sequence[str]) -> Pipeline:
    """Return a pipeline with some numbers replaced and some stages left out.

    Its file name says so: what is shown of it is not about the file.
    """
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
