"""What a pair that is answered from a table owes the engine instead of its own K."""

from __future__ import annotations

from abc import ABC

import numpy as np

from tests.contracts.pair_contract import PairContract, log_moment


class TabulatedContract(PairContract, ABC):
    """The battery, with K, smoothness and lattice those of the table above."""

    table_width: float = 1e-6

    def test_cumulants(self) -> None:
        """K is that of the table above."""
        s = np.array([0.5 + 0j, 2 + 3j])
        for case in self.cases():
            assert np.array_equal(case.pair.cgf(s).value, case.pair.above(1).cgf(s).value)

    def test_cumulants_between_minus_one_and_zero(self) -> None:
        """K is that of the table above there too, whose moments are not above those of the pair."""
        s = np.array([-0.63 + 0j])
        for case in self.cases():
            found, table = case.pair.cgf(s), case.pair.above(1).cgf(s)
            assert np.array_equal(found.value, table.value)
            true = case.definition.moment(-0.63).log()
            assert found.value[0].real - found.radius[0] <= float(true.real.upper())

    def test_cumulants_are_narrow(self) -> None:
        """As the table's."""
        for case in self.cases():
            found = case.pair.cgf(np.array([0.7 + 0j]))
            assert found.radius[0] <= self.table_width * abs(found.value[0])

    def test_smoothness(self) -> None:
        """As the table's, which has its own test."""
        pair = self.cases()[0].pair
        moment = log_moment(pair, 0.7)
        assert pair.smoothness(0.7, moment).span == pair.above(1).smoothness(0.7, moment).span

    def test_lattice(self) -> None:
        """The table's lattice; its losses need not be the pair's."""
        for case in self.cases():
            assert case.pair.lattice(0.7) == case.pair.above(1).lattice(0.7)
