"""Selection from a Renyi curve: rounded up next to 0 too, against 80 digits."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dpproof.accountant import (
    RDP,
    ZCDP,
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    PureDP,
    RunLaw,
    select,
    self_compose,
)
from dpproof.accountant.engine.profile import deltas
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, PairGuarantee
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import TruncatedNegativeBinomial
from dpproof.accountant.theorems.composition import compose
from dpproof.accountant.theorems.conversion import convert
from dpproof.accountant.theorems.selection import select_above, select_pure, select_rdp
from dpproof.proofs import VerifiedUnder, check
from tests.accountant.run_counts.exact_laws import DIGITS, Known, draw, exact, log_uniform

CASES = 1000


def smallest(known: Known, order: Fraction, value: Fraction) -> mpmath.mpf:
    """The smallest of the theorem's bounds at the only order of a curve, but for Poisson runs."""
    excess, base = exact(order - 1), exact(value)
    size = mpmath.log(known.mean + known.phi(mpmath.mpf(0))) / excess
    first = known.slope(mpmath.mpf(0))
    bounds = [known.log_moment(excess * base) / excess]
    if first > 0:
        bounds.append(base + mpmath.log(known.mean / first) + size)
    if isinstance(known.law, TruncatedNegativeBinomial):
        tail, share = -mpmath.log(exact(known.law.gamma)), 1 / exact(order)
        least = (1 - share) * base + tail * share
        bounds.append(base + exact(1 + known.law.eta) * least + size)
    return min(bounds)


def test_a_coin_before_a_gaussian_attains_the_bound() -> None:
    """At most one run: log(1 - p + p e^((a-1) rho a))/(a-1) is the selection's own divergence."""
    rng = random.Random(1)  # noqa: S311
    with mpmath.workdps(4 * DIGITS):
        for _ in range(CASES):
            p, rho = log_uniform(rng, -250, -0.01), log_uniform(rng, -60, 1)
            order = 1 + log_uniform(rng, -9, 1)
            found = select_rdp(
                RDP(points=[(order, rho * order)]), BinomialRuns(trials=1, probability=p)
            )
            excess = exact(order - 1)
            true = mpmath.log1p(exact(p) * mpmath.expm1(excess * exact(rho * order))) / excess
            upper = exact(found.points[0][1])
            assert true <= upper, (p, rho, order)
            assert upper <= true * (1 + 2e-10) + 1e-290


def test_every_law_is_rounded_up() -> None:
    """At extreme parameters no answer is below the smallest of the stated bounds."""
    rng = random.Random(2)  # noqa: S311
    with mpmath.workdps(4 * DIGITS):
        for _ in range(CASES):
            known = draw(rng)
            order, value = 1 + log_uniform(rng, -9, 3), log_uniform(rng, -100, 1)
            try:
                found = select_rdp(RDP(points=[(order, value)]), known.law)
            except NotImplied:
                continue
            true, upper = smallest(known, order, value), exact(found.points[0][1])
            assert isinstance(known.law, PoissonRuns) or true <= upper, (known.law, order, value)
            assert upper <= true * (1 + 1e-3) + 1e-10


def test_a_rare_run_of_a_small_curve() -> None:
    """The mixture of a Gaussian has 1.1250000790e-9, where 1.1250000656e-9 once was claimed."""
    found = select(ZCDP(rho=1e-6), BinomialRuns(trials=1, probability=Fraction(1, 1000)))

    assert 1.12500007902e-9 <= found.rdp(order=Fraction(9, 8)).upper <= 1.1250000793e-9


def test_what_seems_nothing_adds_up() -> None:
    """A divergence below 1e-16 is not 0, as 10^12 of them compose."""
    runs = BinomialRuns(trials=10, probability=Fraction(1, 10))
    one = select(ZCDP(rho=1e-15), runs)

    assert one.rdp(order=2).upper >= 2e-15
    assert 0.1 < self_compose(one, 10**12).epsilon(delta=1e-6).upper < 1


@pytest.mark.parametrize(
    "runs",
    [
        BinomialRuns(trials=1, probability=Fraction(1, 1000)),
        BinomialRuns(trials=10, probability=Fraction(1, 1000)),
        PoissonRuns(rate=1e-9),
        TruncatedNegativeBinomial(eta=0, gamma=1 - Fraction(1, 10**12)),
        TruncatedNegativeBinomial(eta=Fraction(-1, 2), gamma=Fraction(1, 10)),
    ],
)
@pytest.mark.parametrize("rho", [1e-6, 1e-15])
def test_small_curves_are_certified(runs: RunLaw, rho: float) -> None:
    """The checker, which computes with balls, accepts what is claimed next to 0."""
    verdict = check(select_rdp(ZCDP(rho=rho), runs).certify(delta=1e-6))

    assert isinstance(verdict, VerifiedUnder)


def test_a_pure_excess_beyond_floats_is_exact() -> None:
    """Runs of the largest epsilons multiply them; no number overflows."""
    found = select_pure(PureDP(epsilon=1e308), FixedRuns(count=5))

    assert found.stated_epsilon == 5 * Fraction(1e308)


GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
DELTA = 1e-6


@pytest.mark.some(3)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
def test_random_stopping_is_twice_as_costly_at_most(epsilon: Fraction, gamma: Fraction) -> None:
    """Liu & Talwar's Theorem 3.1 for a pure base, but for the width of a cell in log g."""
    law = TruncatedNegativeBinomial(eta=1, gamma=gamma)
    found = select_above(PureDP(epsilon=epsilon), law).epsilon(delta=1e-9)

    assert found.upper <= 2 * epsilon + 0.01
    assert found.lower >= epsilon * 0.99


@pytest.mark.parametrize(
    ("runs", "width"), [(GEOMETRIC, 0.01), (PoissonRuns(rate=10), 0.01), (FixedRuns(count=3), 0.03)]
)
def test_brackets(runs: RunLaw, width: float) -> None:
    """More than one run, and a narrow answer at a small delta."""
    base = GDP(mu=0.25)
    found = select_above(base, runs).epsilon(delta=DELTA)

    assert base.epsilon(delta=DELTA).upper < found.lower
    assert found.relative_width < width


def test_one_run_costs_one_run() -> None:
    """With a single run only what is not released differs, which is post-processing."""
    base = GDP(mu=0.5)
    found = select_above(base, FixedRuns(count=1)).epsilon(delta=DELTA)

    assert found.lower <= base.epsilon(delta=DELTA).upper
    assert base.epsilon(delta=DELTA).lower <= found.upper


def test_composes() -> None:
    """The result is a guarantee like any other."""
    found = select_above(GDP(mu=0.25), GEOMETRIC)
    twice = self_compose(found, 2)

    assert found.derivation.rule == "select/above"
    assert any("threshold" in text for text in found.derivation.all_assumptions())
    assert twice.epsilon(delta=DELTA).upper > found.epsilon(delta=DELTA).upper


def test_relation_is_kept_and_others_refused() -> None:
    """The same neighbours; a number is no law; a Renyi curve alone has no pair."""
    assert select_above(GDP(mu=1, relation=ReplaceOne()), GEOMETRIC).relation == ReplaceOne()
    with pytest.raises(ParameterError, match="runs"):
        select_above(GDP(mu=1), 3)  # type: ignore[arg-type]
    with pytest.raises(NotImplied, match="ZCDP"):
        select_above(ZCDP(rho=1), GEOMETRIC)


ORDERS = [1 + 2.0**k for k in range(-6, 9)]
LAWS: list[RunLaw] = [
    GEOMETRIC,
    TruncatedNegativeBinomial(eta=Fraction(-1, 2), gamma=Fraction(1, 50)),
    PoissonRuns(rate=5),
    BinomialRuns(trials=6, probability=Fraction(1, 3)),
    FixedRuns(count=3),
    FiniteRuns(probabilities=(Fraction(1, 4), Fraction(1, 2), 0, 0, Fraction(1, 4))),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_selection_lies_between_one_run_and_all(law: RunLaw) -> None:
    """No score does worse than releasing all the runs, and some score does worse than one run."""
    base = GDP(mu=Fraction(1, 2))
    found = select(base, law).epsilon(delta=DELTA)

    if law.probability_of_none == 0.0:
        assert found.upper >= base.epsilon(delta=DELTA).lower
    if law.largest is not None:
        assert found.lower <= self_compose(base, law.largest).epsilon(delta=DELTA).upper


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_pure_closed_form_is_attained(law: RunLaw, epsilon: float) -> None:
    """At delta 0 the pair's bracket ends in the closed form, and its instance comes close."""
    base = PureDP(epsilon=epsilon)
    closed = float(select_pure(base, law).stated_epsilon)

    found = select(base, law).epsilon(delta=0)

    assert found.upper <= closed * (1 + 1e-9)
    assert found.lower >= closed * (0.98 if law.corner_is_worst else 0.9)


def test_pure_closed_forms() -> None:
    """The formulas of the corollary, written out."""
    e = math.exp(0.7)
    forms: list[tuple[RunLaw, float]] = [
        (GEOMETRIC, 0.7 + 2 * math.log((0.1 + e) / (1 + 0.1 * e))),
        (PoissonRuns(rate=5), 0.7 + 5 * math.tanh(0.35)),
        (BinomialRuns(trials=6, probability=0.25), 0.7 + 5 * math.log((0.75 + e) / (1 + 0.75 * e))),
        (FixedRuns(count=4), 2.8),
    ]
    for law, value in forms:
        found = float(select_pure(PureDP(epsilon=0.7), law).stated_epsilon)
        assert value - 1e-12 <= found <= value + 1e-9


def test_pure_bound_of_finite_laws_is_a_maximum() -> None:
    """For a law whose worst set is not the corner the cells find more than the corner."""
    law = FiniteRuns(probabilities=(0, Fraction(999, 1000), *[Fraction(0)] * 98, Fraction(1, 1000)))
    e = math.exp(1.0)
    c = np.linspace(0.0, 1.0, 200_001)
    tau = np.maximum(c / e, 1 - e * (1 - c))
    truth = 1.0 + float(np.log(law.derivative(c) / law.derivative(tau)).max())
    corner = np.array([e / (1 + e), 1 / (1 + e)])
    at_corner = 1.0 + float(np.diff(-np.log(law.derivative(corner)))[0])

    found = float(select_pure(PureDP(epsilon=1), law).stated_epsilon)

    assert truth <= found <= truth * 1.01
    assert truth > at_corner + 0.01


def test_one_run_changes_nothing() -> None:
    """The guarantee itself comes back; a law that is one run almost surely costs as one run."""
    base = GDP(mu=1)
    once = FiniteRuns(probabilities=(0, 1))

    assert select(base, FixedRuns(count=1)) is base
    found, plain = select(base, once).epsilon(delta=DELTA), base.epsilon(delta=DELTA)
    assert found.lower <= plain.upper
    assert plain.lower <= found.upper <= plain.upper * 1.001


def test_nothing_reveals_nothing() -> None:
    """The best of runs that reveal nothing reveals nothing."""
    assert select(PureDP(epsilon=0), GEOMETRIC).epsilon(delta=0).upper == 0.0


def test_more_runs_cost_more() -> None:
    """Epsilon grows with the number of runs, within each family."""
    base = GDP(mu=Fraction(1, 2))
    families: list[list[RunLaw]] = [
        [TruncatedNegativeBinomial(eta=1, gamma=g) for g in (0.5, 0.01)],
        [TruncatedNegativeBinomial(eta=eta, gamma=0.1) for eta in (-0.5, 0, 1)],
        [PoissonRuns(rate=rate) for rate in (1, 8)],
        [FixedRuns(count=count) for count in (2, 3)],
    ]
    for family in families:
        costs = [select(base, law).epsilon(delta=DELTA) for law in family]
        for fewer, more in pairwise(costs):
            assert fewer.upper < more.lower


@pytest.mark.slow
def test_selection_composes() -> None:
    """With others and with itself it costs what it has to."""
    once = select(GDP(mu=Fraction(1, 4)), GEOMETRIC)
    alone = once.epsilon(delta=DELTA)

    assert isinstance(once, DominatingPair)
    both = compose(once, PureDP(epsilon=0.1)).epsilon(delta=DELTA)
    assert alone.lower <= both.upper <= alone.upper + 0.1
    assert both.lower >= alone.lower
    ten = self_compose(once, 10).epsilon(delta=DELTA)
    assert alone.upper < ten.lower <= ten.upper < 10 * alone.upper


@pytest.mark.slow
def test_selection_is_selected_again() -> None:
    """The best of the best of some runs costs more than the best of some."""
    once = select(GDP(mu=Fraction(1, 4)), GEOMETRIC)
    alone = once.epsilon(delta=DELTA)
    again = select(once, TruncatedNegativeBinomial(eta=0, gamma=0.5)).epsilon(delta=DELTA)
    assert alone.lower < again.upper < 2 * alone.upper


def test_approximate_privacy_keeps_its_infinite_mass() -> None:
    """A delta below the runs' own is out of reach, above it is not."""
    found = select(ApproxDP(epsilon=1, delta=1e-8), GEOMETRIC)

    assert found.epsilon(delta=1e-8).lower == math.inf
    assert found.epsilon(delta=1e-6).upper < 2.7


def koskela_redberg_wang(
    guarantee: PairGuarantee[AddRemove], runs: TruncatedNegativeBinomial, *, delta: float
) -> float:
    """Return epsilon of a selection by arXiv:2402.06701, which ``select`` never exceeds.

    For runs of mean m, every e >= 0, and the base's profile d, the larger of both directions, the
    selection has profile at most m d(epsilon - (eta + 1) log(e^e + (1 - gamma)/gamma d(e))). So its
    epsilon at delta is at most the base's at delta/m plus the least of these shifts: a consequence
    of Theorem 2 in proofs/theory/selection.md, Section 3.
    """
    alone = guarantee.epsilon(delta=Fraction(delta) / Fraction(runs.mean * (1 + 1e-10))).upper
    if math.isinf(alone):
        return math.inf
    pair = guarantee.to_pair()
    points = np.linspace(0.0, max(alone, 1e-9), 400)
    heights = np.maximum(deltas(pair.forward, points)[1], deltas(pair.backward, points)[1])
    odds = float((1 - runs.gamma) / runs.gamma)
    logs = points + np.log1p(odds * heights * np.exp(-points))  # digits next to 0, too
    return alone + float(runs.eta + 1) * float(logs.min())


@pytest.mark.some(10)
@pytest.mark.parametrize("eta", [-0.5, 0, 1])
@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("base", [GDP(mu=0.1), GDP(mu=1), GDP(mu=4), PureDP(epsilon=1)])
def test_never_above_earlier_bounds(
    base: PairGuarantee[AddRemove], eta: float, gamma: float
) -> None:
    """At or below Koskela, Redberg & Wang and Papernot & Steinke, at small and large delta."""
    law = TruncatedNegativeBinomial(eta=eta, gamma=gamma)
    by_orders = select(convert(base, to=RDP, orders=ORDERS), law)
    for delta in (1e-10, 1e-6, 1e-2):
        found = select(base, law).epsilon(delta=delta).upper

        assert found <= koskela_redberg_wang(base, law, delta=delta) * (1 + 1e-3)
        assert found <= by_orders.epsilon(delta=delta).upper * (1 + 1e-9)


def test_koskela_values() -> None:
    """The values the bound was first compared at."""
    for mu, eta, gamma, value in (
        (0.25, 1, 0.1, 1.983),
        (0.25, 0, 0.1, 1.534),
        (0.1, 1, 0.001, 1.199),
    ):
        law = TruncatedNegativeBinomial(eta=eta, gamma=gamma)
        assert koskela_redberg_wang(GDP(mu=mu), law, delta=DELTA) == pytest.approx(value, abs=1e-3)


def test_renyi_base() -> None:
    """Below a pair's information, above one run, and the winner is named at every order."""
    rho = Fraction(1, 32)
    by_pair = select(GDP(mu_squared=2 * rho), GEOMETRIC)
    for base in (ZCDP(rho=rho), RDP(points=[(a, a * rho) for a in (2, 8, 32, 128)])):
        found = select(base, GEOMETRIC)
        assert isinstance(found, RDP)
        assert "Theorem 2" in found.derivation.statement
        assert found.epsilon(delta=DELTA).upper > by_pair.epsilon(delta=DELTA).lower
        assert found.rdp(order=8).upper > base.rdp(order=8).lower


def test_renyi_formulas() -> None:
    """Theorem 2 of Papernot & Steinke at one order, and what all runs cost."""
    base = RDP(points=[(2, Fraction(1, 100)), (50, Fraction(1, 2))])
    order, eta, gamma = 50, 1.0, 0.1
    best = min(
        (1 - 1 / other) * value + math.log(1 / gamma) / other
        for other, value in ((2, 0.01), (50, 0.5))
    )
    expected = 0.5 + (1 + eta) * best + math.log(10) / (order - 1)
    geometric = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))

    assert select(base, geometric).rdp(order=50).upper == pytest.approx(expected)
    three = select(base, FixedRuns(count=3))
    assert three.rdp(order=2).upper == pytest.approx(0.03)
    assert "all runs released" in three.derivation.statement
    half = select(base, BinomialRuns(trials=2, probability=0.5)).rdp(order=2).upper
    assert half == pytest.approx(2 * math.log(0.5 + 0.5 * math.exp(0.01)))


def test_renyi_bounds_cover_enumeration() -> None:
    """For a finite base and every order of its outcomes, divergences stay below the bound."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.25, 0.35])
    orders = (1.5, 2.0, 4.0, 16.0)

    def divergence(a: np.ndarray, b: np.ndarray, order: float) -> float:
        return float(np.log((a**order * b ** (1 - order)).sum()) / (order - 1))

    stated = [(a, max(divergence(p, q, a), divergence(q, p, a))) for a in orders]
    for law in LAWS:
        found = select(RDP(points=stated), law)
        for ranked in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
            chances = []
            for masses in (p, q):
                above = np.concatenate([[0.0], masses[ranked].cumsum()])
                chances.append(-np.diff(law.pgf(np.clip(1 - above, 0, 1))))
            none = law.probability_of_none
            for a in (1.5, 2.0, 4.0):
                for one, other in (chances, chances[::-1]):
                    total = (one**a * other ** (1 - a)).sum() + none
                    assert math.log(total) / (a - 1) <= found.rdp(order=a).upper * (1 + 1e-9)


def test_relation_and_assumptions_are_kept() -> None:
    """The result speaks of the same neighbours and says what selection takes for granted."""
    for base in (GDP(mu=1, relation=ReplaceOne()), ZCDP(rho=1, relation=ReplaceOne())):
        found = select(base, GEOMETRIC)
        assert found.relation == ReplaceOne()
        assert any("score" in text for text in found.derivation.all_assumptions())
        assert found.derivation.rule in {"select/pair", "select/rdp"}


@pytest.mark.parametrize("runs", [3, 0.5, "geometric", None])
def test_a_number_is_not_a_law(runs: object) -> None:
    """How the number of runs is drawn has to be said."""
    with pytest.raises(ParameterError, match="runs"):
        select(GDP(mu=1), runs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "runs",
    [
        TruncatedNegativeBinomial(eta=-1 + Fraction(1, 10**400), gamma=Fraction(1, 10)),
        BinomialRuns(trials=1, probability=1 - Fraction(1, 10**200)),
        TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10)),
    ],
)
def test_extreme_laws_and_epsilons_are_answered(runs: RunLaw) -> None:
    """Next to one run a selection is one run, and the largest epsilon has a delta."""
    alone, selected = GDP(mu=0.5), select(GDP(mu=0.5), runs)

    assert selected.delta(epsilon=1).upper >= alone.delta(epsilon=1).lower
    assert selected.delta(epsilon=1).upper < (0.13 if runs.mean > 2 else 0.00684)
    assert selected.delta(epsilon=700).upper < 1e-100


def test_an_infinite_epsilon_has_an_infinite_mass() -> None:
    """What one direction betrays the other one is asked for at infinity."""
    third, half = Fraction(1, 3), Fraction(1, 2)
    pair = FinitePair(p=(Fraction(0), third, 2 * third), q=(half, half, Fraction(0)))
    base: DominatingPair[AddRemove] = DominatingPair(forward=Product.of(pair))
    runs = FiniteRuns(probabilities=(Fraction(1, 9), Fraction(8, 9)))

    assert select(base, runs).epsilon(delta=Fraction(1, 8)).lower == math.inf
