"""What the application refuses: bad input, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from accountant.errors import PrivacyError


class InputError(PrivacyError, ValueError):
    """A pipeline file or a command line that cannot be answered.

    The message is one line: which file, which stage, which key, what was expected, what was
    found.
    """


def require_other(out: str, file: str) -> None:
    """Refuse to write over what is read.

    Raises:
        InputError: both are the same file.
    """
    if file != "-" and Path(out).exists() and Path(file).exists() and Path(out).samefile(file):
        raise InputError(f"{out}: this is the input, which would be overwritten; name another file")


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Turn a refusal of the packages below into one line that begins with a place.

    Raises:
        InputError: the block raised a ``PrivacyError``; an ``InputError`` passes unchanged, since
            it has its place.
    """
    try:
        yield
    except InputError:
        raise
    except PrivacyError as refusal:
        raise InputError(f"{place}: {' '.join(str(refusal).split())}") from refusal
