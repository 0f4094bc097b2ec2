"""Reading one table of a pipeline file, and the numbers that its stages carry."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpproof.accountant import ParameterError, arguments
from dpproof.errors import InputError

LONGEST_SHOWN = 40
LONGEST_NAME, LONGEST_TEXT = 200, 4096  # characters; of a name as of labels and ledger keys
MOST_KEYS = 40  # Keys that are all listed where none is near.
MOST_LISTED = 12  # Words that are all listed beside the nearest one.
RATIO = re.compile(r"(\d{1,18})/(\d{1,18})")


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A domain for numbers: the check that enforces it and the words that explain it."""

    check: Callable[..., Fraction | int]
    expected: str


@final
@dataclass(frozen=True, slots=True)
class RowsRule:
    """A domain for arrays of arrays: that of each number, and the words for them all."""

    entry: Rule  # the domain of each number
    expected: str  # the description of the whole in refusals
    # Names of the numbers of a row; without any, rows have any length.
    columns: tuple[str, ...] = ()


POSITIVE = Rule(arguments.positive, "a finite number above 0")
INSIDE = Rule(arguments.open_probability, "a number above 0 and below 1")
CHANCE = Rule(arguments.probability, "a number from 0 to 1")
RATE = Rule(arguments.rate, "a number above 0 and at most 1")
REAL = Rule(arguments.real, "a finite number")
INDEX = Rule(arguments.whole, "a whole number of at least 0")
COUNT = Rule(
    arguments.count, f"a whole number from 1 to {arguments.MAX_COUNT}, without a point or exponent"
)

WHOLE = Rule(arguments.count, "a whole number of at least 1: the query's values are whole numbers")


def _flag(**named: object) -> int:
    """Return 1 for true and 0 for false."""
    ((name, value),) = named.items()
    if not isinstance(value, bool):
        raise ParameterError(name, value, "true or false")
    return int(value)


FLAG = Rule(_flag, "true or false")


def quoted(value: object) -> str:
    """Return a value as a pipeline file would spell it, on one line and not too long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=not value.isprintable())
    elif isinstance(value, Mapping):
        return "a table"
    elif isinstance(value, list):
        return "an array"
    elif isinstance(value, int):
        text = hex(value) if abs(value) >= 1 << 64 else str(value)
    else:
        text = str(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return ``; did you mean "…"?`` when one known name is close, else nothing."""
    lower = {candidate.lower(): candidate for candidate in allowed}
    close = difflib.get_close_matches(name.lower().replace("_", "-"), lower, n=1, cutoff=0.6)
    close = close or difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
    return f"; did you mean {quoted(lower[close[0]])}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """Return names as a person lists them, each once: ``a, b or c``."""
    *head, last = dict.fromkeys(names)
    return f"{', '.join(head)} or {last}" if head else last


@final
@dataclass(frozen=True, slots=True)
class Section:
    """One table of a pipeline file, whose keys are read one by one."""

    place: str  # the file and the table, as they begin every refusal
    values: Mapping[str, object]  # the table as the TOML reader gave it
    prefix: str = ""  # the text before a key in refusals ("sampling.")

    def refuse(self, key: str, problem: str) -> InputError:
        """Return the error to raise for one key."""
        return InputError(f"{self.place}: {self.prefix}{key}: {problem}")

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse any key that is not known, with the nearest one that is."""
        names = list(allowed)
        for key in self.values:
            if key not in names:
                few = len(names) <= MOST_KEYS
                keys = listed(names) if few else "a key of docs/PIPELINES.md"
                hint = nearest(key, names) or f"; expected {keys}"
                raise InputError(f"{self.place}: unknown key {quoted(self.prefix + key)}{hint}")

    def required(self, key: str, expected: str) -> object:
        """Return the value of a key that has to be there."""
        if key not in self.values:
            raise self.refuse(key, f"missing; expected {expected}")
        return self.values[key]

    def number(self, key: str, rule: Rule) -> Fraction:
        """Return the exact value of a number: a float's in binary64, or the ratio "1/3"."""
        value = self.required(key, rule.expected)
        ratio = RATIO.fullmatch(value) if isinstance(value, str) else None
        try:
            written = Fraction(int(ratio[1]), int(ratio[2])) if ratio else value
            exact = Fraction(rule.check(**{key: written}))
            math.isfinite(float(exact))
        except (ParameterError, OverflowError, ZeroDivisionError):
            raise self.refuse(key, f"expected {rule.expected}, got {quoted(value)}") from None
        return exact

    def rows(self, key: str, rule: RowsRule) -> tuple[tuple[Fraction, ...], ...]:
        """Return the exact numbers of an array of arrays, none of which is empty."""
        listed, expected = [], rule.expected
        value = self.required(key, expected)
        for place, row in enumerate(value if isinstance(value, list) else [], start=1):
            if not isinstance(row, list) or not row or len(row) != len(rule.columns or row):
                raise self.refuse(key, f"expected {expected}, got {quoted(row)}")
            names = rule.columns or [str(number) for number in range(1, len(row) + 1)]
            table = Section(self.place, dict(zip(names, row, strict=True)), f"{key}, {place}: ")
            listed.append(tuple(table.number(name, rule.entry) for name in names))
        if not listed:
            raise self.refuse(key, f"expected {expected}, got {quoted(value)}")
        return tuple(listed)

    def text(self, key: str, expected: str, longest: int = LONGEST_TEXT) -> str:
        """Return a value that has to be text: printable, not empty, on one line, and not long."""
        value = self.required(key, expected)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise self.refuse(key, f"expected {expected}, got {quoted(value)}")
        if len(value) > longest:
            raise self.refuse(key, f"expected at most {longest} characters, got {len(value)}")
        return value

    def choice(self, key: str, choices: Iterable[str]) -> str:
        """Return a value that has to be one of some words."""
        names = list(choices)
        words = [quoted(name) for name in names[:MOST_LISTED]]
        if len(names) > MOST_LISTED:
            words.append(f"one of {len(names) - MOST_LISTED} more words of docs/PIPELINES.md")
        expected = listed(words)
        value = self.text(key, expected)
        if value not in names:
            hint = nearest(value, names)
            is_far = hint and len(names) > MOST_LISTED
            listing = "unknown" if is_far else f"expected {expected}, got"
            raise self.refuse(key, f"{listing} {quoted(value)}{hint}")
        return value

    def table(self, key: str, expected: str) -> Section:
        """Return a nested table."""
        value = self.required(key, expected)
        if not isinstance(value, Mapping):
            raise self.refuse(key, f"expected {expected}, got {quoted(value)}")
        return Section(self.place, value, f"{self.prefix}{key}.")

    def tables(self, key: str, expected: str) -> list[Mapping[str, object]]:
        """Return a non-empty array of tables."""
        value = self.required(key, expected)
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.refuse(key, f"expected {expected}, got {quoted(value)}")
        if not value:
            raise self.refuse(key, f"expected {expected}, got none")
        return value


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that a stage may carry."""

    rule: Rule
    # Whether a larger value protects more; None where calibrating makes no sense.
    more_is_private: bool | None
    words: str

    @property
    def whole(self) -> bool:
        """Return whether it counts things."""
        return self.rule in (COUNT, FLAG)


PARAMETERS: Mapping[str, Parameter] = {
    "noise_multiplier": Parameter(POSITIVE, True, "noise multiplier"),
    "sigma": Parameter(POSITIVE, True, "sigma"),
    "scale": Parameter(POSITIVE, True, "scale"),
    "beta": Parameter(POSITIVE, False, "smoothness of the bound"),
    "variance": Parameter(POSITIVE, True, "variance"),
    "threshold_scale": Parameter(POSITIVE, True, "scale of the threshold's noise"),
    "query_scale": Parameter(POSITIVE, True, "scale of the queries' noise"),
    "threshold_sigma": Parameter(POSITIVE, True, "sigma of the threshold's noise"),
    "query_sigma": Parameter(POSITIVE, True, "sigma of the queries' noise"),
    "queries": Parameter(COUNT, False, "queries at most"),
    "cutoff": Parameter(COUNT, False, "answers"),
    "sensitivity": Parameter(POSITIVE, None, "sensitivity"),
    "each": Parameter(POSITIVE, None, "largest change of a number"),
    "contribution": Parameter(POSITIVE, None, "contribution"),
    "contributions": Parameter(COUNT, False, "cells of one record"),
    "largest": Parameter(COUNT, False, "largest count of a record in a cell"),
    "lower": Parameter(REAL, None, "values of at least"),
    "upper": Parameter(REAL, None, "values of at most"),
    "delta": Parameter(INSIDE, False, "delta"),
    "rho": Parameter(POSITIVE, False, "rho"),
    "mu": Parameter(POSITIVE, False, "mu"),
    "rising": Parameter(FLAG, None, "rising"),
    "gap": Parameter(FLAG, None, "gaps released"),
    "monotone": Parameter(FLAG, None, "monotone"),
    "epsilon": Parameter(POSITIVE, False, "epsilon"),
    "categories": Parameter(COUNT, None, "categories"),
    "f": Parameter(CHANCE, None, "f"),
    "one": Parameter(CHANCE, None, "report of a set bit"),
    "zero": Parameter(CHANCE, None, "report of another bit"),
    "rate": Parameter(RATE, False, "sampling rate"),
    "sample_size": Parameter(COUNT, False, "sample size"),
    "population_size": Parameter(COUNT, None, "population size"),
    "batches": Parameter(COUNT, None, "batches of an epoch"),
    "cycle": Parameter(COUNT, None, "parts in turn"),
    "rounds": Parameter(COUNT, False, "rounds"),
    "bands": Parameter(COUNT, None, "bands"),
    "separation": Parameter(COUNT, None, "rounds from one of a record to the next"),
    "participations": Parameter(COUNT, False, "rounds of a record at most"),
    "epochs": Parameter(COUNT, False, "epochs in one order"),
    "count_sigma": Parameter(POSITIVE, True, "sigma of the counts"),
    "classes": Parameter(COUNT, None, "classes"),
    "regulariser": Parameter(POSITIVE, None, "regulariser"),
    "norm": Parameter(POSITIVE, None, "rows of norm at most"),
    "places": Parameter(COUNT, None, "places of a pattern"),
    "steps": Parameter(COUNT, False, "steps"),
    "stop_scale": Parameter(POSITIVE, True, "scale of the stopping test's noise"),
    "stop_sigma": Parameter(POSITIVE, True, "sigma of the stopping test's noise"),
    "choice_epsilon": Parameter(POSITIVE, False, "epsilon of the choice of a state"),
    "batch_size": Parameter(COUNT, False, "records in the batch of each step"),
    "batch_rate": Parameter(RATE, False, "sampling rate of each step"),
    "records": Parameter(COUNT, None, "records"),
    "gamma": Parameter(INSIDE, True, "gamma of the number of runs"),
    "count": Parameter(COUNT, False, "count"),
}

ROWS: Mapping[str, RowsRule] = {
    "points": RowsRule(
        POSITIVE, "an array of arrays [order, divergence]", columns=("order", "divergence")
    ),
    "table": RowsRule(CHANCE, "an array of arrays of probabilities, one for each dataset"),
    "neighbours": RowsRule(
        INDEX, "an array of arrays [dataset, dataset], counted from 0", columns=("one", "other")
    ),
    "covariance": RowsRule(REAL, "an array of arrays of numbers, the rows of a matrix"),
    "differences": RowsRule(REAL, "an array of arrays of numbers, each a change of the query"),
    "coefficients": RowsRule(REAL, "an array of one array of numbers, [[1, 0.5]]"),
    "buffers": RowsRule(
        POSITIVE, "an array of arrays [weight, decay]", columns=("weight", "decay")
    ),
    "factor": RowsRule(REAL, "an array of arrays of numbers, the rows of a triangular matrix"),
}
