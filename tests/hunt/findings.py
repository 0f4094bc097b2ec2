"""Past findings, replayed first: sources, and what their answers have to keep to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpproof import proofs
from dpproof.accountant import Bound
from tests.hunt.case import Case, Judge
from tests.hunt.truth import MP, Real, is_above, is_below

_FILE = Path(__file__).parent / "findings.json"


def findings() -> Iterator[tuple[str, Case]]:
    """What was wrong, and the question that showed it."""
    for row in json.loads(_FILE.read_text(encoding="utf-8")):
        yield row["wrong"], Case(row["source"], _judge(row), must_answer="refused" not in row)


def _judge(row: dict[str, Any]) -> Judge:
    def judge(answer: object) -> str:
        if row.get("refused") == "always":
            return f"answered {answer!r}, which is to be refused"
        if "says" in row:
            return "" if row["says"] in str(answer) else f"{row['says']!r} is not in {answer}"
        if "verdict" in row:
            return _judge_certificate(answer, row["verdict"])
        if not isinstance(answer, Bound):
            return f"not a bracket: {answer!r}"
        return _judge_bound(
            answer, MP.mpf(row.get("above", "-inf")), MP.mpf(row.get("below", "inf"))
        )

    return judge


def _judge_bound(answer: Bound, above: Real, below: Real) -> str:
    if is_below(answer.upper, above):
        return f"upper end {answer.upper!r} below the truth {MP.nstr(above, 20)}"
    if is_above(answer.lower, below):
        return f"lower end {answer.lower!r} above the truth {MP.nstr(below, 20)}"
    return ""


def _judge_certificate(answer: object, verdict: str) -> str:
    found = (
        type(proofs.check(answer)).__name__ if isinstance(answer, proofs.Certificate) else answer
    )
    return "" if str(found).startswith(verdict) else f"the checker says {found}"
