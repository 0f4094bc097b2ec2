"""The error of the application for bad input, in one line."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpproof.accountant.errors import PrivacyError


class InputError(PrivacyError, ValueError):
    """A pipeline file or a command line that cannot be answered.

    The message is one line: which file, which stage, which key, what was expected, what was found.
    """


def require_other(out: str | None, file: str) -> None:
    """Refuse to write over what is read."""
    if out is None:
        return
    try:
        if file != "-":
            same = Path(out).samefile(file)
        else:
            same = os.path.samestat(Path(out).stat(), os.fstat(sys.stdin.fileno()))
    except (OSError, ValueError, AttributeError):
        return  # one of them is no file: refused where it is opened, or not there yet
    if same:
        raise InputError(f"{out}: this is the input, which would be overwritten; name another file")


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Turn a refusal of the packages below into one line that begins with a place, as ours do."""
    try:
        yield
    except InputError:
        raise
    except PrivacyError as refusal:
        raise InputError(f"{place}: {' '.join(str(refusal).split())}") from refusal
