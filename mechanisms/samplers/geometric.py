"""Geometric whole numbers with ratio e^(-1/scale), or a rational one."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers, first_accepted, multiply_add, patched
from dpproof.mechanisms.samplers.coins import bernoulli, bernoulli_exp_near
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import LazyUniform, Uniforms, largest, uniform_below

# Above this scale binary64 would leave too many draws open, and the draw is made in two digits.
_ONE_DIGIT: Final = 2**20
_ACCEPTED: Final = 0.63


def geometric(scale: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent geometric numbers of the given scale.

    Law: P(k) = (1 - r) r^k for k = 0, 1, ..., with r = e^(-1/scale).
    Proof, scale up to 2^20: the draw is floor(scale * E) for E = -log U, U the ideal uniform, and
        P(scale * E >= k) = P(U <= e^(-k/scale)) = r^k.
    Proof, above: let m = floor(scale). The law of k = R + m Q is r^R r^(m Q) up to a constant, so
        R and Q are independent: Q is geometric of scale ``scale / m``, and R has the law r^R on
        {0, ..., m - 1}, drawn by accepting a uniform R with probability e^(-R/scale) (at least
        e^-1).

    Args:
        scale: in [2^-300, 2^300], dimensionless.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64; Python integers where int64 is too small.
    Raises:
        ParameterError: scale outside its domain, or size not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> geometric(Fraction(1, 200), 3, ReplayRng(1))
        array([0, 0, 0])
    """
    exact = sampler_arguments.scale(scale=scale)
    count = arguments.whole(size=size)
    if exact <= _ONE_DIGIT:
        return _floor_of_exponential(exact, count, rng)
    base = exact.numerator // exact.denominator
    low = first_accepted(count, lambda n: _low_digit(exact, base, n, rng), rate=_ACCEPTED)
    return multiply_add(base, _floor_of_exponential(exact / base, count, rng), low)


def geometric_ratio(ratio: Fraction, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent geometric numbers of a rational ratio.

    Law: P(k) = (1 - r) r^k for k = 0, 1, ...
    Proof: let m = 2^i be the least power with r^m <= 1/2. The law of k = m Q + sum over j < i of
        2^j B_j is a product of powers of r, so all are independent: B_j is 1 with probability
        r^(2^j)/(1 + r^(2^j)), and Q is geometric of ratio r^m, the number of coins of that
        probability before the first that fails.

    Args:
        ratio: in [0, 1), exact; its 2^i-th power is computed, about 1/(1 - ratio) times as long.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64.
    Raises:
        ParameterError: ratio outside its domain, or size not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> geometric_ratio(Fraction(0), 3, ReplayRng(1))
        array([0, 0, 0])
    """
    power, place = arguments.probability(ratio=ratio), 1
    if power == 1:
        raise ParameterError("ratio", ratio, "at least 0 and less than 1")
    found = np.zeros(arguments.whole(size=size), dtype=np.int64)
    while 2 * power > 1:
        found[bernoulli(power / (1 + power), len(found), rng)] += place
        power, place = power * power, 2 * place
    alive = np.arange(len(found))
    while len(alive):
        alive = alive[bernoulli(power, len(alive), rng)]
        found[alive] += place
    return found


def _low_digit(scale: Fraction, base: int, proposals: int, rng: Rng) -> Integers:
    digits = uniform_below(base, proposals, rng)
    gamma = digits.astype(np.float64) / float(scale)
    accepted = bernoulli_exp_near(
        gamma, gamma * margins.ROUNDING, lambda i: int(digits[i]) / scale, rng
    )
    return digits[accepted]


def _floor_of_exponential(scale: Fraction, size: int, rng: Rng) -> Integers:
    """Return floor(-scale log U), decided from more digits wherever binary64 leaves it open."""
    uniforms = Uniforms(size, rng)
    factor = float(scale)
    with np.errstate(all="ignore"):
        y = factor * -np.log(uniforms.approximation)
        # d(log U) = dU / U, then the relative errors of log, of the factor and of the product.
        margin = 2 * factor * margins.UNIFORM + y * (margins.LIBM + margins.ROUNDING)
        low = np.floor(np.maximum(y - margin, 0.0))  # the ideal value is at or above 0
        clear = low == np.floor(y + margin)
    whole = np.where(clear, low, 0.0).astype(np.int64)
    slow = {int(i): _exact_floor(scale, uniforms.lazy(int(i))) for i in np.flatnonzero(~clear)}
    return patched(whole, slow)


def _exact_floor(scale: Fraction, uniform: LazyUniform) -> int:
    """Return the largest k >= 0 with U < e^(-k/scale)."""
    guess = int(scale * Fraction(uniform.minus_log()))
    return largest(lambda k: k <= 0 or uniform.is_below(exp_minus(k / scale)), guess)
