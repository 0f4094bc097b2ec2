"""The privacy filter of approximate differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.adaptive.largest_parameter import largest_parameter
from dpproof.accountant.adaptive.privacy_filter import Costs, PrivacyFilter, derived
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.theorems.conversion import convert


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """The epsilon and delta of the whole composition, and the parts that are left of them."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    failures: Fraction


APPROX_DP_FILTER: Final = Theorem(
    rule="filter/approx-dp",
    source="proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda premises, given: _whole(premises, Budget(**given), premises[0].relation),
    written="filtered",
)


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
        relation: which datasets are neighbours; every guarantee has to be about the same.
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
            raise ParameterError("failures", failures, f"below delta = {float(whole):g}")
        self._stated = (size, whole)
        self._begin(cast("R", relation), _largest_rho(size, whole - kept), kept)

    @property
    def remaining(self) -> tuple[Fraction, Fraction]:
        """Return the rho that is left and the part of delta left for the parts' deltas, exactly."""
        rho, failures = self._left
        return rho, failures

    def guarantee(self) -> ApproxDP[R]:
        """Return (epsilon, delta)-DP for the whole budget."""
        return _whole(self._admitted, Budget(*self._stated, *self._budget), self.relation)

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


def _whole(spent: Sequence[Guarantee[R]], budget: Budget, relation: R) -> ApproxDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    epsilon, delta = budget.epsilon, budget.delta
    derivation = derived(
        APPROX_DP_FILTER,
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
