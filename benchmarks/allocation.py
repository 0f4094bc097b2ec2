"""Random allocation: this library, Monte Carlo, and the accountants that are installed."""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from benchmarks.accountants import Dpproof
from benchmarks.report import Goal, Progress, Section, seconds
from benchmarks.worker import Workers
from dpproof.accountant import L2, L2Contribution, RandomAllocation
from dpproof.mechanisms import Gaussian, MatrixMechanism, MinSeparation, SquareRoot

_DELTA: Final = 1e-6
_COMMON: Final = 1e-3  # Delta that Monte Carlo is asked for.
_SAMPLES, _CHUNK = 40_000, 2_000  # Of Monte Carlo.
_DEVIATIONS: Final = 5.0  # Of its interval.
_EVENT: Final = "RandomAllocationDpEvent"
Ends = tuple[float | None, float | None]


@final
@dataclass(frozen=True, slots=True)
class _Run:
    """Epochs in which every record draws one round.

    Attributes:
        rounds: of an epoch.
        sigma: noise over a contribution.
        epochs: each with a draw of its own.
    """

    rounds: int
    sigma: float
    epochs: int


_RUNS: Final = (_Run(50, 1.0, 1), _Run(50, 1.0, 10), _Run(1000, 1.0, 1), _Run(100, 0.7, 1))
_GRID: Final = tuple(
    _Run(rounds, sigma, epochs)
    for rounds in (2, 100, 10_000, 1_000_000)
    for sigma in (0.6, 1.0, 2.0)
    for epochs in (1, 10)
)
_HUNDRED, _MILLION = _Run(100, 1.0, 1), _Run(1_000_000, 1.0, 1)


def allocation(_: Workers, __: int, progress: Progress) -> Section:
    """Ask everybody for epsilon, and Monte Carlo for a delta at an epsilon of ours."""
    section = Section(
        name="allocation",
        title=f"Random allocation: epsilon at delta {_DELTA:g}",
        columns=("run", "who", "lower", "upper", "time"),
    )
    asked: dict[str, Callable[[_Run], Ends]] = {"dpproof": _ours}
    peers: tuple[tuple[str, str, Callable[[_Run], Ends]], ...] = (
        ("PLD_accounting", "PLD_accounting", _pld_accounting),
        ("dp-accounting PLD", "dp_accounting", _dp_accounting),
        ("jax-privacy", "jax_privacy", _dp_accounting),  # states the event of dp-accounting
    )
    for name, module, ask in peers:
        if importlib.util.find_spec(module) is None:
            section.notes.append(f"Skipped: {name} is not installed.")
        elif ask is _dp_accounting and not _has_event():
            section.notes.append(f"Skipped: {name} has no {_EVENT} in the versions installed.")
        else:
            asked[name] = ask
    outside = []
    for run in _RUNS:
        what = f"1 of {run.rounds} rounds, sigma {run.sigma:g}, {run.epochs} epochs"
        ours = _ours(run)
        for name, ask in asked.items():
            progress(f"{what}: {name}")
            spent, (low, high) = _timed(lambda ask=ask, run=run: ask(run))  # type: ignore[misc]
            section.rows.append((what, name, _text(low), _text(high), seconds(spent)))
            section.data.append({**_fields(run), "who": name, "lower": low, "upper": high})
            apart = (high or math.inf) < (ours[0] or 0.0) or (low or 0.0) > (ours[1] or math.inf)
            outside += [(what, name)] * apart
        progress(f"{what}: Monte Carlo")
        start = time.process_time()
        low, high = _monte_carlo(run, _ours(run, _COMMON)[1] or 0.0)
        spent = time.process_time() - start
        shown = f"{low:.3e}", f"{high:.3e}"
        section.rows.append((what, "Monte Carlo: delta", *shown, seconds(spent)))
        outside += [(what, "Monte Carlo")] * (not low <= _COMMON <= high)
    section.notes.append(
        f"Monte Carlo: delta at our epsilon of delta {_COMMON:g}, by {_SAMPLES} outcomes with the "
        f"record, and {_DEVIATIONS:g} standard errors about it."
    )
    goal = "no bracket beside ours"
    section.goals = [
        Goal("random allocation, all who answer", goal, str(len(outside)), not outside),
        *_own_goals(progress),
    ]
    return section


def _timed(ask: Callable[[], Ends]) -> tuple[float, Ends]:
    """Return the processor time of an answer with all caches of ours empty, and the answer."""
    Dpproof().forget()
    start = time.process_time()
    ends = ask()
    return time.process_time() - start, ends


def _own_goals(progress: Progress) -> list[Goal]:
    """Return the goals of many rounds, of widths, and of correlated noise."""
    times = {}
    for run in (_HUNDRED, _MILLION):
        progress(f"1 of {run.rounds} rounds")
        times[run] = sorted(_timed(lambda run=run: _ours(run))[0] for _ in range(5))[2]  # type: ignore[misc]
    widths = {}
    for run in _GRID:
        progress(f"width of {run}")
        low, high = _ours(run)
        widths[run] = 1.0 - (low or 0.0) / (high or 1.0)
    widest = max(widths, key=lambda run: widths[run])
    progress("1,000 rounds of correlated noise")
    matrix = _timed(_correlated)[0]
    ratio = times[_MILLION] / times[_HUNDRED]
    where = f"1 of {widest.rounds} rounds, sigma {widest.sigma:g}, {widest.epochs} epochs"
    return [
        Goal(
            "one of a million rounds",
            "< 100 ms, 1.5x one of 100",
            f"{seconds(times[_MILLION])}, {ratio:.2f}x",
            times[_MILLION] < 0.1 and ratio <= 1.5,
        ),
        Goal(
            f"random allocation, widest of {len(widths)} brackets",
            "<= 1e-6",
            f"{widths[widest]:.1e}, {where}",
            widths[widest] <= 1e-6,
        ),
        Goal("1,000 rounds of correlated noise", "< 1 s", seconds(matrix), matrix < 1.0),
    ]


def _correlated() -> Ends:
    noise = MatrixMechanism(
        factor=SquareRoot(rounds=1000),
        sigma=4,
        sensitivity=L2Contribution(1),
        participation=MinSeparation(100),
    )
    bound = noise.guarantee().epsilon(delta=_DELTA)
    return bound.lower, bound.upper


def _ours(run: _Run, delta: float = _DELTA) -> Ends:
    noise = Gaussian(sigma=run.sigma, sensitivity=L2(1))
    epoch = noise.allocate(RandomAllocation(steps=run.rounds))
    bound = epoch.repeat(run.epochs).guarantee().epsilon(delta=delta)
    return bound.lower, bound.upper


def _pld_accounting(run: _Run) -> Ends:
    upper, lower = importlib.import_module("PLD_accounting").gaussian_allocation_epsilon_range(
        delta=_DELTA, sigma=run.sigma, num_steps=run.rounds, num_epochs=run.epochs
    )
    return lower, upper


def _dp_accounting(run: _Run) -> Ends:
    import dp_accounting  # noqa: PLC0415

    event = getattr(dp_accounting.dp_event, _EVENT)(
        event=dp_accounting.GaussianDpEvent(run.sigma), num_selected=1, num_steps=run.rounds
    )
    accountant = dp_accounting.pld.PLDAccountant().compose(event, run.epochs)
    return None, float(accountant.get_epsilon(_DELTA))


def _has_event() -> bool:
    if importlib.util.find_spec("dp_accounting") is None:
        return False
    import dp_accounting  # noqa: PLC0415

    return hasattr(dp_accounting.dp_event, _EVENT)


def _monte_carlo(run: _Run, epsilon: float) -> tuple[float, float]:
    """Return the mean of (1 - e^epsilon Q/P)_+ under P, the record there, and its errors."""
    rng, gains = np.random.default_rng(1), []
    for _ in range(_SAMPLES // _CHUNK):
        loss = np.zeros(_CHUNK)
        for _ in range(run.epochs):
            x = rng.standard_normal((_CHUNK, run.rounds))
            x[:, 0] += 1 / run.sigma
            loss += np.log(np.exp(x / run.sigma - 0.5 / run.sigma**2).mean(axis=1))
        gains.append(np.maximum(-np.expm1(epsilon - loss), 0.0))
    gain = np.concatenate(gains)
    error = _DEVIATIONS * gain.std() / math.sqrt(gain.size)
    return float(gain.mean() - error), float(gain.mean() + error)


def _fields(run: _Run) -> dict[str, Any]:
    return {"rounds": run.rounds, "sigma": run.sigma, "epochs": run.epochs}


def _text(end: float | None) -> str:
    return "-" if end is None else f"{end:.7g}"
