r"""Compute the profile of the product of two finite pairs whose losses lie anywhere.

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
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals

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
        """Return outcomes of at least some mass, the others lost, or if sign = 1 as if Q had none."""
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
        """Return the profile of the finite losses, of relative error ``rounding`` and few roundings."""
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
