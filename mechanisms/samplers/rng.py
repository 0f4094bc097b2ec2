"""The source of random bits, independent uniform 64-bit words, and coins of exact probabilities.

Every sampler turns words into outputs by a fixed rule, so the law of its outputs follows from one
assumption: the words are independent and uniform. ``SystemRng`` is the one for releases.

The ideal uniform U is the real number whose binary digits are the words of the source, one after
the other. A sampler looks at a first part of the digits and asks for the next ones only when its
decision is still open; the digits already seen are never drawn again, so every decision is the one
that the real number U would have given.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arithmetic.crossing import bisect_integers
from dpproof.accountant.errors import MissingDependency, ParameterError
from dpproof.mechanisms.samplers import enclosure
from dpproof.mechanisms.samplers.arrays import Integers, first_accepted
from dpproof.mechanisms.samplers.enclosure import Enclosure, exp_minus, quotient, rational

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


WORD = 64
UNIT = 2.0**-WORD
_FIRST_PRECISION, _SHORT = 128, 2**53


@final
class LazyUniform:
    """One uniform: its first ``bits`` digits are the integer ``prefix``, the rest not yet drawn."""

    __slots__ = ("_rng", "bits", "prefix")

    def __init__(self, prefix: int, bits: int, rng: Rng) -> None:
        self.prefix, self.bits, self._rng = prefix, bits, rng

    def refine(self, bits: int) -> LazyUniform:
        """Draw whole words until at least ``bits`` digits are known; return self."""
        while self.bits < bits:
            self.prefix = (self.prefix << WORD) | int(self._rng.words(1)[0])
            self.bits += WORD
        return self

    def is_below(self, number: Enclosure) -> bool:
        """Return whether U < x, for the enclosed real number x."""
        # With p digits known, U lies in [prefix, prefix + 1] / 2^p. If the bracket of x lies on one
        # side the answer is certain (equality has probability 0); else p doubles, rarely: 4 * 2^-p.
        precision = max(self.bits, _FIRST_PRECISION)
        while True:
            self.refine(precision)
            low, high = number(self.bits)
            if self.prefix + 1 <= low:
                return True
            if self.prefix >= high:
                return False
            precision = 2 * self.bits

    def minus_log(self) -> float:
        """Return about -log U in binary64: a starting point for a search, never a decision."""
        while self.prefix == 0:
            self.refine(self.bits + 1)
        return self.bits * math.log(2) - math.log(self.prefix + 0.5)


@final
class Uniforms:
    """A batch of uniforms whose binary64 approximation is relatively accurate down to 2^-64.

    The first ``spent`` digits (0 or 1) of each of the ``first`` words belong to a sign. The uniform
    follows, with a second word where fewer than 53 significant digits are left. In binary64
    U = ``approximation`` (1 + t), |t| <= 2^-51, or nan where the first word is used up by zeros.

    Proof: let w be the first word shifted by ``spent``. If w >= 2^53, U differs from w 2^-64 by at
        most 2^(spent - 64) <= 2^-52 relative, and converting w to binary64 adds 2^-53. Otherwise w
        is converted exactly, the second word adds at least 64 known digits to a nonzero leading
        part, and two roundings add less than 2^-52.
    """

    def __init__(self, size: int, rng: Rng, *, spent: int = 0) -> None:
        self._rng, self._spent = rng, spent
        self.first: Words = rng.words(size)
        shifted = self.first << np.uint64(spent)
        self._position: NDArray[np.intp] = np.flatnonzero(shifted < np.uint64(_SHORT))
        self._second: Words = rng.words(len(self._position))
        self.approximation: NDArray[np.float64] = shifted.astype(np.float64) * UNIT
        leading = shifted[self._position]
        refined = leading * UNIT + self._second * (UNIT * 2.0 ** (spent - WORD))
        self.approximation[self._position] = np.where(leading > 0, refined, np.nan)

    def lazy(self, index: int) -> LazyUniform:
        """Return draw ``index`` as a uniform that can be refined. Ask once for each index."""
        bits = WORD - self._spent
        prefix = int(self.first[index]) & ((1 << bits) - 1)
        at = int(np.searchsorted(self._position, index))
        if at < len(self._position) and self._position[at] == index:
            return LazyUniform((prefix << WORD) | int(self._second[at]), bits + WORD, self._rng)
        return LazyUniform(prefix, bits, self._rng)


_INT64 = 2**63


def uniform_below(bound: int, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent whole numbers, each uniform on {0, ..., bound - 1}.

    Proof: a block of b bits is uniform on [0, 2^b). Given that it is below the largest multiple
        of ``bound`` that is at most 2^b, its remainder modulo ``bound`` is uniform; blocks above
        are dropped, at most half of them.
    """
    below = arguments.whole(bound=bound)
    if below < 1:
        raise ParameterError("bound", bound, "a whole number >= 1")
    count = arguments.whole(size=size)
    blocks = -(-below.bit_length() // WORD)
    unit = 2 ** (WORD * blocks)
    limit = unit - unit % below

    def small(proposals: int) -> Integers:
        words = rng.words(proposals)
        kept = words if limit == unit else words[words < np.uint64(limit)]
        return (kept % np.uint64(below)).astype(np.int64)

    def large(proposals: int) -> Integers:
        words = rng.words(proposals * blocks).reshape(proposals, blocks)
        numbers = [int.from_bytes(row.tobytes(), "little") for row in words.astype("<u8")]
        return np.array([n % below for n in numbers if n < limit], dtype=np.object_)

    return first_accepted(count, small if below <= _INT64 else large, rate=limit / unit)


def largest(at_least: Callable[[int], bool], guess: int) -> int:
    """Return the largest k with ``at_least(k)``, true up to k; the guess decides the time alone."""
    step = 1
    if at_least(guess):
        low = guess
        while at_least(low + step):
            low += step
            step *= 2
        high = low + step
    else:
        high = guess
        while not at_least(high - step):
            high -= step
            step *= 2
        low = high - step
    return bisect_integers(at_least, low, high)[0]


Coins = NDArray[np.bool_]


def bernoulli(probability: arguments.Number, size: int, rng: Rng) -> Coins:
    """Toss independent coins that are True with exactly the rational probability given."""
    exact = arguments.probability(probability=probability)
    return bernoulli_enclosed(rational(exact), arguments.whole(size=size), rng)


def geometric_ratio(ratio: Fraction, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent geometric numbers of a rational ratio.

    Law: P(k) = (1 - r) r^k for k = 0, 1, ...
    Proof: let m = 2^i be the least power with r^m <= 1/2. The law of k = m Q + sum over j < i of
        2^j B_j is a product of powers of r, so all are independent: B_j is 1 with probability
        r^(2^j)/(1 + r^(2^j)), and Q is geometric of ratio r^m, the number of coins of that
        probability before the first that fails.
    """
    power, place = arguments.probability(ratio=ratio), 1
    if power == 1:
        raise ParameterError("ratio", ratio, "at least 0 and less than 1")
    total = np.zeros(arguments.whole(size=size), dtype=np.int64)
    while 2 * power > 1:
        share = quotient(power.numerator, power.numerator + power.denominator)
        total[bernoulli_enclosed(share, len(total), rng)] += place
        power, place = power**2, 2 * place  # takes no common divisor of huge numbers
    alive = np.arange(len(total))
    while len(alive):
        alive = alive[bernoulli(power, len(alive), rng)]
        total[alive] += place
    return total


def bernoulli_exp(gamma: arguments.Number, size: int, rng: Rng) -> Coins:
    """Toss ``size`` independent coins that are True with probability exactly e^-gamma."""
    exact = arguments.non_negative(gamma=gamma)
    return bernoulli_enclosed(exp_minus(exact), arguments.whole(size=size), rng)


def bernoulli_exp_ratios(numerators: ArrayLike, denominator: int, rng: Rng) -> Coins:
    """Toss one coin for each numerator n, True with probability exactly e^-(n / denominator)."""
    # As in ``bernoulli_exp_near``; binary64 only brackets the ratio of integers.
    below = arguments.whole(denominator=denominator)
    tops = np.asarray(numerators)
    whole = tops.dtype.kind in "iu" or all(isinstance(n, int) for n in tops.flat)
    if tops.ndim != 1 or not whole or (tops < 0).any():
        raise ParameterError("numerators", numerators, "whole numbers >= 0, shape (n,)")
    if below < 1:
        raise ParameterError("denominator", denominator, "a whole number >= 1")

    def exact(i: int) -> Fraction:
        return Fraction(int(tops[i]), below)

    if tops.dtype.kind in "iu" and below < 2**1000:
        gamma = tops.astype(np.float64) / float(below)
    else:
        gamma = np.array([enclosure.nearest(exact(i)) for i in range(len(tops))], dtype=np.float64)
    return bernoulli_exp_near(gamma, gamma * enclosure.ROUNDING, exact, rng)


def bernoulli_exp_near(
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    rng: Rng,
    first: Words | None = None,
) -> Coins:
    """Toss one coin for each entry, True with probability e^-exact(i), bracketed by gamma +- error.

    Proof: coin i is the event U_i < e^-exact(i). The first word puts U_i in [w, w + 1] / 2^64. If
        that interval lies on one side of [e^-(gamma + error), e^-(gamma - error)], widened by the
        assumed error of exp, the event is decided; otherwise ``LazyUniform.is_below`` decides it
        from the following digits of the same U_i. A comparison with nan decides nothing, and
        |gamma - exact(i)| <= error. ``first`` has the first words, if they are drawn already.
    """
    words = rng.words(len(gamma)) if first is None else first
    with np.errstate(all="ignore"):
        u = words * UNIT
        slack = enclosure.ROUNDING * u + 2 * UNIT
        low = np.exp(-(gamma + error)) * (1 - enclosure.LIBM)
        high = np.exp(-np.maximum(gamma - error, 0.0)) * (1 + enclosure.LIBM) + enclosure.UNDERFLOW
        below = u + slack < low
        above = u - slack > high
    for i in np.flatnonzero(~(below | above)):
        uniform = LazyUniform(int(words[i]), WORD, rng)
        below[i] = uniform.is_below(exp_minus(exact(int(i))))
    return below


def bernoulli_enclosed(probability: Enclosure, size: int, rng: Rng) -> Coins:
    """Toss ``size`` independent coins that are True with the enclosed probability.

    Proof: the coin is U < x. With U in [w, w + 1] / 2^64 and low <= x 2^64 <= high, it is True if
        w < low and False if w >= high, in integers; the one or two words between are decided by
        ``LazyUniform.is_below`` from the following digits of the same U.
    """
    words = rng.words(size)
    low, high = _first_bracket(probability)
    below = words < np.uint64(low) if low < 2**WORD else np.ones(size, dtype=np.bool_)
    above = words >= np.uint64(high) if high < 2**WORD else np.zeros(size, dtype=np.bool_)
    for i in np.flatnonzero(~(below | above)):
        below[i] = LazyUniform(int(words[i]), WORD, rng).is_below(probability)
    return below


def _first_bracket(probability: Enclosure) -> tuple[int, int]:
    return probability(WORD)
