"""Mechanisms on a random sample of the records."""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant.errors import NotImplied, ParameterError, PrivacyError
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.relation import AddRemove, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import (
    Poisson,
    SamplingScheme,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.accountant.sensitivity import L1, L2, L2Contribution
from dpproof.accountant.theorems.parallel import parallel_positions
from dpproof.accountant.theorems.subsampling import subsample_without_replacement
from dpproof.mechanisms import ClippedSum, Count, DiscreteLaplace, Gaussian, ReplayRng, Subsampled
from dpproof.mechanisms.combinators.subsampled import draw_samples
from tests.contracts.mechanism_contract import FALSE_ALARM, MechanismContract, one_bad, overlap

SUM = ClippedSum(lower=0, upper=1)


class TestSubsampled(MechanismContract):
    """A Poisson-subsampled Gaussian sum."""

    def mechanism(self) -> Subsampled[AddRemove]:
        """On records."""
        step = Gaussian(sigma=1, sensitivity=L2(1), query=SUM)
        return step.subsample(Poisson(sampling_rate=0.25))

    def data(self) -> object:
        """Records as an array."""
        return np.linspace(0, 1, 30)

    def increasing_noise(self) -> Sequence[Subsampled[AddRemove]]:
        """The base grows noisier."""
        scheme = Poisson(sampling_rate=0.25)
        return [
            Gaussian(sigma=s, sensitivity=L2(1), query=SUM).subsample(scheme) for s in (0.5, 1, 4)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A scheme that is not one, a base that is no mechanism."""
        return one_bad(
            Subsampled,
            good={
                "base": Gaussian(sigma=1, sensitivity=L2(1)),
                "scheme": Poisson(sampling_rate=0.5),
            },
            bad={"base": (3, "gaussian", None), "scheme": (0.01, "poisson", None, 1)},
        )


def test_dp_sgd_costs_the_reference_value() -> None:
    """10,000 steps at rate 0.01 and noise multiplier 1: 6.907384495045 at delta 1e-6."""
    step = Gaussian(sigma=1.0, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01))
    bound = step.repeat(10_000).guarantee().epsilon(delta=1e-6)

    assert bound.lower <= 6.907384495045107 + 1e-9
    assert bound.upper >= 6.907384495045107 - 1e-9
    assert bound.relative_width < 1e-9


def test_poisson_under_replace_one_is_refused() -> None:
    """The add-remove formula is not valid there, and none is silently used."""
    base = Gaussian(sigma=1, sensitivity=L2(2, ReplaceOne()))
    with pytest.raises(PrivacyError):
        base.subsample(Poisson(sampling_rate=0.01)).guarantee()


def test_a_full_sample_without_replacement_is_the_identity() -> None:
    """Taking all the records neither costs nor gains."""
    base = Gaussian(sigma=1, sensitivity=L2(2, ReplaceOne()), query=SUM)
    full = base.subsample(WithoutReplacement(sample_size=9, population_size=9))
    half = base.subsample(WithoutReplacement(sample_size=3, population_size=9))
    plain = base.guarantee().epsilon(delta=1e-6)

    assert overlap(plain, full.guarantee().epsilon(delta=1e-6))
    assert half.guarantee().epsilon(delta=1e-6).upper < plain.lower


def test_a_sample_without_replacement_has_its_size() -> None:
    """Counting the sample, almost without noise, always gives the stated size."""
    count = DiscreteLaplace(scale=2**-10, sensitivity=L1(1, ReplaceOne()), query=Count())
    step = count.subsample(WithoutReplacement(sample_size=3, population_size=8))

    assert set(step.release_many(["abcdefgh"] * 8, 200).tolist()) == {3}
    with pytest.raises(ParameterError, match="8 records"):
        step.release([1, 2, 3])


def test_sample_sizes_are_binomial() -> None:
    """Counting a Poisson sample almost without noise: the binomial law, DKW band at 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    size, population, rate = 20_000, 12, 0.3
    count = DiscreteLaplace(scale=2**-10, sensitivity=L1(1), query=Count())
    step = count.subsample(Poisson(sampling_rate=rate))
    outputs = step.release_many(list(range(population)), size, rng=np.random.default_rng(seed))
    points = np.arange(population + 1)
    empirical = np.searchsorted(np.sort(outputs), points, side="right") / size
    band = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * size))

    assert np.abs(empirical - stats.binom.cdf(points, population, rate)).max() <= band


def _rows(records: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(records.sum(axis=0))


def test_rows_of_an_array_are_records() -> None:
    """A query on a sampled array sees an array of fewer rows; vectors come out."""
    base = Gaussian(sigma=1e-9, sensitivity=L2(1), query=_rows)
    outputs = base.subsample(Poisson(sampling_rate=0.5)).release_many(np.ones((6, 2)), 100)

    assert outputs.shape == (100, 2)
    assert np.abs(outputs[:, 0] - outputs[:, 1]).max() < 1e-6
    assert len(np.unique(np.rint(outputs[:, 0]))) > 2


def _identity(records: object) -> object:
    return records


def test_a_value_whose_shape_betrays_the_sample_is_refused() -> None:
    """The number of outputs would be an unprotected output."""
    base = Gaussian(sigma=1, sensitivity=L2(1), query=_identity)
    with pytest.raises(ParameterError, match="shape"):
        base.subsample(Poisson(sampling_rate=0.5)).release_many([0.0] * 30, 20)


@pytest.mark.parametrize("data", [3.0, "records", None, {1: 2}, np.float64(3)])
def test_refuses_data_that_is_not_records(data: object) -> None:
    """A sequence of records, or an array whose first axis is the records."""
    step = Gaussian(sigma=1, sensitivity=L2(1), query=SUM).subsample(Poisson(sampling_rate=0.5))
    with pytest.raises(ParameterError, match="data must be"):
        step.release(data)


def test_an_empty_sample_still_answers() -> None:
    """A Poisson sample of no records is a sample."""
    step = Gaussian(sigma=1, sensitivity=L2(1), query=SUM).subsample(Poisson(sampling_rate=0.5))

    assert isinstance(step.release([]), float)


def _noisy(mixture: NDArray[np.float64], scale: float, reach: int) -> NDArray[np.float64]:
    """The law of a count with mass function ``mixture``, plus discrete Laplace noise."""
    ratio = math.exp(-1 / scale)
    x = np.arange(-reach, reach + 1.0)
    laws = [(1 - ratio) / (1 + ratio) * ratio ** np.abs(x - k) for k in range(len(mixture))]
    return np.asarray(mixture @ np.array(laws), dtype=np.float64)


def _worse(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    t = math.exp(epsilon)
    return float(max(np.maximum(p - t * q, 0).sum(), np.maximum(q - t * p, 0).sum()))


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 0.5])
def test_statement_covers_what_runs_on_a_poisson_sample(epsilon: float) -> None:
    """Exact laws of the noisy count of a sample of n and n + 1 records: met at n = 0."""
    rate, scale, reach = 0.25, 1.5, 80
    count = DiscreteLaplace(scale=scale, sensitivity=L1(1), query=Count())
    stated = count.subsample(Poisson(sampling_rate=rate)).guarantee().delta(epsilon=epsilon)
    for n in (0, 1, 6):
        sizes = [stats.binom.pmf(np.arange(m + 1), m, rate) for m in (n, n + 1)]
        without, with_one = (_noisy(size, scale, reach) for size in sizes)
        truth = _worse(with_one, without, epsilon)

        assert truth <= stated.upper + 1e-12
        if n == 0:
            assert truth >= stated.lower - 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 0.5])
def test_statement_covers_what_runs_without_replacement(epsilon: float) -> None:
    """Exact laws of the noisy number of ones in a sample, when a zero is replaced by a one."""
    size, population, scale, reach = 3, 10, 1.5, 80
    total = DiscreteLaplace(scale=scale, sensitivity=L1(1, ReplaceOne()), query=sum)
    scheme = WithoutReplacement(sample_size=size, population_size=population)
    stated = total.subsample(scheme).guarantee().delta(epsilon=epsilon)
    for ones in (0, 4, 9):
        hits = np.arange(size + 1)
        laws = [stats.hypergeom.pmf(hits, population, k, size) for k in (ones, ones + 1)]
        before, after = (_noisy(law, scale, reach) for law in laws)
        truth = _worse(before, after, epsilon)

        assert truth <= stated.upper + 1e-12
        if ones == 0:
            assert truth >= stated.lower - 1e-12


def test_samples_keep_the_kind_and_the_order() -> None:
    """An array gives arrays, a sequence gives lists; Poisson samples stay in order."""
    scheme = Poisson(sampling_rate=0.5)
    arrays = next(draw_samples(np.arange(20), scheme, 3, ReplayRng(1)))
    lists = next(draw_samples(tuple(range(20)), scheme, 3, ReplayRng(1)))

    assert [a.tolist() for a in arrays if isinstance(a, np.ndarray)] == lists
    assert all(list(x) == sorted(x) for x in lists if isinstance(x, list))


def _odds(lists: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]) -> float:
    """The largest ratio of two laws of answers, every place said truly at odds 3 to 1."""

    def law(drawn: Sequence[tuple[int, ...]], answer: tuple[int, ...]) -> int:
        return sum(3 ** sum(map(int.__eq__, one, answer)) for one in drawn)

    return max(law(lists, a) / law(others, a) for a in itertools.product((0, 1), repeat=2))


def test_a_fixed_size_needs_a_random_order() -> None:
    """In the order of the data the ratio is above the bound that holds in random order."""
    part = PureDP(epsilon=Fraction(10986122886681098, 10**16), relation=ReplaceOne())  # above log 3
    scheme = WithoutReplacement(sample_size=2, population_size=3)
    bound = subsample_without_replacement(parallel_positions(part, part), scheme)
    stated = bound.epsilon(delta=0)
    before, after = (1, 0, 1), (0, 0, 1)
    kept = _odds(*(list(itertools.combinations(data, 2)) for data in (before, after)))
    mixed = _odds(*(list(itertools.permutations(data, 2)) for data in (before, after)))

    assert math.log(mixed) <= stated.upper < math.log(kept)


def test_a_sample_of_fixed_size_comes_in_random_order() -> None:
    """Of 64 pairs some are in another order than the data; with probability 2^-64 none is."""
    values = DiscreteLaplace(scale=Fraction(1, 99), sensitivity=L1(9, ReplaceOne()), query=np.array)
    step = values.subsample(WithoutReplacement(sample_size=2, population_size=3))
    first, second = step.draw([[1, 5, 9]], 64, ReplayRng(5))[0].T

    assert np.any(first < second)
    assert np.any(first > second)


def test_batches_add_up() -> None:
    """However large the dataset, every sample is drawn."""
    scheme = Poisson(sampling_rate=2**-18)
    batches = [len(b) for b in draw_samples(range(2**19), scheme, 5, ReplayRng(1))]

    assert batches == [2, 2, 1]


def test_fixed_size_needs_its_population() -> None:
    """A dataset of another size is refused, also where the sample would fit."""
    scheme = WithoutReplacement(sample_size=2, population_size=4)
    samples = next(draw_samples([1, 2, 3, 4], scheme, 10, ReplayRng(1)))

    assert {len(sample) for sample in samples} == {2}
    with pytest.raises(ParameterError, match="4 records"):
        next(draw_samples([1, 2, 3], scheme, 1, ReplayRng(1)))


def test_rate_one_keeps_everything() -> None:
    """Subsampling at rate 1 is the identity, not only nearly."""
    samples = next(draw_samples([1, 2, 3], Poisson(sampling_rate=1), 50, ReplayRng(1)))

    assert samples == [[1, 2, 3]] * 50


@pytest.mark.parametrize(
    ("scheme", "fewest"),
    [
        (WithoutReplacement(sample_size=2, population_size=5), 4),
        (WithReplacement(sample_size=2, population_size=5), 4),
        (TruncatedPoisson(sampling_rate=0.5, largest=2, population_size=5), 4),
        (UserPoisson(sampling_rate=0.5, contributions=2), 1),
    ],
)
def test_sums_whose_records_count_often_run_and_are_stated(
    scheme: SamplingScheme, fewest: int
) -> None:
    """Under add-remove, on the datasets of all neighbours; a sensitivity alone is refused."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1), query=SUM)
    step = noise.subsample(scheme)

    assert step.guarantee().derivation.rule == "subsample/counted-sum"
    assert step.release([0.5] * 5) != step.release([0.5] * fewest)
    with pytest.raises(NotImplied, match="takes another's place"):
        Gaussian(sigma=1, sensitivity=L2(1)).subsample(scheme).guarantee()
    with pytest.raises(NotImplied, match="for Gaussian sums alone"):
        DiscreteLaplace(scale=1, sensitivity=L1(1)).subsample(scheme).guarantee()


@pytest.mark.parametrize("relation", [ZeroOut(), ReplaceOne()])
def test_other_numbers_of_records_are_refused_where_theirs_is_public(relation: Any) -> None:  # noqa: ANN401
    """What is stated of five records is too little for four, drawn more often, or cut less."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, relation), query=SUM)
    for scheme, wrong in (
        (WithReplacement(sample_size=2, population_size=5), (4,)),
        (TruncatedPoisson(sampling_rate=0.5, largest=2, population_size=5), (4, 6)),
    ):
        step = noise.subsample(scheme)
        step.release([0.5] * 5)
        for size in wrong:
            with pytest.raises(ParameterError, match="5 records"):
                step.release([0.5] * size)


def test_samples_of_too_few_records_are_refused() -> None:
    """Fewer than a neighbour of the stated number has."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1), query=SUM)
    with pytest.raises(ParameterError, match="5 records"):
        noise.subsample(WithReplacement(sample_size=2, population_size=5)).release([0.5] * 3)
