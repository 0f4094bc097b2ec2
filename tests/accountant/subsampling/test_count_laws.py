"""How often a record counts, beside exact rationals."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from dpproof.accountant.sampling import TruncatedPoisson, UserPoisson, WithReplacement
from dpproof.accountant.subsampling.count_laws import laws

F = Fraction
CLOSE = 1e-15


def masses(trials: int, rate: Fraction) -> list[Fraction]:
    """A binomial law."""
    return [comb(trials, j) * rate**j * (1 - rate) ** (trials - j) for j in range(trials + 1)]


@pytest.mark.parametrize(("trials", "rate"), [(1, F(1, 3)), (4, F(1, 100)), (30, F(9, 10))])
def test_users_have_a_binomial_count(trials: int, rate: Fraction) -> None:
    """Every listed mass to its last digits, and no more beyond than there is."""
    ((law,),) = laws(UserPoisson(sampling_rate=rate, contributions=trials))
    true = masses(trials, rate)

    assert law.unsampled == pytest.approx(float(true[0]), rel=CLOSE)
    for shift, mass in zip(law.shifts, law.masses, strict=True):
        assert mass == pytest.approx(float(true[int(shift)]), rel=CLOSE)
    assert law.beyond >= float(sum(true[law.masses.size + 1 :]))


def test_draws_move_the_sum_by_two_each() -> None:
    """Rare counts are bounded together, in no more mass than 1e-60 of the first."""
    ((law,),) = laws(WithReplacement(sample_size=200, population_size=100))
    true = masses(200, F(1, 100))

    assert law.shifts[:3].tolist() == [2.0, 4.0, 6.0]
    assert law.most == 400
    assert float(sum(true[law.masses.size + 1 :])) <= law.beyond <= 1e-59


@pytest.mark.parametrize(
    ("records", "largest", "rate"),
    [(9, 3, F(1, 5)), (40, 3, F(1, 5)), (40, 39, F(1, 2)), (7, 1, F(1, 100)), (60, 50, F(9, 10))],
)
def test_cut_samples_keep_a_record_as_they_should(
    records: int, largest: int, rate: Fraction
) -> None:
    """With tau and p by their definitions, of n and of n + 1."""
    scheme = TruncatedPoisson(sampling_rate=rate, largest=largest, population_size=records)
    for n, (plain, pushed) in zip((records, records + 1), laws(scheme), strict=True):
        others = masses(n - 1, rate)
        tau = sum(others[largest:])
        kept = sum(p * rate * F(largest, m + 1) for m, p in enumerate(others) if m >= largest) / tau
        assert pushed.share[0] <= tau <= pushed.share[1]
        assert plain.share[0] <= 1 - tau <= plain.share[1]
        assert pushed.masses[0] == pytest.approx(float(kept), rel=CLOSE)
        assert pushed.unsampled == pytest.approx(float(1 - kept), rel=CLOSE)


def test_reference_values_of_the_literature() -> None:
    """The loader of arXiv:2508.15089's implementation."""
    scheme = TruncatedPoisson(sampling_rate=F(1, 100), largest=15, population_size=1000)
    (_, pushed), _ = laws(scheme)

    assert pushed.share[1] == pytest.approx(0.08189419350971665, rel=1e-14)
    assert pushed.masses[0] == pytest.approx(0.008768128185840314, rel=1e-14)


def test_samples_that_fit_are_never_cut() -> None:
    """Neither of the two numbers of records, or only the larger."""
    whole = laws(TruncatedPoisson(sampling_rate=F(1, 2), largest=9, population_size=8))
    one = laws(TruncatedPoisson(sampling_rate=F(1, 2), largest=8, population_size=8))

    assert [len(cases) for cases in whole] == [1, 1]
    assert [len(cases) for cases in one] == [1, 2]
    assert one[1][1].share[1] == pytest.approx(2.0**-8)
