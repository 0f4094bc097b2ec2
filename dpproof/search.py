"""A priced search over a training loop of one's own: so many runs, the best released."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Generic, Never, TypeVar, final

import numpy as np

from dpproof.accountant.calibration.calibrate import HasGuarantee, guarantee_of
from dpproof.accountant.errors import NotShared, ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.readable import declared
from dpproof.accountant.run_counts.law import RunLaw, required_runs
from dpproof.accountant.theorems.selection import select
from dpproof.errors import InputError
from dpproof.mechanisms.queries import scored
from dpproof.mechanisms.samplers import Rng, as_rng, run_count, uniform_below

if sys.platform != "win32":
    import fcntl

FORMAT: Final = "dpproof-search/1"
T = TypeVar("T")


def sample_runs(runs: RunLaw, *, rng: Rng | np.random.Generator | None = None) -> int:
    """Draw a number of runs from its law, exactly.

    Args:
        runs: the law.
        rng: as for ``release``: None is the operating system's randomness.
    Returns:
        The number of trainings to make. It must stay secret, and so must all but the best.
    Raises:
        ParameterError: not a law of the number of runs.
    Example:
        >>> from dpproof.accountant import FixedRuns
        >>> sample_runs(FixedRuns(count=3))
        3
    """
    required_runs(runs)
    return int(run_count(runs, 1, as_rng(rng))[0])


def identified(*values: object) -> str:
    """Return a SHA-256 that tells values apart exactly, by type and content, in any process.

    Values are guarantees, laws, numbers, texts, arrays, and lists, mappings and dataclasses of
    them. Anything else is told by its repr.

    Example:
        >>> from dpproof.accountant import GDP
        >>> identified(GDP(mu=1)) == identified(GDP(mu=Fraction(10**30 + 1, 10**30)))
        False
    """
    return hashlib.sha256(_exactly(values).encode("utf-8", "surrogatepass")).hexdigest()


def _exactly(value: object) -> str:
    """Return a value's type and content as a text, nothing rounded or left out."""
    names = declared(value)
    if names is not None:
        parts = [f"{one}={_exactly(getattr(value, one))}" for one in names]
    elif isinstance(value, Mapping):
        parts = sorted(f"{_exactly(key)}: {_exactly(one)}" for key, one in value.items())
    elif isinstance(value, list | tuple):
        parts = [_exactly(one) for one in value]
    elif isinstance(value, AbstractSet):
        parts = sorted(map(_exactly, value))
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        held = _exactly(array.tolist()) if array.dtype.hasobject else array.tobytes().hex()
        parts = [repr(array.dtype), str(array.shape), held]
    elif isinstance(value, int):
        parts = [hex(value)]  # a long one has no repr
    elif isinstance(value, Fraction):
        parts = [hex(value.numerator), hex(value.denominator)]
    else:
        parts = [repr(value)]
    return f"{type(value).__module__}.{type(value).__qualname__}({', '.join(parts)})"


@final
@dataclass(slots=True)
class Run(Generic[T]):
    """One run of a search.

    Attributes:
        candidate: what to run with, drawn uniformly.
        number: of the run, from 1.
    """

    candidate: T
    number: int
    _search: PricedSearch[T]

    def finish(self, score: float, result: Any = None) -> None:  # noqa: ANN401  # whatever JSON keeps
        """Say how good the run was, and what to keep of it if it is the best so far.

        Args:
            score: from the run's private output alone, the larger the better.
            result: what JSON can hold: the output, or the path of a file with it.
        Raises:
            DataError: the score is not a number, or beyond floats.
            InputError: the run was finished before, JSON cannot hold the result, or the file is not
                as this search left it.
        """
        self._search._finished(self, score, result)  # noqa: SLF001  # one thing in two classes


@final
class PricedSearch(Generic[T]):
    """The best of a random number of runs of any code, continued where it stopped.

    Each run takes one of the candidates, drawn uniformly, and must satisfy ``once`` whichever it
    is. The state is a file: the number of runs, how many are done, and the best one. It is as
    private as the data; a run that was interrupted is made again with its candidate. One object
    makes the runs of one file: it has no copies, and what a run keeps is copied. ::

        search = PricedSearch(once, runs=law, candidates=rates, place="search.json")
        for run in search:
            model, score = train(run.candidate) run.finish(score, result=save(model))
        best = search.best()

    Statement: what ``best`` returns, and nothing else being released, satisfies ``guarantee()``.
    Assumes: the score looks at a run's private output alone; whether a run fails, and is made
        again, does not depend on the data.
    Source: ``select``; proofs/theory/selection.md.

    Args:
        once: the guarantee of one run, or a mechanism that states it.
        runs: the law of the number of runs.
        candidates: at least one, fixed in advance, such as numbers or dictionaries of them.
        place: the path of the state, made if it is not there.
        rng: of a new search, as for ``release``.
    Raises:
        ParameterError: not a guarantee, not a law, no sequence of candidates, or no path.
        InputError: the file is not the state of this search, or cannot be read or written.
    """

    def __init__(
        self,
        once: Guarantee[Any] | HasGuarantee,
        *,
        runs: RunLaw,
        candidates: Sequence[T],
        place: str | os.PathLike[str],
        rng: Rng | np.random.Generator | None = None,
    ) -> None:
        if not isinstance(candidates, Sequence):
            raise ParameterError("candidates", candidates, "a sequence, such as a list")
        if not candidates:
            raise ParameterError("candidates", 0, "at least one candidate")
        if not isinstance(place, str | os.PathLike):
            raise ParameterError("place", place, "the path of a file")
        stated = guarantee_of(once, "once")
        self._guarantee = select(stated, runs)
        self._candidates, self._place = tuple(candidates), Path(place)
        self._digest = identified(stated, runs, self._candidates)
        if self._place.exists():
            self._text, self._state = self._read()
            return
        source = as_rng(rng)
        count = sample_runs(runs, rng=source)
        drawn = uniform_below(len(self._candidates), count, source)
        self._state = {
            "format": FORMAT,
            "search": self._digest,
            "candidates": [int(place) for place in drawn],
            "done": 0,
            "best": None,
        }
        self._text = json.dumps(self._state)
        self._write(self._text, new=True)

    def __reduce__(self) -> Never:
        """Refuse ``copy.copy``, ``copy.deepcopy`` and ``pickle``.

        Raises:
            NotShared: always.
        """
        raise NotShared(
            "this PricedSearch is not copied or pickled: a copy would make its runs again; open "
            "its file where the runs go on"
        )

    def guarantee(self) -> Guarantee[Any]:
        """Return what holds of the best run, if all else stays secret."""
        return self._guarantee

    def __iter__(self) -> Iterator[Run[T]]:
        """Yield the runs that are left; finish each before the next.

        Raises:
            InputError: a run was not finished.
        """
        while self._state["done"] < len(self._state["candidates"]):
            done = self._state["done"]
            yield Run(self._candidates[self._state["candidates"][done]], done + 1, self)
            if self._state["done"] == done:
                raise InputError("finish a run before the next: run.finish(score, result=...)")

    def best(self) -> tuple[T, Any] | None:
        """Return the candidate and the result of the best run; None if no run was drawn.

        Raises:
            InputError: runs are left: stopping early is another mechanism; or the file is not as
                this search left it.
        """
        self._require_unchanged()
        if self._state["done"] < len(self._state["candidates"]):
            raise InputError("runs are left: the best is known, and priced, after all of them")
        state = json.loads(self._text)["best"]  # a copy, the caller's to change
        return None if state is None else (self._candidates[state["candidate"]], state["result"])

    def _finished(self, run: Run[T], score: float, result: Any) -> None:  # noqa: ANN401  # as above
        """Keep a run if it is better than all before it."""
        with self._alone():
            self._keep(run, score, result)

    def _keep(self, run: Run[T], score: float, result: Any) -> None:  # noqa: ANN401  # as above
        self._require_unchanged()
        if run.number != self._state["done"] + 1:
            raise InputError(f"run {run.number} was finished before")
        try:
            kept = json.loads(json.dumps(result))
        except (TypeError, ValueError, RecursionError):
            raise InputError("result: expected what JSON can hold") from None
        best = self._state["best"]
        try:
            value = float(scored(None, score))
        except OverflowError:
            raise DataError("score", score, "a number within the range of floats") from None
        if best is None or value > best["score"]:
            place = self._state["candidates"][self._state["done"]]
            best = {"score": value, "candidate": place, "result": kept}
        state = {**self._state, "best": best, "done": run.number}
        text = json.dumps(state)
        self._write(text)
        self._text, self._state = text, state

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from finishing a run meanwhile; Windows has no such lock."""
        try:
            state = self._place.open("rb")
        except OSError:
            self._read()
            raise
        with state:
            if sys.platform != "win32":
                fcntl.flock(state, fcntl.LOCK_EX)  # of others that go on from the same state
            yield

    def _require_unchanged(self) -> None:
        """Refuse to go on if anything else wrote the file."""
        if self._read()[0] != self._text:
            raise InputError(
                f"{self._place}: this search was continued elsewhere; open the file again"
            )

    def _read(self) -> tuple[str, dict[str, Any]]:
        """Return the text of the file and the state in it."""
        try:
            text = self._place.read_text(encoding="utf-8")
            state = json.loads(text)
        except (OSError, ValueError, RecursionError):
            text, state = "", None
        if not self._is_state(state):
            raise InputError(
                f"{self._place}: expected the state of this search, of the same guarantee, law and "
                "candidates; name another file for another search"
            )
        return text, state

    def _is_state(self, state: Any) -> bool:  # noqa: ANN401  # whatever JSON holds
        """Return whether this is a state of this search, with every field."""
        match state:
            case {
                "format": str(form),
                "search": str(digest),
                "candidates": list(drawn),
                "done": int(done),
                "best": best,
            }:
                pass
            case _:
                return False
        places, size = range(len(self._candidates)), len(drawn)
        if (form, digest) != (FORMAT, self._digest) or isinstance(done, bool):
            return False
        if not all(type(one) is int and one in places for one in drawn) or not 0 <= done <= size:
            return False
        match best:
            case None:
                return done == 0
            case {"score": float(score), "candidate": int(place), "result": _}:
                return not math.isnan(score) and place in drawn[:done]
        return False

    def _write(self, text: str, *, new: bool = False) -> None:
        """Write the state whole, readable by its owner alone; a new one only where none is."""
        try:
            descriptor, beside = tempfile.mkstemp(".new", self._place.name, self._place.parent)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                    stream.write(text)
                if new:
                    os.link(beside, self._place)
                else:
                    Path(beside).replace(self._place)
            finally:
                Path(beside).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{self._place}: cannot write: {error.strerror}") from error
