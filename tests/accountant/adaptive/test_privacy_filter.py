"""Filters and odometers among threads, copies and processes."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant import (
    GDP,
    RDP,
    ZCDP,
    ApproxDPFilter,
    ApproxDPOdometer,
    BudgetExceeded,
    GDPFilter,
    GDPOdometer,
    NotShared,
    PureDP,
    RenyiFilter,
    RenyiOdometer,
    ZCDPFilter,
    ZCDPOdometer,
)

ADMITTED = 256
UNIT = Fraction(1, 1024)
FILTERS: list[tuple[Callable[[], Any], Any]] = [
    (lambda: ZCDPFilter(rho=ADMITTED * UNIT), ZCDP(rho=UNIT)),
    (lambda: GDPFilter(mu=Fraction(1, 2)), GDP(mu_squared=UNIT)),
    (lambda: RenyiFilter(order=4, epsilon=ADMITTED * UNIT), RDP(points=[(4, UNIT)])),
]
ODOMETERS: list[Callable[[], Any]] = [
    ZCDPOdometer,
    GDPOdometer,
    lambda: RenyiOdometer(order=4),
    lambda: ApproxDPOdometer(failures=Fraction(1, 10**6)),
]
SPENT: list[Callable[[], Any]] = [
    *(make for make, _ in FILTERS),
    lambda: ApproxDPFilter(epsilon=1, delta=1e-6),
    *ODOMETERS,
]


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads change after almost every instruction."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(threads: int, work: Callable[[], None]) -> None:
    """Run the work in many threads that start at once."""
    start = threading.Barrier(threads)

    def run() -> None:
        start.wait()
        work()

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize(("make", "part"), FILTERS)
def test_threads_are_admitted_exactly_the_budget(make: Callable[[], Any], part: Any) -> None:  # noqa: ANN401
    """Sixteen threads that spend until they are refused are admitted as often as the budget is."""
    budget, admitted = make(), []

    def spend() -> None:
        try:
            while True:
                budget.spend(part)
                admitted.append(1)
        except BudgetExceeded:
            pass

    together(16, spend)

    assert len(admitted) == ADMITTED
    assert not budget.admits(part)
    assert len(budget.guarantee().derivation.premises) == ADMITTED


@pytest.mark.usefixtures("switching")
def test_threads_lose_nothing_of_an_odometer() -> None:
    """What sixteen threads spend is the sum of all."""
    odometer = ZCDPOdometer()

    def spend() -> None:
        for _ in range(50):
            odometer.spend(ZCDP(rho=UNIT))

    together(16, spend)
    whole = ZCDPOdometer()
    whole.spend(ZCDP(rho=800 * UNIT))

    assert odometer.spent(delta=1e-6) == whole.spent(delta=1e-6)


@pytest.mark.parametrize("make", SPENT)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_there_is_no_second_budget(make: Callable[[], Any], again: Callable[[Any], Any]) -> None:
    """Copies and pickles, also inside of something else, are refused with what to use instead."""
    for thing in (make(), [make()]):
        if again is copy.copy and isinstance(thing, list):
            continue
        with pytest.raises(NotShared, match="Ledger"):
            again(thing)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize("make", SPENT)
def test_a_forked_process_spends_nothing(make: Callable[[], Any]) -> None:
    """Spending in the child is refused, even if a lock was held when it was forked."""
    budget, small = make(), PureDP(epsilon=1e-3)
    budget._lock.acquire()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking a process with threads
        child = os.fork()
    if child == 0:  # pragma: no cover  # another process
        try:
            budget.spend(small)
        except NotShared:
            os._exit(17)
        finally:
            os._exit(1)
    budget._lock.release()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    budget.spend(small)


def test_an_odometer_of_huge_costs_is_infinite_without_a_warning() -> None:
    """Costs next to the largest float, and above it, are answered without an overflow."""
    for size in (Fraction(10**300), Fraction(10**400)):
        for make, part in (
            (ZCDPOdometer, PureDP(epsilon=size)),
            (ZCDPOdometer, GDP(mu=size)),
            (GDPOdometer, GDP(mu=size)),
            (ODOMETERS[2], ZCDP(rho=size)),
        ):
            odometer = make()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                odometer.spend(part)

                assert odometer.spent(delta=1e-6) >= 1e300
