"""Make witnesses of one number: a Renyi divergence, mu, rho, a budget.

Heuristic: all constants; the checker decides.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Final, TypeGuard

import numpy as np

from dpproof.accountant.adaptive.several_filters import needed, order_of
from dpproof.accountant.arithmetic.enclosure import Reals, float_down, float_up
from dpproof.accountant.certificates.choose import Point, distinct, facts, ways
from dpproof.accountant.certificates.contour import EXACT, Subject, Table, Tabled, quadratures
from dpproof.accountant.certificates.finite_sums import has_closed_profile
from dpproof.accountant.certificates.serialize import UNCERTIFIED, Object, factors, run_law
from dpproof.accountant.certificates.tables import subject
from dpproof.accountant.engine.profile import deltas, max_loss
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees import rdp
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, Points
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, RenyiGuarantee
from dpproof.accountant.pairs.gaussian import GaussianPair, gaussian_tangent
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.run_counts.law import RunLaw, TruncatedNegativeBinomial
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Json, Step, show_rational

ROOM: Final = Fraction(1, 2**30)  # Relative room of a proof.
_LARGEST: Final = Fraction(sys.float_info.max)
_TRIALS = 1.0 + np.geomspace(1e-6, 1e9, 200)  # Orders at which a search starts.
_REFINEMENTS = 6  # Refinements of a search.
_NEXT_TO_ONE = 1 + Fraction(1, 2**44)  # An order next to 1, for the total variation.
_POINTS = 512  # Points of a table for a typical loss.
# Masses that tables may leave out, tried in this order, and the share of a divergence.
_NEGLIGIBLE, _LEFT_OUT = (1e-15, 1e-30, 1e-60, 1e-110), 1e-9
_CERTAIN = 1e-13  # Relative room above the rounding with which an order excludes a power.
# Most accuracy of a quadrature: the engine knows M - 1 of a small sampling rate to 14 digits.
FINE: Final = 90.0


def rdp_witness(pair: DominatingPair[Any], orders: list[Fraction]) -> Object:
    """Return the quadratures of M of each direction at every order less 1."""
    named = ways(pair)
    listed: list[Json] = []
    for order in orders:
        excess = float(order - 1)
        listed.append({name: _witness(one, excess) for name, one in named.items()})
    return {"orders": listed}


@lru_cache(maxsize=64)
def _witness(product: Product, excess: float) -> list[Json]:
    """Return the quadratures of M at one order less 1, kept for the certificate of several."""
    return moment_witness(*tabulated(product, excess), excess)


def moment_witness(used: Subject, whole: float, excess: float) -> list[Json]:
    """Return quadratures of each M as fine as K asks for, and orders for tables ending early."""
    accuracy = min(FINE, EXACT - math.log(min(whole, 1.0))) if whole > 0.0 else FINE
    listed = quadratures(used, excess, accuracy=accuracy)
    for place, (factor, table) in enumerate(zip(used.named.factors, used.tables, strict=True)):
        if table is not None and _ends_early(factor.pair, table):
            order = Fraction(factor.pair.order_beyond(excess, table.finite_pair))
            listed[place] = {"beyond": show_rational(order), "table": listed[place]}
    return listed


def _ends_early(pair: Pair, table: Table) -> TypeGuard[SubsampledPair]:
    """Return whether the checker's table of a sampled pair ends before its profile is 0."""
    sampled = isinstance(pair, SubsampledPair) and pair.direction is not Direction.ADDITION
    return sampled and bool(table.forward.lines or table.finite_pair.infinite_mass)


def tabulated(product: Product, excess: float) -> tuple[Subject, float]:
    """Return tables that leave out a negligible part of a divergence, and K with the rest."""
    for least in _NEGLIGIBLE:
        used = _subject(product, negligible=least)
        whole = _log_moment(used, excess, least)
        if used.used is used.named:  # there is no table
            break
        inside = float(total_cgf(used.used, np.array([excess + 0j])).value.real[0])
        if whole - inside <= _LEFT_OUT * whole:
            break
    return used, whole


# The product with tables, kept for several orders.
_subject = lru_cache(maxsize=16)(partial(subject, fine=_POINTS, whole=True))


def _log_moment(used: Subject, excess: float, negligible: float) -> float:
    """Return an upper bound of K as the checker bounds it."""
    s, total = np.array([excess]), 0.0
    for factor, table in zip(used.named.factors, used.tables, strict=True):
        if table is not None and _ends_early(factor.pair, table):
            least = negligible / factor.count
            high = factor.pair.log_moment_by_table(s, table.finite_pair, least)
        else:
            cgf = (factor.pair if table is None else table.finite_pair).cgf(s + 0j)
            high = cgf.value.real + cgf.radius
        total += factor.count * float(high[0])
    return total


def selected_witness(
    guarantee: RenyiGuarantee[Any], runs: RunLaw, bounds: list[tuple[str, Fraction]]
) -> Object:
    """Return the bound to use at every order of a selection, with the other order it needs."""
    listed: list[Json] = [_hint(guarantee, runs, *one) for one in bounds]
    return {"runs": run_law(runs), "orders": listed}


def _hint(guarantee: RenyiGuarantee[Any], runs: RunLaw, name: str, order: Fraction) -> Object:
    """Return the bound to use at one order, with the other order it needs."""
    if name == "shape" and isinstance(runs, TruncatedNegativeBinomial):
        best = runs.least_shape(rdp.listed_curve(guarantee))[1]
        return {"by": name, "order": show_rational(best)}
    if name == "rate":
        epsilon = math.log1p(float(1 / (order - 1)))
        best = best_order(guarantee, epsilon, 0.0)
        terms = rdp.log_delta_terms(
            np.array([float(best)]), np.array([_value(guarantee, best)]), epsilon
        )
        first = guarantee.points[0][0] if isinstance(guarantee, RDP) else _NEXT_TO_ONE
        if rdp.total_variation(_value(guarantee, first)) < math.exp(min(terms[0], 0.0)):
            best = first
        return {"by": name, "order": show_rational(best)}
    return {"by": name}


def has_tables(product: Product) -> bool:
    """Return whether the checker computes divergences of a product from tables of its own."""
    return any(isinstance(factor.pair, Tabled) for factor in product.factors)


def tabulated_points(
    pair: DominatingPair[Any], orders: list[Fraction]
) -> list[tuple[Fraction, Fraction]]:
    """Return divergences by the tables of ``rdp_witness``, the larger of both directions."""
    both = {pair.forward, pair.backward}
    points = []
    for order in orders:
        excess = float(order - 1)
        value = max(tabulated(one, excess)[1] for one in both) / excess
        points.append((order, with_room(value)))
    return points


def with_room(divergence: float) -> Fraction:
    """Return a divergence with the room of a proof."""
    return Fraction(divergence) * (1 + ROOM) + ROOM**2


def renyi_point(
    guarantee: RenyiGuarantee[Any], point: Point
) -> tuple[Fraction, Fraction, Fraction]:
    """Return epsilon and delta near a point, and the order that proves them; 1 is by variation."""
    epsilon, delta = Fraction(point.epsilon), Fraction(point.delta)
    if point.moves and point.epsilon:
        order = best_order(guarantee, point.epsilon, point.delta)
        return epsilon * (1 + ROOM), delta, order
    order = best_order(guarantee, point.epsilon, 0.0)
    terms = rdp.log_delta_terms(
        np.array([float(order)]), np.array([_value(guarantee, order)]), point.epsilon
    )
    first = guarantee.points[0][0] if isinstance(guarantee, RDP) else _NEXT_TO_ONE
    if rdp.total_variation(_value(guarantee, first)) <= math.exp(min(terms[0], 0.0)):
        order = Fraction(1)
    return epsilon, delta if point.moves else min(delta * (1 + ROOM), Fraction(1)), order


def best_order(guarantee: RenyiGuarantee[Any], epsilon: float, delta: float) -> Fraction:
    """Return the order at which a point (epsilon, delta) is easiest to prove."""
    if delta > 0:
        return _least(guarantee, lambda orders, values: rdp.epsilon_terms(orders, values, delta))
    return _least(guarantee, lambda orders, values: rdp.log_delta_terms(orders, values, epsilon))


def power_order(guarantee: RenyiGuarantee[Any], rate: float, power: float) -> Fraction | None:
    """Return the order at which a power is easiest to exclude, or None if no order excludes it."""
    if not 0.0 < rate <= power < 1.0:
        return None

    def room(orders: Reals, values: Reals) -> Reals:
        return values - rdp.log_power_terms(orders, power, rate) / (orders - 1.0)

    order = _least(guarantee, room)
    c, value = np.array([float(order)]), np.array([_value(guarantee, order)])
    # The log of the terms is rounded by about an ulp of its summands, which 1/(c - 1) enlarges.
    rounding = 2.0**-50 * (1.0 + c[0] * abs(math.log(rate))) / (c[0] - 1.0)
    return order if room(c, value)[0] < -(_CERTAIN * (2.0 + value[0]) + rounding) else None


def _least(guarantee: RenyiGuarantee[Any], terms: Callable[[Reals, Reals], Reals]) -> Fraction:
    """Return the order with the smallest term, a listed one or one between."""
    listed = [float(order) for order, _ in guarantee.points] if isinstance(guarantee, RDP) else []
    orders = np.union1d(_TRIALS, listed)
    best, least = math.nan, math.inf
    for _ in range(_REFINEMENTS):
        bounds = np.full(orders.shape, math.inf)
        values = _values(guarantee, orders)
        finite = np.isfinite(values)
        bounds[finite] = terms(orders[finite], values[finite])
        place = int(np.argmin(bounds))
        if bounds[place] < least:
            best, least = float(orders[place]), float(bounds[place])
        low, high = orders[max(place - 1, 0)], orders[min(place + 1, orders.size - 1)]
        orders = 1.0 + np.geomspace(low - 1.0, high - 1.0, 41)
        orders = orders[orders > 1.0]
    if math.isinf(least):
        raise NotCertified(
            f"{guarantee.describe()} gives no finite epsilon by any order; {UNCERTIFIED}"
        )
    return Fraction(best)


def _value(guarantee: RenyiGuarantee[Any], order: float | Fraction) -> float:
    """Return the divergence bound as a float, infinite if none is known."""
    value = guarantee.divergence_up(Fraction(order))
    return math.inf if value is None or value > _LARGEST else float(value)


def _values(guarantee: RenyiGuarantee[Any], orders: Reals) -> Reals:
    """Return the same at many orders, quickly where the curve is a line."""
    if isinstance(guarantee, ZCDP):
        with np.errstate(over="ignore"):
            line: Reals = _value(guarantee, 1.0) * orders
        return line
    return np.array([_value(guarantee, order) for order in orders.tolist()])


_MOST: Final = 1_900  # Most cells of a grid.
_ROUNDS: Final = 60  # Most refinements.
_CELLS: Final = 16  # Cells of the first grid.
_LEAST_VALUES: Final = 8 * _CELLS  # Values of a profile that a proof takes at least.
_SHARE: Final = 1e-13  # Relative rounding of a comparison.
_SMALLEST: Final = 1e-18  # Range of orders, at either end.


def gdp_witness(pair: DominatingPair[Any], mu: float, squared: Fraction) -> Object:
    """Return the mu_i^2 of the pairs if they add up, else cells with the profile below mu's."""
    parts = _parts(pair, squared)
    if parts:
        return {"parts": [show_rational(part) for part in parts], "epsilons": []}
    directions = [pair.forward, pair.backward]
    _require_closed(directions, _LEAST_VALUES)
    end = max(max_loss(one) for one in directions) * (1 + 1e-12)
    grid = refined(
        np.linspace(0.0, end, _CELLS),
        lambda points: np.any(
            [above_tangent(deltas(one, points)[1], points, mu) for one in directions], axis=0
        ),
        lambda left, right: 0.5 * (left + right),
    )
    _require_closed(directions, 8 * grid.size)
    return {"parts": [], "epsilons": [show_rational(Fraction(x)) for x in grid.tolist()]}


def needs_points(pair: DominatingPair[Any], squared: Fraction) -> bool:
    """Return whether neither parts nor a closed profile can prove mu."""
    if _parts(pair, squared) or unsampled(pair, squared):
        return False
    both = (pair.forward, pair.backward)
    return not all(has_closed_profile(one, values=_LEAST_VALUES) for one in both)


def unsampled(pair: DominatingPair[Any], squared: Fraction) -> DominatingPair[Any] | None:
    """Return the bases released without samples if their mu_i add up to mu, else None."""
    forward, backward = _bases(pair.forward), _bases(pair.backward)
    bare = DominatingPair(forward=forward, backward=backward, relation=pair.relation)
    return bare if forward != pair.forward and _parts(bare, squared) else None


def _bases(product: Product) -> Product:
    """Return the product with every sampled pair replaced by its base."""
    factors: list[Factor] = []
    for factor in product.factors:
        base = Product.of(factor.pair)
        if isinstance(factor.pair, SubsampledPair):
            base = factor.pair.base
        factors.extend(base.times(factor.count).factors)
    return Product.merge(factors)


def _parts(pair: DominatingPair[Any], squared: Fraction) -> list[Fraction]:
    """Return the pairs' mu_i^2 if they sum to at most mu^2 in both directions, else nothing."""
    both = [pair.forward, pair.backward]
    lists = [[_part(factor.pair) for factor in one.factors] for one in both]
    sums = [
        sum(factor.count * part for factor, part in zip(one.factors, listed, strict=True))
        for one, listed in zip(both, lists, strict=True)
    ]
    return lists[0] if lists[0] == lists[1] and max(sums) <= squared else []


def zcdp_witness(pair: DominatingPair[Any], rho: float) -> Object:
    """Return orders between which K stays below rho s(s+1), none if the pairs' bounds add up."""
    named = ways(pair)
    if all(_own(one, 0.0) <= rho for one in named.values()):
        return {"orders": []}
    last, first = 2.0, 1.0
    while any(_own(one, last) > rho for one in named.values()) and last < 1 / _SMALLEST:
        last *= 2.0
    while any(_cgf(one, first) > rho * first for one in named.values()) and first > _SMALLEST:
        first *= 0.5
    grid = refined(
        np.geomspace(first, last, _CELLS),
        lambda points: np.any([_above_line(one, points, rho) for one in named.values()], axis=0),
        lambda left, right: np.sqrt(left * right),
    )
    listed: list[Json] = [
        {
            "excess": show_rational(Fraction(s)),
            **{name: moment_witness(*tabulated(one, s), s) for name, one in named.items()},
        }
        for s in grid.tolist()
    ]
    return {"orders": listed}


def _require_closed(products: list[Product], values: int) -> None:
    """Refuse products without bounded losses and a closed profile."""
    bounded = all(np.isfinite(max_loss(one)) for one in products)
    if not bounded or not all(has_closed_profile(one, values=values) for one in products):
        raise NotCertified(
            "certificates show mu-GDP of a product of pairs where the squares of their mu add up, "
            "or where few of them have bounded losses; certify epsilon or delta, or "
            "convert the parts"
        )


def refined(
    grid: Reals, fails: Callable[[Reals], Any], split: Callable[[Reals, Reals], Reals]
) -> Reals:
    """Return the grid with every failing cell split, until none fails."""
    for _ in range(_ROUNDS):
        wrong = np.flatnonzero(fails(grid))
        if not wrong.size:
            return grid
        if grid.size + wrong.size > _MOST:
            break
        middle = split(grid[wrong], grid[wrong + 1])
        grid = np.insert(grid, wrong + 1, middle)
    raise NotCertified(
        "no certificate shows this number as closely as it is stated; certify epsilon at a delta"
    )


def _part(pair: Pair) -> Fraction:
    """Return mu_i^2 of one pair, a huge number if none is known."""
    if isinstance(pair, GaussianPair | SubsampledGaussianPair | AllocatedGaussianPair):
        return pair.mu_squared
    if isinstance(pair, OppositeGaussiansPair):
        return 4 * pair.mu_squared
    bound = pair.gdp_bound
    return Fraction(bound) ** 2 if np.isfinite(bound) else Fraction(10**30)


def above_tangent(high: Reals, grid: Reals, mu: float) -> Any:  # noqa: ANN401  # numpy's
    """Return on which cells an end of the profile's chord is above the tangent in the middle."""
    middle = 0.5 * (grid[:-1] + grid[1:])
    line = gaussian_tangent(mu, middle, np.stack([grid[:-1], grid[1:]]))
    return (np.stack([high[:-1], high[1:]]) > line * (1 - _SHARE)).any(axis=0)


def _cgf(product: Product, s: float) -> float:
    """Return an upper bound of K, at one s alone, as a small s loses digits beside large ones."""
    if has_tables(product):
        return tabulated(product, s)[1]
    enclosure = total_cgf(product, np.array([s + 0j]))
    return float(enclosure.value.real[0] + enclosure.radius[0])


def _above_line(product: Product, grid: Reals, rho: float) -> Any:  # noqa: ANN401  # numpy's
    """Return on which cells neither of the checker's comparisons holds."""
    high = np.array([_cgf(product, s) for s in grid.tolist()])
    flat = high[1:] > rho * grid[1:] * (grid[:-1] + 1.0) * (1 - _SHARE)
    slope = np.diff(high) / np.diff(grid)
    room = -4.0 * rho * (high[:-1] - slope * grid[:-1])
    return flat & ((slope - rho) ** 2 > room * (1 - 1e-9))


def _own(product: Product, last: float) -> float:
    """Return a bound of rho beyond an order, by the pairs' own bounds."""
    total = 0.0
    for factor in product.factors:
        own, most = factor.pair.zcdp_bound, factor.pair.max_loss
        if isinstance(factor.pair, SubsampledPair) and math.isinf(max_loss(factor.pair.base)):
            own, most = _own(factor.pair.base, last), math.inf
        total += factor.count * min(own, most / (1.0 + last))
    return total


_TRIES: Final = ((20, 512), (17, 256), (14, 128), (12, 128), (10, 64), (8, 32))
"""Bits of the slack in mu and in the facts, and how fine their tables are."""
_MOST_WORK: Final = limits.MAX_WORK * 3 // 4  # Most work of the checker. Heuristic.
_SHARE_OF_POINTS: Final = (
    1e-12  # Relative rounding of a comparison. Heuristic: the checker decides.
)
_MENDED, _PARTS = 3, 4  # Rounds in which failing cells are cut, and the parts of each. Heuristic.


def smallest_mu(pair: DominatingPair[Any], mu: float) -> tuple[float, Points, list[Step]]:
    """Return a mu slightly above a valid one, points of the profile that prove it, and facts."""
    products = distinct(pair)
    end = max(max_loss(one) for one in products) * (1 + 1e-9)
    for one in products:
        factors(one)  # refuse what certificates do not know
    if not np.isfinite(end):
        raise NotCertified(
            "certificates show mu-GDP of unbounded losses only where the pairs' own mu add up in "
            "squares; certify epsilon or delta, or convert the parts"
        )
    for bits, fine in _TRIES:
        raised = mu * (1 + 2.0**-bits)
        try:
            grid = refined(
                np.linspace(0.0, end, _CELLS),
                lambda points, at=raised: np.any(  # type: ignore[misc]
                    [above_tangent(deltas(one, points)[1], points, at) for one in products], axis=0
                ),
                lambda left, right: 0.5 * (left + right),
            )
        except NotCertified:
            continue
        listed = _points_below(products, [Fraction(x) for x in grid.tolist()], raised, bits, fine)
        if listed:
            return raised, *listed
    raise NotCertified(
        "no certificate shows this mu as closely as it is stated; certify epsilon at a delta"
    )


def _points_below(
    products: list[Product], places: list[Fraction], mu: float, bits: int, fine: int
) -> tuple[Points, list[Step]] | None:
    """Return points that prove mu with facts about them, wide cells cut a few times, or None."""
    profiles: list[dict[Fraction, Fraction]] = [{} for _ in products]
    steps: list[Step] = []
    left = _MOST_WORK
    for _ in range(_MENDED):
        for product, heights in zip(products, profiles, strict=True):
            try:
                points, shown, work = facts(product, places, fine=fine, slack=2.0**-bits, most=left)
            except NotCertified:
                return None
            heights.update(points)
            steps.extend(shown)
            left -= work
        shared = sorted(set.intersection(*(set(table) for table in profiles)))
        points = tuple((x, max(table[x] for table in profiles)) for x in shared)
        places = _wide(points, mu)
        if not places:
            return points, steps
    return None


def _wide(points: Points, mu: float) -> list[Fraction]:
    """Return more places inside the cells on which the checker's comparison fails."""
    if points[0][0] or points[-1][1]:
        raise NotCertified(
            "the losses have no proved largest one, or none at epsilon 0, so that no mu is shown; "
            "certify epsilon at a delta"
        )
    cuts: list[Fraction] = []
    for (left, high), (right, low) in pairwise(points):
        ends, middle = np.array([float(left), float(right)]), float((left + right) / 2)
        line = gaussian_tangent(mu, np.array([middle]), ends) * (1 - _SHARE_OF_POINTS)
        if not (float(high) <= line[0] and float(low) <= line[1]):
            cuts.extend(left + (right - left) * part / _PARTS for part in range(1, _PARTS))
    return cuts


def filter_witness(node: Derivation, guarantee: Guarantee[Any]) -> Object:
    """Return the witness of a filter's step, once its budget is divided."""
    if not isinstance(guarantee, ApproxDP):
        return {}
    limits: dict[str, Any] = dict(node.parameters)
    epsilon = guarantee.stated_epsilon
    if node.rule == "filter/approx-dp":
        rho, failures = limits["rho"], limits["failures"]
        order = _order(rho, epsilon, guarantee.stated_delta - failures)
        return {"rho": show_rational(rho), "failures": show_rational(failures), "order": order}
    if not limits:
        raise NotCertified(
            "the budget is divided among its filters by the first spend; certify it afterwards"
        )
    return {"filters": _listed(epsilon, guarantee.stated_delta, limits)}


def _listed(epsilon: Fraction, delta: Fraction, limits: dict[str, tuple[Fraction, ...]]) -> Json:
    """Return the filters that share a delta: sums have their own, the others what they leave."""
    parts = {way: needed(way, limit, epsilon) for way, limit in limits.items()}
    basic = parts.get("basic", Fraction(0))
    others = sum(parts.values()) - basic
    room = Fraction(float_down((delta - basic) / others)) if others else Fraction(1)
    listed: list[Json] = []
    for way, part in parts.items():
        share = part if way == "basic" else part * room
        order = order_of(way)
        name, size = ("renyi" if order else way), show_rational(limits[way][0])
        one: Object = {"way": name, "delta": show_rational(share), _SIZES[name]: size}
        if order is not None:
            one["order"] = show_rational(Fraction(order))
        elif way == "zcdp":
            one["order"] = _order(limits[way][0], epsilon, share)
        listed.append(one)
    return listed


_SIZES: Final = {"basic": "epsilon", "zcdp": "rho", "gdp": "mu_squared", "renyi": "divergence"}


def _order(rho: Fraction, epsilon: Fraction, delta: Fraction) -> str:
    """Return the order at which rho-zCDP implies (epsilon, delta)-DP most easily."""
    if not rho or not delta:
        return "2"
    order = best_order(ZCDP(rho=rho), float_up(epsilon), float_down(delta))
    return show_rational(order)
