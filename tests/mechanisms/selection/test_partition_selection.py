"""Partition selection."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne
from dpproof.mechanisms import PartitionSelection, ReplayRng
from dpproof.proofs import VerifiedUnder, check
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad


@pytest.mark.slow
class TestPartitionSelection(MechanismContract):
    """On counts."""

    def mechanism(self) -> PartitionSelection[AddRemove]:
        """One partition a record."""
        return PartitionSelection(epsilon=1.5, delta=1e-7, relation=AddRemove())

    def data(self) -> object:
        """Counts around one half."""
        return [0, 10, 11]

    def neighbour(self) -> object:
        """A record less."""
        return [0, 10, 10]

    def increasing_noise(self) -> Sequence[PartitionSelection[AddRemove]]:
        """Epsilon from 3 down to 1/2."""
        return [
            PartitionSelection(epsilon=e, delta=1e-7, relation=AddRemove()) for e in (3, 1, 0.5)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "epsilon": (*NOT_POSITIVE, 1e-9),
            "delta": (*NOT_POSITIVE, 1, 2, Fraction(1, 10**900)),
            "contributions": (0, 1.5, None),
            "relation": (AddRemove, None),
            "query": ([1, 2],),
        }
        return one_bad(
            PartitionSelection, good={"epsilon": 1, "delta": 1e-6, "relation": AddRemove()}, bad=bad
        )


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()])
def test_no_neighbours_refute_it_and_some_attain_it(relation: Relation) -> None:
    """All neighbouring tables of two partitions obey the statement; add-remove ones attain it."""
    mechanism = PartitionSelection(epsilon=2, delta=0.02, relation=relation)
    kept = [0.0, *map(float, mechanism.kept), 1.0]
    tables = list(itertools.product(range(len(kept)), repeat=2))
    symmetric = relation.symmetric
    for ratio in (0.0, 0.5, 1.0, 2.0):
        stated, worst = mechanism.guarantee().delta(epsilon=ratio).upper, 0.0
        for a, b in itertools.product(tables, repeat=2):
            moves = sorted(x - y for x, y in zip(a, b, strict=True))
            if moves in ([0, 1], [-1, 0]) or (symmetric and moves == [-1, 1]):
                total = 0.0
                for bits in itertools.product((0, 1), repeat=2):
                    p, q = (
                        math.prod(
                            [
                                kept[n] if bit else 1 - kept[n]
                                for n, bit in zip(t, bits, strict=True)
                            ]
                        )
                        for t in (a, b)
                    )
                    total += max(p - math.exp(ratio) * q, 0)
                worst = max(worst, total)
        assert worst <= stated + 1e-12
        if not symmetric:
            assert worst == pytest.approx(stated, abs=1e-9)
    assert mechanism.guarantee().delta(epsilon=2).upper <= 0.02


def test_follows_the_published_recursion() -> None:
    """Against the recursion in floats; a budget for two partitions is split in halves."""
    kept, last = PartitionSelection(epsilon=1, delta=1e-5, relation=AddRemove()).kept, 0.0
    for one in kept:
        last = min(math.exp(1) * last + 1e-5, 1 - math.exp(-1) * (1 - last - 1e-5), 1)
        assert float(one) == pytest.approx(last, rel=1e-8)
    assert kept[-1] == 1
    split = PartitionSelection(epsilon=2, delta=2e-5, contributions=2, relation=AddRemove())
    assert split.kept == kept
    assert split.guarantee().epsilon(delta=2e-5).upper <= 2


def test_outputs_follow_the_law() -> None:
    """Frequencies lie within five and a half deviations, wrongly refused less than once in 10^7."""
    mechanism = PartitionSelection(epsilon=1, delta=0.05, relation=AddRemove())
    counts = [0, 1, 2, 3, 500]
    drawn = mechanism.release_many(counts, 20_000, rng=ReplayRng(3)).mean(axis=0)
    law = np.array([0, *map(float, mechanism.kept[:3]), 1])

    assert (np.abs(drawn - law) <= 5.5 * np.sqrt(law * (1 - law) / 20_000)).all()


def test_keys_need_no_list_and_bound_what_a_record_has() -> None:
    """Keys of many records come out, those beyond the first contributions and of one do not."""
    mechanism = PartitionSelection(epsilon=1, delta=1e-6, relation=AddRemove())
    records = [["b", "b", "a"]] * 60 + [["c", "a"]] * 60

    assert mechanism.keys(records) == ("b", "c")
    assert mechanism.keys([]) == ()
    assert Fraction(1, 10**7) < mechanism.kept[0] < Fraction(1, 10**6)


@pytest.mark.some(8)
@pytest.mark.parametrize("contributions", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(10, 1e-12), (1, 1e-6), (0.5, 1e-9), (30, 1e-40), (30, 1e-300)]
)
def test_what_is_stated_is_proved_however_small_delta_is(
    epsilon: float, delta: float, contributions: int
) -> None:
    """Delta at the stated epsilon is the stated one but for 2^-30, and so is epsilon at delta."""
    chosen = PartitionSelection(
        epsilon=epsilon, delta=delta, contributions=contributions, relation=AddRemove()
    )
    shown = chosen.guarantee().delta(epsilon=epsilon)

    assert delta * (1 - 1e-5) <= shown.lower <= shown.upper <= delta
    assert chosen.guarantee().epsilon(delta=delta).upper <= epsilon
    assert chosen.release([0, 10**5]).tolist() == [0, 1]


def test_a_delta_below_the_least_probability_of_128_bits_is_certified() -> None:
    """The checker proves the pair of coins of 256 bits, and epsilon with it."""
    chosen = PartitionSelection(epsilon=30, delta=1e-40, relation=AddRemove())
    verdict = check(chosen.guarantee().certify(delta=1e-40))

    assert isinstance(verdict, VerifiedUnder)
