"""``python -P -m dpproof.proofs CERTIFICATE.json``, with the standard library and python-flint.

Without ``-P`` Python runs a ``dpproof/`` of the working directory; ``dpproof check`` never does.

``--show DIGEST`` prints a long content that the verdict names by its digest, and nothing else;
``--core`` asks the core alone: it names what extensions conclude, as it does not check that.

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

from dpproof.proofs.core.verdict import Rejected, Verdict, VerifiedUnder
from dpproof.proofs.kernel import at_length, check_text
from dpproof.proofs.limits import MAX_CHARACTERS

_NAME: Final = re.compile("[a-z/-]+")
USAGE: Final = "usage: python -P -m dpproof.proofs CERTIFICATE.json [--core] [--show DIGEST]\n"
VERIFIED, REJECTED, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one file and print the verdict, or one content that it names by its digest."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & set(words):
        sys.stdout.write(f"{USAGE}\n{__doc__}")
        return VERIFIED
    core = "--core" in words
    words = [one for one in words if one != "--core"]
    if len(words) not in {1, 3} or words[1:2] not in ([], ["--show"]):
        sys.stderr.write(USAGE)
        return UNREADABLE
    show = words[2] if words[1:] else ""
    try:
        return _answer(words[0], show, core=core)
    except OSError as error:  # of standard output: let what is still buffered go nowhere
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _unanswered(error.strerror or str(error))


def _answer(path: str, show: str, *, core: bool) -> int:
    """Check the file at a path, or standard input for ``-``, and print the verdict."""
    if sys.stdout is None:
        return _unanswered("standard output is closed: nobody would see a verdict")
    try:
        content = _read(path)
    except (OSError, ValueError) as error:
        return _unanswered(f"{path}: {getattr(error, 'strerror', None) or error}")
    text = content.decode("utf-8", errors="replace")
    verdict = at_length(text) if core else check_text(text)
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
    more = f"and the extensions {', '.join(verdict.extensions)}" if verdict.extensions else "alone"
    return [*said, f"by the core {more}"]


def _write(text: str) -> None:
    """Print text; characters that the terminal's encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
