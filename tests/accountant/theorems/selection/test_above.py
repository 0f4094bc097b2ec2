"""Stopping at a threshold: what it never exceeds, how wide it is, what it refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import ReplaceOne
from dpproof.accountant.run_counts.fixed import FixedRuns
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.run_counts.poisson import PoissonRuns
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.accountant.theorems.composition.compose import self_compose
from dpproof.accountant.theorems.selection.above import select_above

GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
DELTA = 1e-6


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
