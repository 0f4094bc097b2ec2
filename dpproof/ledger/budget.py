"""Budgets as a ledger keeps them: a notion, the ways it may be spent in, and what is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, Guarantee, PrivacyFilter, PureDP
from dpproof.accountant.adaptive import several_filters as filters
from dpproof.accountant.errors import BudgetExceeded, ParameterError
from dpproof.accountant.relation import RELATIONS, AddRemove, Relation
from dpproof.proofs.certificate import read_rational, show_rational

Costs: TypeAlias = tuple[Fraction, ...]
State: TypeAlias = dict[str, Any]
"""One budget as JSON: ``goal``, ``limits`` and ``spent`` by way, ``refused`` by way.

``goal`` is the largest that it ever had. If it was changed: ``lowered``, the goal that the limits
keep now, ``proposed``, a larger one that waits for a second name, ``closed``, since when.
"""

NOTIONS: Final = "PureDP, ApproxDP, ZCDP, GDP or RDP at one order"
ALONE: Final = ("basic", "zcdp", "gdp")
# Of denominators, of one cost and of sums of many: how much of a budget is given away at most, and
# that sums can be written down. Not soundness: costs are rounded up.
BITS: Final = 256
SUM_BITS: Final = 768


def opened(budget: Guarantee[Any] | PrivacyFilter[Any]) -> State:
    """Return a budget with nothing spent."""
    if isinstance(budget, PrivacyFilter):
        if any(budget._spent):  # noqa: SLF001  # a filter that was spent from says nothing of how
            raise ParameterError("budget", budget, "a filter from which nothing was spent")
        budget = budget.guarantee()
    stated: dict[str, Any]
    match budget:
        case PureDP(stated_epsilon=epsilon):
            stated = {"notion": "pure-dp", "epsilon": epsilon}
        case ApproxDP():
            stated = {"notion": "approx-dp", "epsilon": budget.stated_epsilon}
            stated["delta"] = budget.stated_delta
        case ZCDP(rho=rho):
            stated = {"notion": "zcdp", "rho": rho}
        case GDP(mu_squared=squared):
            stated = {"notion": "gdp", "mu_squared": squared}
        case RDP(points=((order, value),)):
            stated = {"notion": "rdp", "order": order, "epsilon": value}
        case _:
            raise ParameterError("budget", budget, f"a guarantee in the notion {NOTIONS}")
    if budget.derivation.apart != 1:
        raise ParameterError("budget", budget, "about neighbours one step apart")
    texts = {name: _text(value) for name, value in stated.items()}
    state: State = {"goal": texts, "limits": _alone(texts), "spent": {}, "refused": {}}
    goal(state, budget.relation)  # which refuses what can be stated, and not spent
    return state


def _alone(goal: Mapping[str, str]) -> dict[str, list[str]] | None:
    """Return the limit of a budget that is spent in one way, None of one that is divided."""
    match goal["notion"]:
        case "pure-dp":
            return {"basic": [goal["epsilon"], "0"]}
        case "approx-dp":
            return None
        case "rdp":
            return {"renyi": [goal["epsilon"]]}
        case "zcdp":
            return {"zcdp": [goal["rho"]]}
        case _:
            return {"gdp": [goal["mu_squared"]]}


def now(state: State) -> dict[str, str]:
    """Return the goal that the limits keep."""
    limit: dict[str, str] = state["lowered"] if "lowered" in state else state["goal"]
    return limit


def added(state: State, more: Mapping[str, str]) -> dict[str, str]:
    """Return the goal that a budget has with another one in addition."""
    before = now(state)
    _require_notion(before, more)
    return {
        name: text
        if name in _SAME
        else show_rational(read_rational(text) + read_rational(more[name]))
        for name, text in before.items()
    }


_SAME: Final = ("notion", "order")  # what no change changes


def _require_notion(before: Mapping[str, str], goal: Mapping[str, str]) -> None:
    if before.keys() != goal.keys() or any(before.get(one) != goal.get(one) for one in _SAME):
        raise ParameterError("budget", _words(goal), f"in the notion of {_words(before)}")


def limits_of(state: State, goal: Mapping[str, str], *, up: bool) -> dict[str, list[str]] | None:
    """Return the limits that a budget has with another goal, in the ways that it was divided to."""
    if state["limits"] is None or goal["notion"] != "approx-dp":
        return _alone(goal)
    ways = filters.limits(**_numbers(goal), ways=tuple(state["limits"]))
    if not up:  # rounding may not raise any
        ways = {
            way: tuple(map(min, limit, numbers(state["limits"][way])))
            for way, limit in ways.items()
        }
    return listed(ways)


def changed(
    state: State, goal: dict[str, str], limits: dict[str, list[str]] | None, *, up: bool
) -> State:
    """Return a budget with another goal.

    Ways in which more is spent than the new limit are closed for good.
    """
    before = now(state)
    _require_notion(before, goal)
    if before == goal or not (_at_most(before, goal) if up else _at_most(goal, before)):
        side = "above" if up else "below"
        raise ParameterError(
            "budget", _words(goal), f"{side} {_words(before)}, nowhere the reverse"
        )
    after = {name: one for name, one in state.items() if name not in ("lowered", "proposed")}
    if not _at_most(goal, state["goal"]):
        if not _at_most(state["goal"], goal):
            raise ParameterError("budget", _words(goal), f"below or above {_words(state['goal'])}")
        after["goal"] = goal
    elif goal != state["goal"]:
        after["lowered"] = goal
    after["limits"], after["refused"] = limits, {**state["refused"]}
    if not (_keep(limits, state, goal) and (up or _below(limits, state["limits"]))):
        raise ValueError("the limits are not proved to keep the budget")
    for way in limits or ():
        if alive(after, way) and any(one < 0 for one in left(after, way)):
            after["refused"][way] = after["refused"].get(way, 0) + 1
    if limits is not None and not any(alive(after, way) for way in limits):
        raise BudgetExceeded(
            f"more than {_words(goal)} is spent in every way that is open; nothing was changed: "
            "lower the budget less, or close it"
        )
    return after


def _keep(limits: dict[str, list[str]] | None, state: State, goal: Mapping[str, str]) -> bool:
    """Return whether limits keep a goal, in the ways of a budget."""
    if goal["notion"] != "approx-dp" or limits is None or state["limits"] is None:
        return limits == _alone(goal) and (limits is None) == (state["limits"] is None)
    divided = {way: numbers(limit) for way, limit in limits.items()}
    return limits.keys() == state["limits"].keys() and filters.within(divided, **_numbers(goal))


def _below(limits: dict[str, list[str]] | None, old: dict[str, list[str]] | None) -> bool:
    """Return whether no limit is above that of the same way before."""
    return all(
        read_rational(one) <= read_rational(other)
        for way, limit in (limits or {}).items()
        for one, other in zip(limit, (old or {})[way], strict=True)
    )


def _at_most(goal: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether no number of a goal is above that of another one of its notion."""
    numbers = (name for name in goal if name != "notion")
    return all(read_rational(goal[name]) <= read_rational(other[name]) for name in numbers)


def _words(goal: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in goal.items())


def goal(
    state: State, relation: Relation, texts: Mapping[str, str] | None = None
) -> Guarantee[Relation]:
    """Return what everything that the budget admits satisfies together, or what a goal says."""
    texts = state["goal"] if texts is None else texts
    values = {name: read_rational(text) for name, text in texts.items() if name != "notion"}
    match texts["notion"]:
        case "pure-dp":
            return PureDP(epsilon=values["epsilon"], relation=relation)
        case "approx-dp":
            limits = state["limits"]
            budgets = limits and {way: numbers(limit) for way, limit in limits.items()}
            return filters.several_filters(**values, relation=relation, budgets=budgets)
        case "zcdp":
            return ZCDP(rho=values["rho"], relation=relation)
        case "gdp":
            return GDP(mu_squared=values["mu_squared"], relation=relation)
        case _:
            return RDP(points=((values["order"], values["epsilon"]),), relation=relation)


def ways(state: State) -> tuple[str, ...]:
    """Return the ways in which a budget may be spent, Renyi orders last and in their order."""
    if state["limits"] is not None:
        return tuple(sorted(state["limits"], key=lambda way: order_of(state, way) or 0))
    return filters.ways(**_stated(state))


def _stated(state: State) -> dict[str, Fraction]:
    """Return the epsilon and the delta of a budget that is divided among ways."""
    return _numbers(now(state))


def _numbers(goal: Mapping[str, str]) -> dict[str, Fraction]:
    return {name: read_rational(goal[name]) for name in ("epsilon", "delta")}


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
    """Return a budget of (epsilon, delta) divided as an entry says, if that is proved."""
    limits = {way: numbers(limit) for way, limit in listing.items()}
    if not filters.within(limits, **_stated(state)):
        raise ValueError("the limits are more than the budget")
    return {**state, "limits": dict(listing)}


def required_form(states: dict[str, State]) -> dict[str, State]:
    """Read every number of budgets, and return them; what is none raises one of ``MISFITS``."""
    for state in states.values():
        goal(state, AddRemove(), now(state))
        _require_notion(state["goal"], now(state))
        for way in state["limits"] or ():
            left(state, way), alive(state, way), order_of(state, way)
    return states


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
    admitted = "closed" not in state and any(alive(after, way) for way in state["limits"])
    return (after, taken) if admitted else None


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
