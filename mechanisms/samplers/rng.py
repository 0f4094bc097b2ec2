"""The source of random bits: one primitive, independent uniform 64-bit words.

Every sampler turns words into outputs by a fixed rule, so the law of its outputs follows from one
assumption: the words are independent and uniform. ``SystemRng`` is the one for releases.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import MissingDependency, ParameterError

Words = NDArray[np.uint64]

_WORD_BYTES, _KEY_BYTES = 8, 16
_KEY_WORDS = 4  # 256 bits
_TOP = 2**64 - 1


@runtime_checkable
class Rng(Protocol):
    """A source of independent uniform 64-bit words; what is written for one inherits from it."""

    __slots__ = ()

    def words(self, count: int) -> Words:
        """Return the next ``count`` words: shape (count,), dtype uint64.

        Laws: ``words(a)`` then ``words(b)`` are independent; each word is uniform on [0, 2^64).
        """
        ...

    def numpy(self) -> np.random.Generator:
        """Return a generator of numpy on the stream cipher ChaCha20, with a key of fresh words.

        For the ``draw`` of a mechanism of one's own. Whole numbers (``integers``) have exactly the
        law that numpy states. Floats (``normal``, ``laplace``) are rounded by numpy: their last
        bits depend on the data, so round outputs to a public grid, or take the samplers here.

        Example:
            >>> int(SystemRng().numpy().integers(0, 6)) in range(6)
            True
        """
        try:
            cipher: Any = importlib.import_module("randomgen").ChaCha
        except ImportError as error:
            hint = "rng.numpy() needs randomgen: pip install 'dpproof[rng]'"
            raise MissingDependency(hint) from error
        return np.random.Generator(cipher(key=self.words(_KEY_WORDS), counter=0, rounds=20))


@final
class SystemRng(Rng):
    """Words of the operating system's cryptographic generator; nothing to seed, nothing to leak.

    Example:
        >>> SystemRng().words(3).shape
        (3,)
    """

    __slots__ = ()

    def words(self, count: int) -> Words:
        """Return the next ``count`` words: shape (count,), dtype uint64."""
        size = arguments.whole(count=count)
        drawn = np.frombuffer(os.urandom(_WORD_BYTES * size), dtype="<u8")
        return drawn.astype(np.uint64, copy=False)


@final
class ReplayRng(Rng):
    """The same words for the same seed, for tests and replays. Not for releases.

    Whoever knows the seed knows the noise. The words are the raw output of Philox-4x64 under the
    first 128 bits of SHA-256 of the seed, so nearby seeds give unrelated words.

    Laws: ``words(a)`` followed by ``words(b)`` are together ``words(a + b)``; an integer seed and
        a bytes seed never share a stream.
    Example:
        >>> bool((ReplayRng(7).words(4) == ReplayRng(7).words(4)).all())
        True
    """

    __slots__ = ("_philox",)

    def __init__(self, seed: int | bytes) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | bytes):
            raise ParameterError("seed", seed, "an int or bytes")
        text = b"bytes:" + seed if isinstance(seed, bytes) else f"int:{seed:x}".encode()
        key = hashlib.sha256(text).digest()[:_KEY_BYTES]
        self._philox = np.random.Philox(key=int.from_bytes(key, "little"))

    def words(self, count: int) -> Words:
        """Return the next ``count`` words: shape (count,), dtype uint64."""
        size = arguments.whole(count=count)
        return np.asarray(self._philox.random_raw(size), dtype=np.uint64)


@final
class GeneratorRng(Rng):
    """Words of a numpy ``Generator``, for audits that own the seed. Not for releases."""

    __slots__ = ("_generator",)

    def __init__(self, generator: np.random.Generator) -> None:
        if not isinstance(generator, np.random.Generator):
            raise ParameterError("generator", generator, "a numpy.random.Generator")
        self._generator = generator

    def words(self, count: int) -> Words:
        """Return the next ``count`` words: shape (count,), dtype uint64."""
        size = arguments.whole(count=count)
        return self._generator.integers(0, _TOP, size=size, dtype=np.uint64, endpoint=True)


def as_rng(rng: Rng | np.random.Generator | None) -> Rng:
    """Return the source of words that the argument stands for; ``None`` is the system's."""
    if rng is None:
        return SystemRng()
    if isinstance(rng, np.random.Generator):
        return GeneratorRng(rng)
    if not isinstance(rng, Rng):
        raise ParameterError("rng", rng, "an Rng, a numpy.random.Generator or None")
    return rng
