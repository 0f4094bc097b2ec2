"""Compute delta(epsilon) and epsilon(delta) of one direction of a product.

The methods are tried in this order: an empty product; a closed form, if there is one pair once or
all pairs are Gaussian; a finite sum; the lattice, if all losses are on one; the contour. All give
brackets, so the choice affects width and time only.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect, invert
from dpproof.accountant.arithmetic.enclosure import (
    LEAST_DELTA,
    Reals,
    down,
    from_swapped,
    log_down,
    log_up,
    total_delta_up,
    up,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.contour import Contour
from dpproof.accountant.engine.lattice import LatticeContour
from dpproof.accountant.engine.overlap import delta_below
from dpproof.accountant.engine.residues import exponential_sum
from dpproof.accountant.engine.saddle_point import Saddle, find_saddle
from dpproof.accountant.engine.shared_contours import (
    WIDE,
    SharedContours,
    contour_at,
    reachable,
    shared_contours,
)
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.cut_gaussian import cut
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product

# Relative width of a bracket up to which the bundled answer is taken alone. Heuristic.
_WIDE = 1e-8


def answer_bundled(question: Callable[[Product], Bound], product: Product) -> Bound:
    """Return the answer about bundled pairs.

    If it is wide, the answer about single pairs is intersected with it.
    """
    product = product.summed()
    bundled = product.bundled()
    if len(bundled.factors) == len(product.factors):
        return question(product)
    try:
        answer = question(bundled)
    except NotCertified:
        return question(product)
    if answer.relative_width <= _WIDE:
        return answer
    return answer.meet(question(product))


_CLOSE = 1e-9  # Width of a bracket from an exact formula that needs no second method. Heuristic.
_ZERO = 1e-12  # Epsilon below which a wide relative width is accepted. Heuristic.
_FAR = 1e100  # Largest epsilon at which delta is evaluated; beyond, its upper end there is used.
_LOOSE = 1e-9  # Width of a bracket that is not refined. Heuristic.
_NEAR_ONE = 0.5  # Delta from which what is left to 1 is bounded too. Heuristic.
_AGAIN = 2  # Most refinements. Heuristic.
# Contours of a rough search, how much nearer each has to be, and steps outwards. Heuristic.
_LOOKS, _NEARER, _DOUBLINGS = 4, 0.99, 24
_SAME = 0.01  # Relative difference of tilts for which a second contour gains nothing. Heuristic.
# Width of log delta that a small tau costs, in units of tau^2 c (c + 1), and some more. Heuristic.
_TAU_COST = 16.0
# Width from which losses are cut at ends, and most ends. Heuristic.
_ROUGH, _ENDS = 1e-2, 4
_HOPELESS = -690.0  # Log of a delta so small that it is not refined. Heuristic.


def infinite_mass(product: Product) -> Bound:
    """Return P(L = inf) of the product, 1 - prod (1 - p_i)^{n_i}."""
    if any(f.pair.infinite_mass >= 1.0 for f in product.factors):
        return Bound.exactly(1.0)
    total = product.added(lambda pair: math.log1p(-pair.infinite_mass))
    if total == 0.0:
        return Bound.exactly(0.0)
    value = -math.expm1(total)
    lost = (sum(f.count for f in product.factors) + 4) * 2.0**-1074  # Soundness: by underflow
    return Bound(max(value * (1 - 1e-14) - lost, 0.0), min(value * (1 + 1e-14) + lost, 1.0))


def has_infinite_loss(product: Product) -> bool:
    """Return whether P(L = inf) > 0, also if it is below all floats."""
    return any(factor.pair.infinite_mass > 0.0 for factor in product.factors)


def max_loss(product: Product) -> float:
    """Return an upper bound of the finite losses of the product, possibly +inf."""
    return product.added(lambda pair: pair.max_loss) * (1 + 1e-15)


def closed_form(product: Product) -> Pair | None:
    """Return the one pair that the product amounts to, or None.

    It exists for one pair once and for Gaussians only.
    """
    if not product.factors:
        return None
    if len(product.factors) == 1 and product.factors[0].count == 1:
        return product.factors[0].pair
    total = Fraction(0)
    for factor in product.summed().factors:
        if not isinstance(factor.pair, GaussianPair):
            return None
        total += factor.count * factor.pair.mu_squared
    return GaussianPair(mu_squared=total)


def delta(product: Product, epsilon: float) -> Bound:
    """Bracket the hockey-stick divergence of one direction at a real epsilon.

    For epsilon < 0 through H_t(P|Q) = 1 - t + t H_{1/t}(Q|P), t = e^epsilon.
    """
    if epsilon < 0:
        other = delta(product.swapped(), -epsilon)
        low, high = np.array([other.lower]), np.array([other.upper])
        ends = from_swapped(low, high, np.array([epsilon]))
        return Bound(float(ends[0][0]), float(ends[1][0]))
    above, below = product.above(), product.below()
    upper = answer_bundled(lambda one: _delta(one, epsilon), above)
    lower = upper if above == below else answer_bundled(lambda one: _delta(one, epsilon), below)
    return Bound(lower.lower, upper.upper)


def delta_of_rare_losses(product: Product, epsilon: float, answer: Bound) -> Bound:
    """Tighten a wide bracket of delta, for a lone rare sample, by losses up to an end.

    The end is moved outwards until what is beyond counts little (proofs/theory/rare.md).
    """
    lower = None  # of delta, which says how far out losses count
    for _ in range(_ENDS):
        if answer.relative_width <= _ROUGH:
            break
        rare = cut(product, lower, epsilon, rare=True)
        if rare is product:
            break
        try:
            finite = delta(rare.below(), epsilon)
        except NotCertified:
            break
        upper = up(finite.upper + infinite_mass(rare).upper)
        answer = answer.meet(Bound(finite.lower, min(upper, 1.0)))
        lower = answer.lower
    return answer


def _delta(product: Product, epsilon: float) -> Bound:
    """Bracket delta for a product whose K is exact, at epsilon >= 0."""
    mass = infinite_mass(product)
    if epsilon >= max_loss(product) or mass.lower == 1.0:
        return mass
    if epsilon > _FAR:
        return Bound(mass.lower, _delta(product, _FAR).upper)
    point = np.array([epsilon])
    closed = closed_form(product)
    ends = closed.profile(point) if closed is not None else None
    if ends is not None:
        return Bound(float(ends[0][0]), min(float(ends[1][0]), 1.0))
    low, high = _log_profile(product, point)
    finite = math.exp(low[0]) * (1 - 1e-14), math.exp(min(high[0], 1.0)) * (1 + 1e-14)
    lower, upper = max(down(mass.lower + finite[0]), 0.0), min(up(mass.upper + finite[1]), 1.0)
    if upper > _NEAR_ONE and lower < upper - _LOOSE:
        lower = max(lower, float(delta_below(product, point)[0]))
    return Bound(min(lower, upper), upper)


def deltas(product: Product, epsilon: Reals, wide: float = WIDE) -> tuple[Reals, Reals]:
    """Return lower and upper ends of delta at many real epsilons, in any order.

    One contour serves all epsilons within two standard deviations of its saddle's. Where it leaves
    a bracket of log delta wider than ``wide``, others are tried.
    """
    order = np.argsort(epsilon)
    x = epsilon[order]
    low, high = np.empty(x.shape), np.empty(x.shape)
    negative = int(np.searchsorted(x, 0.0))
    low[negative:], high[negative:] = _ends(product, x[negative:], wide)
    if negative:
        flipped = _ends(product.swapped(), -x[:negative][::-1], wide)
        ends = from_swapped(flipped[0][::-1], flipped[1][::-1], x[:negative])
        low[:negative], high[:negative] = ends
    back = np.argsort(order)
    return low[back], high[back]


def rough(product: Product) -> SharedContours:
    """Return contours by which answers are looked for, before they are proved."""
    return shared_contours(product.above().bundled())


def _ends(product: Product, epsilon: Reals, wide: float) -> tuple[Reals, Reals]:
    """Return both ends of delta at increasing epsilons >= 0."""
    alone = closed_form(product)
    quick = alone.profile(epsilon) if alone is not None and alone.is_quick else None
    if quick is not None:
        return np.maximum(quick[0], 0.0), np.minimum(quick[1], 1.0)
    above, below = product.above().bundled(), product.below().bundled()
    low, high = _deltas(above, epsilon, wide)
    return (low if above == below else _deltas(below, epsilon, wide)[0]), high


def _deltas(product: Product, epsilon: Reals, wide: float) -> tuple[Reals, Reals]:
    """Return both ends of delta for a product whose K is exact, at increasing epsilons >= 0."""
    mass, top, closed = infinite_mass(product), max_loss(product), closed_form(product)
    ends = closed.profile(epsilon) if closed is not None else None
    if ends is not None:
        return ends[0], np.minimum(ends[1], 1.0)
    low, high = np.full(epsilon.shape, mass.lower), np.full(epsilon.shape, mass.upper)
    stop = int(np.searchsorted(epsilon, top))
    exact = exponential_sum(product)
    if exact is not None and stop:
        logs = exact.log_profile(epsilon[:stop])
        if (logs[1] <= logs[0] + _CLOSE * 100).all():  # both are -inf beyond the largest loss
            low[:stop] = np.maximum(mass.lower + np.exp(logs[0]) * (1 - 1e-14), 0.0)
            high[:stop] = total_delta_up(mass, logs[1])
            return low, high
    if stop:
        logs = shared_contours(product).log_profile(epsilon[:stop], wide)
        low[:stop] = np.maximum(mass.lower + np.exp(logs[0]) * (1 - 1e-14), 0.0)
        high[:stop] = total_delta_up(mass, logs[1])
    vague = (high > _NEAR_ONE) & (low < high - _LOOSE)
    if vague.any():
        low[vague] = np.maximum(low[vague], delta_below(product, epsilon[vague]))
    return np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)  # delta falls


def epsilon(product: Product, delta: float | Bound) -> Bound:
    """Bracket the smallest epsilon >= 0 at which one direction's profile is at most delta."""
    above, below, level = product.above(), product.below(), Bound.of(delta)
    upper = answer_bundled(lambda one: _epsilon(one, level), above)
    lower = upper if above == below else answer_bundled(lambda one: _epsilon(one, level), below)
    return Bound(lower.lower, upper.upper)


def epsilon_above(product: Product, delta: float) -> float:
    """Return an epsilon at which one direction's profile is at most delta, near the least such.

    It costs less than ``epsilon``: the search ends at the first few digits.

    Args:
        product: one direction.
        delta: above the infinite mass, below 1.

    Raises:
        NotCertified: no contour proves it.
    """
    above = product.above().bundled()
    top, left = max_loss(above), delta - infinite_mass(above).upper
    closed = closed_form(above)
    if left < LEAST_DELTA or top <= 0.0 or (closed and closed.profile(np.zeros(1)) is not None):
        return epsilon(product, delta).upper
    target, best = log_down(np.array([left])).item(), top
    saddle = find_saddle(above, lambda one: target - one.log_delta)
    for _ in range(_LOOKS):
        start = max(saddle.epsilon, 1.0 / saddle.c)
        place = _where_below(reachable(above, saddle), target, start, top)
        if not place < best * _NEARER:
            break
        best = place
        saddle = find_saddle(above, lambda one, at=best: one.epsilon - at, (best, target))  # type: ignore[misc]
    best = min(best, place)
    if best == math.inf:
        raise NotCertified(f"delta is not proved to be at most {delta:.3g}; {EASIER}")
    return best


def _where_below(
    contour: Contour | LatticeContour, target: float, start: float, top: float
) -> float:
    """Return an epsilon up to ``top``, +inf if none is found, where log delta is below a target."""

    def exceeds(point: float) -> bool:
        return not contour.log_profile(np.array([point]))[1][0] <= target

    right = min(start, top)
    for _ in range(_DOUBLINGS):
        if not exceeds(right):
            return bisect(exceeds, 0.0, right, near=1 - _NEARER)[1]
        if right == top:
            break
        right = min(right * 1.5, top)
    return top


def _log_profile(product: Product, point: Reals) -> tuple[Reals, Reals]:
    """Bound log delta of the finite losses at one epsilon."""
    exact = exponential_sum(product)
    if exact is not None:
        low, high = exact.log_profile(point)
        if high[0] <= low[0] + _CLOSE:
            return low, high
    saddle = find_saddle(product, lambda one: one.epsilon - float(point[0]))
    contour = reachable(product, saddle)
    low, high = contour.log_profile(point)
    for _ in range(_AGAIN):
        if high[0] <= low[0] + _LOOSE or high[0] < _HOPELESS:
            break
        better = _aimed(product, saddle, contour, (float(point[0]), float(high[0])))
        if better is None:
            break
        product, saddle, contour = better
        other = contour.log_profile(point)
        low, high = np.maximum(low, other[0]), np.minimum(high, other[1])
    return low, high


def _epsilon(product: Product, delta: Bound) -> Bound:
    """Bracket epsilon for a product whose K is exact."""
    if delta.lower >= 1.0:
        return Bound.exactly(0.0)
    mass, top = infinite_mass(product), max(max_loss(product), 0.0)
    if delta.upper < mass.lower:
        return Bound.exactly(math.inf)
    if top == 0.0:
        return Bound(0.0, 0.0 if mass.upper <= delta.lower else math.inf)
    target = (
        log_down(np.maximum(delta.lower - mass.upper, LEAST_DELTA)).item(),
        log_up(np.maximum(delta.upper - mass.lower, LEAST_DELTA)).item(),
    )
    exact = _exact_epsilon(product, mass, target, top)
    return _capped(exact or _contour_epsilon(product, target, top), mass, delta, top)


def _exact_epsilon(
    product: Product, mass: Bound, target: tuple[float, float], top: float
) -> Bound | None:
    """Bracket epsilon by a closed profile or a finite sum; return None if that is not narrow."""
    closed, terms = closed_form(product), exponential_sum(product)
    if closed is not None and closed.profile(np.zeros(1)) is not None:
        return invert(lambda x: log_ends(closed, mass, x), target, 1.0, 1.0, top)
    if terms is not None:
        answer = invert(terms.log_profile, target, 0.9 * top, 0.1 * top, top)
        if answer.relative_width <= _CLOSE or answer.upper <= _ZERO:
            return answer
    return None


def _contour_epsilon(product: Product, target: tuple[float, float], top: float) -> Bound:
    """Bracket epsilon by the contour at the saddle.

    While the bracket is wide, contours aimed at the answer are intersected with it.
    """
    saddle = find_saddle(product, lambda one: target[0] - one.log_delta)
    contour = reachable(product, saddle)
    answer = invert(contour.log_profile, target, max(saddle.epsilon, 0.0), 4.0 / saddle.c, top)
    for _ in range(_AGAIN):
        if answer.relative_width <= _LOOSE or not 0 < answer.upper < math.inf:
            break
        better = _aimed(product, saddle, contour, (answer.upper, target[0]))
        if better is None:
            break
        product, saddle, contour = better
        answer = answer.meet(invert(contour.log_profile, target, answer.upper, 4.0 / saddle.c, top))
    return answer


def _aimed(
    product: Product, last: Saddle, contour: Contour | LatticeContour, aim: tuple[float, float]
) -> tuple[Product, Saddle, Contour | LatticeContour] | None:
    """Return the product with more digits of K, a better tilt and its contour, or None.

    Heuristic: the tilt is chosen for the epsilon and log delta found. Digits gain nothing where
    tables have errors of their own, nor where tau costs most of the width.
    """
    if any(isinstance(factor.pair, LatticePair) for factor in product.factors):
        return None
    tau = contour.tau if isinstance(contour, Contour) else 0.0
    low, high = contour.log_profile(np.array([aim[0]])) if tau else (np.zeros(1), np.ones(1))
    cost = _TAU_COST * tau * tau * last.c * (last.c + 1.0)
    finer = product if high[0] - low[0] < cost else product.refined()
    aimed = find_saddle(finer, lambda one: one.epsilon - aim[0], aim)
    if finer == product and abs(aimed.c - last.c) <= _SAME * last.c:
        return None
    with contextlib.suppress(NotCertified):
        return finer, aimed, contour_at(finer, aimed)
    return None


def _capped(answer: Bound, mass: Bound, delta: Bound, top: float) -> Bound:
    """Cap a bracket of epsilon at the largest loss ``top``, where delta is the infinite mass.

    ``top`` is the upper end too if the finite losses may have less than 1e-300 of delta: the
    bracket found is for 1e-300.
    """
    if mass.upper > delta.lower:
        return Bound(answer.lower, math.inf)
    if delta.lower - mass.upper < LEAST_DELTA:
        return Bound(min(answer.lower, top), top)
    return Bound(min(answer.lower, top), min(answer.upper, top))


def log_ends(pair: Pair, mass: Bound, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return logs of the bounds of a closed profile, without the infinite mass."""
    ends = pair.profile(epsilon)
    if ends is None:
        raise AssertionError("only called for pairs with a closed profile")
    return log_down(ends[0] - mass.upper), log_up(ends[1] - mass.lower)
