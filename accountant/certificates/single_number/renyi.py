"""Make witnesses for Renyi divergences: quadratures for products, and the best order of a curve.

Heuristic: all constants; the checker decides.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeGuard

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, Object, run_law
from dpproof.accountant.certificates.hockey_stick.choose import Point
from dpproof.accountant.certificates.hockey_stick.contour import quadratures
from dpproof.accountant.certificates.hockey_stick.quadrature import EXACT
from dpproof.accountant.certificates.hockey_stick.sampling_tables import subject
from dpproof.accountant.certificates.hockey_stick.table import Subject, Table, Tabled
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rdp import (
    RDP,
    ZCDP,
    RenyiGuarantee,
    epsilon_terms,
    listed_curve,
    log_delta_terms,
    log_power_terms,
    total_variation,
)
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.proofs.core.certificate import Json, show_rational

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
    named = [("forward", pair.forward)]
    if pair.backward != pair.forward:
        named.append(("backward", pair.backward))
    listed: list[Json] = []
    for order in orders:
        excess = float(order - 1)
        listed.append({name: _witness(one, excess) for name, one in named})
    return {"orders": listed}


@lru_cache(maxsize=64)
def _witness(product: Product, excess: float) -> list[Json]:
    """Return the quadratures of M at one order less 1, kept for the certificate of several."""
    return moment_witness(*tabulated(product, excess), excess)


def moment_witness(used: Subject, whole: float, excess: float) -> list[Json]:
    """Return the quadratures of M of each pair, and an order for tables that end early.

    They are as fine as K, which is ``whole``, asks for.
    """
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
        used = _subject(product, least)
        whole = _log_moment(used, excess, least)
        if used.used is used.named:  # there is no table
            break
        inside = float(total_cgf(used.used, np.array([excess + 0j])).value.real[0])
        if whole - inside <= _LEFT_OUT * whole:
            break
    return used, whole


@lru_cache(maxsize=16)
def _subject(product: Product, negligible: float) -> Subject:
    """Return the product with tables, cached."""
    return subject(product, fine=_POINTS, negligible=negligible, whole=True)


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
        best = runs.least_shape(listed_curve(guarantee))[1]
        return {"by": name, "order": show_rational(best)}
    if name == "rate":
        epsilon = math.log1p(float(1 / (order - 1)))
        best = best_order(guarantee, epsilon, 0.0)
        terms = log_delta_terms(
            np.array([float(best)]), np.array([_value(guarantee, best)]), epsilon
        )
        first = guarantee.points[0][0] if isinstance(guarantee, RDP) else _NEXT_TO_ONE
        if total_variation(_value(guarantee, first)) < math.exp(min(terms[0], 0.0)):
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
    """Return epsilon and delta near a point, and the order that proves them.

    The order 1 stands for the total variation.
    """
    epsilon, delta = Fraction(point.epsilon), Fraction(point.delta)
    if point.moves and point.epsilon:
        order = best_order(guarantee, point.epsilon, point.delta)
        return epsilon * (1 + ROOM), delta, order
    order = best_order(guarantee, point.epsilon, 0.0)
    terms = log_delta_terms(
        np.array([float(order)]), np.array([_value(guarantee, order)]), point.epsilon
    )
    first = guarantee.points[0][0] if isinstance(guarantee, RDP) else _NEXT_TO_ONE
    if total_variation(_value(guarantee, first)) <= math.exp(min(terms[0], 0.0)):
        order = Fraction(1)
    return epsilon, delta if point.moves else min(delta * (1 + ROOM), Fraction(1)), order


def best_order(guarantee: RenyiGuarantee[Any], epsilon: float, delta: float) -> Fraction:
    """Return the order at which a point (epsilon, delta) is easiest to prove.

    Raises:
        NotCertified: no order gives a finite bound.
    """
    if delta > 0:
        return _least(guarantee, lambda orders, values: epsilon_terms(orders, values, delta))
    return _least(guarantee, lambda orders, values: log_delta_terms(orders, values, epsilon))


def power_order(guarantee: RenyiGuarantee[Any], rate: float, power: float) -> Fraction | None:
    """Return the order at which a power is easiest to exclude, or None if no order excludes it."""
    if not 0.0 < rate <= power < 1.0:
        return None

    def room(orders: Reals, values: Reals) -> Reals:
        return values - log_power_terms(orders, power, rate) / (orders - 1.0)

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
