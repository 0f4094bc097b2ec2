"""Numbers of runs are drawn from their stated law."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.mechanisms.samplers import run_count
from dpproof.mechanisms.samplers.rng import GeneratorRng, ReplayRng

FALSE_ALARM = 1e-8  # of one test
LAWS: list[RunLaw] = [
    TruncatedNegativeBinomial(eta=1, gamma=0.125),
    TruncatedNegativeBinomial(eta=0, gamma=0.125),
    TruncatedNegativeBinomial(eta=Fraction(-3, 4), gamma=0.0625),
    TruncatedNegativeBinomial(eta=2.5, gamma=0.5),
    PoissonRuns(rate=0.25),
    PoissonRuns(rate=3.5),
    BinomialRuns(trials=7, probability=0.25),
    FixedRuns(count=4),
    FiniteRuns(probabilities=(0.25, 0.5, 0, 0.25)),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_draws_follow_the_law(law: RunLaw) -> None:
    """The empirical distribution stays in its Dvoretzky-Kiefer-Wolfowitz band."""
    seed, size = secrets.randbits(64), 6000
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    drawn = run_count(law, size, GeneratorRng(np.random.default_rng(seed)))
    last = int(drawn.max())
    empirical = np.searchsorted(np.sort(drawn), np.arange(last + 1), side="right") / size
    band = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * size))

    assert drawn.dtype == np.int64
    assert np.abs(empirical - np.cumsum(law.masses(last))).max() <= band
    assert drawn.min() >= (0 if law.probability_of_none else 1)


def test_same_words_same_counts() -> None:
    """Drawing is a function of the words; none are drawn for none."""
    for law in LAWS:
        first, again = (run_count(law, 20, ReplayRng(7)).tolist() for _ in range(2))
        assert first == again
        assert run_count(law, 0, ReplayRng(7)).size == 0


def test_refuses_what_is_no_law() -> None:
    """A number is not a law, and a size is a whole number."""
    with pytest.raises(ParameterError, match="law"):
        run_count(3, 2, ReplayRng(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="size"):
        run_count(FixedRuns(count=2), -1, ReplayRng(1))
