"""Reading one JSON object of a certificate: every field once, of the right type, none left over."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import final

from .certificate import read_rational
from .errors import CertificateError, RefusedError
from .limits import MAX_COUNT, MAX_WORDS


@final
class Fields:
    """The fields of one object; each is taken once, and ``close`` refuses what is left."""

    __slots__ = ("_left", "where")

    def __init__(self, value: object, where: str) -> None:
        """Accept a JSON object; ``where`` begins every refusal."""
        if not isinstance(value, Mapping):
            raise RefusedError(f"{where} is not an object")
        self._left = dict(value)
        self.where = where

    def has(self, name: str) -> bool:
        """Return whether a field is there and was not taken."""
        return name in self._left

    def take(self, name: str) -> object:
        """Return the raw value of a field."""
        if name not in self._left:
            raise RefusedError(f"{self.where} has no {name}")
        return self._left.pop(name)

    def rational(
        self, name: str, *, least: Fraction | int | None = None, most: Fraction | int | None = None
    ) -> Fraction:
        """Return an exact rational, both ends of its domain included."""
        try:
            exact = read_rational(self.take(name))
        except CertificateError as error:
            raise RefusedError(f"{self.where}: {name}: {error}") from None
        if (least is not None and exact < least) or (most is not None and exact > most):
            raise RefusedError(f"{self.where}: {name} must be from {least} to {most}")
        return exact

    def positive(self, name: str) -> Fraction:
        """Return an exact rational above 0."""
        value = self.rational(name)
        if not value > 0:
            raise RefusedError(f"{self.where}: {name} must be above 0")
        return value

    def rationals(self, name: str) -> tuple[Fraction, ...]:
        """Return a list of rationals."""
        return tuple(Fields({name: x}, self.where).rational(name) for x in self.items(name))

    def items(self, name: str) -> list[object]:
        """Return a list of any values."""
        value = self.take(name)
        if not isinstance(value, list):
            raise RefusedError(f"{self.where}: {name} must be a list")
        return value

    def whole(self, name: str, *, least: int = 1, most: int = MAX_COUNT) -> int:
        """Return an integer, both ends of its domain included."""
        value = self.take(name)
        if type(value) is not int or not least <= value <= most:
            raise RefusedError(f"{self.where}: {name} must be a whole number {least} to {most}")
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean."""
        value = self.take(name)
        if not isinstance(value, bool):
            raise RefusedError(f"{self.where}: {name} must be true or false")
        return value

    def words(self, name: str) -> str:
        """Return a short printable text without surrounding blanks."""
        value = self.take(name)
        if not isinstance(value, str) or not 0 < len(value) <= MAX_WORDS:
            raise RefusedError(f"{self.where}: {name} must be 1 to {MAX_WORDS} characters")
        if not value.isprintable() or value != value.strip():
            raise RefusedError(f"{self.where}: {name} must be one printable line")
        return value

    def close(self) -> None:
        """Refuse fields that were not taken."""
        if self._left:
            raise RefusedError(f"{self.where} has unknown fields: {sorted(self._left)!r:.80}")
