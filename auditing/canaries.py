"""Canaries: records that a run includes or not, each by its own coin."""

from __future__ import annotations

import functools
import json
import math
import secrets
import time
from collections.abc import Callable, Iterable, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import AddRemove, ParameterError, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.form import DataError, Form, withholding
from dpproof.auditing import counts
from dpproof.auditing.bounds.curves import Guesses, OneRunCurve, PrefixBand, RunBet
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.report import Outcome
from dpproof.auditing.trials.encoding import identity
from dpproof.auditing.trials.trials import Chunk, TrialStore, result_of

_CELLS: Final = 10**9


def orthogonal_canaries(
    count: int, features: int, *, norm: Number = 1, classes: Sequence[Any] = (0, 1), seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Make labelled rows of full norm that disturb each other as little as can be.

    The first ``features`` rows have one coordinate each, in random order; further ones have random
    signs. Labels are random. Nothing of a dataset is in them.

    Beyond ``features``, the width of a row, canaries are not orthogonal and show less. The best
    Euclidean norm is that to which the run clips.

    Example:
        >>> rows, labels = orthogonal_canaries(3, 5)
        >>> (rows @ rows.T).tolist(), len(labels)
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 3)
    """
    arguments.count(count=count), arguments.count(features=features)
    if count * features > _CELLS:
        raise ParameterError("count", count, f"at most {_CELLS // features} rows of this width")
    rng = np.random.default_rng(seed)
    length = float(arguments.positive(norm=norm))
    rows = rng.choice([-1.0, 1.0], size=(count, features)) * (length / features**0.5)
    first = min(count, features)
    rows[:first] = 0.0
    rows[np.arange(first), rng.permutation(features)[:first]] = length
    return rows, np.asarray(list(classes))[rng.integers(0, len(classes), count)]


@withholding
def margin_score(model: Any, canaries: tuple[Any, Any]) -> NDArray[np.float64]:  # noqa: ANN401  # any classifier
    """Return how clearly a fitted classifier gives every canary its own label.

    The score is the decision value of the own label, minus the mean of the others. ``canaries``
    are rows and labels, and ``model`` has ``decision_function`` and ``classes_``, as
    classifiers of scikit-learn.
    """
    rows, labels = canaries
    values, own = np.asarray(model.decision_function(rows)), np.asarray(labels)
    if values.ndim == 1:
        return np.where(own == model.classes_[1], values, -values)
    mine = values[np.arange(len(own)), np.argmax(model.classes_ == own[:, None], axis=1)]
    return np.asarray(mine - (values.sum(axis=1) - mine) / (values.shape[1] - 1))


Coins = NDArray[np.bool_]
_FEWEST: Final = 8  # guesses
_CURVE: Final = 0.9  # share of the significance for the test of a whole curve. Heuristic.
_CLOSE: Final = 0.99  # of the best promise: more guesses find larger violations. Heuristic.
_TIES: Final = 0x7D9E3A61C0F4528B  # A seed of nobody's coins, as 0 may be.


@final
@dataclass(frozen=True, slots=True)
class CanaryPlan:
    """What a canary audit shows, before its first run.

    The bounds ``epsilon`` at ``delta``, and ``mu`` where the claim is a curve, are reached with
    probability ``power``, if every canary tells as much as the claim allows, and on its own.
    Canaries in real runs tell less. ``canaries`` counts the coins of all runs together; so many
    ``guesses``, fixed before the run, test a curve.
    """

    canaries: int
    runs: int
    claim: str
    epsilon_claimed: float
    delta: float
    epsilon: float
    mu: float | None
    guesses: int
    power: float
    significance: float

    def __str__(self) -> str:
        runs = "one run" if self.runs == 1 else f"{self.runs:,} runs"
        at = f" at delta = {self.delta:.3g}" if self.delta else ""
        mu = "" if self.mu is None else f", mu >= {self.mu:.3g},"
        return (
            f"{self.canaries:,} canaries in {runs} show epsilon >= {self.epsilon:.3g} of "
            f"{self.epsilon_claimed:.4g}{at}{mu} with {100 * self.power:.0f} % probability, if "
            "every canary tells as much as the claim allows"
        )


def plan_canaries(
    claim: object,
    canaries: int,
    *,
    runs: int = 1,
    significance: Number = 0.05,
    delta: Number | None = None,
    power: Number = 0.9,
) -> CanaryPlan:
    """Say what so many canaries show at best, before anything is run. A heuristic, no bound.

    Args:
        claim: a guarantee, or ``(epsilon, delta)``.
        canaries: coins of one run.
        runs: the coins of several runs count together.
        significance: error probability of the audit, in (0, 1).
        delta: where epsilon is bounded; by default where the claim states it, else 1e-6.
        power: probability that at least so much is shown.
    Example:
        >>> print(str(plan_canaries((2, 0), 500))[:74])
        500 canaries in one run show epsilon >= 1.57 of 2 with 90 % probability, i
    """
    claimed = counts.Claim.of(claim, delta)
    total = arguments.count(canaries=canaries) * arguments.count(runs=runs)
    level, sure = significance_of(significance), float(arguments.open_probability(power=power))
    shares, bias = _expected(claimed)
    looked = _sizes(total) or (total,)
    hits = [counts.quantile(1 - sure, k, float(np.interp(k / total, shares, bias))) for k in looked]
    for j in range(1, len(hits)):  # nested counts
        hits[j] = min(max(hits[j], hits[j - 1]), hits[j - 1] + looked[j] - looked[j - 1])
    for_curve, for_point = _divided(claimed, level)
    shown = PrefixBand(significance=for_point).epsilon(_counts(looked, hits), delta=claimed.delta)
    mu, made, at = None, 0, claimed.delta_up
    if for_curve:
        curve = OneRunCurve(significance=for_curve)
        mus = [curve.mu(Guesses(total, k, h)) for k, h in zip(looked, hits, strict=True)]
        near = [(k, m) for k, m in zip(looked, mus, strict=True) if m >= _CLOSE * max(mus)]
        made, mu = max(near)
    words = claimed.describe()
    return CanaryPlan(total, runs, words, claimed.epsilon, at, shown, mu, made, sure, level)


@final
@dataclass(frozen=True, slots=True)
class CanaryReport:
    """What the scores of canaries prove.

    The outcome is inconclusive if nothing could have been found, or the time ended first. The bound
    ``epsilon_lower``, at ``plan.delta``, is 0 if nothing is shown; ``mu_lower`` and ``p_value`` are
    of a claimed curve. Of the numbers of guesses ``made``, as many as ``right`` says were right, in
    so many finished ``runs``. The seed of the coins is None where others tossed them.
    """

    outcome: Outcome
    plan: CanaryPlan
    epsilon_lower: float
    mu_lower: float | None
    p_value: float | None
    made: tuple[int, ...]
    right: tuple[int, ...]
    runs: int
    seed: int | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        plan, outcome = self.plan, self.outcome.name.replace("_", " ")
        at = f" at delta = {plan.delta:.3g}" if plan.delta else ""
        pairs = zip(self.right, self.made, strict=True)
        guessed = ", ".join(f"{h:,} of {k:,}" for h, k in pairs) or "none were made"
        error = f"wrong about a claim that holds with probability at most {plan.significance:.3g}"
        claimed = f"epsilon >= {self.epsilon_lower:.4g} of {plan.epsilon_claimed:.4g} claimed{at}"
        lines = [f"{outcome}: canaries show {claimed}", f"claim: {plan.claim}"]
        if self.mu_lower is not None:
            lines.append(f"mu >= {self.mu_lower:.4g}")
        lines += [f"right guesses: {guessed}", f"runs counted: {self.runs:,} of {plan.runs:,}"]
        return "\n  ".join([*lines, error, f"plan: {plan}", *(f"note: {n}" for n in self.notes)])

    def require(self) -> CanaryReport:
        """Return the report itself, or raise ``ClaimRefuted`` with the page for a violation."""
        if self.outcome is Outcome.VIOLATION:
            raise counts.ClaimRefuted(str(self))
        return self

    def to_json(self) -> str:
        """Return everything as JSON, without scores and coins."""
        return json.dumps({**asdict(self), "outcome": self.outcome.name.lower()}, indent=2)


def bound_membership(
    scores: ArrayLike,
    included: ArrayLike,
    claim: object,
    *,
    significance: Number = 0.05,
    delta: Number | None = None,
) -> CanaryReport:
    """Test a claim by membership scores, of whatever attack, and the coins that were guessed.

    Statement: let the run be as claimed for the inclusion of each canary, whatever the others, and
        the coins be fair and independent. Then the outcome is ``VIOLATION`` with probability at
        most ``significance``, and so is ``epsilon_lower`` above the claimed epsilon.
    Assumes: scores are functions of the run's output, the canaries and other randomness, as of
        shadow models, and not of the coins. A split into fixed halves has no such coins.
    Method: ``PrefixBand`` bounds epsilon by nested numbers of guesses, from both ends of the
        scores. For a curve it has a tenth of the significance; ``OneRunCurve`` has the rest, with
        a number of guesses that the claim alone decides.

    Scores are finite, high for a canary that seems to be in, and ``included`` says whether it was.
    Epsilon is bounded at ``delta``, by default where the claim states it, else 1e-6.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> coins = rng.integers(0, 2, 1_000) == 1
        >>> seen = bound_membership(coins + rng.normal(scale=0.2, size=1_000), coins, (1, 0))
        >>> seen.outcome.name, seen.epsilon_lower > 4
        ('VIOLATION', True)
    """
    coins = np.atleast_1d(withholding(np.asarray)(included))
    values = finite_scores(scores, len(coins))
    if coins.shape != values.shape or not np.isin(coins, (0, 1)).all():
        raise DataError("included", Form.of(included), "a coin, 0 or 1, for every score")
    plan = plan_canaries(claim, len(values), significance=significance, delta=delta)
    return conclude(values[None], coins[None] == 1, counts.Claim.of(claim, delta), plan)


def finite_scores(scores: object, count: int) -> counts.Floats:
    """Return scores as an array of so many finite numbers, or raise ``DataError``."""
    try:
        array = np.asarray(scores)
        values = np.empty(0) if np.iscomplexobj(array) else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0)
    if count == 0 or values.shape != (count,) or not np.isfinite(values).all():
        raise DataError("scores", Form.of(scores), f"a finite number for each of {count} canaries")
    return values


def conclude(
    scores: counts.Floats,
    included: Coins,
    claim: counts.Claim,
    plan: CanaryPlan,
    *,
    runs: int = 1,
    seed: int | None = None,
) -> CanaryReport:
    """Return the report of so many runs, of scores and coins of shape (runs, canaries of one)."""
    count, notes = scores.size, []
    level = plan.significance / (1 if plan.runs == 1 else 2)
    epsilon, mu, p_value = 0.0, None, None
    refuted, could = False, plan.runs > 1
    looked: tuple[int, ...] = ()
    order, guesses = guess(scores.ravel())
    right = np.concatenate([[0], np.cumsum(included.ravel()[order] == guesses)])
    if runs == plan.runs:
        looked = _sizes(count)
        for_curve, for_point = _divided(claim, significance_of(level))
        if looked:
            band = PrefixBand(significance=for_point)
            hits = [int(right[k]) for k in looked]
            epsilon, best = (
                band.epsilon(_counts(looked, each), delta=claim.delta)
                for each in (hits, list(looked))
            )
            could |= best > claim.epsilon
        if made := plan.guesses:
            curve = OneRunCurve(significance=for_curve)
            counted = Guesses(count, made, int(right[made]))
            mu, p_value = curve.mu(counted), curve.p_value(counted, claim)
            refuted = p_value <= for_curve
            could |= curve.refutes(Guesses(count, made, made), claim)
    if plan.runs > 1:
        bet = RunBet.of(scores, included, significance=level)
        epsilon = max(epsilon, bet.epsilon(delta=claim.delta_up))
        refuted |= bet.refutes(claim.guarantee.advantage().upper)
        mu = max(mu or 0.0, bet.mu()) if claim.is_curve else None
    refuted |= epsilon > claim.epsilon
    if seed is None and 2 * int(included.sum()) == count >= 100:
        notes.append("exactly half of the canaries are in: each needs a coin of its own")
    nothing = Outcome.NO_EVIDENCE if could and runs == plan.runs else Outcome.INCONCLUSIVE
    outcome, shown = Outcome.VIOLATION if refuted else nothing, tuple(int(right[k]) for k in looked)
    return CanaryReport(
        outcome, plan, epsilon, mu, p_value, looked, shown, runs, seed, tuple(notes)
    )


def _sizes(canaries: int) -> tuple[int, ...]:
    """Return the numbers of guesses that are looked at: all, and its halves down to 8."""
    halves = {canaries >> k for k in range(canaries.bit_length())}
    return tuple(sorted(size for size in halves if size >= _FEWEST))


def guess(scores: counts.Floats) -> tuple[NDArray[np.int64], Coins]:
    """Return the order in which coins are guessed, the clearest first, and the guesses in it."""
    # From both ends in turn, in above and out below the middle; ties are in a fixed random order.
    order = np.random.default_rng(_TIES).permutation(len(scores))
    order = order[np.argsort(scores[order], kind="stable")]
    above = scores[order] > np.quantile(scores, [0.25, 0.75]).mean() if len(scores) else []
    place = np.arange(len(scores))
    rank = np.where(above, 2 * (len(scores) - 1 - place), 2 * place + 1)
    first = np.argsort(rank, kind="stable")
    return order[first], np.asarray(above, dtype=bool)[first]


def _divided(claim: counts.Claim, level: float) -> tuple[float, float]:
    """Return the significance for the test of the curve, and for the bound of epsilon."""
    return (_CURVE * level, (1 - _CURVE) * level) if claim.is_curve else (0.0, level)


def _counts(looked: tuple[int, ...], hits: list[int]) -> counts.PrefixCounts:
    return counts.PrefixCounts(looked, tuple(hits), max(looked), 0, counts.Design.ONE_RUN)


@functools.lru_cache(maxsize=16)
def _expected(claim: counts.Claim) -> tuple[counts.Floats, counts.Floats]:
    """Return shares of canaries, and how often the clearest guesses of so many are right."""
    # With the profile delta(t), Q(loss > t) = -e^-t delta'(t) and P(loss > t) = delta - delta'.
    if not claim.is_curve:
        odds = 1 / (1 + math.exp(-min(claim.epsilon, 700.0)))
        return np.array([0.0, 1.0]), np.full(2, odds + (1 - odds) * claim.delta_up)
    losses, delta = counts.profile_points(claim.guarantee)
    slope, middle = -np.diff(delta) / np.diff(losses), (losses[1:] + losses[:-1]) / 2
    p, q = (delta[1:] + delta[:-1]) / 2 + slope, np.exp(-middle) * slope
    shares, bias = np.minimum(p + q, 1.0), p / np.maximum(p + q, 1e-300)
    order = np.argsort(shares)
    return shares[order], np.clip(bias[order], 0.5, 1.0)


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
        store: a SQLite file that keeps seed and scores of finished runs, and nothing of ``data``;
            the same call goes on. One audit at a time may use it: it is locked.
        version: names ``fit`` and ``score`` for the store, in place of their code.
    Example:
        >>> def fit(rows, rng):
        ...     return rows.sum(axis=0) + rng.normal(scale=0.5, size=rows.shape[1])
        >>> canaries = np.eye(400)
        >>> seen = audit_canaries(fit, canaries, (2, 1e-5), score=lambda out, _: out, seed=1)
        >>> seen.outcome.name, seen.right[-1] > 300
        ('VIOLATION', True)
    """
    count, claimed = _length(canaries), counts.Claim.of(claim, delta)
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
    first = records[0] if isinstance(records, tuple) and records else records
    if not isinstance(first, Sized):
        raise DataError("canaries", Form.of(records), "an array, a list or a tuple")
    return withholding(first.__len__)()


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Run:
    """One run, on any process: all that is needed to make it again."""

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
    if isinstance(records[0], tuple):
        return tuple(do(*parts) for parts in zip(*records, strict=True))
    return do(*records)


def _taken(part: Any, coins: Coins) -> Any:  # noqa: ANN401
    if isinstance(part, list):
        return [one for one, coin in zip(part, coins, strict=True) if coin]
    return part[coins]


def _joined(part: Any, included: Any) -> Any:  # noqa: ANN401
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
