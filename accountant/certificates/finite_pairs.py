"""Make finite pairs above others, from bounds of profiles that the checker repeats.

Heuristic: all constants.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.choose import facts_of_all
from dpproof.accountant.certificates.finite_sums import bends
from dpproof.accountant.certificates.serialize import Object, unsaid, unwritten
from dpproof.accountant.engine.profile import deltas, max_loss
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import (
    DominatingPair,
    falling_hull,
    pair_of_profile,
)
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.selection.finite_base import curve
from dpproof.accountant.subsampling.hidden_bits import HiddenBits
from dpproof.accountant.subsampling.shuffled_reports import (
    ShuffledReportsPair,
    layers_above,
    layout,
)
from dpproof.proofs import limits
from dpproof.proofs.certificate import Step

_BITS = 26  # Bits of a bound.
LOG_BITS = 40  # Bits after the point of a log of a ratio.
_ROOM = 1e-8  # Relative room of a bound for the roundings of the engine.
FAINT = 1e-5  # Ratio of a tail to the profile below which bends do not matter.
_POWER = 0.75  # Power of the profile that its bend is compared with.
_FINEST = 2.0**-11  # Least relative distance of ratios.
_MILD = 0.25  # Share of the largest bend from which cells are cut at the same time.
_SEEN = 1e-6  # Tail of the losses below 0.
# Relative distances to an epsilon at which ratios are added.
CLOSE_BY = (-1e-6, 0.0, 1e-5, 3e-5, 1e-4, 3e-4)
_SPARE = 0.01  # Share of the tail that is added to bounds.
_LEAST = Fraction(1, 1 << 80)  # Least bound for t < 1, so that interval arithmetic decides.

Corner = tuple[Fraction, Fraction]


class ProfileBound(Protocol):
    """A bound of a profile at ratios t >= 1."""

    def delta(self, t: Reals) -> Reals:
        """Return the bound at ratios."""

    def end(self, tail: float) -> float:
        """Return a log t beyond which the bound falls by a negligible amount."""


@final
@dataclass(frozen=True, slots=True)
class Aim:
    """The purpose of finite pairs above selections."""

    tail: float = 0.0  # the mass of losses that may be counted as infinite
    selections: int = 1  # the number that share the checker's work
    epsilon: float = 0.0  # a value near which no chord of the profile is to be long; 0 for none


def ratios(
    profile: Callable[[Reals], Reals],
    least: float,
    most: float,
    extra: Iterable[float] = (),
    *,
    floor: float,
    count: int,
    size: Callable[[Reals], Reals] | None = None,
    finest: float = _FINEST,
) -> list[Fraction]:
    """Return ratios t from e^-least to beyond e^most, dense where the profile bends for its size.

    Neighbours differ by powers of two, which keeps the masses short. ``extra`` lists logs of
    further ratios, beside at most ``count`` others; below ``floor`` little of a profile matters.
    """
    octaves = range(-math.ceil(least / math.log(2)), math.ceil(most / math.log(2)) + 1)
    listed = np.array([2.0**octave for octave in octaves])
    heights = profile(listed)
    while True:
        middle = 0.5 * (listed[1:] + listed[:-1])
        inside = profile(middle)
        chord = 0.5 * (heights[1:] + heights[:-1])
        against = size(middle) if size else inside
        bent = (chord - inside) / (against + floor) ** _POWER
        bent[np.diff(listed) < finest * middle] = 0.0
        outside = (middle < math.exp(-least)) & (listed[1:] <= math.exp(-least))
        bent[outside | (listed[:-1] >= math.exp(most))] = 0.0
        room = count - listed.size
        if room <= 0 or not bent.max(initial=0.0) > 0.0:
            break
        split = np.flatnonzero(
            bent >= max(_MILD * bent.max(), np.sort(bent)[-min(room, bent.size)])
        )
        listed = np.insert(listed, split + 1, middle[split])
        heights = np.insert(heights, split + 1, inside[split])
    further = {short_up(math.exp(one), _BITS) for one in extra}
    inner = {Fraction(t) for t in listed.tolist() if math.exp(-least) <= t <= 2 * math.exp(most)}
    return sorted({*inner, *further, Fraction(1)})


def pair_of_bounds(
    ahead: ProfileBound, behind: ProfileBound, aim: Aim, *, one_way: bool, count: int
) -> FinitePair:
    """Return the finite pair of bounds of H_t(P || Q), and of H_t(Q || P) behind.

    If both are the same it is used one way, and losses below 0 matter less.
    """
    tail = aim.tail
    ends = behind.end(max(tail, _SEEN) if one_way else tail), ahead.end(tail)

    def profile(t: Reals) -> Reals:
        above, below = ahead.delta(np.maximum(t, 1.0)), behind.delta(np.maximum(1.0 / t, 1.0))
        return np.where(t >= 1.0, above, 1.0 - t + t * below)

    def both(t: Reals) -> Reals:
        return np.asarray(np.maximum(profile(t) - np.maximum(1.0 - t, 0.0), 0.0))

    points, size = [], None if one_way else both
    near = [min(aim.epsilon * (1.0 + x), ends[1]) for x in CLOSE_BY] if aim.epsilon else []
    extra = (-ends[0], *near, ends[1])
    listed = ratios(profile, *ends, extra, floor=tail / FAINT, count=count, size=size)
    for t in listed:
        bounds = [float(ahead.delta(np.array(float(t))))] if t >= 1 else []
        bounds += [float(behind.delta(np.array(float(1 / t))))] if t <= 1 else []
        points.append(corner(t, max(bounds) + _SPARE * tail))  # differences of masses cancel
    return pair_above_corners(points)


def log_ratio_place(t: Fraction) -> Fraction:
    """Return |log t|, rounded down."""
    return Fraction(math.floor(math.ldexp(abs(math.log(t)), LOG_BITS)), 1 << LOG_BITS)


def corner(t: Fraction, bound: float) -> Corner:
    """Return a bound of H_t: of this direction for t >= 1, of the swapped one at 1/t for t < 1."""
    exact = short_up(min(bound * (1 + _ROOM), 1.0), _BITS)
    return t, exact if t >= 1 else 1 - t + t * max(exact, _LEAST)


def pair_above_corners(points: list[Corner]) -> FinitePair:
    """Return the finite pair of the largest convex polygon below the points."""
    return pair_of_profile(falling_hull([(Fraction(0), Fraction(1)), *points]))


# Relative distance past the largest loss, and the factor up to which a grid ends there.
_PAST, _NEARLY = 1e-8, 1.01
_COUNT, _COUNT_OF_ALL = 768, 2048  # Most ratios of a grid, and of those of all selections.
# Share of a tail that a mixture may count as infinite before it is selected from.
_FAINT = 1e-3
_SHARE = limits.MAX_WORK * 3 // 8  # Share of the checker's work.


def finite_base_pairs(
    base: DominatingPair[Any], tail: float, selections: int = 1
) -> tuple[FinitePair, FinitePair, list[Step]]:
    """Return a finite pair above each direction, forward first, and the facts that prove it.

    Several selections in one certificate share how many ratios there are.
    """
    most = min(_COUNT, _COUNT_OF_ALL // selections)
    others = {base.forward: base.backward, base.backward: base.forward}
    grids = {ahead: _grid(ahead, behind, tail, most) for ahead, behind in others.items()}
    parts = {ahead: [(Fraction(1), ahead, behind)] for ahead, behind in others.items()}
    pairs, steps = _means(grids, parts, {product: set() for product in others})
    return pairs[base.forward], pairs[base.backward], steps


def finite_mixture_pairs(
    mixture: DominatingPair[Any], parts: Sequence[tuple[Fraction, DominatingPair[Any]]], aim: Aim
) -> tuple[FinitePair, FinitePair, list[Step]]:
    """Return a finite pair above each direction of a mixture, and facts about its parts."""
    both = {mixture.forward: [(weight, one.forward, one.backward) for weight, one in parts]}
    both[mixture.backward] = [(weight, one.backward, one.forward) for weight, one in parts]
    others = {mixture.forward: mixture.backward, mixture.backward: mixture.forward}
    near = [aim.epsilon * (1.0 + x) for x in CLOSE_BY] if aim.epsilon else []
    grids = {way: _dense(way, others[way], aim.tail * _FAINT, near) for way in both}
    pairs, steps = _means(grids, both, {}, share=_SHARE)
    return pairs[mixture.forward], pairs[mixture.backward], steps


def _means(
    grids: dict[Product, list[Fraction]],
    parts: dict[Product, list[tuple[Fraction, Product, Product]]],
    wanted: dict[Product, set[Fraction]],
    share: int | None = None,
) -> tuple[dict[Product, FinitePair], list[Step]]:
    """Return finite pairs above weighted parts, each with its swap, and facts about the parts.

    The facts come in the order of ``wanted``, to which products are added.
    """
    for way, listed in parts.items():
        for (_, ahead, behind), t in itertools.product(listed, grids[way]):
            wanted.setdefault(ahead if t >= 1 else behind, set()).add(log_ratio_place(t))
    heights, steps = facts_of_all(wanted, share and share // len(wanted))
    pairs = {}
    for way, listed in parts.items():
        corners = []
        for t in grids[way]:
            each = [heights[a if t >= 1 else b].get(log_ratio_place(t)) for _, a, b in listed]
            if None not in each:
                mean = sum(
                    float(w) * float(y) for (w, _, _), y in zip(listed, each, strict=True) if y
                )
                corners.append(corner(t, mean))
        pairs[way] = pair_above_corners(corners)
    return pairs, steps


def _grid(ahead: Product, behind: Product, tail: float, most: int) -> list[Fraction]:
    """Return ratios next to the losses if they are few, else as many as describe the profile."""
    points = bends(ahead)
    if points is None:
        return _dense(ahead, behind, tail, most=most)
    return [short_up(math.exp(x), LOG_BITS) for x in points.tolist()]


def _dense(
    ahead: Product, behind: Product, tail: float, near: Sequence[float] = (), most: int = _COUNT
) -> list[Fraction]:
    """Return ratios up to where the profile falls to the tail, and down to where little is left."""
    largest = [max_loss(one) * (1 + _PAST) for one in (ahead, behind)]
    ends = [reach(ahead, tail), reach(behind, max(tail, _SEEN))]
    ends = [top if top < end * _NEARLY else end for top, end in zip(largest, ends, strict=True)]
    listed = zip((1.0, -1.0), largest, ends, strict=True)
    extra = [sign * min(top, end) for sign, top, end in listed if top > 0.0]
    extra += [one for one in near if one < ends[0]]

    def profile(t: Reals) -> Reals:
        above, below = (
            deltas(one, np.log(np.maximum(x, 1.0)))[1] for one, x in ((ahead, t), (behind, 1.0 / t))
        )
        return np.where(t >= 1.0, above, 1.0 - t + t * below)

    return ratios(profile, ends[1], ends[0], extra, floor=tail / FAINT, count=most)


def reach(product: Product, tail: float) -> float:
    """Return a loss beyond which the profile falls by a negligible amount."""
    side = curve(product).forward
    return float(side.loss[int(np.argmax(side.upper <= side.upper[-1] + tail))])


_REPORT_RATIOS: Final = 192  # Ratios.
_FINEST_OF_REPORTS: Final = 2.0**-9  # Least distance of ratios, for the largest loss that matters.
_LAYERS: Final = 1_200  # Blocks times nodes.
_LEFT_OUT: Final = 1e-3  # Share of the tail that may be counted as infinite.
_LEAST_TAIL: Final = 1e-25  # The same without a tail.
_FLOOR: Final = 1e-40  # Least bound, above what integer masses miss.
_PAST_LARGEST: Final = 1.0 + 2.0**-24  # Largest losses, past which the checker's bound is 0, too.
_PAST_BITS: Final = 40  # Bits of that ratio.


def pair_above_reports(guarantee: DominatingPair[Any], aim: Aim) -> tuple[FinitePair, Object]:
    """Return a finite pair above reports, in the forward direction, and the witness for it."""
    factors = guarantee.forward.factors
    pair = factors[0].pair
    if not isinstance(pair, ShuffledReportsPair):
        raise NotCertified(unsaid("hidden reports of another pair"))
    if len(factors) > 1 or factors[0].count > 1:
        raise NotCertified(unwritten("records that draw several rounds of a largest loss"))
    tail, plan = max(aim.tail * _LEFT_OUT, _LEAST_TAIL), layout(pair.reports, most=_LAYERS)
    ahead, behind = (
        HiddenBits(layers_above(pair.reports, plan, removal=removal), upper=True)
        for removal in (True, False)
    )

    def profile(t: Reals) -> Reals:
        size = np.abs(np.log(t))
        above, below = (np.minimum(bound(size), 1.0) for bound in (ahead, behind))
        return np.where(t >= 1.0, above, 1.0 - t + t * below)

    def matters(x: float) -> bool:
        return max(float(bound(np.array([x]))[0]) for bound in (ahead, behind)) > tail

    def both(t: Reals) -> Reals:
        return np.asarray(np.maximum(profile(t) - np.maximum(1.0 - t, 0.0), 0.0))

    alike = pair.reports.alike
    end = bisect(matters, 0.0, pair.max_loss)[1]
    near = [aim.epsilon * (1.0 + x) for x in CLOSE_BY] if aim.epsilon else []
    near = [-end, end, *(one for one in near if one < end)]
    extra = {*near, *(-one for one in near)} if alike else near
    top, finest = (
        short_up(math.exp(pair.max_loss * _PAST_LARGEST), _PAST_BITS),
        min(end, 1.0) * _FINEST_OF_REPORTS,
    )
    size, room = both if alike else None, tail / FAINT
    listed = ratios(
        profile, end, end, extra, floor=room, count=_REPORT_RATIOS, size=size, finest=finest
    )
    listed = [t for t in listed if 1 / top < t < top]
    places = np.abs([math.log(t) for t in listed])
    heights = np.where([t >= 1 for t in listed], ahead(places), behind(places))
    heights = np.clip(heights, _FLOOR, 1.0)
    points = [corner(t, height) for t, height in zip(listed, heights.tolist(), strict=True)]
    points = [(1 / top, 1 - 1 / top), *points, (top, Fraction(0))]
    if alike:
        return pair_above_corners(points), {}
    witness: Object = {"groups": [list(one) for one in plan.groups], "nodes": list(plan.nodes)}
    return pair_above_corners(points), witness
