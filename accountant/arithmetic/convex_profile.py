r"""From values of a privacy profile on a grid to a finite pair above it, and one below.

In t = e^eps a profile is convex, non-increasing, 1 at t = 0 and at least 1 - t; a piecewise
linear function with these properties is the profile of a finite pair whose losses are the
logs of its corners (connect the dots: Doroshenko et al., arXiv:2207.04380, Section 3). Left
of t = 1 it is written h(t) = 1 - t + t r(1/t): r is the profile of the swapped pair, so that
both halves are the same thing, a *side*, and keep their digits however small they are.

Above. Let u_j >= delta(t_j). The lower convex hull of the (t_j, u_j) is at least delta: at a
point it is a mix of u's, which is at least that mix of deltas, which is at least delta there
by convexity. After the last point it stays constant.

Below. On a cell with chord slope b and neighbouring chord slopes a <= b <= c, delta is above
both neighbours' extensions, hence at most g = w (b-a)(c-b)/(c-a) below the chord (w the cell's
width). Lower both ends of each cell by the larger g of its two cells: the chords now lie below
delta, and so does their lower convex hull, whose corners are again grid points. Lowering a
height further, or a level stretch up to a point where the height is proved, keeps that true.

Where slopes are known, the corners lie between the points instead, on the tangents (``_tangents``):
that is a tenth as far below.

Rounding. Masses are differences of slopes and carry its noise, so the result is checked rather
than analysed. The masses found are changed at two outcomes so that both sum to 1 (``_balanced``):
what this leaves is below the rounding of a mass. The profile of these masses is then
accumulated from either end, a sum of positive terms in extended precision, and compared with
what it has to cover (``_covers``): above, at the corners, as chords of upper ends are above
delta; below, at every grid point. If it fails there the heights are raised or lowered more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.arithmetic.hull import hull_positions
from dpproof.accountant.errors import NotCertified

Positions = NDArray[np.intp]
_Long = NDArray[np.longdouble]

# Relative changes of the heights, tried in this order. Heuristic: ``_covers`` checks the result.
_MARGINS = (1e-13, 1e-11, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
# Positive heights are raised to this number: smaller ones would lose digits. Heuristic: raising is
# sound, and ``_covers`` checks.
_SMALLEST = 1e-300
_HOPELESS = 1e-3  # Relative change of a mass at which balancing is given up. Heuristic.
_LARGEST = 700.0  # A loss whose exponential is representable as a float. Exceeding it raises.
# Unit roundoff, doubled, of the longest floats. Soundness depends on it.
_LONG_ROUNDOFF = float(np.finfo(np.longdouble).eps)


@final
@dataclass(frozen=True, slots=True)
class ProfileHalf:
    """One half of a profile, given by bounds at losses that start from 0."""

    loss: Reals  # shape (n,), n >= 2, increasing from 0, nats
    lower: Reals  # shape (n,), at or below the profile there
    upper: Reals  # shape (n,), at or above it
    rest: float = 0.0  # at or below the profile everywhere: what stays however large the loss
    # Two of shape (n,), or None: s and S with s <= S such that the profile is at or above lower + s
    # (t_k - t) left of each t_k = e^loss and lower - S (t - t_k) right of it.
    slopes: tuple[Reals, Reals] | None = None


def above(forward: ProfileHalf, backward: ProfileHalf) -> tuple[Atoms, Positions]:
    """Return a finite pair above the profile of both sides' upper ends.

    Its outcomes come by increasing loss, with their positions: k >= 0 for ``forward.loss[k]``, -k
    for the loss ``-backward.loss[k]``.
    """
    wanted = []
    for side in (forward, backward):
        required_reach(float(side.loss.max(initial=0.0)))
        upper = np.where(side.upper > 0, np.clip(side.upper, _SMALLEST, 1.0), 0.0)
        wanted.append(np.minimum.accumulate(upper))
    wanted[0][0] = wanted[1][0] = max(wanted[0][0], wanted[1][0])
    return _certified((forward.loss, backward.loss), wanted, 1.0)


def below(forward: ProfileHalf, backward: ProfileHalf) -> tuple[Atoms, Positions]:
    """Return a finite pair whose profile is at most the one between the ends; see ``above``."""
    sides = [_lowered(side) for side in (forward, backward)]
    wanted = [heights for _, heights in sides]
    middle = min(wanted[0][0], wanted[1][0])
    level = min(heights[1:].max() for heights in wanted)
    if level > middle:  # cells next to t = 1 too wide for the bound on gaps: stay level there
        middle = level
        for heights in wanted:
            heights[: 1 + int(np.argmax(heights[1:]))] = level
    wanted = [np.minimum.accumulate(np.insert(heights[1:], 0, middle)) for heights in wanted]
    return _certified((sides[0][0], sides[1][0]), wanted, -1.0)


def gaps(loss: Reals, heights: Reals) -> Reals:
    """Bound from above how far a profile through these heights lies below its chords."""
    required_reach(float(loss.max(initial=0.0)))
    width = _widths(loss)
    chord = np.diff(heights) / width
    before = np.concatenate([[-1.0], chord[:-1]])
    after = np.concatenate([chord[1:], [0.0]])
    spread = np.maximum(after - before, 1e-300)
    return np.asarray(
        width * np.maximum(chord - before, 0.0) * np.maximum(after - chord, 0.0) / spread
    )


def required_reach(largest: float) -> None:
    """Refuse losses whose exponentials are not representable as floats."""
    if not largest <= _LARGEST:
        raise NotCertified(
            f"privacy losses up to {largest:.4g} are too large for a table, allowed is up to "
            f"{_LARGEST:.4g}; use more noise"
        )


def _lowered(side: ProfileHalf) -> tuple[Reals, Reals]:
    """Return losses and heights all of whose chords are below the profile, of slope at least -1."""
    required_reach(float(side.loss.max(initial=0.0)))
    if side.slopes is not None:
        loss, raw = _tangents(side.loss, side.lower, *side.slopes)
        raw[-1] = min(raw[-1], side.rest)
        return loss, _at_least(raw, side.rest)
    lower = np.maximum.accumulate(side.lower[::-1])[::-1]
    gap = gaps(side.loss, lower)
    noise = np.maximum(side.upper[:-1] - lower[:-1], side.upper[1:] - lower[1:])
    gap = gap * (1 + 1e-9) + 4.0 * noise + 32 * UNIT_ROUNDOFF * lower[:-1]
    raw = lower - np.maximum(np.append(gap, 0.0), np.insert(gap, 0, 0.0))
    return side.loss, _at_least(raw, side.rest)


def _at_least(raw: Reals, rest: float) -> Reals:
    """Return heights raised to the rest, and lowered to it before a raised or the last one."""
    flat = raw < rest
    return np.where(flat | np.append(flat[1:], True), rest, raw)


def _tangents(loss: Reals, lower: Reals, low: Reals, high: Reals) -> tuple[Reals, Reals]:
    """Return corners all of whose chords are below the profile, near where tangents meet.

    Statement: let a corner on every cell be at or below both lines of ``slopes`` there. Between two
        corners the two lines from the point between them are one concave function, as s <= S, and
        at or below the profile; the chord is below it at both ends, hence everywhere.
    """
    width = _widths(loss)
    fall, rise = high[:-1] * width, low[1:] * width
    with np.errstate(divide="ignore", invalid="ignore"):  # parallel lines may meet anywhere
        share = (lower[:-1] - lower[1:] - rise) / (fall - rise)
    share = np.clip(np.where(np.isfinite(share), share, 0.5), 0.01, 0.99)
    corner = loss[:-1] + np.log1p(share * np.expm1(np.diff(loss)))
    after = np.exp(loss[:-1]) * np.expm1(corner - loss[:-1])
    before = np.exp(corner) * np.expm1(loss[1:] - corner)
    height = np.minimum(lower[:-1] - high[:-1] * after, lower[1:] + low[1:] * before)
    height -= 32 * UNIT_ROUNDOFF * (lower[:-1] + high[:-1] * after)
    ends = np.concatenate([loss[:1], corner, loss[-1:]])
    return ends, np.concatenate([lower[:1], height, lower[-1:]])


def _certified(
    losses: tuple[Reals, Reals], wanted: list[Reals], sign: float
) -> tuple[Atoms, Positions]:
    """Return the pair of the hull with the smallest margin for which the check succeeds."""
    for margin in _MARGINS:
        moved = [np.minimum(heights * (1.0 + sign * margin), 1.0) for heights in wanted]
        atoms, position, corners = _pair_of_hulls(*losses, moved)
        if not atoms.loss.size:
            break
        atoms, slip = _balanced(atoms)

        def covers(values: _Long, needed: Reals, slip: float = slip) -> bool:
            return bool((sign * values * (1.0 - sign * slip) >= sign * needed).all())

        checked = corners if sign > 0 else tuple(np.arange(loss.size) for loss in losses)
        sides = list(zip(losses, wanted, checked, strict=True))
        if slip < margin and _covers(atoms, position, sides, covers):
            return atoms, position
    raise NotCertified(
        f"rounding exceeds what the profile differs by between neighbouring points, for a total "
        f"variation distance of {wanted[0][0]:.3g}; compose fewer or larger releases per sample"
    )


def _pair_of_hulls(
    right: Reals, left: Reals, heights: list[Reals]
) -> tuple[Atoms, Positions, tuple[Positions, Positions]]:
    """Return the finite pair of the hull of both sides, and the corners it goes through.

    With slopes a of h right of t = 1 and b of r right of u = 1, h has slope -1 + h(1) - b left
    of t = 1, so that the mass at loss 0 is 1 - h(1) + a + b. Where that is negative the corner
    at t = 1 points upwards, and a segment across it takes its place.
    """
    over, back = (heights[0].astype(np.longdouble), heights[1].astype(np.longdouble))
    forward, backward = (
        hull_positions(np.expm1(loss), one, passes=None)
        for loss, one in zip((right, left), heights, strict=True)
    )
    masses_q, masses_p = _masses(right, over, forward), _masses(left, back, backward)
    spare = 1.0 - over[0] - masses_q.sum() - masses_p.sum()
    if spare <= 0:
        forward, backward = _bridge((right, left), (over, back), (forward, backward))
        masses_q, masses_p = _masses(right, over, forward), _masses(left, back, backward)
    used, mirrored = forward[1:][masses_q > 0], backward[1:][masses_p > 0][::-1]
    middle = np.zeros(int(spare > 0), dtype=np.intp)
    mass = [masses_p[masses_p > 0][::-1], np.full(middle.size, spare), masses_q[masses_q > 0]]
    loss = np.concatenate([-left[mirrored], right[middle], right[used]])
    log_p = np.log(np.concatenate(mass)) + np.maximum(loss, 0.0)
    ends = float(over[forward[-1]]), float(back[backward[-1]])
    atoms = Atoms(log_p.astype(float), loss, *ends)
    bridged = int(spare <= 0)  # then the height at t = 1 is no corner
    corners = forward[bridged:], backward[bridged:]
    return atoms, np.concatenate([-mirrored, middle, used]), corners


def _masses(loss: Reals, heights: _Long, corners: Positions) -> _Long:
    """Return by how much the slope rises at each corner but the first; it is 0 after the last."""
    at = loss[corners].astype(np.longdouble)
    slope = np.diff(heights[corners]) / _widths(at)
    return np.asarray(np.diff(np.append(slope, 0.0)))


def _widths(loss: NDArray[Any]) -> NDArray[Any]:
    """Return the differences of t = e^loss with full relative precision."""
    return np.asarray(np.exp(loss[:-1]) * np.expm1(np.diff(loss)))


def _bridge(
    losses: tuple[Reals, Reals], heights: tuple[_Long, _Long], corners: tuple[Positions, Positions]
) -> tuple[Positions, Positions]:
    """Replace the corner at t = 1 by a segment between two corners below both hulls.

    Past the last corner on the right is the flat line at the other end's height, past the last
    on the left the point (0, 1). The heights at t = 1 become the segment's, in place.
    """
    (right, left), (over, back), (forward, backward) = losses, heights, corners
    x = np.expm1(right[forward].astype(np.longdouble))
    h = over[forward]
    y = np.append(np.expm1(-left[backward].astype(np.longdouble)), -1.0)
    g = np.append(-y[:-1] + (1.0 + y[:-1]) * back[backward], 1.0)
    after = np.append(np.diff(h) / np.diff(x), 0.0)
    # Where t = e^-40 and less there is no slope, and any corner may be kept: the pair is checked.
    with np.errstate(divide="ignore", invalid="ignore"):
        before = np.diff(g) / np.diff(y)
    i = j = 1
    while True:
        slope = (h[i] - g[j]) / (x[i] - y[j]) if i < x.size else np.longdouble(0.0)
        if i < x.size and after[i] <= slope:
            i += 1
        elif j + 1 < y.size and before[j] >= slope:
            j += 1
        else:
            break
    over[0] = back[0] = g[j] - slope * y[j]
    if j == backward.size:
        back[0] = 1.0 + slope
    return np.append(0, forward[i:]), np.append(0, backward[j:])


def _single(atoms: Atoms) -> Atoms:
    """Return a pair with one outcome, the larger mass outside it computed from the smaller."""
    loss = float(atoms.loss[0])
    if atoms.missing_mass < atoms.infinite_mass:
        log_p = loss + math.log1p(-atoms.missing_mass)
        return replace(atoms, log_p=np.array([log_p]), infinite_mass=-math.expm1(log_p))
    log_p = math.log1p(-atoms.infinite_mass)
    return replace(atoms, log_p=np.array([log_p]), missing_mass=-math.expm1(log_p - loss))


def _balanced(atoms: Atoms) -> tuple[Atoms, float]:
    """Change two masses so that P and Q both have mass 1; also return the relative change left.

    With f = 1 - e^{-l} the sums say: sum p = 1 - infinite, sum p f = missing - infinite. One
    mass is the largest, the other the one that matters most for the second sum beside it.
    """
    if atoms.loss.size == 1:
        return _single(atoms), 4 * UNIT_ROUNDOFF
    share = -np.expm1(-atoms.loss.astype(np.longdouble))
    first = int(np.argmax(atoms.log_p))
    lever = np.abs(share - share[first]) * np.exp(atoms.log_p)
    chosen = [int(np.argmax(lever)), first]
    log_p: _Long = atoms.log_p.astype(np.longdouble)
    moved: NDArray[Any] = np.zeros(2, dtype=np.longdouble)
    for _ in range(2):
        stored = (log_p[chosen] + np.log1p(moved)).astype(float)
        log_p[chosen] = stored.astype(np.longdouble)
        mass = np.exp(log_p)
        excess = mass.sum() + atoms.infinite_mass - 1.0
        drift = (mass * share).sum() + atoms.infinite_mass - np.longdouble(atoms.missing_mass)
        change = (share[first] * excess - drift) / (share[chosen[0]] - share[first])
        moved = np.stack([change, -excess - change]) / mass[chosen]
        if np.abs(moved).max() > _HOPELESS:
            return atoms, math.inf
    slip = 2.0 * float(np.abs(moved).max()) + 4.0 * atoms.loss.size * _LONG_ROUNDOFF
    return replace(atoms, log_p=log_p.astype(float)), slip


def _covers(
    atoms: Atoms,
    position: Positions,
    sides: list[tuple[Reals, Reals, Positions]],
    compare: Callable[[_Long, Reals], bool],
) -> bool:
    """Return whether the profile of these masses is on the right side of ``wanted`` where checked.

    From the far end inwards h_k = h_{k+1} + (t_{k+1} - t_k) (mass of Q beyond t_k), on the
    other side the same with P: all terms are positive.
    """
    log_p = atoms.log_p.astype(np.longdouble)
    rests = atoms.infinite_mass, atoms.missing_mass
    for (loss, wanted, checked), sign, rest in zip(sides, (1, -1), rests, strict=True):
        mine = sign * position > 0
        mass = np.zeros(loss.size, dtype=np.longdouble)
        mass[np.abs(position[mine])] = np.exp(log_p[mine] - np.maximum(atoms.loss[mine], 0.0))
        beyond = np.cumsum(mass[:0:-1])[::-1]
        rise = np.cumsum((beyond * _widths(loss.astype(np.longdouble)))[::-1])[::-1]
        height = np.append(rise, 0.0) + rest
        if not compare(height[checked].astype(np.longdouble), wanted[checked]):
            return False
    return True
