"""Make finite pairs above a base, from bounds of its profile that the checker repeats.

Heuristic: all constants.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.hockey_stick.curve import facts
from dpproof.accountant.certificates.hockey_stick.loss_atoms import bends
from dpproof.accountant.certificates.selection.connect_the_dots import (
    CLOSE_BY,
    FAINT,
    LOG_BITS,
    Aim,
    corner,
    log_ratio_place,
    pair_above_corners,
    ratios,
)
from dpproof.accountant.engine.profile import deltas, max_loss
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.selection.finite_base import curve
from dpproof.proofs import limits
from dpproof.proofs.certificate import Step

_SEEN = 1e-6  # Tail of the losses below 0.
# Relative distance past the largest loss, and the factor up to which a grid ends there.
_PAST, _NEARLY = 1e-8, 1.01
_COUNT = 768  # Most ratios of a grid.
# Share of a tail that a mixture may count as infinite before it is selected from.
_FAINT = 1e-3
_SHARE = limits.MAX_WORK * 3 // 8  # Share of the checker's work.


def finite_base_pairs(
    base: DominatingPair[Any], tail: float
) -> tuple[FinitePair, FinitePair, list[Step]]:
    """Return a finite pair above each direction, forward first, and the facts that prove it.

    Args:
        base: products whose profiles the checker can bound.
        tail: the mass of losses that may be counted as infinite.
    """
    ways = {base.forward: base.backward, base.backward: base.forward}
    grids = {ahead: _grid(ahead, behind, tail) for ahead, behind in ways.items()}
    wanted: dict[Product, set[Fraction]] = {product: set() for product in ways}
    for ahead, behind in ways.items():
        for t in grids[ahead]:
            wanted[ahead if t >= 1 else behind].add(log_ratio_place(t))
    steps: list[Step] = []
    heights = {}
    for product, places in wanted.items():
        points, shown, _ = facts(product, sorted(places))
        heights[product] = dict(points)
        steps.extend(shown)
    pairs = {}
    for ahead, behind in ways.items():
        both = (
            (t, heights[ahead if t >= 1 else behind].get(log_ratio_place(t))) for t in grids[ahead]
        )
        pairs[ahead] = pair_above_corners(
            [corner(t, float(one)) for t, one in both if one is not None]
        )
    return pairs[base.forward], pairs[base.backward], steps


def finite_mixture_pairs(
    mixture: DominatingPair[Any],
    parts: Sequence[tuple[Fraction, DominatingPair[Any]]],
    aim: Aim,
) -> tuple[FinitePair, FinitePair, list[Step]]:
    """Return a finite pair above each direction of a mixture, and facts about its parts.

    Args:
        mixture: of the parts.
        parts: each with its weight.
        aim: what the pairs are for.
    """
    pairs = {mixture.forward: [(weight, one.forward, one.backward) for weight, one in parts]}
    pairs[mixture.backward] = [(weight, one.backward, one.forward) for weight, one in parts]
    others = {mixture.forward: mixture.backward, mixture.backward: mixture.forward}
    near = [aim.epsilon * (1.0 + x) for x in CLOSE_BY] if aim.epsilon else []
    grids = {way: _dense(way, others[way], aim.tail * _FAINT, near) for way in pairs}
    wanted: dict[Product, set[Fraction]] = {}
    for way, listed in pairs.items():
        for (_, ahead, behind), t in itertools.product(listed, grids[way]):
            wanted.setdefault(ahead if t >= 1 else behind, set()).add(log_ratio_place(t))
    steps: list[Step] = []
    heights = {}
    for product, places in wanted.items():
        points, shown, _ = facts(product, sorted(places), most=_SHARE // len(wanted))
        heights[product] = dict(points)
        steps.extend(shown)
    found = {}
    for way, listed in pairs.items():
        corners = []
        for t in grids[way]:
            each = [heights[a if t >= 1 else b].get(log_ratio_place(t)) for _, a, b in listed]
            if None not in each:
                mean = sum(
                    float(w) * float(y) for (w, _, _), y in zip(listed, each, strict=True) if y
                )
                corners.append(corner(t, mean))
        found[way] = pair_above_corners(corners)
    return found[mixture.forward], found[mixture.backward], steps


def _grid(ahead: Product, behind: Product, tail: float) -> list[Fraction]:
    """Return ratios next to the losses if they are few, else as many as describe the profile."""
    known = bends(ahead)
    if known is None:
        return _dense(ahead, behind, tail)
    return [short_up(math.exp(x), LOG_BITS) for x in known.tolist()]


def _dense(
    ahead: Product, behind: Product, tail: float, near: Sequence[float] = ()
) -> list[Fraction]:
    """Return ratios up to where the profile falls to the tail, and down to where little is left."""
    largest = [max_loss(one) * (1 + _PAST) for one in (ahead, behind)]
    ends = [_end(ahead, tail), _end(behind, max(tail, _SEEN))]
    ends = [top if top < end * _NEARLY else end for top, end in zip(largest, ends, strict=True)]
    listed = zip((1.0, -1.0), largest, ends, strict=True)
    extra = [sign * min(top, end) for sign, top, end in listed if top > 0.0]
    extra += [one for one in near if one < ends[0]]

    def profile(t: Reals) -> Reals:
        above, below = (
            deltas(one, np.log(np.maximum(x, 1.0)))[1] for one, x in ((ahead, t), (behind, 1.0 / t))
        )
        return np.where(t >= 1.0, above, 1.0 - t + t * below)

    return ratios(profile, ends[1], ends[0], extra, floor=tail / FAINT, count=_COUNT)


def _end(product: Product, tail: float) -> float:
    """Return a loss beyond which the profile falls by a negligible amount."""
    side = curve(product).forward
    return float(side.loss[int(np.argmax(side.upper <= side.upper[-1] + tail))])
