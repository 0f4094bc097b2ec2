"""The text of a certificate, as docs/CERTIFICATE.md has it: strict JSON, steps, references."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

STEP_FIELDS: Final = frozenset({"rule", "premises", "witness", "conclusion"})


class Refusal(Exception):
    """A certificate is rejected: the kind of fault, and what it is in words."""

    def __init__(self, fault: str, words: str) -> None:
        super().__init__(words)
        self.fault, self.words = fault, words


@dataclass(frozen=True)
class Step:
    """One step as it is written; nothing of it is checked but its shape."""

    rule: str
    premises: tuple[int, ...]
    witness: dict[str, Any]
    conclusion: dict[str, Any]
    label: str | None


def canonical(value: object) -> str:
    """Return one text for equal JSON values, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True)


def read(text: str) -> list[Step]:
    """Return the steps of a certificate of version 1 or 3, or refuse the text."""
    value = _json(text)
    if isinstance(value, dict) and value.get("version") == 3 and type(value["version"]) is int:
        value = _at_length(value)
    _shape(value, {"format", "version", "steps", "claim"}, "the certificate")
    if value["format"] != "dpproof-certificate":
        raise Refusal("text", "the format is not dpproof-certificate")
    if type(value["version"]) is not int or value["version"] != 1:
        raise Refusal("text", "the version is not 1")
    listed = value["steps"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= 20_000:
        raise Refusal("text", "steps is no list of 1 to 20,000 steps")
    steps = [_step(one, place) for place, one in enumerate(listed)]
    cited = {premise for step in steps for premise in step.premises}
    for place in range(len(steps) - 1):
        if place not in cited:
            raise Refusal("references", f"step {place} is no premise of a later one")
    if canonical(value["claim"]) != canonical(steps[-1].conclusion):
        raise Refusal("claim", "the claim is not the conclusion of the last step")
    return steps


def _at_length(value: dict[str, Any]) -> Any:  # noqa: ANN401  # JSON is anything
    from tests.proofs.second.short import at_length  # which needs this file

    made = at_length(value) if isinstance(value.get("steps"), list) else value
    return _json(json.dumps(made, separators=(",", ":")))


def is_line(value: object, most: int) -> bool:
    """Tell whether a value is text of 1 to so many printable characters."""
    return isinstance(value, str) and 1 <= len(value) <= most and value.isprintable()


def _json(text: str) -> Any:  # noqa: ANN401  # JSON is anything
    text = text.removeprefix("\ufeff")
    if len(text) > 4_000_000:
        raise Refusal("text", "the text is longer than 4,000,000 characters")
    if _depth(text) > 32:
        raise Refusal("text", "the text is nested more than 32 deep")
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_inexact,
            parse_constant=_inexact,
        )
    except ValueError as error:
        raise Refusal("text", "the text is not JSON") from error


def _depth(text: str) -> int:
    deepest = depth = 0
    for mark in re.findall(r'[\[\]{}]|"(?:[^"\\]|\\.)*"', text, re.DOTALL):
        depth += (mark in "[{") - (mark in "]}")
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Refusal("text", "an object has a key twice")
    return made


def _integer(digits: str) -> int:
    if len(digits) > 20:
        raise Refusal("text", "an integer has more than 20 characters")
    return int(digits)


def _inexact(written: str) -> NoReturn:
    raise Refusal("text", f"{written} has a point or an exponent, or is no number")


def _shape(value: object, fields: set[str], what: str) -> None:
    if not isinstance(value, dict) or set(value) != fields:
        raise Refusal("text", f"{what} has not exactly the fields {sorted(fields)}")


def _step(value: object, place: int) -> Step:
    if not isinstance(value, dict) or set(value) - {"label"} != STEP_FIELDS:
        raise Refusal("text", f"step {place} has not exactly the fields of a step")
    rule, premises = value["rule"], value["premises"]
    if rule != "" and not is_line(rule, 60):
        raise Refusal("text", f"the rule of step {place} is no name")
    if not isinstance(premises, list) or any(type(one) is not int for one in premises):
        raise Refusal("references", f"the premises of step {place} are no whole numbers")
    if any(not 0 <= one < place for one in premises) or premises != sorted(premises):
        raise Refusal("references", f"the premises of step {place} are not earlier, in order")
    if not isinstance(value["witness"], dict) or not isinstance(value["conclusion"], dict):
        raise Refusal("text", f"witness or conclusion of step {place} is no object")
    if "label" in value and not is_line(value["label"], 200):
        raise Refusal("text", f"the label of step {place} is not 1 to 200 printable characters")
    name = "compose/" + rule.removeprefix("repeat/") if rule.startswith("repeat/") else rule
    return Step(name, tuple(premises), value["witness"], value["conclusion"], value.get("label"))
