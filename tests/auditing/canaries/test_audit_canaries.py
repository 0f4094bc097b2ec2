"""Audits by canaries: one call, several runs, time, files and executors."""

from __future__ import annotations

import io
import math
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any, final

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

import dpproof as dp
from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.auditing import Outcome, audit_canaries, orthogonal_canaries
from dpproof.auditing.counts import SamplerFailed, StoreRefused
from dpproof.learn import LogisticRegression, PerceptronClassifier

Rows = NDArray[np.float64]
Rng = np.random.Generator


def total(rows: Rows, rng: Rng) -> Rows:
    """Noise of standard deviation 2 on the sum."""
    return np.asarray(rows.sum(axis=0) + rng.normal(scale=2, size=rows.shape[1]))


def own(output: Rows, canaries: Rows) -> Rows:
    """The coordinate of every canary."""
    return np.asarray(canaries @ output)


def test_result_is_that_of_any_executor_and_of_several_parts(tmp_path: Path) -> None:
    """Threads, and a run that goes on from its file, give the same report."""
    options: dict[str, Any] = {"score": own, "runs": 6, "seed": 3, "data": np.ones((4, 30))}
    whole = audit_canaries(total, np.eye(30), (1, 0), **options)
    with ThreadPoolExecutor(2) as executor:
        assert audit_canaries(total, np.eye(30), (1, 0), executor=executor, **options) == whole
    options |= {"store": tmp_path / "runs", "version": "1"}
    begun = audit_canaries(total, np.eye(30), (1, 0), seconds=0, **options)
    calls = 0

    def twice(rows: Rows, rng: Rng) -> Rows:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise KeyboardInterrupt
        with pytest.raises(StoreRefused, match="locked"):
            audit_canaries(total, np.eye(30), (1, 0), **options)
        return total(rows, rng)

    with pytest.raises(KeyboardInterrupt):
        audit_canaries(twice, np.eye(30), (1, 0), **options)
    with closing(sqlite3.connect(tmp_path / "runs")) as database:
        kept = database.execute("SELECT position FROM chunks").fetchall()

    assert begun.outcome is Outcome.INCONCLUSIVE
    assert begun.runs == 0
    assert kept == [(0,), (1,)]
    options["seed"] = None
    assert audit_canaries(total, np.eye(30), (1, 0), **options) == whole
    for changed in ({"version": "2"}, {"runs": 7}, {"seed": 4}):
        with pytest.raises(StoreRefused):
            audit_canaries(total, np.eye(30), (1, 0), **{**options, **changed})


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        ("UPDATE chunks SET features = x'00'", StoreRefused),
        ("UPDATE chunks SET features = labels", StoreRefused),
        ("UPDATE chunks SET features = substr(features, 1, 140)", StoreRefused),
        ("UPDATE about SET value = 'one' WHERE name = 'seed'", StoreRefused),
        ("DROP TABLE chunks; CREATE TABLE chunks (position, features, other)", StoreRefused),
        (np.full(30, np.nan), DataError),
        (np.zeros(29), StoreRefused),
        ("hello, this is a text", StoreRefused),
    ],
    ids=str,
)
def test_files_that_were_edited(edit: str | Rows, error: type[Exception], tmp_path: Path) -> None:
    """Whatever was changed by hand is refused by type."""
    path = tmp_path / "runs"
    options: dict[str, Any] = {"score": own, "runs": 2, "store": path, "version": "1", "seed": 3}
    audit_canaries(total, np.eye(30), (1, 0), **options)
    with closing(sqlite3.connect(path)) as database, database:
        if not isinstance(edit, str):
            np.save(file := io.BytesIO(), edit)
            database.execute("UPDATE chunks SET features = ?", (file.getvalue(),))
        elif not edit.startswith("hello"):
            database.executescript(edit)
    if isinstance(edit, str) and edit.startswith("hello"):
        path.write_text(edit * 100, encoding="utf-8")
    with pytest.raises(error):
        audit_canaries(total, np.eye(30), (1, 0), **options)


@pytest.mark.slow
def test_time_ends_with_what_the_bet_shows() -> None:
    """A leak is found by runs that are finished, none of which is the last planned one."""
    with ThreadPoolExecutor(1) as executor:
        report = audit_canaries(
            lambda rows, _: rows.sum(axis=0),
            np.eye(20),
            (1, 1e-6),
            score=own,
            runs=10**4,
            seconds=1,
            executor=executor,
            seed=1,
        )

    assert 0 < report.runs < 10**4
    assert report.outcome is Outcome.VIOLATION
    assert report.epsilon_lower > 1
    assert report.made == ()


@final
class Some(Executor):
    """Finishes so many tasks and no other; a forgetful one gives the first result for all."""

    def __init__(self, tasks: int, *, forgetful: bool = False) -> None:
        self.tasks, self.forgetful, self.made = tasks, forgetful, list[Any]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Run it now, or never."""
        future = Future[Any]()
        if len(self.made) < self.tasks:
            self.made.append(fn(*args, **kwargs))
            future.set_result(self.made[0 if self.forgetful else -1])
        return future


def test_an_executor_that_repeats_a_result_is_refused() -> None:
    """The result of another run, or of another trial, is no result."""
    with pytest.raises(SamplerFailed, match="the result of task 0"):
        audit_canaries(
            total, np.eye(9), (1, 0), score=own, runs=3, executor=Some(3, forgetful=True)
        )
    with pytest.raises(SamplerFailed, match="the result of task 0"):
        auditing.audit(
            lambda _, size, rng: rng.normal(size=size),
            (0, 1),
            (1, 0),
            executor=Some(9_999, forgetful=True),
        )


def test_runs_that_have_begun_when_the_time_ends_are_waited_for() -> None:
    """No run begins after the deadline, and none of those that have is drawn again."""
    began = threading.Event()

    def slow(rows: Rows, rng: Rng) -> Rows:
        began.set()
        time.sleep(0.2)
        return total(rows, rng)

    with ThreadPoolExecutor(1) as executor:
        blocked = executor.submit(began.wait, 0.05)
        report = audit_canaries(
            slow, np.eye(9), (1, 0), score=own, runs=9, seconds=0.1, executor=executor
        )
    assert blocked.done()
    assert report.runs == 1


@pytest.mark.slow
def test_looks_at_interrupted_audits_are_paid_for(tmp_path: Path) -> None:
    """At most 10 of 80 at 5 % alarm at any of three looks, each a call with the same file.

    A tight response for every canary; more than 10 have probability 0.1 % at 5 %.
    """
    kept = math.e / (1 + math.e)

    def respond(rows: Rows, rng: Rng) -> Rows:
        inside = rows.sum(axis=0)
        return np.asarray(np.where(rng.random(12) < kept, inside, 1 - inside))

    alarms = 0
    for seed in range(80):
        options: dict[str, Any] = {"score": own, "runs": 3, "seed": seed, "version": "1"}
        options |= {"store": tmp_path / str(seed), "seconds": 0}
        looks = [
            audit_canaries(respond, np.eye(12), (1, 0), executor=Some(1), **options)
            for _ in range(3)
        ]
        assert [look.runs for look in looks] == [1, 2, 3]
        alarms += any(look.outcome is Outcome.VIOLATION for look in looks)
    assert alarms <= 10


def test_data_is_what_canaries_are_added_to() -> None:
    """Lists, arrays, and tuples of both; without data the canaries alone."""
    seen: list[Any] = []

    def fit(data: object, _: Rng) -> None:
        seen.append(data)

    def even(_: object, __: object) -> Rows:
        return np.zeros(3)

    for data, canaries in (
        (["a"], ["b", "c", "d"]),
        ((np.zeros((2, 2)), [7, 8]), (np.eye(3)[:, :2], [1, 2, 3])),
        (None, np.arange(3)),
    ):
        audit_canaries(fit, canaries, (1, 0), data=data, score=even, seed=5)
    first, (rows, labels), alone = seen

    assert first[0] == "a"
    assert set(first[1:]) <= {"b", "c", "d"}
    assert len(rows) == len(labels) == 1 + len(first)
    assert labels[:2] == [7, 8]
    assert len(alone) == len(first) - 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (
            lambda: audit_canaries(
                total, np.eye(3), dp.PureDP(epsilon=1, relation=dp.ReplaceOne())
            ),
            ParameterError,
        ),
        (lambda: audit_canaries(total, 3, (1, 0)), DataError),
        (lambda: audit_canaries(total, np.eye(3), (1, 0), score=lambda *_: [1.0, 2.0]), DataError),
        (lambda: audit_canaries(lambda *_: 1 / 0, np.eye(3), (1, 0)), DataError),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception]) -> None:
    """Claims of other neighbours, no canaries, too few scores; an error of the fit, by its type."""
    with pytest.raises(error):
        call()


@pytest.mark.filterwarnings("ignore::UserWarning")  # the seed of the noise is known
def test_perceptron_shows_much_of_its_epsilon_in_one_run() -> None:
    """Orthogonal rows of full norm, 600 canaries: at least 0.4 of epsilon at 1e-5."""
    assert 0.4 < _perceptron(600) < 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_perceptron_shows_three_fifths_of_its_epsilon_in_one_run() -> None:
    """6,000 canaries: at least 0.6 of epsilon at 1e-5, and less than all of it."""
    assert 0.6 < _perceptron(6_000) < 1


def _perceptron(canaries: int) -> float:
    """Share of the true epsilon that one run of 10 steps with mu = 3/2 shows, as Gaussian."""
    learner = PerceptronClassifier(
        sigma=10**0.5 / 1.5, classes=[0, 1], steps=10, norm=1, average=False, fit_intercept=False
    )
    report = audit_canaries(
        lambda data, rng: learner.set_params(random_state=int(rng.integers(2**31))).fit(*data),
        orthogonal_canaries(canaries, canaries),
        learner.guarantee(),
        seed=1,
    )
    assert report.outcome is not Outcome.VIOLATION
    assert report.mu_lower is not None
    shown = dp.GDP(mu=report.mu_lower).epsilon(delta=1e-5).lower
    return shown / learner.guarantee().epsilon(delta=1e-5).upper


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "refuted"), [(0.5, True), (1.0, False)])
def test_logistic_regression_with_half_its_noise(noise: float, *, refuted: bool) -> None:
    """Refuted within 150 fits of 30 canaries; with all of its noise it is not.

    Base rows share a direction, and canaries have the label that it speaks against, so that the
    slopes of their losses are near 1.
    """
    rows, _ = orthogonal_canaries(30, 30)
    hard = np.column_stack([0.866 * rows, np.full(30, -0.5)])
    base = np.zeros((400, 31))
    base[:, -1] = 1
    learner = LogisticRegression(sigma=noise, classes=[0, 1], norm=1)
    report = audit_canaries(
        lambda data, _: clone(learner).fit(*data),
        (hard, np.ones(30, int)),
        LogisticRegression(sigma=1, classes=[0, 1], norm=1).guarantee(),
        data=(base, np.ones(400, int)),
        score=lambda model, canaries: canaries[0][:, :30] @ model.coef_[0][:30],
        runs=150,
        seed=2,
    )

    assert (report.outcome is Outcome.VIOLATION) == refuted


STEPS, NOISE = 20, 0.5


def sgd(rows: Rows, rng: Rng, *, shuffled: bool) -> Rows:
    """The noisy sums of an epoch, of which a training loop keeps the weights."""
    order = rng.permutation(len(rows))
    poisson = (np.flatnonzero(rng.random(len(rows)) < 1 / STEPS) for _ in range(STEPS))
    batches = np.array_split(order, STEPS) if shuffled else poisson
    noise = rng.normal(scale=NOISE, size=(STEPS, rows.shape[1]))
    return np.stack([rows[batch].sum(axis=0) for batch in batches]) + noise


def in_some_batch(sums: Rows, canaries: Rows) -> Rows:
    """The log-likelihood ratio of a canary in one of the steps."""
    return np.asarray(np.logaddexp.reduce(sums @ canaries.T / NOISE**2, axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("shuffled", [True, False])
def test_shuffled_batches_sold_as_poisson(*, shuffled: bool) -> None:
    """One epoch of shuffled batches is in every batch once, which Poisson samples are not."""
    claim = dp.Gaussian(sigma=NOISE, sensitivity=dp.L2(1)).subsample(
        dp.Poisson(sampling_rate=1 / STEPS)
    )
    report = audit_canaries(
        lambda rows, rng: sgd(rows, rng, shuffled=shuffled),
        np.eye(200),
        claim.repeat(STEPS).guarantee(),
        score=in_some_batch,
        runs=400,
        seed=1,
    )

    assert (report.outcome is Outcome.VIOLATION) == shuffled


def _slopes_of_torch(torch: ModuleType, weights: Rows, x: Rows, y: Rows) -> Rows:
    loss = torch.func.grad(lambda w, a, b: torch.nn.functional.softplus(-b * (a @ w)))
    w, rows, labels = map(torch.tensor, (weights, x, y))
    return np.asarray(torch.func.vmap(loss, (None, 0, 0))(w, rows, labels))


def _slopes_of_jax(jax: ModuleType, weights: Rows, x: Rows, y: Rows) -> Rows:
    loss = jax.grad(lambda w, a, b: jax.nn.softplus(-b * (a @ w)))
    return np.asarray(jax.vmap(loss, (None, 0, 0))(weights, x, y), dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "slopes_of"), [("torch", _slopes_of_torch), ("jax", _slopes_of_jax)]
)
def test_a_loop_of_another_library(library: str, slopes_of: Callable[..., Rows]) -> None:
    """DP-SGD of a linear model: gradients clipped one by one, canaries along features."""
    module = pytest.importorskip(library)

    def fit(data: tuple[Rows, Rows], rng: Rng) -> Rows:
        weights = np.zeros(data[0].shape[1])
        for _ in range(4):
            slopes = slopes_of(module, weights, *data)
            slopes /= np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1)
            weights -= slopes.sum(axis=0) + rng.normal(scale=0.5, size=len(weights))
        return weights

    rows, labels = orthogonal_canaries(300, 300, norm=8, classes=(-1.0, 1.0))
    claim = dp.Gaussian(sigma=8, sensitivity=dp.L2(1)).repeat(4).guarantee()
    report = audit_canaries(
        fit, (rows, labels), claim, score=lambda w, c: c[1] * (c[0] @ w), seed=1
    )

    assert report.outcome is Outcome.VIOLATION


@pytest.mark.slow
def test_false_alarms_of_bets_over_runs() -> None:
    """At most 69 of 1,000 at 5 %, looked at after every run: all canaries share their luck."""
    rng, alarms, advantage = np.random.default_rng(4), 0, 0.5
    for _ in range(1_000):
        right = np.where(rng.random(100) < (1 + advantage) / 2, 1.0, -1.0)
        alarms += auditing.RunBet(right, 0.05).refutes(advantage)

    assert 0 < alarms <= 69
