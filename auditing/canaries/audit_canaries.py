"""``audit_canaries``: is a training run as private as claimed, by a few long runs?"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError, Form, withholding
from dpproof.accountant.relation import AddRemove
from dpproof.auditing.canaries.made import margin_score
from dpproof.auditing.canaries.membership import (
    CanaryReport,
    Coins,
    conclude,
    finite_scores,
    plan_canaries,
)
from dpproof.auditing.counts.claim import Claim
from dpproof.auditing.trials.drawing import result_of
from dpproof.auditing.trials.fingerprint import identity
from dpproof.auditing.trials.trial_store import Chunk, TrialStore

Fit = Callable[[Any, np.random.Generator], Any]
ScoreOfCanaries = Callable[[Any, Any], Any]


def audit_canaries(
    fit: Fit,
    canaries: Any,  # noqa: ANN401  # records of any kind
    claim: object,
    *,
    data: Any = None,  # noqa: ANN401
    score: ScoreOfCanaries = margin_score,
    runs: int = 1,
    significance: Number = 0.05,
    delta: Number | None = None,
    seed: int | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    store: str | Path | None = None,
    version: str | None = None,
) -> CanaryReport:
    """Train with canaries, each in or out by its own coin, and test a claim by guessing the coins.

    Statement: if the claim holds for the inclusion of each canary, whatever the others, the outcome
        is ``VIOLATION`` with probability at most ``significance``. ``bound_membership`` has the
        tests. Coins of several runs are those of one: a coin moves only its own run.
    Assumes: runs share no randomness; ``fit`` and ``score`` know the coins by the data alone. A
        killed run is drawn again with the same coins and ``rng``: where ``fit`` has randomness of
        its own, it was not killed for what it showed.
    Method: one run is tested as in ``bound_membership``. Of several, those tests have half of the
        significance once all are finished; ``RunBet`` has the other half, whenever the time ends.
    Proof: the scores of run k are fixed by the seed and by what ``fit`` draws, whenever it runs. A
        report sees a prefix of these runs; ``RunBet`` is wrong at any prefix with probability at
        most half of the significance, the tests of all runs, made once, with the other half.

    Args:
        fit: ``(data, rng) -> output``. The output is all that the claim is about; ``rng`` may be
            ignored. On processes it has to be picklable, as ``data`` and ``score``.
        canaries: an array or a list of records, or a tuple of such, as rows and labels.
        claim: a guarantee under add-remove, or ``(epsilon, delta)``.
        data: what is trained on beside canaries, of the same kind; None is nothing.
        score: ``(output, canaries) -> numbers``, high for a canary that seems to be in.
        runs: planned runs, fixed in advance.
        significance: error probability, in (0, 1).
        delta: where epsilon is bounded; by default where the claim states it, else 1e-6.
        seed: of the coins and of ``rng``; by default a fresh one, or that of the store.
        seconds: no run begins later. Those that have begun are waited for.
        executor: any ``concurrent.futures.Executor``; None runs here.
        store: a SQLite file that keeps seed and scores of finished runs; the same call goes on. It
            has nothing of ``data``. One audit at a time may use it: it is locked.
        version: names ``fit`` and ``score`` for the store, in place of their code.
    Raises:
        ParameterError: a claim under another relation.
        DataError: canaries without a length, scores that are not finite, or an error of ``fit``; it
            shows no data.
        StoreRefused: the file is of another audit, in use, or not of this kind.
    Example:
        >>> def fit(rows, rng):
        ...     return rows.sum(axis=0) + rng.normal(scale=0.5, size=rows.shape[1])
        >>> canaries = np.eye(400)
        >>> seen = audit_canaries(fit, canaries, (2, 1e-5), score=lambda out, _: out, seed=1)
        >>> seen.outcome.name, seen.right[-1] > 300
        ('VIOLATION', True)
    """
    count, claimed = _length(canaries), Claim.of(claim, delta)
    relation = claimed.guarantee.relation
    if not isinstance(claim, tuple) and not isinstance(relation, AddRemove):
        raise ParameterError("claim", str(relation), "under add-remove: canaries are in or out")
    plan = plan_canaries(claim, count, runs=runs, significance=significance, delta=delta)
    about, stated = dict[str, str](), None if seed is None else arguments.whole(seed=seed)
    if store is not None:
        about = {
            "fit": identity((fit, score)) if version is None else f"version {version}",
            "canaries": identity(canaries, code=False),
            "claim": identity(claimed.guarantee, code=False),
            "plan": identity((plan.delta, runs, plan.significance), code=False),
        }
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    results = dict[int, Chunk]()
    with nullcontext() if store is None else TrialStore(store, about, stated) as kept:
        fresh = secrets.randbits(63) if stated is None else stated
        chosen = fresh if kept is None else kept.seed
        for position in range(runs):
            chunk = None if kept is None else kept.chunk(position, count)
            if chunk is not None:
                results[position] = finite_scores(chunk[0], count), chunk[1]
        missing = [position for position in range(runs) if position not in results]
        tasks = [_Run(fit, canaries, data, score, chosen, position) for position in missing]
        for position, chunk in _finished(tasks, executor, deadline):
            results[position] = chunk
            if kept is not None:
                kept.add(position, chunk)
    done = next((n for n in range(runs) if n not in results), runs)
    scores, coins = (
        np.array([results[n][part] for n in range(done)]).reshape(done, count) for part in (0, 1)
    )
    return conclude(scores, coins == 1, claimed, plan, runs=done, seed=chosen)


def _length(records: Any) -> int:  # noqa: ANN401
    """Return the number of records."""
    first = records[0] if isinstance(records, tuple) and records else records
    if not isinstance(first, Sized):
        raise DataError("canaries", Form.of(records), "an array, a list or a tuple")
    return withholding(first.__len__)()


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Run:
    """One run, on any process: everything it needs to be made again."""

    fit: Fit
    canaries: Any
    data: Any
    score: ScoreOfCanaries
    seed: int
    position: int

    def __call__(self) -> tuple[int, Chunk]:
        """Toss the coins, train, and return its position, the score of every canary, and coins."""
        count = _length(self.canaries)
        root = np.random.SeedSequence(entropy=self.seed, spawn_key=(self.position,))
        tossed, noise = map(np.random.default_rng, root.spawn(2))
        coins = np.asarray(tossed.integers(0, 2, count) == 1)
        data = withholding(_parts)(lambda part: _taken(part, coins), self.canaries)
        if self.data is not None:
            data = withholding(_parts)(_joined, self.data, data)
        output = withholding(self.fit)(data, noise)
        scores = finite_scores(withholding(self.score)(output, self.canaries), count)
        return self.position, (scores, coins)


def _parts(do: Callable[..., Any], *records: Any) -> Any:  # noqa: ANN401
    """Apply a function to records, or to every part of a tuple of them."""
    if isinstance(records[0], tuple):
        return tuple(do(*parts) for parts in zip(*records, strict=True))
    return do(*records)


def _taken(part: Any, coins: Coins) -> Any:  # noqa: ANN401
    """Return the records whose coin is up."""
    if isinstance(part, list):
        return [one for one, coin in zip(part, coins, strict=True) if coin]
    return part[coins]


def _joined(part: Any, included: Any) -> Any:  # noqa: ANN401
    """Return some data with the included canaries at its end."""
    return part + included if isinstance(part, list) else np.concatenate([part, included])


def _finished(
    tasks: list[_Run], executor: Executor | None, deadline: float
) -> Iterable[tuple[int, Chunk]]:
    """Yield positions and results of runs as they finish; after the deadline none begins."""
    if executor is None:
        for task in tasks:
            if time.monotonic() >= deadline:
                return
            yield task()
        return
    pending = {executor.submit(task): task.position for task in tasks}
    try:
        while pending:
            left = None if math.isinf(deadline) else max(0.0, deadline - time.monotonic())
            done, _ = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                pending = {one: place for one, place in pending.items() if not one.cancel()}
                deadline = math.inf
            for future in done:
                yield (position := pending.pop(future)), result_of(future, position)
    finally:
        for future in pending:
            future.cancel()
