"""Choose proofs of one point, or of many, and the numbers that they prove.

Heuristic: all constants; the checker repeats every proof.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import itemgetter
from typing import Any, cast, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, rounded_short
from dpproof.accountant.certificates.contour import (
    EASY_NODES,
    Mixture,
    Subject,
    Tabled,
    contour_proof,
    most_nodes,
    quadratures,
)
from dpproof.accountant.certificates.finite_sums import (
    ClosedForm,
    LargestLoss,
    folded_sum,
    has_closed_profile,
    largest_loss,
)
from dpproof.accountant.certificates.serialize import UNCERTIFIED, Object, Proof, fact_step
from dpproof.accountant.certificates.tables import single_allocations, single_sample, subject
from dpproof.accountant.engine.contour import chernoff
from dpproof.accountant.engine.profile import closed_form, deltas, infinite_mass
from dpproof.accountant.engine.saddle_point import Saddle, find_saddle, saddle_at, total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, Points
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.product import Product, steers
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Json, Step, show_rational

_SLACKS = 2.0 ** np.arange(-30, -6)  # Slacks of a point, tried in this order.
_WIDEST_SLACK = 2.0**-20  # Slack of a proof before a longer one is tried.
_SMALL_EPSILON = 1e-3  # Least epsilon that a relative slack counts from.
_FINENESS = (256, 1024)  # Points of a table for a typical loss, tried in this order.
_MANY = 2  # Allocations whose finer tables are more work than the checker does.
_MOST_LINES = limits.MAX_WORK // 4  # Most work for lines of a finer table. Heuristic.
_NEGLIGIBLE = 1e-10  # Share of delta that infinite losses of tables may add.
_FAINT = 1e-31  # A delta below which any up to 1e-30 will do.
ALIKE = 1e-24  # Deltas of an allocation below it are not told apart in a curve. Heuristic.
# Orders of Chernoff's bound, as shares of -log(delta)/epsilon.
_ORDERS = np.array([0.5, 0.8, 1.2, 1.8])
_NEARBY = -20.0  # Log of what a short line adds to delta, tried first. Heuristic.
_MANY, _STEERED = 16, 0.1  # Pairs whose K is first approximated, and how closely. Heuristic.
_LEFTWARDS = (
    0.7,
    0.5,
    0.35,
    0.2,
    0.05,
)  # Shares of the saddle's tilt, tried if that needs too many nodes.
# Log of what the checker adds to M of a mixture for all of its powers, and of the sum's terms
# relative to delta. Heuristic.
_RAISED, _HEIGHT = 5.0, 12.5
_SHARE = limits.MAX_WORK // 3  # Share of the checker's work for one of two directions.


@final
@dataclass(frozen=True, slots=True)
class Point:
    """A valid point (epsilon, delta) of the profile, to be proved."""

    epsilon: float  # at or above 0
    delta: float  # in [0, 1]
    moves: bool  # whether epsilon may be raised a little; else delta may
    among: int = 1  # the certificate's other proofs leave this one a share of 1/among of the work

    def relaxed(self) -> tuple[Reals, Reals]:
        """Return epsilons and log deltas with growing slack."""
        with np.errstate(divide="ignore"):
            log_delta = np.full(_SLACKS.shape, np.log(self.delta))
        if not self.moves:
            return np.full(_SLACKS.shape, self.epsilon), log_delta + _SLACKS
        return self.epsilon + _SLACKS * max(self.epsilon, _SMALL_EPSILON), log_delta


def ways(pair: DominatingPair[Any]) -> dict[str, Product]:
    """Return the different directions by name, forward first."""
    both = {"forward": pair.forward, "backward": pair.backward}
    return both if pair.forward != pair.backward else {"forward": pair.forward}


def distinct(pair: DominatingPair[Any]) -> list[Product]:
    """Return the different directions, forward first."""
    return list(ways(pair).values())


def prove(products: list[Product], point: Point) -> tuple[Fraction, Fraction, list[Step]]:
    """Prove the tightest (epsilon, delta) near a point; return it and a fact about each product.

    Where delta is below 1e-31 and no proof reaches it, a larger one up to 1e-30 is proved.
    """
    if not point.moves and 0.0 < point.delta < _FAINT:
        for delta in (point.delta, min(point.delta**0.25, _FAINT)):
            with contextlib.suppress(NotCertified):
                return _proved(products, replace(point, delta=delta))
        return _proved(products, replace(point, delta=_FAINT))
    return _proved(products, point)


def _proved(products: list[Product], point: Point) -> tuple[Fraction, Fraction, list[Step]]:
    """Prove the tightest (epsilon, delta) near a point, and nothing further away."""
    tries = [_direction(product, point) for product in products]
    slack = max(position for _, position in tries)
    epsilons, log_deltas = point.relaxed()
    if point.moves:
        epsilon, delta = Fraction(float(epsilons[slack])), Fraction(point.delta)
    else:
        epsilon = Fraction(point.epsilon)
        delta = Fraction(math.exp(log_deltas[slack]) * (1 + 1e-15))
        if delta >= 1:
            raise NotCertified(
                f"delta at epsilon = {point.epsilon:.6g} is 1 as closely as the checker's sums "
                "tell: there is nothing to certify; try a larger epsilon"
            )
    return epsilon, delta, [make(((epsilon, delta),)) for make, _ in tries]


Maker = Callable[[Points], Step]


def _direction(product: Product, point: Point) -> tuple[Maker, int]:
    """Return a function that states the fact about one product, and the slack it needs."""
    if point.epsilon * (1 + 1e-9) >= largest_loss(product):
        with contextlib.suppress(NotCertified):  # just before the largest loss
            return _smallest_slack(LargestLoss(product), point)
    if has_closed_profile(product):
        return _smallest_slack(ClosedForm(product), point)
    if not any(isinstance(factor.pair, Tabled) for factor in product.factors):
        return _summed(Subject.plain(product), point)
    single = closed_form(product)
    if isinstance(single, SubsampledPair):
        return _smallest_slack(single_sample(single, point.epsilon), point)
    if isinstance(single, AllocatedGaussianPair):
        ((alone, _),) = single_allocations(single, [Fraction(point.epsilon)], 0.0)
        return _smallest_slack(alone, point)
    proofs: list[tuple[Maker, int]] = []
    allocated = sum(isinstance(factor.pair, AllocatedGaussianPair) for factor in product.factors)
    for fine in _FINENESS if allocated < _MANY else _FINENESS[:1]:
        if not proofs or _SLACKS[proofs[-1][1]] > _WIDEST_SLACK:
            with contextlib.suppress(NotCertified):  # another table may do
                table = _table(product, point, fine)
                if not proofs or _lines_work(table) <= _MOST_LINES:
                    proofs.append(_summed(table, point))
    return (
        min(proofs, key=itemgetter(1)) if proofs else _summed(_table(product, point, fine), point)
    )


def _lines_work(table: Subject) -> int:
    """Return the checker's work for the lines of allocations."""
    return sum(
        limits.sum_work(limits.transform_terms(factor.pair.mu_squared), int(str(line["nodes"])))
        for factor, one in zip(table.named.factors, table.tables, strict=True)
        if one is not None and isinstance(factor.pair, AllocatedGaussianPair)
        for side in (one.forward, one.backward)
        for line in cast("tuple[Object, ...]", side.lines)
    )


def _table(product: Product, point: Point, fine: int) -> Subject:
    """Return the product with tables suited to a point."""
    least = _NEGLIGIBLE * min(point.delta, 1.0)
    alone = len(product.factors) == 1  # several such tables are more work than the checker does
    return subject(product, fine=fine, negligible=least, fewer=alone)


def _summed(used: Subject, point: Point) -> tuple[Maker, int]:
    """Prove a point by Chernoff's bound, a folded sum or a contour."""
    order, room = _chernoff_order(used, point)
    if order is not None:
        with contextlib.suppress(NotCertified):  # a contour may stand further left
            accuracy = math.log(4 * len(used.named.factors) / room)
            listed: Json = quadratures(used, order, accuracy=accuracy)
            hint: Object = {"c": show_rational(Fraction(order)), "factors": listed}
            return lambda points: fact_step("chernoff", used.named, points, hint), 0
    saddle = _shorter(
        used, find_saddle(used.used.bundled(), lambda one: one.epsilon - point.epsilon)
    )
    on_lattice = folded_sum(used, saddle, point.among)
    if on_lattice is not None:
        return _smallest_slack(on_lattice, point)
    try:
        return _along(used, saddle, point)
    except NotCertified:
        for share in _LEFTWARDS:
            with contextlib.suppress(NotCertified):
                return _along(used, _moved(used, saddle, share * saddle.c), point)
        raise


def _shorter(used: Subject, saddle: Saddle) -> Saddle:
    """Return a tilt further left if quadratures there are shorter and the sum has its digits."""
    pairs = [one.pair for one in used.named.factors if isinstance(one.pair, Mixture)]
    raised = [2 * (_RAISED - math.log(one.sampling_rate)) / one.mu_squared for one in pairs]
    least = math.sqrt(min(raised, default=math.inf))
    for share in _LEFTWARDS[2::-1]:
        if share * saddle.c >= least:
            other = _moved(used, saddle, share * saddle.c)
            if other.value - other.c * other.epsilon < _HEIGHT + other.log_delta:
                return other
    return saddle


def _moved(subject: Subject, saddle: Saddle, c: float) -> Saddle:
    """Return another tilt for the same question; further left the nodes may be further apart."""
    other = saddle_at(subject.used.bundled(), c)
    return replace(other, epsilon=saddle.epsilon, log_delta=saddle.log_delta)


def _along(subject: Subject, saddle: Saddle, point: Point) -> tuple[Maker, int]:
    """Prove a point by a contour, made longer as long as that gains enough."""
    limit = most_nodes(subject, rounded_short(saddle.c), _SHARE // point.among)
    most, choice = min(EASY_NODES, limit), None
    with contextlib.suppress(NotCertified):  # a line with more nodes may do
        short = contour_proof(subject, replace(saddle, log_tolerance=_NEARBY), most)
        choice = _smallest_slack(short, point)
        if _SLACKS[choice[1]] <= _WIDEST_SLACK:
            return choice
    while True:
        proof = contour_proof(subject, saddle, most)
        with contextlib.suppress(NotCertified):  # a longer one may do
            choice = _smallest_slack(proof, point)
        if choice is not None and _SLACKS[choice[1]] <= _WIDEST_SLACK:
            return choice
        if most == limit or proof.contour.tau == 0.0:
            return choice or _smallest_slack(proof, point)
        most = min(2 * most, limit)


def _smallest_slack(proof: Proof, point: Point) -> tuple[Maker, int]:
    """Return the proof with the smallest slack at which its bound is good enough."""
    epsilons, log_deltas = point.relaxed()
    enough = np.flatnonzero(proof.log_upper(epsilons) <= log_deltas)
    if not enough.size:
        raise NotCertified(
            f"no certificate was found near epsilon = {point.epsilon:.6g}, delta = "
            f"{point.delta:.6g}: the losses are too rough for the checker's sums; convert "
            f"the parts to a notion with a formula first, or {UNCERTIFIED}"
        )
    return proof.fact, int(enough[0])


def _chernoff_order(subject: Subject, point: Point) -> tuple[float | None, float]:
    """Return the least order at which Chernoff's bound proves the point, and the room it has."""
    product = subject.used
    if point.epsilon <= 0 or point.delta >= 1 or infinite_mass(product).upper > 0:
        return None, 0.0
    c = max(-math.log(point.delta), 1.0) / point.epsilon * _ORDERS
    c = np.array([rounded_short(one) for one in c])
    bundled = product.bundled()
    try:
        if len(product.factors) > _MANY:
            counts = np.array([float(one.count) for one in bundled.factors])
            near = chernoff(c, counts @ steers(bundled, c)[:, 0], point.epsilon)
            c = c[near < math.log(point.delta) + _STEERED][:2]
        if not c.size:
            return None, 0.0
        cgf = total_cgf(bundled, c + 0j)
    except NotCertified:
        return None, 0.0
    room = math.log(point.delta) - chernoff(c, cgf.value.real + cgf.radius, point.epsilon)
    proved = np.flatnonzero(room > 1e-6)
    return (float(c[proved[0]]), float(room[proved[0]])) if proved.size else (None, 0.0)


_BITS = 30  # Bits of a delta.
_SLACK = 1e-6  # Slack of log delta up to which a line serves an epsilon.
_WIDEST = 0.01  # Slack for an epsilon that no line serves better.
_CURVE_ROOM = 4e-9  # Relative room of a delta, as a base's bound may be 1e-9 above its profile.
_SHARE_OF_LINES = limits.MAX_WORK * 3 // 8  # Share of the checker's work.
# Points of a table for a typical loss, and the mass it may leave out.
_FINE, _LEFT_OUT = 512, 1e-30
_LEAST = -690.0  # Least log delta that is representable as a float.


def facts(
    product: Product,
    places: list[Fraction],
    *,
    fine: int = _FINE,
    slack: float = _SLACK,
    most: int | None = None,
) -> tuple[Points, list[Step], int]:
    """Return bounds at most of some growing epsilons, the steps that prove them, and their work.

    An epsilon is left out if the checker's sums are not close enough there. A line that serves
    several may give away ``slack`` of log delta.
    """
    end = largest_loss(product)
    near, far = ([x for x in places if (x < end) is inside] for inside in (True, False))
    proofs: list[tuple[Proof, list[Fraction]]] = [(LargestLoss(product), far)] if far else []
    if has_closed_profile(product):
        proofs.append((ClosedForm(product), near))
    elif isinstance(single := closed_form(product), AllocatedGaussianPair):
        proofs.extend(single_allocations(single, near, ALIKE / 2))
    else:
        proofs.extend(_many_along(product, near, fine, slack))
    listed: list[tuple[Fraction, Fraction]] = []
    steps: list[Step] = []
    work = sum(proof.work(len(served)) for proof, served in proofs)
    if work > (_SHARE_OF_LINES if most is None else most):
        raise NotCertified(
            "bounding the profile of what is selected from takes more work than the checker does; "
            "certify the runs without the selection"
        )
    for proof, served in proofs:
        least = -math.inf if isinstance(proof, LargestLoss) else _LEAST
        heights = np.exp(np.maximum(proof.log_upper(np.array([float(x) for x in served])), least))
        raised = [short_up(min(float(one) * (1 + _CURVE_ROOM), 1.0), _BITS) for one in heights]
        points = tuple(zip(served, raised, strict=True))
        if points:
            listed.extend(points)
            steps.append(proof.fact(points))
    return tuple(sorted(listed)), steps, work


def facts_of_all(
    wanted: Mapping[Product, Iterable[Fraction]], most: int | None = None
) -> tuple[dict[Product, dict[Fraction, Fraction]], list[Step]]:
    """Return bounds of each product at the epsilons wanted, as ``facts`` does, and the steps."""
    heights: dict[Product, dict[Fraction, Fraction]] = {}
    steps: list[Step] = []
    for product, places in wanted.items():
        points, shown, _ = facts(product, sorted(places), most=most)
        heights[product] = dict(points)
        steps.extend(shown)
    return heights, steps


def _many_along(
    product: Product, places: list[Fraction], fine: int, slack: float
) -> list[tuple[Proof, list[Fraction]]]:
    """Return lines, each with the epsilons for which it is nearly as good as any."""
    epsilon = np.array([float(x) for x in places])
    with np.errstate(divide="ignore"):
        best = np.log(deltas(product, epsilon)[1])
    proofs: list[tuple[Proof, list[Fraction]]] = []
    first, ahead = 0, 4
    while first < epsilon.size:
        middle = min(first + ahead, epsilon.size - 1)
        proof = _proof(product, float(epsilon[middle]), fine)
        count = 0
        if proof is not None:
            over = proof.log_upper(epsilon[first:]) - best[first:]
            good = over <= (slack if ahead else max(slack, _WIDEST))
            count = int(np.argmin(np.append(good, False)))
        if proof is not None and count:
            proofs.append((proof, places[first : first + count]))
            first, ahead = first + count, max(count // 2, 1)
        elif ahead:
            ahead //= 2
        else:
            first += 1
    return proofs


def _proof(product: Product, epsilon: float, fine: int) -> Proof | None:
    """Return a sum that suits one epsilon, or None if it takes too much of the checker's work."""
    used = subject(product, fine=fine, negligible=_LEFT_OUT)
    saddle = find_saddle(used.used.bundled(), lambda one: one.epsilon - epsilon)
    proof = folded_sum(used, saddle) or contour_proof(used, saddle, EASY_NODES)
    try:
        proof.work(1)
    except NotCertified:
        return None
    return proof
