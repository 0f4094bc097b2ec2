"""The questions that one direction of a product can be asked, in one place.

A handful of subsampled Gaussian steps leave a near-atom in the loss, which the contour resolves
slowly; then a table of the pair's profile gives a second bracket, and both hold.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ranges
from dpproof.accountant.arithmetic.crossing import crossings
from dpproof.accountant.arithmetic.enclosure import Reals, log_down, log_up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine import profile, renyi as divergence, trade_off
from dpproof.accountant.engine.profile import deltas
from dpproof.accountant.engine.quick_bounds import certainly_below, epsilon_is_zero
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.cut_gaussian import cut
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.selection.selected_pair import SelectedPair
from dpproof.accountant.selection.thresholded_pair import ThresholdedPair
from dpproof.accountant.subsampling.allocated import SMALL, AllocatedGaussianPair, distant
from dpproof.accountant.subsampling.bracketed import expanded
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair
from dpproof.accountant.subsampling.mixture import MixturePair
from dpproof.accountant.subsampling.released_few import ReleasedFew, released_few
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair
from dpproof.accountant.subsampling.shuffled_reports import ShuffledReportsPair
from dpproof.accountant.subsampling.subsampled import SubsampledPair, tabulated, untabulated

_WIDE = 1e-4  # Width from which a table is tried. Heuristic.
_VAGUE = 1e-2  # Width of a power by one order from which tables are asked, too. Heuristic.
# Delta below which tables of samples, which end at 1e-115, say little. Heuristic.
_TABULATED = 1e-100
_ORDERS = (1.0 + 1e-6, 2.0, 16.0)  # At which rho is bounded from below. Heuristic.
Alone = (
    ranges.ComposedRangePair
    | SelectedPair
    | ThresholdedPair
    | SubsampledPair
    | ShuffledGaussianPair
    | AllocatedGaussianPair
    | ShuffledReportsPair
    | MixturePair
    | CountedGaussiansPair
    | ReleasedFew
)
_ALONE = frozenset(get_args(Alone))


def delta(product: Product, epsilon: float) -> Bound:
    """Return the hockey-stick divergence of one direction at a real epsilon."""
    low, high = _sides(product)
    if low != high:
        return Bound(delta(low, epsilon).lower, delta(high, epsilon).upper)
    alone = _alone(product)
    if alone is not None:
        return alone.delta(epsilon)
    typical = cut(untabulated(product), epsilon=epsilon)
    answer = _narrow(
        product,
        lambda one: profile.delta(one, epsilon),
        lambda bound: bound.upper < _TABULATED,
        typical,
    )
    answer = profile.delta_of_rare_losses(product, epsilon, answer)
    if answer.lower >= SMALL or (farther := distant(product)) is product:
        return answer
    return delta(farther, epsilon)


@lru_cache(maxsize=64)
def epsilon(product: Product, delta: float | Bound) -> Bound:
    """Return the smallest epsilon >= 0 at which one direction's profile is at most delta."""
    low, high = _sides(product)
    if low != high:
        return Bound(epsilon(low, delta).lower, epsilon(high, delta).upper)
    if epsilon_is_zero(product, Bound.of(delta).lower):
        return Bound.exactly(0.0)
    alone = _alone(product)
    if alone is not None:
        with contextlib.suppress(NotCertified):
            return alone.epsilon(delta)
    deep = 0.0 < Bound.of(delta).lower < _TABULATED
    if Bound.of(delta).lower < SMALL:
        product = distant(product)
    summed = untabulated(product)
    typical = cut(summed, Bound.of(delta).lower)
    answer = _narrow(product, lambda one: profile.epsilon(one, delta), lambda _: deep, typical)
    wide = answer.relative_width > _WIDE
    rare = cut(product, Bound.of(delta).lower, rare=True) if wide else product
    if rare is not product:
        with contextlib.suppress(NotCertified):
            lower = profile.epsilon(rare.below(), delta).lower
            answer = answer.meet(Bound(lower, profile.epsilon(rare.above(), delta).upper))
    if profile.has_infinite_loss(summed):
        return answer
    top = max(profile.max_loss(summed), 0.0)  # pairs above may have larger losses
    return Bound(min(answer.lower, top), min(answer.upper, top))


@lru_cache(maxsize=64)
def renyi(product: Product, order: float) -> Bound:
    """Bracket the Rényi divergence of a real order > 1 of one direction."""
    low, high = _sides(product)
    if low != high:
        upper = min(renyi(high, order).upper, rho_of_pairs(product) * order)
        return Bound(renyi(low, order).lower, upper)
    lengths, rest = ranges.ranges_apart(product)
    divergences = [(1, divergence.renyi(rest, order))] if rest.factors or not lengths else []
    return _summed(divergences + [(n, ranges.range_divergence(one, order)) for one, n in lengths])


def smallest_rho(product: Product, least: float = 0.0) -> Bound:
    """Bracket the smallest rho such that every order a > 1 has divergence at most rho a.

    If one number says it all, less than ``least`` counts as that.
    """
    low, high = _sides(product)
    if low != high:
        lower, upper = smallest_rho(low, least).lower, smallest_rho(high, least).upper
        return Bound(lower, min(upper, rho_of_pairs(product)))
    lengths, rest = ranges.ranges_apart(product)
    known = 0.0 if lengths else least
    rhos = [(1, divergence.smallest_rho(rest, known))] if rest.factors or not lengths else []
    total = _summed(rhos + [(n, ranges.smallest_range_rho(one)) for one, n in lengths])
    if len(rhos) + len(lengths) == 1:
        return total
    least = max(renyi(product, order).lower / order for order in _ORDERS) * (1 - 1e-15)
    return Bound(min(least, total.upper), total.upper)


def larger_rho(forward: Product, backward: Product) -> Bound:
    """The larger rho of two directions; the second is left out where its own bound is no larger."""
    first = smallest_rho(forward)
    if backward == forward or rho_of_pairs(backward) <= first.upper:
        return first
    return first.maximum(smallest_rho(backward, first.lower))


def _sides(product: Product) -> tuple[Product, Product]:
    """Return what is below a product, and above; the product itself if nothing is bracketed."""
    return expanded(product, high=False), expanded(product, high=True)


def rho_of_pairs(product: Product) -> float:
    """Return the sum of the rho that hold for the pairs of a product, rounded up."""
    return product.added(lambda pair: pair.zcdp_bound) * (1 + 1e-14)


def _summed(parts: list[tuple[int, Bound]]) -> Bound:
    """Return the sum of brackets above 0, each so many times."""
    if len(parts) == 1 and parts[0][0] == 1:
        return parts[0][1]
    slack = 1e-15 * (2 + len(parts))
    return Bound(
        sum(count * one.lower for count, one in parts) * (1 - slack),
        sum(count * one.upper for count, one in parts) * (1 + slack),
    )


def _narrow(
    product: Product,
    question: Callable[[Product], Bound],
    is_deep: Callable[[Bound], bool],
    typical: Product,
) -> Bound:
    """Return the answer, tightened by a table where a sum leaves a wide bracket.

    The product without large losses, or without tables, is asked first, if it is another one. A
    table is not tried where delta is too small for a table to resolve. The gap between the pairs
    above and below does not come from a sum, and more tables only widen it.
    """
    if typical is not product:
        with contextlib.suppress(NotCertified):
            bound = Bound(question(typical.below()).lower, question(typical.above()).upper)
            if bound.relative_width <= _WIDE:
                return bound
    above, below = product.above(), product.below()
    first = question(above)
    second = first if below == above else question(below)
    bound = Bound(second.lower, first.upper)
    if max(first.relative_width, second.relative_width) <= _WIDE or is_deep(bound):
        return bound
    table = _tabulated(product)
    if table == product:
        return bound
    try:
        other = question(table)
    except NotCertified:
        return bound
    return bound.meet(other)


def larger_deltas(forward: Product, backward: Product, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return both ends of the larger delta of two directions at many epsilons >= 0."""
    low, high = deltas(forward, epsilon)
    if backward == forward:
        return low, high
    other = deltas(backward, epsilon)
    return np.maximum(low, other[0]), np.maximum(high, other[1])


def larger_epsilons(forward: Product, backward: Product, delta: Reals) -> tuple[Reals, Reals]:
    """Return both ends of the larger epsilon of two directions at many deltas; nan where unknown.

    Those next to 0, of tiny deltas, beyond what saddles reach, and where the second direction is
    larger are not known.
    """
    lower, upper = np.full(delta.shape, np.nan), np.full(delta.shape, np.nan)
    target = log_down(delta), log_up(delta)
    contours = profile.rough(forward)
    start, slope = contours.near(target[0])
    covered = delta >= larger_deltas(forward, backward, np.zeros(1))[1]
    lower[covered], upper[covered] = 0.0, 0.0
    rows = np.flatnonzero((start > 0.0) & (delta > _TABULATED) & ~covered)

    def brackets(x: Reals, _: NDArray[np.intp]) -> tuple[Reals, Reals]:
        low, high = deltas(forward, x.ravel())
        return log_down(low).reshape(x.shape), log_up(high).reshape(x.shape)

    def guided(x: Reals, _: NDArray[np.intp]) -> tuple[Reals, Reals]:
        low, high = contours.rough(x.ravel())
        return low.reshape(x.shape), high.reshape(x.shape)

    sought, way = (target[0][rows], target[1][rows]), (start[rows], slope[rows])
    with np.errstate(divide="ignore", invalid="ignore"):  # nan proves nothing
        lower[rows], upper[rows] = crossings(brackets, sought, *way, rough=guided)
    if backward != forward:
        rows = np.flatnonzero(np.isfinite(lower))
        larger = rows[~(deltas(backward, lower[rows])[1] <= delta[rows])]
        lower[larger], upper[larger] = np.nan, np.nan
    return lower, upper


def larger_epsilon(forward: Product, backward: Product, delta: float | Bound) -> Bound:
    """Return the larger epsilon of two directions, the second asked only if it may be larger."""
    least = Bound.of(delta).lower
    first = epsilon(forward, delta)
    if backward == forward:
        return first
    alone = _alone(backward)
    if _selection_below(alone, first.upper, least):
        return first
    if alone is not None:
        small = alone.delta(first.upper).upper <= least
    else:
        small = certainly_below(backward, first.lower, least)
    if small:
        return first
    return first.maximum(epsilon(backward, delta))


def larger_delta(forward: Product, backward: Product, epsilon: float) -> Bound:
    """Return the larger delta of two directions at an epsilon >= 0, likewise."""
    first = delta(forward, epsilon)
    if backward == forward or _selection_below(_alone(backward), epsilon, first.lower):
        return first
    return first.maximum(delta(backward, epsilon))


def _selection_below(alone: Alone | None, epsilon: float, delta: float) -> bool:
    """Return whether coarse lines prove that a selection's delta at epsilon >= 0 is at most so."""
    return isinstance(alone, SelectedPair) and alone.coarse(epsilon) <= delta


def is_unbounded(product: Product) -> bool:
    """Return whether no largest loss is known, so that epsilon at delta = 0 has no upper end."""
    return _alone(product) is None and math.isinf(profile.max_loss(product.above()))


def true_positive_rate(product: Product, false_positive_rate: float) -> Bound:
    """Return the largest P(S) over tests S with Q(S) = the rate."""
    return trade_off.true_positive_rate(_paired(product), false_positive_rate)


def larger_power(forward: Product, backward: Product, rate: float) -> Bound:
    """Return the larger power of two directions, by both pairs unless one is the other's swap."""
    if not _swapped(forward, backward):
        return of_orders(forward, backward, lambda product: true_positive_rate(product, rate))
    first, second = profile.closed_form(forward), profile.closed_form(backward)
    power = Bound(0.0, 1.0)
    if isinstance(first, SelectedPair) and isinstance(second, SelectedPair) and 0.0 < rate < 1.0:
        power = first.power(rate).maximum(second.power(rate))
        if power.relative_width <= _VAGUE:
            return power
    return power.meet(trade_off.larger_power(_paired(forward), _paired(backward), rate))


def of_orders(forward: Product, backward: Product, question: Callable[[Product], Bound]) -> Bound:
    """Return the larger answer of two orders of neighbours, each the smaller of two pairs' answers.

    A pair that dominates (M(D), M(D')) at every real epsilon dominates the other order swapped, so
    that each order is at or below both its own pair and the other one's swap.
    """
    orders = ((forward, backward.swapped()), (backward, forward.swapped()))
    bounds = {product: question(product) for order in orders for product in order}
    least = [
        Bound(min(bounds[x].lower, bounds[y].lower), min(bounds[x].upper, bounds[y].upper))
        for x, y in orders
    ]
    return least[0].maximum(least[1])


def _swapped(forward: Product, backward: Product) -> bool:
    """Return whether one direction is the other's swap, in any order of a finite pair's atoms."""
    other = forward.swapped()
    return backward == other or _laws(backward) == _laws(other)


def _laws(product: Product) -> Counter[object]:
    """Return the pairs with their counts, finite pairs as multisets of atoms."""
    each: Counter[object] = Counter()
    for factor in product.factors:
        pair = factor.pair
        if isinstance(pair, FinitePair):
            each[frozenset(Counter(zip(pair.p, pair.q, strict=True)).items())] += factor.count
        else:
            each[pair] += factor.count
    return each


def smallest_mu(product: Product, smallest_delta: float = 0.0) -> Bound:
    """Return the smallest mu whose profile covers that of one direction above a delta."""
    return trade_off.smallest_mu(_paired(product, smallest_delta), smallest_delta)


def larger_mu(forward: Product, backward: Product, smallest_delta: float) -> Bound:
    """Return the larger of both directions' smallest mu; 0 if no delta exceeds the smallest one."""
    if all(epsilon_is_zero(one, smallest_delta) for one in (forward, backward)):
        return Bound.exactly(0.0)
    first, second = (_paired(one, smallest_delta) for one in (forward, backward))
    answer = trade_off.larger_mu(first, second, smallest_delta)
    if answer.relative_width <= _WIDE or smallest_delta == 0.0:
        return answer
    cuts = cut(first, smallest_delta, rare=True), cut(second, smallest_delta, rare=True)
    if cuts != (first, second):
        with contextlib.suppress(NotCertified):
            answer = answer.meet(trade_off.larger_mu(*cuts, smallest_delta))
    return answer


def _paired(product: Product, delta: float | None = None) -> Product:
    """Return two samples as the one pair that has their profile, others without large losses."""
    pair = released_few(product)
    return cut(product, delta) if pair is None else Product.of(pair)


def _alone(product: Product) -> Alone | None:
    """Return what a product alone is if it answers without sums over K, else None."""
    composed = ranges.composed_alone(product)
    if composed is not None:
        return composed
    pair = profile.closed_form(product)
    if type(pair) in _ALONE:
        return cast("Alone", pair)
    return released_few(product)


def _tabulated(product: Product) -> Product:
    return product.mapped(tabulated)
