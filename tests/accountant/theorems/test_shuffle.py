"""The theorems of the shuffle model."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    AddRemove,
    Attained,
    NotImplied,
    ParameterError,
    PureDP,
    ReplaceOne,
    Shuffle,
    ZeroOut,
    compose,
    self_compose,
)
from dpproof.accountant.theorems.parallel import shuffle_pure, shuffle_randomized_response
from dpproof.proofs import VerifiedUnder

ONE = ReplaceOne()


def shuffled(records: int, categories: int = 4, epsilon: float = 1.0) -> Any:  # noqa: ANN401
    """Shuffled reports by randomised response."""
    return shuffle_randomized_response(
        epsilon=epsilon, categories=categories, scheme=Shuffle(records=records), relation=ONE
    )


def test_more_records_cost_less_and_answers_are_quick() -> None:
    """From ten to 1e8, each in a second."""
    found = []
    for records in (10, 1_000, 100_000, 10**8):
        start = time.process_time()
        found.append(shuffled(records).epsilon(delta=1e-9))
        assert time.process_time() - start < 1.5

    assert all(one.upper < other.lower for one, other in zip(found[1:], found, strict=False))


def test_composes_with_itself_and_others() -> None:
    """A thousand rounds cost some thirty times one round, and Gaussian noise adds to them."""
    one = shuffled(100_000)
    once, often = (each.epsilon(delta=1e-6) for each in (one, self_compose(one, 100)))
    both = compose(one, GDP(mu=0.01, relation=ONE)).epsilon(delta=1e-6)

    assert 8 * once.upper < often.lower <= often.upper < 1.01 * often.lower
    assert once.upper < both.lower <= both.upper < 1.01 * both.lower
    assert self_compose(one, 3).derivation.attained is Attained.WHOLE


@pytest.mark.parametrize("records", [100, 1_000])
def test_two_categories_are_told_apart_as_by_the_best_of_all_datasets(records: int) -> None:
    """The lower end is what others who all hold the person's own category reveal, by sums."""
    own = math.e / (math.e + 1)

    def delta(others: int, epsilon: float) -> float:
        rest = np.convolve(
            binom.pmf(np.arange(others + 1), others, own),
            binom.pmf(np.arange(records - others), records - 1 - others, 1 - own),
        )
        p, q = (np.convolve(rest, [1 - one, one]) for one in (own, 1 - own))
        return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())

    found = shuffled(records, 2).epsilon(delta=1e-6)
    best = delta(records - 1, found.lower)
    assert best == pytest.approx(1e-6, rel=1e-6)
    for others in (0, records // 4, records // 2, records - 2):
        assert delta(others, found.lower) < best
    assert max(delta(others, found.upper) for others in range(0, records, 9)) < 1e-6
    assert found.upper < 1.2 * found.lower


def test_clones_cost_more_than_randomised_response() -> None:
    """The same epsilon says less of any randomiser, and no instance attains it."""
    report = PureDP(epsilon=1, relation=ONE)
    found = shuffle_pure(report, scheme=Shuffle(records=1_000))

    assert not found.derivation.attained
    assert found.epsilon(delta=1e-6).lower > shuffled(1_000, 2).epsilon(delta=1e-6).upper


@pytest.mark.parametrize("relation", [AddRemove(), ZeroOut()], ids=str)
def test_refuses_other_relations(relation: Any) -> None:  # noqa: ANN401
    """Where only publications speak, nothing is stated."""
    scheme = Shuffle(records=10)
    with pytest.raises(NotImplied, match="only publications say"):
        shuffle_pure(PureDP(epsilon=1, relation=relation), scheme=scheme)
    with pytest.raises(NotImplied, match="ReplaceOne"):
        shuffle_randomized_response(epsilon=1, categories=3, scheme=scheme, relation=relation)


def test_refuses_arguments_outside_their_domains() -> None:
    """Epsilon, categories, another notion."""
    for epsilon in (0, 33, -1):
        with pytest.raises(ParameterError, match="epsilon"):
            shuffled(10, 3, epsilon)
    with pytest.raises(ParameterError, match="categories"):
        shuffled(10, 1)
    with pytest.raises(ParameterError, match="PureDP"):
        shuffle_pure(GDP(mu=1, relation=ONE), scheme=Shuffle(records=10))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "categories", "rounds"),
    [(60, 2, 1), pytest.param(400, 3, 5, marks=pytest.mark.slow)],
)
def test_certificates_are_near_the_upper_end(records: int, categories: int, rounds: int) -> None:
    """The checker recomputes the layers, and loses half a per cent at most."""
    found = self_compose(shuffled(records, categories), rounds)
    certificate = found.certify(delta=1e-5)
    verdict = proofs.check(certificate)
    assert isinstance(verdict, VerifiedUnder)
    claimed = float(verdict.claim.split("(")[1].split(",")[0])
    upper = found.epsilon(delta=1e-5).upper

    assert upper * (1 - 1e-9) <= claimed <= 1.005 * upper
