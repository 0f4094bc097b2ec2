"""The text of a certificate: exact JSON, a list of steps in which each cites earlier ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NoReturn, TypeAlias, final

from . import limits
from .errors import CertificateError

FORMAT: Final = "dpproof-certificate"
VERSION: Final = 1

Json: TypeAlias = "str | int | bool | Sequence[Json] | Mapping[str, Json] | None"

_RATIONAL: Final = re.compile(r"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?")
_INSIDE_STRINGS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKETS: Final = re.compile(r"[\[\]{}]")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One application of one rule.

    Attributes:
        rule: the rule's name.
        conclusion: the statement, as JSON.
        premises: positions of earlier steps, never decreasing.
        witness: the parameters of the rule and whatever makes it easy to check, as JSON.
        label: the author's name of the step's mechanism; empty if there is none.
    """

    rule: str
    conclusion: Mapping[str, Json]
    premises: tuple[int, ...]
    witness: Mapping[str, Json]
    label: str = ""


def read_steps(text: str) -> tuple[Step, ...]:
    """Return a certificate's steps; refuse anything unusual but a byte-order mark before it."""
    if (kind := type(text).__name__) != "str":
        raise TypeError(f"text must be of the type str, got {kind}; decode bytes as UTF-8 first")
    text = text.removeprefix("\ufeff")
    if len(text) > limits.MAX_CHARACTERS:
        raise CertificateError(f"longer than {limits.MAX_CHARACTERS} characters")
    _refuse_depth(text)
    try:
        document = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=_no_float,
            parse_constant=_no_float,
            parse_int=_short_int,
        )
    except ValueError as error:
        raise CertificateError(f"not JSON: {error}") from None
    document = _object(document, {"format", "version", "claim", "steps"}, "the certificate")
    if document["format"] != FORMAT:
        raise CertificateError(f"format is {_short(document['format'])}, expected {FORMAT!r}")
    version, listed = document["version"], document["steps"]
    if type(version) is not int or version != VERSION:
        raise CertificateError(f"version is {_short(version)}, this checker reads {VERSION}")
    if not isinstance(listed, list) or not 1 <= len(listed) <= limits.MAX_STEPS:
        raise CertificateError(f"steps must be a list of 1 to {limits.MAX_STEPS} steps")
    steps = tuple(_step(item, place) for place, item in enumerate(listed))
    claims = steps[-1].conclusion, document["claim"]  # true is no 1 in text, and order no matter
    said, repeated = (json.dumps(one, sort_keys=True) for one in claims)
    if said != repeated:
        raise CertificateError("the claim is not the conclusion of the last step")
    return steps


def read_rational(text: object) -> Fraction:
    """Return the exact value of a rational in lowest terms; refuse "0.5" and "2/4"."""
    short = isinstance(text, str) and len(text) <= limits.MAX_DIGITS
    match = _RATIONAL.fullmatch(str(text)) if short else None
    if match is None:
        raise CertificateError(f'expected a rational as text, "3/4", got {_short(text)}')
    value = Fraction(int(match[1]), int(match[2] or 1))
    if str(value) != text:
        raise CertificateError(f"not in lowest terms: {_short(text)}")
    return value


def _step(document: object, place: int) -> Step:
    keys, where = {"rule", "premises", "witness", "conclusion"}, f"step {place}"
    named = isinstance(document, dict) and "label" in document
    step = _object(document, keys | {"label"} if named else keys, where)
    rule, premises = step["rule"], step["premises"]
    conclusion, witness = step["conclusion"], step["witness"]
    if not isinstance(rule, str) or not rule.isprintable() or len(rule) > limits.MAX_NAME:
        raise CertificateError(f"{where}: the rule is {_short(rule)}, expected a name")
    if not isinstance(premises, list) or not all(type(item) is int for item in premises):
        raise CertificateError(f"{where}: premises must be a list of whole numbers")
    if any(not 0 <= item < place for item in premises):
        raise CertificateError(f"{where}: a premise must be an earlier step")
    if premises != sorted(premises):
        raise CertificateError(f"{where}: premises must be listed in increasing order")
    if not isinstance(conclusion, dict) or not isinstance(witness, dict):
        raise CertificateError(f"{where}: conclusion and witness must be objects")
    label, most, (old, _, notion) = step.get("label", ""), limits.MAX_LABEL, rule.partition("/")
    if not isinstance(label, str) or not label.isprintable() or not named <= len(label) <= most:
        wanted = f"1 to {most} printable characters"
        raise CertificateError(f"{where}: the label is {_short(label)}, expected {wanted}")
    return Step(
        rule=f"compose/{notion}" if old == "repeat" else rule,  # as earlier writers called it
        premises=tuple(premises),
        conclusion=conclusion,
        witness=witness,
        label=label,
    )


def _object(value: object, keys: set[str], where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise CertificateError(f"{where} must be an object, got {_short(value)}")
    if set(value) != keys:
        raise CertificateError(f"{where} must have the keys {', '.join(sorted(keys))}, no others")
    return value


def _refuse_depth(text: str) -> None:
    depth = 0
    for bracket in _BRACKETS.findall(_INSIDE_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > limits.MAX_DEPTH:
            raise CertificateError(f"nested deeper than {limits.MAX_DEPTH}")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise CertificateError("an object has the same key twice")
    return entries


def _no_float(text: str) -> NoReturn:
    raise CertificateError(f"{_short(text)} is not exact: write rationals as text")


def _short_int(text: str) -> int:
    if len(text) > 20:
        raise CertificateError(f"a whole number of {len(text)} digits; write rationals as text")
    return int(text)


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
