"""Compute elementary functions near their zeros, where the textbook expression loses every digit.

Each function states its error relative to a size that the caller can add up: u is the unit
roundoff 2**-53 and c = ELEMENTARY_ULPS. All are checked against mpmath at 50 digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpproof.accountant.arithmetic import enclosure
from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Numbers, Reals

# Largest |z| for which log(1 + z) is computed by log1p. Error bounds depend on it.
_NEAR_ZERO = 0.5
# Replaces 0 in logs and quotients, whose error bounds then become infinite. Soundness depends on
# it.
_TINY = 1e-300
# Largest |z| that ``exp_minus_linear`` sums by Taylor. Error bounds depend on it, also elsewhere.
TAYLOR_RADIUS = 3.0
_ALIKE = 6.0  # Largest ratio of alphas that are taken together. Error bounds depend on it.
_EXP_TERMS = 32  # 2 * 3**33 / 35! is below 2**-79. Error bounds depend on it.
# Largest |z| for which log(1 + z) - z is summed by Taylor. Error bounds depend on it.
_LOG_RADIUS = 0.25
_FEW = 24  # Fewest equally spaced points for which products of matrices are used. Heuristic.
# Smaller moduli are replaced by 0, since denormal numbers are slow. Soundness depends on
# ``_DUST**0.75`` being added to error sums.
_DUST = 1e-150
# Columns in a product of matrices, few enough that no library starts threads. Heuristic.
_COLUMNS = 64
LONGEST = 1 << 12  # Points of a line in one such product, likewise. Heuristic.
_AT_ONCE = 1 << 17  # Entries of a block of matrices, to bound memory. Heuristic.
# Most growths summed by shared products with longer floats: so many err by less than ``LONGER``
# allows. Soundness depends on it.
_MOST_SHARED = 1 << 11
LONGER = 8.0  # How many times more u longer floats may err on a line. Soundness depends on it.
# Log of the ratio to the largest term at which terms are left out. Error bounds depend on it.
_LOST = 45.0
# From this x on the side lobes of sin x / x, at most 0.2173, bound it. Soundness depends on both.
_LOBES, _BELOW_LOBES = 2.9, 1.0 - 0.2173
_LOG_TERMS = 13  # (0.25 / 1.75)**26 is below 2**-72. Error bounds depend on it.


def exponential_sums(
    alpha: Complexes, growth: Numbers, log_weights: Numbers, columns: Reals
) -> tuple[Complexes, Reals, Reals]:
    """Return sums over g of w e^{alpha g}, w = e^log_weights, and of |w e^{alpha g}| times columns.

    The first errs by at most u times the sum of |w e^{alpha g}| (16 c + 2 ``summing(m)`` + 8 |alpha
    g| + 8 |log w|). Where alpha goes up a vertical line in equal steps and Im g >= 0, as w
    e^{alpha_0 g + i r d g} times e^{i p d g}: products of matrices; what these leave out as too
    small is in the second. The shapes are (n,) of alpha, (..., m) of the next two and (..., m, k)
    of the columns. Both sums are divided by e^peak, and have shapes (..., n) and (..., n, k); those
    that are equal for all alpha have n = 1, as have the peaks.
    """
    step = equal_step(alpha)
    if step is None or growth.imag.min() < 0:
        log_size, phase = _modulus_and_phase(alpha, growth, log_weights)
        peak = log_size.max(axis=-1)
        scale = np.exp(log_size - peak[..., None])
        return _sum_of_phasors(scale, phase), scale @ columns, peak
    log_size, phase = _modulus_and_phase(alpha[:1], growth, log_weights)
    peak = log_size.max(axis=-1)
    if growth.ndim == 1 and not np.iscomplexobj(growth):
        size = log_size[0] - peak
        scale = np.where(size < math.log(_DUST), 0.0, np.exp(size))
        angle, starts = step * growth.real, range(0, alpha.size, LONGEST)
        sizes = (min(LONGEST, alpha.size - at) for at in starts)
        total = np.concatenate(
            [
                _sums_on_line(size, angle, scale, phase[0] + at * angle)
                for at, size in zip(starts, sizes, strict=True)
            ]
        )
        return total, (scale @ columns)[None, :] + _DUST**0.75, peak
    row = math.isqrt(alpha.size) + 1
    rows = -(-alpha.size // row)
    total = np.zeros((*growth.shape[:-1], rows, row), dtype=_complex(growth))
    sums = np.zeros((*growth.shape[:-1], columns.shape[-1], rows, row), dtype=growth.real.dtype)
    for start in range(0, growth.shape[-1], _COLUMNS):
        part = slice(start, start + _COLUMNS)
        turn = 1j * step * growth[..., None, part]
        first = np.arange(row)[:, None] * turn + 1j * phase[..., part]
        first = _exp_or_zero(first + (log_size[..., part] - peak[..., None]))
        second = _exp_or_zero(row * np.arange(rows)[:, None] * turn)
        total += complex_product(second, first.swapaxes(-1, -2))
        sums += _modulus_sums(np.abs(second), np.abs(first), columns[..., part, :])
    flat = sums.reshape(*sums.shape[:-2], -1)[..., : alpha.size]
    whole = total.reshape(*total.shape[:-2], -1)[..., : alpha.size]
    return whole, flat.swapaxes(-1, -2) + _DUST**0.75, peak


def summation_ulps(terms: int) -> float:
    """Return how many u of the terms' total size a sum of so many terms errs by, in any order."""
    return min(terms, _COLUMNS) + terms / _COLUMNS + 2.0


def _sums_on_line(size: int, turn: Reals, scale: Reals, phase: Reals) -> Complexes:
    """Return sums of scale e^{i (phase + k turn)} for k = 0..size-1, many columns at once.

    With k = p row + r, |r| <= row / 2, as sines and cosines of -r follow from those of r.
    """
    reach = max(math.isqrt(size // 2), 1)
    row = 2 * reach + 1
    rows = 1 - (reach - size + 1) // row
    total = np.zeros((rows, row), dtype=_complex(turn))
    at_once = _COLUMNS * max(_AT_ONCE // (_COLUMNS * (row + rows)), 1)
    for start in range(0, turn.size, at_once):
        part = np.zeros((3, -(-min(at_once, turn.size - start) // _COLUMNS) * _COLUMNS), turn.dtype)
        for line, one in zip(part, (turn, scale, phase), strict=True):
            piece = one[start : start + at_once]
            line[: piece.size] = piece
        turned, sized, begun = part.reshape(3, -1, 1, _COLUMNS)
        across, along = _cosines_and_sines(1.0 * row * np.arange(rows), turned)
        cosine, sine = _cosines_and_sines(np.arange(reach + 1.0), turned)
        cosine = np.concatenate([cosine[:, :0:-1], cosine], axis=1)
        sine = np.concatenate([-sine[:, :0:-1], sine], axis=1)
        even, odd = sized * np.cos(begun), sized * np.sin(begun)
        cosine, sine = (even * cosine - odd * sine).mT, (even * sine + odd * cosine).mT
        total.real += (across @ cosine - along @ sine).sum(axis=0)
        total.imag += (across @ sine + along @ cosine).sum(axis=0)
    return np.asarray(total.ravel()[reach : reach + size])


def _cosines_and_sines(times: Reals, turned: Reals) -> tuple[Reals, Reals]:
    """Return cosine and sine of the integer multiples of angles; the first multiple is 0."""
    angle = times[1:, None] * turned
    shape = (turned.shape[0], 1, turned.shape[2])
    cosine = np.concatenate([np.ones(shape), np.cos(angle)], axis=1)
    return cosine, np.concatenate([np.zeros(shape), np.sin(angle)], axis=1)


def _exp_or_zero(exponent: Complexes) -> Complexes:
    """Return e^x, or 0 if it is so small that products with it would be denormal, thus slow."""
    return np.where(exponent.real < math.log(_DUST), 0.0, np.exp(exponent))


def complex_product(one: Complexes, other: Complexes) -> Complexes:
    """Return the product of complex matrices by real ones, for which fewer threads are started."""
    real = one.real @ other.real - one.imag @ other.imag
    return np.asarray(real + 1j * (one.real @ other.imag + one.imag @ other.real))


def _modulus_sums(second: Reals, first: Reals, columns: Reals) -> Reals:
    """Return sums of the moduli times each column, shape (..., k, rows, row)."""
    return np.stack(
        [
            second @ (first * columns[..., None, :, k]).swapaxes(-1, -2)
            for k in range(columns.shape[-1])
        ],
        axis=-3,
    )


def equal_step(alpha: Complexes) -> float | None:
    """Return the step of many points of a vertical line if they are exactly equally spaced."""
    if alpha.size < _FEW:
        return None
    step = float(alpha.imag[1] - alpha.imag[0])
    spaced = alpha[0] + 1j * step * np.arange(alpha.size)
    return step if step > 0 and bool((spaced == alpha).all()) else None


def _modulus_and_phase(
    alpha: Complexes, growth: Numbers, log_weights: Numbers
) -> tuple[Reals, Reals]:
    """Return log modulus and phase of w e^{alpha g}, shape (..., n, m); n = 1 if rows are equal."""
    tilt, turn = alpha.real[:, None], alpha.imag[:, None]
    grown, turned = growth.real[..., None, :], growth.imag[..., None, :]
    same = not np.iscomplexobj(growth) and bool((tilt == tilt[0]).all())
    log_size = (tilt[:1] if same else tilt) * grown + log_weights.real[..., None, :]
    phase = turn * grown
    if np.iscomplexobj(growth):
        log_size = log_size - turn * turned
        phase += tilt * turned
    if np.iscomplexobj(log_weights):
        phase += log_weights.imag[..., None, :]
    return log_size, phase


def _sum_of_phasors(scale: Reals, phase: Reals) -> Complexes:
    """Return for each row the sum of scale e^{i phase}, added pairwise."""
    kind = _complex(scale)
    if not phase.any():
        return np.asarray(np.broadcast_to(scale, phase.shape).sum(axis=-1), dtype=kind)
    total = np.empty(phase.shape[:-1], dtype=kind)
    total.real = (scale * np.cos(phase)).sum(axis=-1)
    total.imag = (scale * np.sin(phase)).sum(axis=-1)
    return total


def exp_minus_linear(alpha: Complexes, growth: Numbers, log_weights: Numbers) -> Complexes:
    """Return for each alpha the sum over g of w (e^z - 1 - z), z = alpha g, w = e^log_weights.

    Error of a term at most (13 c + 80 + 14 |log w|) u w |z|^2 e^{max(Re z, 0)}, summation
    included, and ``LONGER`` times that with longer floats than doubles. Alphas of similar
    size are taken together: where |z| <= 3 for all of them, by the Taylor sum over k of
    alpha^k / k! times the sum of w g^k, whose terms together are at most 1.8 |z|^2, each of
    relative error (2 k + c + |log w| + 50) u; otherwise |z| > 1/2 for all, and directly, where
    1, |z| and |e^z| together are at most 13 |z|^2 e^{max(Re z, 0)}.
    The weight goes into the exponent, so that a huge e^z with a tiny weight does not overflow.
    """
    size, grown = np.abs(alpha), np.abs(growth)
    least = float(size.min())
    kind = (np.log(size / least) / math.log(_ALIKE)).astype(int)
    total = np.zeros(alpha.shape, dtype=_complex(growth))
    for one in range(int(kind.max()) + 1):
        some = kind == one
        if some.any():
            near = float(size[some].max()) * grown <= TAYLOR_RADIUS
            if near.any():
                total[some] += _by_moments(alpha[some], growth[near], log_weights[near])
            if not near.all():
                total[some] += _directly(alpha[some], growth[~near], log_weights[~near])
    return total


def _by_moments(alpha: Complexes, growth: Numbers, log_weights: Numbers) -> Complexes:
    """Sum the Taylor series, with alpha in units of a power of 2 next to the largest."""
    unit = math.ldexp(1.0, math.frexp(float(np.abs(alpha).max()))[1])
    k = np.arange(2.0, _EXP_TERMS + 3)[:, None]
    factors = unit * growth / k
    factors[0] *= unit * growth * np.exp(log_weights)
    moments = np.multiply.accumulate(factors, axis=0).sum(axis=1)
    scaled = (alpha / unit).astype(_complex(growth))
    total = np.full(alpha.shape, moments[-1], dtype=_complex(growth))
    for moment in moments[-2::-1]:  # Horner: term k has k products and k sums
        total *= scaled
        total += moment
    return np.asarray(total * (scaled * scaled))


def _directly(alpha: Complexes, growth: Numbers, log_weights: Numbers) -> Complexes:
    """Sum w e^z and w (1 + z) apart; real alphas by themselves, as the others may be on a line."""
    weights = np.exp(log_weights)
    total = np.empty(alpha.shape, dtype=_complex(growth))
    flat = alpha.imag == 0.0
    if flat.any():
        exponent = np.multiply.outer(alpha.real[flat], growth) + log_weights
        total[flat] = np.exp(exponent).sum(axis=1)
    if not flat.all():
        total[~flat] = _sum_of_powers(alpha[~flat], growth, log_weights)
    return np.asarray(total - (weights.sum() + alpha * (weights * growth).sum()))


def _sum_of_powers(alpha: Complexes, growth: Numbers, log_weights: Numbers) -> Complexes:
    """Return the sums of w e^z, without terms negligible beside the largest of each.

    Trigonometry of longer floats is so slow that many alphas on a line share it: by products of
    matrices, of an error of at most (16 c + 2 ``summing(m)`` + 8 |z| + 8 |log w|) u w |e^z|.
    """
    longer = _complex(growth) != np.complex128 and growth.size <= _MOST_SHARED
    if longer and equal_step(alpha) is not None:
        total, _, peak = exponential_sums(alpha, growth, log_weights, np.zeros((growth.size, 1)))
        return np.asarray(total * np.exp(peak))
    log_size, phase = _modulus_and_phase(alpha, growth, log_weights)
    large = (log_size > log_size.max(axis=1, keepdims=True) - _LOST).any(axis=0)
    return _sum_of_phasors(np.exp(log_size[:, large]), phase[:, large])


def _complex(numbers: Numbers) -> np.dtype[Any]:
    """Return the complex type of the same precision."""
    return np.result_type(numbers.dtype, np.complex64)


def log1p_complex(z: Numbers) -> Numbers:
    """Return log(1 + z) on the principal branch, real for real z.

    Error at most 4 c u |z| for |z| <= 1/2 (numpy's own complex log1p loses the real part
    there), and 4 c u (1 + |log(1 + z)|) otherwise.
    """
    if z.dtype.kind == "f":
        return np.asarray(np.log1p(z))
    near = np.abs(z) <= _NEAR_ZERO
    small = np.where(near, z, 0.0)
    x, y = small.real, small.imag
    real = np.where(
        near,
        0.5 * np.log1p(x * (2.0 + x) + y * y),
        np.log(np.maximum(np.hypot(1.0 + z.real, z.imag), _TINY)),
    )
    return np.asarray(real + 1j * np.arctan2(z.imag, 1.0 + z.real))


def log1p_minus_linear(z: Numbers) -> Numbers:
    """Return log(1 + z) - z.

    Error at most (36 c + 32) u times the result. For |z| <= 1/4, with v = z / (2 + z), it is
    -v z + 2 v^3 (1/3 + v^2/5 + ...), as log(1 + z) = 2 artanh(v) and 2 v - z = -v z; the second
    part is at most a tenth of the first. Otherwise directly, where |log(1 + z)| and |z| are each
    at most 9 times the result.
    """
    out = log1p_complex(z) - z
    small = np.abs(z) <= _LOG_RADIUS
    w = z[small]
    v = w / (2.0 + w)
    square = v * v
    total = np.full(w.shape, 1 / w.real.dtype.type(2 * _LOG_TERMS + 1), dtype=w.dtype)
    for order in range(2 * _LOG_TERMS - 1, 1, -2):
        total = total * square + 1 / w.real.dtype.type(order)
    out[small] = v * (2.0 * square * total - w)
    return out


def sinc_deficit(x: Reals) -> Reals:
    """Return a lower bound of 1 - S(x), S(x) = sup over t >= x of |sin t / t|, for x >= 0.

    sin x / x <= 1 - x^2/6 + x^4/120, and the largest side lobe is 0.21723...: up to 2.9, where
    the polynomial falls and is below that at the end, S(x) is at most the larger of both;
    beyond, at most the smaller of 0.2173 and 1/x. The result is lowered by 1e-12 for rounding.
    """
    square = x * x
    near = np.minimum(square * (1 / 6 - square / 120), _BELOW_LOBES)
    far = np.maximum(1.0 - 1.0 / np.maximum(x, 1.0), _BELOW_LOBES)
    return np.asarray(np.where(x < _LOBES, near, far) * (1.0 - 1e-12))


def log1p_enclosure(excess: Complexes, error: Reals) -> Enclosure:
    """Enclose log(1 + x) for every x within ``error`` of ``excess``."""
    value = np.asarray(log1p_complex(excess) + 0j)
    size = np.where(np.abs(excess) <= _NEAR_ZERO, np.abs(excess), 1.0 + np.abs(value))
    with np.errstate(over="ignore"):
        relative = error / np.maximum(np.abs(1.0 + excess), _TINY)
    return log_enclosure(value, relative, 4 * enclosure.ELEMENTARY_ULPS * size)


def log_of_sum(
    total: Complexes, error: Reals | float, peak: Reals | float, ulps: float = 4.0
) -> Enclosure:
    """Enclose log(x e^peak) for every x within ``error`` of ``total``.

    The log itself is within ``ulps`` u of what it stands for, relative to 1 + its size.
    """
    size = np.maximum(np.abs(total), _TINY)
    value = np.log(np.where(size <= _TINY, _TINY, total).astype(_complex(total))) + peak
    return log_enclosure(value, error / size, ulps * (1.0 + np.abs(value)))


def log_enclosure(value: Complexes, relative: Reals, ulps: Reals) -> Enclosure:
    """Enclose log x from a rounded log and a relative error of x.

    |log(1 + r)| <= -log(1 - |r|). From |r| = 1/2 on only the size of x is bounded, by
    |x| <= e^value (1 + |r|): an infinite radius.
    """
    small = relative < 0.5
    rounding = ulps * enclosure.unit_roundoff(value.dtype)
    radius = -np.log1p(-np.where(small, relative, 0.0)) * (1 + 1e-12) + rounding
    ceiling = value.real + np.log1p(relative) + rounding
    return Enclosure(np.where(small, value, ceiling), np.where(small, radius, np.inf))


def log_sum(one: float, other: float) -> float:
    """Return the log of the sum of two exponentials."""
    return max(one, other) + math.log1p(math.exp(-abs(one - other)))
