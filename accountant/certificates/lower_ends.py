"""Prove lower ends of the numbers of the dominating pair itself.

Heuristic: all constants; the checker repeats every sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals, rounded_short
from dpproof.accountant.certificates.choose import Point, prove
from dpproof.accountant.certificates.contour import (
    EASY_NODES,
    EXACT,
    ContourProof,
    Hint,
    Subject,
    Tabled,
    contour_proof,
    most_nodes,
    quadratures,
)
from dpproof.accountant.certificates.finite_sums import (
    ClosedForm,
    FoldedSum,
    folded_sum,
    has_closed_profile,
)
from dpproof.accountant.certificates.serialize import UNCERTIFIED, Object, factors
from dpproof.accountant.certificates.single_number import FINE, ROOM
from dpproof.accountant.certificates.tables import shortfall_line, subject_below
from dpproof.accountant.engine.contour import TENT
from dpproof.accountant.engine.profile import (
    closed_form,
    delta as delta_at,
    deltas,
    epsilon as epsilon_at,
    max_loss,
)
from dpproof.accountant.engine.saddle_point import find_saddle, total_cgf
from dpproof.accountant.engine.trade_off import best_threshold
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair
from dpproof.accountant.subsampling.shuffled_reports import ShuffledReportsPair, bounds, layout
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Json, Step, show_rational

LowerProof: TypeAlias = "ClosedForm | FoldedSum | ContourProof"
# Slacks of a point, tried in this order.
_SLACKS = np.concatenate([[0.0], 2.0 ** np.arange(-30, -6)])
_WIDEST_SLACK = 2.0**-20  # Slack of a proof before a longer one is tried.
_MARGIN = 1e-8  # Share of delta above what a sum cuts and aliases add.
_TABLE_MARGIN = 1e-7  # How much lower the checker's tables are, as lines only enclose a profile.
_FINER = (1, 2, 4, 8, 16)  # Factors of the nodes, tried in this order.
_LONGER = 4  # Factor by which a line is made longer.
# Relative distances of the abscissae at which aliases are bounded.
_FAR = np.geomspace(0.01, 100.0, 81)
_FINENESS = (256, 1024)  # Points of a table for a typical loss, tried in this order.
_NEGLIGIBLE = 1e-10  # Share of delta that the last losses of tables may have.
# Share of the checker's work; the aliases and a finer sum take the rest.
_SHARE = limits.MAX_WORK // 2


def lower_fact(
    product: Product, epsilon: float, delta: float, *, moves: bool, among: int = 1
) -> Step:
    """Return the fact that a product's divergence near epsilon is at least delta, or near it.

    Epsilon may be lowered a little if it ``moves``, else delta may.
    """
    if not delta:
        raise NotCertified(
            f"delta has no finite lower end above 0 at epsilon = {epsilon:.6g}: a lower end of 0 "
            "holds of every pair, and there is nothing to certify; try a smaller epsilon"
        )
    said, single = factors(product), closed_form(product)
    epsilons = epsilon * (1.0 - _SLACKS) if moves else np.full(_SLACKS.shape, epsilon)
    deltas = np.full(_SLACKS.shape, delta) if moves else delta * (1.0 - _SLACKS)
    proof: LowerProof | None = None
    if isinstance(single, AllocatedGaussianPair):
        slack, line = 0, shortfall_line(single, epsilon, below=True).witness()
    else:
        proofs = _proofs(product, epsilon, delta, among)
        slack, proof = _closest(proofs, epsilons, np.log(deltas))
        if proof is None:
            raise _rough(epsilon)
    near, least = float(epsilons[slack]), float(deltas[slack])
    claim: Object = {
        "notion": "hockey-stick-at-least",
        "product": said,
        "epsilon": show_rational(Fraction(near)),
        "delta": show_rational(Fraction(least)),
    }
    rule, witness = _witness(proof, near, math.log(least), among) if proof else ("allocated", line)
    return Step(rule=f"at-least/{rule}", premises=(), witness=witness, conclusion=claim)


def _closest(
    proofs: Iterator[LowerProof], epsilon: Reals, log_delta: Reals
) -> tuple[int, LowerProof | None]:
    """Return the first proof with little slack, else the one with least, and its slack."""
    closest: tuple[int, LowerProof | None] = epsilon.size, None
    try:
        for proof in proofs:
            enough = np.flatnonzero(_log_lower(proof, epsilon) >= log_delta)
            if enough.size and enough[0] < closest[0]:
                closest = int(enough[0]), proof
            if enough.size and _SLACKS[enough[0]] <= _WIDEST_SLACK:
                break
    except NotCertified:  # a closer one is out of reach
        if closest[1] is None:
            raise
    return closest


def _log_lower(proof: LowerProof, epsilon: Reals) -> Reals:
    """Approximate the log of the checker's bound at each epsilon, from below."""
    margin = (
        0.0 if isinstance(proof, ClosedForm) or not any(proof.subject.tables) else _TABLE_MARGIN
    )
    if isinstance(proof, ContourProof) and proof.contour.tau:
        return proof.log_lower(epsilon) - margin
    return proof.log_upper(epsilon) - _MARGIN - margin


def _proofs(product: Product, epsilon: float, delta: float, among: int) -> Iterator[LowerProof]:
    """Yield ways to bound the divergence near epsilon, each closer than the one before."""
    sampled = [one.pair for one in product.factors if isinstance(one.pair, Tabled)]
    samples = (one for one in sampled if isinstance(one, SubsampledPair))
    bounded = any(one.direction is Direction.REPLACEMENT for one in samples)
    if has_closed_profile(product) and product.factors and not bounded:
        yield ClosedForm(product)
    elif not product.factors or epsilon >= max_loss(product):
        return
    elif not sampled:
        yield from _sums(Subject.plain(product), epsilon, among)
    else:
        for fine in _FINENESS:
            used = subject_below(product, fine=fine, negligible=_NEGLIGIBLE * delta)
            yield from _sums(used, epsilon, among)


def _sums(used: Subject, epsilon: float, among: int) -> Iterator[LowerProof]:
    """Yield a folded sum, or lines, longer and longer as long as they are smoothed."""
    saddle = find_saddle(used.used, lambda one: one.epsilon - epsilon)
    on_lattice = folded_sum(used, saddle, among)
    if on_lattice is not None:
        yield on_lattice
        return
    limit = most_nodes(used, rounded_short(saddle.c), _SHARE // among)
    most = min(EASY_NODES, limit)
    while True:
        proof = contour_proof(used, saddle, most)
        yield proof
        if most == limit or not proof.contour.tau:
            return
        most = min(_LONGER * most, limit)


def _witness(proof: LowerProof, epsilon: float, log_delta: float, among: int) -> tuple[str, Object]:
    """Return the rule and witness of the sum, with enough nodes to make aliases negligible."""
    if isinstance(proof, ClosedForm):
        return "closed", {}
    log_least, tau = log_delta + math.log(_MARGIN / 8), 0.0
    witness: Object
    for finer in _FINER:
        if isinstance(proof, FoldedSum):
            c, half = proof.c, (proof.s.size - 1) * finer
            period = float(proof.span) * (2 * half + 1)
            name, witness = "lattice", {"span": show_rational(proof.span), "nodes": half}
            tails: tuple[Hint, ...] = ()
        else:
            c, h = float(proof.contour.s[0].real), proof.contour.step / finer
            nodes, period = (proof.contour.s.size - 1) * finer, 2 * math.pi / h
            name, witness = "contour", {"step": show_rational(Fraction(h)), "nodes": nodes}
            tails, tau = proof.hints, proof.contour.tau
        if tau:
            name, exact = "smoothed", Fraction(tau)
            witness["tau"], witness["width"] = show_rational(exact), show_rational(TENT * exact)
        sides = _sides(proof.subject, c, epsilon, period, tau)
        if max(log_size for _, log_size in sides.values()) <= log_least:
            levels = [hint if isinstance(hint, float) else None for hint in tails]
            hints: dict[str, Json] = {
                side: _at(proof.subject, at, levels) for side, (at, _) in sides.items()
            }
            accuracy = _accuracy(proof.subject, c, epsilon, log_delta)
            own = _at(proof.subject, c, tails, accuracy)
            witness = {**witness, **own, **hints}
            if _work(proof.subject, witness, tau) > limits.MAX_WORK // among:
                raise NotCertified(
                    f"a lower bound of {len(proof.subject.named.factors)} different pairs near "
                    f"epsilon = {epsilon:.6g} is more work than the checker accepts; certify "
                    f"fewer different pairs, or {UNCERTIFIED}"
                )
            return name, witness
    raise _rough(epsilon)


def _work(subject: Subject, witness: Object, tau: float) -> int:
    """Return the checker's work for a sum and its aliases, but for making tables."""
    places = [(witness, int(str(witness["nodes"])) + 1)]
    places += [(one, 2) for one in (witness["before"], witness["after"]) if isinstance(one, dict)]
    work = limits.PER_STEP + len(json.dumps([witness, factors(subject.named)]))
    work += limits.line_work(places[0][1], 3)
    work += limits.formula_work("gaussian", 1, places[0][1]) if tau else 0
    for place, nodes in places:
        work += subject.work(nodes)
        listed = place["factors"]
        hints = listed if isinstance(listed, list) else []
        for each in hints:
            hint = hints[each] if isinstance(each, int) else each  # that of an earlier place
            if isinstance(hint, dict) and "tail" in hint:
                rule, tail = (_length(hint[name]) for name in ("nodes", "tail"))
                work += limits.quadrature_work(rule, tail, nodes)
    return work


def _length(rule: Json) -> int:
    """Return the number of nodes of a trapezoid rule in the certificate's JSON."""
    ends = (rule["left"], rule["right"]) if isinstance(rule, dict) else ()
    return 1 + sum(int(str(one)) for one in ends)


def _sides(
    subject: Subject, c: float, epsilon: float, period: float, tau: float
) -> dict[str, tuple[float, float]]:
    """Return the best abscissae before and after c, and logs of the aliases' bounds there."""
    sides = {}
    for name, places in (("before", c / (1.0 + _FAR)), ("after", c * (1.0 + _FAR))):
        b = np.array([rounded_short(one) for one in places])
        b = b[(b < c) if name == "before" else (b > c)]
        try:
            moment = total_cgf(subject.used, b + 0j).value.real
        except NotCertified:
            raise _rough(epsilon) from None
        size = moment + 0.5 * tau * tau * b * (b + 1.0) - b * epsilon
        size += b * np.log(b) - (1 + b) * np.log1p(b)
        size += -np.abs(b - c) * period - np.log(-np.expm1(-np.abs(b - c) * period))
        best = int(np.argmin(size))
        sides[name] = float(b[best]), float(size[best])
    return sides


def _at(subject: Subject, c: float, hints: Sequence[Hint], accuracy: float = EXACT) -> Object:
    """Return an abscissa with the quadratures that M needs there."""
    listed = quadratures(subject, c, hints, accuracy=accuracy)
    return {"c": show_rational(Fraction(c)), "factors": listed}


def _accuracy(subject: Subject, c: float, epsilon: float, log_delta: float) -> float:
    """Return the accuracy of M, in nats, at which the errors of all pairs are far below delta."""
    moment = float(total_cgf(subject.used, np.array([c + 0j])).value.real[0])
    return EXACT + math.log(len(subject.named.factors)) + max(moment - c * epsilon - log_delta, 0.0)


def _rough(epsilon: float) -> NotCertified:
    """Return the error where no sum bounds the divergence."""
    return NotCertified(
        f"no lower bound of delta was found near epsilon = {epsilon:.6g}: the losses are too rough "
        f"for the checker's sums; {UNCERTIFIED}"
    )


_REPORT_ROOM: Final = 1e-9  # Share of delta that roundings may take. Heuristic.


def has_reports(product: Product) -> bool:
    """Return whether a product has shuffled reports in it."""
    return any(isinstance(factor.pair, ShuffledReportsPair) for factor in product.factors)


def lower_fact_of_reports(product: Product, epsilon: float, delta: float, *, moves: bool) -> Step:
    """Return the same of shuffled reports, alone, by blocks of their counts."""
    (one, *others), blocks = product.factors, list[Json]()
    if others or one.count > 1 or not isinstance(one.pair, ShuffledReportsPair):
        raise NotCertified(
            "lower ends of shuffled reports are certified alone, and once; certify one release of "
            f"them, or {UNCERTIFIED}"
        )
    pair, plan = one.pair, layout(one.pair.reports)
    if pair.reports.categories != 2:
        listed = {end for group in plan.groups for end in group}
        blocks += sorted(listed - {0} if pair.reports.spare else listed)
    bound, _ = bounds(pair.reports, removal=pair.removal)

    def least(x: float) -> float:
        return float(bound(np.array([x]))[0]) * (1.0 - _REPORT_ROOM)

    if moves:
        epsilon = bisect(lambda x: least(x) >= delta, 0.0, epsilon)[0]
    else:
        delta = min(delta, least(epsilon))
    if not (delta > 0 and (epsilon > 0 or not moves)):
        raise NotCertified(f"no lower end of shuffled reports was found; {UNCERTIFIED}")
    claim: Object = {
        "notion": "hockey-stick-at-least",
        "product": factors(product),
        "epsilon": show_rational(Fraction(epsilon)),
        "delta": show_rational(Fraction(delta)),
    }
    rule, witness = "at-least/shuffled-reports", {"blocks": blocks}
    return Step(rule=rule, premises=(), witness=witness, conclusion=claim)


_CELLS: Final = 2_000  # Of the pair with the most of them.
_SUMS: Final = limits.MAX_CELL_SUMS // 2  # Places of a sum of losses.
_NARROWEST: Final = 2.0**-12  # nats; narrower cells gain nothing.
_OUTERMOST: Final = 1e-6  # Share of delta that outermost cells may have.
_IRREGULAR: Final = 0.005  # Share of cells, the outermost, whose losses may be far from the middle.
_CELL_BITS: Final = 30  # Of the ends of cells, behind the point.
_CELL_ROOM: Final = 1e-10  # Room for roundings here, relative and in nats.


@final
@dataclass(frozen=True, slots=True)
class _Cells:
    """One pair cut into cells."""

    ends: list[int]  # in units of 2^-30, increasing
    offset: Fraction  # losses are at or above offset + k span
    pair: LatticePair  # the cells as a pair on that lattice


def needs_cells(product: Product) -> bool:
    """Return whether a product has shuffled batches in it."""
    return any(isinstance(factor.pair, ShuffledGaussianPair) for factor in product.factors)


def lower_fact_by_cells(product: Product, epsilon: float, delta: float, *, moves: bool) -> Step:
    """Return the same of shuffled batches, allocated rounds and Gaussian pairs, by cells."""
    if not delta:
        raise NotCertified(f"no lower end of delta was found near {epsilon:.6g}; {UNCERTIFIED}")
    pairs = [(_as_shuffled(one.pair), one.count) for one in product.factors]
    cells, span = _cut(pairs, epsilon, delta)
    used = Product(
        tuple(Factor(one.pair, count) for one, (_, count) in zip(cells, pairs, strict=True))
    )
    if moves:
        epsilon = min(epsilon, epsilon_at(used, delta).lower * (1 - _CELL_ROOM))
    else:
        delta = min(delta, delta_at(used, epsilon).lower * (1 - _CELL_ROOM))
    if not (delta > 0 and (epsilon > 0 or not moves)):
        raise NotCertified(
            f"no cells of the largest noisy sum prove a lower end near epsilon = {epsilon:.6g}; "
            f"{UNCERTIFIED}"
        )
    hints: list[Json] = [
        {
            "unit": show_rational(Fraction(1, 1 << _CELL_BITS)),
            "offset": show_rational(one.offset),
            "ends": list(one.ends),
        }
        for one in cells
    ]
    claim: Object = {
        "notion": "hockey-stick-at-least",
        "product": factors(product),
        "epsilon": show_rational(Fraction(epsilon)),
        "delta": show_rational(Fraction(delta)),
    }
    witness: Object = {"span": show_rational(Fraction(span)), "factors": hints}
    return Step(rule="at-least/cells", premises=(), witness=witness, conclusion=claim)


def _as_shuffled(pair: Pair) -> ShuffledGaussianPair:
    """Return a pair as shuffled batches, which it dominates; a Gaussian pair is one batch."""
    if isinstance(pair, AllocatedGaussianPair):
        return pair.largest
    if isinstance(pair, GaussianPair):
        return ShuffledGaussianPair(mu_squared=pair.mu_squared, batches=1, replaced=True)
    if not isinstance(pair, ShuffledGaussianPair):
        raise NotCertified(
            "lower ends of shuffled batches and of allocated rounds are certified alone and "
            "beside Gaussian noise; certify "
            f"those parts, or {UNCERTIFIED}"
        )
    return pair


def _cut(
    pairs: list[tuple[ShuffledGaussianPair, int]], epsilon: float, delta: float
) -> tuple[list[_Cells], float]:
    """Cut pairs where their losses are multiples of a span; one pair alone only at epsilon."""
    if sum(count for _, count in pairs) == 1:
        return [_cells(pairs[0][0], np.array([epsilon]), 1.0)], 1.0
    least = _OUTERMOST * delta / sum(count for _, count in pairs)
    sides = [(pair.reach(least), pair.swapped().reach(least)) for pair, _ in pairs]
    sums = sum(count * sum(side) for side, (_, count) in zip(sides, pairs, strict=True))
    span = max(max(map(sum, sides)) / _CELLS, sums / _SUMS, _NARROWEST)
    return [
        _cells(pair, span * np.arange(-math.ceil(below / span), math.ceil(above / span)), span)
        for (pair, _), (above, below) in zip(pairs, sides, strict=True)
    ], span


def _cells(pair: ShuffledGaussianPair, losses: Reals, span: float) -> _Cells:
    """Cut one pair at some losses.

    The losses of cells are near the middles in between, and the offset is just below most of them:
    the few that are not are rounded down further.
    """
    ends = np.unique(np.rint(np.ldexp(pair.thresholds(losses), _CELL_BITS))).astype(np.int64)
    p, q = pair.cells(np.ldexp(ends.astype(float), -_CELL_BITS))
    positive = (p > 0) & (q > 0)
    loss = np.log(p[positive] / q[positive])
    share = loss / span - np.floor(loss / span)
    lowest = np.quantile(share, _IRREGULAR) if loss.size > 2 else share[-1]
    offset = float(lowest) * span - _CELL_ROOM
    index = np.floor((loss - offset) / span)
    places, where = np.unique(index, return_inverse=True)
    log_p = np.log(np.bincount(where, weights=p[positive]))
    atoms = Atoms(log_p, offset + span * places, 0.0, 0.0)
    return _Cells(ends.tolist(), Fraction(offset), LatticePair(atoms, places, span, offset))


_GAPS: Final = tuple(1e-6 * 4.0**k for k in range(10))
"""Distances in nats between the three points. A kink of the profile needs them close, and else the
square of the distance has to exceed what the checker's sums give away. Heuristic: the checker
compares what the facts say.
"""
# Approximate relative slack of the checker's bounds, without and with tables. Heuristic.
_NOISE, _NOISE_OF_TABLES = 3e-8, 1e-6
# Relative rounding of sums and differences in floats. Heuristic: the checker decides.
_SLIP: Final = 1e-12
_ULP: Final = 4e-16  # Rounding of numbers up to 1. Heuristic likewise.
# Points of a table from below, and the mass it may leave out. Heuristic.
_TABLE_POINTS, _LOST_MASS = 1024, 1e-30
_BLUR: Final = 2.0**-52  # Error of M of a table that is made of floats.
_CLOSE: Final = 1e-6  # Largest share of K that such errors may be.
# Three points leave a proof this share of the work: a third of it from above, all from below.
_AMONG: Final = 5
_DIGITS: Final = 60.0  # Log of the accuracy of a quadrature, relative to K. Heuristic.
# Most of it that 512 bits carry, found by trials; what needs more is refused. Heuristic.
_DEEPEST: Final = 295.0
_LARGEST: Final = 700.0  # Largest epsilon whose e^epsilon is computed in floats.


@final
@dataclass(frozen=True, slots=True)
class _Facts:
    """Bounds of H_t at three ratios t = e^epsilon, and the steps that prove them."""

    places: list[float]  # epsilon, increasing
    low: list[float]  # H is at least these
    high: list[float]  # H is at most these
    steps: list[Step]  # in any order

    def power(self, rate: float) -> float | None:
        """Return the power that these bounds prove at a rate: conversions.md, section 12.

        None if they do not prove where H_t + rate t is least, or are beyond floats.
        """
        if self.places[-1] > _LARGEST:
            return None
        (t1, t2, t3), low, high = (math.exp(one) for one in self.places), self.low, self.high
        before, after = t2 - t1, t3 - t2
        if low[0] - high[1] < rate * before * (1 + _SLIP):
            return None
        if high[1] - low[2] > rate * after * (1 - _SLIP):
            return None
        first = low[1] - (high[2] - low[1]) * before / after + rate * t1
        last = low[1] - (high[0] - low[1]) * after / before + rate * t3
        height = min(first, low[1] + rate * t2, max(last, low[2] + rate * t2))
        return height * (1 - _SLIP) - _ULP


def power_facts(product: Product, rate: float, power: float) -> tuple[Step, ...]:
    """Return the steps that prove about the power of some test at a false-positive rate."""
    for places in _places(product, best_threshold(product, rate), rate):
        bounds = _bounds_at(product, places)
        best_power = bounds.power(rate)
        if best_power is None or best_power <= rate:
            continue
        said: Object = {
            "notion": "true-positive-rate-at-least",
            "product": factors(product),
            "false_positive_rate": show_rational(Fraction(rate)),
            "true_positive_rate": show_rational(Fraction(min(best_power, power))),
        }
        last = Step(
            rule="at-least/true-positive-rate",
            premises=tuple(range(len(bounds.steps))),
            witness={"places": [show_rational(Fraction(one)) for one in bounds.places]},
            conclusion=said,
        )
        return (*bounds.steps, last)
    raise NotCertified(
        f"no lower bound of the true-positive rate at {rate:.6g} was found: the checker's sums are "
        f"not close enough to each other there; {UNCERTIFIED}"
    )


def _places(product: Product, threshold: float, rate: float) -> list[list[float]]:
    """Return triples of epsilons around a threshold, those that prove most first."""
    sampled = any(isinstance(one.pair, Tabled) for one in product.factors)
    noise = _NOISE_OF_TABLES if sampled else _NOISE
    places_tried = []
    for gap in _GAPS:
        places = [threshold + gap * side for side in (-1.0, 0.0, 1.0)]
        low, high = deltas(product, np.array(places))
        bounds = _Facts(places, (low * (1 - noise)).tolist(), (high * (1 + noise)).tolist(), [])
        places_tried.append((bounds.power(rate) or 0.0, places))
    return [places for shown, places in sorted(places_tried, reverse=True) if shown > rate]


def _bounds_at(product: Product, places: list[float]) -> _Facts:
    """Return the bounds at three epsilons, as the checker proves them."""
    bounds = _Facts(places, [], [], [])
    for place in places:
        used, x, t = (product if place >= 0 else product.swapped()), abs(place), math.exp(place)
        least, most = (float(one[0]) for one in deltas(used, np.array([x])))
        below = [lower_fact(used, x, least, moves=False, among=_AMONG)] if least > 0.0 else []
        shown = Fraction(str(below[0].conclusion["delta"])) if below else Fraction(0)
        _, delta, above = prove([used], Point(x, most, moves=False, among=_AMONG))
        for ends, height in ((bounds.low, float(shown)), (bounds.high, float(delta))):
            ends.append(height if place >= 0 else 1.0 - t + t * height)
        bounds.steps.extend([*below, *above])
    return bounds


def renyi_fact(product: Product, order: Fraction) -> Step:
    """Return the fact that the Renyi divergence of an order is about at least its value."""
    said, excess = factors(product), order - 1
    used = Subject.plain(product)
    if any(isinstance(one.pair, Tabled) for one in product.factors):
        used = subject_below(product, fine=_TABLE_POINTS, negligible=_LOST_MASS)
    moment = _moment_below(used, float(excess))
    value = Fraction(moment) / excess * (1 - ROOM)
    accuracy = max(FINE, _DIGITS - math.log(moment)) if moment > 0 else math.inf
    if accuracy > _DEEPEST:
        raise NotCertified(
            f"the Renyi divergence of order {float(order):.6g} has no lower end above 0 that a "
            "certificate can show; try a larger order"
        )
    claim: Object = {
        "notion": "renyi-at-least",
        "product": said,
        "order": show_rational(order),
        "value": show_rational(Fraction(float(value))),
    }
    witness: Object = {"factors": quadratures(used, float(excess), accuracy=accuracy)}
    return Step(rule="at-least/renyi", premises=(), witness=witness, conclusion=claim)


def _moment_below(used: Subject, excess: float) -> float:
    """Return K at an order less 1, or less; 0 if too little of it is known.

    The checker makes tables itself: what a float says of one is known to an absolute error only.
    """
    both = zip(used.named.factors, used.tables, strict=True)
    parts = [
        Factor(one.pair.below(one.count) if table is None else table.finite_pair, one.count)
        for one, table in both
    ]
    enclosure = total_cgf(Product(tuple(parts)), np.array([excess + 0j]))
    lower = float(enclosure.value.real[0] - enclosure.radius[0])
    blur = _BLUR * sum(one.count for one, table in zip(parts, used.tables, strict=True) if table)
    return lower - blur if blur < _CLOSE * lower else 0.0
