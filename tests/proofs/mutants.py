"""Every way to damage a certificate that this project knows, one damage a mutant."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpproof.proofs import Certificate
from dpproof.proofs.rules import RULES

HINTS = {
    "c",
    "step",
    "nodes",
    "tau",
    "span",
    "factors",
    "orders",
    "order",
    "forward",
    "backward",
    "parts",
    "blocks",
    "epsilons",
}
CLAIMED = {"epsilon", "delta", "mu_squared", "true_positive_rate", "advantage"}
RELATIONS = ("add-remove", "replace-one", "zero-out", "replace-label")
Mutant = tuple[str, Any, bool]
"""What was damaged, the damaged document, and whether the statement only became weaker."""


def mutants(text: str) -> Iterator[Mutant]:
    """Names of damages with the damaged documents; hints are left alone."""
    document = _document(text)
    for make in (_numbers, _premises, _rules, _directions, _order, _claims):
        yield from make(document)


def hints(text: str) -> Iterator[Mutant]:
    """The same for the numbers that only make a step easy to check."""
    document = _document(text)
    for place, step in enumerate(document["steps"]):
        for path, value in _leaves(step["witness"]):
            if path[0] in HINTS:
                for other in _nudged(value):
                    yield _set(document, ("steps", place, "witness", *path), other)


def _document(text: str) -> Any:  # noqa: ANN401  # JSON is anything
    """The certificate as it is written today, rules of earlier names by their own."""
    return json.loads(Certificate.from_json(text).to_json(full=True))


def _numbers(document: Any) -> Iterator[Mutant]:  # noqa: ANN401  # JSON is anything
    """Every number, flag and relation of a statement or a parameter, up and down."""
    for place, step in enumerate(document["steps"]):
        for part in ("conclusion", "witness"):
            for path, value in _leaves(step[part]):
                if part == "conclusion" or path[0] not in HINTS:
                    for other in _nudged(value):
                        yield _set(document, ("steps", place, part, *path), other)


def _premises(document: Any) -> Iterator[Mutant]:  # noqa: ANN401
    """Every premise dropped, doubled, and replaced by every other earlier step."""
    for place, step in enumerate(document["steps"]):
        cited = step["premises"]
        for index, old in enumerate(cited):
            rest = cited[:index] + cited[index + 1 :]
            path = ("steps", place, "premises")
            yield _set(document, path, rest)
            yield _set(document, path, sorted([*cited, old]))
            for other in range(place):
                if other != old:
                    yield _set(document, path, sorted([*rest, other]))


def _rules(document: Any) -> Iterator[Mutant]:  # noqa: ANN401
    """Every rule replaced by every other."""
    for place, step in enumerate(document["steps"]):
        for name in RULES:
            if name != step["rule"]:
                yield _set(document, ("steps", place, "rule"), name)


def _directions(document: Any) -> Iterator[Mutant]:  # noqa: ANN401
    """The two directions of every pair swapped, where they differ."""
    for place, step in enumerate(document["steps"]):
        said = step["conclusion"]
        if said.get("forward") != said.get("backward"):
            swapped = {**said, "forward": said["backward"], "backward": said["forward"]}
            yield _set(document, ("steps", place, "conclusion"), swapped)


def _order(document: Any) -> Iterator[Mutant]:  # noqa: ANN401
    """Every step left out, repeated, and exchanged with the next that rests on it."""
    steps = document["steps"]
    for place in range(len(steps)):
        without, twice = steps[:place] + steps[place + 1 :], [*steps[: place + 1], *steps[place:]]
        yield f"step {place} left out", {**document, "steps": without}, False
        yield f"step {place} repeated", {**document, "steps": twice}, False
        if place + 1 < len(steps) and place in steps[place + 1]["premises"]:
            mixed = [*steps[:place], steps[place + 1], steps[place], *steps[place + 2 :]]
            yield f"steps {place}, {place + 1} exchanged", {**document, "steps": mixed}, False


def _claims(document: Any) -> Iterator[Mutant]:  # noqa: ANN401
    """The numbers of the claim lowered everywhere at once, consistently."""
    text = json.dumps(document)
    for name in CLAIMED & set(document["claim"]):
        old = document["claim"][name]
        if Fraction(old):
            new = str(Fraction(old) * Fraction(99, 100))
            lowered = json.loads(text.replace(f'"{old}"', f'"{new}"'))
            yield f"{name} lowered everywhere", lowered, False


def _leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:  # noqa: ANN401
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _leaves(value, (*path, index))
    else:
        yield path, node


def _nudged(value: Any) -> list[Any]:  # noqa: ANN401
    """The values next to one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value - 1, value + 1]
    if value in RELATIONS:
        return [name for name in RELATIONS if name != value]
    try:
        exact = Fraction(value)
    except (TypeError, ValueError):
        return []
    step = abs(exact) / 1_000 or Fraction(1, 1_000)
    return [str(exact - step), str(exact + step)]


def _set(document: Any, path: tuple[Any, ...], value: Any) -> Mutant:  # noqa: ANN401
    """The document with one place changed."""
    changed = copy.copy(document)
    old = document
    for key in path:
        old = old[key]
    node = changed
    for key in path[:-1]:
        node[key] = copy.copy(node[key])
        node = node[key]
    node[path[-1]] = value
    if path[0] == "steps" and path[1] == len(document["steps"]) - 1 and path[2] == "conclusion":
        changed["claim"] = changed["steps"][-1]["conclusion"]
    return (
        "/".join(map(str, path)) + f" = {value!r:.60}",
        changed,
        _weaker(document, path, old, value),
    )


def _weaker(document: Any, path: tuple[Any, ...], old: Any, new: Any) -> bool:  # noqa: ANN401
    """Whether a number of a conclusion moved to where less is claimed: up, but orders, and
    false-positive rates, down.
    """  # noqa: D205  # one sentence
    if "conclusion" not in path or not isinstance(new, str) or new in RELATIONS:
        return False
    notion = document["steps"][path[1]]["conclusion"]["notion"]
    if "points" in path and path[-1] == 0 and notion not in {"hockey-sticks", "privacy-profile"}:
        return Fraction(new) < Fraction(old)
    if path[-1] == "false_positive_rate":
        return Fraction(new) < Fraction(old)
    return "pair" not in path and Fraction(new) > Fraction(old)
