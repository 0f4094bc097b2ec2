"""Times of every mechanism, as in its contract test: answers, and a million released numbers.

The samplers of ``benchmarks/samplers.py`` are timed as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from benchmarks import samplers
from benchmarks.accountants import Dpproof
from benchmarks.natural import Asked, measured
from benchmarks.report import Goal, Progress, Section, seconds
from benchmarks.worker import Workers
from dpproof.accountant import self_compose
from dpproof.mechanisms import Mechanism
from dpproof.mechanisms.mechanism import flatten
from dpproof.mechanisms.samplers.rng import SystemRng
from tests.contracts import every_mechanism
from tests.contracts.mechanism_contract import MechanismContract

DELTA = Fraction(1, 10**6)
USES = (1, 100)
QUICK = 0.05  # seconds of processor time for an answer, caches empty
NARROW = 1e-6  # relative width of a bracket
MILLION = 2.0  # seconds of processor time for a million numbers
_ENOUGH = 0.1  # seconds of processor time from which a rate is read off


def mechanisms(_: Workers, repeats: int, progress: Progress) -> Section:
    """Ask every mechanism for epsilon, and time what it releases."""
    section = Section(
        name="mechanisms",
        title="Every mechanism: epsilon at delta = 1e-6, and a million numbers",
        columns=("mechanism", *_headings(), "a million numbers"),
    )
    answers: list[Asked] = []
    rates: dict[str, float] = {}
    for contract in sorted(every_mechanism.contracts(), key=lambda one: one.__name__):
        name = contract.__name__.removeprefix("Test")
        progress(name)
        asked = [_asked(name, contract, uses, repeats) for uses in USES]
        answers += asked
        mechanism = contract().mechanism()
        if not type(mechanism).__module__.startswith("dpproof.mechanisms.learning"):
            rates[name] = _million(mechanism, contract().data())
        found = [
            text
            for one in asked
            for text in (one.answer.strip("[]"), seconds(one.cpu), f"{one.width:.1e}")
        ]
        took = seconds(rates[name]) if name in rates else "-"
        section.rows.append((name, *found, took))
        section.data += [
            {"what": one.what, "cpu": one.cpu, "width": one.width, "answer": one.answer}
            for one in asked
        ]
    for name, run in samplers.cases(SystemRng()).items():
        progress(name)
        rates[name] = min(_took(run) for _ in range(repeats))
        section.rows.append((name, *["-"] * 3 * len(USES), seconds(rates[name])))
    section.data += [{"what": name, "million": took} for name, took in rates.items()]
    section.notes.append(
        "Times are processor times: of an answer from the constructor on with all caches empty, of "
        "released numbers by the rate of fewer where a million takes long; `-` where fits of a "
        "learner would be timed, or there is nothing to ask. Epsilon is infinite, exactly, where "
        "the mechanism fails with a probability above delta."
    )
    section.goals = _goals(answers, rates)
    return section


def _headings() -> list[str]:
    """Return what is measured of each number of uses."""
    words = [f"{uses} use{'s' * (uses > 1)}" for uses in USES]
    return [heading for one in words for heading in (f"epsilon, {one}", "time", "width")]


def _asked(name: str, contract: type[MechanismContract], uses: int, repeats: int) -> Asked:
    """Return the quickest of some cold answers."""

    def once() -> Asked:
        Dpproof().forget()
        return measured(
            f"{name}, {uses}",
            lambda: self_compose(contract().mechanism().guarantee(), uses).epsilon(delta=DELTA),
        )

    return min((once() for _ in range(repeats)), key=lambda one: one.cpu)


def _million(mechanism: Mechanism[Any], data: object) -> float:
    """Return the seconds that a million numbers take, at the rate of fewer if these are enough."""
    size, each = 1000, flatten(mechanism.release_many(data, 1)).size
    while True:

        def run(size: int = size) -> object:
            return mechanism.release_many(data, size)

        # The better of two, as the first exact comparison imports what it needs.
        took = min(_took(run), _took(run))
        if took >= _ENOUGH or size >= samplers.DRAWS:
            return took * samplers.DRAWS / (size * each)
        size *= 10


def _took(run: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def _goals(answers: list[Asked], rates: dict[str, float]) -> list[Goal]:
    """Return how many reach each goal, and which do not."""
    slow = {one.what: seconds(one.cpu) for one in answers if one.cpu > QUICK}
    wide = {one.what: f"{one.width:.1e}" for one in answers if one.width > NARROW}
    long = {name: seconds(took) for name, took in rates.items() if took > MILLION}
    return [
        _goal("answers of mechanisms within 50 ms", len(answers), slow),
        _goal("brackets of mechanisms within 1e-6", len(answers), wide),
        _goal("a million numbers within 2 s", len(rates), long),
    ]


def _goal(what: str, count: int, missed: dict[str, str]) -> Goal:
    """Return one goal, the misses with their numbers."""
    words = "; ".join(f"{name}: {value}" for name, value in missed.items())
    found = f"{count - len(missed)}, all but {words}" if missed else str(count)
    return Goal(what, str(count), found, not missed)
