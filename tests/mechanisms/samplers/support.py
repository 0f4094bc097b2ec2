"""Sources of words and binary expansions that the tests of the exact samplers share."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.mechanisms.samplers import discrete, enclosure, rng
from dpproof.mechanisms.samplers.rng import WORD, LazyUniform, ReplayRng, Rng


class Scripted(Rng):
    """Return the given words first, then those of a ReplayRng."""

    def __init__(self, words: Iterable[int], seed: int = 0) -> None:
        self._words = list(words)
        self._then = ReplayRng(seed)
        self.drawn = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        self.drawn += count
        scripted = self._words[:count]
        del self._words[:count]
        rest = self._then.words(count - len(scripted))
        return np.concatenate([np.array(scripted, dtype=np.uint64), rest])


def slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every draw open after the binary64 step."""
    monkeypatch.setattr(enclosure, "LIBM", 1.0)
    monkeypatch.setattr(enclosure, "UNIFORM", 2.0**40)
    monkeypatch.setattr(enclosure, "ROUNDING", 1.0)
    monkeypatch.setattr(enclosure, "UNDERFLOW", 2.0)
    monkeypatch.setattr(rng, "_first_bracket", lambda _: (0, 2**WORD))
    monkeypatch.setattr(discrete, "_accepted_below", lambda *_: np.zeros(1, dtype=np.uint64))
    monkeypatch.setattr(
        discrete, "_between", lambda *a: (np.zeros(len(a[2]), np.int64), np.zeros(len(a[2]), bool))
    )


def separate_refinement(monkeypatch: pytest.MonkeyPatch, seed: int) -> list[int]:
    """Take refining words from a stream of their own; return a list that counts them."""
    stream = ReplayRng(seed)
    counted = [0]

    def refine(self: LazyUniform, bits: int) -> LazyUniform:
        while self.bits < bits:
            self.prefix = (self.prefix << WORD) | int(stream.words(1)[0])
            self.bits += WORD
            counted[0] += 1
        return self

    monkeypatch.setattr(LazyUniform, "refine", refine)
    return counted


def digits(x: mpmath.mpf, bits: int) -> int:
    """Return floor(x * 2^bits); the working precision must exceed ``bits``."""
    return int(mpmath.floor(mpmath.ldexp(x, bits)))


def split(prefix: int, bits: int, *, first: int = WORD) -> list[int]:
    """Cut the first ``bits`` digits into a first block and whole words."""
    blocks = [prefix >> (bits - first)]
    blocks += [
        (prefix >> (bits - first - WORD * (j + 1))) & (2**WORD - 1)
        for j in range((bits - first) // WORD)
    ]
    return blocks


def exactly(x: Fraction) -> mpmath.mpf:
    """Return the rational at the working precision."""
    return mpmath.mpf(x.numerator) / x.denominator
