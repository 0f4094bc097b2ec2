"""The pair to try next, and the worst of many."""

from __future__ import annotations

import time
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import L2, AddRemove, Poisson
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Outcome, audit, neighbours, search_pairs, suggested_pairs
from dpproof.mechanisms import Gaussian
from tests.auditing.loops import ALL, ROW, ZEROS, loop_of
from tests.auditing.samplers import Rng, rounded

DIVISOR, SAMPLING, CLIPPING = (
    "a divisor that depends on the batch",
    "other sampling than stated",
    "missing clipping",
)


def nan_unclipped(records: Any, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """A sum clipped to [0, 1], which nan is not."""
    return rounded(np.clip(records, 0, 1).sum() + rng.laplace(size=size))


def test_the_worst_pair_is_kept() -> None:
    """Of five neighbours the one with nan comes first, and a test of it refutes."""
    pairs = list(neighbours([0.5, 0.25], relation=AddRemove()))[2:7]
    kept = search_pairs(nan_unclipped, pairs, (1.1, 0), keep=3, samples=100, seed=1)

    assert (len(kept), kept[0].name) == (3, "nan added")
    report = audit(nan_unclipped, kept[0], (1.1, 0), samples=300, significance=1e-6, seed=1)
    assert report.outcome is Outcome.VIOLATION


def test_the_search_ends_in_time() -> None:
    """With what it has found until then; no pairs are refused."""

    def slow(records: Any, size: int, rng: Rng) -> Any:  # noqa: ANN401
        time.sleep(0.02 * size)
        return nan_unclipped(records, size, rng)

    begun = time.monotonic()
    assert len(search_pairs(slow, [(0.0, 1.0), (0.0, 2.0)], (1, 0), seconds=0.2, seed=1)) == 1
    assert time.monotonic() - begun < 5
    with pytest.raises(ParameterError, match="at least one pair"):
        search_pairs(slow, [], (1, 0))


@pytest.mark.parametrize(
    ("pair", "hidden"),
    [
        ((np.vstack([ROW, ZEROS]), ZEROS), [DIVISOR, CLIPPING]),
        ((np.vstack([ROW, ROW, ROW]), np.vstack([ROW, ROW])), [SAMPLING, CLIPPING]),
        (([1.0, -1.0, 1.0], [1.0, -1.0]), [DIVISOR, SAMPLING, CLIPPING]),
        (([1.0], []), [DIVISOR, CLIPPING]),
        (([1.0, 2.0], [1.0, 3.0]), []),
        ((0.0, 1.0), []),
        ((["a", "b"], ["a"]), []),
        (([1.0, np.nan], [1.0]), []),
        (([[1.0], [2.0, 3.0]], [[1.0]]), []),
    ],
)
def test_what_a_pair_hides(pair: Any, hidden: list[str]) -> None:  # noqa: ANN401
    """By its other rows; of anything else than rows nothing is said."""
    found = list(suggested_pairs(pair))

    assert [name for name, _ in found] == hidden
    for _, other in found:
        assert abs(len(other.data) - len(other.neighbour)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("bug", "hidden"), [("divisor", DIVISOR), ("clipping", CLIPPING)])
def test_the_suggested_pair_shows_what_the_first_one_hid(bug: str, hidden: str) -> None:
    """A broken loop passes beside zeros; the note names the pair that refutes it."""
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=Fraction(1, 5)))
    claim = step.repeat(ALL).guarantee()
    sampler, pair = partial(loop_of, bug=bug), (np.vstack([ROW, ZEROS]), ZEROS)
    options: dict[str, Any] = {"significance": 1e-6, "seed": 1}
    passed = audit(sampler, pair, claim, samples=1_000, **options)
    other = dict(suggested_pairs(pair))[hidden]

    assert passed.outcome is not Outcome.VIOLATION
    assert f"this pair may hide {hidden}: {other.name} would show it" in passed.notes
    assert audit(sampler, other, claim, samples=20_000, **options).outcome is Outcome.VIOLATION
