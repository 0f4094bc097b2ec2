"""The floored Gaussian pair, against its definition."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from accountant.pairs.floored_gaussian import FlooredGaussianPair
from tests.accountant.pairs.above_floor import case
from tests.contracts.pair_contract import Case, PairContract


class TestFlooredGaussian(PairContract):
    """Floors below, at and above the mean loss."""

    tilts = (1e-6, 0.03, 0.7, 4.0)
    heights = (0.0, 1e-5, 0.4, 3.0, 25.0)
    frequencies = (0.1, 1.5, 11.0)

    def cases(self) -> Sequence[Case]:
        """From much noise to little."""
        return [
            case(FlooredGaussianPair(mu_squared=Fraction(1, 16), floor=Fraction(1))),
            case(FlooredGaussianPair(mu_squared=Fraction(9, 4), floor=Fraction(0))),
        ]
