"""Coins whose success probability is exactly the stated real number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import enclosure
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.enclosure import Enclosure, exp_minus, quotient, rational
from dpproof.mechanisms.samplers.rng import Rng, Words
from dpproof.mechanisms.samplers.uniform import UNIT, WORD, LazyUniform

Coins = NDArray[np.bool_]


def bernoulli(probability: arguments.Number, size: int, rng: Rng) -> Coins:
    """Toss ``size`` independent coins that are True with exactly the rational probability given.

    Law: P(True) = probability.
    Proof: the coin is U < probability for the ideal uniform U (see ``bernoulli_enclosed``).
    """
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
    """Toss ``size`` independent coins that are True with probability exactly e^-gamma.

    Law: P(True) = e^-gamma.
    Proof: the coin is U < e^-gamma for the ideal uniform U (see ``bernoulli_enclosed``).
    """
    exact = arguments.non_negative(gamma=gamma)
    return bernoulli_enclosed(exp_minus(exact), arguments.whole(size=size), rng)


def bernoulli_exp_ratios(numerators: ArrayLike, denominator: int, rng: Rng) -> Coins:
    """Toss one coin for each numerator n, True with probability exactly e^-(n / denominator).

    Law: P(coin i is True) = e^-(numerators[i] / denominator), independently.
    Proof: coin i is U_i < e^-gamma_i for ideal uniforms (see ``bernoulli_exp_near``); gamma_i is
        kept as a ratio of integers, and binary64 only brackets it.
    """
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

    Law: P(coin i is True) = e^-exact(i), independently.
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

    Law: P(True) = the enclosed real number.
    Proof: the coin is U < x. With U in [w, w + 1] / 2^64 and low <= x 2^64 <= high, it is True if
        w < low and False if w >= high, in integers; the one or two words between are decided by
        ``LazyUniform.is_below`` from the following digits of the same U.
    """
    words = rng.words(size)
    low, high = probability(WORD)
    below = words < np.uint64(low) if low < 2**WORD else np.ones(size, dtype=np.bool_)
    above = words >= np.uint64(high) if high < 2**WORD else np.zeros(size, dtype=np.bool_)
    for i in np.flatnonzero(~(below | above)):
        below[i] = LazyUniform(int(words[i]), WORD, rng).is_below(probability)
    return below
