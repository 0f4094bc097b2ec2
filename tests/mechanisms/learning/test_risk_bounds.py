"""Bounds on risk from noisy counts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from accountant import AddRemove, ReplaceLabel, ReplaceOne, ZeroOut
from accountant.errors import ParameterError
from mechanisms import (
    NoisyCount,
    cover_count,
    finite_class_risk,
    halfspace_risk,
    holdout_risk,
    margin_risk,
)

ONE = ReplaceOne()


def _count(share: float, **changes: Any) -> NoisyCount:  # noqa: ANN401
    given = {"value": share * 10_000, "sigma": 0, "records": 10_000, "relation": ONE, **changes}
    return NoisyCount(**given)


def test_numbers_of_the_specification() -> None:
    """Ten thousand records, .05 or none of them mistakes, beta .05, without noise."""
    half = 0.1

    assert halfspace_risk(_count(0.05), dimension=10, failure=half).risk == pytest.approx(
        0.110, abs=5e-4
    )
    assert halfspace_risk(_count(0), dimension=10, failure=half).risk == pytest.approx(
        0.0326, abs=5e-5
    )
    assert finite_class_risk(_count(0.05), candidates=10**6, failure=half).risk == pytest.approx(
        0.0637, abs=5e-5
    )
    assert finite_class_risk(_count(0), candidates=10**6, failure=half).risk == pytest.approx(
        0.0017, abs=5e-5
    )
    assert cover_count(dimension=10, points=20_000) == pytest.approx(77.0, abs=0.05)
    assert cover_count(dimension=100, points=20_000) == pytest.approx(621.8, abs=0.05)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_patterns_with_ties_are_no_more_than_covers_count(width: int) -> None:
    """Random degenerate integer sets, every sign of every cell by a fine set of directions."""
    rng = np.random.default_rng(width)
    axis = np.arange(-6, 7)
    directions = np.array(list(itertools.product(axis, repeat=width)))
    directions = directions[directions.any(axis=1)]
    largest = 0.0
    for _ in range(150):
        points = rng.integers(-1, 2, size=(int(rng.integers(1, 6)), width))
        patterns = {tuple(row) for row in (directions @ points.T <= 0).tolist()}
        bound = math.exp(cover_count(dimension=width, points=len(points)))
        largest = max(largest, len(patterns) / bound)

        assert len(patterns) <= bound * (1 + 1e-9)
    assert largest == pytest.approx(1)


def test_bounds_hold_as_often_as_stated() -> None:
    """Best of K noisy scores among candidates of known risk, at confidence .9; seed 2."""
    rng = np.random.default_rng(2)
    records, sigma, risks = 400, 8.0, np.linspace(0.1, 0.3, 20)
    missed = without = 0
    for _ in range(400):
        errors = rng.binomial(records, risks)
        scores = errors + rng.normal(size=20) * sigma
        best = int(scores.argmin())
        given: dict[str, Any] = {
            "value": float(scores[best]), "sigma": sigma, "records": records, "relation": ONE,
        }  # fmt: skip
        count, careless = NoisyCount(**given, selected=20), NoisyCount(**given)
        missed += finite_class_risk(count, candidates=20, failure=0.1).risk < risks[best]
        without += careless.at_most(failure=0.05) < errors[best]

    assert missed <= 40
    assert without > 20  # what forgetting the choice costs


def test_the_noise_and_the_choice_widen_every_bound() -> None:
    """More noise, more candidates, more dimensions, less confidence, larger weights."""
    plain, noisy = _count(0.05), _count(0.05, sigma=50)
    chosen = _count(0.05, sigma=50, selected=30)
    for bound in (
        lambda c: finite_class_risk(c, candidates=10),
        lambda c: halfspace_risk(c, dimension=5),
        holdout_risk,
        lambda c: margin_risk(c, weight_norm=1, norm_bound=1, margin=1),
    ):
        risks = [bound(count).risk for count in (plain, noisy, chosen)]
        assert risks == sorted(risks)
        assert 0.05 < risks[0] < risks[1] < risks[2] <= 1
    assert holdout_risk(plain).risk < halfspace_risk(plain, dimension=2).risk
    short, long = (margin_risk(plain, weight_norm=w, norm_bound=1, margin=0.5).risk for w in (1, 5))
    assert short < long
    assert "confidence 0.95" in str(holdout_risk(plain))
    assert holdout_risk(_count(1)).risk == 1
    assert halfspace_risk(_count(0.9), dimension=9_000).risk == 1


def test_refusals() -> None:
    """Relations under which n is private or counts blanks, and numbers outside their domains."""
    for relation in (AddRemove(), ZeroOut(), None):
        with pytest.raises(ParameterError, match="relation"):
            _count(0.1, relation=relation)
    bad: list[dict[str, Any]] = [{"sigma": -1}, {"records": 0}, {"selected": 0.5}, {"value": "9"}]
    for given in bad:
        with pytest.raises(ParameterError):
            _count(0.1, **given)
    count = _count(0.1, relation=ReplaceLabel())
    calls: list[Any] = [
        lambda: finite_class_risk(count, candidates=0),
        lambda: finite_class_risk(count, candidates=2, failure=1),
        lambda: halfspace_risk(count, dimension=0),
        lambda: margin_risk(count, weight_norm=0, norm_bound=1, margin=1),
        lambda: cover_count(dimension=2, points=0),
    ]
    for call in calls:
        with pytest.raises(ParameterError):
            pytest.fail(str(call()))
