"""Categories, orders and subsets: exponential weights, finite laws, permutations, samples."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.mechanisms.samplers import arrays, enclosure
from dpproof.mechanisms.samplers.coins import Coins, bernoulli, bernoulli_enclosed
from dpproof.mechanisms.samplers.enclosure import exp_minus, keep_probability
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import UNIT, WORD, LazyUniform, uniform_below


def from_law(law: Sequence[Fraction], size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw ``size`` independent positions i, each with probability exactly ``law[i]``, of sum 1.

    Proof: a uniform whole number below the common denominator falls into the i-th of consecutive
        intervals of lengths law[i] times it with that probability.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> from_law([Fraction(0), Fraction(1)], 3, ReplayRng(1)).tolist()
        [1, 1, 1]
    """
    unit = lcm(*(mass.denominator for mass in law))
    steps = list(accumulate(int(mass * unit) for mass in law))
    drawn = uniform_below(unit, size, rng)
    if drawn.dtype != np.object_:
        ends = np.array(steps, dtype=np.int64)
        return np.searchsorted(ends, drawn, side="right").astype(np.int64)
    return np.array([bisect_right(steps, int(one)) for one in drawn], dtype=np.int64)


Exponents = Sequence[arguments.Number] | NDArray[np.float64] | NDArray[np.int64]

_FIRST_PRECISION: Final = 128
# Past this gap a weight is below e^-800 < 2^-1100, and only the absolute slack matters.
_NEGLIGIBLE: Final = 800.0


def categorical_exp(
    exponents: Exponents,
    size: int,
    rng: Rng,
    *,
    factor: arguments.Number = 1,
    multiplicities: Sequence[int] | None = None,
) -> NDArray[np.int64]:
    """Draw ``size`` independent categories, i with probability exactly e^(u_i) / sum_j e^(u_j).

    Law: P(i) = e^(u_i) / sum_j e^(u_j), where u_i = factor * exponents[i] is an exact rational;
        with multiplicities P(i) = m_i e^(u_i) / sum_j m_j e^(u_j).
    Proof: with C_i the sum of the first i + 1 weights, the draw is the number of i with
        C_i <= U C_last, which is i with probability (C_i - C_(i-1)) / C_last. Binary64 brackets
        every C_i / C_last; where the first word of U leaves more than one category possible, the
        following digits of the same U are compared with sums of enclosures, at growing precision.
    Exponents are float64 (their exact binary values), integers of size at most 2^53, or Fractions.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> categorical_exp([0, 1000, 0], 4, ReplayRng(1))
        array([1, 1, 1, 1])
    """
    scale = arguments.non_negative(factor=factor)
    if scale > 0:
        scale = arrays.scale(factor=factor)
    count = arguments.whole(size=size)
    gaps, exact = _gaps(exponents, scale)
    times = _counted(multiplicities, len(gaps))
    low, high = _cumulative_bounds(gaps, times)
    words = rng.words(count)
    u = words * UNIT
    drawn = np.searchsorted(high[:-1], u, side="right").astype(np.int64)
    most = np.searchsorted(low[:-1], u, side="right")
    unclear = np.flatnonzero(most != drawn)
    sums = _Sums([exact(i) for i in range(len(gaps))] if len(unclear) else [], times)
    for i in unclear:
        drawn[i] = sums.locate(LazyUniform(int(words[i]), WORD, rng))
    return drawn


def _gaps(
    exponents: Exponents, factor: Fraction
) -> tuple[NDArray[np.float64], Callable[[int], Fraction]]:
    """Return factor * (max - exponents): in binary64 within 2^-51 relative, and exactly."""
    array = np.asarray(exponents)
    if array.ndim != 1 or len(array) == 0:
        raise ParameterError("exponents", exponents, "a sequence of at least one number")
    if array.dtype.kind == "O":
        numbers = [arguments.real(exponents=x) for x in exponents]
        top = max(numbers)
        gaps = [factor * (top - x) for x in numbers]
        return np.array([enclosure.nearest(gap) for gap in gaps]), lambda i: gaps[i]
    values = arrays.reals(exponents=array)
    best = values.max()
    with np.errstate(over="ignore", invalid="ignore"):
        near = (best - values) * float(factor)
    near[(values == best) | (factor == 0)] = 0.0  # 0 * infinity would be nan
    return near, lambda i: factor * (Fraction(float(best)) - Fraction(float(values[i])))


def _counted(multiplicities: Sequence[int] | None, categories: int) -> list[int] | None:
    """Return the multiplicities, checked; None if every category counts once."""
    if multiplicities is None:
        return None
    times = [arguments.whole(multiplicities=one) for one in multiplicities]
    if len(times) != categories or min(times) < 1:
        allowed = "one integer from 1 for each category"
        raise ParameterError("multiplicities", multiplicities, allowed)
    return times


def _cumulative_bounds(
    gaps: NDArray[np.float64], times: list[int] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return increasing arrays around every C_i / C_last, wide enough for a first word's width."""
    counted = np.minimum(gaps, _NEGLIGIBLE)
    weight = np.exp(-gaps)
    error = weight * (counted * enclosure.ROUNDING + enclosure.LIBM)
    if times is not None:
        # Shares of the largest, at most 1, each rounded correctly: two more roundings.
        most = max(times)
        shares = np.array([one / most for one in times])
        error = error * shares + weight * shares * (2 * enclosure.ROUNDING) + enclosure.UNDERFLOW
        weight = weight * shares
    width = math.isqrt(len(gaps)) + 1
    partial = _block_sums(weight, width)
    # A partial sum is the result of at most 2 width + 2 additions.
    slack = 2 * _block_sums(error + enclosure.UNDERFLOW, width)
    slack += partial * ((2 * width + 2) * 2.0**-52)
    total, total_slack = partial[-1], slack[-1]
    if not total > total_slack:
        return np.zeros(len(gaps)), np.full(len(gaps), np.inf)
    relative = 2 * enclosure.ROUNDING
    low = (partial - slack) / (total + total_slack) * (1 - relative) - 4 * UNIT
    high = (partial + slack) / (total - total_slack) * (1 + relative) + 4 * UNIT
    increasing_high = np.minimum.accumulate(high[::-1])[::-1]
    return np.maximum.accumulate(low), increasing_high


def _block_sums(terms: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the partial sums of ``terms``, in blocks so that few roundings meet in each."""
    rows = -(-len(terms) // width)
    blocks = np.zeros(rows * width)
    blocks[: len(terms)] = terms
    inside = np.cumsum(blocks.reshape(rows, width), axis=1)
    before = np.concatenate([[0.0], np.cumsum(inside[:-1, -1])])
    sums: NDArray[np.float64] = (inside + before[:, None]).ravel()[: len(terms)]
    return sums


@final
class _Sums:
    """Partial sums of e^-gap, each so many times, as integer brackets, cached by precision."""

    __slots__ = ("_gaps", "_known", "_times")

    def __init__(self, gaps: list[Fraction], times: list[int] | None = None) -> None:
        self._gaps = gaps
        self._times = times or [1] * len(gaps)
        self._known: dict[int, tuple[list[int], list[int]]] = {}

    def _at(self, bits: int) -> tuple[list[int], list[int]]:
        if bits not in self._known:
            bracket = {gap: exp_minus(gap)(bits) for gap in set(self._gaps)}
            terms = list(zip(self._gaps, self._times, strict=True))
            low = list(accumulate(bracket[gap][0] * times for gap, times in terms))
            high = list(accumulate(bracket[gap][1] * times for gap, times in terms))
            self._known[bits] = low, high
        return self._known[bits]

    def locate(self, uniform: LazyUniform) -> int:
        """Return the number of i before the last with C_i <= U C_last."""
        last = len(self._gaps) - 1
        precision = _FIRST_PRECISION
        while True:
            uniform.refine(precision)
            low, high = self._at(uniform.bits)
            surely = (uniform.prefix * low[-1]) >> uniform.bits
            possibly = ((uniform.prefix + 1) * high[-1]) >> uniform.bits
            least = bisect_right(high, surely, hi=last)
            most = bisect_right(low, possibly, hi=last)
            if least == most:
                return least
            precision = 2 * uniform.bits


_LEAST_CATEGORIES = 2
_MOST_CATEGORIES = 2**62


def randomized_response(
    values: ArrayLike, categories: int, epsilon: arguments.Number, rng: Rng
) -> NDArray[np.int64]:
    """Keep each value with probability e^epsilon / (e^epsilon + categories - 1), else replace it.

    Law: P(output = values[i]) = e^epsilon / (e^epsilon + categories - 1), and every other category
        has probability 1 / (e^epsilon + categories - 1); entries are independent.
    Proof: the coin "keep" has exactly that probability (``bernoulli_enclosed``); a replacement is
        uniform on the categories - 1 others.

    Example:
        >>> from fractions import Fraction
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> randomized_response([0, 1, 2], 3, Fraction(100), ReplayRng(1))
        array([0, 1, 2])
    """
    exact = arguments.non_negative(epsilon=epsilon)
    total = arguments.whole(categories=categories)
    if not _LEAST_CATEGORIES <= total <= _MOST_CATEGORIES:
        raise ParameterError("categories", categories, "from 2 to 2^62")
    truth = np.asarray(values)
    if truth.dtype.kind not in "iu" or (truth < 0).any() or (truth >= total).any():
        raise DataError("values", values, f"whole numbers from 0 to {total - 1}")
    flat = truth.astype(np.int64).ravel()
    keep = bernoulli_enclosed(keep_probability(exact, total), len(flat), rng)
    other = uniform_below(total - 1, len(flat), rng).astype(np.int64)
    other += other >= flat
    return np.where(keep, flat, other).reshape(truth.shape)


def permutation(size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw a uniformly random order of ``size`` records.

    Law: every order has probability 1 / size!.
    Proof: sort the records by one word each; draw all words again if two are equal. Whether two are
        equal does not depend on which record has which word, so kept words are exchangeable still.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> sorted(permutation(3, ReplayRng(1)).tolist())
        [0, 1, 2]
    """
    total = arguments.whole(size=size)
    while True:
        words = rng.words(total) if total else np.zeros(0, dtype=np.uint64)
        if np.unique(words).size == total:
            return np.argsort(words).astype(np.int64)


_WORDS: Final = 1 << 20  # drawn at a time


def poisson_mask(population: int, sampling_rate: arguments.Number, rng: Rng) -> Coins:
    """Keep each of ``population`` records independently with exactly the rational rate given.

    Law: entries are independent with P(True) = sampling_rate.
    Proof: they are exact coins (``bernoulli``).

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> poisson_mask(3, 1, ReplayRng(1))
        array([ True,  True,  True])
    """
    rate = arguments.probability(sampling_rate=sampling_rate)
    return bernoulli(rate, arguments.whole(population=population), rng)


def subset_without_replacement(population: int, size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw a uniformly random subset of exactly ``size`` of ``population`` records.

    Law: every subset of that size has probability 1 / binomial(population, size).
    Proof: give each record an ideal uniform and take the ``size`` smallest. Independent ideal
        uniforms are distinct with probability 1 and exchangeable, so the set of the smallest is
        uniform. One word each settles every record except those whose word ties with the last
        place; among these the next words of the same uniforms settle the remaining places.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> subset_without_replacement(4, 4, ReplayRng(1))
        array([0, 1, 2, 3])
    """
    total = arguments.whole(population=population)
    wanted = arguments.whole(size=size)
    if wanted > total:
        raise ParameterError("size", size, f"at most the population, {total}")
    chosen: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    candidates = np.arange(total, dtype=np.int64)
    while 0 < wanted < len(candidates):
        words = rng.words(len(candidates))
        last = np.partition(words, wanted - 1)[wanted - 1]
        below = candidates[words < last]
        chosen.append(below)
        candidates = candidates[words == last]
        wanted -= len(below)
    chosen.append(candidates[:wanted])
    return np.sort(np.concatenate(chosen))


def subsets_without_replacement(
    population: int, size: int, count: int, rng: Rng
) -> NDArray[np.int64]:
    """Draw ``count`` independent uniformly random subsets of exactly ``size`` records each.

    Law: of each row every subset of that size has probability 1 / binomial(population, size).
    Proof: give each record of a row one word and take the ``size`` smallest words, if no word ties
        with the last place; else draw the row again. Whether there is a tie does not depend on
        which record has which word, so the words of a row that is kept are exchangeable still.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> subsets_without_replacement(9, 2, 1000, ReplayRng(1)).shape
        (1000, 2)
    """
    total, wanted = arguments.whole(population=population), arguments.whole(size=size)
    if wanted > total:
        raise ParameterError("size", size, f"at most the population, {total}")
    subsets = np.tile(np.arange(wanted, dtype=np.int64), (arguments.whole(count=count), 1))
    open_rows = np.arange(len(subsets) if 0 < wanted < total else 0)
    while len(open_rows):
        rows = open_rows[: max(1, _WORDS // total)]
        words = rng.words(len(rows) * total).reshape(len(rows), total)
        order = np.argpartition(words, (wanted - 1, wanted), axis=1)
        ends = np.take_along_axis(words, order[:, wanted - 1 : wanted + 1], axis=1)
        settled = ends[:, 0] < ends[:, 1]
        subsets[rows[settled]] = np.sort(order[settled, :wanted], axis=1)
        open_rows = np.concatenate([rows[~settled], open_rows[len(rows) :]])
    return subsets
