"""Statements, pairs and their domains, as docs/CERTIFICATE.md has them, for the core's notions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tests.proofs.second.extensions import OTHER_NOTIONS, OTHER_PAIRS
from tests.proofs.second.text import Refusal, canonical

RATIONAL: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:/([1-9][0-9]*))?")
MOST: Final = 10**12
RELATIONS: Final = ("add-remove", "replace-one", "zero-out", "replace-label")
SYMMETRIC: Final = ("replace-one", "replace-label")


DOMAINS: Final[dict[str, Callable[[Fraction], bool]]] = {
    "above 0": lambda one: one > 0,
    "from 0": lambda one: one >= 0,
    "[0, 1]": lambda one: 0 <= one <= 1,
    "(0, 1)": lambda one: 0 < one < 1,
}


class Fields:
    """An object whose fields are taken one by one, each with its domain; none may be left."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise Refusal("domain", f"{where} is no object")
        self._left: dict[str, Any] = dict(value)
        self._where = where

    def take(self, name: str) -> Any:  # noqa: ANN401  # JSON is anything
        """Return a field as it is written."""
        if name not in self._left:
            raise Refusal("fields", f"{self._where} has no {name}")
        return self._left.pop(name)

    def name(self, field: str) -> str:
        """Return a name."""
        value = self.take(field)
        if not isinstance(value, str):
            raise Refusal("name", f"{self._where}: {field} is no name")
        return value

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def rational(self, name: str, domain: str) -> Fraction:
        """Return a rational of a domain."""
        value = rational(self.take(name))
        if not DOMAINS[domain](value):
            raise Refusal("domain", f"{self._where}: {name} is outside its domain")
        return value

    def whole(self, name: str, least: int = 1) -> int:
        """Return a whole number from the least allowed to 10^12."""
        value = self.take(name)
        if type(value) is not int or not least <= value <= MOST:
            raise Refusal("domain", f"{self._where}: {name} is no whole number from {least}")
        return value

    def close(self) -> None:
        """Refuse what was not taken."""
        if self._left:
            raise Refusal("fields", f"{self._where} has unknown fields {sorted(self._left)}")


def rational(value: object) -> Fraction:
    """Return a rational written in lowest terms."""
    found = RATIONAL.fullmatch(value) if isinstance(value, str) and len(value) <= 1_100 else None
    if found is None or found[0] == "-0":
        raise Refusal("rational", "a rational is not written as one")
    read = Fraction(int(found[1]), int(found[2] or 1))
    if found[2] is not None and (read.denominator != int(found[2]) or read.denominator == 1):
        raise Refusal("rational", "a rational is not in lowest terms")
    return read


@dataclass(frozen=True)
class Pair:
    """Two laws; `written` is the canonical text, by which pairs are the same or not."""

    kind: str
    written: str
    numbers: tuple[Fraction, ...] = ()
    flag: bool = False


Product = tuple[tuple[int, Pair], ...]


@dataclass(frozen=True)
class Statement:
    """What a step concludes; a fact has no relation."""

    notion: str
    relation: str | None
    steps: int
    numbers: tuple[Fraction, ...] = ()
    products: tuple[Product, ...] = ()
    points: tuple[tuple[Fraction, ...], ...] = ()

    @property
    def is_fact(self) -> bool:
        """Tell whether the statement is about pairs alone."""
        return self.relation is None


NUMBERS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "gdp": (("mu_squared", "from 0"),),
    "pure-dp": (("epsilon", "from 0"),),
    "advantage": (("advantage", "[0, 1]"),),
    "true-positive-rate": (("false_positive_rate", "[0, 1]"), ("true_positive_rate", "[0, 1]")),
    "approx-dp": (("epsilon", "from 0"), ("delta", "[0, 1]")),
}


def statement(value: dict[str, Any]) -> Statement:
    """Return what a conclusion says, read with every domain."""
    fields = Fields(value, "the conclusion")
    notion = fields.name("notion")
    if notion in OTHER_NOTIONS:
        return Statement(notion, value.get("relation"), 0)
    if notion == "hockey-stick":
        made = _fact(fields)
        fields.close()
        return made
    if notion not in (*NUMBERS, "dominating-pair"):
        raise Refusal("name", "no notion has this name")
    relation = fields.name("relation")
    if relation not in RELATIONS:
        raise Refusal("name", "no relation has this name")
    steps = fields.whole("steps")
    products: tuple[Product, ...] = ()
    if notion == "dominating-pair":
        products = (product(fields.take("forward")), product(fields.take("backward")))
        if (steps > 1 or relation in SYMMETRIC) and products[0] != products[1]:
            raise Refusal("domain", "both orders of two datasets count: products must be the same")
    numbers = tuple(fields.rational(*one) for one in NUMBERS.get(notion, ()))
    fields.close()
    return Statement(notion, relation, steps, numbers, products)


def _fact(fields: Fields) -> Statement:
    listed = product(fields.take("product"))
    point = (fields.rational("epsilon", "from 0"), fields.rational("delta", "[0, 1]"))
    return Statement("hockey-stick", None, 0, products=(listed,), points=(point,))


def product(value: object) -> Product:
    """Return a product of pairs with counts, none of them twice."""
    if not isinstance(value, list):
        raise Refusal("domain", "a product is no list")
    made = []
    for one in value:
        fields = Fields(one, "a factor")
        made.append((fields.whole("count"), pair(fields.take("pair"))))
        fields.close()
    if len({one.written for _, one in made}) < len(made):
        raise Refusal("domain", "a product has a pair twice")
    return tuple(made)


PAIRS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "gaussian": (("mu_squared", "above 0"),),
    "laplace": (("epsilon", "above 0"),),
    "subsampled-gaussian": (("mu_squared", "above 0"), ("sampling_rate", "(0, 1)")),
}


def pair(value: object) -> Pair:
    """Return a pair read with every domain; one of an extension as it is written."""
    fields = Fields(value, "a pair")
    kind, written, flag = fields.name("kind"), canonical(value), False
    if kind in OTHER_PAIRS:
        return Pair(kind, written)
    if kind not in PAIRS:
        raise Refusal("name", "no kind of pair has this name")
    numbers = [fields.rational(*one) for one in PAIRS[kind]]
    if kind == "subsampled-gaussian":
        flag = fields.take("removal")
        if not isinstance(flag, bool):
            raise Refusal("domain", "removal is neither true nor false")
    fields.close()
    return Pair(kind, written, tuple(numbers), flag)
