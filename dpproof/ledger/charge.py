"""The cost of a guarantee in each way of spending and in each budget, with its certificate."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Final, cast, final

from dpproof.accountant import GDP, ZCDP, ApproxDP, Guarantee, PureDP, convert
from dpproof.accountant.adaptive.privacy_filter import divergence_cost
from dpproof.accountant.errors import NotCertified, NotImplied, PrivacyError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.theorems.conversion import notion_to_rdp
from dpproof.ledger import budget
from dpproof.ledger.budget import ALONE, BITS, Costs, State, rounded_up
from dpproof.proofs.certificate import read_rational, show_rational
from dpproof.proofs.core.errors import CertificateError

PARTS: Final = 16  # of the delta of sums, one a spend that does not state its own
_LARGE: Final = 1024  # an order at which the divergence over the order is near rho


@final
@dataclass(frozen=True, slots=True)
class Charge:
    """A cost in one way."""

    costs: Costs  # exactly what is taken from the budget
    # A certificate whose claim has the same numbers, as text; "" if no rule covers it.
    proof: str = ""
    reason: str = ""  # why there is no certificate


def charge(
    state: State,  # the budget, divided among its ways
    way: str,  # one of ``budget.ways(state)``
    guarantee: Guarantee[Any],  # of what runs
    delta: Fraction | None,
    memory: dict[str, Any],
) -> Charge | None:
    """Return what a guarantee costs in one way; None if it says nothing or costs too much there.

    Without a delta it is charged at a sixteenth of what the basic way has, or half of what is left,
    and all of that if it is not enough. The memory keeps what does not depend on what is left.
    """
    if way == "basic":
        if "pure" not in memory:
            memory["pure"] = _pure(guarantee)
        if memory["pure"] is not None and delta in (None, 0):
            return cast("Charge", memory["pure"])
        try:
            return _basic(state, guarantee, delta, memory.setdefault("basic", {}))
        except NotCertified:
            return None
    order = budget.order_of(state, way)
    if order is not None:
        return _at_order(state, order, guarantee, memory)
    if way not in memory:
        memory[way] = None
        with contextlib.suppress(NotImplied, NotCertified):
            memory[way] = (_zcdp if way == "zcdp" else _gdp)(state, guarantee)
    remembered: Charge | None = memory[way]
    return remembered


def _zcdp(state: State, guarantee: Guarantee[Any]) -> Charge | None:
    # A long training takes long to convert, and its divergence at one large order mostly tells
    # that rho, which is no less than it over the order, is more than any share of delta allows.
    if state["goal"]["notion"] == "approx-dp" and isinstance(guarantee, DominatingPair):
        most = read_rational(state["goal"]["epsilon"]) + 1
        if guarantee.rdp(order=_LARGE).lower > _LARGE * most:
            return None
    concentrated = convert(guarantee, to=ZCDP)
    return _proved(concentrated, {}, lambda: (concentrated.rho,))


def _at_order(
    state: State, order: Fraction, guarantee: Guarantee[Any], memory: dict[str, Any]
) -> Charge | None:
    """Return what a guarantee costs at one order; one certificate says it of all orders.

    What costs more than epsilon is no cost: no budget of divergences is above it.
    """
    by_order: dict[Fraction, Charge | None] = memory.setdefault("renyi", {})
    if order not in by_order:
        listed = [budget.order_of(state, way) for way in budget.ways(state)]
        orders = [one for one in listed if one is not None and one not in by_order]
        by_order.update(dict.fromkeys(orders))
        by_order.update(_divergences(guarantee, orders, read_rational(state["goal"]["epsilon"])))
    return by_order[order]


def _divergences(
    guarantee: Guarantee[Any], orders: list[Fraction], most: Fraction
) -> dict[Fraction, Charge]:
    """Return costs at those orders at which they are at most what is said."""
    values = {}
    for order in orders:
        with contextlib.suppress(NotImplied, NotCertified):
            values[order] = divergence_cost(guarantee, order)
    values = {order: value for order, value in values.items() if value <= most}
    if not values:
        return {}
    try:
        certificate = notion_to_rdp(guarantee, orders=[*values]).certify()
        claim, text = certificate.claim, certificate.to_json()
        proved = {order: tuple(map(short, proved_costs(claim, order))) for order in values}
        return {order: Charge(costs, text) for order, costs in proved.items()}
    except (PrivacyError, CertificateError) as refusal:
        reason = " ".join(str(refusal).split())
    return {order: Charge((short(value),), "", reason) for order, value in values.items()}


def _pure(guarantee: Guarantee[Any]) -> Charge | None:
    """Return the cost of what has no delta; None if it has one."""
    if isinstance(guarantee, ApproxDP) or (isinstance(guarantee, GDP) and guarantee.mu_squared):
        return None
    try:
        pure = convert(guarantee, to=PureDP)
    except (NotImplied, NotCertified):
        return None
    return _proved(pure, {}, lambda: (pure.stated_epsilon, Fraction(0)))


def _gdp(state: State, guarantee: Guarantee[Any]) -> Charge | None:
    # Among other ways only what is Gaussian is worth it: conversions to mu of a long training
    # take seconds, and the others cost less in zCDP.
    if state["goal"]["notion"] != "gdp" and not isinstance(guarantee, GDP):
        return None
    gaussian = convert(guarantee, to=GDP)
    return _proved(gaussian, {}, lambda: (gaussian.mu_squared,))


def _basic(
    state: State,
    guarantee: Guarantee[Any],
    delta: Fraction | None,
    proved: dict[Fraction, Charge | None],
) -> Charge | None:
    if isinstance(guarantee, ApproxDP):
        point = (guarantee.stated_epsilon, guarantee.stated_delta)
        return _proved(guarantee, {}, lambda: point)
    left = budget.left(state, "basic")
    if delta == 0 or left[1] == 0:
        return None
    tried, part = None, _power_of_two(budget.numbers(state["limits"]["basic"])[1] / PARTS)
    if part > left[1] / 2:  # until then one proof serves every spend of the same guarantee
        part = _power_of_two(left[1] / 2)
    for at in (part, left[1]) if delta is None else (delta,):
        if at not in proved:
            proved[at] = _proved(guarantee, {"delta": at}, partial(_computed, guarantee, at))
        price = proved[at]
        tried = price or tried
        if price is not None and price.costs[0] <= left[0]:
            break
    return tried


def _computed(guarantee: Guarantee[Any], delta: Fraction) -> Costs | None:
    """Return the cost at a delta, None if it is infinite."""
    upper = guarantee.epsilon(delta=delta).upper
    return None if math.isinf(upper) else (Fraction(upper), delta)


def _proved(
    guarantee: Guarantee[Any], question: Mapping[str, Any], computed: Callable[[], Costs | None]
) -> Charge | None:
    """Return what a certificate proves, and without one what is computed; None if that is None."""
    try:
        certificate = guarantee.certify(**question)
        costs = tuple(map(short, proved_costs(certificate.claim)))
        return Charge(costs, certificate.to_json())
    except (PrivacyError, CertificateError) as refusal:
        reason = " ".join(str(refusal).split())
    costs_computed = computed()
    if costs_computed is None:
        return None
    return Charge(tuple(map(short, costs_computed)), "", reason)


def proved_costs(claim: Mapping[str, Any], order: Fraction | None = None) -> Costs:
    """Return the numbers of the claim of a certificate, in the order of a budget."""
    match claim:
        case {"notion": "rdp", "points": points} if order is not None:
            for at, value in points:
                if read_rational(at) == order:
                    return (read_rational(value),)
            raise CertificateError(f"a claim about other orders than {show_rational(order)}")
        case {"notion": "pure-dp", "epsilon": epsilon}:
            return read_rational(epsilon), Fraction(0)
        case {"notion": "approx-dp", "epsilon": epsilon, "delta": delta}:
            return read_rational(epsilon), read_rational(delta)
        case {"notion": "zcdp", "rho": rho}:
            return (read_rational(rho),)
        case {"notion": "gdp", "mu_squared": squared}:
            return (read_rational(squared),)
        case _:
            raise CertificateError(f"a claim in the notion {claim.get('notion')}")


def short(cost: Fraction) -> Fraction:
    """Return a cost, rounded up if it has more digits than sums of many should carry."""
    return cost if cost.denominator.bit_length() <= BITS else rounded_up(cost)


def _power_of_two(number: Fraction) -> Fraction:
    """Return the largest power of two at or below a number above 0, so that sums stay short."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    power = Fraction(2) ** exponent
    return power if power <= number else power / 2


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Costs of one spend in one budget, by way."""

    # The budget, divided among ways for its first spend; None where it was before.
    divided: State | None
    # The cost of the spend in each way that was open; None where it does not carry it.
    charges: Mapping[str, Charge | None] = field(default_factory=dict)

    def speaks_of(self, state: State) -> bool:
        """Return whether the plan has a cost, or none, for every open way.

        A plan without one would close that way.
        """
        open_ = (way for way in state["limits"] or () if budget.alive(state, way))
        return all(way in self.charges for way in open_)

    def apply(self, state: State) -> tuple[State, dict[str, Any]] | None:
        """Return the budget after the spend and what was taken by way; None if over the budget."""
        if state["limits"] is None:
            if self.divided is None or budget.now(self.divided) != budget.now(state):
                return None
            state = {**self.divided, "spent": state["spent"], "refused": state["refused"]}
        costs: dict[str, Costs | None] = {
            way: None if price is None else budget.addable(state, way, price.costs)
            for way, price in self.charges.items()
        }
        return budget.charged(state, costs)


def planned(
    state: State, guarantee: Guarantee[Any], delta: Fraction | None, memory: dict[str, Any]
) -> Plan:
    """Return what a spend costs in one budget.

    The first spend of a budget of (epsilon, delta) divides delta among the ways that admit it
    with their share: it is chosen before any output, so that the shares may depend on it.
    """
    if state["limits"] is not None:
        return Plan(None, _charges(state, guarantee, delta, memory))
    chosen, plan, late = budget.ways(state), Plan(None), {"basic"}
    while chosen:  # sums of (epsilon, delta) cost a proof at each share, so they come last
        divided = budget.divided(state, chosen)
        plan = Plan(divided, _charges(divided, guarantee, delta, memory, late))
        admitted = late | _admitting(plan)
        if admitted.issuperset(chosen):
            if not late:
                return plan
            late = set()
        chosen = tuple(way for way in chosen if way in admitted)
    for way in ALONE:
        divided = budget.divided(state, (way,))
        alone = Plan(divided, _charges(divided, guarantee, delta, memory))
        if _admitting(alone):
            return alone
    return plan


def _charges(
    state: State,
    guarantee: Guarantee[Any],
    delta: Fraction | None,
    memory: dict[str, Any],
    but: Collection[str] = (),
) -> dict[str, Charge | None]:
    """Return costs in the ways that are open, but for some."""
    return {
        way: charge(state, way, guarantee, delta, memory)
        for way in state["limits"]
        if way not in but and budget.alive(state, way)
    }


def _admitting(plan: Plan) -> set[str]:
    """Return the ways that admit the first spend of a budget."""
    done = plan.apply(plan.divided) if plan.divided is not None else None
    return set() if done is None else {way for way, cost in done[1].items() if cost is not None}
