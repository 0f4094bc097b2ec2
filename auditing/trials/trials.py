"""Trials: drawn here or on an executor, kept in a store, and used for one purpose only."""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import secrets
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.form import withholding
from dpproof.auditing.counts import Floats, PrefixCounts, SamplerFailed, SamplesUsed, StoreRefused
from dpproof.auditing.trials.encoding import FeatureMap, Features, Labels, Pair, encode
from dpproof.auditing.trials.sampler import Sampler, Training

Chunk = tuple[Features, Labels]

# Locked as long as it is open: two audits would draw the same. The write-ahead log then needs no
# shared memory, whatever the file system, and keeps every chunk when the process is killed.
_KIND = 0x64707472
_SCHEMA = f"""
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
BEGIN EXCLUSIVE;
PRAGMA application_id = {_KIND};
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS chunks (
    position INTEGER PRIMARY KEY,
    features BLOB NOT NULL,
    labels BLOB NOT NULL
) STRICT;
COMMIT;
"""


@final
class TrialStore:
    """A SQLite file with the chunks of trials that one audit has drawn.

    The trials of one audit serve its purposes alone: which ones choose a test and which ones make
    it depends on everything that was asked. So a file is refused when anything but the time budget
    differs, is in use, or is of no store; a resumed audit makes the test of an uninterrupted one.
    ``about`` says in digests what the trials are of; no ``seed`` is the file's own or a new one.
    """

    def __init__(self, path: str | Path, about: Mapping[str, str], seed: int | None) -> None:
        self._path = Path(path)
        try:
            self._database = sqlite3.connect(self._path, timeout=0.0, isolation_level=None)
        except sqlite3.Error as error:
            raise self._refused(f"cannot be opened: {error}") from error
        try:
            self._check_kind()
            self._database.executescript(_SCHEMA)
            self.seed = self._agree({**about, "seed": None if seed is None else str(seed)})
        except sqlite3.Error as error:
            self._database.close()
            raise self._refused(f"cannot be used: {error}") from error
        except StoreRefused:
            self._database.close()
            raise

    def _check_kind(self) -> None:
        (kind,) = self._database.execute("PRAGMA application_id").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and kind != _KIND:
            raise self._refused("is a database of something else")

    def _agree(self, asked: Mapping[str, str | None]) -> int:
        """Return the seed if everything asked agrees with the file, or the file has nothing yet."""
        stored: dict[str, str] = dict(self._database.execute("SELECT name, value FROM about"))
        if not stored:
            stored = {name: value for name, value in asked.items() if value is not None}
            stored.setdefault("seed", str(secrets.randbits(63)))
            with self._database:
                self._database.execute("BEGIN")
                self._database.executemany("INSERT INTO about VALUES (?, ?)", stored.items())
        other = [name for name, value in asked.items() if value not in (None, stored.get(name))]
        if other or set(stored) != set(asked):
            names = ", ".join(other) or "something else"
            raise self._refused(f"has the trials of an audit that differs in: {names}")
        try:
            return int(stored["seed"])
        except ValueError:
            raise self._refused("has no whole number as its seed") from None

    def chunk(self, position: int, size: int) -> Chunk | None:
        """Return the chunk at a position, None where it was not finished."""
        asked = "SELECT features, labels FROM chunks WHERE position = ?"
        try:
            row = self._database.execute(asked, (position,)).fetchone()
            if row is None:
                return None
            features, labels = map(_array, row)
        except (sqlite3.Error, ValueError, TypeError, EOFError, OSError):
            raise self._refused(f"has damaged trials at {position}") from None
        if features.dtype != np.float64 or labels.dtype != np.bool_:
            raise self._refused(f"has damaged trials at {position}")
        if features.shape[:1] != (size,) or labels.shape != (size,):
            raise self._refused(f"has {len(labels)} trials at {position}, not {size}")
        return features, labels

    def add(self, position: int, chunk: Chunk) -> None:
        """Keep a finished chunk; what is written survives the process."""
        self._database.execute(
            "INSERT INTO chunks VALUES (?, ?, ?)", (position, *map(_blob, chunk))
        )

    def __enter__(self) -> TrialStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def _refused(self, why: str) -> StoreRefused:
        return StoreRefused(f"{self._path} {why}; name another file, or remove this one")


def _blob(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _array(blob: bytes) -> NDArray[Any]:
    return np.asarray(np.load(io.BytesIO(blob), allow_pickle=False))


_RUNS_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    log_evidence REAL NOT NULL
) STRICT
"""


@final
class EvidenceStore:
    """A SQLite file of accumulated evidence, one row a run.

    Statement: runs with independent trials have e-values whose product is an e-value, so
        Pr(the product ever reaches 1 / significance) <= significance while the claim holds. The
        product starts again at 1 when the fingerprint (of code and claim) changes: evidence
        against other code says nothing about this.

    A file that cannot be opened, or is no database, is refused; one that is not there is made.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            with closing(self._connect()) as database, database:
                database.execute(_RUNS_SCHEMA)
        except sqlite3.Error as error:
            raise StoreRefused(f"{self._path} cannot keep evidence: {error}") from error

    def begin(self, name: str, fingerprint: str, *, least: float) -> int:
        """Count a run before it draws anything, at the least that it can come to.

        Whether a run comes to its end may depend on its trials. One that does not is worth no
        more than if it had. ``least`` bounds the log of the run's e-value from below. The answer
        is what ``finish`` is told.
        """
        with closing(self._connect()) as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                "DELETE FROM runs WHERE name = ? AND fingerprint <> ?", (name, fingerprint)
            )
            row = (name, fingerprint, _number(least))
            made = database.execute(
                "INSERT INTO runs (name, fingerprint, log_evidence) VALUES (?, ?, ?)", row
            )
        return int(made.lastrowid or 0)

    def finish(self, run: int, log_evidence: float) -> float:
        """Give a run its own evidence; return the log of the product, of 1 where it was deleted."""
        with closing(self._connect()) as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                "UPDATE runs SET log_evidence = ? WHERE id = ?", (_number(log_evidence), run)
            )
            rows = database.execute(
                "SELECT log_evidence FROM runs JOIN (SELECT name, fingerprint FROM runs "
                "WHERE id = ?) USING (name, fingerprint)",
                (run,),
            ).fetchall()
        return math.fsum(log for (log,) in rows)

    def multiply(self, name: str, fingerprint: str, log_evidence: float) -> float:
        """Begin and finish a run in one call, for runs that always come to their end."""
        run = self.begin(name, fingerprint, least=log_evidence)
        return self.finish(run, log_evidence)

    def runs(self, name: str) -> int:
        """Return the number of runs behind the present evidence of a name."""
        with closing(self._connect()) as database:
            row = database.execute("SELECT count(*) FROM runs WHERE name = ?", (name,)).fetchone()
        return int(row[0])

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60.0, isolation_level=None)


def _number(log_evidence: float) -> float:
    """Return log evidence as a finite number for SQLite; -inf becomes a very low number."""
    if math.isnan(log_evidence):
        raise ParameterError("log_evidence", log_evidence, "a number")
    return max(log_evidence, -1e300)


def fingerprint(*parts: str | bytes) -> str:
    """Return a digest of everything that identifies code and claim, in order.

    Example:
        >>> fingerprint("def f(): ...", "epsilon = 1") != fingerprint("def f(): ...epsilon = 1")
        True
    """
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.hexdigest()


class OutOfTime(Exception):
    """The time budget ended before the planned trials were drawn; no error, an outcome."""


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Task:
    """One chunk of trials, on any process: all that is needed to draw it again."""

    sampler: Sampler
    pair: Pair
    features: FeatureMap | None
    seed: int
    position: int
    size: int


def draw(task: Task) -> tuple[int, Chunk]:
    """Toss the coins, run the sampler on both datasets, mix the outputs; return the position."""
    # The number on D is Bin(size, 1/2) in a random order, the law of ``size`` coins.
    root = np.random.SeedSequence(entropy=task.seed, spawn_key=(task.position,))
    coins, first, second = (np.random.default_rng(child) for child in root.spawn(3))
    on_data = int(coins.binomial(task.size, 0.5))
    parts = [
        encode(_outputs(task, data, count, rng), count, task.features)
        for data, count, rng in (
            (task.pair.data, on_data, first),
            (task.pair.neighbour, task.size - on_data, second),
        )
        if count
    ]
    width = max(part.shape[1] for part in parts)
    features = np.concatenate([widened(part, width) for part in parts])
    order = coins.permutation(task.size)
    return task.position, (features[order], (np.arange(task.size) < on_data)[order])


def result_of(future: Future[tuple[int, Chunk]], position: int) -> Chunk:
    """Return the result of a task, or refuse an executor that gives that of another one."""
    at, chunk = future.result()
    if at != position:
        raise SamplerFailed(f"the executor gave task {position} the result of task {at}")
    return chunk


def _outputs(task: Task, data: object, count: int, rng: np.random.Generator) -> Any:  # noqa: ANN401  # as a sampler
    try:
        return withholding(task.sampler)(data, count, rng)
    except SystemExit:
        allowed = "a function that returns outputs"
        raise ParameterError("sampler", "SystemExit", allowed, "it called sys.exit") from None


def widened(part: Features, width: int) -> Features:
    """Return outputs padded with nan to a common width."""
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """The way from tasks to chunks: the executor that draws them, the store that keeps them."""

    # Chunks are functions of tasks, in their order: an audit sees the same whatever draws them.

    executor: Executor | None = None  # None is here
    store: TrialStore | None = None  # has chunks of an earlier run, gets new ones once finished
    deadline: float = math.inf  # ``time.monotonic()`` after which ``OutOfTime`` is raised

    def chunks(self, tasks: Iterable[Task], ahead: Callable[[], int]) -> Iterator[Chunk]:
        """Yield the chunks of the tasks in order, at most ``ahead`` started beyond the next."""
        flight = _Flight(self)
        try:
            for task in tasks:
                flight.start(task)
                while len(flight.waiting) > (ahead() if self.executor else 0):
                    yield flight.deliver()
            while flight.waiting:
                yield flight.deliver()
        finally:
            flight.land()

    def left(self) -> float | None:
        """Return the seconds until the deadline; None, which waiting takes, without one."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise OutOfTime
        return None if math.isinf(seconds) else seconds


@final
class _Flight:
    """Tasks that were started and are not delivered yet."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self.waiting: deque[Task] = deque()
        self._ready: dict[int, Chunk] = {}
        self._running: dict[int, tuple[Task, Future[tuple[int, Chunk]]]] = {}
        self._finished: SimpleQueue[int] = SimpleQueue()

    def start(self, task: Task) -> None:
        """Take the task's chunk from the store, or have it drawn."""
        self._drawing.left()
        executor, store = self._drawing.executor, self._drawing.store
        stored = None if store is None else store.chunk(task.position, task.size)
        self.waiting.append(task)
        if stored is not None:
            self._ready[task.position] = stored
        elif executor is None:
            self._keep(task, draw(task)[1])
        else:
            future = executor.submit(draw, task)
            self._running[task.position] = task, future
            future.add_done_callback(lambda _: self._finished.put(task.position))

    def deliver(self) -> Chunk:
        """Return the oldest task's chunk; store others that finish meanwhile at once."""
        first = self.waiting[0].position
        while first not in self._ready:
            try:
                position = self._finished.get(timeout=self._drawing.left())
            except Empty:
                continue  # asks what is left, which is nothing
            task, future = self._running.pop(position)
            self._keep(task, result_of(future, task.position))
        self.waiting.popleft()
        return self._ready.pop(first)

    def _keep(self, task: Task, chunk: Chunk) -> None:
        if self._drawing.store is not None:
            self._drawing.store.add(task.position, chunk)
        self._ready[task.position] = chunk

    def land(self) -> None:
        """Keep finished work and cancel work that has not begun, whatever ended the work."""
        for _, future in self._running.values():
            future.cancel()
        for task, future in self._running.values():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._keep(task, result_of(future, task.position))


_NUMBERS = 1 << 15  # in one chunk
_FIRST, _NUMBERS_AHEAD = 64, 1 << 22
_LEAST_AHEAD, _MOST_AHEAD = 16, 256


class Events(Protocol):
    """Nested events, fixed before the samples are counted."""

    @property
    def thresholds(self) -> Floats:
        """Return one threshold for each event, from the smallest event to the largest."""

    def count(
        self, features: Floats, labels: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of rows in each event, and the number of hits among these."""

    def counts(
        self, inside: NDArray[np.int64], hits: NDArray[np.int64], on_data: int, on_neighbour: int
    ) -> PrefixCounts:
        """Return the sums of ``count`` as counts, with the trials on each dataset."""


@final
class Trials:
    """A source of fresh trials: whatever is drawn for one purpose is not drawn again.

    ``training`` gives samples that can be looked at; ``testing`` gives samples that can only be
    counted, once, against questions that were fixed before. A task has ``chunk`` trials; None is
    as many as have some ten thousand numbers, if ``growing`` a quarter at most of those before.
    """

    def __init__(
        self,
        sampler: Sampler,
        pair: Pair,
        *,
        seed: int,
        features: FeatureMap | None = None,
        drawing: Drawing | None = None,
        chunk: int | None = None,
        growing: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._sampler = sampler
        self._pair = pair
        self._seed = arguments.whole(seed=seed)
        self._features = features
        self._drawing = Drawing() if drawing is None else drawing
        self._chunk = None if chunk is None else arguments.count(chunk=chunk)
        self._growing, self._planned = growing, 0
        self._progress = progress
        self._positions = itertools.count()
        self._width = 0  # coordinates of an output, known from the first chunk
        self.drawn = 0

    def training(self, count: int) -> Training:
        """Draw fresh trials that may be looked at."""
        chunks = list(self._chunks(count))
        return _stacked(chunks)

    def training_after(self, drawn: Training, count: int) -> Training:
        """Return training samples with fresh ones added to them, ``count`` in all."""
        missing = count - len(drawn)
        return drawn if missing <= 0 else _stacked([drawn, self.training(missing)])

    def testing(self, count: int) -> Testing:
        """Return fresh trials to count, drawn while they are counted."""
        return Testing(self._chunks(count))

    def _chunks(self, count: int) -> Iterator[Training]:
        arguments.count(count=count)
        for features, labels in self._drawing.chunks(self._tasks(count), self._ahead):
            self._width = self._width or features.shape[1]
            self.drawn += len(labels)
            if self._progress is not None:
                self._progress(self.drawn)
            yield Training(features, labels)

    def _tasks(self, count: int) -> Iterator[Task]:
        left = count
        while left:
            largest = max(1, _NUMBERS // self._width) if self._width else _FIRST
            if self._growing:
                largest = min(largest, max(1, self._planned // 4))
            size = min(left, self._chunk or largest)
            self._planned += size
            position = next(self._positions)
            yield Task(self._sampler, self._pair, self._features, self._seed, position, size)
            left -= size

    def _ahead(self) -> int:
        """Return a number of chunks that keeps a cluster busy, fewer if large; see ``_tasks``."""
        if not self._width:
            return _LEAST_AHEAD if self._chunk else 0
        numbers = self._width * (self._chunk or max(1, _NUMBERS // self._width))
        return min(max(_LEAST_AHEAD, _NUMBERS_AHEAD // numbers), _MOST_AHEAD)


@final
class Testing:
    """Fresh trials that can be counted once, against questions fixed before; never looked at."""

    __test__ = False

    def __init__(self, chunks: Iterator[Training]) -> None:
        self._chunks: Iterator[Training] | None = chunks

    def tally(self, questions: Sequence[Events]) -> list[PrefixCounts]:
        """Count every nested event of every question, one chunk in memory at a time, once."""
        if self._chunks is None:
            raise SamplesUsed("these samples have been tested; draw new ones with testing()")
        chunks, self._chunks = self._chunks, None
        inside = [np.zeros(len(question.thresholds), dtype=np.int64) for question in questions]
        hits = [np.zeros(len(question.thresholds), dtype=np.int64) for question in questions]
        total = on_data = 0
        for chunk in chunks:
            total += len(chunk)
            on_data += int(chunk.labels.sum())
            for position, question in enumerate(questions):
                here = question.count(chunk.features, chunk.labels)
                inside[position] += here[0]
                hits[position] += here[1]
        return [
            question.counts(k, h, on_data, total - on_data)
            for question, k, h in zip(questions, inside, hits, strict=True)
        ]


def _stacked(chunks: Sequence[Training]) -> Training:
    width = max(chunk.features.shape[1] for chunk in chunks)
    return Training(
        np.concatenate([widened(chunk.features, width) for chunk in chunks]),
        np.concatenate([chunk.labels for chunk in chunks]),
    )
