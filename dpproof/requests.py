"""``dpproof audit``: what is audited, from a file or from options."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import auditing
from accountant import check
from accountant.guarantees.approx_dp import ApproxDP
from dpproof import parse
from dpproof.budget import total
from dpproof.errors import placed
from dpproof.section import COUNT, INSIDE, Rule, Section, shown

SAMPLES, SIGNIFICANCE = 100_000, 0.05
NUMBER = Rule(check.non_negative, "a finite number of at least 0")
SEED = Rule(check.whole, "a whole number of at least 0")
KEYS = (
    "sampler",
    "pair",
    "epsilon",
    "delta",
    "pipeline",
    "samples",
    "significance",
    "seconds",
    "seed",
)
AN_OBJECT = 'an import path such as "package.module:name"'


@final
@dataclass(frozen=True, slots=True)
class Request:
    """One audit, ready to run."""

    sampler: Any
    pair: Any
    claim: Any
    options: Mapping[str, Any]

    def run(self) -> auditing.Report:
        """Draw and test.

        Raises:
            InputError: the arguments do not fit; the sampler's own errors are its own.
        """
        with placed("audit"):
            return auditing.audit(self.sampler, self.pair, self.claim, **self.options)


def from_file(path: str) -> Request:
    """The request of a TOML file with an [audit] table."""
    file = parse.shown_path(path)
    top = Section(file, parse.read(path))
    top.only(["audit"])
    table = top.table("audit", "an [audit] table with sampler, pair and a claim")
    return from_table(Section(f"{file}: [audit]", table.values), Path(path).parent)


def from_table(section: Section, folder: Path) -> Request:
    """The request of a table; a pipeline file is looked for beside the file."""
    section.only(KEYS)
    options: dict[str, Any] = {"samples": SAMPLES, "significance": SIGNIFICANCE}
    for key, rule in (
        ("samples", COUNT),
        ("significance", INSIDE),
        ("seconds", Rule(check.positive, "a finite number above 0")),
        ("seed", SEED),
    ):
        if key in section.values:
            value = section.number(key, rule)
            options[key] = int(value) if key in ("samples", "seed") else value
    return Request(
        sampler=imported(section, "sampler"),
        pair=_pair(section),
        claim=_claim(section, folder),
        options=options,
    )


def _pair(section: Section) -> object:
    """Two values written in the file, or an import path to a pair or to a function giving one."""
    value = section.required("pair", f"two datasets, or {AN_OBJECT}")
    if isinstance(value, list):
        if len(value) != 2:
            raise section.refuse("pair", f"expected two datasets, got {len(value)}")
        return value[0], value[1]
    found = imported(section, "pair")
    return found() if callable(found) else found


def _claim(section: Section, folder: Path) -> object:
    """(epsilon, delta), or the total of a pipeline file."""
    if "pipeline" in section.values:
        if "epsilon" in section.values:
            raise section.refuse("epsilon", "expected either a pipeline or epsilon, not both")
        named = section.text("pipeline", "the path of a pipeline file")
        pipeline = parse.load(str(folder / named))
        with placed(section.place):
            return total([stage.guarantee(pipeline.relation) for stage in pipeline.stages])
    epsilon = section.number("epsilon", NUMBER)
    delta = section.number("delta", NUMBER) if "delta" in section.values else Fraction(0)
    with placed(section.place):
        return ApproxDP(epsilon=epsilon, delta=delta)


def imported(section: Section, key: str) -> Any:  # noqa: ANN401  # whatever the path leads to
    """The object at ``package.module:name``, with the working directory on the path."""
    path = section.text(key, AN_OBJECT)
    module, _, name = path.partition(":")
    if not module or not name:
        raise section.refuse(key, f"expected {AN_OBJECT}, got {shown(path)}")
    if os.getcwd() not in sys.path:  # noqa: PTH109  # sys.path holds text
        sys.path.insert(0, os.getcwd())  # noqa: PTH109  # as above
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise section.refuse(key, f"cannot import {shown(path)}: {error}") from error
    return found
