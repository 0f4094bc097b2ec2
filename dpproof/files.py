"""The files that commands read, by path or standard input for ``-``, and write."""

import json
import sys
from pathlib import Path
from typing import Final

from dpproof.errors import InputError

STANDARD_INPUT: Final = "-"
LARGEST: Final = 1 << 24


def shown_path(path: str) -> str:
    """Return a path as it begins a refusal: on one line, whatever it is called."""
    if path == STANDARD_INPUT:
        return "standard input"
    return path if path.isprintable() else json.dumps(path)


def save(path: str, text: str) -> None:
    """Write a text to a file."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def content(path: str, expected: str) -> str:
    """Return the text of a file, without a byte order mark."""
    file = shown_path(path)
    if path == STANDARD_INPUT and sys.stdin is None:
        raise InputError(f"{file}: expected {expected}, but it is closed; give the path of a file")
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(path).open("rb") as stream:
                data = stream.read(LARGEST + 1)
    except IsADirectoryError:
        raise InputError(f"{file}: expected {expected}, found a directory") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"{file}: cannot read the file: {reason}") from None
    if len(data) > LARGEST:
        raise InputError(f"{file}: expected {expected} of at most {LARGEST} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{file}: expected UTF-8 text, found byte {data[error.start]:#04x}"
        raise InputError(f"{message} at position {error.start}") from None
