"""Lines above a selection with a threshold, and what they are made of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.run_counts.law import FixedRuns, TruncatedNegativeBinomial
from dpproof.accountant.selection.finite_base import Outcomes
from dpproof.accountant.selection.threshold_lines import Lines, _Sums, least_runs, most_runs
from dpproof.accountant.theorems.composition import compose
from dpproof.accountant.theorems.selection import select_above


def some_outcomes(seed: int) -> tuple[Outcomes, list[Fraction], list[Fraction]]:
    """Random masses by falling loss, as floats and exactly, with mass on one side alone."""
    rng = np.random.default_rng(seed)
    p, q = (rng.integers(1, 2**20, size=9) * rng.integers(1, 2**9, size=9) for _ in range(2))
    q[0] = 0
    p[-1] = 0
    order = np.argsort(-(p / np.maximum(q, 1e-9)))
    p_exact = [Fraction(int(one), int(p.sum())) for one in p[order]]
    q_exact = [Fraction(int(one), int(q.sum())) for one in q[order]]
    p_float = np.array([float(one) for one in p_exact[:-1]])
    q_float = np.array([float(one) for one in q_exact[:-1]])
    with np.errstate(divide="ignore"):
        loss = np.log(p_float / q_float)
    return Outcomes(p_float, q_float, loss, float(q_exact[-1])), p_exact, q_exact


def mass_under_q(x: Fraction, p: list[Fraction], q: list[Fraction]) -> Fraction:
    """The mass under Q of the first outcomes of mass x under P, exactly."""
    total = Fraction(0)
    for one, other in zip(p, q, strict=True):
        if one:
            total += min(x / one, Fraction(1)) * other
            x -= min(x, one)
    return total


@pytest.mark.parametrize("seed", range(4))
def test_lines_of_masses_are_outside(seed: int) -> None:
    """Over cells of all sizes y is at or below T and s at or above B, and near it on small ones."""
    above, p, q = some_outcomes(seed)
    sums, rng = _Sums.of(above), np.random.default_rng(seed)
    starts = np.append(rng.integers(0, 2**10, size=60), [0, 0, 1023]) / 2**10
    ends = np.minimum(starts + np.append(2.0 ** -rng.integers(1, 20, size=60), [0.5, 1e-3, 1]), 1.0)
    cells = np.stack([starts, np.rint(ends * 2**50) / 2**50])
    y, s = sums.least(cells), sums.most(cells)
    for k in range(cells.shape[1]):
        for share in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)):
            x = Fraction(cells[0, k]) * (1 - share) + Fraction(cells[1, k]) * share
            least = mass_under_q(x, p, q)
            most = 1 - mass_under_q(1 - x, p, q)
            line, other = (
                Fraction(one[0]) * (1 - share) + Fraction(one[1]) * share
                for one in (y[:, k], s[:, k])
            )
            assert 0 <= line <= least
            assert most <= other
            if share == Fraction(1, 2):
                wide = float(cells[1, k] - cells[0, k])
                assert most - other >= -1e-9
                assert wide > 1e-3 or float(least - line) < 30 * wide + 1e-9


def test_the_hull_keeps_the_largest_lines() -> None:
    """Of thousands of lines the largest at each epsilon is kept, and the ends enclose it."""
    rng = np.random.default_rng(5)
    q = rng.exponential(size=4000) * 10.0 ** -rng.integers(0, 9, size=4000)
    p = np.sqrt(q) * rng.random(4000)
    found, epsilon = Lines.of(p, q), np.linspace(-2.0, 12.0, 400)
    true = np.maximum((p - np.exp(epsilon)[:, None] * q).max(axis=1), 0.0)
    assert (found.lower(epsilon) <= true).all()
    assert (true <= found.upper(epsilon)).all()
    assert (found.upper(epsilon) - found.lower(epsilon) <= 3e-9).all()


def test_means_of_runs_are_enclosed() -> None:
    """g(a) = 1/(gamma + (1 - gamma) a) of geometric runs, at masses of all sizes."""
    gamma = 0.125
    runs = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 8))
    a = np.concatenate([10.0 ** -np.arange(1.0, 13.0), [0.25, 0.5, 0.75, 1.0]])
    true = 1 / (gamma + (1 - gamma) * a)
    high, low = most_runs(runs, a, 1.0 - a), least_runs(runs, a, 1.0 - a)
    assert (low <= true).all()
    assert (true <= high).all()
    assert (high - low <= 1e-5 * true).all()


def test_means_of_runs_at_masses_next_to_none() -> None:
    """At masses without digits the bound is the mean number of runs, and nothing overflows."""
    least = np.array([0.0, 5e-324, 2e-323, 1e-321, 1e-310])
    high = most_runs(FixedRuns(count=2), least, np.ones(5))

    assert (high >= 2.0).all()
    assert (high < 2.0 + 1e-9).all()


def test_brackets_beside_a_gaussian_are_narrow() -> None:
    """Ten geometric runs of a 0.25-GDP mechanism beside a Gaussian: within 2e-4."""
    stopped = select_above(GDP(mu=0.25), TruncatedNegativeBinomial(eta=1, gamma=0.1))
    found = compose(stopped, GDP(mu=0.5)).epsilon(delta=1e-6)
    assert found.relative_width < 2e-4
    assert 2.8695 < found.lower < found.upper < 2.8700
