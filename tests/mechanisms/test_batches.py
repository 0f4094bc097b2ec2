"""The batches that schemes draw, against their law."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant import (
    BallsInBins,
    CyclicPoisson,
    ParameterError,
    Poisson,
    RandomAllocation,
    SamplingScheme,
    ShuffledBatches,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.mechanisms import ReplayRng, Rng, index_batches, index_samples


class Scripted(Rng):
    """Words that a test has chosen."""

    def __init__(self, words: tuple[int, ...]) -> None:
        """Give these words, in this order."""
        self._left = list(words)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        taken, self._left = self._left[:count], self._left[count:]
        return np.array(taken, dtype=np.uint64)


def test_every_order_comes_from_as_many_words() -> None:
    """The law, exactly: orders of five different words are one to one with the batches' orders."""
    scheme = ShuffledBatches(batches=2)
    drawn = Counter(
        tuple(np.concatenate(list(index_batches(scheme, records=5, rng=Scripted(words)))).tolist())
        for words in permutations((3, 1 << 62, 5, 0, (1 << 64) - 1))
    )

    assert sorted(drawn) == sorted(permutations(range(5)))
    assert set(drawn.values()) == {1}


def test_equal_words_are_drawn_again() -> None:
    """A tie says nothing about which record comes first."""
    words = (7, 7, 1, 2, 0, 1)
    (batch,) = index_batches(ShuffledBatches(batches=1), records=3, rng=Scripted(words))

    assert batch.tolist() == [1, 2, 0]


@pytest.mark.parametrize(("records", "batches"), [(10, 3), (9, 3), (5, 5), (1, 1), (1000, 469)])
def test_batches_are_a_partition_into_nearly_equal_parts(records: int, batches: int) -> None:
    """Every record is in one batch, and sizes differ by at most one, larger ones first."""
    drawn = list(index_batches(ShuffledBatches(batches=batches), records=records))
    sizes = [len(batch) for batch in drawn]

    assert len(drawn) == batches
    assert sorted(np.concatenate(drawn).tolist()) == list(range(records))
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


def test_a_kept_order_repeats_and_a_seed_replays() -> None:
    """Two epochs of a kept order are equal; the same seed gives the same batches."""
    scheme = ShuffledBatches(batches=4, epochs=2)
    first, again = (
        [batch.tolist() for batch in index_batches(scheme, records=11, rng=ReplayRng(3))]
        for _ in range(2)
    )

    assert first == again
    assert first[:4] == first[4:]


@pytest.mark.parametrize(
    ("scheme", "records"),
    [
        (Poisson(sampling_rate=0.5), 9),
        (3, 9),
        (ShuffledBatches(batches=4), 3),
        (ShuffledBatches(batches=4), 0),
        (ShuffledBatches(batches=4), 4.5),
    ],
)
def test_refuses_other_schemes_and_too_few_records(scheme: Any, records: Any) -> None:  # noqa: ANN401
    """Only schemes of an epoch, and a record for every batch."""
    with pytest.raises(ParameterError):
        list(index_batches(scheme, records=records))


def test_one_step_samples_have_their_law() -> None:
    """Every sample of two records, counted in 4,000 draws, within five standard deviations."""
    laws: list[tuple[SamplingScheme, dict[tuple[int, ...], float]]] = [
        (Poisson(sampling_rate=0.25), {(): 9 / 16, (0,): 3 / 16, (1,): 3 / 16, (0, 1): 1 / 16}),
        (WithoutReplacement(sample_size=1, population_size=2), {(0,): 0.5, (1,): 0.5}),
        (
            WithReplacement(sample_size=2, population_size=2),
            {(0, 0): 0.25, (0, 1): 0.5, (1, 1): 0.25},
        ),
        (
            TruncatedPoisson(sampling_rate=0.5, largest=1, population_size=2),
            {(): 0.25, (0,): 0.375, (1,): 0.375},
        ),
        (
            UserPoisson(sampling_rate=0.5, contributions=2),
            {
                tuple(sorted((0,) * a + (1,) * b)): w * v / 16
                for a, w in enumerate((1, 2, 1))
                for b, v in enumerate((1, 2, 1))
            },
        ),
    ]
    draws = 4_000
    for scheme, law in laws:
        drawn = index_samples(scheme, records=2, steps=draws, rng=ReplayRng(7))
        seen = Counter(tuple(batch.tolist()) for batch in drawn)
        assert set(seen) == set(law)
        for one, chance in law.items():
            assert abs(seen[one] - draws * chance) < 5 * (draws * chance * (1 - chance)) ** 0.5


@pytest.mark.parametrize(
    ("scheme", "fits", "others"),
    [
        (WithoutReplacement(sample_size=2, population_size=5), [5], [4, 6]),
        (WithReplacement(sample_size=2, population_size=5), [5, 9], [3, 4]),
        (TruncatedPoisson(sampling_rate=0.5, largest=2, population_size=5), [5], [4, 6]),
        (UserPoisson(sampling_rate=0.5, contributions=2), [1, 9], []),
    ],
)
def test_one_step_samples_are_of_the_records_that_a_theorem_covers(
    scheme: SamplingScheme, fits: list[int], others: list[int]
) -> None:
    """As many records as the scheme is about; what is stated under replace-one is of no other."""
    for records in fits:
        assert len(list(index_samples(scheme, records=records, steps=2, rng=ReplayRng(1)))) == 2
    for records in others:
        with pytest.raises(ParameterError, match="what the scheme is about"):
            next(index_samples(scheme, records=records, steps=1))


def test_whole_epochs_are_no_samples() -> None:
    """They have an iterator of their own."""
    with pytest.raises(ParameterError, match="index_batches"):
        next(index_samples(ShuffledBatches(batches=2), records=4, steps=1))  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", [1, 2, 3])
def test_every_record_draws_its_rounds_by_itself(chosen: int) -> None:
    """Each record is in as many rounds as it draws, all sets of rounds about equally often."""
    scheme = RandomAllocation(steps=3, chosen=chosen)
    batches = list(index_batches(scheme, records=6000, rng=ReplayRng(5)))
    rounds = Counter(
        tuple(i for i in range(3) if record in members[i])
        for members in [[set(batch.tolist()) for batch in batches]]
        for record in range(6000)
    )

    assert len(batches) == 3
    assert sorted(rounds) == sorted(combinations(range(3), chosen))
    assert all(abs(found - 6000 / len(rounds)) < 200 for found in rounds.values())


def test_kept_rounds_repeat_and_no_record_is_needed() -> None:
    """All epochs have the same batches; without records all are empty."""
    kept = [b.tolist() for b in index_batches(BallsInBins(steps=4, epochs=2), records=9)]

    assert kept[:4] == kept[4:]
    assert sorted(record for batch in kept[:4] for record in batch) == list(range(9))
    assert [len(b) for b in index_batches(RandomAllocation(steps=4), records=0)] == [0] * 4


def test_parts_are_asked_in_turn() -> None:
    """A record is in rounds of one part alone, every time by a coin, and parts are equally likely.

    The exact law of 2 records over 2 parts and 3 rounds, within five standard errors.
    """
    scheme, runs = CyclicPoisson(sampling_rate=0.25, cycle=2), 4000
    law: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for seed in range(runs):
        steps = index_samples(scheme, records=2, steps=3, rng=ReplayRng(seed))
        law[tuple(tuple(one.tolist()) for one in steps)] += 1
    chances: dict[tuple[tuple[int, ...], ...], float] = {}
    for parts in product((0, 1), repeat=2):
        for coins in product((0, 1), repeat=6):
            rounds = [
                tuple(r for r in (0, 1) if coins[2 * i + r] and parts[r] == i % 2) for i in range(3)
            ]
            heads = sum(coins)
            chance = 0.25 * 0.25**heads * 0.75 ** (6 - heads)
            chances[tuple(rounds)] = chances.get(tuple(rounds), 0.0) + chance

    assert set(law) <= set(chances)
    for one, chance in chances.items():
        assert abs(law[one] - runs * chance) < 5 * (runs * chance * (1 - chance)) ** 0.5 + 1
    assert [len(one) for one in index_samples(scheme, records=0, steps=2)] == [0, 0]
