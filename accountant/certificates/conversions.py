"""Prove conversions inside a derivation whose numbers come from the checker's sums.

A theorem like ``notion_to_approx`` states the engine's upper end. A proof of the checker may need a
little more, so the certificate has a conversion to slightly larger numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

from dpproof.accountant.certificates import single_number
from dpproof.accountant.certificates.base_profile import moved_to, with_logistic
from dpproof.accountant.certificates.choose import ALIKE, Point, distinct, facts, prove
from dpproof.accountant.certificates.finite_sums import ClosedForm, has_closed_profile
from dpproof.accountant.certificates.serialize import Object, conclusion, points, unsaid
from dpproof.accountant.engine.profile import closed_form
from dpproof.accountant.errors import NotCertified, NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import (
    GDP,
    DominatingPair,
    FaithfulPairGuarantee,
    PairGuarantee,
    Points,
    chained,
    shortened,
    symmetric,
    value_at,
)
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, RenyiGuarantee
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.theorems.conversion import pair_to_gdp, pair_to_zcdp
from dpproof.proofs.certificate import Step, show_rational


@final
@dataclass(frozen=True, slots=True)
class ProvedGuarantee:
    """A guarantee with the steps that prove it."""

    guarantee: Guarantee[Any]  # the proved guarantee
    premise: Guarantee[Any]  # from what
    # Distance of the premise's datasets -> steps, the last of which concludes; premise 0 stands for
    # the premise, k for the k-th of these steps.
    steps: Callable[[int], Sequence[Step]]
    size: int = 1  # factor by which the conclusion's datasets are further apart


# Bits of the slack by which the last curve is lowered, tried in this order. Heuristic.
_BITS: Final = (140, 100, 60, 40)
# Most points of the curves in the chain, to bound the time. Exceeding it raises.
_MOST_POINTS: Final = 1_000


def to_group(node: Derivation, premise: Guarantee[Any]) -> ProvedGuarantee | None:
    """Prove the curve of a group, lowered a little, by doubling and adding.

    The curve made of two rounded ones is not exactly its own inverse, as the library's curves are:
    the last is the larger of both, lowered by more than they differ.
    """
    if not isinstance(premise, TradeOff):
        return None
    size = int(str(dict(node.parameters)["size"]))
    links = _links(size)
    curves, apart = [premise.points], [1]
    for first, second in links:
        curves.append(chained(curves[first], curves[second]))
        apart.append(apart[first] + apart[second])
        if len(curves[-1]) > _MOST_POINTS:
            raise NotCertified(
                f"the trade-off curve of a group of {size} has more than {_MOST_POINTS} corners; "
                "certify a smaller group, or one of PureDP, GDP or ZCDP"
            )
    lowered = next(
        (one for bits in _BITS if _below(one := _lowered(curves[-1], bits), curves[-1])), None
    )
    if lowered is None:
        raise NotCertified(
            f"roundings add up in the trade-off curve of a group of {size}; certify a smaller "
            "group, or one of PureDP, GDP or ZCDP"
        )
    claim = TradeOff(
        points=lowered,
        relation=premise.relation,
        derivation=replace(node, premises=(premise.derivation,)),
    )

    def steps(base: int) -> Sequence[Step]:
        said: list[Object] = [
            {**conclusion(premise, base * count), "points": points(curve)}
            for curve, count in zip(curves[1:-1], apart[1:-1], strict=True)
        ]
        last = conclusion(claim, base * size)
        return [
            Step(rule="group/trade-off", premises=link, witness={}, conclusion=one)
            for link, one in zip(links, [*said, last], strict=True)
        ]

    return ProvedGuarantee(claim, premise, steps, size)


def _lowered(curve: Points, bits: int) -> Points:
    """Return the larger of a curve and its inverse, corners without a coordinate 1 lowered."""
    share = 1 - Fraction(1, 1 << bits)
    corners = symmetric(curve)
    return shortened([(x, y) if 1 in {x, y} else (x * share, y * share) for x, y in corners])


def _below(curve: Points, limit: Points) -> bool:
    """Return whether one convex polygon is at or below another."""
    return all(value_at(curve, x) <= y for x, y in limit)


def _links(size: int) -> list[tuple[int, int]]:
    """Return for each curve the two that it is made of; curve 0 is one step, the last ``size``."""
    links: list[tuple[int, int]] = []
    for digit in f"{size:b}"[1:]:
        links.append((len(links), len(links)))
        if digit == "1":
            links.append((0, len(links)))
    return links


# Relative slack of a line that serves many points. Heuristic.
_CLOSE: Final = 1 + Fraction(1, 10**6)

# A bound proved in place of a delta of 0 if interval arithmetic cannot decide. Heuristic.
_NOTHING: Final = Fraction(1, 2**300)


def to_approx(node: Derivation, premise: Guarantee[Any]) -> ProvedGuarantee | None:
    """Prove one point (epsilon, delta), its epsilon raised; return None if no rule applies."""
    stated = node.conclusion
    if not isinstance(stated, ApproxDP):
        return None
    relation, derivation = stated.relation, replace(node, premises=(premise.derivation,))

    def claim(epsilon: Fraction, delta: Fraction) -> ApproxDP[Any]:
        return ApproxDP(epsilon=epsilon, delta=delta, relation=relation, derivation=derivation)

    target = stated.stated_epsilon, stated.stated_delta
    point = Point(floats_around(target[0])[1], floats_around(target[1])[0], moves=True)
    if isinstance(premise, RenyiGuarantee):
        epsilon, delta, order = single_number.renyi_point(premise, point)
        witness: Object = {"order": show_rational(order)}
        return _proved_conversion(claim(epsilon, delta), premise, "renyi-approx", witness)
    if not isinstance(premise, PairGuarantee):
        return None
    if any(x <= target[0] and y <= target[1] for x, y in premise.stated_points()):
        return _proved_conversion(claim(*target), premise, "point", {})
    pair = premise.to_pair()
    used = with_logistic(pair)
    point = point if used is pair else moved_to(used, point)
    derivation = replace(node, premises=(pair.derivation,))
    epsilon, delta, facts = prove(distinct(used), point)
    return _proved_conversion(claim(epsilon, delta), pair, "pair-approx", {}, facts)


def to_profile(node: Derivation, premise: Guarantee[Any]) -> ProvedGuarantee | None:
    """Prove points of the profile, every delta raised a little; return None if no rule applies."""
    stated = node.conclusion
    if not isinstance(stated, PrivacyProfile):
        return None
    relation = stated.relation
    if isinstance(premise, RenyiGuarantee):
        points, orders = [], []
        for x, y in stated.points:
            point = single_number.renyi_point(
                premise, Point(floats_around(x)[0], float(y), moves=False)
            )
            points.append((x, point[1]))
            orders.append(show_rational(point[2]))
        derivation = replace(node, premises=(premise.derivation,))
        claim = PrivacyProfile(points=points, relation=relation, derivation=derivation)
        return _proved_conversion(claim, premise, "renyi-profile", {"orders": orders})
    if not isinstance(premise, PairGuarantee):
        return None
    pair = premise.to_pair()
    used, listed = with_logistic(pair), stated.points
    if any(isinstance(closed_form(one), AllocatedGaussianPair) for one in distinct(used)):
        listed = listed[: sum(y > ALIKE for _, y in listed) + 1]
    places = {x: floats_around(x)[0] for x, _ in listed}
    heights = {places[x]: y for x, y in listed}
    if used is not pair:
        heights = {x: Fraction(used.delta(epsilon=x).upper) for x in heights}
    curves = [_curve(product, heights) for product in distinct(used)]
    points = [(x, max(curve[0][places[x]] for curve in curves)) for x, _ in listed]
    derivation = replace(node, premises=(pair.derivation,))
    claim = PrivacyProfile(points=points, relation=relation, derivation=derivation)
    return _proved_conversion(
        claim, pair, "pair-profile", {}, [step for _, steps in curves for step in steps]
    )


def to_rdp(node: Derivation, premise: Guarantee[Any]) -> ProvedGuarantee | None:
    """Prove Renyi points of samples by the checker's tables, of bounded ranges as logistic pairs.

    Points at orders too large for its quadratures are left out; None if no number changes.
    """
    stated = node.conclusion
    if not isinstance(stated, RDP) or not isinstance(premise, FaithfulPairGuarantee):
        return None
    pair = premise.to_pair()
    listed = [order for order, _ in stated.points]
    orders = listed[: bisect_left(listed, True, key=lambda order: not _is_short(pair, order))]
    used = with_logistic(pair)
    tables = any(map(single_number.has_tables, distinct(used)))
    if not orders or (orders == listed and not tables and used == pair):
        return None
    derivation = replace(node, premises=(pair.derivation,))
    if tables:
        points = single_number.tabulated_points(used, orders)
    elif used != pair:
        points = [(a, single_number.with_room(used.rdp(order=a).upper)) for a in orders]
    else:
        points = list(stated.points[: len(orders)])
    claim = RDP(points=points, relation=stated.relation, derivation=derivation)
    return _proved_conversion(claim, pair, "pair-rdp", single_number.rdp_witness(used, orders))


def _is_short(pair: DominatingPair[Any], order: Fraction) -> bool:
    """Return whether the quadrature needed at this order stays within the checker's node limit."""
    try:
        single_number.rdp_witness(pair, [order])
    except NotCertified:
        return False
    return True


def to_gdp(node: Derivation, premise: Guarantee[Any]) -> ProvedGuarantee | None:
    """Prove mu of a product without a closed profile by points of it; return None otherwise.

    Composed bounded ranges are logistic pairs to it, whose mu may be larger.
    """
    stated = node.conclusion
    if not isinstance(stated, GDP) or not isinstance(premise, PairGuarantee):
        return None
    own, target = premise.to_pair(), stated
    pair = with_logistic(own)
    derivation = replace(node, premises=(own.derivation,))
    if pair is not own:
        target = pair_to_gdp(pair)
    if not single_number.needs_points(pair, target.mu_squared):
        if pair is own:
            return None
        claim = GDP(mu=target.mu, relation=stated.relation, derivation=derivation)
        witness = single_number.gdp_witness(pair, float(target.mu), target.mu_squared)
        return _proved_conversion(claim, own, "pair-gdp", witness)
    mu, points, facts = single_number.smallest_mu(pair, float(target.mu))
    claim = GDP(mu=Fraction(mu), relation=stated.relation, derivation=derivation)
    profile = PrivacyProfile(points=points, relation=stated.relation)
    shown = _proved_conversion(profile, own, "pair-profile", {}, facts)

    def steps(apart: int) -> list[Step]:
        said, before = conclusion(claim, apart), (len(facts) + 1,)
        last = Step(rule="convert/profile-gdp", conclusion=said, premises=before, witness={})
        return [*shown.steps(apart), last]

    return ProvedGuarantee(claim, own, steps)


def to_zcdp(node: Derivation, premise: Guarantee[Any]) -> ProvedGuarantee | None:
    """Prove rho of the logistic pairs in the place of composed bounded ranges, else None."""
    stated = node.conclusion
    if not isinstance(stated, ZCDP) or not isinstance(premise, PairGuarantee):
        return None
    own = premise.to_pair()
    pair = with_logistic(own)
    if pair is own:
        return None
    rho = pair_to_zcdp(pair).rho
    derivation = replace(node, premises=(own.derivation,))
    claim = ZCDP(rho=rho, relation=stated.relation, derivation=derivation)
    return _proved_conversion(claim, own, "pair-zcdp", single_number.zcdp_witness(pair, float(rho)))


RAISED_CONVERSIONS: Final[
    Mapping[str, Callable[[Derivation, Guarantee[Any]], ProvedGuarantee | None]]
] = {
    "convert/notion-approx": to_approx,
    "convert/notion-profile": to_profile,
    "convert/notion-rdp": to_rdp,
    "convert/pair-gdp": to_gdp,
    "convert/pair-zcdp": to_zcdp,
    "group/trade-off": to_group,
}
"""Theorems whose numbers are raised, or None if the number is exact or no rule is known."""


def _proved_conversion(
    claim: Guarantee[Any],
    premise: Guarantee[Any],
    rule: str,
    witness: Object,
    facts: Sequence[Step] = (),
) -> ProvedGuarantee:
    """Return the proof by the facts and one step from the premise and them."""
    places = tuple(range(len(facts) + 1))

    def steps(apart: int) -> list[Step]:
        said = conclusion(claim, apart)
        return [
            *facts,
            Step(rule=f"convert/{rule}", conclusion=said, premises=places, witness=witness),
        ]

    return ProvedGuarantee(claim, premise, steps)


def _curve(
    product: Product, heights: Mapping[float, Fraction]
) -> tuple[dict[float, Fraction], list[Step]]:
    """Return bounds of one direction's profile with facts: shared lines, then points alone."""
    points, steps, _ = facts(product, sorted(Fraction(x) for x in heights))
    alone = isinstance(closed_form(product), AllocatedGaussianPair)  # no line would be closer
    close = {float(x): y for x, y in points if alone or y <= heights[float(x)] * _CLOSE}
    among = 2 * max(len(heights) - len(close), 1)  # both directions share what lines leave
    for x, y in heights.items():
        if x not in close and not y and has_closed_profile(product):  # x is the largest loss
            close[x] = _NOTHING
            steps.append(ClosedForm(product).fact(((Fraction(x), _NOTHING),)))
        elif x not in close:
            point = Point(x, floats_around(y)[1], moves=False, among=among)
            _, close[x], more = prove([product], point)
            steps += more
    return close, steps


def raise_numbers(guarantee: Guarantee[Any]) -> tuple[Guarantee[Any], dict[int, ProvedGuarantee]]:
    """Return the guarantee rederived from raised numbers, and their proofs by id of derivation."""
    raised: dict[int, Guarantee[Any]] = {}
    shown: dict[int, ProvedGuarantee] = {}
    stack = [guarantee.derivation]
    while stack:
        node = stack[-1]
        missing = [one for one in node.premises if id(one) not in raised]
        if missing and id(node) not in raised:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if id(node) not in raised:
            one = _raise_node(node, [raised[id(one)] for one in node.premises], shown)
            raised[id(node)] = _with_label(one, node, shown)
    return raised[id(guarantee.derivation)], shown


def _with_label(
    one: Guarantee[Any], node: Derivation, shown: dict[int, ProvedGuarantee]
) -> Guarantee[Any]:
    """Return what is made of a derivation anew with the label that it had."""
    if not node.label or one.derivation.label == node.label:
        return one
    labelled = one.labelled(node.label)
    if id(one.derivation) in shown:
        shown[id(labelled.derivation)] = shown.pop(id(one.derivation))
    return labelled


def _raise_node(
    node: Derivation, premises: list[Guarantee[Any]], shown: dict[int, ProvedGuarantee]
) -> Guarantee[Any]:
    """Return the conclusion of one theorem for raised premises."""
    if not isinstance(node.conclusion, Guarantee):
        raise NotCertified(unsaid(node.rule))
    if node.rule in RAISED_CONVERSIONS:
        proof = RAISED_CONVERSIONS[node.rule](node, premises[0])
        if proof is not None:
            shown[id(proof.guarantee.derivation)] = proof
            return proof.guarantee
    same = zip(premises, node.premises, strict=True)
    if all(one.derivation is old for one, old in same):
        return node.conclusion
    return _apply_again(node, premises)


def _apply_again(node: Derivation, premises: list[Guarantee[Any]]) -> Guarantee[Any]:
    """Apply a theorem to other premises, with the parameters that it had."""
    if node.theorem.again is None:
        raise NotCertified(
            f"{node.rule} is not certified of numbers that come from a conversion; certify what "
            "it was applied to"
        )
    parameters = dict(node.parameters)
    if isinstance(node.conclusion, RDP):
        parameters["orders"] = [order for order, _ in node.conclusion.points]  # type: ignore[assignment]
    try:
        again: Guarantee[Any] = node.theorem.again(premises, parameters)
    except NotImplied as error:
        raise NotCertified(f"of a premise certificates know less: {error}") from error
    return again
