"""Privacy filters: admit, spend, and refuse what is over the budget."""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Generic, Never, TypeVar, cast, final, overload

import numpy as np

from dpproof.accountant import arguments, errors
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import float_up
from dpproof.accountant.guarantees import guarantee as guarantees
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Attained, Derivation, theorem
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee, applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, RenyiGuarantee
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.relation import AddRemove, R, Relation, require_relation
from dpproof.accountant.side_conditions import SPENT_BEFORE
from dpproof.accountant.theorems.conversion import convert, notion_to_rdp

MARGIN: Final = 1e-9  # Largest share of epsilon that is given away. Heuristic.
_STEPS: Final = 12  # Most steps of the secant method. Heuristic: the result is checked.
_HALVINGS: Final = 60  # of a bracket: how much of the budget is given away, not soundness


def implies(notion: Guarantee[Any], epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether a guarantee is proved to imply (epsilon, delta)-DP."""
    return Fraction(notion.epsilon(delta=delta).upper) <= epsilon


def largest_parameter(
    notion: Callable[[Fraction], Guarantee[Any]],
    epsilon: Fraction,
    delta: Fraction,
    start: Fraction,
) -> Fraction:
    """Return a parameter, near the largest below a start, whose notion implies (epsilon, delta)-DP.

    Epsilon of rho-zCDP and of mu-GDP is nearly linear in the root of rho and in mu, so that a few
    steps find where it is epsilon less half of the margin; halving does if they do not. The margin
    leaves room for other roundings to prove the same parameter.
    """
    value = _by_secants(notion, epsilon, delta, start)
    if value is not None and implies(notion(value), epsilon, delta):
        return value

    def fits(parameter: Fraction) -> bool:
        return implies(notion(parameter), epsilon, delta)

    return bisect(fits, Fraction(0), start, rounds=_HALVINGS)[0]


def _by_secants(
    notion: Callable[[Fraction], Guarantee[Any]],
    epsilon: Fraction,
    delta: Fraction,
    start: Fraction,
) -> Fraction | None:
    """Estimate the parameter at which epsilon falls short by half of the margin, None if lost."""
    if not (1e-100 < epsilon < 1e100 and delta > 1e-100):
        return None
    size, log = float(epsilon), -math.log(float(delta))
    wanted = size * (1 - MARGIN / 2)

    def excess(root: float) -> float:
        return notion(Fraction(root) ** 2).epsilon(delta=delta).upper - wanted

    last = size / (math.sqrt(size + log) + math.sqrt(log))  # as if Chernoff's bound were exact
    root, before = last * 1.05, excess(last)
    for _ in range(_STEPS):
        if not (root > 0.0 and Fraction(root) ** 2 < start):
            return None
        value = excess(root)
        if abs(value) <= 0.4 * MARGIN * size:
            return Fraction(root) ** 2
        if value == before or not math.isfinite(value):
            return None
        last, root, before = root, root - value * (root - last) / (value - before), value
    return None


def divergence_cost(guarantee: Guarantee[Any], order: Fraction) -> Fraction:
    """Return an upper bound of the Rényi divergence at an order, exact where it is stated."""
    if isinstance(guarantee, RenyiGuarantee):
        stated = guarantee.divergence_up(order)
        if stated is not None:
            return stated
    else:
        upper = guarantee.rdp(order=order).upper
        if upper < math.inf:
            return Fraction(upper)
    raise errors.NotImplied(
        f"{guarantee.describe()} has no finite Rényi divergence at order {float(order):g}; spend "
        "at another order, or in another notion"
    )


_REACH: Final = 60  # orders 1 + 2^(j/2), |j| <= 60; soundness asks only that the weights sum to 1
_J: Final = np.arange(-_REACH, _REACH + 1)
_X: Final = math.sqrt(2.0) ** _J
_LOG_INVERSE_WEIGHTS: Final = np.log(1.5 * (np.abs(_J) + 1) * (np.abs(_J) + 2))
_MIXTURE_BOUND_HALVINGS: Final = (
    50  # of the bracket of the bound: how much is given away, not soundness
)
_ROUNDING: Final = 2.0**-48  # relative; far above the rounding of three products and sums
_LARGEST: Final = 1e250  # above it the products of the mixture may overflow


def mixture_bound(rho: Fraction, log_inverse: float) -> float:
    """Return the loss at which a mixture of supermartingales reaches 1/delta.

    Let V(l, rho) = sum_j w_j exp(x_j l - x_j (1 + x_j) rho), x_j = 2^{j/2} and
    w_j = 2 / (3 (|j| + 1) (|j| + 2)). If every mechanism is rho_i-zCDP given the outputs before it,
    V(L_t, rho_1 + ... + rho_t) is a supermartingale from at most 1, so that with probability at
    least 1 - delta it stays below 1/delta (proofs/theory/filters.md, 5).
    """
    size = float_up(rho)
    # One term alone reaches 1/delta there; the sum does so before. Infinite terms are no minimum.
    with np.errstate(over="ignore"):
        high = float(np.min((1.0 + _X) * size + (log_inverse + _LOG_INVERSE_WEIGHTS) / _X))
    high *= 1.0 + _ROUNDING
    if high > _LARGEST:
        return high

    def below(loss: float) -> bool:
        return not _log_down(loss, size) >= log_inverse

    return bisect(below, 0.0, high, rounds=_MIXTURE_BOUND_HALVINGS)[1]


def _log_down(loss: float, rho: float) -> float:
    """Return a number at or below the log of the mixture."""
    gains, costs = _X * loss, _X * (1.0 + _X) * rho + _LOG_INVERSE_WEIGHTS
    exponents = gains - costs - _ROUNDING * (gains + costs)
    top = float(np.max(exponents))
    return top + math.log(float(np.sum(np.exp(exponents - top)))) - _ROUNDING * (abs(top) + 200.0)


_INSTEAD: Final = (
    "each copy could be spent in full, so pass this object to functions and threads, or keep the "
    "budget in a dpproof.Ledger, which processes share"
)


Costs = tuple[Fraction, ...]

_NO_COST: Final = (
    "has no cost here that adds up whatever is chosen next, as sums of profiles do not: to stop "
    "where a composed profile crosses a target is not private. Spend convert(guarantee, "
    "to=ApproxDP, delta=...) in ApproxDP..., or a finite divergence in Renyi..."
)
_Price = TypeVar("_Price")


class Undivided(ABC, Generic[R]):  # a subclass says what is spent
    """A running sum that any thread of one process may add to, one at a time."""

    __slots__ = ("_lock", "_process", "_relation")

    _KIND: ClassVar[str]  # in words, with its article
    _UNITS: ClassVar[tuple[str, ...]]  # of the first parts of a sum, in their order

    _lock: threading.Lock
    _process: int
    _relation: R

    @property
    @final
    def relation(self) -> R:
        """Return the neighbouring relation."""
        return self._relation

    @final
    def __reduce_ex__(self, _: object) -> Never:
        """Refuse ``copy.copy``, ``copy.deepcopy`` and ``pickle``."""
        raise errors.NotShared(f"this {type(self).__name__} is not copied or pickled: {_INSTEAD}")

    @final
    def _own(self, relation: R) -> None:
        """Belong to this process, and speak of these neighbours."""
        require_relation(relation)
        self._lock, self._process, self._relation = threading.Lock(), os.getpid(), relation

    @final
    def _priced(self, guarantee: Guarantee[R], price: Callable[[Guarantee[R]], _Price]) -> _Price:
        """Return the price of a guarantee about these neighbours, one step apart."""
        guarantees.required_guarantee(guarantee)
        guarantees.require_single(guarantee, self._KIND)
        if guarantee.relation != self._relation:
            raise errors.RelationMismatch(
                f"the {self._KIND.split()[1]} is about {self._relation} neighbours, the guarantee "
                f"about {guarantee.relation}; state every sensitivity under one relation"
            )
        try:
            return price(guarantee)
        except errors.NotImplied as refusal:
            raise errors.NotImplied(f"{guarantee.describe()} {_NO_COST}") from refusal

    @final
    def _shown(self, costs: Costs) -> str:
        """Return the costs as a person writes them."""
        parts = zip(self._UNITS, costs, strict=False)
        return " and ".join(f"{unit} = {show(cost)}" for unit, cost in parts)

    @final
    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep all other threads from spending meanwhile."""
        if os.getpid() != self._process:
            name = type(self).__name__
            raise errors.NotShared(f"this {name} is not spent in a forked process: {_INSTEAD}")
        with self._lock:
            yield


class PrivacyFilter(Undivided[R], ABC):
    """A budget for mechanisms that are chosen one by one, each after looking at earlier outputs.

    Spend a guarantee before its mechanism runs, and run only what was spent. Whatever is run under
    that rule, for however long and however it was chosen, satisfies ``guarantee()`` as a whole.
    That is more than ``compose`` says, which asks that everything be fixed in advance, and it is
    true only of notions whose costs add up along every path: there is no filter for dominating
    pairs and profiles, because to stop when a composed profile crosses the target is not private
    (proofs/theory/filters.md has a counter-example). Threads may spend from one filter; it
    is not copied, pickled or spent in a forked process. A certificate of ``guarantee()`` shows what
    was spent, and that it is within the budget.
    """

    __slots__ = ("_admitted", "_budget", "_spent")
    _KIND = "a filter"

    _budget: Costs
    _spent: Costs
    _admitted: list[Guarantee[R]]

    @final
    def __repr__(self) -> str:
        """Return the class, what is left of the budget, and the relation, on one line."""
        return f"<{type(self).__name__}: {self._rest()} left, {self._relation}>"

    @abstractmethod
    def guarantee(self) -> Guarantee[R]:
        """Return what everything run under the filter satisfies together."""

    @abstractmethod
    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        """Return what a guarantee says in the filter's notion."""

    @abstractmethod
    def _costs(self, restated: Guarantee[R]) -> Costs:
        """Return upper bounds of what it costs, one for each part of the budget."""

    @final
    def admits(self, guarantee: Guarantee[R]) -> bool:
        """Return whether the remaining budget covers a guarantee; change nothing."""
        costs = self._costs(self._priced(guarantee, self._restated))
        return all(cost <= left for cost, left in zip(costs, self._left, strict=True))

    @final
    def spend(self, guarantee: Guarantee[R]) -> None:
        """Take the cost of one mechanism out of the budget, before it runs.

        Raises:
            BudgetExceeded: it costs more than is left; nothing changes.
            NotImplied: the guarantee says nothing in the filter's notion.
            RelationMismatch: it is about other neighbours.
            NotShared: the filter was made by another process.
        """
        restated = self._priced(guarantee, self._restated)
        costs = self._costs(restated)
        with self._alone():
            if any(cost > left for cost, left in zip(costs, self._left, strict=True)):
                raise errors.BudgetExceeded(
                    f"{guarantee.describe()} costs {self._shown(costs)}, and {self._rest()} is "
                    "left; run something cheaper, or nothing"
                )
            self._spent = tuple(one + cost for one, cost in zip(self._spent, costs, strict=True))
            self._admitted.append(restated)

    @property
    @final
    def _left(self) -> Costs:
        return tuple(one - spent for one, spent in zip(self._budget, self._spent, strict=True))

    def _begin(self, relation: R, *budget: Fraction) -> None:
        """Keep the relation and the budget, with nothing spent."""
        self._own(relation)
        self._budget, self._spent = budget, tuple(Fraction(0) for _ in budget)
        self._admitted = []

    def _rest(self) -> str:
        """Return what is left of each part of the budget as a person writes it."""
        return " and ".join(
            f"{unit} = {show(left)} of {show(whole)}"
            for unit, left, whole in zip(self._UNITS, self._left, self._budget, strict=True)
        )


def derived(
    concludes: Callable[..., Any],
    statement: str,
    spent: Sequence[Guarantee[R]],
    costs: Sequence[Costs],
    budget: Costs,
    **parameters: Fraction,
) -> Derivation:
    """Return the derivation of a whole budget from the guarantees that were spent."""
    for parts, limit in zip(zip(*costs, strict=True), budget, strict=bool(costs)):
        total = sum(parts, Fraction(0))
        if total > limit:
            raise errors.NotCertified(
                f"what was spent is proved to cost {float(total):.12g}, above the budget of "
                f"{float(limit):.12g} that it was admitted under; leave a little of the budget "
                "unspent"
            )
    words = f"{statement}, whatever is spent"
    taken = (SPENT_BEFORE(),)
    return applied(concludes, words, *spent, assumptions=taken, attained=None, **parameters)


@final
class GDPFilter(PrivacyFilter[R]):
    """A budget of mu-GDP.

    Statement: if every mechanism is mu_i-GDP given the outputs before it, mu_i is chosen from
        those outputs alone, and sum_i mu_i^2 is at most mu^2 on every path, then all outputs
        together are mu-GDP.
    Source: Smith & Thakurta (arXiv:2210.17520). Proof: proofs/theory/filters.md.
    Rounds: up, where a guarantee of another notion is converted; sums are exact rationals.
    Assumes: spent before.
    Laws: sharp: what ``compose`` says of the same mu_i fixed in advance.

    Args:
        mu: the budget, at or above 0.
    Example:
        >>> budget = GDPFilter(mu=5)
        >>> budget.spend(GDP(mu=3))
        >>> budget.remaining
        Fraction(16, 1)
        >>> budget.admits(GDP(mu=4))
        True
    """

    __slots__ = ()
    _UNITS = ("μ²",)

    @overload
    def __init__(self: GDPFilter[AddRemove], *, mu: Number) -> None: ...
    @overload
    def __init__(self, *, mu: Number, relation: R) -> None: ...
    def __init__(self, *, mu: Number, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation), arguments.non_negative(mu=mu) ** 2)

    @property
    def remaining(self) -> Fraction:
        """Return the square of mu that is left, exactly."""
        return self._left[0]

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP for the whole budget."""
        return _whole_gdp(self._admitted, self._budget[0], self.relation)

    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        return convert(guarantee, to=GDP)

    def _costs(self, restated: Guarantee[R]) -> Costs:
        return (convert(restated, to=GDP).mu_squared,)


@theorem(
    rule="filter/gdp",
    source="Smith & Thakurta, arXiv:2210.17520; proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda function, premises, given: function(
        premises, given["mu_squared"], premises[0].relation
    ),
    written="filtered",
)
def _whole_gdp(spent: Sequence[Guarantee[R]], squared: Fraction, relation: R) -> GDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    costs = [(convert(one, to=GDP).mu_squared,) for one in spent]
    statement = f"{show(sqrt_up(squared))}-GDP"
    derivation = derived(_whole_gdp, statement, spent, costs, (squared,), mu_squared=squared)
    return GDP(mu_squared=squared, relation=relation, derivation=derivation)


@final
class ZCDPFilter(PrivacyFilter[R]):
    """A budget of rho-zCDP.

    Statement: if every mechanism is rho_i-zCDP given the outputs before it, rho_i is chosen from
        those outputs alone, and sum_i rho_i is at most rho on every path, then all outputs
        together are rho-zCDP.
    Source: Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481); Feldman & Zrnic
        (arXiv:2008.11193), order by order. Proof: proofs/theory/filters.md.
    Rounds: up, where a guarantee of another notion is converted; sums are exact rationals.
    Assumes: spent before.
    Laws: sharp: what ``compose`` says of the same rho_i fixed in advance.

    Args:
        rho: the budget, at or above 0.
    Example:
        >>> budget = ZCDPFilter(rho=0.5)
        >>> budget.spend(ZCDP(rho=0.375))
        >>> budget.remaining
        Fraction(1, 8)
        >>> budget.admits(ZCDP(rho=0.25))
        False
    """

    __slots__ = ()
    _UNITS = ("ρ",)

    @overload
    def __init__(self: ZCDPFilter[AddRemove], *, rho: Number) -> None: ...
    @overload
    def __init__(self, *, rho: Number, relation: R) -> None: ...
    def __init__(self, *, rho: Number, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation), arguments.non_negative(rho=rho))

    @property
    def remaining(self) -> Fraction:
        """Return the rho that is left, exactly."""
        return self._left[0]

    def guarantee(self) -> ZCDP[R]:
        """Return rho-zCDP for the whole budget."""
        return _whole_zcdp(self._admitted, self._budget[0], self.relation)

    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        return convert(guarantee, to=ZCDP)

    def _costs(self, restated: Guarantee[R]) -> Costs:
        return (convert(restated, to=ZCDP).rho,)


@theorem(
    rule="filter/zcdp",
    source="Whitehouse, Ramdas, Rogers & Wu, arXiv:2203.05481; proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda function, premises, given: function(premises, given["rho"], premises[0].relation),
    written="filtered",
)
def _whole_zcdp(spent: Sequence[Guarantee[R]], rho: Fraction, relation: R) -> ZCDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    costs = [(convert(one, to=ZCDP).rho,) for one in spent]
    derivation = derived(_whole_zcdp, f"{show(rho)}-zCDP", spent, costs, (rho,), rho=rho)
    return ZCDP(rho=rho, relation=relation, derivation=derivation)


@final
class RenyiFilter(PrivacyFilter[R]):
    """A budget of Rényi divergence at one order that is fixed in advance.

    Statement: let every mechanism have Rényi divergence at most r_i at the order, given the outputs
        before it, r_i chosen from those outputs alone. If sum_i r_i is at most epsilon on
        every path, all outputs together have divergence at most epsilon at the order.
        The best of several orders may not be chosen at the end.
    Source: Feldman & Zrnic (arXiv:2008.11193). Proof: proofs/theory/filters.md.
    Rounds: up, where a divergence is computed; sums are exact rationals.
    Assumes: spent before.
    Laws: sharp: what ``compose`` says at the order of divergences fixed in advance.

    Args:
        order: above 1.
        epsilon: the budget, a divergence in nats, at or above 0.
    Example:
        >>> from dpproof.accountant import ZCDP
        >>> budget = RenyiFilter(order=8, epsilon=1)
        >>> budget.spend(ZCDP(rho=0.0625))
        >>> budget.remaining
        Fraction(1, 2)
    """

    __slots__ = ("_order",)
    _UNITS = ("divergence",)

    _order: Fraction

    @overload
    def __init__(self: RenyiFilter[AddRemove], *, order: Number, epsilon: Number) -> None: ...
    @overload
    def __init__(self, *, order: Number, epsilon: Number, relation: R) -> None: ...
    def __init__(
        self, *, order: Number, epsilon: Number, relation: Relation = DEFAULT_RELATION
    ) -> None:
        self._order = guarantees.renyi_order(order=order)
        self._begin(cast("R", relation), arguments.non_negative(epsilon=epsilon))

    @property
    def remaining(self) -> Fraction:
        """Return the divergence that is left, in nats, exactly."""
        return self._left[0]

    def guarantee(self) -> RDP[R]:
        """Return the whole budget at the order."""
        return _whole_renyi(self._admitted, (self._order, self._budget[0]), self.relation)

    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        return notion_to_rdp(guarantee, orders=[self._order])

    def _costs(self, restated: Guarantee[R]) -> Costs:
        return (divergence_cost(restated, self._order),)


@theorem(
    rule="filter/renyi",
    source="Feldman & Zrnic, arXiv:2008.11193; proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda function, premises, given: function(
        premises, (given["order"], given["epsilon"]), premises[0].relation
    ),
    written="filtered",
)
def _whole_renyi(
    spent: Sequence[Guarantee[R]], point: tuple[Fraction, Fraction], relation: R
) -> RDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    order, epsilon = point
    costs = [(divergence_cost(one, order),) for one in spent]
    statement = f"divergence {show(epsilon)} at order {show(order)}"
    derivation = derived(
        _whole_renyi, statement, spent, costs, (epsilon,), order=order, epsilon=epsilon
    )
    return RDP(points=(point,), relation=relation, derivation=derivation)


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """The epsilon and delta of the whole composition, and the parts that are left of them."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    failures: Fraction


@final
class ApproxDPFilter(PrivacyFilter[R]):
    """A budget of (epsilon, delta)-DP.

    Statement: let every mechanism, given the outputs before it, be rho_i-zCDP, or (e_i, d_i)-DP
        with rho_i that of pure e_i-DP, all chosen from those outputs alone. If on every path
        sum_i d_i <= failures and sum_i rho_i <= rho, where rho-zCDP implies
        (epsilon, delta - failures)-DP, then all outputs together are (epsilon, delta)-DP.
    Source: Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481), whose budget
        sum_i e_i^2 / 2 is no smaller than the sum of rho_i = e_i tanh(e_i / 2), and whose
        conversion of zCDP is no better than ours. Proof: proofs/theory/filters.md.
    Rounds: up in costs, down in the budget of rho; sums are exact rationals.
    Assumes: spent before.

    Args:
        epsilon: above 0, nats.
        delta: above 0, below 1.
        failures: how much of delta the deltas of the parts may add up to, at or above 0 and
            below delta; half of it by default. 0 is best if every part is pure or concentrated.
    Example:
        >>> budget = ApproxDPFilter(epsilon=1, delta=1e-6)
        >>> budget.spend(ApproxDP(epsilon=0.05, delta=1e-8))
        >>> budget.admits(PureDP(epsilon=0.5))
        False
    """

    __slots__ = ("_stated",)
    _UNITS = ("ρ", "δ")

    _stated: tuple[Fraction, Fraction]

    @overload
    def __init__(
        self: ApproxDPFilter[AddRemove],
        *,
        epsilon: Number,
        delta: Number,
        failures: Number | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self, *, epsilon: Number, delta: Number, failures: Number | None = None, relation: R
    ) -> None: ...
    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        failures: Number | None = None,
        relation: Relation = DEFAULT_RELATION,
    ) -> None:
        size = arguments.positive(epsilon=epsilon)
        whole = arguments.open_probability(delta=delta)
        kept = whole / 2 if failures is None else arguments.non_negative(failures=failures)
        if not kept < whole:
            raise errors.ParameterError("failures", failures, f"below delta = {float(whole):g}")
        self._stated = (size, whole)
        self._begin(cast("R", relation), _largest_rho(size, whole - kept), kept)

    @property
    def remaining(self) -> tuple[Fraction, Fraction]:
        """Return the rho that is left and the part of delta left for the parts' deltas, exactly."""
        rho, failures = self._left
        return rho, failures

    def guarantee(self) -> ApproxDP[R]:
        """Return (epsilon, delta)-DP for the whole budget."""
        return _whole_approx(self._admitted, Budget(*self._stated, *self._budget), self.relation)

    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        return guarantee if isinstance(guarantee, ApproxDP) else convert(guarantee, to=ZCDP)

    def _costs(self, restated: Guarantee[R]) -> Costs:
        return rho_and_delta(restated)


def rho_and_delta(guarantee: Guarantee[R]) -> Costs:
    """Return the rho of what is left of a guarantee beside its delta, and that delta."""
    if isinstance(guarantee, ApproxDP):
        pure = PureDP(epsilon=guarantee.stated_epsilon, relation=guarantee.relation)
        return convert(pure, to=ZCDP).rho, guarantee.stated_delta
    return convert(guarantee, to=ZCDP).rho, Fraction(0)


@theorem(
    rule="filter/approx-dp",
    source="proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda function, premises, given: function(
        premises, Budget(**given), premises[0].relation
    ),
    written="filtered",
)
def _whole_approx(spent: Sequence[Guarantee[R]], budget: Budget, relation: R) -> ApproxDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    epsilon, delta = budget.epsilon, budget.delta
    derivation = derived(
        _whole_approx,
        f"({show(epsilon)}, {show(delta)})-DP",
        spent,
        [rho_and_delta(one) for one in spent],
        (budget.rho, budget.failures),
        epsilon=epsilon,
        delta=delta,
        rho=budget.rho,
        failures=budget.failures,
    )
    return ApproxDP(epsilon=epsilon, delta=delta, relation=relation, derivation=derivation)


def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return some rho, near the largest, for which rho-zCDP implies (epsilon, delta)-DP."""
    # rho-zCDP has divergence above rho at order 1
    return largest_parameter(lambda rho: ZCDP(rho=rho), epsilon, delta, epsilon)
