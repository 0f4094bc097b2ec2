"""``dpproof report``: a page for a review board."""

from __future__ import annotations

from pathlib import Path

from dpproof.errors import InputError
from dpproof.pipeline.pipeline import Pipeline
from dpproof.reports import page, registry
from dpproof.reports.facts import collect
from dpproof.streams import progress


def write(pipeline: Pipeline, out: str, record: str | None) -> bool | None:
    """Write the page, and the registry's record if it is asked for.

    Returns:
        Whether the pipeline is within its budget; None without a budget.
    Raises:
        InputError: a stage is refused, a library is missing, or a file cannot be written.
    """
    page.library()  # a refusal now, not after the numbers
    with progress(len(pipeline.stages) + 4) as step:
        facts = collect(pipeline, step)
    _save(out, page.rendered(facts))
    if record is not None:
        _save(record, registry.text(registry.record(facts)))
    return facts.budget.within_budget


def _save(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
