"""The first output that is good enough: what runs, and that the statement covers it."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.fixed import FixedRuns
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.run_counts.poisson import PoissonRuns
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import DiscreteLaplace, Gaussian, RandomizedResponse, ReplayRng, Thresholded
from tests.contracts.mechanism_contract import FALSE_ALARM, MechanismContract, one_bad

GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=0.25)
CAPPED = FiniteRuns(probabilities=[0, Fraction(1, 4), Fraction(3, 16), Fraction(9, 16)])


class TestThresholded(MechanismContract):
    """The first of a geometric number of noisy values above 4."""

    def mechanism(self) -> Thresholded[AddRemove]:
        """On a value."""
        return Gaussian(sigma=2, sensitivity=L2(1)).select_above(GEOMETRIC, threshold=4)

    @pytest.mark.slow
    def test_certificate_is_verified(self) -> None:
        """As of every mechanism; the proof of a selection takes seconds."""
        super().test_certificate_is_verified()

    def data(self) -> object:
        """A value."""
        return 3.5

    def neighbour(self) -> object:
        """Moved by the sensitivity."""
        return 4.5

    def increasing_noise(self) -> Sequence[Thresholded[AddRemove]]:
        """The base grows noisier."""
        return [
            Gaussian(sigma=s, sensitivity=L2(1)).select_above(GEOMETRIC, threshold=4)
            for s in (1, 2, 8)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A base that is no mechanism, a number as law, no threshold, a score that is none."""
        base = Gaussian(sigma=1, sensitivity=L2(1))
        return one_bad(
            Thresholded,
            good={"base": base, "runs": GEOMETRIC, "threshold": 1.0},
            bad={
                "base": (3, None),
                "runs": (3, 0.5, None, "geometric"),
                "threshold": (math.nan, None, "high"),
                "score": (3, "best"),
            },
        )


@pytest.mark.parametrize(
    "runs",
    [GEOMETRIC, CAPPED, FixedRuns(count=3), PoissonRuns(rate=1)],
    ids=lambda law: law.describe(),
)
def test_the_first_is_distributed_as_it_should(runs: RunLaw) -> None:
    """Nothing with probability phi(1 - a), the accepted answers in their proportion.

    Three frequencies, each off by more than the band with probability at most FALSE_ALARM / 30.
    """
    seed, size = secrets.randbits(64), 8000
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    coin = RandomizedResponse(epsilon=1, categories=3)
    some = coin.select_above(runs, threshold=1)
    drawn = some.release_many(1, size, rng=np.random.default_rng(seed))
    found, output = drawn["0"], drawn["1"]
    band = math.sqrt(math.log(2 * 30 / FALSE_ALARM) / (2 * size))
    keep, other = math.exp(1) / (math.exp(1) + 2), 1 / (math.exp(1) + 2)
    nothing = float(runs.pgf(np.array([other]))[0])  # 1 and 2 are accepted
    first = (1 - nothing) * keep / (keep + other)

    assert abs(np.mean(~found) - nothing) <= band
    assert abs(np.mean(found & (output == 1)) - first) <= band
    assert abs(np.mean(found & (output == 2)) - (1 - nothing - first)) <= band
    assert (output[found] >= 1).all()
    assert (output[~found] == 0).all()


def test_statement_covers_what_runs() -> None:
    """The exact laws of the first noisy count above a threshold, against the guarantee."""
    scale, reach = 1.5, 60
    ratio = math.exp(-1 / scale)
    noise = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1.0))
    base = DiscreteLaplace(scale=scale, sensitivity=L1(1))
    for runs in (GEOMETRIC, CAPPED):
        stated = base.select_above(runs, threshold=2).guarantee()
        for start in (reach - 3, reach + 1, reach + 4):
            laws = []
            for shift in (0, 1):
                masses = np.concatenate([np.zeros(shift), noise, np.zeros(1 - shift)])[start:]
                none = float(runs.pgf(np.array([1 - masses.sum()]))[0])
                laws.append(np.append(masses * (1 - none) / masses.sum(), none))
            for epsilon in (0.0, 0.3, 0.8, 1.2):
                for p, q in (laws, laws[::-1]):
                    truth = np.maximum(p - math.exp(epsilon) * q, 0).sum()
                    assert truth <= stated.delta(epsilon=epsilon).upper + 1e-9


def test_the_score_decides() -> None:
    """What is accepted reaches the threshold; a threshold out of reach releases nothing."""
    base = Gaussian(sigma=1, sensitivity=L2(1))
    low = base.select_above(FixedRuns(count=500), threshold=1, score=lambda output: -output)
    found, output = low.release(0.0, rng=ReplayRng(3))
    assert found
    assert output <= -1
    assert base.select_above(FixedRuns(count=3), threshold=math.inf).release(0.0) == (False, 0.0)
    with pytest.raises(ParameterError, match="score"):
        base.select_above(GEOMETRIC, threshold=1, score=lambda _: math.nan).release(0.0)
