"""Mixtures of products by a public law, against the enumeration of their outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.mixture import MixturePair
from tests.accountant.subsampling.builders import bases, times
from tests.contracts.definition import Outcomes, ball
from tests.contracts.pair_contract import Case, PairContract, flipped
from tests.contracts.tabulated_contract import TabulatedContract

WEIGHTS = (Fraction(1, 3), Fraction(1, 6), Fraction(1, 2))


class TestMixture(TabulatedContract, PairContract):
    """Finite parts, whose outcomes are listed side by side; K is that of a table above."""

    table_width = 1e-9
    profile_width = 1e-8
    bracket_width = 0.1

    def cases(self) -> Sequence[Case]:
        """Three parts, and two of them."""
        found = []
        for weights, parts in (
            (WEIGHTS, bases()),
            ((Fraction(1, 4), Fraction(3, 4)), bases()[::2]),
        ):
            pair = MixturePair(weights=weights, parts=tuple(base for base, _ in parts))
            masses = [
                (ball(w) * p, ball(w) * q)
                for w, (_, outcomes) in zip(weights, parts, strict=True)
                for p, q in outcomes.masses
            ]
            definition = Outcomes(masses)
            found.append(Case(pair, definition, flipped(definition)))
        return found

    def test_infinite_mass(self) -> None:
        """At least the true one, and no more than the profile's error above it."""
        for case in self.cases():
            true, stated = self.infinite(case), ball(case.pair.infinite_mass)
            assert true.lower() <= stated
            assert stated <= (true + ball(1e-11)).upper()

    def test_max_loss(self) -> None:
        """Beyond the largest loss of the parts only the infinite mass is left."""
        for case in self.cases():
            rest = case.definition.hockey_stick(case.pair.max_loss)
            assert rest.lower() <= ball(case.pair.infinite_mass)

    @pytest.mark.parametrize("count", [1, 2])
    def test_composed(self, count: int) -> None:
        """Brackets of several runs hold the sum over all their outcomes."""
        for case in self.cases():
            assert isinstance(case.definition, Outcomes)
            outcomes = case.definition if count == 1 else times(case.definition, case.definition)
            for epsilon in (0.0, 0.2, 1.0, -0.3):
                true = outcomes.hockey_stick(epsilon)
                found = answers.delta(Product((Factor(case.pair, count),)), epsilon)
                assert ball(found.lower).lower() <= true.upper()
                assert true.lower() <= ball(found.upper).upper()


GAUSSIANS = MixturePair(
    weights=(Fraction(1, 4), Fraction(3, 4)),
    parts=(Product.of(GaussianPair(mu_squared=Fraction(1))), Product(())),
)


def test_epsilon_is_where_the_mean_of_the_profiles_is_delta() -> None:
    """A quarter of mu = 1 beside nothing: delta is a quarter, so epsilon is that at 4 delta."""
    alone = GAUSSIANS.parts[0]
    for delta in (1e-3, 1e-9, 1e-40):
        found, true = (
            answers.epsilon(Product.of(GAUSSIANS), delta),
            answers.epsilon(alone, 4 * delta),
        )

        assert found.lower <= true.upper
        assert found.upper >= true.lower
        assert found.relative_width < 1e-9
    assert answers.epsilon(Product.of(GAUSSIANS), 0.25).upper == 0
    with pytest.raises(NotCertified):
        GAUSSIANS.epsilon(1e-200)


def test_divergences_are_logs_of_mean_moments() -> None:
    """The upper end is the mean of the parts' moments; mu and rho are at most the worst part's."""
    order = 3.0
    moment = math.log(0.75 + 0.25 * math.exp(order * (order - 1) / 2)) / (order - 1)
    found = answers.renyi(Product.of(GAUSSIANS), order)

    assert found.upper == pytest.approx(moment, rel=1e-12)
    assert moment * (1 - 1e-3) < found.lower <= moment * (1 + 1e-12)
    assert GAUSSIANS.gdp_bound == pytest.approx(1)
    assert GAUSSIANS.zcdp_bound == pytest.approx(0.5)
    assert np.isinf(
        MixturePair(weights=WEIGHTS, parts=tuple(one for one, _ in bases())).log_moment_above(
            np.array([1.0]), GAUSSIANS.above(1)
        )
    )
