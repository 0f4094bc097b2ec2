"""Selection from small finite mechanisms: every order of the outcomes, every law of the runs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from accountant.pairs.finite import FinitePair
from accountant.pairs.product import Product
from accountant.run_counts.binomial import BinomialRuns
from accountant.run_counts.finite import FiniteRuns
from accountant.run_counts.fixed import FixedRuns
from accountant.run_counts.law import RunLaw
from accountant.run_counts.poisson import PoissonRuns
from accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from accountant.selection.finite_base import Outcomes
from accountant.selection.selected_pair import SelectedPair
from accountant.selection.shifted_mixture import shifts
from accountant.selection.worst_instance import instance
from accountant.selection.worst_order import worst_case
from accountant.selection.worst_order_terms import worst_order_terms

Array = NDArray[np.float64]
LONG = 3000  # masses of the number of runs beyond are below 1e-16 for every law drawn here
CHANGE = 0.06
ROUNDING = 1e-10


@dataclass(frozen=True)
class Runs:
    """A law next to its masses, written from the definition of the law, not taken from it."""

    law: RunLaw
    masses: Array

    def none_above(self, mass: Array) -> Array:
        """The probability that no run's outcome lies in a set of some mass: sum p_k (1-a)^k."""
        kept = self.masses[: int(np.flatnonzero(self.masses > 1e-18)[-1]) + 1]
        value = np.polynomial.polynomial.polyval(np.clip(1.0 - mass, 0.0, 1.0), kept)
        return np.asarray(value, dtype=np.float64)


def drawn_runs(rng: np.random.Generator) -> Runs:
    """A law of any kind."""
    k = np.arange(LONG)
    kind = rng.integers(5)
    if kind == 0:
        eta, gamma = rng.choice([0.0, 1.0, rng.uniform(-0.95, 3)]), rng.uniform(0.1, 0.95)
        logs = [k[1] * math.log(1 - gamma)]
        for i in range(1, LONG - 1):
            logs.append(logs[-1] + math.log((1 - gamma) * (i + eta) / (i + 1)))
        masses = np.exp(np.array(logs))
        law: RunLaw = TruncatedNegativeBinomial(eta=eta, gamma=gamma)
        return Runs(law, np.insert(masses / masses.sum(), 0, 0.0))
    if kind == 1:
        rate = rng.uniform(0.05, 8)
        masses = np.exp(k * math.log(rate) - rate - [math.lgamma(i + 1) for i in k])
        return Runs(PoissonRuns(rate=rate), masses)
    if kind == 2:
        n, p = int(rng.integers(1, 9)), rng.uniform(0.05, 0.95)
        masses = np.array([math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)])
        return Runs(BinomialRuns(trials=n, probability=p), masses)
    if kind == 3:
        n = int(rng.integers(1, 8))
        return Runs(FixedRuns(count=n), np.eye(n + 1)[n])
    whole = rng.integers(0, 9, size=int(rng.integers(2, 9)))
    whole[-1] += 1
    exact = [Fraction(int(one), int(whole.sum())) for one in whole]
    return Runs(FiniteRuns(probabilities=exact), whole / whole.sum())


def drawn_masses(rng: np.random.Generator, size: int) -> tuple[list[Fraction], list[Fraction]]:
    """Two distributions, some outcomes with mass under only one of them."""
    p, q = rng.integers(0, 12, size), rng.integers(0, 12, size)
    p[rng.integers(size)] += 1
    q[rng.integers(size)] += 1
    alive = (p > 0) | (q > 0)
    return (
        [Fraction(int(one), int(p.sum())) for one in p[alive]],
        [Fraction(int(one), int(q.sum())) for one in q[alive]],
    )


def worst_of_all_orders(runs: Runs, p: Array, q: Array, epsilon: float) -> float:
    """The largest hockey-stick divergence of the selected outcomes, over every order."""
    orders = np.array(list(itertools.permutations(range(p.size))))
    chances = []
    for masses in (p, q):
        above = np.concatenate([np.zeros((len(orders), 1)), masses[orders].cumsum(axis=1)], axis=1)
        best_is_below = runs.none_above(above)
        chances.append(best_is_below[:, :-1] - best_is_below[:, 1:])
    none = max(float(runs.masses[0]) * -math.expm1(epsilon), 0.0)
    gains = np.maximum(chances[0] - math.exp(epsilon) * chances[1], 0.0).sum(axis=1)
    return float(gains.max()) + none


def outcomes(p: Array, q: Array) -> Outcomes:
    """By falling loss; what has no mass under the first is set apart."""
    kept = p > 0
    unseen = float(q[~kept].sum())
    with np.errstate(divide="ignore"):
        loss = np.log(p[kept]) - np.log(q[kept])
    order = np.argsort(-loss, kind="stable")
    return Outcomes(p[kept][order], q[kept][order], loss[order], unseen)


def halved(masses: list[Fraction], most: int) -> Array:
    """As floats, every outcome cut in two by a coin where that leaves few enough to permute."""
    exact = np.array([float(one) for one in masses])
    return np.repeat(exact / 2, 2) if exact.size * 2 <= most else exact


def check(seed: int) -> None:
    """One random mechanism, law and epsilon: enumeration against both bounds and the instance."""
    rng = np.random.default_rng(seed)
    runs = drawn_runs(rng)
    p, q = drawn_masses(rng, int(rng.integers(2, 6)))
    epsilon = float(rng.choice([0.0, rng.uniform(0.0, 2.5), rng.exponential(0.3)]))
    truth = worst_of_all_orders(runs, halved(p, 6), halved(q, 6), epsilon)
    base = outcomes(np.array([float(one) for one in p]), np.array([float(one) for one in q]))
    if not base.p.size:
        return

    divergence = shifts(base, runs.law, CHANGE)
    exact = worst_case(base, runs.law, epsilon, -math.inf, CHANGE)
    least, ignored = divergence.ignored(1e-3)
    cut = worst_case(base, runs.law, epsilon, epsilon + least, CHANGE) + ignored
    sizes = {"blocks": int(rng.integers(2, 40)), "masses": int(rng.integers(2, 80))}
    terms = worst_order_terms(base, runs.law, **sizes).upper(np.array([epsilon]))[0]
    lower = instance(base, runs.law, epsilon, -math.inf, CHANGE).lower(np.array([epsilon]))[0]

    place = f"seed {seed}: {runs.law.describe()}, p {p}, q {q}, epsilon {epsilon}"
    assert truth <= float(divergence.upper(np.array([epsilon]))[0]) + ROUNDING, place
    assert truth <= exact + ROUNDING, place
    assert truth <= cut + ROUNDING, place
    assert truth <= terms + ROUNDING, place
    assert lower <= exact + ROUNDING, place
    assert exact - lower <= 0.01 * exact + 2e-3, place


@pytest.mark.parametrize("part", range(4))
def test_no_order_beats_the_bounds(part: int) -> None:
    """Hundreds of random mechanisms, laws and epsilons; the instance comes close to the bound."""
    for seed in range(part, 160, 4):
        check(seed)


@pytest.mark.slow
def test_no_order_beats_the_bounds_in_thousands() -> None:
    """The same, thousands of times."""
    for seed in range(160, 2000):
        check(seed)


@pytest.mark.parametrize("seed", range(7))
def test_both_directions_and_negative_epsilons(seed: int) -> None:
    """The pair itself, in both orders, below 0 as well, where no run at all counts."""
    rng = np.random.default_rng(10_000 + seed)
    runs = drawn_runs(rng)
    p, q = drawn_masses(rng, 3)
    pair = SelectedPair(base=Product.of(FinitePair(p=tuple(p), q=tuple(q))), runs=runs.law)
    for one, masses in ((pair, (p, q)), (pair.swapped(), (q, p))):
        first, second = (halved(mass, 6) for mass in masses)
        for epsilon in (-1.0, -0.2, 0.0, 0.4, 1.2):
            truth = worst_of_all_orders(runs, first, second, epsilon)
            lower, upper = one.profile(np.array([epsilon]))

            assert truth <= upper[0] + ROUNDING
            assert lower[0] <= upper[0]


def test_a_law_that_is_worse_is_caught() -> None:
    """The enumeration finds a violation as soon as the law understates its runs."""
    p, q = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    runs = Runs(FixedRuns(count=2), np.eye(4)[3])

    truth = worst_of_all_orders(runs, np.repeat(p / 2, 2), np.repeat(q / 2, 2), 1.8)

    assert truth > worst_case(outcomes(p, q), runs.law, 1.8, -math.inf, CHANGE) + 0.01
