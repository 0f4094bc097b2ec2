"""Noise that knows to what it is added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.inspection.tape import Call, Protected, Tape, snapshot


@final
@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where noise comes from, and what is declared of the values that it protects."""

    tape: Tape
    name: str
    sensitivity: Sensitivity | None
    together: bool


@final
class Drawn(np.ndarray[Any, np.dtype[Any]]):
    """Noise as an array, of dimension 0 for one number, that tells a tape what is done with it.

    What it is added to is a value that it protects, and the sum is a plain array or number. What
    it is scaled or cut with is a parameter; scaled, cut or summed up it is noise still. Turned into
    a Python number (``float(noise)``) or compared, it is no longer followed.
    """

    source: Source | None = None

    @staticmethod
    def of(values: Any, source: Source) -> Drawn:  # noqa: ANN401  # a number or an array
        """Numbers or an array as noise from a source."""
        drawn = np.asarray(values).view(Drawn)
        drawn.source = source
        return drawn

    def __array_finalize__(self, parent: object) -> None:
        """Give a view, a copy or a reshaped array the same source."""
        self.source = getattr(parent, "source", None)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401
        """Return a part, or one number, marked as noise of the same source."""
        part = super().__getitem__(key)
        return part if self.source is None else Drawn.of(part, self.source)

    def __round__(self, digits: int | None = None) -> Any:  # noqa: ANN401
        """Round; the result is noise of the same source, an integer if no digits are given."""
        rounded = np.round(np.asarray(self), digits or 0)
        whole = rounded.astype(np.int64) if digits is None else rounded
        return whole if self.source is None else Drawn.of(whole, self.source)

    def __array_ufunc__(
        self,
        ufunc: np.ufunc,
        method: str,
        *inputs: Any,  # noqa: ANN401  # whatever noise meets
        out: tuple[NDArray[Any], ...] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Compute on plain arrays; tell the tape when noise meets something else."""
        sources = [x.source for x in inputs if isinstance(x, Drawn) and x.source is not None]
        others = [snapshot(x) for x in inputs if not isinstance(x, Drawn)]
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        numeric = isinstance(result, np.ndarray | np.generic) and result.dtype.kind in "iufc"
        if not sources or not numeric:
            return result
        source = sources[0]
        if not others or not source.tape.listening:
            return Drawn.of(result, source)
        if ufunc in {np.add, np.subtract} and method in {"__call__", "outer"}:
            return _added(source, ufunc.__name__, others[0], result, out is not None)
        parameters = {f"operand {place}": other for place, other in enumerate(others)}
        call = Call(f"{source.name}, then {ufunc.__name__}", parameters)
        return Drawn.of(source.tape.answer(call, result), source)


def _added(source: Source, verb: str, value: object, result: Any, in_place: bool) -> Any:  # noqa: ANN401, FBT001
    """Tell the tape about the sum; in place, the answer is written where the sum is."""
    protected = Protected(value, source.sensitivity, source.together)
    answer = source.tape.answer(Call(f"{source.name}, then {verb}", {}, protected), result)
    if not in_place:
        return answer
    result[...] = answer
    return result


def _plain(item: Any) -> Any:  # noqa: ANN401
    return np.asarray(item) if isinstance(item, Drawn) else item
