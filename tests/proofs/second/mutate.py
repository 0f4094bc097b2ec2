"""Random damage to certificates: numbers, names, references, order of steps and fields."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

NAMES: Final = (
    ("add-remove", "replace-one", "zero-out", "replace-label"),
    ("gdp", "pure-dp", "approx-dp", "zcdp", "advantage", "hockey-stick", "bounded-range"),
    ("gaussian", "laplace", "logistic", "discrete-laplace", "finite"),
    ("hockey-stick/closed", "hockey-stick/bounded", "hockey-stick/contour"),
    ("state/gdp", "state/pure-dp", "mechanism/laplace", "dominate/pure-dp", "dominate/gdp"),
    ("post-process", "map-records", "compose/gdp", "compose/pair", "subsample/poisson", "choice"),
    ("convert/pair-approx", "convert/approx-advantage", "convert/approx-true-positive-rate"),
    ("removal", "addition", "replacement"),
)
"""Names that stand for one another: a mutant has another one of the same line."""

Path = tuple[Any, ...]


def mutant(text: str, rng: random.Random) -> str:
    """Return a certificate with one thing changed, or with a number changed wherever it stands."""
    document = json.loads(text)
    damage = rng.choice((_number, _number, _everywhere, _name, _references, _steps, _fields, _list))
    damage(document, rng)
    return json.dumps(document)


def _number(document: Any, rng: random.Random) -> None:  # noqa: ANN401  # JSON is anything
    path, value = rng.choice(_leaves(document, lambda one: _is_number(one) or type(one) is bool))
    _set(document, path, _another(value, rng))


def _everywhere(document: Any, rng: random.Random) -> None:  # noqa: ANN401
    leaves = _leaves(document, _is_number)
    _, value = rng.choice(leaves)
    other = _another(value, rng)
    for path, one in leaves:
        if type(one) is type(value) and one == value:
            _set(document, path, other)


def _name(document: Any, rng: random.Random) -> None:  # noqa: ANN401
    named = ("rule", "notion", "kind", "relation", "direction")
    leaves = [one for one in _leaves(document, _is_text) if one[0][-1] in named]
    path, value = rng.choice(leaves)
    line = next((line for line in NAMES if value in line), ())
    other = rng.choice([*line, value + "x", value.upper(), ""])
    for place, one in leaves if rng.random() < 0.5 else [(path, value)]:
        if one == value:
            _set(document, place, other)


def _references(document: Any, rng: random.Random) -> None:  # noqa: ANN401
    step = rng.choice(document["steps"])
    cited = step.setdefault("premises", [])
    place = rng.randrange(len(cited) + 1)
    made = rng.choice(
        (
            cited[:place] + cited[place + 1 :],
            sorted([*cited, *cited[place : place + 1]]),
            sorted([*cited, rng.randrange(-1, len(document["steps"]))]),
            [max(one + rng.choice((-1, 1)), 0) for one in cited],
            cited[::-1],
        )
    )
    step["premises"] = made


def _steps(document: Any, rng: random.Random) -> None:  # noqa: ANN401
    """Leave a step out, write it twice, or exchange two; the others keep citing what they cited."""
    steps = document["steps"]
    order = list(range(len(steps)))
    place, other = rng.randrange(len(steps)), rng.randrange(len(steps))
    match rng.randrange(3):
        case 0 if len(steps) > 1:
            order.remove(place)
        case 1:
            order.insert(other, place)
        case _:
            order[place], order[other] = order[other], order[place]
    made = [copy.deepcopy(steps[one]) for one in order]
    if rng.random() < 0.8:
        for old, step in zip(order, made, strict=True):
            cited = step.get("premises", [old - 1])
            new = [len(order) - 1 - order[::-1].index(one) for one in cited if one in order]
            step["premises"] = sorted(new)
        document["claim"] = made[-1].get("conclusion", document["claim"])
    document["steps"] = made


def _fields(document: Any, rng: random.Random) -> None:  # noqa: ANN401
    objects = [node for node in _nodes(document) if isinstance(node, dict) and node]
    chosen = rng.choice(objects)
    key = rng.choice(sorted(chosen))
    match rng.randrange(4):
        case 0:
            chosen["unknown"] = "1"
        case 1:
            chosen[key + "x"] = chosen.pop(key)
        case 2:
            chosen[key] = rng.choice((None, True, 1, "1", [], {}, [chosen[key]]))
        case _:
            del chosen[key]


def _list(document: Any, rng: random.Random) -> None:  # noqa: ANN401
    lists = [node for node in _nodes(document) if isinstance(node, list) and node]
    chosen = rng.choice(lists)
    place = rng.randrange(len(chosen))
    match rng.randrange(3):
        case 0:
            del chosen[place]
        case 1:
            chosen.insert(place, copy.deepcopy(chosen[place]))
        case _:
            chosen.reverse()


def _another(value: Any, rng: random.Random) -> Any:  # noqa: ANN401
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(
            (value - 1, value + 1, 2 * value, 0, -value, 10**12 + 1, True, str(value))
        )
    exact = Fraction(value)
    small = Fraction(1, 2 ** rng.randrange(1, 200))
    return rng.choice(
        (
            str(exact * (1 + small)),
            str(exact * (1 - small)),
            str(exact + small),
            str(exact / 2),
            str(exact * 2),
            str(1 - exact),
            str(-exact),
            "0",
            "1",
            f"{exact.numerator * 2}/{exact.denominator * 2}",
            exact.numerator,
        )
    )


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value.replace("/", "", 1).replace("-", "", 1).isdecimal()
    return type(value) is int


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _nodes(node: Any) -> list[Any]:  # noqa: ANN401
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [node, *(one for part in inner for one in _nodes(part))]


def _leaves(node: Any, wanted: Callable[[Any], bool], path: Path = ()) -> list[tuple[Path, Any]]:  # noqa: ANN401
    if isinstance(node, (dict, list)):
        parts = node.items() if isinstance(node, dict) else enumerate(node)
        return [found for key, one in parts for found in _leaves(one, wanted, (*path, key))]
    return [(path, node)] if wanted(node) else []


def _set(document: Any, path: Path, value: Any) -> None:  # noqa: ANN401
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value
