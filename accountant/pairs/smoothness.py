"""Bound how fast a characteristic function falls, from a minorant of the density.

Lemma (layers). Let the law of L be at least sum_j m_j U(I_j), U(I) uniform on an interval I of
length w_j, and let S(x) = sup over t >= x of |sin t / t|. Then for every real y
|E e^{iyL}| <= 1 - sum_j m_j (1 - S(|y| w_j / 2)).
Proof. The rest of the law has mass 1 - sum m_j and contributes at most that; the transform of
U(I) at y has modulus |sin(y w/2) / (y w/2)| <= S(|y| w/2). The bound decreases in |y|.

A density that lies above a step function with one peak is the sum of its horizontal layers,
each uniform on an interval: this is how a pair finds its layers. As the location of a layer
does not matter, only its mass and width are kept.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpproof.accountant.arithmetic.elementary import sinc_deficit
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.pair import Smoothness

_SHARED = 4  # Neighbouring layers that are counted as one. Heuristic: the narrowest width is kept.
_SAFETY = 1.0 - 1e-9  # Far above the rounding in heights and widths. Soundness depends on it.


def layers(heights: Reals, widths: Reals) -> tuple[Reals, Reals]:
    """Cut a histogram below a density into uniform layers.

    Args:
        heights: shape (..., n), lower bounds of the density on n adjacent cells, per nat.
        widths: shape (..., n), the cells' lengths, nats.
    Returns:
        Masses and widths of the layers, each shape (..., m); the widths increase downwards, and
        some masses may be 0.
    """
    if not heights.size:
        return heights, widths
    cells = heights.shape[-1]
    place, peak = np.arange(cells), heights.argmax(axis=-1)[..., None]
    after = np.minimum.accumulate(np.where(place < peak, np.inf, heights), axis=-1)
    before = np.where(place > peak, np.inf, heights)[..., ::-1]
    single = np.minimum(after, np.minimum.accumulate(before, axis=-1)[..., ::-1])
    order = np.argsort(-single, axis=-1)
    levels = np.take_along_axis(single, order, -1)
    reach = np.cumsum(np.take_along_axis(widths, order, -1), axis=-1)
    masses = -reach * np.diff(levels, axis=-1, append=0.0)
    first = np.arange(0, cells, _SHARED)  # the narrowest of some stands for them
    return np.add.reduceat(masses, first, axis=-1) * _SAFETY, reach[..., first] * _SAFETY


def log_decay(
    parts: list[tuple[Smoothness, int]], y: Reals, tau: float = 0.0, end: float = math.inf
) -> Reals:
    """Bound log |e^{-tau^2 t^2/2} product of phi_i(t)^{n_i}| from above, for all t in [y, end].

    The bound of a lattice law ends at its pi/span: between two such horizons those of smaller spans
    are left. As each decreases, it is enough to evaluate them at y and at the horizons beyond.

    Args:
        parts: what is known of each tilted loss law, and its count.
        y: shape (n,), above 0.
        tau: of an extra Gaussian.
        end: largest t.
    """
    best = np.full(y.shape, -np.inf)
    horizons = sorted({math.pi / part.span * (1 - 1e-12) for part, _ in parts if part.span})
    for first, last in itertools.pairwise([0.0, *horizons, math.inf]):
        if first < end:
            left = [(_up_to(part, min(last, end)), count) for part, count in parts]
            bound = _log_bound(left, np.maximum(y, first), tau)
            best = np.where(y < last, np.maximum(best, bound), best)
    return best


def _up_to(part: Smoothness, end: float) -> Smoothness:
    """Return what of a part's smoothness is valid up to some y."""
    if not part.span or end <= math.pi / part.span:
        return part
    return replace(part, span=0.0, step_masses=np.empty(0))


def _log_bound(parts: list[tuple[Smoothness, int]], y: Reals, tau: float) -> Reals:
    """Return the bound at y, for each part the best of its bounds."""
    total = -0.5 * tau * tau * y * y
    for part, count in parts:
        best = np.zeros(y.shape)
        if part.masses.size:
            best = -_SAFETY * (sinc_deficit(0.5 * y[:, None] * part.widths) @ part.masses)
        if part.heights.size:
            with np.errstate(divide="ignore"):
                envelope = np.exp(-np.multiply.outer(y, part.rates)) @ part.heights
                best = np.minimum(best, np.log(envelope * (1 + 1e-9)))
        if part.step_masses.size:
            lost = dirichlet_deficit(0.5 * y[:, None] * part.span, part.steps) @ part.step_masses
            best = np.minimum(best, -_SAFETY * lost)
        total = total + count * (best - 0.5 * part.gaussian_variance * y * y)
    return np.asarray(total)


def dirichlet_deficit(angle: Reals, steps: Reals) -> Reals:
    """Bound from below 1 - sup over t in [angle, pi/2] of |sin(k t) / (k sin t)|.

    For k t < pi the logarithm is -sum_m a_m (k^{2m} - 1) t^{2m} with a_1 = 1/6 and all
    a_m > 0, so the ratio is at most e^{-(k^2-1) t^2/6}; from k t = pi on, as sin t >= 2t/pi,
    at most pi / (2 k t) <= 1/2.
    """
    turned = steps * angle
    near = np.minimum(-np.expm1(-(steps * steps - 1.0) * angle * angle / 6.0), 0.5)
    far = np.maximum(1.0 - 0.5 * math.pi / np.maximum(turned, 1e-300), 0.5)
    return np.where(turned < math.pi, near, far) * (1 - 1e-12)


def exponential_layers(rate: float, half: float, log_scale: float) -> tuple[Reals, Reals]:
    """Return layers of the density e^{log_scale + rate l} on [-half, half], rate > 0."""
    edges = np.linspace(-half, half, 65)
    with np.errstate(under="ignore", over="ignore"):
        heights = np.exp(np.minimum(log_scale + rate * edges[:-1], 600.0))
    return layers(heights * (1 - 1e-9), np.diff(edges))


# Range of losses whose squares are normal floats. Error bounds depend on it.
_LEAST, _LARGEST = Fraction(1, 10**100), Fraction(10**100)
_SQUARES = _LEAST**2, _LARGEST**2  # Range of squared distances. Error bounds depend on it.


def required_loss(**argument: Fraction) -> None:
    """Refuse a loss whose square floats round to 0 or to infinity.

    Args:
        argument: the loss by its name, above 0, nats.

    Raises:
        ParameterError: below 1e-100 or above 1e100.
    Example:
        >>> required_loss(epsilon=Fraction(1, 10))
    """
    _required(argument, _LEAST, _LARGEST, "from 1e-100 to 1e+100")


def required_square(**argument: Fraction) -> None:
    """Refuse the square of a dimensionless distance that is not representable as a float.

    Raises:
        ParameterError: below 1e-200 or above 1e200.
    Example:
        >>> required_square(mu_squared=Fraction(1, 10))
    """
    _required(argument, *_SQUARES, "from 1e-200 to 1e+200")


def required_rate(**argument: Fraction) -> None:
    """Refuse a sampling rate q for which log q or log(1 - q) would lose digits.

    Raises:
        ParameterError: closer than 1e-100 to 0 or to 1.
    Example:
        >>> required_rate(sampling_rate=Fraction(1, 100))
    """
    ((name, value),) = argument.items()
    if not _LEAST <= value <= 1 - _LEAST:
        hint = "round it up" if value < _LEAST else "sample with rate 1, which is no more private"
        said = "from 1e-100 to 1 - 1e-100, or 1, for its pair to be computed"
        raise ParameterError(name, value, said, hint)


def _required(argument: dict[str, Fraction], least: Fraction, largest: Fraction, said: str) -> None:
    """Refuse a value outside [least, largest]."""
    ((name, value),) = argument.items()
    if not least <= value <= largest:
        hint = "round it up" if value < least else "add noise: it hides nothing"
        raise ParameterError(name, value, f"{said} for its pair to be computed", hint)
