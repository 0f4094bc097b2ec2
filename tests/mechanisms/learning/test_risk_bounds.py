"""Bounds on risk from noisy counts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import binomial, erfc, fsum, log, mp, mpf, ncdf, sqrt, workdps
from scipy import stats

from dpproof.accountant import AddRemove, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    NoisyCount,
    cover_count,
    finite_class_risk,
    halfspace_risk,
    holdout_risk,
    margin_risk,
    relative_margin_risk,
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
        lambda c: margin_risk(c, weight_norm=1, norm=1, margin=1),
    ):
        risks = [bound(count).risk for count in (plain, noisy, chosen)]
        assert risks == sorted(risks)
        assert 0.05 < risks[0] < risks[1] < risks[2] <= 1
    assert holdout_risk(plain).risk < halfspace_risk(plain, dimension=2).risk
    short, long = (margin_risk(plain, weight_norm=w, norm=1, margin=0.5).risk for w in (1, 5))
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
        lambda: margin_risk(count, weight_norm=0, norm=1, margin=1),
        lambda: cover_count(dimension=2, points=0),
    ]
    for call in calls:
        with pytest.raises(ParameterError):
            pytest.fail(str(call()))


def test_corrections_cover_all_weights() -> None:
    """At most 4 (W b/margin)^2 corrections give a vector that separates what the lemma says."""
    rng = np.random.default_rng(11)
    for _ in range(200):
        width, size = int(rng.integers(1, 5)), int(rng.integers(1, 12))
        z = rng.normal(size=(size, width))
        z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1)
        w = rng.normal(size=width)
        w /= np.linalg.norm(w) * rng.uniform(1, 2)
        margin = rng.uniform(0.05, 0.9)
        v, steps = np.zeros(width), 0
        while True:
            high = (z @ w <= 0) & (z @ v > margin / 2)
            low = (z @ w > margin) & (z @ v <= margin / 2)
            if not (high | low).any():
                break
            place = int(np.flatnonzero(high | low)[0])
            v += (1 if low[place] else -1) * margin / 2 * z[place]
            steps += 1
        assert steps <= 4 / margin**2


def test_binomials_reach_their_mean_with_probability_a_quarter() -> None:
    """Greenberg & Mohri's theorem on a grid: P(Bin(n, p) >= n p) > 1/4 for p > 1/n."""
    for size in (2, 3, 5, 10, 40, 300):
        shares = np.linspace(1 / size, 1, 400)[1:]
        chance = stats.binom.sf(np.ceil(size * shares - 1e-9) - 1, size, shares)

        assert np.min(chance) > 0.25


def test_the_margin_bound_holds_for_all_weights_at_once() -> None:
    """On small samples of a known law no direction of a grid is above it, with room to spare."""
    rng = np.random.default_rng(5)
    turns = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    directions = np.stack([np.cos(turns), np.sin(turns)])
    bounds = [
        relative_margin_risk(
            NoisyCount(value=value, sigma=0, records=20_000, relation=ReplaceOne()),
            weight_norm=1,
            norm=1,
            margin=0.5,
        ).risk
        for value in range(0, 20_001, 2_000)
    ]

    def draw(size: int) -> Any:  # noqa: ANN401
        rows = rng.normal(size=(size, 2)) * 0.2 + [0.6, 0]
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)

    risk = (draw(100_000) @ directions <= 0).mean(axis=0)
    for _ in range(5):
        shares = (draw(20_000) @ directions <= 0.5).mean(axis=0)
        stated = np.interp(shares, np.linspace(0, 1, 11), bounds)
        assert (risk <= stated + 0.01).all()
    assert bounds[0] < 0.06
    assert bounds == sorted(bounds)


def test_the_margin_bound_is_that_of_its_formula() -> None:
    """Against exact binomial coefficients; norms up to 1 are one layer, larger ones pay more."""
    count = NoisyCount(value=30, sigma=0, records=1_000, relation=ReplaceOne())
    shared: dict[str, Any] = {"norm": 1, "margin": 0.5, "failure": 0.1}
    budget = math.log(math.comb(4_000 + 16, 16)) + math.log(4 * 2 / 0.05)
    square = 4 * budget / 1_000
    by_hand = 0.03 + square / 2 + math.sqrt(square * (0.03 + square / 4))
    found = relative_margin_risk(count, weight_norm=1, **shared).risk

    assert found == pytest.approx(min(by_hand, 1))
    assert relative_margin_risk(count, weight_norm=0.1, **shared).risk == found
    assert relative_margin_risk(count, weight_norm=1e9, **shared).risk == 1
    assert relative_margin_risk(count, weight_norm=1 + 1e-12, **shared).risk >= found


def test_results_are_upper_ends() -> None:
    """At or above the formulas at 40 digits, by less than a billionth; tiny failures, too."""
    rng = np.random.default_rng(4)
    with mp.workdps(40):
        for _ in range(40):
            n, failure = int(10 ** rng.uniform(1, 12)), float(10 ** rng.uniform(-200, -0.5))
            value, sigma = float(rng.uniform(0, 0.4) * n), float(rng.uniform(0, 0.01) * n)
            count = NoisyCount(value=value, sigma=sigma, records=n, relation=ONE)
            half, top = mpf(failure) / 2, count.at_most(failure=failure / 2)
            z = (mpf(top) - value) / sigma
            share, budget = mpf(top) / n, (log(mpf(7)) - log(half)) / n
            stated = finite_class_risk(count, candidates=7, failure=failure).risk
            layer = 3  # of a norm from 4 to 8
            pieces = 2 * mpf(8) * 2 / (mpf(0.5) * sqrt(n))
            ramp = share + pieces + sqrt(log((layer + 1) * (layer + 2) / half) / (2 * n))
            found = margin_risk(count, weight_norm=5, norm=2, margin=0.5, failure=failure)

            assert top == n or 0 <= 1 - erfc(z / sqrt(2)) / 2 / half < 1e-7
            assert stated == 1 or _kl(share, mpf(stated)) >= budget
            below = share + (mpf(stated) - share) * (1 - mpf(1e-4))
            assert stated == 1 or _kl(share, below) < budget
            assert found.risk == 1 or 0 <= found.risk - ramp < 1e-9
    for points, width in ((40, 7), (5, 9), (2_000, 30)):
        sizes = 2 * sum(math.comb(points - 1, i) for i in range(min(width, points)))
        assert 0 <= mpf(cover_count(dimension=width, points=points)) - log(mpf(sizes)) < 1e-8
    assert holdout_risk(_count(0.1, sigma=9), failure=1e-299).risk < 0.8
    with pytest.raises(ParameterError, match="at least"):
        holdout_risk(_count(0.1), failure=Fraction(1, 10**400))
    assert 0 < _count(0.1, sigma=1, selected=10**200).at_most(failure=1e-250) - 1_000 < 60


@pytest.mark.parametrize(
    ("records", "value", "sigma", "failure", "selected"),
    [(400, 80.3, 10, 0.1, 1), (50, -3.2, 4, 0.05, 7), (30, 0, 0, 0.01, 1), (200, 90.5, 9, 1e-9, 1)],
)
def test_held_out_counts_are_inverted_exactly(
    records: int, value: float, sigma: float, failure: float, selected: int
) -> None:
    """At the bound a count as small has the stated probability, to 50 digits, and not above."""
    given: dict[str, Any] = {"records": records, "relation": ONE, "selected": selected}
    risk = holdout_risk(NoisyCount(value=value, sigma=sigma, **given), failure=failure).risk

    def below(r: mpf) -> mpf:
        parts = (
            binomial(records, k)
            * r**k
            * (1 - r) ** (records - k)
            * (ncdf((mpf(value) - k) / sigma) if sigma else int(k <= value))
            for k in range(records + 1)
        )
        return fsum(parts)

    with workdps(50):
        chance = mpf(failure) / selected
        assert below(mpf(risk)) <= chance
        assert below(mpf(risk) * (1 - mpf(1e-9))) > chance


def test_an_exact_bound_of_many_records_is_near_the_normal_one() -> None:
    """.24 at 400 records, noise 10 and .2 of them mistakes, where Chernoff's bound has .29."""
    count = NoisyCount(value=80, sigma=10, records=400, relation=ONE)
    large = NoisyCount(value=2**21, sigma=1, records=2**23, relation=ONE)

    assert holdout_risk(count, failure=0.1).risk == pytest.approx(0.242, abs=2e-3)
    assert finite_class_risk(count, candidates=1, failure=0.1).risk > 0.29
    assert holdout_risk(large) == finite_class_risk(large, candidates=1)


def _kl(p: mpf, q: mpf) -> mpf:
    """The divergence of one coin from another."""
    return (p * log(p / q) if p else 0) + (1 - p) * log((1 - p) / (1 - q))
