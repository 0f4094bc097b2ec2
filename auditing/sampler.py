"""What is audited: a callable that draws outputs, and how its outputs become numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from accountant.errors import ParameterError

Features = NDArray[np.float64]
Outputs = Sequence[object] | NDArray[Any]
FeatureMap = Callable[[Any], Any]

_HASH_BITS = 52


class Sampler(Protocol):
    """Any callable that draws independent outputs of an implementation.

    Assumed by every audit: the outputs of one call, and of different calls, are independent given
    the data. A mechanism whose outputs are not (a seed reset by each call, noise reused between
    two releases) has to be audited on transcripts: one output = everything one call releases.
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator, /) -> Any:  # noqa: ANN401
        """``size`` outputs on ``data``, first axis = outputs; ``rng`` may be ignored."""
        ...


@final
@dataclass(frozen=True, slots=True)
class OneAtATime:
    """A sampler from a function that draws one output.

    Args:
        draw: ``(data, rng) -> output``, or ``data -> output`` with its own randomness.
        takes_rng: whether ``draw`` takes the generator.
        errors_are_outputs: what a release raises is visible to whoever asked for it, so the type
            of an exception is an output like any other; False lets it propagate.
    Example:
        >>> sampler = OneAtATime(lambda data, rng: data + rng.normal())
        >>> len(sampler(3.0, 5, np.random.default_rng(1)))
        5
    """

    draw: Callable[..., object]
    takes_rng: bool = True
    errors_are_outputs: bool = True

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> list[object]:
        """``size`` outputs, one call each."""
        return [self._one(data, rng) for _ in range(size)]

    def _one(self, data: object, rng: np.random.Generator) -> object:
        try:
            return self.draw(data, rng) if self.takes_rng else self.draw(data)
        except Exception as error:
            if not self.errors_are_outputs:
                raise
            return f"raised {type(error).__name__}"


def encode(outputs: Outputs, size: int, features: FeatureMap | None = None) -> Features:
    """Outputs as a matrix of floats, one row each.

    Numbers stay numbers (``nan`` and infinities too), arrays are flattened, structured arrays give
    one column a field. Anything else becomes three numbers: a hash of its ``repr``, one of its type
    (of its keys, for a mapping), and its length. Nothing depends on the order of the outputs.

    Args:
        outputs: first axis = outputs.
        size: how many there have to be.
        features: applied to the outputs first; what it loses cannot be found.
    Raises:
        ParameterError: not ``size`` outputs.
    Example:
        >>> encode([(1, 2.5), (3, 4)], 2).tolist()
        [[1.0, 2.5], [3.0, 4.0]]
        >>> encode(["yes", "no", "yes"], 3)[:, 0].tolist()[0::2] == [encode(["yes"], 1)[0, 0]] * 2
        True
    """
    raw = outputs if features is None else features(outputs)
    if len(raw) != size:
        raise ParameterError(
            "outputs", len(raw), f"{size} outputs", "a sampler returns `size` of them, first axis"
        )
    array = _as_array(raw)
    if array.dtype.names is not None:
        return np.concatenate([encode(array[name], size) for name in array.dtype.names], axis=1)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    if array.dtype.kind not in "biuf":
        return np.array([_described(item) for item in raw], dtype=np.float64)
    return array.reshape(size, -1).astype(np.float64)


def _as_array(outputs: Outputs) -> NDArray[Any]:
    if isinstance(outputs, np.ndarray):
        return outputs
    try:
        array = np.asarray(outputs)
    except ValueError:  # ragged: outputs of different lengths
        return np.empty(len(outputs), dtype=object)
    return array


def _described(item: object) -> tuple[int, int, int]:
    """A hash of the item, one of what kind of thing it is (the keys, of a mapping), its length."""
    kind = sorted(map(repr, item)) if isinstance(item, Mapping) else type(item).__qualname__
    return hashed(item), hashed(kind), len(item) if isinstance(item, Sized) else 0


def hashed(item: object) -> int:
    """52 bits that the ``repr`` of an item decides: the same on every machine."""
    digest = hashlib.blake2b(repr(item).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _HASH_BITS)
