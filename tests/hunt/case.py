"""A case: one question to the library, as source, and how its answer is judged."""

from __future__ import annotations

import enum
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

from dpproof import accountant
from tests.hunt.names import NAMES

LONGEST = 5.0  # seconds of the processor for one answer; longer ones are listed, not wrong
Judge = Callable[[object], str]
"""What is wrong with an answer; empty if nothing is."""


@final
@dataclass(frozen=True)
class Case:
    """A question and its judge.

    Attributes:
        source: a Python expression in the names of ``names.py``.
        judge: compares its value with the truth.
        must_answer: whether a typed refusal is a violation, too.
    """

    source: str
    judge: Judge
    must_answer: bool = False


class Outcome(enum.Enum):
    """What became of a case."""

    HELD = "held"
    REFUSED = "refused"
    SLOW = "slow"
    VIOLATED = "violated"


@final
@dataclass(frozen=True)
class Result:
    """The outcome, and what is wrong if something is."""

    outcome: Outcome
    reason: str = ""


class TooSlowError(Exception):
    """An answer took longer than allowed."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in what runs for longer; only where signals are, in the main thread."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(case: Case, seconds: float = LONGEST) -> Result:
    """Ask the library, and judge what it answers."""
    try:
        with limited(seconds):
            return _run(case)
    except TooSlowError:
        return Result(Outcome.SLOW, f"more than {seconds:g} s")


def _run(case: Case) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            answer = eval(case.source, dict(NAMES))  # noqa: S307  # our own text
        except accountant.PrivacyError as refusal:
            if case.must_answer:
                return Result(Outcome.VIOLATED, f"refused: {refusal}")
            return Result(Outcome.REFUSED, str(refusal))
        except TooSlowError:
            raise
        except Exception:  # noqa: BLE001  # every untyped error is what is looked for
            return Result(Outcome.VIOLATED, f"untyped error: {_last_error()}")
    try:
        wrong = case.judge(answer)
    except TooSlowError:
        raise
    except Exception:  # noqa: BLE001  # an answer without a judgement is not one that held
        return Result(Outcome.VIOLATED, f"no judgement of {answer!r}: {_last_error()}")
    return Result(Outcome.VIOLATED if wrong else Outcome.HELD, wrong)


def _last_error() -> str:
    """Where the error that is handled came from, and what it says."""
    return " | ".join(traceback.format_exc().strip().splitlines()[-3:])
