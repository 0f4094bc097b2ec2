"""Budgets of a ledger: a notion, the ways it may be spent in, and what guarantees cost there."""

import contextlib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeAlias, cast, final

from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, Guarantee, PrivacyFilter, PureDP, convert
from dpproof.accountant.adaptive import several_filters as filters
from dpproof.accountant.adaptive.privacy_filter import divergence_cost
from dpproof.accountant.errors import (
    BudgetExceeded,
    NotCertified,
    NotImplied,
    ParameterError,
    PrivacyError,
)
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.relation import RELATIONS, AddRemove, Relation
from dpproof.accountant.theorems.conversion import notion_to_rdp
from dpproof.proofs.certificate import read_rational, show_rational
from dpproof.proofs.core.errors import CertificateError

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
    """Return a budget with another goal; ways in which more is spent are closed for good."""
    before = now(state)
    _require_notion(before, goal)
    if before == goal or not (_at_most(before, goal) if up else _at_most(goal, before)):
        side = "above" if up else "below"
        allowed = f"{side} {_words(before)}, nowhere the reverse"
        raise ParameterError("budget", _words(goal), allowed)
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
    """Return the budget after a spend, and its charges by way; None if it is over the budget."""
    # A way that does not carry the spend counts a refusal: it is closed unless that is released.
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
    """Return a cost, rounded up to 2^-256 where its sum with what is spent gets too long."""
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
    """Return what a guarantee costs in one way; None if it says nothing or costs too much there."""
    # Without a delta: a sixteenth of what the basic way has, half of what is left, or all of it.
    if way == "basic":
        if "pure" not in memory:
            memory["pure"] = _pure(guarantee)
        if memory["pure"] is not None and delta in (None, 0):
            return cast("Charge", memory["pure"])
        try:
            return _basic(state, guarantee, delta, memory.setdefault("basic", {}))
        except NotCertified:
            return None
    order = order_of(state, way)
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
    """Return what a guarantee costs at one order; None above epsilon, which no budget admits."""
    by_order: dict[Fraction, Charge | None] = memory.setdefault("renyi", {})
    if order not in by_order:
        listed = [order_of(state, way) for way in ways(state)]
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
    rest = left(state, "basic")
    if delta == 0 or rest[1] == 0:
        return None
    tried, part = None, _power_of_two(numbers(state["limits"]["basic"])[1] / PARTS)
    if part > rest[1] / 2:  # until then one proof serves every spend of the same guarantee
        part = _power_of_two(rest[1] / 2)
    for at in (part, rest[1]) if delta is None else (delta,):
        if at not in proved:
            proved[at] = _proved(guarantee, {"delta": at}, partial(_computed, guarantee, at))
        price = proved[at]
        tried = price or tried
        if price is not None and price.costs[0] <= rest[0]:
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
        """Return whether the plan has a cost, or none, for every open way: others would close."""
        open_ = (way for way in state["limits"] or () if alive(state, way))
        return all(way in self.charges for way in open_)

    def apply(self, state: State) -> tuple[State, dict[str, Any]] | None:
        """Return the budget after the spend and what was taken by way; None if over the budget."""
        if state["limits"] is None:
            if self.divided is None or now(self.divided) != now(state):
                return None
            state = {**self.divided, "spent": state["spent"], "refused": state["refused"]}
        costs: dict[str, Costs | None] = {
            way: None if price is None else addable(state, way, price.costs)
            for way, price in self.charges.items()
        }
        return charged(state, costs)


def planned(
    state: State, guarantee: Guarantee[Any], delta: Fraction | None, memory: dict[str, Any]
) -> Plan:
    """Return what a spend costs in one budget."""
    # The first spend divides delta among the ways that admit it: before any output, so freely.
    if state["limits"] is not None:
        return Plan(None, _charges(state, guarantee, delta, memory))
    chosen, plan, late = ways(state), Plan(None), {"basic"}
    while chosen:  # sums of (epsilon, delta) cost a proof at each share, so they come last
        shared = divided(state, chosen)
        plan = Plan(shared, _charges(shared, guarantee, delta, memory, late))
        admitted = late | _admitting(plan)
        if admitted.issuperset(chosen):
            if not late:
                return plan
            late = set()
        chosen = tuple(way for way in chosen if way in admitted)
    for way in ALONE:
        shared = divided(state, (way,))
        alone = Plan(shared, _charges(shared, guarantee, delta, memory))
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
        if way not in but and alive(state, way)
    }


def _admitting(plan: Plan) -> set[str]:
    """Return the ways that admit the first spend of a budget."""
    done = plan.apply(plan.divided) if plan.divided is not None else None
    return set() if done is None else {way for way, cost in done[1].items() if cost is not None}
