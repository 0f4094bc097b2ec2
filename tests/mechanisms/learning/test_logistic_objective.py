"""Logistic regression by objective perturbation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    AddRemove,
    NotImplied,
    ReplaceLabel,
    ReplaceOne,
    ZeroOut,
    answers,
    calibrate,
)
from dpproof.mechanisms import LogisticObjective, Mechanism, Records, ReplayRng
from dpproof.mechanisms.learning import logistic_objective
from dpproof.mechanisms.learning.logistic_objective import GRADIENT, Objective
from dpproof.mechanisms.learning.records import unit_rows
from dpproof.proofs import VerifiedUnder
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"sigma": 2, "regulariser": 8}


class TestLogisticObjective(MechanismContract):
    """Two features, norm 1."""

    def mechanism(self) -> LogisticObjective[AddRemove]:
        """At mu = 1/2."""
        return LogisticObjective(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Rows on every side; the last one pulls hardest."""
        return Records([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[LogisticObjective[AddRemove]]:
        """Standard deviations from a half to fifty."""
        return [
            LogisticObjective(sigma=sigma, regulariser=5000, relation=AddRemove())
            for sigma in (0.5, 2, 50)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "sigma": NOT_POSITIVE,
            "regulariser": NOT_POSITIVE,
            "norm": (0, -1, "1", float("nan")),
            "relation": ("add-remove", None),
            "features": (0, 2.5, 2**24 + 1),
        }
        return one_bad(LogisticObjective, good={**GOOD, "relation": AddRemove()}, bad=bad)


def mu(learner: Mechanism[Any]) -> Fraction:
    """The mu of a learner that is mu-GDP."""
    guarantee = learner.guarantee()
    assert isinstance(guarantee, GDP)
    return guarantee.mu


def test_price_is_exactly_that_of_the_gradient() -> None:
    """The output noise is inside mu; replace-one costs twice, zero-out what add-remove does."""
    for norm, unit in ((1, 1), (3, 3), (None, 1)):
        learner = LogisticObjective(sigma=5, regulariser=50, norm=norm, relation=AddRemove())

        assert mu(learner) == Fraction(unit, 5)
    doubled = LogisticObjective(sigma=5, regulariser=50, relation=ReplaceOne())
    others = [ZeroOut(), ReplaceLabel()]

    assert mu(doubled) == Fraction(2, 5)
    for relation in others:
        single = LogisticObjective(sigma=5, regulariser=50, relation=relation)
        assert mu(single) == Fraction(1, 5)
        assert isinstance(proofs.check(single.guarantee().certify(delta=1e-6)), VerifiedUnder)
    assert isinstance(proofs.check(doubled.guarantee().certify(delta=1e-6)), VerifiedUnder)
    for relation in (ReplaceOne(), ReplaceLabel()):
        with pytest.raises(NotImplied, match="at least"):
            LogisticObjective(sigma=5, regulariser=2.4, relation=relation).guarantee()
        least = LogisticObjective(sigma=5, regulariser=2.5, relation=relation)
        assert mu(least) == Fraction(2 if relation == ReplaceOne() else 1, 5)


def test_smaller_regularisers_cost_a_floor() -> None:
    """sigma/R at (1, 1e-6) with regulariser R^2 is 4.225, certified, and the floor is no more.

    The best published accounting needs 5.99.
    """

    def at(sigma: float) -> LogisticObjective[AddRemove]:
        return LogisticObjective(sigma=3 * sigma, norm=3, regulariser=9, relation=AddRemove())

    found = calibrate(at, epsilon=1, delta=1e-6, increasing=False)
    guarantee = at(found.value).guarantee()
    certificate = guarantee.certify(delta=1e-6)

    assert found.value == pytest.approx(4.22468, abs=2e-5)
    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert guarantee.delta(epsilon=0.5).lower > 0.2
    smooth = LogisticObjective(
        sigma=3 * found.value, norm=3, regulariser=400, relation=AddRemove()
    ).guarantee()
    assert smooth.delta(epsilon=0.5).upper < 0.01


def exact_slope(rows: Any, decay: Fraction, tilt: Any, point: Any) -> float:  # noqa: ANN401
    """The gradient's norm at 60 digits, from the definition."""
    with mpmath.workdps(60):
        total = [mpmath.mpf(x) * decay.numerator / decay.denominator for x in point]
        total = [t + mpmath.mpf(b) for t, b in zip(total, tilt, strict=True)]
        for row in rows:
            a = [mpmath.mpf(x) / 2**24 for x in row]
            m = mpmath.fdot(a, [mpmath.mpf(x) for x in point])
            share = 1 / (1 + mpmath.exp(m))
            total = [t - share * x for t, x in zip(total, a, strict=True)]
        return float(mpmath.norm(total))


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e3, 1e7])
def test_minima_are_certified(spread: float) -> None:
    """Whatever the noise, the gradient at what is returned is at most the constant, at 60 digits.

    It is the exact search that answers what binary64 leaves open, and both find the same point.
    """
    rng = np.random.default_rng(3)
    rows = unit_rows(rng.normal(size=(7, 3)), 24)
    decay = Fraction(1, 3)
    objective = Objective(rows, decay)
    tilts = rng.normal(size=(4, 3)) * spread
    for tilt, found in zip(tilts, objective.minima(tilts), strict=True):
        if not np.isnan(found).any():
            assert exact_slope(rows, decay, tilt, found) <= float(GRADIENT)
        unit = Fraction(1, 2**70)
        exact = objective.exact_minimum(found, [Fraction(float(t)) for t in tilt], unit)
        point = [mpmath.mpf(k) * mpmath.mpf(2) ** -70 for k in exact]
        assert exact_slope(rows, decay, tilt, point) <= float(GRADIENT)
        if spread < 1e4:
            apart = np.linalg.norm([float(x) for x in point] - found)
            assert apart <= 2 * float(GRADIENT / decay)


@pytest.mark.slow
def test_millions_of_records_need_no_intervals() -> None:
    """A million rows are minimised in binary64, though sums of equal terms err in one direction."""
    rows = np.repeat([[2.0**24], [-(2.0**23)]], 500_000, axis=0)
    (point,) = Objective(rows, Fraction(5)).minima(np.array([[3.0]]))

    assert np.isfinite(point).all()


def test_what_is_not_certified_is_computed_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """If binary64 certifies nothing the same noise gives the same weights, up to the radius."""
    data = Records([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0]], [1, -1, 1])
    learner = LogisticObjective(**GOOD, relation=AddRemove())
    quick = learner.release(data, rng=ReplayRng(3)).weights
    monkeypatch.setattr(logistic_objective, "_ROUNDINGS", 1.0)
    slow = learner.release(data, rng=ReplayRng(3)).weights

    assert slow == pytest.approx(quick, abs=1e-6)


def test_one_record_more_or_less_and_none_at_all() -> None:
    """Blank and malformed records contribute nothing, and no data is data."""
    learner = LogisticObjective(**GOOD, features=2, relation=AddRemove())
    good = [([0.6, 0.8], 1.0), ([-1.0, 0.0], -1.0)]
    odd: list[Any] = [([np.nan, 1.0], 1), ([0.0, 0.0], 1), ([1.0, 0.0], 0.5), "ab", ([1.0], 1)]
    plain = learner.release(good, rng=ReplayRng(3)).weights
    mixed = learner.release([odd[0], good[0], *odd[1:], good[1]], rng=ReplayRng(3)).weights

    assert (plain == mixed).all()
    assert learner.release([], rng=ReplayRng(3)).weights.shape == (2,)


def test_learns_separable_rows() -> None:
    """Separable rows are separated."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4_000, 3))
    labels = np.where(rows[:, 0] > 0, 1, -1)
    weights = (
        LogisticObjective(sigma=4, regulariser=32, relation=AddRemove())
        .release(Records(rows, labels))
        .weights
    )

    assert np.mean(np.sign(rows @ weights) == labels) > 0.97


def test_a_smaller_curvature_uses_both_pairs() -> None:
    """A test between two orders passes neither pair: 0.4466 where each alone allowed up to 1."""
    learner = LogisticObjective(sigma=3, regulariser=1, relation=AddRemove()).repeat(3).guarantee()
    found = learner.true_positive_rate(false_positive_rate=0.1)
    pair = learner.to_pair()
    alone = [
        answers.true_positive_rate(one, 0.1).upper
        for one in (pair.backward.swapped(), pair.forward, pair.backward, pair.forward.swapped())
    ]
    assert alone[1] > 0.9999
    assert found.upper == max(min(alone[:2]), min(alone[2:]))
    assert found.upper < 0.4467
    assert learner.type_ii_error(type_i_error=0.1).lower > 0.5533
    proved = proofs.check(learner.certify(false_positive_rate=0.1))
    assert isinstance(proved, VerifiedUnder)
    assert "at most 0.947" in proved.claim
