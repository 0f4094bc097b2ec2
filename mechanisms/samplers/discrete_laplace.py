"""Discrete Laplace noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers, first_accepted, subtract
from dpproof.mechanisms.samplers.coins import bernoulli_exp_near
from dpproof.mechanisms.samplers.geometric import geometric
from dpproof.mechanisms.samplers.rng import Rng


def discrete_laplace(scale: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent discrete Laplace numbers of the given scale.

    Law: P(x) = (1 - r) / (1 + r) * r^|x| for every integer x, with r = e^(-1/scale).
    Proof: the difference of two independent geometric numbers of ratio r equals x with probability
        (1 - r)^2 * sum over j >= 0 of r^j r^(j + |x|) = (1 - r)^2 r^|x| / (1 - r^2).

    Args:
        scale: in [2^-300, 2^300], in units of the integer output.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64; Python integers where int64 is too small.
    Raises:
        ParameterError: scale outside its domain, or size not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> discrete_laplace(3, 4, ReplayRng(1)).shape
        (4,)
    """
    exact = sampler_arguments.scale(scale=scale)
    count = arguments.whole(size=size)
    return subtract(geometric(exact, count, rng), geometric(exact, count, rng))


# At least this share of proposals is accepted (0.46 for sigma near 0 to 0.76 for large sigma).
_ACCEPTED: Final = 0.45


def discrete_gaussian(sigma_squared: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent discrete Gaussian numbers.

    Law: P(x) proportional to e^(-x^2 / (2 sigma_squared)) for every integer x.
    Proof: let t = floor(sigma) + 1 (any integer t >= 1 would do) and propose Y from the discrete
        Laplace law of scale t, so P(Y = y) is proportional to e^(-|y|/t). Accepting with
        probability e^-gamma(y) for gamma(y) = (|y| - sigma^2/t)^2 / (2 sigma^2) gives the product,
        whose exponent is -y^2/(2 sigma^2) plus a constant. The coin is exact: gamma(y) is
        rational, and binary64 only brackets it (``bernoulli_exp_near``).
    Source: Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential Privacy",
        arXiv:2004.00010, Algorithm 3.

    Args:
        sigma_squared: in [2^-600, 2^600], in squared units of the integer output.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64; Python integers where int64 is too small.
    Raises:
        ParameterError: sigma_squared outside its domain, or size not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> discrete_gaussian(Fraction(1, 1000), 3, ReplayRng(1))
        array([0, 0, 0])
    """
    exact = sampler_arguments.squared_scale(sigma_squared=sigma_squared)
    count = arguments.whole(size=size)
    proposal_scale = min(
        math.isqrt(exact.numerator // exact.denominator) + 1, sampler_arguments.WIDEST
    )
    return first_accepted(count, lambda n: _accepted(exact, proposal_scale, n, rng), rate=_ACCEPTED)


def _accepted(sigma_squared: Fraction, proposal_scale: int, proposals: int, rng: Rng) -> Integers:
    y = discrete_laplace(proposal_scale, proposals, rng)
    centre = sigma_squared / proposal_scale
    distance = np.abs(y).astype(np.float64)
    shift, twice = float(centre), float(2 * sigma_squared)
    gamma = (distance - shift) ** 2 / twice
    # The difference is off by at most 2^-52 (distance + shift); squaring and dividing keep that.
    error = margins.ROUNDING * (distance + shift) ** 2 / twice
    exact = bernoulli_exp_near(
        gamma, error, lambda i: (abs(int(y[i])) - centre) ** 2 / (2 * sigma_squared), rng
    )
    return y[exact]
