"""Mechanisms on the batches of an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    CyclicPoisson,
    L2Contribution,
    NotImplied,
    ParameterError,
    Poisson,
    RandomAllocation,
    ReplaceOne,
    ShuffledBatches,
    ZeroOut,
    self_compose,
)
from dpproof.mechanisms import (
    Allocated,
    ClippedSum,
    Gaussian,
    Laplace,
    MatrixMechanism,
    MinSeparation,
    Toeplitz,
)
from dpproof.proofs import check
from tests.contracts.mechanism_contract import MechanismContract, one_bad

SUM = ClippedSum(lower=-1, upper=1)
TWO = ShuffledBatches(batches=2)


def noisy(sigma: float, relation: Any = ZeroOut()) -> Gaussian[Any]:  # noqa: ANN401, B008
    """Noise on a sum of contributions of at most 1."""
    return Gaussian(sigma=sigma, sensitivity=L2Contribution(1, relation), query=SUM)


class TestAllocated(MechanismContract):
    """Noisy sums of two shuffled batches."""

    def mechanism(self) -> Allocated[Any]:
        """On records."""
        return noisy(0.6).allocate(TWO)

    @pytest.mark.slow
    def test_audit_does_not_contradict_the_statement(self) -> None:
        """As of every mechanism; the curve of shuffled batches takes seconds."""
        super().test_audit_does_not_contradict_the_statement()

    def data(self) -> object:
        """One record against all others."""
        return np.array([1.0] + [-1.0] * 9)

    def neighbour(self) -> object:
        """The record zeroed out."""
        return np.array([0.0] + [-1.0] * 9)

    def increasing_noise(self) -> Sequence[Allocated[Any]]:
        """The base grows noisier."""
        return [noisy(sigma).allocate(TWO) for sigma in (0.5, 1.0, 8.0)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A scheme of single steps, a base that is no mechanism."""
        return one_bad(
            Allocated,
            good={"base": noisy(1), "scheme": TWO},
            bad={
                "base": (3, "gaussian", None),
                "scheme": (2, "shuffled", None, Poisson(sampling_rate=0.5)),
            },
        )


@pytest.mark.parametrize("relation", [ZeroOut(), ReplaceOne()], ids=str)
def test_one_batch_costs_what_the_base_costs(relation: Any) -> None:  # noqa: ANN401
    """Shuffling into one batch is no shuffling."""
    base = noisy(1, relation)
    one = base.allocate(ShuffledBatches(batches=1)).guarantee().epsilon(delta=1e-6)
    plain = base.guarantee().epsilon(delta=1e-6)

    assert one.upper == plain.upper
    assert one.relative_width < 1e-6


def test_every_record_is_in_one_batch_of_every_epoch() -> None:
    """Nearly without noise, an epoch's sums add up to the sum of all records, twice if kept."""
    data = np.linspace(-1, 1, 7) ** 3
    kept = noisy(1e-9).allocate(ShuffledBatches(batches=3, epochs=2))
    first, second = np.split(kept.release_many(data, 50), 2, axis=1)

    assert np.abs(first.sum(axis=1) - data.sum()).max() < 1e-6
    assert np.abs(first - second).max() < 1e-6
    assert len(np.unique(np.round(first[:, 0], 3))) > 10


def test_only_sums_of_contributions_have_a_guarantee() -> None:
    """A sensitivity is refused with its reason, and so is other noise; both run."""
    records = [0.5, 0.25, -1.0]
    base = Gaussian(sigma=1, sensitivity=L2(1, ZeroOut()), query=sum)
    other = Laplace(scale=1, sensitivity=L1(1, ZeroOut()), query=sum)
    for mechanism, reason in ((base, "every record's contribution"), (other, "sums alone")):
        epoch = mechanism.allocate(TWO)

        assert epoch.release_many(records, 4).shape == (4, 2)
        with pytest.raises(NotImplied, match=reason):
            epoch.guarantee()


def test_refuses_values_and_too_few_records() -> None:
    """A batch needs records, and every batch at least one."""
    value = Gaussian(sigma=1, sensitivity=L2Contribution(1, ZeroOut()))
    with pytest.raises(ParameterError, match="query="):
        value.allocate(TWO).release(3.0)
    with pytest.raises(ParameterError, match="at least batches"):
        noisy(1).allocate(TWO).release([0.5])


def test_rounds_with_correlated_noise_see_their_samples() -> None:
    """Nearly without noise the rounds' values are the sums over samples of their parts."""
    training = MatrixMechanism(
        factor=Toeplitz([1, 0.5], rounds=4),
        sigma=1e-9,
        sensitivity=L2Contribution(1),
        participation=MinSeparation(2),
        query=lambda batches: [[sum(batch)] for batch in batches],
    )
    data = [1.0, 0.5, 0.25, 0.125]
    runs = training.allocate(CyclicPoisson(sampling_rate=0.75, cycle=2)).release_many(data, 200)
    places = np.round(8 * runs[:, :, 0]).astype(int)  # a bit for each record

    assert np.abs(runs[:, :, 0] - places / 8).max() < 1e-6
    assert not (places[:, [0, 2]] & places[:, [1, 3]]).any()
    assert set(np.unique(places)) == set(range(16))
    with pytest.raises(NotImplied, match="MatrixMechanism"):
        noisy(1).allocate(CyclicPoisson(sampling_rate=0.5, cycle=2)).release(data)


@pytest.mark.parametrize("steps", [1, 50, pytest.param(2, marks=pytest.mark.slow)])
def test_a_replacement_is_a_removal_and_an_addition(steps: int) -> None:
    """Above the exact cost in one round and in two, and below that of a known round."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, ReplaceOne()))
    found = noise.allocate(RandomAllocation(steps=steps)).guarantee()
    alone = GDP(mu=2, relation=ReplaceOne())

    assert found.relation == ReplaceOne()
    assert found.derivation.apart == 1
    for epsilon in (0.0, 0.5, 2.0):
        claim = found.delta(epsilon=epsilon).upper
        assert claim <= alone.delta(epsilon=epsilon).upper * 1.01
        if steps <= 2:  # one record of +1, or of -1, and no other: quadrature over the rounds
            cell = 0.005 if steps == 2 else 1e-3
            line = np.arange(-7.0, 7.0, cell)
            plus, none, minus = (stats.norm.pdf(line, place) for place in (1, 0, -1))
            if steps == 2:
                plus, minus = (
                    (np.multiply.outer(one, none) + np.multiply.outer(none, one)) / 2
                    for one in (plus, minus)
                )
            truth = np.maximum(plus - math.exp(epsilon) * minus, 0).sum() * cell**steps
            assert found.delta(epsilon=epsilon).lower - 1e-6 <= truth <= claim + 1e-6
    assert steps > 1 or check(found.certify(delta=1e-4)).ok
    with pytest.raises(NotImplied, match="every record's contribution"):
        Gaussian(sigma=1, sensitivity=L2(2, ReplaceOne())).allocate(
            RandomAllocation(steps=3)
        ).guarantee()


def test_every_question_of_a_replacement_is_answered() -> None:
    """Mu, rho and Renyi divergences are at most those of revealed rounds."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, ReplaceOne()))
    found = noise.allocate(RandomAllocation(steps=1000)).guarantee()
    mu, rho, renyi = found.gdp(), found.zcdp(), found.rdp(order=4)
    epsilon = found.epsilon(delta=1e-6)

    for answer, most in ((mu, 2), (rho, 2), (renyi, 8)):
        assert 0 < answer.lower < answer.upper <= most * (1 + 1e-12)
    assert epsilon.upper < 0.376
    assert found.delta(epsilon=epsilon.upper).lower <= 1e-6 <= found.delta(epsilon=0.24).upper
    fivefold = self_compose(found, 5)
    assert fivefold.zcdp().upper == pytest.approx(10)
