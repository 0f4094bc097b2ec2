"""``python -m proofs CERTIFICATE.json``: needs the standard library and python-flint only.

``--show DIGEST`` prints a long content that the verdict names by its digest, and nothing else;
``--rules core`` accepts the plain rules only (docs/CERTIFICATE.md).

Exit status: 0 verified, 1 rejected, 2 the file cannot be read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from proofs.kernel import check_text
from proofs.limits import MAX_CHARACTERS
from proofs.verdict import Rejected, Verdict, VerifiedUnder

_NAME: Final = re.compile("[a-z/-]+")
USAGE: Final = "usage: python -m proofs CERTIFICATE.json [--rules core] [--show DIGEST]\n"
OPTIONS: Final = {"--rules", "--show"}
VERIFIED, REJECTED, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one file and print the verdict, or one content that it names by its digest."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = dict(zip(given[1::2], given[2::2], strict=False))
    show, core = options.get("--show", ""), options.get("--rules", "")
    odd = len(given) % 2 and len(options) == len(given) // 2 and options.keys() <= OPTIONS
    if not odd or core not in {"", "core"}:
        sys.stderr.write(USAGE)
        return UNREADABLE
    try:
        with Path(given[0]).open("rb") as file:
            content = file.read(4 * MAX_CHARACTERS + 1)
    except OSError as error:
        sys.stderr.write(f"proofs: {error}\n")
        return UNREADABLE
    text = content.decode("utf-8", errors="replace")
    verdict = check_text(text, (core,)) if core else check_text(text)
    if isinstance(verdict, Rejected):
        _write("\n".join(lines(verdict)) + "\n")
        return REJECTED
    if show and show not in verdict.details:
        sys.stderr.write(f"proofs: the verdict names no content {show!r}\n")
        return UNREADABLE
    _write((verdict.details[show] if show else "\n".join(lines(verdict))) + "\n")
    return VERIFIED


def lines(verdict: Verdict) -> list[str]:
    """A verdict for readers."""
    if isinstance(verdict, Rejected):
        place = "" if verdict.step is None else f"step {verdict.step}, "
        rule = verdict.rule if _NAME.fullmatch(verdict.rule) else json.dumps(verdict.rule)
        return [f"Rejected: {place}{rule}: {verdict.reason}"]
    said = [f"Verified: {verdict.claim}"]
    if isinstance(verdict, VerifiedUnder):
        assumed = [f"  {number}. {text}" for number, text in enumerate(verdict.assumptions, 1)]
        said += ["provided that", *assumed]
    return [*said, f"by the rule sets: {', '.join(verdict.rule_sets)}"]


def _write(text: str) -> None:
    """Print text; characters that the terminal's encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


if __name__ == "__main__":
    sys.exit(main())
