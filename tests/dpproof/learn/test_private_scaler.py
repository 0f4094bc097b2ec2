"""Columns centred and scaled by moments that are paid for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.learn import PrivateScaler
from dpproof.proofs import VerifiedUnder

RNG = np.random.default_rng(1)
ROWS = RNG.normal(size=(4_000, 3)) * [1.0, 3.0, 0.1] + [5.0, -2.0, 0.0]
BOUNDS = ([-10, -20, -1], [20, 20, 1])


@pytest.mark.parametrize("with_std", [False, True])
@pytest.mark.parametrize("relation", [None, ReplaceOne()], ids=str)
def test_fits_keep_to_the_budget_and_prove_it(relation: Any, *, with_std: bool) -> None:  # noqa: ANN401
    """Epsilon is the budget's within a thousandth; the certificate is verified."""
    found = PrivateScaler(epsilon=1, delta=1e-5, norm=3, with_std=with_std, relation=relation)
    epsilon = found.guarantee().epsilon(delta=1e-5)

    assert epsilon.lower > 0.999
    assert epsilon.upper <= 1
    assert isinstance(proofs.check(found.certificate()), VerifiedUnder)


def test_moments_are_those_of_the_rows() -> None:
    """Without noise to speak of every column gets mean 0 and variance 1, within clipped rows."""
    found = PrivateScaler(sigma=1e-6, bounds=BOUNDS, norm=4, with_std=True).fit(ROWS)
    scaled = found.transform(ROWS)

    assert scaled.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-6)
    assert scaled.std(axis=0) == pytest.approx(np.ones(3), abs=1e-4)
    centred = PrivateScaler(sigma=1e-6, norm=1e3).fit(ROWS)
    assert centred.mean_ == pytest.approx(ROWS.mean(axis=0), abs=1e-3)
    assert centred.transform(ROWS) == pytest.approx(ROWS - ROWS.mean(axis=0), abs=2e-3)


def test_rows_of_full_length_keep_their_squares() -> None:
    """Signs alone: mean 0 and deviation 1; rows with their squares are longer than the rows."""
    found = PrivateScaler(sigma=1e-6, norm=1, with_std=True).fit([[1.0], [-1.0]] * 50)

    assert found.mean_ == pytest.approx([0], abs=1e-6)
    assert found.scale_ == pytest.approx([1], abs=1e-3)


def test_noise_bounds_what_columns_are_divided_by() -> None:
    """A column that does not vary is divided by no less than the noise on its variance."""
    found = PrivateScaler(sigma=4, norm=2, with_std=True).fit(np.zeros((400, 1)) + 1.0)

    assert float(found.scale_[0]) >= 2 * (4 / 600) ** 0.5  # 400 rows are counted as 600 by 20 sigma


@pytest.mark.parametrize("options", [{"norm": None}, {"norm": 2, "bounds": BOUNDS}], ids=str)
@pytest.mark.parametrize("with_std", [False, True])
def test_one_row_moves_the_exact_sums_by_no_more_than_the_sensitivity(
    options: dict[str, Any], *, with_std: bool
) -> None:
    """Of every row of many sizes, removed or replaced by another; blank ones move nothing."""
    rows = RNG.normal(size=(12, 3)) * 10.0 ** RNG.integers(-8, 8, size=(12, 1))
    rows[3], rows[5, 0], rows[6] = 0.0, np.nan, 1e308
    for relation in (AddRemove(), ReplaceOne()):
        scaler = PrivateScaler(sigma=2, with_std=with_std, relation=relation, **options)
        mechanism = scaler._at(2)  # what the fit runs
        unit = float(mechanism.norm or 1) / 2**24
        share = float(mechanism.sigma / mechanism.count_sigma)

        def moments(some: np.ndarray, scaler: Any = scaler, mechanism: Any = mechanism) -> Any:  # noqa: ANN401
            return mechanism.totals(scaler._rows(some))

        full, number = moments(rows)
        for one in range(len(rows)):
            others = [np.delete(rows, one, axis=0)]
            if isinstance(relation, ReplaceOne):
                others = [np.concatenate([others[0], -rows[[other]]]) for other in range(12)]
            for other in others:
                sums, count = moments(other)
                moved = np.hypot(np.linalg.norm(full - sums) * unit, share * abs(number - count)[0])
                assert moved <= float(mechanism.sensitivity.value) * (1 + 1e-12)
                if one in {3, 5} and len(other) == 11:
                    assert moved == 0


def test_a_row_is_scaled_alone_and_bad_ones_stay_bad() -> None:
    """The same bits in any batch; a blank row stays blank, one that is not finite becomes nan."""
    rows = ROWS[:9].copy()
    rows[2], rows[4, 1] = 0.0, np.inf
    found = PrivateScaler(sigma=1, norm=6, with_std=True).fit(rows)
    together = found.transform(rows)

    assert not together[2].any()
    assert np.isnan(together[4]).all()
    for one in range(9):
        assert np.array_equal(found.transform(rows[[one]])[0], together[one], equal_nan=True)


def test_bad_arguments_are_refused() -> None:
    """Bounds of another width, that cross, or that are not finite; options that are no options."""
    for bounds in (([0, 0], [1, 1]), ([0, 0, 0], [1, 0, 1]), ([0, 0, 0], [1, 1, np.inf])):
        with pytest.raises(ParameterError, match="bounds"):
            PrivateScaler(sigma=1, bounds=bounds).fit(ROWS)
    with pytest.raises(ParameterError, match="with_std"):
        PrivateScaler(sigma=1, with_std=1).guarantee()  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="norm"):
        PrivateScaler(sigma=1, norm=0).guarantee()
    assert PrivateScaler(sigma=4).guarantee().mu ** 2 >= Fraction(17, 256)  # type: ignore[attr-defined]
