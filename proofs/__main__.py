"""``python -P -m dpproof.proofs CERTIFICATE.json``, with the standard library and python-flint.

Without ``-P`` Python runs a ``dpproof/`` of the working directory; ``dpproof check`` never does.

``--show DIGEST`` prints a long content that the verdict names by its digest, and nothing else;
``--rules core`` accepts the plain rules only (docs/CERTIFICATE.md).

``-`` is standard input. Exit status: 0 verified, 1 rejected, 2 the file cannot be read or the
verdict cannot be written.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpproof.proofs.kernel import check_text
from dpproof.proofs.limits import MAX_CHARACTERS
from dpproof.proofs.verdict import Rejected, Verdict, VerifiedUnder

_NAME: Final = re.compile("[a-z/-]+")
USAGE: Final = (
    "usage: python -P -m dpproof.proofs CERTIFICATE.json [--rules core] [--show DIGEST]\n"
)
OPTIONS: Final = {"--rules", "--show"}
VERIFIED, REJECTED, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one file and print the verdict, or one content that it names by its digest."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & set(given):
        sys.stdout.write(f"{USAGE}\n{__doc__}")
        return VERIFIED
    options = dict(zip(given[1::2], given[2::2], strict=False))
    show, core = options.get("--show", ""), options.get("--rules", "")
    odd = len(given) % 2 and len(options) == len(given) // 2 and options.keys() <= OPTIONS
    if not odd or core not in {"", "core"}:
        sys.stderr.write(USAGE)
        return UNREADABLE
    try:
        return _answer(given[0], core, show)
    except OSError as error:  # of standard output: let what is still buffered go nowhere
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _unanswered(error.strerror or str(error))


def _answer(path: str, core: str, show: str) -> int:
    """Check the file at a path, or standard input for ``-``, and print the verdict."""
    if sys.stdout is None:
        return _unanswered("standard output is closed: nobody would see a verdict")
    try:
        content = _read(path)
    except (OSError, ValueError) as error:
        return _unanswered(f"{path}: {getattr(error, 'strerror', None) or error}")
    text = content.decode("utf-8", errors="replace")
    verdict = check_text(text, (core,)) if core else check_text(text)
    if isinstance(verdict, Rejected):
        _write("\n".join(lines(verdict)) + "\n")
        return REJECTED
    if show and show not in verdict.details:
        return _unanswered(
            f"the verdict names no content {show!r}; without --show it prints those that it has"
        )
    _write((verdict.details[show] if show else "\n".join(lines(verdict))) + "\n")
    return VERIFIED


def _read(path: str) -> bytes:
    """Return what a file holds, up to what is too long for a certificate anyway."""
    if path != "-":
        with Path(path).open("rb") as file:
            return file.read(4 * MAX_CHARACTERS + 1)
    if sys.stdin is None:
        raise ValueError("standard input is closed; give the path of a certificate")
    return sys.stdin.buffer.read(4 * MAX_CHARACTERS + 1)


def _unanswered(reason: str) -> int:
    """Say in one line why there is no verdict."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(" ".join(f"proofs: {reason}".split()) + "\n")
    return UNREADABLE


def lines(verdict: Verdict) -> list[str]:
    """Return a verdict as lines for readers."""
    if isinstance(verdict, Rejected):
        place = "" if verdict.step is None else f"step {verdict.step}, "
        rule = verdict.rule if _NAME.fullmatch(verdict.rule) else json.dumps(verdict.rule)
        return [f"Rejected: {place}{rule}: {verdict.reason}"]
    said = [f"Verified: {verdict.claim}"]
    if isinstance(verdict, VerifiedUnder):
        assumed = [f"  {number}. {text}" for number, text in enumerate(verdict.assumptions, 1)]
        said += ["provided that", *assumed]
        if verdict.labels:
            called = [f"  {text}" for text in verdict.labels]
            said += ["in the words of the certificate's author, which prove nothing", *called]
    return [*said, f"by the rule sets: {', '.join(verdict.rule_sets)}"]


def _write(text: str) -> None:
    """Print text; characters that the terminal's encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
