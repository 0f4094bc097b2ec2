"""Compute K and profiles of pairs with finitely many outcomes, and of the product of two.

With p_i the masses of the first pair under P, l_i its losses and G the second pair's profile,

    H_t(P x P' | Q x Q') = sum_i p_i G(e^{eps - l_i}) + p_inf,    t = e^eps,

as P x P' - t Q x Q' on the outcome i of the first is p_i (P' - (t e^{-l_i}) Q'), and on outcomes
that Q misses nothing is subtracted. G is linear in t between the losses: with Q_k the mass of Q'
from the k-th loss on and h_k = G at that loss,

    h_k = h_{k+1} + (e^{l_{k+1}} - e^{l_k}) Q_{k+1},    G(e^x) = h_k + (e^{l_k} - e^x) Q_k

where l_k is the first loss at or above x: sums of positive terms. The first pair may be a product
itself, of which only losses and masses are needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic import elementary, enclosure
from dpproof.accountant.arithmetic.elementary import LONGEST, exp_minus_linear, summation_ulps
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Complexes, Enclosure, Reals

# What the error bound has beside logs and sums. Soundness depends on it.
LINE_ULPS = 14 * enclosure.ELEMENTARY_ULPS + 128
_COLUMNS = 64  # Terms in a product of matrices. Error bounds depend on it.


def exp_minus_linear_on_line(
    start: float, step: float, count: int, growth: Reals, log_weights: Reals
) -> Complexes:
    """Return the sums over g of w (e^z - 1 - z), z = (start + i k step) g, for k = 0..count-1.

    Error at most u times the sum of w |z|^2 e^{max(Re z, 0)} (``LINE_ULPS`` + 20 |log w| +
    ``summation_ulps(m)``), if log w <= 0 and start g <= 1 - log w for all g: E(a), E(b) and the
    real point err as ``exp_minus_linear`` says, and a^2 + b^2 + (start g)^2 <= |z|^2. There the
    weights v have v |log v| <= w (|log w| + 1) e^{max(Re z, 0)}, and err by (3 |log w| + 2) u. The
    product, of |ab| <= (yg)^2 / 4, errs by (4 c + 16 + 3 ``summation_ulps(m)``) u of that, and the
    last term by 36 u of |z|^2 / 2.
    """
    row = min(math.isqrt(count - 1) + 1, 64)
    rows = -(-count // row)
    weights = log_weights + start * growth
    small, large = step * np.arange(1.0, row), step * row * np.arange(1.0, rows)
    total = np.zeros((rows, row), dtype=complex)
    for part in range(0, growth.size, _COLUMNS):
        some = growth[part : part + _COLUMNS]
        first = _turned(np.multiply.outer(large, some)) * np.exp(weights[part : part + _COLUMNS])
        second, tile = _turned(np.multiply.outer(some, small)), LONGEST // row
        for at in range(0, rows - 1, tile):
            total[1 + at : 1 + at + tile, 1:] += elementary.complex_product(
                first[at : at + tile], second
            )
    for place, points in ((np.s_[:, 1:], small), (np.s_[1:, :], large)):
        sums = exp_minus_linear(1j * points, growth, weights)
        total[place] += sums if place[0] == np.s_[:] else sums[:, None]
    flat = exp_minus_linear(np.array([start + 0j]), growth, log_weights)[0].real if start else 0.0
    grown = np.exp(log_weights) * np.expm1(np.minimum(start * growth, 1.0))
    grown = np.where(start * growth > 1.0, np.exp(weights) - np.exp(log_weights), grown)
    slope = float((grown * growth).sum())
    y = step * np.arange(float(count))
    return np.asarray(total.ravel()[:count] + flat + 1j * y * slope)


def _turned(angle: Reals) -> Complexes:
    """Return e^{ix} - 1, of an error of at most 4 c u |x|."""
    half = np.sin(0.5 * angle)
    return np.asarray(-2.0 * half * half + 1j * np.sin(angle))


# Largest exponent for which M - 1 is summed directly. Heuristic: both ways are enclosed.
_LARGE = 1.0
# Largest (1 + c) times the infinite mass in logs for which M counts as close to 1. Heuristic.
_FADED = 0.5
_CLEAR = 1e-4  # Largest E[e^{cL} - 1 - cL] for which M counts as close to 1. Heuristic.
_BLOCK = 1 << 20  # Arguments times outcomes evaluated at once, to bound memory. Heuristic.
_LEAST = 1e-320  # Above what the rounding of one denormal mass loses. Soundness depends on it.
_SMALLEST = 1e-300  # Size below which a sum counts as that. Soundness depends on it.
_FEW = 8  # Most outcomes of tables that are summed together. Error bounds depend on it.
_AT_ONCE = 1 << 15  # Values of many tables evaluated at once, to bound memory. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Atoms:
    """Outcomes with positive mass under both P and Q, and the mass outside them."""

    log_p: Reals  # shape (n,), log masses under P, error at most (8 + 4 |log_p|) u
    loss: Reals  # shape (n,), log(p/q), nats, error at most 4 u |loss|
    infinite_mass: float  # P's mass where Q has none
    missing_mass: float  # Q's mass where P has none

    def swapped(self) -> Atoms:
        """Return the outcomes under (Q, P): masses p e^{-l} at the losses -l, in reverse order."""
        log_q = (self.log_p - self.loss)[::-1]
        return Atoms(log_q, -self.loss[::-1], self.missing_mass, self.infinite_mass)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K(s), the log of sum p e^{s l}.

        As sum p (e^{-l} - 1) = infinite_mass - missing_mass, M(s) - 1 is the sum of
        p ((e^{sl} - 1 - sl) + s (e^{-l} - 1 + l)), all of second order in l, plus
        -infinite_mass - s (infinite_mass - missing_mass).
        """
        step = elementary.equal_step(s) if s.size > 1 else None
        if step is None and s.size > 1 and s.size * self.loss.size > _BLOCK:
            return enclosure.joined([self.cgf(part) for part in np.array_split(s, 2)])
        if not self.near_one(float(s.real.min()), float(s.real.max())):
            return self._plain(s)
        flat = float(exp_minus_linear(np.array([-1.0 + 0j]), self.loss, self.log_p)[0].real)
        coefficient = 13 * enclosure.ELEMENTARY_ULPS + 100 + 22 * np.abs(self.log_p)
        if step is not None and s[0].imag == 0.0 <= s[0].real:
            start = float(s[0].real)
            second = exp_minus_linear_on_line(start, step, s.size, self.loss, self.log_p)
            coefficient += LINE_ULPS + 6 * np.abs(self.log_p) + summation_ulps(self.loss.size)
        else:
            second = exp_minus_linear(s, self.loss, self.log_p)
        drift = self.missing_mass - self.infinite_mass
        excess = second + s * flat - self.infinite_mass + s * drift
        square = self.loss * self.loss * coefficient
        tilts = enclosure.distinct(s.real)
        tilt = np.exp(np.maximum(tilts[:, None] * self.loss, 0.0) + self.log_p) @ square
        tilt = tilt[np.searchsorted(tilts, s.real)]
        down = float(np.exp(np.maximum(-self.loss, 0.0) + self.log_p) @ square)
        size = np.abs(s)
        error = size * size * tilt + size * down
        error += 4.0 * (self.infinite_mass + size * (self.infinite_mass + self.missing_mass))
        return elementary.log1p_enclosure(excess, UNIT_ROUNDOFF * error)

    def near_one(self, low: float, high: float) -> bool:
        """Return whether M is so close to 1 that a plain sum loses K. Heuristic."""
        if -math.log1p(-min(self.infinite_mass, 0.5)) * (1.0 + high) > _FADED:
            return False
        if float((self.log_p + high * self.loss).max(initial=-math.inf)) > _LARGE:
            return False
        tilted = np.minimum(low * self.loss, 1.0)
        return float(np.exp(self.log_p) @ (np.expm1(tilted) - tilted)) < _CLEAR

    def _plain(self, s: Complexes) -> Enclosure:
        """Enclose K(s) by the log of the sum, whose terms are divided by the largest."""
        rounding = 96.0 + 2.0 * summation_ulps(self.loss.size) + 8.0 * np.abs(self.log_p)
        size = np.abs(self.loss)
        turning = 8.0 * (min(float(size.max(initial=0.0)), 1.0) + size)
        columns = np.column_stack([rounding, turning, np.ones(self.loss.size)])
        total, sums, peak = elementary.exponential_sums(s, self.loss, self.log_p, columns)
        error = sums[:, 0] + 2.0 * np.abs(s) * sums[:, 1]
        error = error + 8.0 * np.abs(peak) * sums[:, 2]
        return elementary.log_of_sum(total, UNIT_ROUNDOFF * error, peak)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return lower and upper ends of H_t = sum p (1 - e^{eps - l})_+ plus the infinite mass."""
        lower, upper = np.empty(epsilon.shape), np.empty(epsilon.shape)
        p = np.exp(self.log_p)
        slack = UNIT_ROUNDOFF * (16.0 + 8.0 * np.abs(self.log_p))
        outside = self.infinite_mass
        unsure = 4 * UNIT_ROUNDOFF * outside + (math.ulp(0.0) if outside else 0.0)  # if denormal
        for index, one in enumerate(epsilon):
            gap = np.minimum(one - self.loss, 0.0)
            value = -p * np.expm1(gap)
            reach = abs(one) if math.isfinite(one) else 0.0  # e^{-inf - l} is exactly 0
            blur = 8 * UNIT_ROUNDOFF * (1.0 + reach + np.abs(self.loss))
            slip = np.where(one - self.loss < blur, blur * p + _LEAST, 0.0)
            error = float((value * slack + slip).sum()) + unsure
            total = float(value.sum()) + outside
            lower[index], upper[index] = max(total - error, 0.0), total + error
        return lower, upper

    def adjacency(self, index: Reals, c: float) -> float:
        """Bound 2 sum_k w_k w_{k+1} from below, w the masses tilted by c, by index."""
        exponent = self.log_p + c * self.loss
        weight = np.exp(exponent - exponent.max())
        weight /= weight.sum()
        order = np.argsort(index)
        next_to = np.diff(index[order]) == 1
        return float(2.0 * (weight[order][:-1] * weight[order][1:])[next_to].sum()) * (1 - 1e-9)


def cgfs(tables: Sequence[Atoms], s: Complexes) -> list[Enclosure]:
    """Enclose K of many tables, of those with equally many outcomes and M far from 1 together."""
    low, high = float(s.real.min()), float(s.real.max())
    found: dict[int, Enclosure] = {}
    alike: dict[int, list[int]] = {}
    for place, table in enumerate(tables):
        if len(tables) > 1 and 0 < table.loss.size <= _FEW and not table.near_one(low, high):
            alike.setdefault(table.loss.size, []).append(place)
        else:
            found[place] = table.cgf(s)
    at_once = max(_AT_ONCE // s.size, 1)
    for places in alike.values():
        for start in range(0, len(places), at_once):
            some = places[start : start + at_once]
            rows = _plain_rows([tables[place] for place in some], s)
            found.update(zip(some, map(Enclosure, rows.value, rows.radius), strict=True))
    return [found[place] for place in range(len(tables))]


def _plain_rows(tables: Sequence[Atoms], s: Complexes) -> Enclosure:
    """Enclose K of tables of n <= ``_FEW`` outcomes by sums of e^{log_p + s l - peak}, a row each.

    Rounds: an exponent is off by (9 + 6 |log_p| + 7 |c l| + |peak|) u, a phase by 5 u |y l|, their
    functions by 2 c u, products and sums by (n + 2) u, all relative to the size of a term. The log
    of the size is off by 2 c u (1 + |log|), |log| at most |peak| more than that of the whole.
    """
    log_p, loss = np.array([one.log_p for one in tables]), np.array([one.loss for one in tables])
    tilts = enclosure.distinct(s.real)
    at = np.searchsorted(tilts, s.real)
    exponent = log_p[:, None] + tilts[:, None] * loss[:, None]
    peak = exponent.max(axis=-1)
    scale = np.exp(exponent - peak[..., None])
    fixed = (scale * (96.0 + 8.0 * np.abs(log_p))[:, None]).sum(axis=-1)
    fixed += 16.0 * np.abs(peak) * scale.sum(axis=-1)
    turning = 16.0 * (scale * np.abs(loss)[:, None]).sum(axis=-1)
    total = np.zeros((len(tables), s.size), dtype=complex)
    for k in range(loss.shape[1]):
        size, angle = scale[:, at, k], loss[:, k, None] * s.imag
        total.real += size * np.cos(angle)
        total.imag += size * np.sin(angle)
    error = UNIT_ROUNDOFF * (fixed[:, at] + np.abs(s) * turning[:, at])
    size = np.maximum(np.abs(total), _SMALLEST)
    value = np.empty(total.shape, dtype=complex)
    value.real, value.imag = np.log(size) + peak[:, at], np.arctan2(total.imag, total.real)
    return elementary.log_enclosure(
        value, error / size, 2 * enclosure.ELEMENTARY_ULPS * (1.0 + np.abs(value))
    )


# Above the relative error of total masses of 1 in a table and of single terms. Soundness depends on
# it.
_SLACK = 1e-12
# Above what underflow takes of a mass, whatever floats hold longer. Soundness depends on it.
_UNDERFLOW = 1e-322
# Losses closer than the largest sum over this are merged. Heuristic: what it moves is bounded.
_APART = 2.0**44


@final
@dataclass(frozen=True, slots=True)
class Outcomes:
    """The losses of a finite pair and their masses under P."""

    loss: Reals  # shape (n,), each within ``blur`` and four units in the last place
    mass: Reals  # shape (n,), under P
    rest: float  # P's mass where Q has none
    blur: float  # error of a loss, at most
    rounding: float  # relative error of a mass, at most
    terms: int  # the number of rounded masses: each may have lost a little by underflow

    def times(self, other: Outcomes) -> Outcomes:
        """Return the outcomes of both together, nearly equal losses merged."""
        sums = np.add.outer(self.loss, other.loss).ravel()
        mass = np.multiply.outer(self.mass, other.mass).ravel()
        size = float(np.abs(self.loss).max()) + float(np.abs(other.loss).max())
        keys = np.rint(sums / max(size, 1e-300) * _APART)
        _, first, inverse, each = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        moved = float(np.abs(sums[first][inverse] - sums).max())
        summed = 2.0 * UNIT_ROUNDOFF * (float(each.max()) + 8.0)
        return Outcomes(
            loss=sums[first],
            mass=np.bincount(inverse, weights=mass).astype(float),
            rest=self.rest + other.rest * (1.0 - self.rest),
            blur=self.blur + other.blur + moved + 16.0 * UNIT_ROUNDOFF * size,
            rounding=self.rounding + other.rounding + summed,
            terms=self.terms + other.terms + sums.size,
        )

    def leading(self, least: float, sign: float) -> Outcomes:
        """Return outcomes of at least some mass; ``rest`` keeps the others if sign is 1."""
        keep = self.mass >= least
        if keep.all() or not keep.any():
            return self
        dropped = float(self.mass[~keep].sum()) * (1 + 1e-9) if sign > 0 else 0.0
        return replace(self, loss=self.loss[keep], mass=self.mass[keep], rest=self.rest + dropped)


@final
@dataclass(frozen=True, slots=True)
class PiecewiseLinear:
    """A finite pair with the sums that give its profile at any epsilon in one step."""

    loss: Reals  # shape (n,), increasing, n >= 1
    mass: Reals  # shape (n,), under P
    rest: float  # P's mass where Q has none
    beyond: Reals  # shape (n,), Q's mass from each loss on
    height: Reals  # shape (n,), the profile of the finite losses at each of them
    rounding: float  # relative error of ``beyond`` and ``height``

    @staticmethod
    def of(atoms: Atoms) -> PiecewiseLinear:
        """Accumulate the sums from the largest loss downwards."""
        order = np.argsort(atoms.loss)
        loss, log_p = atoms.loss[order], atoms.log_p[order]
        beyond = _summed_back(np.exp(log_p.astype(np.longdouble) - loss))
        steps = loss[:-1].astype(np.longdouble)
        width = np.exp(steps) * np.expm1(np.diff(loss.astype(np.longdouble)))
        height = np.append(_summed_back(width * beyond[1:]), np.longdouble(0.0))
        return PiecewiseLinear(
            loss=loss,
            mass=np.exp(log_p),
            rest=atoms.infinite_mass,
            beyond=beyond.astype(float),
            height=height.astype(float),
            rounding=8.0 * (loss.size + 64.0) * float(np.finfo(np.longdouble).eps),
        )

    @property
    def outcomes(self) -> Outcomes:
        """Return the losses and masses alone."""
        return Outcomes(self.loss, self.mass, self.rest, 0.0, _SLACK, self.loss.size)

    def profile(self, epsilon: Reals) -> Reals:
        """Return the profile of the finite losses, of relative error ``rounding`` and a little."""
        return self.tangent(epsilon)[0]

    def tangent(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return that profile, and by how much it falls with t, with the same relative error."""
        place = np.searchsorted(self.loss, epsilon)
        at = np.minimum(place, self.loss.size - 1)
        gap = np.minimum(epsilon - self.loss[at], 0.0)
        value = self.height[at] - np.exp(self.loss[at]) * np.expm1(gap) * self.beyond[at]
        inside = place < self.loss.size
        return np.where(inside, value, 0.0), np.where(inside, self.beyond[at], 0.0)


def product_profile(first: Outcomes, second: PiecewiseLinear, epsilon: Reals, sign: float) -> Reals:
    """Return a product's profile at increasing epsilons, rounded up if sign = 1, down if -1.

    Rounds: profiles fall, so the second one is evaluated a little to one side of eps - l_i. What
        underflow takes of Q's masses is multiplied by e^loss.
    """
    profile = np.empty(epsilon.shape)
    endless = first.rest > 0.0 or second.rest > 0.0
    relative = sign * _relative(first, second)
    lost = sign * _lost(first, second)
    for index, one in enumerate(epsilon.tolist()):
        place = _places(first, one, sign)
        total = float((first.mass * (second.profile(place) + second.rest)).sum()) + first.rest
        profile[index] = total * (1.0 + relative)
        if endless or (place < second.loss[-1]).any():
            profile[index] += lost
    return profile


def product_tangents(
    first: Outcomes, second: PiecewiseLinear, epsilon: Reals
) -> tuple[Reals, tuple[Reals, Reals]]:
    """Return lower ends of a product's profile and slopes of lines there below all of it.

    Statement: with l_i the first losses, Q_i the second pair's slope at y_i >= eps - l_i, and S the
        sum of p_i e^{-l_i} Q_i, the profile at any t is at least sum_i p_i G(y_i) - S (t - e^eps).
    Proof: G is at least its tangent at y_i, G(y_i) - Q_i (t e^{-l_i} - e^{y_i}), and
        e^{y_i} >= e^{eps - l_i}.
    Rounds: S both ways, see ``ProfileHalf.slopes``.
    """
    lower, slope = np.empty(epsilon.shape), np.empty(epsilon.shape)
    relative, lost = _relative(first, second), _lost(first, second)
    with np.errstate(under="ignore"):
        opposite = first.mass * np.exp(-first.loss)
    for index, one in enumerate(epsilon.tolist()):
        value, beyond = second.tangent(_places(first, one, -1.0))
        total = float((first.mass * (value + second.rest)).sum()) + first.rest
        lower[index] = total * (1.0 - relative) - lost
        slope[index] = float((opposite * beyond).sum())
    off = relative + first.blur + 16.0 * UNIT_ROUNDOFF * (float(np.abs(first.loss).max()) + 1.0)
    spare = lost * math.exp(max(-float(first.loss.min()), 0.0))
    return lower, (np.maximum(slope * (1.0 - off) - spare, 0.0), slope * (1.0 + off) + spare)


def _places(first: Outcomes, epsilon: float, sign: float) -> Reals:
    """Return the first losses' distances to epsilon, rounded down if sign = 1, up if -1."""
    place = epsilon - first.loss
    if math.isfinite(epsilon):
        place -= sign * (first.blur + 4.0 * UNIT_ROUNDOFF * (abs(epsilon) + np.abs(first.loss)))
    return np.asarray(place)


def _relative(first: Outcomes, second: PiecewiseLinear) -> float:
    """Return the relative error of a product's profile, apart from underflow."""
    return first.rounding + second.rounding + 4.0 * UNIT_ROUNDOFF * first.mass.size


def _lost(first: Outcomes, second: PiecewiseLinear) -> float:
    """Bound what underflow takes of it: masses of Q are multiplied by e^loss."""
    sizes = first.terms + second.loss.size
    return _UNDERFLOW * sizes * math.exp(max(float(second.loss[-1]), 0.0))


def _summed_back(terms: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of each term and all later ones."""
    return np.asarray(np.cumsum(terms[::-1])[::-1])
