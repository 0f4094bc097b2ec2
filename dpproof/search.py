"""A priced search over a training loop of one's own: so many runs, the best released."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, final

import numpy as np

from dpproof.accountant.calibration.calibrate import HasGuarantee
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.run_counts.law import RunLaw, required_runs
from dpproof.accountant.theorems.selection import select
from dpproof.errors import InputError
from dpproof.mechanisms.queries import scored
from dpproof.mechanisms.samplers import run_count
from dpproof.mechanisms.samplers.rng import Rng, as_rng
from dpproof.mechanisms.samplers.uniform import uniform_below

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
            DataError: the score is not a number.
            InputError: the run was finished before.
        """
        self._search._finished(self, score, result)  # noqa: SLF001  # one thing in two classes


@final
class PricedSearch(Generic[T]):
    """The best of a random number of runs of any code, continued where it stopped.

    Each run takes one of the candidates, drawn uniformly, and must satisfy ``once`` whichever it
    is. The state is a file: the number of runs, how many are done, and the best one. It is as
    private as the data; a run that was interrupted is made again with its candidate. ::

        search = PricedSearch(once, runs=law, candidates=rates, place="search.json")
        for run in search:
            model, score = train(run.candidate)
            run.finish(score, result=save(model))
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
        ParameterError: not a law, or no candidates.
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
        if not candidates:
            raise ParameterError("candidates", 0, "at least one candidate")
        self._guarantee = select(once if isinstance(once, Guarantee) else once.guarantee(), runs)
        self._candidates, self._place = tuple(candidates), Path(place)
        told = repr((once, runs, self._candidates))
        self._digest = hashlib.sha256(told.encode()).hexdigest()
        if self._place.exists():
            self._state = self._read()
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
        self._write()

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
            InputError: runs are left: stopping early is another mechanism.
        """
        if self._state["done"] < len(self._state["candidates"]):
            raise InputError("runs are left: the best is known, and priced, after all of them")
        found = self._state["best"]
        return None if found is None else (self._candidates[found["candidate"]], found["result"])

    def _finished(self, run: Run[T], score: float, result: Any) -> None:  # noqa: ANN401  # as above
        """Keep a run if it is better than all before it."""
        if run.number != self._state["done"] + 1:
            raise InputError(f"run {run.number} was finished before")
        value, best = float(scored(None, score)), self._state["best"]
        if best is None or value > best["score"]:
            place = self._state["candidates"][self._state["done"]]
            best = {"score": value, "candidate": place, "result": result}
        before = self._state
        self._state = {**before, "best": best, "done": run.number}
        try:
            self._write()
        except (InputError, TypeError):
            self._state = before
            raise

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._place.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or found.get("search") != self._digest:
            raise InputError(
                f"{self._place}: expected the state of this search, of the same guarantee, law and "
                "candidates; name another file for another search"
            )
        return found

    def _write(self) -> None:
        """Write the state whole, readable by its owner alone."""
        text = json.dumps(self._state)
        beside = self._place.with_name(f"{self._place.name}.new")
        try:
            beside.unlink(missing_ok=True)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            beside.replace(self._place)
        except OSError as error:
            raise InputError(f"{self._place}: cannot write: {error.strerror}") from error
