"""A survey without a trusted server: phones randomise answers, and the server only counts them.

    python examples/survey.py ask question.json           the server plans, and publishes a question
    python examples/survey.py answer question.json green  a phone prints its report, one line
    python examples/survey.py count question.json < reports   the server estimates frequencies

The true answer never leaves ``answer``. Whoever sees its report learns at most what the epsilon of
the question says, however many others take part.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import dpproof as dp
from dpproof import mechanisms

COLOURS = ("red", "green", "blue", "none of these")


def ask(file: str) -> None:
    """Plan for a thousand people and an error of four points, and publish the question."""
    best = mechanisms.plan_survey(categories=len(COLOURS), people=1000, error=0.04)[0]
    question = {
        "text": "Which colour is your front door?",
        "answers": COLOURS,
        "mechanism": type(best.mechanism).__name__,
        "epsilon": round(best.epsilon, 3),
    }
    Path(file).write_text(json.dumps(question, indent=2), encoding="utf-8")
    print(f"epsilon {question['epsilon']} by {question['mechanism']}")


def stated(file: str) -> tuple[mechanisms.FrequencyOracle[dp.ReplaceOne], tuple[str, ...]]:
    """Return the mechanism of a question, and its answers."""
    question = json.loads(Path(file).read_text(encoding="utf-8"))
    kind = getattr(mechanisms, question["mechanism"])
    answers = tuple(question["answers"])
    mechanism: mechanisms.FrequencyOracle[dp.ReplaceOne] = kind(
        epsilon=question["epsilon"], categories=len(answers), relation=dp.ReplaceOne()
    )
    return mechanism, answers


def answer(file: str, truth: str) -> None:
    """Print one randomised report, and nothing else. A person must report once."""
    mechanism, answers = stated(file)
    report = mechanism.release(answers.index(truth))
    print(json.dumps(getattr(report, "tolist", lambda: report)()))


def count(file: str, lines: Iterable[str]) -> None:
    """Print the estimated frequency of each answer, and its guaranteed interval."""
    mechanism, answers = stated(file)
    reports = [json.loads(line) for line in lines]
    found = mechanism.frequencies(reports, names=answers)
    rows = zip(found.names, found.projected(), found.lower, found.upper, strict=True)
    for name, share, low, high in rows:
        print(f"{name:>14}: {share:.3f}, with 95 % confidence in [{low:.3f}, {high:.3f}]")


def main(arguments: list[str]) -> None:
    """Run one of the three commands."""
    match arguments:
        case ["ask", file]:
            ask(file)
        case ["answer", file, truth]:
            answer(file, truth)
        case ["count", file]:
            count(file, sys.stdin)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
