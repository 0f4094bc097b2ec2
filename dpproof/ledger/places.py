"""The place of a ledger: a path, or a database URL, whose password is shown to nobody."""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn, final

from dpproof.ledger.errors import LedgerError

_PASSWORD: Final = re.compile(r"(?<=://)([^:/?#@]*):.*@", re.DOTALL)
_SECRETS: Final = re.compile(
    r"([?&][^=&]*(?:pass|pwd|secret|token|odbc_connect)[^=&]*=)[^&]*", re.IGNORECASE
)
# Of what was meant to be a URL: a user and a password, or the words of a driver.
_NEARLY: Final = re.compile(r"^((?:[\w+.-]+:/)?[^:/?#@\\]*:)(?![/\\]).*@", re.DOTALL)
_WORDS: Final = re.compile(r"\b(password=)\S+", re.IGNORECASE)


def masked(place: str) -> str:
    """Return a place as it may be shown: of a URL without its password.

    Example:
        >>> masked("postgresql://ann:secret@host/db?password=more&port=5432")
        'postgresql://ann:***@host/db?password=***&port=5432'
    """
    if "://" not in place:
        return _WORDS.sub(r"\1***", _NEARLY.sub(r"\1***@", place))
    return _SECRETS.sub(r"\1***", _PASSWORD.sub(r"\1:***@", place))


def refuse_secret(place: str) -> None:
    """Refuse to write down a URL with a password."""
    if masked(place) != place:
        raise LedgerError(
            f"{masked(place)} has a password, which would be in every copy of the pickle: write "
            "the URL without it, and let the driver find it (PGPASSFILE or ~/.pgpass)"
        )


@final
class SecretURL(str):
    """A URL with a password, which it neither shows nor pickles; what opens it reads it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Show it without the password."""
        return repr(masked(self[:]))

    def __str__(self) -> str:
        """Show it without the password."""
        return masked(self[:])

    def __format__(self, spec: str) -> str:
        """Show it without the password."""
        return format(masked(self[:]), spec)

    def __copy__(self) -> SecretURL:
        """Return this very text."""
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> SecretURL:
        """Return this very text: clones of an estimator have the same ledger."""
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:  # noqa: ANN401  # as ``object`` has it
        """Refuse to be pickled."""
        refuse_secret(self[:])
        raise LedgerError("a URL with a password is never pickled")


def hidden(place: Any) -> Any:  # noqa: ANN401  # whatever an estimator is given
    """Return a URL with a password as one that does not show it, and all else as it is."""
    return SecretURL(place) if type(place) is str and masked(place) != place else place
