"""Lists that extensions read from a witness."""

from __future__ import annotations

from fractions import Fraction

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.limits import MAX_POINTS


def rows(fields: Fields, name: str) -> list[tuple[Fraction, ...]]:
    """Return a list of lists of rationals."""
    return [Fields({name: row}, name).rationals(name) for row in fields.items(name)]


def points(fields: Fields, name: str) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return a list of pairs of rationals, at least one, first coordinates increasing."""
    listed = rows(fields, name)
    if any(len(row) != 2 for row in listed):
        raise RefusedError(f"{fields.where}: {name} must be a list of pairs")
    pairs = tuple((first, second) for first, second in listed)
    firsts = [first for first, _ in pairs]
    if not 0 < len(pairs) <= MAX_POINTS or firsts != sorted(set(firsts)):
        raise RefusedError(f"{fields.where}: {name} must be 1 to {MAX_POINTS}, increasing")
    return pairs


def alike(fields: Fields, name: str = "factors") -> list[object]:
    """Return a list in which a whole number stands for the value at that earlier place."""
    listed = list(fields.items(name))
    for place, item in enumerate(listed):
        if type(item) is int:
            if not 0 <= item < place:
                raise RefusedError(f"{name}: {item} is no earlier place")
            listed[place] = listed[item]
    return listed


def wholes(fields: Fields, name: str) -> tuple[int, ...]:
    """Return a list of integers."""
    listed = fields.items(name)
    whole = tuple(item for item in listed if type(item) is int)
    if len(whole) != len(listed):
        raise RefusedError(f"{name} must be a list of whole numbers")
    return whole
