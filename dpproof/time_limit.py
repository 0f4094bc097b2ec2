"""Answers within the seconds of ``--seconds``: exact ones, or else what is proved quickly."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, final

import click

from dpproof.accountant.errors import NotCertified, NotImplied, PrivacyError
from dpproof.accountant.relation import Relation
from dpproof.errors import InputError
from dpproof.streams import progress

if TYPE_CHECKING:
    from dpproof.accountant.guarantees.guarantee import Guarantee

LONGEST: Final = 1e9  # seconds
QUICK_ORDERS: Final = (8, 16, 4, 32, 2, 64, 12, 24, 6, 3)  # the most useful first. Heuristic.
ROUGH: Final = "not exact, the time was up: Rényi divergences show that it is safe"
Answer = TypeVar("Answer")


@final
class NotInTime(InputError):
    """No answer is known when the time is up."""


@final
class _TimeIsUp(BaseException):
    """The time is up; no handler of errors keeps it back."""


def ended_in_time(seconds: float | None, work: Callable[[], Any]) -> bool:
    """Run work, stop it when its time is up, and return whether it came to its end."""
    # Where there is no timer (on Windows, and beside the main thread), it is never stopped.
    try:
        with _timer(seconds):
            work()
    except _TimeIsUp:
        return False
    return True


def first_known(
    seconds: float | None, what: str, *ways: Callable[[], Iterator[Answer]]
) -> tuple[Answer, bool]:
    """Return the last answer of the first way that has one in time, and if it is a later way."""
    # The exact way is first. Each has an equal part of the time, and yields ever better answers.
    with progress(None) as step:
        step(what)
        for way in ways:
            answers: list[Answer] = []

            def ask(
                way: Callable[[], Iterator[Answer]] = way, known: list[Answer] = answers
            ) -> None:
                for answer in way():
                    known[:] = [answer]

            with suppress(*() if way is ways[0] else (PrivacyError,)):  # the quick may not be known
                ended_in_time(seconds and seconds / len(ways), ask)
            if answers:
                return answers[0], way is not ways[0]
    raise NotInTime(f"{what} is not known after {seconds or 0:g} seconds; give more")


def in_time(seconds: float | None, what: str, ask: Callable[[], Answer]) -> Answer:
    """Return the one answer there is, if it is known in time."""

    def alone() -> Iterator[Answer]:
        yield ask()

    return first_known(seconds, what, alone)[0]


def shares(seconds: float | None, parts: int) -> Iterator[float | None]:
    """Yield for each of so many parts, when it begins, an equal share of the time that is left."""
    until = time.monotonic() + (seconds or 0.0)
    for left in range(parts, 0, -1):
        yield seconds and max((until - time.monotonic()) / left, 1e-3)


def curves(
    whole: Guarantee[Relation], delta: Fraction
) -> Iterator[tuple[Guarantee[Relation], float]]:
    """Yield Renyi divergences at one order each, of ever smaller epsilon, and this; quickly."""
    from dpproof.accountant.theorems.conversion import notion_to_rdp  # noqa: PLC0415  # --help should not wait for it

    least = math.inf
    for order in QUICK_ORDERS:
        with suppress(NotCertified, NotImplied):
            curve = notion_to_rdp(whole, orders=[order])
            upper = curve.epsilon(delta=delta).upper
            if upper < least:
                least = upper
                yield curve, upper


def known_in(
    seconds: float | None,  # after half of which ``curves`` are asked in its place; None for never
    make: Callable[..., Guarantee[Relation]],  # makes it; called with ``roughly=``
    ask: Callable[[Guarantee[Relation]], Answer],  # the question
    delta: Fraction,  # at which a curve is chosen
    what: str,  # is asked, for the refusal
) -> tuple[Answer, bool]:
    """Return what is asked of a guarantee, and whether it is asked of Renyi divergences alone."""

    def exact() -> Iterator[Callable[[], Answer]]:
        known = ask(make(roughly=False))
        yield lambda: known

    def quick() -> Iterator[Callable[[], Answer]]:
        yield from (partial(ask, curve) for curve, _ in curves(make(roughly=True), delta))

    answer, is_rough = first_known(seconds, what, exact, quick)
    return answer(), is_rough


def seconds_of(_: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Return a time in seconds, which a timer can measure."""
    if text is None:
        return None
    with suppress(ValueError):
        if 0 < float(text) <= LONGEST:
            return float(text)
    expected = f"expected a number of seconds above 0, at most {LONGEST:g}, got {text!r}"
    raise click.BadParameter(expected, param=parameter)


SECONDS: Final = click.option(
    "--seconds", callback=seconds_of, metavar="N", help="Show what is known after N seconds."
)


@contextmanager
def _timer(seconds: float | None) -> Iterator[None]:
    """Raise in the block when its time is up."""
    timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not timed:
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
