"""Privacy filters against adversaries that choose by looking, by exact enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxDPFilter,
    BudgetExceeded,
    GDPFilter,
    NotCertified,
    NotImplied,
    ParameterError,
    PrivacyFilter,
    PrivacyProfile,
    PureDP,
    RelationMismatch,
    RenyiFilter,
    ReplaceOne,
    ZCDPFilter,
    compose,
    group,
)
from dpproof.proofs import VerifiedUnder, check
from tests.accountant.adaptive.builders import apart, spent_filters

Leaf = tuple[float, float]  # probabilities of one path under both datasets


def response(epsilon: float, delta: float = 0.0) -> list[Leaf]:
    """Outcomes of randomised response beside a flag that tells."""
    high = (1 - delta) / (1 + math.exp(-epsilon))
    low = (1 - delta) / (1 + math.exp(epsilon))
    told = [(delta, 0.0), (0.0, delta)] if delta else []
    return [(high, low), (low, high), *told]


def paths(
    budget: PrivacyFilter[Any], rng: np.random.Generator, depth: int, *, failing: bool
) -> Iterator[Leaf]:
    """Every path of an adversary that draws its next parameters anew in every branch."""
    epsilon = float(rng.choice([0.05, 0.3, 0.7, 1.2]) * rng.uniform(0.5, 1.0))
    delta = float(rng.choice([0.0, 0.01, 0.03])) if failing else 0.0
    stated = ApproxDP(epsilon=epsilon, delta=delta) if failing else PureDP(epsilon=epsilon)
    if depth == 0 or not budget.admits(stated):
        yield 1.0, 1.0
        return
    budget.spend(stated)
    for p, q in response(epsilon, delta):
        for more in paths(apart(budget), rng, depth - 1, failing=failing):
            yield p * more[0], q * more[1]


def hockey_stick(leaves: list[Leaf], epsilon: float) -> float:
    """The divergence of all outputs."""
    return sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in leaves)


FILTERS: list[Any] = [
    ZCDPFilter(rho=0.4),
    GDPFilter(mu=1),
    ApproxDPFilter(epsilon=2, delta=0.1, failures=0),
    RenyiFilter(order=4, epsilon=1.5),
]


def named(budget: PrivacyFilter[Any]) -> str:
    """Return the name of the filter's class, for the test's id."""
    return type(budget).__name__


@pytest.mark.parametrize("budget", FILTERS, ids=named)
def test_no_adversary_exceeds_the_guarantee(budget: PrivacyFilter[Any]) -> None:
    """Random adaptive trees of pure answers, at many epsilons or at the order."""
    rng = np.random.default_rng(2)
    whole = budget.guarantee()
    points = [2.0] if isinstance(whole, ApproxDP) else [0.0, 0.5, 1.0, 2.0, 3.0]
    allowed = [whole.delta(epsilon=epsilon).upper for epsilon in points]
    for _ in range(30):
        leaves = list(paths(apart(budget), rng, 6, failing=False))
        assert math.isclose(sum(p for p, _ in leaves), 1.0)
        if isinstance(whole, RDP):
            moment = sum(p**4 / q**3 for p, q in leaves)
            assert math.log(moment) / 3 <= 1.5 + 1e-9
            continue
        for epsilon, most in zip(points, allowed, strict=True):
            assert hockey_stick(leaves, epsilon) <= most + 1e-12


def test_no_adversary_fails_more_often() -> None:
    """The same with parts that have deltas of their own."""
    rng = np.random.default_rng(3)
    budget = ApproxDPFilter(epsilon=1.5, delta=0.1)
    for _ in range(30):
        leaves = list(paths(apart(budget), rng, 5, failing=True))
        assert hockey_stick(leaves, 1.5) <= 0.1 + 1e-12


def test_stopping_at_a_composed_profile_is_not_private() -> None:
    """Each branch stays within the composed target, all together do not; the filter refuses."""
    first, second, target = PureDP(epsilon=1), PureDP(epsilon=1.5), 2.0
    delta = compose(first, second).delta(epsilon=target).upper
    other = compose(first, ApproxDP(epsilon=0, delta=delta)).delta(epsilon=target)
    assert other.lower <= delta * (1 + 1e-9)
    nexts = (response(1.5), response(0.0, delta))
    leaves = [
        (p * a, q * b)
        for (p, q), following in zip(response(1.0), nexts, strict=True)
        for a, b in following
    ]
    expected = delta * (1 + 1 / (1 + math.e))
    assert hockey_stick(leaves, target) == pytest.approx(expected, rel=1e-9)
    assert not _spent(ApproxDPFilter(epsilon=target, delta=delta), first, second)


def _spent(budget: ApproxDPFilter[Any], *parts: PureDP[Any]) -> bool:
    """Whether all parts can be spent, one after the other."""
    try:
        for part in parts:
            budget.spend(part)
    except BudgetExceeded:
        return False
    return True


@pytest.mark.parametrize("budget", FILTERS, ids=named)
def test_refusals_change_nothing(budget: Any) -> None:  # noqa: ANN401  # of any kind
    """What is over the budget, of other neighbours, of groups, a profile, or nothing is refused."""
    used = apart(budget)
    used.spend(PureDP(epsilon=0.1))
    before = used.remaining
    for wrong, refusal in (
        (PureDP(epsilon=5), BudgetExceeded),
        (PureDP(epsilon=0.1, relation=ReplaceOne()), RelationMismatch),
        (group(PureDP(epsilon=0.1), size=2), NotImplied),
        (PrivacyProfile(points=((0, 0.1), (1, 0.01))), NotImplied),
        (0.1, ParameterError),
    ):
        with pytest.raises(refusal):
            used.spend(wrong)
    with pytest.raises(NotImplied, match="where a composed profile crosses a target"):
        used.admits(PrivacyProfile(points=((0, 0.1), (1, 0.01))))
    assert used.remaining == before
    with pytest.raises(ParameterError):
        compose(used)


def test_sums_are_exact() -> None:
    """The last fraction of a budget can be spent, and nothing after it."""
    thirds = ZCDPFilter(rho=Fraction(1, 10))
    for _ in range(3):
        thirds.spend(ZCDP(rho=Fraction(1, 30)))
    assert thirds.remaining == 0
    assert thirds.admits(ZCDP(rho=0))
    assert not thirds.admits(ZCDP(rho=Fraction(1, 10**30)))
    squares = GDPFilter(mu=5)
    squares.spend(GDP(mu=3))
    squares.spend(GDP(mu=4))
    assert squares.remaining == 0
    assert squares.guarantee() == GDP(mu=5)


def test_deltas_of_parts_add_up() -> None:
    """What is kept for failures is spent exactly, and then pure parts alone are admitted."""
    budget = ApproxDPFilter(epsilon=10, delta=0.5, failures=Fraction(1, 10))
    part = ApproxDP(epsilon=0.01, delta=Fraction(1, 20))
    budget.spend(part)
    budget.spend(part)
    rho, failures = budget.remaining
    assert failures == 0 < rho
    assert budget.admits(PureDP(epsilon=0.01))
    assert not budget.admits(ApproxDP(epsilon=0.01, delta=Fraction(1, 10**30)))
    assert budget.guarantee() == ApproxDP(epsilon=10, delta=0.5)


def test_approximate_dp_beats_the_published_constants() -> None:
    """What Whitehouse et al. admit is admitted, and more."""
    epsilon, each, delta = 6.0, 0.1, 1e-6
    theirs = 0
    while _published((theirs + 1) * each**2, delta) <= epsilon:
        theirs += 1
    budget, ours = ApproxDPFilter(epsilon=epsilon, delta=delta, failures=0), 0
    while budget.admits(PureDP(epsilon=each)):
        budget.spend(PureDP(epsilon=each))
        ours += 1
    assert ours > theirs > 90


def _published(squares: float, delta: float) -> float:
    """Epsilon of a sum of squares, by arXiv:2203.05481."""
    return math.sqrt(2 * math.log(1 / delta) * squares) + 0.5 * squares


def test_reprs() -> None:
    """What is left is read off a filter, on one line, and a refusal names what is short."""
    budget = ApproxDPFilter(epsilon=1, delta=1e-6)
    budget.spend(ApproxDP(epsilon=0, delta=1e-7))
    assert repr(budget).startswith("<ApproxDPFilter: ρ = 0.0229374 of 0.0229374 and δ = 4e-07 of 5")
    with pytest.raises(BudgetExceeded, match="costs ρ = 0 and δ = 1e-06, and ρ = "):
        budget.spend(ApproxDP(epsilon=0, delta=1e-6))
    assert repr(GDPFilter(mu=Fraction(10) ** 400)).endswith("left, add-remove>")


def test_bad_budgets() -> None:
    """Budgets that are no numbers of their kind, or about no neighbours, are refused."""
    for make in (
        lambda: ZCDPFilter(rho=1, relation="add-remove"),  # type: ignore[call-overload]
        lambda: GDPFilter(mu=1, relation=ReplaceOne),  # type: ignore[call-overload]
        lambda: ZCDPFilter(rho=-1),
        lambda: GDPFilter(mu=float("nan")),
        lambda: RenyiFilter(order=1, epsilon=1),
        lambda: ApproxDPFilter(epsilon=1, delta=1e-6, failures=1e-6),
    ):
        with pytest.raises(ParameterError):
            make()


@pytest.mark.parametrize("used", spent_filters(), ids=lambda used: type(used).__name__)
def test_a_spent_filter_is_certified(used: PrivacyFilter[Any]) -> None:
    """The checker accepts the budget with what was spent from it, and names what ran."""
    guarantee = used.guarantee()
    verdict = check(guarantee.certify())

    assert isinstance(verdict, VerifiedUnder), verdict
    asked = any("in this run" in said for said in verdict.assumptions)
    assert asked == bool(guarantee.derivation.premises)


def test_spends_that_proofs_find_dearer_are_not_certified() -> None:
    """A conversion that a proof raises above all that is left is refused, and not claimed."""
    for budget, dearer, given in (
        (ZCDPFilter(rho=1), ZCDP(rho=2), {"rho": Fraction(1)}),
        (GDPFilter(mu=1), GDP(mu=2), {"mu_squared": Fraction(1)}),
    ):
        theorem = budget.guarantee().derivation.theorem
        assert theorem.again is not None
        with pytest.raises(NotCertified, match="leave a little of the budget unspent"):
            theorem.again([dearer], given)
