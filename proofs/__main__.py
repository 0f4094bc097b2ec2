"""``python -m proofs CERTIFICATE.json``: needs the standard library and python-flint only.

Exit status: 0 verified, 1 rejected, 2 the file cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from proofs.certificate import MAX_CHARACTERS
from proofs.kernel import check_text
from proofs.verdict import Rejected, Verdict, VerifiedUnder

VERIFIED, REJECTED, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one file and print the verdict."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 1:
        sys.stderr.write("usage: python -m proofs CERTIFICATE.json\n")
        return UNREADABLE
    try:
        with Path(given[0]).open("rb") as file:
            content = file.read(4 * MAX_CHARACTERS + 1)
    except OSError as error:
        sys.stderr.write(f"proofs: {error}\n")
        return UNREADABLE
    verdict = check_text(content.decode("utf-8", errors="replace"))
    _write("\n".join(lines(verdict)) + "\n")
    return REJECTED if isinstance(verdict, Rejected) else VERIFIED


def lines(verdict: Verdict) -> list[str]:
    """A verdict for readers."""
    if isinstance(verdict, Rejected):
        place = "" if verdict.step is None else f"step {verdict.step}, "
        return [f"Rejected: {place}{verdict.rule}: {verdict.reason}"]
    if isinstance(verdict, VerifiedUnder):
        assumed = [f"  {number}. {text}" for number, text in enumerate(verdict.assumptions, 1)]
        return [f"Verified: {verdict.claim}", "provided that", *assumed]
    return [f"Verified: {verdict.claim}"]


def _write(text: str) -> None:
    """Print text; characters that the terminal's encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


if __name__ == "__main__":
    sys.exit(main())
