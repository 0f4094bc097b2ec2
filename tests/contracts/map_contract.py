"""What every feature map owes: it is public, a value, and looks at one row at a time."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import FeatureMap, Records

# Around the widths of vector units and the blocks of matrix products.
SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 65, 129)


class MapContract(ABC):
    """The battery; a test class names its map, one with another seed, and bad arguments."""

    @abstractmethod
    def map(self, features: int = 37) -> FeatureMap:
        """A map of rows of a given width."""

    @abstractmethod
    def other(self) -> FeatureMap:
        """The map of rows of width 37 with another seed, or another parameter."""

    @abstractmethod
    def invalid(self) -> Sequence[Callable[[], object]]:
        """Constructions that must be refused, each with one bad argument."""

    def rows(self, features: int = 37) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Rows of all sizes, among them a zero row and rows that are not finite."""
        rng = np.random.default_rng(2)
        rows = rng.normal(size=(130, features)) * 10.0 ** rng.integers(-9, 9, size=(130, 1))
        rows[7], rows[9, 0], rows[11, -1] = 0.0, np.inf, np.nan
        rows[20], rows[30] = 5e-324, 1e308
        return rows

    @pytest.mark.parametrize("features", [1, 37, 300])
    def test_a_row_is_mapped_alone(self, features: int) -> None:
        """Some of the rows, in any order, give the same bits as among all."""
        plan, rows = self.map(features), self.rows(features)
        together = plan.apply(rows)
        order = np.random.default_rng(3).permutation(len(rows))

        assert together.shape == (len(rows), plan.output_features)
        assert np.array_equal(plan.apply(rows[order]), together[order], equal_nan=True)
        for size in SIZES:
            for part in (slice(size), slice(len(rows) - size, None)):
                assert np.array_equal(plan.apply(rows[part]), together[part], equal_nan=True)

    def test_rows_that_are_not_finite_become_nan(self) -> None:
        """Such rows and no others, so that learners leave them out."""
        mapped = self.map().apply(self.rows())

        assert np.isnan(mapped[[9, 11]]).all()
        assert np.isfinite(np.delete(mapped, [9, 11], axis=0)).all()

    def test_the_norm_is_bounded(self) -> None:
        """No finite row is mapped beyond the stated norm, but for rounding."""
        plan = self.map()
        if plan.output_norm is not None:
            longest = np.nanmax(np.linalg.norm(plan.apply(self.rows()), axis=1))

            assert longest <= float(plan.output_norm) * (1 + 1e-12)

    def test_blank_records_stay_blank(self) -> None:
        """A zero row becomes a zero row of a record, whatever the map makes of it; labels stay."""
        plan = self.map()
        records = plan.records(Records(self.rows(), np.arange(130)))
        mapped = plan.apply(self.rows())
        kept = np.arange(130) != 7

        assert not records.rows[7].any()
        assert np.array_equal(records.rows[kept], mapped[kept], equal_nan=True)
        assert records.labels.tolist() == list(range(130))

    def test_is_a_public_value(self) -> None:
        """Equal, hashable, picklable; the description tells it from another one."""
        plan, rows = self.map(), self.rows()

        assert plan == self.map()
        assert hash(plan) == hash(self.map())
        assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301 - our own bytes
        assert np.array_equal(plan.apply(rows), self.map().apply(rows), equal_nan=True)
        assert plan != self.other()
        assert plan.description != self.other().description
        assert not np.array_equal(plan.apply(rows), self.other().apply(rows), equal_nan=True)

    def test_refuses_other_widths(self) -> None:
        """Rows of another width, before anything is computed."""
        for rows in (np.zeros((2, 36)), np.zeros(37), np.zeros((1, 1, 37))):
            with pytest.raises(ParameterError, match="wide"):
                self.map().apply(rows)

    def test_refuses_bad_arguments(self) -> None:
        """Every bad argument is a typed error where it enters."""
        for position, construct in enumerate(self.invalid()):
            with pytest.raises(ParameterError):
                pytest.fail(f"invalid()[{position}] was accepted: {construct()!r}")
