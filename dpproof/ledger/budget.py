"""Budgets as a ledger keeps them: a notion, the ways it may be spent in, and what is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, Guarantee, PrivacyFilter, PureDP
from dpproof.accountant.adaptive import several_filters as filters
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import RELATIONS, Relation
from dpproof.proofs.core.certificate import read_rational, show_rational

Costs: TypeAlias = tuple[Fraction, ...]
State: TypeAlias = dict[str, Any]
"""One budget as JSON: ``goal``, ``limits`` and ``spent`` by way, ``refused`` by way."""

NOTIONS: Final = "PureDP, ApproxDP, ZCDP, GDP or RDP at one order"
ALONE: Final = ("basic", "zcdp", "gdp")
# Of denominators, of one cost and of sums of many: how much of a budget is given away at most, and
# that sums can be written down. Not soundness: costs are rounded up.
BITS: Final = 256
SUM_BITS: Final = 768


def opened(budget: Guarantee[Any] | PrivacyFilter[Any]) -> State:
    """Return a budget with nothing spent.

    Raises:
        ParameterError: a notion that no filter spends, or a filter that was spent from.
    """
    if isinstance(budget, PrivacyFilter):
        if any(budget._spent):  # noqa: SLF001  # a filter that was spent from says nothing of how
            raise ParameterError("budget", budget, "a filter from which nothing was spent")
        budget = budget.guarantee()
    goal: dict[str, Any]
    limits: dict[str, Costs] | None
    match budget:
        case PureDP(stated_epsilon=epsilon):
            goal, limits = (
                {"notion": "pure-dp", "epsilon": epsilon},
                {"basic": (epsilon, Fraction(0))},
            )
        case ApproxDP():
            goal = {"notion": "approx-dp", "epsilon": budget.stated_epsilon}
            goal["delta"] = budget.stated_delta
            limits = None
        case ZCDP(rho=rho):
            goal, limits = {"notion": "zcdp", "rho": rho}, {"zcdp": (rho,)}
        case GDP(mu_squared=squared):
            goal, limits = {"notion": "gdp", "mu_squared": squared}, {"gdp": (squared,)}
        case RDP(points=((order, value),)):
            goal = {"notion": "rdp", "order": order, "epsilon": value}
            limits = {"renyi": (value,)}
        case _:
            raise ParameterError("budget", budget, f"a guarantee in the notion {NOTIONS}")
    if budget.derivation.apart != 1:
        raise ParameterError("budget", budget, "about neighbours one step apart")
    return {
        "goal": {name: _text(value) for name, value in goal.items()},
        "limits": None if limits is None else listed(limits),
        "spent": {},
        "refused": {},
    }


def goal(state: State, relation: Relation) -> Guarantee[Relation]:
    """Return what everything that the budget admits satisfies together."""
    given = {name: read_rational(text) for name, text in state["goal"].items() if name != "notion"}
    match state["goal"]["notion"]:
        case "pure-dp":
            return PureDP(epsilon=given["epsilon"], relation=relation)
        case "approx-dp":
            limits = state["limits"]
            budgets = limits and {way: numbers(limit) for way, limit in limits.items()}
            return filters.several_filters(**given, relation=relation, budgets=budgets)
        case "zcdp":
            return ZCDP(rho=given["rho"], relation=relation)
        case "gdp":
            return GDP(mu_squared=given["mu_squared"], relation=relation)
        case _:
            return RDP(points=((given["order"], given["epsilon"]),), relation=relation)


def ways(state: State) -> tuple[str, ...]:
    """Return the ways in which a budget may be spent, Renyi orders last and in their order."""
    if state["limits"] is not None:
        return tuple(sorted(state["limits"], key=lambda way: order_of(state, way) or 0))
    return filters.ways(**_stated(state))


def _stated(state: State) -> dict[str, Fraction]:
    """Return the epsilon and the delta of a budget that is divided among ways."""
    return {name: read_rational(state["goal"][name]) for name in ("epsilon", "delta")}


def order_of(state: State, way: str) -> Fraction | None:
    """Return the Renyi order of a way of spending; None if it has none."""
    if way == "renyi":
        return read_rational(state["goal"]["order"])
    order = filters.order_of(way)
    return None if order is None else Fraction(order)


def divided(state: State, chosen: tuple[str, ...]) -> State:
    """Return a budget of (epsilon, delta), from which nothing was spent, divided among ways."""
    return {**state, "limits": listed(filters.limits(**_stated(state), ways=chosen))}


def divided_as(state: State, listing: Mapping[str, list[str]]) -> State:
    """Return a budget of (epsilon, delta) divided as an entry says, if that is proved.

    Raises:
        ValueError: what the ways are given is not proved to be within (epsilon, delta).
    """
    limits = {way: numbers(limit) for way, limit in listing.items()}
    if not filters.within(limits, **_stated(state)):
        raise ValueError("the limits are more than the budget")
    return {**state, "limits": dict(listing)}


def left(state: State, way: str) -> Costs:
    """Return what is left in one way; what was refused there is not counted."""
    limit = numbers(state["limits"][way])
    return tuple(a - b for a, b in zip(limit, spent(state, way), strict=True))


def spent(state: State, way: str) -> Costs:
    """Return what is spent in one way."""
    limit = state["limits"][way]
    return numbers(state["spent"].get(way, ["0"] * len(limit)))


def alive(state: State, way: str) -> bool:
    """Return whether one way has admitted everything that was spent."""
    return int(state["refused"].get(way, 0)) == 0


def closed(before: State, after: State) -> tuple[str, ...]:
    """Return the ways that a spend has closed: those that it divided no share to as well."""
    return tuple(
        way
        for way in ways(before)
        if alive(before, way) and not (way in after["limits"] and alive(after, way))
    )


def charged(state: State, costs: Mapping[str, Costs | None]) -> tuple[State, dict[str, Any]] | None:
    """Return the budget after a spend, and what it was charged by way; None if over the budget.

    A way that does not carry the spend, or has less left, counts a refusal: it is no longer of
    use, unless the spend is released.
    """
    after: State = {**state, "spent": {**state["spent"]}, "refused": {**state["refused"]}}
    taken: dict[str, Any] = {}
    for way in state["limits"]:
        cost = costs.get(way)
        if cost is not None and all(
            one <= rest for one, rest in zip(cost, left(state, way), strict=True)
        ):
            sums = zip(spent(state, way), cost, strict=True)
            after["spent"][way] = [show_rational(a + b) for a, b in sums]
            taken[way] = [show_rational(one) for one in cost]
        else:
            after["refused"][way] = after["refused"].get(way, 0) + 1
            taken[way] = None
    return (after, taken) if any(alive(after, way) for way in state["limits"]) else None


def addable(state: State, way: str, cost: Costs) -> Costs:
    """Return a cost, rounded up where its sum with what is spent has too long a denominator.

    Different denominators multiply in sums; once a sum is long, costs are multiples of 2^-256.
    """
    return tuple(
        one
        if math.lcm(one.denominator, sum_.denominator).bit_length() <= SUM_BITS
        else rounded_up(one)
        for one, sum_ in zip(cost, spent(state, way), strict=True)
    )


def rounded_up(cost: Fraction) -> Fraction:
    """Return the least multiple of 2^-256 that is no less."""
    return Fraction(math.ceil(cost * 2**BITS), 2**BITS)


def returned(state: State, taken: Mapping[str, Any]) -> State:
    """Return the budget without a spend that is released."""
    after: State = {**state, "spent": {**state["spent"]}, "refused": {**state["refused"]}}
    for way, cost in taken.items():
        if cost is None:
            after["refused"][way] -= 1
        else:
            sums = zip(spent(state, way), numbers(cost), strict=True)
            after["spent"][way] = [show_rational(a - b) for a, b in sums]
    return after


def numbers(texts: list[str]) -> Costs:
    """Return exact rationals from their texts."""
    return tuple(read_rational(text) for text in texts)


def listed(limit: Mapping[str, Costs]) -> dict[str, list[str]]:
    """Return costs by way as JSON."""
    return {way: [show_rational(one) for one in costs] for way, costs in limit.items()}


def relation_named(name: str) -> Relation:
    """Return the relation of a name."""
    return {relation.name: relation for relation in RELATIONS}[name]


def _text(value: object) -> str:
    return show_rational(value) if isinstance(value, Fraction) else str(value)
