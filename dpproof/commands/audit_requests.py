"""``dpproof audit``: what is audited, from a file or from options."""

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, final

from dpproof import auditing
from dpproof.accountant import ApproxDP, arguments
from dpproof.auditing.audit import INTERRUPTED
from dpproof.commands.budget import total
from dpproof.errors import InputError, placed
from dpproof.files import shown_path
from dpproof.pipeline import parse
from dpproof.pipeline.section import COUNT, INSIDE, Rule, Section, quoted

SAMPLES, SIGNIFICANCE = 100_000, 0.05
NUMBER = Rule(arguments.non_negative, "a finite number of at least 0")
SEED = Rule(arguments.whole, "a whole number of at least 0")
KEYS = (
    *("sampler", "command", "url", "timeout", "pair", "epsilon", "delta", "pipeline", "samples"),
    *("significance", "seconds", "seed", "workers", "executor", "chunk", "store", "version"),
)
RUNNING = ("seconds", "workers", "executor", "store")  # options that may stand beside a file
AN_EXECUTOR = "a concurrent.futures.Executor, or a function giving one"
AN_OBJECT = 'an import path such as "package.module:name"'


@final
@dataclass(frozen=True, slots=True)
class Request:
    """One audit with everything it needs to run."""

    sampler: Any
    pair: Any
    claim: Any
    options: Mapping[str, Any]
    workers: Callable[[], AbstractContextManager[Executor | None]]

    def needs(self) -> str:
        """Return how many samples any refutation of the claim takes, and how many are planned."""
        with placed("audit"):
            significance = self.options.get("significance", SIGNIFICANCE)
            least = auditing.samples_needed(self.claim, significance=significance)
        planned = 2 * int(self.options.get("samples", SAMPLES))
        words = f"refuting this claim takes at least {least:,} samples, {planned:,} are planned"
        return words if planned >= least else f"{words}: give more, or a claim of a smaller epsilon"

    def run(self, progress: Callable[[int, int], None] | None = None) -> auditing.Report:
        """Run the audit and return its report, also of an audit that is interrupted."""
        with placed("audit"), self.workers() as executor:
            return auditing.audit(
                self.sampler,
                self.pair,
                self.claim,
                **self.options,
                executor=executor,
                progress=progress,
                report_interrupted=True,
            )


def interrupted(report: auditing.Report) -> bool:
    """Return whether an audit was interrupted before it had drawn all its samples."""
    return INTERRUPTED in report.notes


def asked(target: str | None, options: dict[str, Any]) -> Request:
    """Return the request of the command line: a file, or a sampler or program with options."""
    if target is not None and (target == "-" or target.endswith(".toml")):
        if not options.keys() <= {*RUNNING}:
            raise InputError("a file and options together: state everything in the file")
        return from_file(target, options)
    named: dict[str, Any] = {} if target is None else {"sampler": target}
    if "datasets" in options:
        if "pair" in options:
            raise InputError("--pair and --datasets together: give one of them")
        named["pair"] = list(options.pop("datasets"))
    return from_table(Section("audit", {**named, **options}), Path())


def from_file(path: str, running: Mapping[str, Any]) -> Request:
    """Return the request of a TOML file with an [audit] table, and how it is run."""
    file = shown_path(path)
    top = Section(file, parse.read(path))
    top.only(["audit"])
    table = top.table("audit", "an [audit] table with sampler, pair and a claim")
    section = Section(f"{file}: [audit]", {**table.values, **running})
    for name in running:
        if name in table.values:
            raise section.refuse(name, "expected in the file or as an option, not both")
    return from_table(section, Path(path).parent)


def from_table(section: Section, folder: Path) -> Request:
    """Return the request of a table; a pipeline file is looked for beside the file."""
    section.only(KEYS)
    options: dict[str, Any] = {"samples": SAMPLES, "significance": SIGNIFICANCE}
    for key, rule in (
        ("samples", COUNT),
        ("significance", INSIDE),
        ("seconds", Rule(arguments.positive, "a finite number above 0")),
        ("seed", SEED),
        ("chunk", COUNT),
    ):
        if key in section.values:
            value = section.number(key, rule)
            options[key] = int(value) if key in ("samples", "seed", "chunk") else value
    if "store" in section.values:
        options["store"] = folder / section.text("store", "the path of a file")
    if "version" in section.values:
        options["version"] = section.text("version", "a text that names the sampler's code")
    return Request(
        sampler=_sampler(section),
        pair=_pair(section),
        claim=_claim(section, folder, options),
        options=options,
        workers=_workers(section),
    )


def _sampler(section: Section) -> object:
    """Return the function at an import path, or a program or a server as a sampler."""
    kinds = {"command": auditing.Command, "url": auditing.Server}
    keys = [key for key in ("sampler", *kinds) if key in section.values]
    if len(keys) > 1:
        raise section.refuse(keys[1], f"expected {keys[0]} or {keys[1]}, not both")
    if keys in ([], ["sampler"]):
        if "timeout" in section.values:
            raise section.refuse("timeout", "expected beside a command or a url alone")
        return imported(section, "sampler")
    limit = {}
    if "timeout" in section.values:
        rule = Rule(arguments.positive, "a finite number of seconds above 0")
        limit["seconds"] = section.number("timeout", rule)
    with placed(section.place):
        return kinds[keys[0]](section.text(keys[0], "a text with placeholders"), **limit)


def _workers(section: Section) -> Callable[[], AbstractContextManager[Executor | None]]:
    """Return the executor for a number of worker processes, or the one at an import path."""
    if "executor" in section.values:
        if "workers" in section.values:
            raise section.refuse("workers", "expected either workers or an executor, not both")
        executor = imported(section, "executor")
        ready = isinstance(executor, Executor) or not callable(executor)
        made = executor if ready else called(section, "executor", executor)
        if not isinstance(made, Executor):
            raise section.refuse("executor", f"expected {AN_EXECUTOR}, got {quoted(repr(made))}")
        return lambda: made
    if "workers" not in section.values:
        return nullcontext
    count = int(section.number("workers", COUNT))
    # Spawned: numpy has threads, which a fork does not take along.
    return lambda: ProcessPoolExecutor(count, mp_context=get_context("spawn"))


def _pair(section: Section) -> object:
    """Return the two datasets: values in the file, or an import path to a pair or to a function."""
    value = section.required("pair", f"two datasets, or {AN_OBJECT}")
    if isinstance(value, list):
        if len(value) != 2:
            raise section.refuse("pair", f"expected two datasets, got {len(value)}")
        return value[0], value[1]
    pair = imported(section, "pair")
    return called(section, "pair", pair) if callable(pair) else pair


def called(section: Section, key: str, function: Callable[[], Any]) -> Any:  # noqa: ANN401  # its
    """Return a function's result; tell its error by type alone, as its text may be data."""
    try:
        return function()
    except (Exception, SystemExit) as error:  # noqa: BLE001  # its text may be data
        path, kind = section.text(key, AN_OBJECT), type(error).__name__
        refusal = section.refuse(key, f"{quoted(path)} raised {kind} when it was called")
    raise refusal  # outside of the clause, so that the error with its text is not its context


def _claim(section: Section, folder: Path, options: dict[str, Any]) -> object:
    """Return the claim: (epsilon, delta), or the total of a pipeline file, at its delta."""
    if "pipeline" in section.values:
        if "epsilon" in section.values:
            raise section.refuse("epsilon", "expected either a pipeline or epsilon, not both")
        named = section.text("pipeline", "the path of a pipeline file")
        pipeline = parse.load(str(folder / named))
        with placed(section.place):
            guarantees = [stage.guarantee(pipeline.relation) for stage in pipeline.stages]
            asked = section.number("delta", NUMBER) if "delta" in section.values else None
            options["delta"] = pipeline.delta if asked is None else asked
            return total(guarantees, options["delta"])
    epsilon = section.number("epsilon", NUMBER)
    delta = section.number("delta", NUMBER) if "delta" in section.values else Fraction(0)
    with placed(section.place):
        return ApproxDP(epsilon=epsilon, delta=delta)


def imported(section: Section, key: str) -> Any:  # noqa: ANN401  # whatever the path leads to
    """Return the object at ``package.module:name``, with the working directory on the path."""
    path = section.text(key, AN_OBJECT)
    module, _, name = path.partition(":")
    if not module or not name:
        raise section.refuse(key, f"expected {AN_OBJECT}, got {quoted(path)}")
    if os.getcwd() not in sys.path:  # noqa: PTH109  # sys.path holds text
        sys.path.insert(0, os.getcwd())  # noqa: PTH109  # as above
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except SystemExit as error:
        raise section.refuse(key, f"importing {quoted(path)} called sys.exit") from error
    except (ImportError, AttributeError) as error:
        raise section.refuse(key, f"cannot import {quoted(path)}: {error}") from error
    return value
