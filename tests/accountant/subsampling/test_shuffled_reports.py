"""Shuffled local reports, against exact enumeration and published numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.subsampling.hidden_bits import HiddenBits
from dpproof.accountant.subsampling.shuffled_reports import (
    Reports,
    ShuffledReportsPair,
    layers_above,
    layout,
)
from tests.accountant.subsampling.builders import Law, histogram

RATIOS = (0.0, 0.05, 0.3, 0.8, 1.5)  # epsilons, the last above some epsilon of a report
# SAMPLING.md, section 5: delta at epsilon = 0, .1 and .3.
REFERENCE = {
    (12, 2, 1): (0.14384603, 0.10671933, 0.049630674),
    (100, 2, 1): (0.050220643, 0.016154053, 4.4109524e-4),
    (50, 3, 1): (0.062901674, 0.026644289, 0.0020504789),
    (50, 10, 2): (0.1235906, 0.085902367, 0.032918684),
    (200, 4, 1): (0.028632958, 0.0028147278, 2.3726645e-7),
}


def reports_pair(records: int, categories: int, epsilon: float) -> ShuffledReportsPair:
    """A pair of shuffled reports."""
    return ShuffledReportsPair(reports=Reports(records, Fraction(epsilon), categories))


def divergence(p: Law, q: Law, epsilon: float) -> float:
    """The exact hockey-stick divergence of two laws."""
    return sum(max(p[one] - math.exp(epsilon) * q.get(one, 0.0), 0.0) for one in p)


@pytest.mark.parametrize(
    ("records", "categories", "epsilon"),
    list(itertools.product(range(2, 6), range(2, 5), (0.5, 1.0, 2.0))),
)
def test_no_dataset_reveals_more(records: int, categories: int, epsilon: float) -> None:
    """Of all data of the others none exceeds the upper end, also below 0; the worst is met."""
    pair = reports_pair(records, categories, epsilon)
    asked = (*RATIOS, -0.25, -epsilon)
    places = np.array(asked)
    worst = np.zeros(places.size)
    for others in itertools.combinations_with_replacement(range(categories), records - 1):
        p, q = (histogram((one, *others), categories, epsilon) for one in (0, 1))
        worst = np.maximum(worst, [divergence(p, q, x) for x in asked])
    lower, upper = pair.profile(places)

    assert (worst <= upper + 1e-15).all()
    assert (lower <= worst + 1e-15).all()
    assert lower[0] > 0.5 * worst[0]


@pytest.mark.parametrize("case", REFERENCE, ids=str)
def test_reference_values_lie_in_the_bracket(case: tuple[int, int, int]) -> None:
    """They are the blanket's, which the upper end approaches from above."""
    lower, upper = reports_pair(*case).profile(np.array([0.0, 0.1, 0.3]))
    known = np.array(REFERENCE[case])

    assert (lower <= known * (1 + 1e-7)).all()
    assert (known * (1 - 1e-7) <= upper).all()
    assert (upper[:2] <= known[:2] * 1.01).all()


@pytest.mark.parametrize(("records", "categories", "epsilon"), [(9, 3, 1.0), (14, 5, 2.0)])
def test_upper_end_is_the_blanket_summed_over_triples(
    records: int, categories: int, epsilon: float
) -> None:
    """With a block for every count, and every node, both ways agree to rounding."""
    power, spare = math.exp(epsilon), categories - 2
    gamma = categories / (power + categories - 1)
    for place in (0.0, 0.2, 0.9):
        total = 0.0
        for size in range(1, records + 1):
            blanket = math.comb(records - 1, size - 1) * gamma ** (size - 1)
            blanket *= (1 - gamma) ** (records - size)
            for first, second in itertools.product(range(size + 1), repeat=2):
                if first + second <= size:
                    rest = size - first - second
                    ways = math.factorial(size) / math.prod(
                        map(math.factorial, (first, second, rest))
                    )
                    weight = blanket * ways * spare**rest / categories**size
                    p, q = (
                        gamma + (1 - gamma) * categories * one / size for one in (first, second)
                    )
                    total += weight * max(p - math.exp(place) * q, 0.0)
        _, upper = reports_pair(records, categories, epsilon).profile(np.array([place]))

        assert upper[0] == pytest.approx(total, rel=1e-9)


def test_clones_by_their_definition() -> None:
    """Of any randomiser the pair is a mixture over the number of clones."""
    records, epsilon, place = 30, 1.25, 0.1
    rate, told = math.exp(-epsilon), 1 / (1 + math.exp(-epsilon))
    total = 0.0
    for clones in range(records):
        weight = (
            math.comb(records - 1, clones) * rate**clones * (1 - rate) ** (records - 1 - clones)
        )
        masses = [math.comb(clones, k) / 2**clones for k in range(clones + 1)] + [0.0]
        for k in range(clones + 2):
            before = masses[k - 1] if k else 0.0
            p, q = (up * before + (1 - up) * masses[k] for up in (told, 1 - told))
            total += weight * max(p - math.exp(place) * q, 0.0)
    lower, upper = reports_pair(records, 0, epsilon).profile(np.array([place]))

    assert lower[0] <= total <= upper[0]
    assert upper[0] - lower[0] < 1e-9


def test_the_pair_of_three_atoms_is_below_the_truth() -> None:
    """The counterexample: two reports on three categories, the other person holding x."""
    place = 5 / 6
    p, q = (histogram((one, 0), 3, 1.0) for one in (0, 1))
    own, other = math.e / (math.e + 2), 1 / (math.e + 2)
    three = max(own * other - math.exp(place) * other**2, 0.0)
    _, upper = reports_pair(2, 3, 1.0).profile(np.array([place]))

    assert three < 0.02
    assert 0.050954 < divergence(p, q, place) <= upper[0]


@pytest.mark.some(6)
@pytest.mark.parametrize("records", [10, 10**3, 10**5, 10**8])
@pytest.mark.parametrize("categories", [0, 2, 3, 100])
def test_brackets_are_narrow_at_every_size(records: int, categories: int) -> None:
    """From ten reports to 1e8; with two categories the lower end has more noise than above."""
    pair = reports_pair(records, categories, 1.0)
    found = pair.epsilon(1e-8)
    width = 1.4 if categories == 2 or records == 10 else 1.01

    assert 0.0 < found.lower <= found.upper <= found.lower * width
    assert found.upper <= 1.0


@pytest.mark.parametrize("categories", [0, 2, 7])
def test_coarser_layers_only_raise_the_upper_end(categories: int) -> None:
    """Blocks and nodes cost width, never soundness."""
    reports = Reports(3_000, Fraction(1), categories)
    places = np.array([0.0, 0.01, 0.05, 0.1])
    fine, coarse = (
        HiddenBits(layers_above(reports, layout(reports, most=most)), upper=True)(places)
        for most in (20_000, 200)
    )

    assert (fine <= coarse * (1 + 1e-12)).all()
    assert (coarse[:3] <= 1.6 * fine[:3]).all()


def test_delta_zero_is_that_of_one_report() -> None:
    """All persons may report one category: shuffling saves nothing of pure DP."""
    assert reports_pair(1_000, 4, 1.0).epsilon(0.0).lower == 1.0
    assert reports_pair(1_000, 4, 1.0).profile(np.array([1.0, 2.0]))[1].tolist() == [0.0, 0.0]


def test_one_report_is_randomised_response() -> None:
    """Without others nothing is hidden."""
    _, upper = reports_pair(1, 3, 1.0).profile(np.array([0.0]))

    assert upper[0] == pytest.approx((math.e - 1) / (math.e + 2), rel=1e-9)


def test_refuses_what_floats_do_not_tell() -> None:
    """Reports that say next to nothing, and a delta below the tables."""
    with pytest.raises(NotCertified, match="next to nothing"):
        reports_pair(10**8, 2, 1e-9).profile(np.array([0.0]))
    with pytest.raises(NotCertified, match="lose a delta"):
        reports_pair(100, 2, 1.0).epsilon(1e-60)
