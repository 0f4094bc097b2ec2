"""One run with a threshold is the run itself, up to forgetting some of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpproof.accountant import answers
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import FixedRuns, PoissonRuns
from dpproof.accountant.selection.thresholded_pair import ThresholdedPair
from tests.accountant.pairs.builders import responses
from tests.contracts.definition import ball
from tests.contracts.pair_contract import Case, PairContract, flipped
from tests.contracts.tabulated_contract import TabulatedContract


class TestThresholded(TabulatedContract, PairContract):
    """Accepting every output of one run of randomised response is the worst rule."""

    profile_width = 0.6  # of two outcomes the rectangles make up to twice the truth
    bracket_width = 0.6

    def cases(self) -> Sequence[Case]:
        """One run of one answer; tests/proofs/test_threshold.py enumerates the others."""
        epsilon = Fraction(3, 4)
        base = Product.of(RandomizedResponsePair(epsilon=epsilon))
        definition = responses(epsilon, 2, Fraction(0))
        pair = ThresholdedPair(base=base, runs=FixedRuns(count=1))
        return [Case(pair, definition, flipped(definition))]

    def test_infinite_mass(self) -> None:
        """Rounding leaves next to none."""
        for case in self.cases():
            assert 0.0 <= case.pair.infinite_mass < 1e-12

    def test_max_loss(self) -> None:
        """Beyond the largest loss nothing is left."""
        for case in self.cases():
            assert case.definition.hockey_stick(case.pair.max_loss).upper() <= 1e-12

    @pytest.mark.parametrize("order", [1.5, 9.0])
    def test_renyi(self, order: float) -> None:
        """The bracket holds the divergence."""
        for case in self.cases():
            found = answers.renyi(Product.of(case.pair), order)
            true = case.definition.moment(order - 1.0).real.log() / ball(order - 1.0)
            assert ball(found.lower).lower() <= true.upper()
            assert found.upper == float("inf") or true.lower() <= ball(found.upper).upper()

    def test_mu_of_all_runs(self) -> None:
        """Together they are mu-GDP, if their number has a bound."""
        (case,) = self.cases()
        assert isinstance(case.pair, ThresholdedPair)
        four, any_number = (
            replace(case.pair, runs=runs) for runs in (FixedRuns(count=4), PoissonRuns(rate=1))
        )
        assert four.gdp_bound == pytest.approx(2 * case.pair.gdp_bound, rel=1e-12)
        assert any_number.gdp_bound == float("inf")
