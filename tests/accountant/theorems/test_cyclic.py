"""Poisson samples of parts in turn: the theorem against runs that adapt, and its conditions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import (
    L2,
    AddRemove,
    CyclicPoisson,
    L2Contribution,
    NotImplied,
    ParameterError,
    Poisson,
    ReplaceLabel,
    ReplaceOne,
    ZeroOut,
    self_compose,
)
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.theorems.allocation import allocate_cyclic
from dpproof.accountant.theorems.subsampling import subsample_gaussian_sum, subsample_poisson
from dpproof.mechanisms import (
    Gaussian,
    MatrixMechanism,
    MinSeparation,
    SquareRoot,
    Toeplitz,
    TreeAggregation,
)

RELATIONS = (AddRemove(), ZeroOut(), ReplaceOne())


def training(
    relation: Any = AddRemove(),  # noqa: ANN401, B008
    *,
    cycle: int = 2,
    bands: int = 2,
    **changes: Any,  # noqa: ANN401
) -> DominatingPair[Any]:
    """Four rounds, two bands of (1, -1/2), two parts."""
    usual: dict[str, Any] = {"sigma": 1, "contribution": L2Contribution(1, relation), "rounds": 4}
    scheme = CyclicPoisson(sampling_rate=Fraction(1, 4), cycle=cycle)
    factor = {"factor": "toeplitz", "listed": ((Fraction(1), Fraction(-1, 2)),)}
    given = {**usual, **factor, "scheme": scheme, "bands": bands, "column": Fraction(5, 4)}
    given.update(changes)
    return allocate_cyclic(**given)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_one_band_in_a_cycle_of_one_is_a_poisson_sample_in_every_round(relation: Any) -> None:  # noqa: ANN401
    """The profile is that of the theorem on single samples, composed."""
    rate = Poisson(sampling_rate=Fraction(1, 4))
    sums = L2Contribution(1, relation)
    one = (
        subsample_gaussian_sum(sigma=1, contribution=sums, scheme=rate)
        if isinstance(relation, ReplaceOne)
        else subsample_poisson(Gaussian(sigma=1, sensitivity=sums).guarantee(), rate)
    )
    found = training(relation, cycle=1, bands=1, column=Fraction(1))

    assert found.epsilon(delta=1e-6) == self_compose(one, 4).epsilon(delta=1e-6)


# Four columns of the factor (1, -1/2): a record of part 0 is in rounds 0 and 2.
_FACTOR = np.array([[1, 0, 0, 0], [-0.5, 1, 0, 0], [0, -0.5, 1, 0], [0, 0, -0.5, 1.0]])


def _means(rows: Any, coins: tuple[int, ...], sign: float, seed: int) -> Any:  # noqa: ANN401
    """Means of the rows, of contributions and other sums that depend on earlier rows."""
    weights = np.random.default_rng(seed).normal(size=(4, 4))
    sums = np.zeros((len(rows), 4))
    for j in range(4):
        seen = rows[:, :j] @ weights[j, :j]
        sums[:, j] = np.sin(3 * seen)  # of the other records
        if j in (0, 2):
            sums[:, j] += coins[j // 2] * sign * np.where(seen >= 0, 1, np.cos(seen))
    return sums @ _FACTOR.T


def _density(rows: Any, rate: float, sign: float, seed: int) -> Any:  # noqa: ANN401
    """The density of rows, up to a factor that all datasets share: the mean over all coins."""
    total = np.zeros(len(rows))
    for coins in itertools.product((0, 1), repeat=2):
        weight = math.prod(rate if coin else 1 - rate for coin in coins)
        total += weight * np.exp(-((rows - _means(rows, coins, sign, seed)) ** 2).sum(axis=1) / 2)
    return total


def _drawn(rate: float, sign: float, seed: int, size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
    """Rows of many runs: each is drawn given those before it."""
    coins = (rng.random((size, 2)) < rate).astype(float)
    rows, noise = np.zeros((size, 4)), rng.normal(size=(size, 4))
    for i in range(4):
        means = np.zeros(size)
        for both in itertools.product((0, 1), repeat=2):
            here = (coins == both).all(axis=1)
            means[here] = _means(rows[here], both, sign, seed)[:, i]
        rows[:, i] = means + noise[:, i]
    return rows


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()], ids=str)
def test_runs_that_adapt_stay_below(relation: Any, seed: int) -> None:  # noqa: ANN401
    """Likelihood ratios of 40,000 simulated runs: no divergence is above by five errors."""
    rng, rate, size = np.random.default_rng(seed), 0.25, 40_000
    other = -1.0 if isinstance(relation, ReplaceOne) else 0.0
    bound = training(relation)
    for forward, (first, second) in ((True, (1.0, other)), (False, (other, 1.0))):
        rows = _drawn(rate, first, seed, size, rng)
        ratio = _density(rows, rate, second, seed) / _density(rows, rate, first, seed)
        product = bound.forward if forward else bound.backward
        pair = DominatingPair(forward=product, backward=product, relation=ReplaceOne())
        for epsilon in (0.0, 0.3, 0.8):
            lost = np.maximum(1 - math.exp(epsilon) * ratio, 0)
            error = lost.std() / math.sqrt(size)
            assert lost.mean() <= pair.delta(epsilon=epsilon).upper + 5 * error
            assert lost.mean() >= 0.3 * pair.delta(epsilon=epsilon).upper


def test_fewer_parts_than_bands_would_be_too_little() -> None:
    """A column (1, 1) over samples of all records exceeds the product, and is refused."""
    sigma, rate = 0.25, 0.5
    step = Gaussian(sigma=sigma, sensitivity=L2Contribution(math.sqrt(2))).guarantee()
    product = self_compose(subsample_poisson(step, Poisson(sampling_rate=rate)), 2)
    # (row 0 + 2 row 1) / sqrt 5 has mean 0 without the record, and these means with it.
    means = [(one + 2 * (one + two)) / math.sqrt(5) for one in (0, 1) for two in (0, 1)]
    epsilon, cut = 25.0, 1.9

    def above(mean: float) -> float:
        return math.erfc((cut - mean) / sigma / math.sqrt(2)) / 2

    shown = sum(above(mean) for mean in means) / 4 - math.exp(epsilon) * above(0)
    assert shown > product.delta(epsilon=epsilon).upper * 1.01
    with pytest.raises(NotImplied, match="2 bands has no guarantee over a cycle of 1"):
        training(cycle=1)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_is_certified_and_costs_less_than_without_samples(relation: Any) -> None:  # noqa: ANN401
    """A thousand rounds of a banded square root, an upper end that the checker proves."""
    noise = MatrixMechanism(
        factor=SquareRoot(rounds=1000, bands=100),
        sigma=4,
        sensitivity=L2Contribution(1, relation),
        participation=MinSeparation(100),
    )
    sampled = noise.allocate(CyclicPoisson(sampling_rate=0.1, cycle=100)).guarantee()
    verdict = proofs.check(sampled.certify(delta=1e-6))

    assert isinstance(verdict, proofs.VerifiedUnder)
    dealt = "on no other record" if relation == AddRemove() else "without looking at any record"
    assert "which of the 100 parts a record belongs to" in verdict.assumptions[0]
    assert dealt in verdict.assumptions[0].split(";")[2]
    assert 2 * sampled.epsilon(delta=1e-6).upper < noise.guarantee().epsilon(delta=1e-6).upper


def test_what_has_no_guarantee_is_refused() -> None:
    """Other mechanisms, trees, participations that are not the cycle's, bare sensitivities."""
    scheme = CyclicPoisson(sampling_rate=0.1, cycle=2)
    given: dict[str, Any] = {"sigma": 1, "participation": MinSeparation(2)}
    banded, sums = Toeplitz([1, 0.5], rounds=4), L2Contribution(1)
    refused = [
        (Gaussian(sigma=1, sensitivity=sums), "independent noise takes Poisson"),
        (TreeAggregation(rounds=4, sensitivity=sums, **given), "triangular"),
        (MatrixMechanism(factor=banded, sensitivity=L2(1), **given), "L2Contribution"),
        (
            MatrixMechanism(factor=SquareRoot(rounds=4), sensitivity=sums, **given),
            "at least as many parts",
        ),
        (
            MatrixMechanism(
                factor=banded, sigma=1, sensitivity=sums, participation=MinSeparation(3)
            ),
            r"participation=MinSeparation\(2\)",
        ),
    ]
    for mechanism, told in refused:
        with pytest.raises(NotImplied, match=told):
            mechanism.allocate(scheme).guarantee()
    with pytest.raises(ParameterError, match="relation"):
        training(ReplaceLabel())
    with pytest.raises(ParameterError, match="at rate 1"):
        CyclicPoisson(sampling_rate=1, cycle=2)
