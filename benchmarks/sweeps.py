"""Grids of trainings: all in one call, one by one, and by dp-accounting's PLD, in one process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

from benchmarks import report
from benchmarks.accountants import DpAccountingPld
from benchmarks.cases import Part
from benchmarks.report import Goal, Progress, Section
from benchmarks.worker import Workers
from dpproof.accountant import sweep

_SEED: Final = 1
_POINTS: Final = 1000
_PEER: Final = 12  # of these, so many are asked of the peer, as it takes long
_SECONDS: Final = 1.0  # of the processor, for all


def _questions() -> dict[str, np.ndarray]:
    """Return random trainings: rates .001 to .5, sigma .5 to 10, 10 to 10^6 steps."""
    rng = np.random.default_rng(_SEED)

    def between(least: float, most: float) -> np.ndarray:
        return np.exp(rng.uniform(math.log(least), math.log(most), _POINTS))

    found = {"sampling_rate": between(1e-3, 0.5), "sigma": between(0.5, 10.0)}
    return {**found, "steps": np.floor(between(10.0, 1e6)), "delta": between(1e-12, 1e-4)}


def _taken(work: Callable[[], object]) -> float:
    """Return the processor's seconds."""
    began = time.process_time()
    work()
    return time.process_time() - began


def sweeps(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Ask epsilon of random trainings."""
    del workers
    section = Section(
        name="sweeps",
        title=f"Epsilon of {_POINTS} random trainings, processor time",
        columns=("how", "questions", "time", "a question"),
    )
    asked = _questions()
    found = sweep(**asked)
    alone = np.flatnonzero(found.one_by_one)
    whole = {name: np.delete(one, alone) for name, one in asked.items()}
    progress("all in one call")
    ours = min(_taken(lambda: sweep(**whole)) for _ in range(repeats)) / whole["sigma"].size
    hard = {name: one[alone] for name, one in asked.items()}
    rest = _taken(lambda: sweep(**hard)) if alone.size else 0.0
    rows = [("in arrays", whole["sigma"].size, ours * whole["sigma"].size)]
    rows.append(("asked one by one", alone.size, rest))
    if DpAccountingPld.is_installed():
        progress(DpAccountingPld.name)
        rows.append((DpAccountingPld.name, _PEER, _taken(lambda: _peer(whole))))
    for name, size, seconds in rows:
        each = report.seconds(seconds / size) if size else "-"
        section.rows.append((name, str(size), report.seconds(seconds), each))
        section.data.append({"how": name, "questions": int(size), "seconds": seconds})
    if len(rows) > 2:
        section.notes.append(f"{rows[2][2] / _PEER / ours:.0f} times the peer's speed in arrays.")
    total = rows[0][2]
    met = total <= _SECONDS
    section.goals.append(
        Goal("all that arrays answer", f"<= {_SECONDS:g} s", report.seconds(total), met)
    )
    return section


def _peer(asked: dict[str, np.ndarray]) -> None:
    """Ask the peer for the first few."""
    for row in range(_PEER):
        rate, sigma, steps, delta = (
            float(asked[name][row]) for name in ("sampling_rate", "sigma", "steps", "delta")
        )
        part = Part(mechanism="gaussian", noise=sigma, rate=rate, count=int(steps))
        DpAccountingPld().epsilon([part], Fraction(delta))
