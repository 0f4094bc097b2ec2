"""Several filters at once: a budget of (epsilon, delta)-DP that is spent in any of three ways."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from accountant import arguments
from accountant.arguments import Number
from accountant.arithmetic.crossing import bisect
from accountant.errors import ParameterError
from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.gdp import GDP
from accountant.guarantees.rounding import show
from accountant.guarantees.theorem import Theorem
from accountant.guarantees.zcdp import ZCDP
from accountant.relation import AddRemove, R
from accountant.side_conditions import SPENT_BEFORE

SEVERAL_FILTERS: Final = Theorem(rule="filter/several", source="proofs/theory/filters.md")
SHARES: Final[Mapping[str, int]] = {"basic": 2, "zcdp": 1, "gdp": 1}
_Notion: TypeAlias = Callable[[Fraction], GDP[AddRemove] | ZCDP[AddRemove]]
_HALVINGS: Final = 40  # of a bracket: how much of the budget is given away, not soundness


def several_filters(
    *,
    epsilon: Number,
    delta: Number,
    relation: R,
    budgets: Mapping[str, tuple[Fraction, ...]] | None = None,
) -> ApproxDP[R]:
    """Return what everything satisfies that is admitted by one of several filters.

    Statement: let filters 1, ..., k be (epsilon, delta_j)-DP each, with sum_j delta_j <= delta,
        and let a mechanism run only if at least one filter has admitted it and everything before
        it. Then all outputs together are (epsilon, delta)-DP. The delta_j are fixed before any
        output is seen.
    Source: proofs/theory/filters.md, 7.
    Rounds: nothing.
    Assumes: spent before.
    Laws: k = 1 is the filter itself.

    Args:
        epsilon: above 0, nats.
        delta: at or above 0, below 1.
        relation: which datasets are neighbours.
        budgets: of the filters by way, as ``limits`` divides them, for a certificate that they
            are (epsilon, delta_j)-DP; None if they are not divided yet.
    Example:
        >>> from accountant import AddRemove
        >>> several_filters(epsilon=3, delta=1e-6, relation=AddRemove()).describe()
        '(3, 1e-06)-DP'
    """
    derivation = Derivation(
        theorem=SEVERAL_FILTERS,
        statement=f"({show(arguments.positive(epsilon=epsilon))}, "
        f"{show(arguments.probability(delta=delta))})-DP, whatever is spent",
        assumptions=(SPENT_BEFORE(),),
        parameters=tuple((budgets or {}).items()),
    )
    return ApproxDP(epsilon=epsilon, delta=delta, relation=relation, derivation=derivation)


def limits(
    *, epsilon: Fraction, delta: Fraction, ways: Collection[str]
) -> dict[str, tuple[Fraction, ...]]:
    """Return the budgets of the filters that share a delta: whatever they admit is together DP.

    Args:
        epsilon: of all of them, above 0.
        delta: divided among them in proportion to ``SHARES``; below 1.
        ways: "basic" for sums of epsilon and of delta, "zcdp" for rho, "gdp" for mu squared.
    Raises:
        ParameterError: an unknown way.
    Example:
        >>> {way: len(limit) for way, limit in limits(
        ...     epsilon=Fraction(3), delta=Fraction(1, 10**6), ways=["basic", "gdp"]).items()}
        {'basic': 2, 'gdp': 1}
    """
    for way in ways:
        if way not in SHARES:
            raise ParameterError("ways", way, f"one of {', '.join(SHARES)}")
    return {way: _LIMITS[way](epsilon, share) for way, share in shares(delta, ways).items()}


def shares(delta: Fraction, ways: Collection[str]) -> dict[str, Fraction]:
    """Return the part of delta that each filter has, in proportion to ``SHARES``.

    Example:
        >>> shares(Fraction(1, 4), ["gdp", "zcdp"])
        {'zcdp': Fraction(1, 8), 'gdp': Fraction(1, 8)}
    """
    whole = sum(SHARES[way] for way in ways)
    return {way: delta * share / whole for way, share in SHARES.items() if way in ways}


def _largest(
    epsilon: Fraction,
    delta: Fraction,
    start: Fraction,
    notion: _Notion,
) -> Fraction:
    """Return a parameter, near the largest below a start, whose notion has epsilon at delta."""
    if delta == 0:
        return Fraction(0)

    def fits(parameter: Fraction) -> bool:
        return Fraction(notion(parameter).epsilon(delta=delta).upper) <= epsilon

    return bisect(fits, Fraction(0), start, rounds=_HALVINGS)[0]


def _basic(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    return epsilon, delta


def _zcdp(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    # A divergence of order 1 is at most epsilon + the rest: rho above epsilon + 1 never fits.
    return (_largest(epsilon, delta, epsilon + 1, lambda rho: ZCDP(rho=rho)),)


def _gdp(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    # mu-GDP has delta(epsilon) >= 1/4 from mu^2 = 2 epsilon + 8 on; larger deltas are no budget.
    return (_largest(epsilon, delta, 2 * epsilon + 8, lambda squared: GDP(mu_squared=squared)),)


_LIMITS: Final[Mapping[str, Callable[[Fraction, Fraction], tuple[Fraction, ...]]]] = {
    "basic": _basic,
    "zcdp": _zcdp,
    "gdp": _gdp,
}
