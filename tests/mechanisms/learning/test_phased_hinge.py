"""Phases of one pass each, on a permutation or with replacement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof import auditing, proofs
from dpproof.accountant import GDP, AddRemove, PrivacyProfile, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import PhasedHinge, RademacherProjection, Records, ReplayRng
from dpproof.mechanisms.learning.descent import SmoothedPass, phase_sizes, projected
from tests.contracts.mechanism_contract import AUDIT_ALARM, NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"margin": 0.5, "norm": 1, "mu": 0.5}


class TestPhasedHinge(MechanismContract):
    """On a permutation of five records, one of which changes its label."""

    def mechanism(self) -> PhasedHinge[ReplaceOne]:
        """Two phases at the typical noise."""
        return PhasedHinge(**GOOD, relation=ReplaceOne())

    def data(self) -> Records:
        """Rows of the unit ball with both labels."""
        rows = [[0.6, 0.8], [-0.5, 0.5], [1.0, 0.0], [0.0, -1.0], [0.6, -0.8]]
        return Records(rows, [1, -1, 1, -1, 1])

    def neighbour(self) -> Records:
        """The first label is the other one."""
        data = self.data()
        return Records(data.rows, [-1, *data.labels[1:]])

    def increasing_noise(self) -> Sequence[PhasedHinge[ReplaceOne]]:
        """From mu 2 to 1/50."""
        return [
            PhasedHinge(**{**GOOD, "mu": mu}, relation=ReplaceOne()) for mu in (2, 1, 0.5, 0.02)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = dict.fromkeys(
            ("margin", "norm", "mu", "radius"), NOT_POSITIVE
        )
        bad |= {
            "relation": (None, "replace-one", AddRemove()),
            "sampling": ("shuffle", None, "with-replacement"),
            "records": (0, 3, 2.5),
            "map": (1,),
            "features": (0,),
        }
        return one_bad(PhasedHinge, good={**GOOD, "relation": ReplaceOne()}, bad=bad)


def test_the_number_of_records_is_as_stated() -> None:
    """Data of another size than stated is refused, and so are too few."""
    data = Records(np.ones((5, 2)), np.ones(5))
    with pytest.raises(ParameterError, match="records"):
        PhasedHinge(**GOOD, records=6, relation=ReplaceOne()).release(data)
    with pytest.raises(ParameterError, match="records"):
        PhasedHinge(**GOOD, relation=ReplaceOne()).release(data[:3])


def test_a_permutation_is_gdp_at_the_stated_mu() -> None:
    """Exactly, with a certificate, whether or not the number of records is stated."""
    for relation in (ReplaceOne(), ReplaceLabel(), ZeroOut()):
        for records in (None, 100):
            learner = PhasedHinge(margin=0.1, norm=2, mu=0.3, relation=relation, records=records)
            found = learner.guarantee()

            assert found == GDP(mu=0.3, relation=relation)
            verdict = proofs.check(found.certify(delta=1e-6))
            assert isinstance(verdict, proofs.VerifiedUnder)


def test_replacement_costs_three_times_as_much() -> None:
    """The numbers of the specification, n = 10^4, delta = 1e-6."""
    once = PhasedHinge(**{**GOOD, "mu": 0.1}, records=10_000, relation=ReplaceOne())
    often = PhasedHinge(
        **{**GOOD, "mu": 0.1}, records=10_000, sampling="with-replacement", relation=ReplaceOne()
    )

    assert once.guarantee().epsilon(delta=1e-6).upper == pytest.approx(0.397, abs=5e-4)
    assert often.guarantee().epsilon(delta=1e-6).upper == pytest.approx(1.246, abs=2e-3)
    assert isinstance(often.guarantee(), PrivacyProfile)


@pytest.mark.parametrize("rate", [0.02, 0.5, 2.0])
def test_one_record_moves_the_mean_by_no_more_than_stated(rate: float) -> None:
    """Random passes over sequences that differ in one record, at rates up to 2/smoothness."""
    rng = np.random.default_rng(3)
    margin, smoothness = Fraction(1, 4), 8.0
    one = SmoothedPass(
        margin=margin, smoothness=smoothness, rate=rate / smoothness, radius=Fraction(1)
    )
    worst = 0.0
    for trial in range(60):
        rows = rng.normal(size=(12, 3))
        rows = np.trunc(rows / np.linalg.norm(rows, axis=1, keepdims=True) * 2.0**24 * 0.999)
        other = rows.copy()
        place = trial % 12
        other[place] = -rows[place] if trial % 3 else rng.permutation(rows[place])
        start = projected(rng.normal(size=(1, 3)), 1.0)
        order = np.arange(12)[np.newaxis]
        apart = np.linalg.norm(one.run(start, rows, order) - one.run(start, other, order))
        worst = max(worst, float(apart))
    bound = float(one.moves(steps=12, width=3, sides=2))

    assert worst <= bound
    assert worst > bound / 8
    slope = 2 * rate / smoothness / 0.25
    assert slope < bound < slope * (1 + 1e-9)


def test_gradients_are_those_of_the_moreau_envelope() -> None:
    """One step from any state moves by rate times the derivative of the envelope, by minimising."""
    margin, smoothness, rate = 0.5, 6.0, 1e-3
    one = SmoothedPass(
        margin=Fraction(margin), smoothness=smoothness, rate=rate, radius=Fraction(100)
    )
    z = np.array([0.6, 0.5])
    points = np.linspace(-3, 3, 600_001)

    def envelope(a: float) -> float:
        stiff = smoothness / float(z @ z)
        return float((np.maximum(0, 1 - points / margin) + stiff / 2 * (points - a) ** 2).min())

    for state in ([0.0, 0.0], [0.5, 0.1], [0.6, 0.3], [2.0, 1.0]):
        a = float(np.dot(state, z))
        slope = (envelope(a + 1e-3) - envelope(a - 1e-3)) / 2e-3
        moved = one.run(np.array([state]), z[np.newaxis] * 2.0**24, np.array([[0]]))[0] - state

        assert moved == pytest.approx(-rate * slope * z, abs=2e-3 * rate)


@pytest.mark.parametrize(
    "sampling", ["permutation", pytest.param("with-replacement", marks=pytest.mark.slow)]
)
def test_audit_on_opposite_labels(sampling: str) -> None:
    """Neighbours of opposite labels do not refute the claim; a fifth of the noise is caught."""
    rows, labels = np.tile([[1.0, 0.0]], (4, 1)), np.array([1.0, 1.0, 1.0, 1.0])
    data = Records(rows, labels)
    other = Records(rows, np.array([-1.0, 1.0, 1.0, 1.0]))
    given: dict[str, Any] = {"margin": 1, "norm": 1, "sampling": sampling, "records": 4}
    claim = PhasedHinge(**given, mu=1, relation=ReplaceOne()).guarantee()
    for mu, caught in ((1, False), (12, True)):
        report = auditing.audit(
            PhasedHinge(**given, mu=mu, relation=ReplaceOne()).sampler(),
            (data, other),
            claim,
            samples=6_000,
            significance=AUDIT_ALARM,
        )

        assert (report.outcome is auditing.Outcome.VIOLATION) is caught, str(report)


def test_it_learns_a_planted_halfspace() -> None:
    """One pass over 8,000 records of margin 0.4 leaves few mistakes, after a projection too."""
    rng = np.random.default_rng(1)
    side = rng.choice([-1.0, 1.0], size=8_000)
    rest = rng.normal(size=(8_000, 29))
    rest *= 0.7 / np.linalg.norm(rest, axis=1, keepdims=True)
    data = Records(np.column_stack([0.7 * side, rest]), side)
    plan = RademacherProjection(features=30, dimension=20, seed=1)
    for given in ({}, {"map": plan}, {"sampling": "with-replacement", "records": 8_000}):
        learner = PhasedHinge(margin=0.4, norm=1, mu=1, **given, relation=ReplaceOne())
        released = learner.release(data, rng=rng)

        assert released.weights.shape == (30,)
        assert released.steps == 12 == len(phase_sizes(8_000))
        assert np.mean(np.sign(data.rows @ released.weights) == side) > 0.9


def test_malformed_records_keep_their_positions() -> None:
    """A nan in place of a record changes no step but its own: the positions stay."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [1.0, 0.0], [0.8, 0.6]])
    blank = rows.copy()
    blank[2] = np.nan
    zero = rows.copy()
    zero[2] = 0
    learner = PhasedHinge(**{**GOOD, "mu": 50}, relation=ReplaceOne())
    one, two = (
        learner.release(Records(given, np.ones(5)), rng=ReplayRng(2)).weights
        for given in (blank, zero)
    )

    assert (one == two).all()
    assert math.isfinite(float(one.sum()))
