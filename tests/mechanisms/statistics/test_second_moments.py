"""Noisy second moments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut
from dpproof.mechanisms import Records, ReplayRng, SecondMoments
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

ROWS: list[list[float]] = [
    [1.0, 0.0],
    [0.0, -1.0],
    [0.6, 0.8],
    [0.6, -0.8],
    [3.0, 4.0],
    [0.1, 0.2],
    [0.0, 0.0],
    [math.nan, 1.0],
    [1e300, -math.inf],
]


class TestSecondMoments(MechanismContract):
    """Rows of two features."""

    def mechanism(self) -> SecondMoments[AddRemove]:
        """Rows of norm 2 at most."""
        return SecondMoments(sigma=3, norm=2, features=2, relation=AddRemove())

    def data(self) -> object:
        """Rows inside and outside of the norm, and one that is not finite."""
        return [[1.0, 0.5], [0.0, -3.0], [math.nan, 0.0], [1.0, 1.0]]

    def increasing_noise(self) -> Sequence[SecondMoments[AddRemove]]:
        """From the sensitivity to thirty times."""
        return [SecondMoments(sigma=s, relation=AddRemove()) for s in (1, 4, 30)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "sigma": NOT_POSITIVE,
            "norm": (0, -1, math.nan, 2.0**200),
            "relation": (AddRemove, "add-remove"),
            "features": (0, 1.5, 2**25),
        }
        return one_bad(SecondMoments, good={"sigma": 1, "relation": AddRemove()}, bad=bad)


def exact(moments: SecondMoments[Any], rows: Sequence[Sequence[float]]) -> list[Fraction]:
    """The matrix entry by entry, in units of norm^2."""
    whole, rest = moments.moments(np.array(rows, dtype=np.float64).reshape(-1, 2))
    pairs = zip(whole.flat, rest.flat, strict=True)
    return [16 * int(high) + Fraction(float(low)) for high, low in pairs]


@pytest.mark.parametrize("relation", [AddRemove(), ZeroOut(), ReplaceOne()], ids=str)
def test_the_sensitivity_is_attained_and_never_exceeded(relation: Relation) -> None:
    """In Frobenius norm, over all pairs of rows of a grid, exactly."""
    moments = SecondMoments(sigma=1, norm=1, relation=relation)
    single = [exact(moments, [row]) for row in ROWS]
    nothing = [[Fraction(0)] * 4]
    others = single if isinstance(relation, ReplaceOne) else nothing
    moved = max(
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
        for one, other in itertools.product(single, others)
    )
    stated = moments.sensitivity.value

    assert moved <= stated**2
    assert float(moved) == pytest.approx(2 if isinstance(relation, ReplaceOne) else 1)
    assert float(stated**2 - moved) < 1e-12


@pytest.mark.parametrize(("records", "features"), [(1, 1), (7, 3), (900, 5), (70_000, 2)])
def test_sums_are_exact(records: int, features: int) -> None:
    """The two parts are the sum of products of the rows on the grid, in Python's integers."""
    rows = np.random.default_rng(records).normal(size=(records, features))
    unit = np.round(rows / np.abs(rows).max() / math.sqrt(features) * 2**20) / 2**20
    whole, rest = SecondMoments(sigma=1, relation=AddRemove()).moments(unit)
    scaled = (unit * 2**24).astype(np.int64).astype(np.object_)
    found = whole.astype(np.object_) * 2**52 + (rest * 2.0**48).astype(np.int64).astype(np.object_)

    assert (found == scaled.T @ scaled).all()


def test_one_row_more_moves_the_sum_by_its_own_product() -> None:
    """Whatever the other rows are: no rounding error depends on them."""
    moments = SecondMoments(sigma=1, norm=1, relation=AddRemove())
    rows = np.random.default_rng(4).normal(size=(3000, 2))
    for row in ROWS:
        before, after = exact(moments, rows.tolist()), exact(moments, [*rows.tolist(), row])
        moved = [b - a for a, b in zip(before, after, strict=True)]

        assert moved == exact(moments, [row])


def test_noise_and_scale() -> None:
    """Symmetric; sigma on the diagonal and sigma / sqrt 2 beside it, in squared data units."""
    moments = SecondMoments(sigma=12, norm=3, relation=AddRemove())
    rows = [[3.0, 0.0], [0.0, 1.5]]
    outputs = moments.release_many(np.array(rows), 20_000, rng=np.random.default_rng(5))

    assert (outputs == outputs.swapaxes(1, 2)).all()
    assert np.abs(outputs.mean(axis=0) - np.diag([9, 2.25])).max() < 0.4
    spread = outputs.std(axis=0) / 12
    assert spread == pytest.approx(np.array([[1, 0.7071], [0.7071, 1]]), rel=0.03)


@pytest.mark.parametrize("sigma", [Fraction(1, 2**60), 1, 2**30, 2**200])
def test_what_noise_does_not_change_is_added_to_the_grid(sigma: Fraction) -> None:
    """The same words on sums that differ by 16 norm^2 give outputs that do, but for rounding."""
    moments = SecondMoments(sigma=sigma, relation=AddRemove())
    row = np.array([[1.0, 0.0]])
    few, many = (
        moments.release(np.repeat(row, count, axis=0), rng=ReplayRng(9)) for count in (3, 35)
    )
    assert many[0, 0] - few[0, 0] == pytest.approx(32, abs=2.0**-50 * float(sigma) + 1e-12)
    assert many[1, 1] == few[1, 1]


def test_the_forms_of_data_agree() -> None:
    """An array, records with any labels, and a sequence of rows."""
    rows = [[0.5, 0.25], [-1.0, 0.5]]
    forms = (rows, np.array(rows), Records(rows, [7, -1]))
    found = [
        SecondMoments(sigma=1, features=2, relation=AddRemove()).release(form, rng=ReplayRng(2))
        for form in forms
    ]

    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
