"""Accountants, each in a process of its own with limits of its memory and of its time.

Questions go to the processes in turn, so that a slow minute of the machine is slow for all. A
process that runs out of time or memory is ended and started again.
"""

from __future__ import annotations

import importlib
import logging
import math
import multiprocessing
import resource
import signal
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, final

from benchmarks.accountants import Accountant, Ends

SECONDS = 120.0
BYTES = 8 << 30


@final
@dataclass(frozen=True, slots=True)
class Timed:
    """An answer and what it cost.

    Attributes:
        lower: None where the accountant claims none.
        upper: the number that may be claimed.
        wall: median seconds.
        cpu: median seconds of processor time.
        peak: largest resident size of the process so far, bytes.
        allocated: largest traced allocation, bytes, where it was traced.
    """

    lower: float | None
    upper: float
    wall: float
    cpu: float
    peak: int
    allocated: int = 0


@final
@dataclass(frozen=True, slots=True)
class Failed:
    """No answer, and why."""

    why: str


Outcome = Timed | Failed


def _serve(kind: type[Accountant], pipe: Connection) -> None:
    """Answer questions until the pipe closes."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for module in kind.modules:
        importlib.import_module(module)
    accountant = kind()
    while True:
        try:
            method, arguments, traced, seconds = pipe.recv()
        except EOFError:
            return
        signal.alarm(math.ceil(seconds) + 5)  # ends this process even where nobody waits for it
        outcome = _answered(accountant, method, arguments, traced=traced)
        signal.alarm(0)
        pipe.send(outcome)


def _answered(
    accountant: Accountant, method: str, arguments: tuple[Any, ...], *, traced: bool
) -> Outcome:
    accountant.forget()
    if traced:
        tracemalloc.start()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        ends: Ends = getattr(accountant, method)(*arguments)
    except Exception as error:  # noqa: BLE001  # whatever another library raises is its outcome
        return Failed(type(error).__name__)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    allocated = tracemalloc.get_traced_memory()[1] if traced else 0
    tracemalloc.stop()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Timed(ends[0], ends[1], wall, cpu, peak, allocated)


@final
@dataclass(slots=True)
class Worker:
    """One accountant's process."""

    kind: type[Accountant]
    _process: SpawnProcess | None = None
    _pipe: Connection | None = None

    def ask(
        self, method: str, *arguments: object, seconds: float = SECONDS, traced: bool = False
    ) -> Outcome:
        """Return one answer, or the reason that there is none."""
        pipe = self._started()
        pipe.send((method, arguments, traced, seconds))
        try:
            if pipe.poll(seconds):
                outcome: Outcome = pipe.recv()
                return outcome
            why = f"> {seconds:.0f} s"
        except (EOFError, OSError):
            why = "process died"
        self.stop()
        return Failed(why)

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process, self._pipe = None, None

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(self.kind, theirs), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe


@final
@dataclass(slots=True)
class Workers:
    """All accountants, asked in turn."""

    workers: dict[str, Worker] = field(default_factory=dict)

    def __init__(self, kinds: Sequence[type[Accountant]]) -> None:
        """Start no process before its first question."""
        self.workers = {kind.name: Worker(kind) for kind in kinds}

    def ask(
        self, method: str, *arguments: object, repeats: dict[str, int], seconds: float = SECONDS
    ) -> dict[str, Outcome]:
        """Ask everybody the same, the round repeated, and take medians.

        Args:
            method: "epsilon", "delta" or "calibrate".
            arguments: of the method.
            repeats: how often for each name; 0, or none, leaves it out.
            seconds: limit for one answer.
        """
        seen: dict[str, list[Outcome]] = {name: [] for name in self.workers}
        for turn in range(max(repeats.values())):
            for name, worker in self.workers.items():
                failed = any(isinstance(outcome, Failed) for outcome in seen[name])
                if turn < repeats.get(name, 0) and not failed:
                    seen[name].append(worker.ask(method, *arguments, seconds=seconds))
        return {name: _median(outcomes) for name, outcomes in seen.items() if outcomes}

    def stop(self) -> None:
        """End every process."""
        for worker in self.workers.values():
            worker.stop()


def _median(outcomes: list[Outcome]) -> Outcome:
    """Return the last answer with the median times, or the first failure."""
    timed: list[Timed] = []
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            return outcome
        timed.append(outcome)
    last = timed[-1]
    return Timed(
        last.lower,
        last.upper,
        statistics.median(one.wall for one in timed),
        statistics.median(one.cpu for one in timed),
        last.peak,
        last.allocated,
    )
