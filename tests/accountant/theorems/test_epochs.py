"""Gaussian sums of shuffled batches: the theorem against all orders of small datasets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    AddRemove,
    Attained,
    L2Contribution,
    NotCertified,
    NotImplied,
    ParameterError,
    Poisson,
    PureDP,
    ReplaceLabel,
    ReplaceOne,
    ShuffledBatches,
    WithoutReplacement,
    ZeroOut,
    compose,
    restrict,
    self_compose,
)
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.theorems.allocation import allocate_shuffled
from dpproof.accountant.theorems.subsampling import subsample_poisson, subsample_without_replacement
from dpproof.mechanisms import Gaussian

DELTA = 1e-6
EPSILONS = (0.0, 0.2, 1.0, 2.5)
LINE = np.linspace(-10.0, 10.0, 401)


def epoch(
    sigma: float = 1,
    batches: int = 469,
    epochs: int = 1,
    relation: Any = ZeroOut(),  # noqa: ANN401, B008
) -> DominatingPair[Any]:
    """Unit contributions."""
    return allocate_shuffled(
        sigma=sigma,
        contribution=L2Contribution(1, relation),
        scheme=ShuffledBatches(batches=batches, epochs=epochs),
    )


def density(contributions: tuple[float, ...], sizes: tuple[int, ...], sigma: float) -> Reals:
    """Density of two batches' noisy sums, over all orders of the records."""
    total = np.zeros((LINE.size, LINE.size))
    orders = list(itertools.permutations(contributions))
    for order in orders:
        first, second = sum(order[: sizes[0]]), sum(order[sizes[0] :])
        total += np.multiply.outer(
            np.exp(-0.5 * ((LINE - first) / sigma) ** 2),
            np.exp(-0.5 * ((LINE - second) / sigma) ** 2),
        )
    return total / (len(orders) * 2 * math.pi * sigma**2)


@pytest.mark.some(3)
@pytest.mark.parametrize("relation", [ZeroOut(), ReplaceOne()], ids=str)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (3, 1)], ids=str)
def test_no_small_dataset_exceeds_the_upper_end(relation: Any, sizes: tuple[int, int]) -> None:  # noqa: ANN401
    """Divergences over all orders of up to four records, contributions drawn at random."""
    rng = np.random.default_rng(sum(sizes))
    sigma, cell = 0.9, (LINE[1] - LINE[0]) ** 2
    guarantee = epoch(sigma=sigma, batches=2, relation=relation)
    for _ in range(6):
        others = tuple(rng.uniform(-1, 1, sum(sizes) - 1).tolist())
        other = (
            0.0 if isinstance(relation, ZeroOut) else float(rng.choice([-1, rng.uniform(-1, 1)]))
        )
        p, q = (density((one, *others), sizes, sigma) for one in (1.0, other))
        for epsilon in EPSILONS:
            t = math.exp(epsilon)
            exact = max(np.maximum(p - t * q, 0).sum(), np.maximum(q - t * p, 0).sum()) * cell
            assert exact <= guarantee.delta(epsilon=epsilon).upper + 1e-6


@pytest.mark.parametrize("relation", [ZeroOut(), ReplaceOne()], ids=str)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (3, 1)], ids=str)
def test_one_record_against_all_others_reaches_the_lower_end(
    relation: Any,  # noqa: ANN401
    sizes: tuple[int, int],
) -> None:
    """Over all orders, for batches of equal and unequal sizes."""
    sigma, cell, others = 0.9, (LINE[1] - LINE[0]) ** 2, (-1.0,) * (sum(sizes) - 1)
    guarantee = epoch(sigma=sigma, batches=2, relation=relation)
    other = 0.0 if isinstance(relation, ZeroOut) else -1.0
    p, q = (density((one, *others), sizes, sigma) for one in (1.0, other))
    for epsilon in EPSILONS:
        t = math.exp(epsilon)
        exact = max(np.maximum(p - t * q, 0).sum(), np.maximum(q - t * p, 0).sum()) * cell
        assert guarantee.delta(epsilon=epsilon).lower <= exact + 1e-6


def test_the_tutorial_costs_between_seven_and_twenty() -> None:
    """Ten epochs of 469 batches: Poisson accounting prints .8535, and both ends refute it."""
    found = self_compose(epoch(), 10).epsilon(delta=DELTA)
    step = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=128 / 60_000))
    poisson = step.repeat(4690).guarantee().epsilon(delta=DELTA)

    assert found.attained
    assert 6.902 < found.lower < 6.903
    assert 19.423 < found.upper < 19.424
    assert 0.85 < poisson.upper < 0.86 < found.lower


def test_a_kept_order_is_less_noise() -> None:
    """Four epochs in one order cost what half the noise costs, more than four fresh orders."""
    kept, half = epoch(epochs=4), epoch(sigma=0.5)
    fresh = self_compose(epoch(), 4)

    assert kept.forward == half.forward
    assert kept.epsilon(delta=DELTA).lower > fresh.epsilon(delta=DELTA).lower
    assert kept.epsilon(delta=DELTA).upper == fresh.epsilon(delta=DELTA).upper


@pytest.mark.parametrize(
    "relation", [ZeroOut(), pytest.param(ReplaceOne(), marks=pytest.mark.slow)], ids=str
)
def test_every_question_has_two_ends(relation: Any) -> None:  # noqa: ANN401
    """Epsilon, delta, power, mu, rho and Renyi divergences are brackets that hold each other."""
    found = self_compose(epoch(batches=20, relation=relation), 3)
    epsilon, power = found.epsilon(delta=DELTA), found.true_positive_rate(false_positive_rate=0.01)
    answers = [epsilon, power, found.gdp(smallest_delta=1e-4), found.zcdp(), found.rdp(order=3)]

    assert found.attained is Attained.WHOLE
    assert all(0 < one.lower <= one.upper for one in (*answers, found.advantage()))
    assert power.lower > 0.01
    assert found.delta(epsilon=epsilon.lower * 0.999).lower >= DELTA
    assert found.gdp().relative_width < 1e-9  # the tail is a Gaussian's


@pytest.mark.some(2)
@pytest.mark.parametrize("relation", [ZeroOut(), ReplaceOne()], ids=str)
@pytest.mark.parametrize("count", [1, 3])
def test_both_ends_are_certified(relation: Any, count: int) -> None:  # noqa: ANN401
    """The checker proves both, close to the bracket, and no larger lower end."""
    found = self_compose(epoch(batches=50, relation=relation), count)
    epsilon = found.epsilon(delta=DELTA)
    upper, lower = (found.certify(delta=DELTA, lower=low) for low in (False, True))
    claimed = [float(Fraction(str(one.claim["epsilon"]))) for one in (upper, lower)]
    false = lower.to_json().replace(str(lower.claim["epsilon"]), str(Fraction(claimed[1] * 1.01)))

    assert isinstance(proofs.check(upper), proofs.VerifiedUnder)
    assert isinstance(proofs.check(lower), proofs.Verified)
    assert isinstance(proofs.check_text(false), proofs.Rejected)
    assert epsilon.upper <= claimed[0] <= epsilon.upper * (1 + 1e-6)
    assert epsilon.lower * (1 - 1e-3) <= claimed[1] <= epsilon.lower


@pytest.mark.slow
def test_lower_ends_are_certified_beside_gaussian_noise() -> None:
    """Products with Gaussian pairs are; with others they are refused, and so are other numbers."""
    whole = compose(self_compose(epoch(batches=50), 2), GDP(mu=0.5, relation=ZeroOut()))
    certificate = whole.certify(epsilon=1, lower=True)
    claimed = float(Fraction(str(certificate.claim["delta"])))
    least = whole.delta(epsilon=1).lower

    assert isinstance(proofs.check(certificate), proofs.Verified)
    assert isinstance(proofs.check(whole.certify(delta=DELTA)), proofs.VerifiedUnder)
    assert least * 0.99 <= claimed <= least
    with pytest.raises(NotCertified, match="beside Gaussian noise"):
        compose(whole, PureDP(epsilon=1, relation=ZeroOut())).certify(delta=DELTA, lower=True)
    with pytest.raises(NotCertified, match="lower ends of epsilon and of delta"):
        whole.certify(false_positive_rate=0.01, lower=True)
    with pytest.raises(NotCertified, match="lower ends of epsilon and of delta"):
        whole.certify(order=2, lower=True)


@pytest.mark.slow
def test_every_upper_number_is_certified() -> None:
    """Renyi divergences, power, advantage and delta of the Gaussian pair above."""
    found = self_compose(epoch(batches=50), 2)
    asked: list[dict[str, Any]] = [{"order": 3}, {"false_positive_rate": 0.01}]
    for question in (*asked, {"advantage": True}, {"epsilon": 2}):
        assert isinstance(proofs.check(found.certify(**question)), proofs.VerifiedUnder)


@pytest.mark.parametrize(
    ("relation", "reason"), [(AddRemove(), "amplifies nothing"), (ReplaceLabel(), "restrict")]
)
def test_other_relations_are_refused(relation: Any, reason: str) -> None:  # noqa: ANN401
    """Under add-remove a second record changes its batch; labels follow from replace-one."""
    with pytest.raises(NotImplied, match=reason):
        epoch(relation=relation)
    labels = restrict(epoch(relation=ReplaceOne()))
    assert labels.epsilon(delta=DELTA).upper > 0
    assert not labels.epsilon(delta=DELTA).attained


def test_a_sensitivity_is_not_enough() -> None:
    """Every record's contribution matters, as records change places."""
    with pytest.raises(ParameterError, match="a sensitivity says what"):
        allocate_shuffled(
            sigma=1,
            contribution=L2(1),  # type: ignore[arg-type]
            scheme=ShuffledBatches(batches=2),
        )


def test_poisson_samples_of_shuffled_batches_are_refused() -> None:
    """Their number of records is not public, and a blank takes a place."""
    with pytest.raises(NotImplied, match="public sizes"):
        subsample_poisson(self_compose(epoch(), 2), Poisson(sampling_rate=0.5))


@pytest.mark.slow
def test_subsets_of_fixed_size_are_shuffled_soundly() -> None:
    """A uniform subset of public size costs at most all of it, with a bracket of its own."""
    whole = epoch(batches=5, relation=ReplaceOne())
    few = subsample_without_replacement(
        whole, WithoutReplacement(sample_size=10, population_size=100)
    )
    found = few.epsilon(delta=DELTA)

    assert 0 < found.lower <= found.upper < whole.epsilon(delta=DELTA).upper
    assert isinstance(proofs.check(few.certify(delta=DELTA)), proofs.VerifiedUnder)
