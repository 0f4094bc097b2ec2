"""Discrete laws: categories, orders, subsets, and whole numbers as of Laplace and of Gauss."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import lcm
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import DataError, FiniteRuns, ParameterError, arguments
from dpproof.accountant.arithmetic.discrete_laws import skellam_masses
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.mechanisms.samplers import arrays, enclosure
from dpproof.mechanisms.samplers.arrays import Integers, first_accepted, multiply_add, subtract
from dpproof.mechanisms.samplers.enclosure import exp_minus, keep_probability
from dpproof.mechanisms.samplers.rng import (
    UNIT,
    WORD,
    Coins,
    LazyUniform,
    Rng,
    bernoulli,
    bernoulli_enclosed,
    bernoulli_exp_near,
    geometric_ratio,
    uniform_below,
)


def from_law(law: Sequence[Fraction], size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw ``size`` independent positions i, each with probability exactly ``law[i]``, of sum 1.

    Proof: a whole number below the common denominator falls into consecutive intervals.
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

    u_i = factor * exponents[i] is an exact rational; multiplicities m_i multiply e^(u_i).
    Proof: with C_i the sum of the first i + 1 weights, the draw is the number of i with
        C_i <= U C_last, which is i with probability (C_i - C_(i-1)) / C_last. Binary64 brackets
        every C_i / C_last; where the first word of U leaves more than one category possible, the
        following digits of the same U are compared with sums of enclosures, at growing precision.
    Exponents are float64 (their exact binary values), integers of size at most 2^53, or Fractions.
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


_LEAST_CATEGORIES, _MOST_CATEGORIES = 2, 2**62


def randomized_response(
    values: ArrayLike, categories: int, epsilon: arguments.Number, rng: Rng
) -> NDArray[np.int64]:
    """Keep each value with probability e^epsilon / (e^epsilon + categories - 1), else replace it.

    Proof: the coin "keep" has exactly that probability (``bernoulli_enclosed``); a replacement is
        uniform on the categories - 1 others.
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
    """Draw an order of ``size`` records, each with probability 1 / size!.

    Proof: sort the records by one word each; draw all words again if two are equal. Whether two are
        equal does not depend on which record has which word, so kept words are exchangeable still.
    """
    total = arguments.whole(size=size)
    while True:
        words = rng.words(total) if total else np.zeros(0, dtype=np.uint64)
        if np.unique(words).size == total:
            return np.argsort(words).astype(np.int64)


_WORDS: Final = 1 << 20  # drawn at a time


def poisson_mask(population: int, sampling_rate: arguments.Number, rng: Rng) -> Coins:
    """Keep each of ``population`` records independently with exactly the rational rate given."""
    rate = arguments.probability(sampling_rate=sampling_rate)
    return bernoulli(rate, arguments.whole(population=population), rng)


def subset_without_replacement(population: int, size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw a uniformly random subset of exactly ``size`` of ``population`` records.

    Proof: give each record an ideal uniform and take the ``size`` smallest. Independent ideal
        uniforms are distinct with probability 1 and exchangeable, so the set of the smallest is
        uniform. One word each settles every record except those whose word ties with the last
        place; among these the next words of the same uniforms settle the remaining places.
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

    Proof: give each record of a row one word and take the ``size`` smallest words, if no word ties
        with the last place; else draw the row again. Whether there is a tie does not depend on
        which record has which word, so the words of a row that is kept are exchangeable still.
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


Cumulative = Callable[[Any, int], tuple[list[int], list[int]]]
"""(law, bits) -> brackets of P(|X| <= k), k = 0, 1, ..., in units of 2^-bits; cached."""

_TOP: Final = 16  # digits that the table reads: a sign, and 15 of the uniform
_REST: Final = WORD - _TOP
_OPEN: Final = -(2**63)
_FEW: Final = 2**12  # draws that a table is not made for


def symmetric(cumulative: Cumulative, law: Hashable, size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw ``size`` independent X, P(X = x) = P(|X| = |x|) / 2 for x not 0."""
    tops = part_words(size, _TOP, rng)
    if size < _FEW:
        drawn, unclear = np.zeros(size, dtype=np.int64), np.arange(size)
    else:
        drawn = _table(cumulative, law)[tops]
        unclear = np.flatnonzero(drawn == _OPEN)
    first = tops[unclear].astype(np.uint64)
    uniform = (first << np.uint64(_REST)) & np.uint64(2 ** (WORD - 1) - 1)
    uniform |= rng.words(len(unclear)) >> np.uint64(_TOP)
    sizes, clear = _between(cumulative, law, uniform, uniform)
    for i in np.flatnonzero(~clear):
        sizes[i] = _exactly(cumulative, law, LazyUniform(int(uniform[i]), WORD - 1, rng))
    drawn[unclear] = np.where(first >> np.uint64(_TOP - 1), -sizes, sizes)
    return drawn


def part_words(count: int, bits: int, rng: Rng) -> NDArray[Any]:
    """Return whole numbers uniform below 2^bits, bits 16, 32 or 64, cut from as few words."""
    words = rng.words(-(-count * bits // WORD)).astype("<u8", copy=False)
    return words.view(f"<u{bits // 8}")[:count]


def _exactly(cumulative: Cumulative, law: Hashable, uniform: LazyUniform) -> int:
    while True:
        uniform.refine(2 * uniform.bits)
        low, high = cumulative(law, uniform.bits)
        least, most = bisect_right(high, uniform.prefix), bisect_right(low, uniform.prefix)
        if least == most < len(low):
            return least


@lru_cache(maxsize=32)
def _arrays(cumulative: Cumulative, law: Hashable) -> tuple[NDArray[np.uint64], ...]:
    return tuple(np.array(ends, dtype=np.uint64) for ends in cumulative(law, WORD - 1))


def _between(
    cumulative: Cumulative, law: Hashable, first: NDArray[np.uint64], last: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the size for uniforms whose 63 digits are from first to last, and where it is one."""
    low, high = _arrays(cumulative, law)
    least, most = high.searchsorted(first, side="right"), low.searchsorted(last, side="right")
    return least.astype(np.int64), (least == most) & (most < len(low))


@lru_cache(maxsize=32)
def _table(cumulative: Cumulative, law: Hashable) -> NDArray[np.int64]:
    """Return X after each 16 digits, and ``_OPEN`` where it depends on the following ones."""
    first = np.arange(2 ** (_TOP - 1), dtype=np.uint64) << np.uint64(_REST)
    sizes, clear = _between(cumulative, law, first, first + np.uint64(2**_REST - 1))
    return np.concatenate([np.where(clear, sign * sizes, _OPEN) for sign in (1, -1)])


_GUARD: Final = 40  # digits beyond those asked for; soundness rests on brackets
_HALF_WORD: Final = 12  # half a word is a place in a cell of so many digits, and 20 of a coin
_ONE_WORD: Final = 24
_CELLS: Final = 16  # the least number of cells of a spread
_BLOCK: Final = 2**16  # proposals at once, for the processor's cache


def geometric(scale: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw P(k) = (1 - r) r^k for k = 0, 1, ..., r = e^(-1/scale): proofs/theory/inversion.md."""
    exact = arrays.scale(scale=scale)
    law = _Law.of(1, 1 / exact, 1, math.floor(2 * exact))
    return law.draw(arguments.whole(size=size), rng)


def discrete_laplace(scale: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw P(x) = (1 - r) / (1 + r) r^|x|, r = e^(-1/scale): proofs/theory/inversion.md."""
    exact = arrays.scale(scale=scale)
    law = _Law.of(1, 1 / exact, 2, math.floor(2 * exact))
    return law.draw(arguments.whole(size=size), rng)


def discrete_gaussian(sigma_squared: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw P(x) proportional to e^(-x^2 / (2 sigma_squared)): proofs/theory/inversion.md."""
    exact = arrays.squared_scale(sigma_squared=sigma_squared)
    sigma = math.isqrt(exact.numerator // exact.denominator)
    return _Law.of(2, 1 / (2 * exact), 2, sigma).draw(arguments.whole(size=size), rng)


@final
@dataclass(frozen=True, slots=True)
class _Law:
    """P(x) proportional to e^(-rate |x|^power), for x from 0 on if it has one side of 2."""

    power: int
    rate: Fraction
    sides: int
    digits: int  # a cell has 2^digits sizes

    @classmethod
    def of(cls, power: int, rate: Fraction, sides: int, spread: int) -> _Law:
        return cls(power, rate, sides, max(spread // _CELLS, 1).bit_length() - 1)

    def draw(self, size: int, rng: Rng) -> Integers:
        if self.digits:
            return first_accepted(size, lambda n: _accepted(self, min(n, _BLOCK), rng), rate=0.96)
        drawn = symmetric(_cumulative, self, size, rng)
        return np.abs(drawn) if self.sides == 1 else drawn


@lru_cache(maxsize=32)
def _cumulative(law: _Law, bits: int) -> tuple[list[int], list[int]]:
    """Return brackets of the shares of 0 and the first cells, each weighed by its largest mass."""
    width, work = 2**law.digits, bits + _GUARD
    one, count, next_ = 1 << work, law.sides * width, 1 + width
    steps = 1, next_**law.power - 1, (next_ + width) ** law.power - 2 * next_**law.power + 1
    mass, ratio, bend = (exp_minus(law.rate * step)(work) for step in steps)
    low, high, rest = [one], [one], one
    while rest >> (_GUARD // 2):
        low.append(low[-1] + count * mass[0])
        high.append(high[-1] + count * mass[1])
        mass = mass[0] * ratio[0] >> work, -(-mass[1] * ratio[1] >> work)
        ratio = ratio[0] * bend[0] >> work, -(-ratio[1] * bend[1] >> work)
        rest = (mass[1] << work) // (one - ratio[1]) + 1
    most = high[-1] + count * rest
    return (
        [(x << bits) // most for x in low],
        [min(-(-(x << bits) // low[-1]), 1 << bits) for x in high],
    )


@lru_cache(maxsize=32)
def _accepted_below(law: _Law, bits: int, used: int) -> NDArray[np.uint64]:
    """Return for each cell below which words the coin of every size in it says yes."""
    width, cells = 2.0**law.digits, len(_cumulative(law, WORD - 1)[0])
    last = width * np.maximum(np.arange(cells), 1)
    gamma = float(law.rate) * (last**law.power - (last - width + 1) ** law.power)
    surely = np.maximum(np.exp(-gamma) - 2.0**-40, 0.0) * 2.0 ** (bits - used)
    return np.append(surely.astype(np.uint64) << np.uint64(used), np.uint64(0))


def _accepted(law: _Law, proposals: int, rng: Rng) -> Integers:
    """Return the accepted of some proposals, each uniform on the sizes of a cell."""
    cells = symmetric(_cumulative, law, proposals, rng)
    cells = np.abs(cells) if law.sides == 1 else cells
    width, bits = 2**law.digits, 32 if law.digits <= _HALF_WORD else WORD
    words = part_words(proposals, bits, rng)
    used = law.digits if law.digits <= _ONE_WORD else 0
    place: Integers = (words & words.dtype.type(2**used - 1)).astype(np.int64)
    place = place if used else uniform_below(width, proposals, rng)
    drawn = multiply_add(width, cells, -np.sign(cells) * place)
    surely = _accepted_below(law, bits, used).take(np.abs(cells), mode="clip")
    unclear = np.flatnonzero(words >= surely)
    size = np.abs(drawn[unclear])
    first = np.maximum(multiply_add(width, np.abs(cells[unclear]) - 1, np.array([1])), 0)
    gamma = subtract(size, first).astype(np.float64) * float(law.rate)
    if law.power == 2:
        gamma *= size.astype(np.float64) + first.astype(np.float64)
    coin = words[unclear].astype(np.uint64) >> np.uint64(used) << np.uint64(WORD - bits + used)
    coin |= rng.words(len(unclear)) >> np.uint64(bits - used)

    def exact(i: int) -> Fraction:
        return law.rate * Fraction(int(size[i]) ** law.power - int(first[i]) ** law.power)

    accepted = np.ones(len(drawn), dtype=np.bool_)
    error = gamma * (2 * enclosure.ROUNDING)
    accepted[unclear] = bernoulli_exp_near(gamma, error, exact, rng, coin)
    return drawn[accepted]


LARGEST_VARIANCE: Final = 2**20
LEAST_VARIANCE: Final = Fraction(1, 2**20)


def skellam(variance: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw P(x) = e^-v I_|x|(v) for every integer x, v the variance: proofs/theory/inversion.md."""
    exact = require_variance(variance)
    return symmetric(_cumulative_skellam, exact, arguments.whole(size=size), rng)


def require_variance(variance: arguments.Number, _name: str = "variance") -> Fraction:
    """Return a variance, exact."""
    exact = arguments.positive(variance=variance)
    if not LEAST_VARIANCE <= exact <= LARGEST_VARIANCE:
        allowed = "at least 2^-20 and at most 2^20"
        raise ParameterError("variance", variance, allowed, "DiscreteGaussian has no such limit")
    return exact


@lru_cache(maxsize=32)
def _cumulative_skellam(variance: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Return brackets of P(|X| <= k), k = 0, 1, ..., in units of 2^-bits."""
    guard = 24
    masses = skellam_masses(variance, bits + guard)
    sizes = [(masses.lower[0], masses.upper[0])]
    sizes += [(2 * a, 2 * b) for a, b in zip(masses.lower[1:], masses.upper[1:], strict=True)]
    low = [one >> guard for one in accumulate(a for a, _ in sizes)]
    high = [-(-one >> guard) for one in accumulate(b for _, b in sizes)]
    return low, [min(one, 1 << bits) for one in high]


_HALF = Fraction(1, 2)


def run_count(law: RunLaw, size: int, rng: Rng) -> Integers:
    """Draw numbers of runs with exactly the stated law: proofs/theory/inversion.md, section 4."""
    number = arguments.whole(size=size)
    match law:
        case FixedRuns():
            return np.full(number, law.count, dtype=np.int64)
        case BinomialRuns():
            coins = bernoulli(law.probability, number * law.trials, rng)
            return np.asarray(coins.reshape(number, law.trials).sum(axis=1), dtype=np.int64)
        case FiniteRuns():
            return _first_success(law.probabilities, number, rng)
        case TruncatedNegativeBinomial():
            return _negative_binomial(law, number, rng)
        case PoissonRuns():
            return _poisson(law.rate, number, rng)
        case _:
            raise ParameterError("law", law, "a law of the number of runs that can be drawn")


def _first_success(probabilities: tuple[Fraction, ...], size: int, rng: Rng) -> Integers:
    drawn = np.full(size, len(probabilities) - 1, dtype=np.int64)
    still, left = np.arange(size), Fraction(1)
    for k, mass in enumerate(probabilities[:-1]):
        here = bernoulli(mass / left, still.size, rng)
        drawn[still[here]] = k
        still, left = still[~here], left - mass
    return drawn


def _negative_binomial(law: TruncatedNegativeBinomial, size: int, rng: Rng) -> Integers:
    parts, ratio = max(math.ceil(law.eta), 1), 1 - law.gamma

    def propose(number: int) -> Integers:
        every = geometric_ratio(ratio, number * parts, rng).reshape(number, parts)
        return np.asarray(every.sum(axis=1), dtype=np.int64)

    return _thinned(propose, 1, lambda k: (k + law.eta) / (k + parts), size, rng)


def _poisson(rate: Fraction, size: int, rng: Rng) -> Integers:
    parts = math.ceil(2 * rate)
    double = 2 * rate / parts

    def propose(number: int) -> Integers:
        return geometric_ratio(_HALF, number, rng)

    drawn = _thinned(propose, 0, lambda k: double / (k + 1), size * parts, rng)
    return np.asarray(drawn.reshape(size, parts).sum(axis=1), dtype=np.int64)


def _thinned(
    propose: Callable[[int], Integers],
    least: int,
    chance: Callable[[int], Fraction],
    size: int,
    rng: Rng,
) -> Integers:
    """Redraw proposals until k >= ``least`` and a coin for every step up to k shows heads."""
    drawn, still = np.zeros(size, dtype=np.int64), np.arange(size)
    while still.size:
        k = propose(still.size)
        alive = np.flatnonzero(k >= least)
        kept = alive[k[alive] == least]
        for step in range(least, int(k.max())):
            alive = alive[k[alive] > step]
            alive = alive[bernoulli(chance(step), alive.size, rng)]
            kept = np.concatenate([kept, alive[k[alive] == step + 1]])
        drawn[still[kept]] = k[kept]
        still = np.delete(still, kept)
    return drawn
