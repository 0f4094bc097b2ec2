"""Categories with probabilities proportional to exponentials: the exponential mechanism's draw."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.coins import bernoulli_enclosed
from dpproof.mechanisms.samplers.enclosure import exp_minus, keep_probability
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import UNIT, WORD, LazyUniform, uniform_below

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

    Args:
        exponents: log-weights, shape (n,), n >= 1: float64 (their exact binary values), integers
            of size at most 2^53, or Fractions.
        size: number of draws.
        rng: source of words.
        factor: 0 or in [2^-300, 2^300], multiplies every exponent; epsilon / (2 sensitivity) when
            the exponents are scores.
        multiplicities: one for each category, integers from 1, of any size; None is 1.
    Returns:
        shape (size,), int64, values 0, ..., n - 1.
    Raises:
        ParameterError: no exponents, one that is not finite, or an argument outside its domain.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> categorical_exp([0, 1000, 0], 4, ReplayRng(1))
        array([1, 1, 1, 1])
    """
    scale = arguments.non_negative(factor=factor)
    if scale > 0:
        scale = sampler_arguments.scale(factor=factor)
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
        return np.array([margins.nearest(gap) for gap in gaps]), lambda i: gaps[i]
    values = sampler_arguments.reals(exponents=array)
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
    error = weight * (counted * margins.ROUNDING + margins.LIBM)
    if times is not None:
        # Shares of the largest, at most 1, each rounded correctly: two more roundings.
        most = max(times)
        shares = np.array([one / most for one in times])
        error = error * shares + weight * shares * (2 * margins.ROUNDING) + margins.UNDERFLOW
        weight = weight * shares
    width = math.isqrt(len(gaps)) + 1
    partial = _block_sums(weight, width)
    # A partial sum is the result of at most 2 width + 2 additions.
    slack = 2 * _block_sums(error + margins.UNDERFLOW, width)
    slack += partial * ((2 * width + 2) * 2.0**-52)
    total, total_slack = partial[-1], slack[-1]
    if not total > total_slack:
        return np.zeros(len(gaps)), np.full(len(gaps), np.inf)
    relative = 2 * margins.ROUNDING
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

    Args:
        values: categories 0, ..., categories - 1, any shape.
        categories: the number of categories, from 2 to 2^62.
        epsilon: >= 0, nats; a float is its exact binary value.
        rng: source of words.
    Returns:
        the shape of values, int64.
    Raises:
        ParameterError: an argument is outside its domain.
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
