"""The best of several runs: what runs, and that the statement covers it."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import (
    ClippedSum,
    DiscreteLaplace,
    Gaussian,
    RandomizedResponse,
    ReplayRng,
    Selected,
    Thresholded,
    compose,
)
from tests.contracts.mechanism_contract import FALSE_ALARM, MechanismContract, one_bad, overlap

GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=0.25)


def smallest(output: float) -> float:
    """A score that prefers small outputs."""
    return -output


class TestSelected(MechanismContract):
    """The largest of a geometric number of noisy values."""

    def mechanism(self) -> Selected[AddRemove]:
        """On a value."""
        return Gaussian(sigma=2, sensitivity=L2(1)).select(GEOMETRIC)

    @pytest.mark.slow
    def test_audit_does_not_contradict_the_statement(self) -> None:
        """As of every mechanism; the curve of a selection takes seconds."""
        super().test_audit_does_not_contradict_the_statement()

    def data(self) -> object:
        """A value."""
        return 3.5

    def neighbour(self) -> object:
        """Moved by the sensitivity."""
        return 4.5

    def increasing_noise(self) -> Sequence[Selected[AddRemove]]:
        """The base grows noisier."""
        return [Gaussian(sigma=s, sensitivity=L2(1)).select(GEOMETRIC) for s in (1, 2, 8)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A base that is no mechanism, a law that is a number, a score that is no function."""
        return one_bad(
            Selected,
            good={"base": Gaussian(sigma=1, sensitivity=L2(1)), "runs": GEOMETRIC},
            bad={"base": (3, None), "runs": (3, 0.5, None, "geometric"), "score": (3, "best")},
        )


@pytest.mark.parametrize(
    "runs",
    [GEOMETRIC, FixedRuns(count=3), PoissonRuns(rate=1), BinomialRuns(trials=3, probability=0.5)],
    ids=lambda law: law.describe(),
)
def test_the_best_is_distributed_as_it_should(runs: RunLaw) -> None:
    """Each answer of a coin is selected as often as the law says, but for probability 1e-8."""
    seed, size, keep = secrets.randbits(64), 8000, math.exp(1) / (1 + math.exp(1))
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    coin = RandomizedResponse(epsilon=1, categories=2, relation=AddRemove())
    drawn = coin.select(runs, score=smallest).release_many(1, size, rng=np.random.default_rng(seed))
    none = runs.probability_of_none
    ran = drawn["0"] if none else np.ones(size, dtype=bool)
    best = drawn["1"] if none else drawn
    band = math.sqrt(math.log(2 * 2 / FALSE_ALARM) / (2 * size))

    only_ones = float(runs.pgf(np.array([keep]))[0]) - none  # every run kept the answer 1
    assert abs(np.mean(~ran) - none) <= band
    assert abs(np.mean(ran & (best == 1)) - only_ones) <= band


def test_statement_covers_what_runs() -> None:
    """The exact laws of the largest noisy count on neighbours, against the guarantee."""
    scale, reach = 1.5, 60
    ratio = math.exp(-1 / scale)
    noise = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1.0))
    mechanism = DiscreteLaplace(scale=scale, sensitivity=L1(1)).select(GEOMETRIC)
    stated = mechanism.guarantee()

    def law(shift: int) -> np.ndarray:
        at_most = np.cumsum(np.concatenate([np.zeros(shift), noise, np.zeros(1 - shift)]))
        return np.diff(GEOMETRIC.pgf(np.minimum(at_most, 1.0)), prepend=0.0)

    for epsilon in (0.0, 0.3, 0.8, 1.2, 1.6):
        p, q = law(1), law(0)
        truth = max(
            np.maximum(p - math.exp(epsilon) * q, 0).sum(),
            np.maximum(q - math.exp(epsilon) * p, 0).sum(),
        )
        assert truth <= stated.delta(epsilon=epsilon).upper + 1e-9


def test_the_score_decides() -> None:
    """The largest score wins; without one the largest output; of a tuple a part can be scored."""
    base = Gaussian(sigma=1, sensitivity=L2(1))
    runs = FixedRuns(count=50)
    low = base.select(runs, score=smallest).release(0.0, rng=ReplayRng(3))
    high = base.select(runs).release(0.0, rng=ReplayRng(3))
    assert low < -1 < 1 < high

    pair = compose(base, base).select(runs, score=lambda output: output[1])
    first, second = pair.release(0.0, rng=ReplayRng(4))
    assert second > 1
    assert isinstance(first, float)
    with pytest.raises(ParameterError, match="score"):
        compose(base, base).select(runs).release(0.0)
    bad: tuple[Callable[[Any], Any], ...] = (lambda _: math.nan, lambda _: "good", lambda _: None)
    for score in bad:
        with pytest.raises(ParameterError, match="score"):
            base.select(runs, score=score).release(0.0)


def test_no_run_says_so() -> None:
    """Where no run is possible an output says whether anything ran, and then is zero."""
    outputs = Gaussian(sigma=1, sensitivity=L2(1)).select(PoissonRuns(rate=0.5)).release_many(9, 64)

    assert not outputs["0"].all()
    assert (outputs["1"][~outputs["0"]] == 0).all()
    assert (outputs["1"][outputs["0"]] != 0).all()


def test_selection_of_subsampled_training() -> None:
    """A whole training run is selected from, on records, and states the reference bracket."""
    step = Gaussian(sigma=1.0, sensitivity=L2(1), query=ClippedSum(lower=0, upper=1))
    run = step.subsample(Poisson(sampling_rate=0.01)).repeat(10_000)
    tuned = run.select(TruncatedNegativeBinomial(eta=1, gamma=0.1), score=len)
    bound = tuned.guarantee().epsilon(delta=1e-6)

    assert 9.51 < bound.lower < bound.upper < 9.52
    assert overlap(bound, tuned.repeat(1).guarantee().epsilon(delta=1e-6))
    few = step.subsample(Poisson(sampling_rate=0.5)).repeat(5).select(GEOMETRIC, score=sum)
    assert len(few.release([0.1, 0.9, 0.4])) == 5


def test_the_largest_of_each_output_is_that_of_its_score() -> None:
    """Without a score, outputs that are numbers are compared together, from the same words."""
    noise = Gaussian(sigma=1, sensitivity=L2(1))
    runs = PoissonRuns(rate=2)
    slowly = noise.select(runs, score=float).draw([0.0, 3.0], 200, ReplayRng(1))

    assert (noise.select(runs).draw([0.0, 3.0], 200, ReplayRng(1)) == slowly).all()


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

    @pytest.mark.slow
    def test_audit_does_not_contradict_the_statement(self) -> None:
        """As of every mechanism; the curve of a selection takes seconds."""
        super().test_audit_does_not_contradict_the_statement()

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
    coin = RandomizedResponse(epsilon=1, categories=3, relation=AddRemove())
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


def test_first_above_statement_covers_what_runs() -> None:
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


def test_first_above_the_score_decides() -> None:
    """What is accepted reaches the threshold; a threshold out of reach releases nothing."""
    base = Gaussian(sigma=1, sensitivity=L2(1))
    low = base.select_above(FixedRuns(count=500), threshold=1, score=lambda output: -output)
    found, output = low.release(0.0, rng=ReplayRng(3))
    assert found
    assert output <= -1
    assert base.select_above(FixedRuns(count=3), threshold=math.inf).release(0.0) == (False, 0.0)
    with pytest.raises(ParameterError, match="score"):
        base.select_above(GEOMETRIC, threshold=1, score=lambda _: math.nan).release(0.0)
