"""Local reports in a random order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from dpproof.accountant import (
    L1,
    AddRemove,
    NotImplied,
    ParameterError,
    Poisson,
    ReplaceOne,
    Shuffle,
)
from dpproof.accountant.form import DataError
from dpproof.mechanisms import (
    Laplace,
    LocalHashing,
    RandomizedResponse,
    Shuffled,
    SubsetSelection,
    UnaryEncoding,
)
from tests.accountant.subsampling.builders import histogram
from tests.contracts.mechanism_contract import MechanismContract, one_bad

ONE, FIVE = ReplaceOne(), Shuffle(records=5)


def response(epsilon: float = 1, categories: int = 3) -> RandomizedResponse[ReplaceOne]:
    """Randomised response on three categories."""
    return RandomizedResponse(epsilon=epsilon, categories=categories, relation=ONE)


class TestShuffled(MechanismContract):
    """The histogram of five reports."""

    def mechanism(self) -> Shuffled[Any]:
        """On records that are categories."""
        return response().shuffle(FIVE)

    def data(self) -> object:
        """One record against others of a third category."""
        return [0, 2, 2, 2, 2]

    def neighbour(self) -> object:
        """The record replaced."""
        return [1, 2, 2, 2, 2]

    def increasing_noise(self) -> Sequence[Shuffled[Any]]:
        """Each report says less."""
        return [response(epsilon).shuffle(FIVE) for epsilon in (4, 1, 0.25)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A bare number, a scheme of samples, a base that is no mechanism."""
        return one_bad(
            Shuffled,
            good={"base": response(), "scheme": FIVE},
            bad={"base": (3, None), "scheme": (5, None, Poisson(sampling_rate=0.5))},
        )


def test_histograms_have_the_law_of_the_theorem() -> None:
    """Ten thousand histograms of four reports against their exact probabilities."""
    truths = [0, 2, 2, 1]
    law = histogram(truths, 3, 1.0)
    drawn = (
        response()
        .shuffle(Shuffle(records=4))
        .release_many(truths, 10_000, rng=np.random.default_rng(7))
    )
    found = Counter(map(tuple, drawn.tolist()))

    assert set(found) <= set(law)
    observed = [found[one] for one in law]
    assert chisquare(observed, [10_000 * mass for mass in law.values()]).pvalue > 1e-6


def test_reports_come_in_a_uniformly_random_order() -> None:
    """Of three reports that hardly lie, each of the six orders is as likely."""
    base = UnaryEncoding(epsilon=32, categories=3, symmetric=True, relation=ONE)
    drawn = base.shuffle(Shuffle(records=3)).release_many(
        [0, 1, 2], 6_000, rng=np.random.default_rng(7)
    )
    orders = Counter(map(tuple, drawn.argmax(axis=2).tolist()))

    assert sum(len(set(order)) == 3 for order in orders) == 6
    assert chisquare([orders[one] for one in orders if len(set(one)) == 3]).pvalue > 1e-6


@pytest.mark.parametrize("kind", [UnaryEncoding, LocalHashing, SubsetSelection])
def test_other_local_mechanisms_have_the_bound_of_clones(kind: Any) -> None:  # noqa: ANN401
    """Of them the epsilon of a report is used."""
    base = kind(epsilon=1, categories=4, relation=ONE)
    found = base.shuffle(Shuffle(records=200)).guarantee()

    assert found.derivation.rule == "shuffle/pure-dp"
    assert found.epsilon(delta=1e-6).upper < base.guarantee().epsilon(delta=1e-6).upper


def test_refuses_what_no_theorem_covers() -> None:
    """Noise that is no local mechanism, and a relation where the number of records is private."""
    noise = Laplace(scale=1, sensitivity=L1(1, ONE))
    with pytest.raises(NotImplied, match="local mechanisms"):
        noise.shuffle(FIVE).guarantee()
    hidden = RandomizedResponse(epsilon=1, categories=3, relation=AddRemove())
    with pytest.raises(NotImplied, match="ReplaceOne"):
        hidden.shuffle(FIVE).guarantee()


def test_refuses_another_number_of_records() -> None:
    """The number is public and stated; no value of the data is told."""
    with pytest.raises(DataError, match="5 records"):
        response().shuffle(FIVE).release([0, 1])
    with pytest.raises(ParameterError, match="at most 100000000"):
        Shuffle(records=10**8 + 1)


def test_a_query_takes_the_value_from_each_record() -> None:
    """Records may be anything that the query maps to a category."""
    base = RandomizedResponse(epsilon=32, categories=2, relation=ONE, query=lambda one: one["sick"])
    records = [{"sick": 1}, {"sick": 0}, {"sick": 1}]

    assert base.shuffle(Shuffle(records=3)).release(records).tolist() == [1, 2]
