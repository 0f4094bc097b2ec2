"""Geometric whole numbers with ratio e^(-1/scale)."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from accountant import arguments
from mechanisms.samplers import margins, sampler_arguments
from mechanisms.samplers.arrays import Integers, first_accepted, multiply_add, patched
from mechanisms.samplers.coins import bernoulli_exp_near
from mechanisms.samplers.enclosure import exp_minus
from mechanisms.samplers.integers import uniform_below
from mechanisms.samplers.rng import Rng
from mechanisms.samplers.search import largest
from mechanisms.samplers.uniform import LazyUniform, Uniforms

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
        >>> from mechanisms.samplers.rng import ReplayRng
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
