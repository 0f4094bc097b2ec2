"""Prove one number of a guarantee: a point of its profile, a divergence, a bound of attacks."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import Reals, float_up
from dpproof.accountant.certificates import single_number
from dpproof.accountant.certificates.base_profile import moved_to, range_parts, with_logistic
from dpproof.accountant.certificates.best_of_runs import prove_by_shifted_mixture
from dpproof.accountant.certificates.choose import Point, distinct, prove
from dpproof.accountant.certificates.conversions import raise_numbers
from dpproof.accountant.certificates.finite_pairs import Aim
from dpproof.accountant.certificates.serialize import (
    UNCERTIFIED,
    Object,
    conclusion,
    factors,
    unsaid,
    unwritten,
)
from dpproof.accountant.certificates.steps import Steps, law_of
from dpproof.accountant.engine.profile import deltas
from dpproof.accountant.errors import NotCertified, NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import (
    DominatingPair,
    FaithfulPairGuarantee,
    PairGuarantee,
)
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, RenyiGuarantee
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.theorems import composition
from dpproof.accountant.theorems.conversion import notion_to_rdp, pair_to_pure
from dpproof.accountant.theorems.selection import select_pure, select_rdp
from dpproof.proofs.certificate import show_rational

# Relative distance at which the proof of a selection is near a point: about the width of its
# bracket, as a closer proof takes a hundred times as long to check. Heuristic.
_NEAR: Final = 1e-4
# Share of delta that finite pairs above selections may count as infinite. Heuristic.
_TAIL: Final = 1e-6

# Theorems whose own point is read from a finite pair.
_BY_FINITE_PAIRS: Final = {
    "select/pair",
    "select/above",
    "mixture",
    "shuffle/randomized-response",
    "shuffle/pure-dp",
    "allocate/pure-dp",
}


def prove_point(steps: Steps, guarantee: Guarantee[Any], point: Point) -> None:
    """Add the steps that prove a guarantee and a point (epsilon, delta) of it."""
    if isinstance(guarantee, PairGuarantee):
        exact = Fraction(point.epsilon), Fraction(point.delta)
        if any(x <= exact[0] and y <= exact[1] for x, y in guarantee.stated_points()):
            _prove_stated(steps, guarantee, point)
        else:
            _prove_pair(steps, guarantee.to_pair(), point)
    elif isinstance(guarantee, RenyiGuarantee):
        place, apart = steps.derive(guarantee.derivation)
        epsilon, delta, order = single_number.renyi_point(guarantee, point)
        claim = ApproxDP(epsilon=epsilon, delta=delta, relation=guarantee.relation)
        witness: Object = {"order": show_rational(order)}
        steps.add("convert/renyi-approx", conclusion(claim, apart), [place], witness)
    else:
        raise NotCertified(unwritten(guarantee.describe()))


def prove_divergence(steps: Steps, guarantee: Guarantee[Any], order: Fraction) -> None:
    """Add the steps that prove a guarantee's Renyi divergence at one order."""
    stated = with_logistic(guarantee) if isinstance(guarantee, DominatingPair) else guarantee
    value = stated.rdp(order=order).upper
    if math.isinf(value):
        raise NotCertified(
            f"{guarantee.describe()} has no finite Renyi divergence at order "
            f"{float(order):g}: there is nothing to certify; try a smaller order"
        )
    exact = guarantee.divergence_up(order) if isinstance(guarantee, RenyiGuarantee) else None
    least = single_number.with_room(value) if exact is None else exact
    claim = RDP(points=((order, least),), relation=guarantee.relation)
    if isinstance(guarantee, RenyiGuarantee):
        rule = "convert/zcdp-rdp" if isinstance(guarantee, ZCDP) else "convert/rdp-rdp"
        place, apart = steps.derive(guarantee.derivation)
        steps.add(rule, conclusion(claim, apart), [place], {})
    elif isinstance(guarantee, FaithfulPairGuarantee) and has_selections(guarantee.derivation):
        stated, shown = raise_numbers(as_renyi(guarantee.derivation, [order]))
        if not isinstance(stated, RDP):
            raise NotCertified(unsaid(stated.derivation.rule))
        steps.raised = {**steps.raised, **shown}
        place, apart = steps.derive(stated.derivation)
        claim = RDP(
            points=[one for one in stated.points if one[0] == order], relation=guarantee.relation
        )
        steps.add("convert/rdp-rdp", conclusion(claim, apart), [place], {})
    elif isinstance(guarantee, FaithfulPairGuarantee):
        pair = guarantee.to_pair()
        place, apart = steps.derive(pair.derivation)
        pair = with_logistic(steps.substitutes.of(pair))
        enough = least
        if steps.substitutes.known:
            enough = single_number.with_room(pair.rdp(order=order).upper)
        if any(map(single_number.has_tables, distinct(pair))):
            ((_, enough),) = single_number.tabulated_points(pair, [order])
        claim = RDP(points=((order, max(least, enough)),), relation=guarantee.relation)
        witness = single_number.rdp_witness(pair, [order])
        steps.add("convert/pair-rdp", conclusion(claim, apart), [place], witness)
    elif isinstance(guarantee, BoundedRange):
        place, apart = steps.derive(guarantee.derivation)
        steps.add("convert/bounded-range-rdp", conclusion(claim, apart), [place], {})
    else:
        raise NotCertified(unwritten(guarantee.describe()))


def _prove_pair(steps: Steps, pair: DominatingPair[Any], point: Point) -> None:
    """Prove a point of a pair, by a rule for selections if it is one."""
    if pair.derivation.rule in {"select/pair", "select/above"}:
        _prove_selection(steps, pair, point)
        return
    trial = Steps(raised=steps.raised, ranges=range_parts(pair, point))
    if trial.ranges:
        with contextlib.suppress(NotCertified):  # a product of logistic pairs is left
            _prove_product(trial, pair, point)
            steps.listed.extend(trial.listed)
            return
    _prove_product(steps, pair, point)


def _prove_product(steps: Steps, pair: DominatingPair[Any], point: Point) -> None:
    """Prove a point by sums over the product of the pairs or of their substitutes."""
    count = sum(factor.count for factor in pair.forward.factors)
    rules = [one.rule for one in pair.derivation.everything()]
    steps.aim = Aim(
        tail=_TAIL * point.delta / max(count, 1),
        selections=rules.count("select/pair"),
        epsilon=point.epsilon if pair.derivation.rule in _BY_FINITE_PAIRS else 0.0,
    )
    place, apart = steps.derive(pair.derivation)
    used = with_logistic(steps.substitutes.of(pair))
    if used != pair:
        point = moved_to(used, point)
    epsilon, delta, facts = prove(distinct(used), point)
    claim = ApproxDP(epsilon=epsilon, delta=delta, relation=pair.relation)
    places = steps.facts(facts)
    steps.add("convert/pair-approx", conclusion(claim, apart), [place, *places], {})


def _prove_selection(steps: Steps, pair: DominatingPair[Any], point: Point) -> None:
    """Prove a point by the first method that comes near it, else by the best of all."""
    tries: list[Steps] = []
    refusal = NotCertified(f"no rule is known for {pair.derivation.statement}")
    is_best = pair.derivation.rule == "select/pair"
    proofs = (
        (_prove_pure, _prove_by_selection_bound, _prove_product)
        if is_best
        else (_prove_pure, _prove_product)
    )
    for prove_it in proofs:
        trial = Steps(raised=steps.raised)
        try:
            prove_it(trial, pair, point)
        except NotCertified as error:
            refusal = error
            continue
        tries.append(trial)
        epsilon, delta = _claimed(trial)
        wanted, proved = (point.epsilon, epsilon) if point.moves else (point.delta, delta)
        if proved <= wanted * (1 + _NEAR):
            break
    if not tries:
        raise refusal
    steps.listed.extend(min(tries, key=_claimed).listed)


def _claimed(trial: Steps) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta that a trial proves."""
    said = trial.listed[-1].conclusion
    epsilon, delta = (Fraction(str(said[name])) for name in ("epsilon", "delta"))
    return epsilon, delta


def _prove_pure(steps: Steps, pair: DominatingPair[Any], point: Point) -> None:
    """Prove a point by the pure DP of a selection from a pure base."""
    runs = law_of(dict(pair.derivation.parameters))
    selected = _selected_pure(pair, runs) if runs.corner_is_worst else None
    if selected is not None:
        least = max(floats_around(selected.stated_epsilon)[1], point.epsilon)
        if point.moves or least == point.epsilon:
            _prove_stated(steps, selected, Point(least, point.delta, moves=False))
            return
    raise NotCertified(
        f"no pure epsilon is known of {pair.derivation.statement}; ask at a delta above 0"
    )


def _selected_pure(pair: DominatingPair[Any], runs: RunLaw) -> PureDP[Any] | None:
    """Return the selection's pure DP, stated or by the base's largest loss, else None."""
    base, *stated = (one.conclusion for one in pair.derivation.premises)
    for one in stated:
        if isinstance(one, PureDP):
            return one
    if pair.derivation.rule != "select/pair" or not isinstance(base, DominatingPair):
        return None
    with contextlib.suppress(NotImplied):
        return select_pure(pair_to_pure(base), runs)
    return None


def _prove_by_selection_bound(steps: Steps, pair: DominatingPair[Any], point: Point) -> None:
    """Prove a point by the checker's bound of a selection alone."""
    base = pair.derivation.premises[0]
    if not isinstance(base.conclusion, DominatingPair):
        raise NotCertified(unsaid(f"a selection from {base.statement}"))
    used = with_logistic(base.conclusion)
    for product in distinct(used):
        factors(product)  # what no rule covers is refused before its profile is bounded
    epsilon, delta, facts, witness = prove_by_shifted_mixture(
        used, law_of(dict(pair.derivation.parameters)), point
    )
    place, apart = steps.derive(base)
    profile = PrivacyProfile(points=((epsilon, delta),), relation=pair.relation)
    places = steps.facts(facts)
    place = steps.add("select/profile", conclusion(profile, apart), [place, *places], witness)
    claim = ApproxDP(epsilon=epsilon, delta=delta, relation=pair.relation)
    steps.add("convert/point", conclusion(claim, apart), [place], {})


def _prove_stated(steps: Steps, guarantee: PairGuarantee[Any], point: Point) -> None:
    """Prove a point by the statement."""
    place, apart = steps.derive(guarantee.derivation)
    claim = ApproxDP(
        epsilon=Fraction(point.epsilon), delta=Fraction(point.delta), relation=guarantee.relation
    )
    steps.add("convert/point", conclusion(claim, apart), [place], {})


_SELECTIONS: Final = ("select/pair", "select/above")
# Orders that a theorem may need besides. Heuristic.
_OTHERS: Final = tuple(1 + Fraction(2) ** k for k in range(-4, 13))


def has_selections(derivation: Derivation) -> bool:
    """Return whether a pair depends on a selection that is known by its pair."""
    return any(node.rule in _SELECTIONS for node in derivation.everything())


def as_renyi(derivation: Derivation, orders: list[Fraction]) -> RDP[Any]:
    """Return the same computation by Renyi divergences at some orders."""
    conclusion, parameters = derivation.conclusion, dict(derivation.parameters)
    if not isinstance(conclusion, Guarantee):
        raise NotCertified(unsaid(derivation.rule))
    if not has_selections(derivation):
        return notion_to_rdp(conclusion, orders=orders)
    if derivation.rule == "select/pair":
        base = as_renyi(derivation.premises[0], sorted({*orders, *_OTHERS}))
        return select_rdp(base, law_of(parameters))
    parts = [as_renyi(one, orders) for one in derivation.premises]
    match derivation.rule:
        case "compose/pair":
            return composition.compose_rdp(parts, orders=orders)
        case "repeat/pair":
            return composition.compose_rdp(
                [composition.self_compose(parts[0], int(str(parameters["count"])))], orders=orders
            )
        case "post-process":
            return composition.post_process(parts[0], description=str(parameters["description"]))
        case "map-records":
            return composition.map_records(parts[0], description=str(parameters["description"]))
        case _:
            raise NotCertified(
                f"Renyi divergences through {derivation.rule} of a selection are not certified; "
                f"{UNCERTIFIED}"
            )


# Relative room for the rounding of a true-positive rate. Heuristic: the checker decides.
_POWER_ROOM: Final = Fraction(1, 2**40)
_NEGLIGIBLE: Final = 1e-9  # Share of a rate below which a delta need not be proved. Heuristic.
_REFINEMENTS: Final = 8  # Refinements of the search for an epsilon. Heuristic.
_GRID_POINTS: Final = 25  # Points in each refinement. Heuristic.
# Relative slacks of a power, tried in this order. Heuristic.
_SLACKS: Final = (2.0**-36, 2.0**-30, 2.0**-26, 2.0**-22)


def prove_true_positive_rate(steps: Steps, guarantee: Guarantee[Any], rate: float) -> None:
    """Add the steps that bound P(S) of every event S with Q(S) at most a rate.

    P(S) <= e^eps a + delta(eps) and P(S) <= 1 - (1 - a - delta(eps)) e^-eps at every eps >= 0, and
    the least of all is the trade-off (Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12).
    """
    if isinstance(guarantee, PairGuarantee):  # its proof uses each pair in its own order alone
        ways = distinct(guarantee.to_pair())
        most = max(answers.true_positive_rate(product, rate).upper for product in ways)
    else:
        most = guarantee.true_positive_rate(false_positive_rate=rate).upper
    if isinstance(guarantee, RenyiGuarantee) and _by_order(steps, guarantee, rate, most):
        return

    def by_event(epsilon: Reals) -> Reals:
        return np.asarray(np.exp(epsilon) * rate + _deltas(guarantee, epsilon))

    def by_rest(epsilon: Reals) -> Reals:
        missed = (rate + _deltas(guarantee, epsilon)) * np.exp(-epsilon)
        return np.asarray(missed - np.expm1(-epsilon))

    tried = [
        _minimum(by_event, -math.log(max(rate, 1e-300))),
        _minimum(by_rest, -math.log(max(1.0 - most, 1e-16))),
    ]
    bound, epsilon = min(tried)
    if not bound < 1.0:
        raise NotCertified(
            f"the true-positive rate at a false-positive rate of {rate:.6g} has no proved bound "
            "below 1, so there is nothing to certify; ask at a smaller rate"
        )
    least = max(guarantee.delta(epsilon=epsilon).upper, bound * _NEGLIGIBLE)
    delta = _proved_delta(steps, guarantee, Point(epsilon, least, moves=False))
    exact, other = Fraction(math.exp(epsilon)), Fraction(math.exp(-epsilon))
    power = min(exact * Fraction(rate) + delta, 1 - (1 - Fraction(rate) - delta) * other)
    shown = min(Fraction(float_up(power * (1 + _POWER_ROOM))), Fraction(1))
    said = {**_rates(Fraction(rate), shown), **_about(steps)}
    steps.add("convert/approx-true-positive-rate", said, [len(steps.listed) - 1], {})


def prove_advantage(steps: Steps, guarantee: Guarantee[Any]) -> None:
    """Add the steps that bound P(S) - Q(S) of every event: delta at epsilon = 0."""
    delta = _proved_delta(steps, guarantee, Point(0.0, guarantee.advantage().upper, moves=False))
    said: Object = {"notion": "advantage", "advantage": show_rational(delta), **_about(steps)}
    steps.add("convert/approx-advantage", said, [len(steps.listed) - 1], {})


def _by_order(steps: Steps, guarantee: RenyiGuarantee[Any], rate: float, most: float) -> bool:
    """Add the steps by an order that excludes a power just above the known; return if any."""
    for slack in _SLACKS:
        power = most * (1.0 + slack)
        order = single_number.power_order(guarantee, rate, power)
        if order is not None:
            place, _ = steps.derive(guarantee.derivation)
            said = {**_rates(Fraction(rate), Fraction(power)), **_about(steps, place)}
            hint: Object = {"order": show_rational(order)}
            steps.add("convert/renyi-true-positive-rate", said, [place], hint)
            return True
    return False


def _proved_delta(steps: Steps, guarantee: Guarantee[Any], point: Point) -> Fraction:
    """Prove a point, and return the delta that was proved."""
    prove_point(steps, guarantee, point)
    return Fraction(str(steps.listed[-1].conclusion["delta"]))


def _rates(false: Fraction, true: Fraction) -> Object:
    """Return both rates in the certificate's JSON."""
    return {
        "notion": "true-positive-rate",
        "false_positive_rate": show_rational(false),
        "true_positive_rate": show_rational(true),
    }


def _about(steps: Steps, place: int = -1) -> Object:
    """Return the relation and the distance of the datasets that a step compares."""
    before = steps.listed[place].conclusion
    return {name: before[name] for name in ("relation", "steps")}


def _deltas(guarantee: Guarantee[Any], epsilon: Reals) -> Reals:
    """Return upper ends of delta, for a pair all computed together."""
    if not isinstance(guarantee, PairGuarantee):
        return np.array([guarantee.delta(epsilon=one).upper for one in epsilon.tolist()])
    ends = [deltas(product, epsilon)[1] for product in distinct(guarantee.to_pair())]
    return np.asarray(np.max(ends, axis=0))


def _minimum(bound: Callable[[Reals], Reals], end: float) -> tuple[float, float]:
    """Return the least value of a function with one minimum on [0, end], and its place."""
    left, right = 0.0, end
    for _ in range(_REFINEMENTS):
        x = np.linspace(left, right, _GRID_POINTS)
        values = bound(x)
        at = int(np.argmin(values))
        left, right = float(x[max(at - 1, 0)]), float(x[min(at + 1, _GRID_POINTS - 1)])
    return float(values[at]), float(x[at])
