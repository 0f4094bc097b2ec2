"""Lists that extensions read from a witness."""

from __future__ import annotations

from fractions import Fraction

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields


def rows(fields: Fields, name: str) -> list[tuple[Fraction, ...]]:
    """Return a list of lists of rationals."""
    return [Fields({name: row}, name).rationals(name) for row in fields.items(name)]


def wholes(fields: Fields, name: str) -> tuple[int, ...]:
    """Return a list of integers."""
    listed = fields.items(name)
    whole = tuple(item for item in listed if type(item) is int)
    if len(whole) != len(listed):
        raise RefusedError(f"{name} must be a list of whole numbers")
    return whole
