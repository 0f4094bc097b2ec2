"""The common behaviour of privacy odometers: sum the spends, and give the total at any time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import cast, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.adaptive import privacy_filter
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_down, float_up, log_exact
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee, renyi_order
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.theorems.conversion import convert


class PrivacyOdometer(privacy_filter.Undivided[R], ABC):
    """A running total of mechanisms that are chosen one by one, without a budget.

    Spend a guarantee before its mechanism runs. Let delta be fixed in advance, and spent_t what
    ``spent`` says after t mechanisms. Let D and D' be neighbours (laws P and Q of the outputs).
    Then for every rule that stops at some time T after looking at outputs, and every set S of
    outputs up to then on which spent_T is finite, P(S) <= E_Q[e^{spent_T}; S] + delta: whatever
    stops the run below epsilon has cost (epsilon, delta)-DP. Unless parts have a delta of their
    own, still more holds: with probability at least 1 - delta over the run on D, at all times t at
    once, the privacy loss L_t, the log of the outputs' density given D over that given D', is at
    most spent_t. Threads may spend from one odometer; it is not copied, pickled or spent in a
    forked process.
    """

    __slots__ = ("_total",)
    _KIND = "an odometer"

    _total: privacy_filter.Costs

    @final
    def __repr__(self) -> str:
        """Return the class, what is spent, and the relation, on one line."""
        return f"<{type(self).__name__}: {self._shown(self._total)} spent, {self._relation}>"

    @abstractmethod
    def _costs(self, guarantee: Guarantee[R]) -> privacy_filter.Costs:
        """Return upper bounds of what a guarantee adds to each part of the total."""

    @abstractmethod
    def _bound(self, delta: Fraction) -> float:
        """Return the bound at a delta, if something was spent."""

    @final
    def spend(self, guarantee: Guarantee[R]) -> None:
        """Add one mechanism, before it runs.

        Raises:
            NotImplied: the guarantee says nothing in the odometer's notion.
            RelationMismatch: it is about other neighbours.
            NotShared: the odometer was made by another process.
        """
        costs = self._priced(guarantee, self._costs)
        with self._alone():
            self._total = tuple(one + cost for one, cost in zip(self._total, costs, strict=True))

    @final
    def spent(self, *, delta: Number) -> float:
        """Return an upper bound of the privacy loss so far, in nats, at all times at once.

        Args:
            delta: above 0, below 1, fixed before the first output is seen.
        """
        exact = arguments.open_probability(delta=delta)
        return self._bound(exact) if any(self._total) else 0.0

    def _begin(self, relation: R, parts: int = 1) -> None:
        """Keep the relation, with nothing spent."""
        self._own(relation)
        self._total = (Fraction(0),) * parts


def log_inverse_up(delta: Fraction) -> float:
    """Return a float at or above log(1/delta), also for a delta below all floats."""
    least = float_down(delta)
    log = math.log(least) if least > 0.0 else log_exact(delta)
    return -log * (1.0 + 2.0**-48) + 1e-300


@final
class GDPOdometer(PrivacyOdometer[R]):
    """A running total in mu-GDP.

    Statement: if every mechanism is mu_i-GDP given the outputs before it, mu_i chosen from those
        outputs alone, then with probability at least 1 - delta, for all t at once, L_t <= l. Here
        l solves sum_j w_j exp(x_j l - x_j (1 + x_j) m / 2) = 1/delta; m is the sum of mu_1^2, ...,
        mu_t^2, x_j = 2^{j/2} and w_j = 2 / (3 (|j| + 1) (|j| + 2)).
    Source: Ville's inequality for a mixture; Robbins (1970) for Brownian motion. Proof:
        proofs/theory/filters.md.
    Rounds: up.
    Laws: sharp: Gaussian releases of small mu_i exceed it with a probability that tends to 0.98
        delta, so that no bound is lower at every sum.

    Example:
        >>> odometer = GDPOdometer()
        >>> odometer.spend(GDP(mu=0.1))
        >>> odometer.spent(delta=1e-6) < 1
        True
    """

    __slots__ = ()
    _UNITS = ("μ²",)

    @overload
    def __init__(self: GDPOdometer[AddRemove]) -> None: ...
    @overload
    def __init__(self, *, relation: R) -> None: ...
    def __init__(self, *, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation))

    def _costs(self, guarantee: Guarantee[R]) -> privacy_filter.Costs:
        return (convert(guarantee, to=GDP).mu_squared,)

    def _bound(self, delta: Fraction) -> float:
        return privacy_filter.mixture_bound(self._total[0] / 2, log_inverse_up(delta))


@final
class ZCDPOdometer(PrivacyOdometer[R]):
    """A running total in rho-zCDP.

    Statement: if every mechanism is rho_i-zCDP given the outputs before it, rho_i chosen from
        those outputs alone, then with probability at least 1 - delta, for all t at once,
        L_t <= l. Here l solves sum_j w_j exp(x_j l - x_j (1 + x_j) rho) = 1/delta; rho is the sum
        of rho_1, ..., rho_t, x_j = 2^{j/2} and w_j = 2 / (3 (|j| + 1) (|j| + 2)).
    Source: Ville's inequality for a mixture; cf. Whitehouse, Ramdas, Rogers & Wu
        (arXiv:2203.05481). Proof: proofs/theory/filters.md.
    Rounds: up.

    Example:
        >>> odometer = ZCDPOdometer()
        >>> odometer.spend(ZCDP(rho=0.01))
        >>> odometer.spent(delta=1e-6) < 1
        True
    """

    __slots__ = ()
    _UNITS = ("ρ",)

    @overload
    def __init__(self: ZCDPOdometer[AddRemove]) -> None: ...
    @overload
    def __init__(self, *, relation: R) -> None: ...
    def __init__(self, *, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation))

    def _costs(self, guarantee: Guarantee[R]) -> privacy_filter.Costs:
        return (convert(guarantee, to=ZCDP).rho,)

    def _bound(self, delta: Fraction) -> float:
        return privacy_filter.mixture_bound(self._total[0], log_inverse_up(delta))


@final
class RenyiOdometer(PrivacyOdometer[R]):
    """A running total of Rényi divergences at one order that is fixed in advance.

    Statement: let every mechanism have Rényi divergence at most r_i at order a, given the outputs
        before it, r_i chosen from those outputs alone. Then with probability at least 1 - delta,
        for all t at once, L_t <= r_1 + ... + r_t + log(1/delta) / (a - 1).
    Source: Ville's inequality; cf. Feldman & Zrnic (arXiv:2008.11193). Proof:
        proofs/theory/filters.md.
    Rounds: up.

    Args:
        order: above 1.
    Example:
        >>> from dpproof.accountant import ZCDP
        >>> odometer = RenyiOdometer(order=17)
        >>> odometer.spend(ZCDP(rho=0.01))
        >>> round(odometer.spent(delta=1e-6), 4)
        1.0335
    """

    __slots__ = ("_order",)
    _UNITS = ("divergence",)

    _order: Fraction

    @overload
    def __init__(self: RenyiOdometer[AddRemove], *, order: Number) -> None: ...
    @overload
    def __init__(self, *, order: Number, relation: R) -> None: ...
    def __init__(self, *, order: Number, relation: Relation = DEFAULT_RELATION) -> None:
        self._order = renyi_order(order=order)
        self._begin(cast("R", relation))

    def _costs(self, guarantee: Guarantee[R]) -> privacy_filter.Costs:
        return (privacy_filter.divergence_cost(guarantee, self._order),)

    def _bound(self, delta: Fraction) -> float:
        return float_up(self._total[0] + Fraction(log_inverse_up(delta)) / (self._order - 1))


@final
class ApproxDPOdometer(PrivacyOdometer[R]):
    """A running total of (epsilon, delta)-DP.

    Statement: let every mechanism, given the outputs before it, be rho_i-zCDP, or (e_i, d_i)-DP
        with rho_i that of pure e_i-DP, all chosen from those outputs alone. Let delta and
        failures < delta be fixed in advance. For each t with sum_i d_i <= failures let l_t be
        the smaller of sum_i e_i (if every part has one) and of the l that solves:
        sum_j w_j exp(x_j l - x_j (1 + x_j) sum_i rho_i) = 1 / (delta - failures); x_j = 2^{j/2}
        and w_j = 2 / (3 (|j| + 1) (|j| + 2)). Else l_t is infinite. Then for every rule that stops
        at some T after looking at outputs, and every set S of outputs up to T on which l_T is
        finite, P(S) <= E_Q[e^{l_T}; S] + delta.
    Source: Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481), for the mixture and the split of
        delta. Proof: proofs/theory/filters.md.
    Rounds: up.
    Laws: the privacy loss itself may exceed l_T with a probability above delta: (e, d)-DP does not
        bound it.

    Args:
        failures: how much the deltas of the parts may add up to, at or above 0; half of the delta
            that is asked by default. 0 is best if every part is pure or concentrated.
    Example:
        >>> odometer = ApproxDPOdometer()
        >>> for _ in range(100):
        ...     odometer.spend(ApproxDP(epsilon=0.05, delta=1e-9))
        >>> round(odometer.spent(delta=1e-6), 2)
        3.21
        >>> odometer.spent(delta=1e-8)
        inf
    """

    __slots__ = ("_failures",)
    _UNITS = ("ρ", "δ")

    _failures: Fraction | None

    @overload
    def __init__(self: ApproxDPOdometer[AddRemove], *, failures: Number | None = None) -> None: ...
    @overload
    def __init__(self, *, failures: Number | None = None, relation: R) -> None: ...
    def __init__(
        self, *, failures: Number | None = None, relation: Relation = DEFAULT_RELATION
    ) -> None:
        self._failures = None if failures is None else arguments.non_negative(failures=failures)
        self._begin(cast("R", relation), parts=4)

    def _costs(self, guarantee: Guarantee[R]) -> privacy_filter.Costs:
        """Return rho, delta, epsilon, and 1 if there is no epsilon."""
        none = Fraction(0)
        rho, delta = privacy_filter.rho_and_delta(guarantee)
        if isinstance(guarantee, ApproxDP | PureDP):
            return rho, delta, guarantee.stated_epsilon, none
        return rho, delta, none, Fraction(1)

    def _bound(self, delta: Fraction) -> float:
        rho, failed, epsilon, concentrated = self._total
        reserved = delta / 2 if self._failures is None else self._failures
        if not reserved < delta:
            raise ParameterError("delta", delta, f"above failures = {float(reserved):g}")
        if failed > reserved:
            return math.inf
        mixed = privacy_filter.mixture_bound(rho, log_inverse_up(delta - reserved))
        return mixed if concentrated else min(mixed, float_up(epsilon))
