"""Random allocation against 30 digits, published tables, and convolutions on a lattice."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import GDP, RandomAllocation, answers
from dpproof.accountant.arithmetic import lognormal_means
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair, as_largest, is_allocated
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.accountant.theorems.allocation import allocate_random
from tests.accountant.subsampling.builders import shortfall_of_two

DELTA = 1e-6
# Epsilon at 1e-6 by another reader's code: rounds, noise, both orders; the last digit is uncertain.
TABLE = [
    (50, "1", 1.300818, 0.689926),
    (1000, "1", 0.1717287, 0.1494309),
    (100, "0.7", 2.828371, 0.832606),
    (100, "1", 0.857986, 0.486425),  # 4 kept epochs of noise 2
    (10_000, "0.6", 0.5277843, 0.125364),  # by two sums of our own: a lattice, and 30 digits
]
# Delta at an epsilon, likewise.
DELTAS = [
    (50, "1", 0.3, 0.0057338044, 0.00341228179839),
    (1000, "1", 0.1, 1.482069e-4, 9.2833920491e-5),
    (100, "0.7", 1.0, 6.310045e-4, 9.46741993154e-9),
]


def allocated(rounds: int, noise: str) -> AllocatedGaussianPair:
    """One round of so many, of unit contributions."""
    return AllocatedGaussianPair(mu_squared=1 / Fraction(noise) ** 2, rounds=rounds)


@pytest.mark.parametrize(("rounds", "noise", "removed", "added"), TABLE)
def test_epsilon_of_the_table(rounds: int, noise: str, removed: float, added: float) -> None:
    """Brackets contain the published values, to their digits, and are narrow."""
    pair = allocated(rounds, noise)
    for one, value in ((pair, removed), (pair.swapped(), added)):
        found = answers.epsilon(Product.of(one), DELTA)

        assert found.lower - 1e-6 <= value <= found.upper + 1e-6
        assert found.relative_width < 1e-6


@pytest.mark.parametrize(("rounds", "noise", "epsilon", "removed", "added"), DELTAS)
def test_deltas_of_the_table(
    rounds: int, noise: str, epsilon: float, removed: float, added: float
) -> None:
    """Brackets of delta contain the published values and are narrow."""
    pair = allocated(rounds, noise)
    for one, value in ((pair, removed), (pair.swapped(), added)):
        found = answers.delta(Product.of(one), epsilon)

        assert found.lower <= value * (1 + 1e-6)
        assert found.upper >= value * (1 - 1e-6)
        assert found.relative_width < 1e-8


@pytest.mark.parametrize(("noise", "rounds", "times", "value"), [("1", 50, 10, 2.90667)])
def test_fresh_epochs_of_the_table(noise: str, rounds: int, times: int, value: float) -> None:
    """Epochs drawn anew are composed, within the published bracket."""
    found = answers.epsilon(Product.of(allocated(rounds, noise)).times(times), DELTA)

    assert found.lower - 1e-5 <= value <= found.upper + 1e-5
    assert found.relative_width < 1e-4


@pytest.mark.parametrize("noise", ["2", "0.5"])
def test_two_rounds_are_a_double_integral(noise: str) -> None:
    """Both ends enclose the direct integral over two rounds, in both orders."""
    pair = allocated(2, noise)
    with mpmath.workdps(25):
        for epsilon in (0.0, 0.25, 2.0):
            t = mpmath.exp(epsilon)
            exact = (
                1 - t + shortfall_of_two(t, 1 / mpmath.mpf(noise)),
                t * shortfall_of_two(1 / t, 1 / mpmath.mpf(noise)),
            )
            for one, value in zip((pair, pair.swapped()), exact, strict=True):
                lower, upper = one.profile(np.array([epsilon]))

                assert lower[0] <= value <= upper[0]
                assert upper[0] - lower[0] < 1e-10


@pytest.mark.parametrize(
    ("noise", "epsilon", "most"), [("10", 0.3, 1e-5), ("4", 0.8, 2e-4), ("0.6", 9.6, 1e-5)]
)
def test_small_deltas_of_two_rounds_keep_their_digits(
    noise: str, epsilon: float, most: float
) -> None:
    """Deltas of 1e-7 to 1e-8, where sums cancel: of much noise and of little, in both orders."""
    pair, a = allocated(2, noise), 1 / mpmath.mpf(noise)
    with mpmath.workdps(40):
        t = mpmath.exp(epsilon)
        exact = (1 - t + shortfall_of_two(t, a), t * shortfall_of_two(1 / t, a))
        for one, value in zip((pair, pair.swapped()), exact, strict=True):
            lower, upper = one.profile(np.array([epsilon]))

            assert lower[0] <= value <= upper[0]
            assert upper[0] - lower[0] < most * lower[0]


@pytest.mark.parametrize("epsilon", [3.0, 8.0, 16.0])
def test_little_noise_in_two_rounds_is_a_double_integral(epsilon: float) -> None:
    """Where one round alone is large, the ends enclose the direct integral, within one per cent."""
    a, c = 1 / mpmath.mpf("0.3"), mpmath.exp(epsilon)

    def given(g: mpmath.mpf) -> mpmath.mpf:
        left = 2 * c - mpmath.exp(a * g - a * a / 2)
        if left <= 0:
            return mpmath.npdf(g) * (1 - left) / 2
        d = mpmath.log(left) / a
        return mpmath.npdf(g) * (mpmath.ncdf(a / 2 - d) - left * mpmath.ncdf(-a / 2 - d)) / 2

    top = (mpmath.log(2 * c) + a * a / 2) / a
    with mpmath.workdps(30):
        cuts = [mpmath.mpf(-12), mpmath.mpf(-3), mpmath.mpf(0), top - 1, top, top + 2, top + 9]
        exact = mpmath.quad(given, cuts)
    lower, upper = allocated(2, "0.3").profile(np.array([epsilon]))

    assert lower[0] <= exact <= upper[0]
    assert upper[0] <= exact * (1.01 if epsilon > 10 else 1 + 1e-9)


def on_lattice(variance: float, rounds: int, epsilon: float, cells: int, mesh: float) -> float:
    """REMOVE's delta by Y moved to a lattice without a change of mean, which only raises it.

    The sum of Y is convolved by a Fourier transform of a tilted law, so that nothing aliases.
    """
    a = math.sqrt(variance)
    x = mesh * np.arange(cells + 1)
    with np.errstate(divide="ignore"):
        d = (np.log(x) + variance / 2) / a

    def below(z: Reals) -> Reals:
        return np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in z])

    put = x * below(d) - below(d - a)  # E(x - Y)_+: its second difference is the moved law
    mass = np.diff(put, 2) / mesh
    law = np.concatenate([[put[1] / mesh], mass])
    tilt = 10.0 / cells  # rounding grows by e^10, what wraps around shrinks by e^-40
    line = np.fft.rfft(law * np.exp(-tilt * np.arange(cells)), 4 * cells) ** rounds
    total = np.fft.irfft(line, 4 * cells)[:cells] * np.exp(tilt * np.arange(cells))
    c = math.exp(epsilon)
    mean = mesh * np.arange(cells) / rounds
    return 1.0 - c + float((np.maximum(c - mean, 0.0) * total).sum())


@pytest.mark.parametrize(("rounds", "noise", "epsilon"), [(5, "1", 0.5), (50, "1", 0.3)])
def test_a_lattice_gives_nearly_the_same(rounds: int, noise: str, epsilon: float) -> None:
    """An upper end by another route is above the lower end, and close."""
    cells = 1 << 14
    mesh = 1.01 * rounds * math.exp(epsilon) / cells
    upper = on_lattice(float(noise) ** -2, rounds, epsilon, cells, mesh)
    found = allocated(rounds, noise).delta(epsilon)

    assert found.lower <= upper
    assert upper - found.upper <= 1e-5


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("rounds", "noise"), [(2, "1"), (7, "0.4"), (50, "1"), (1000, "0.5"), (10**6, "1"), (30, "9")]
)
def test_ends_are_ordered_and_within_simple_bounds(rounds: int, noise: str) -> None:
    """One round reveals more, the largest coordinate less, and the profile is convex in e^eps."""
    pair = allocated(rounds, noise)
    epsilon = np.linspace(-1.5, 3.0, 31) * min(pair.end, 4.0) / 4
    for one in (pair, pair.swapped()):
        lower, upper = one.profile(epsilon)
        known = epsilon >= 0

        assert (lower <= upper).all()
        assert (lower <= gaussian_profile(1 / float(noise), epsilon)[1]).all()
        assert (upper[known] >= one.largest.profile(epsilon[known])[0]).all()
        assert (np.diff(upper) <= 1e-9).all()
        share = np.diff(np.exp(epsilon))
        chord = (upper[:-2] * share[1:] + upper[2:] * share[:-1]) / (share[1:] + share[:-1])
        assert (lower[1:-1] <= chord + 1e-15).all()


def test_negative_epsilons_follow_from_the_other_order() -> None:
    """H at e^-1 is 1 - e^-1 plus e^-1 times the other order at e."""
    pair = allocated(50, "1")
    found, other = pair.delta(-1.0), pair.swapped().delta(1.0)

    assert found.lower <= 1 - math.exp(-1) + math.exp(-1) * other.upper
    assert found.upper >= 1 - math.exp(-1) + math.exp(-1) * other.lower
    assert found.relative_width < 1e-10


def test_a_million_rounds_cost_no_more_terms_of_time() -> None:
    """A million rounds have a narrow bracket at both orders, alone."""
    for one in (allocated(10**6, "1"), allocated(10**6, "1").swapped()):
        found = answers.epsilon(Product.of(one), DELTA)

        assert found.relative_width < 1e-6
        assert 0.00366 < found.lower < 0.00368


@pytest.mark.some(3)
@pytest.mark.parametrize("noise", ["0.5", "0.6", "1", "4"])
@pytest.mark.parametrize("rounds", [2, 20, 1000, 10**6])
def test_one_allocation_has_a_narrow_bracket(noise: str, rounds: int) -> None:
    """Of little noise and of much, in a few rounds and in a million."""
    base = GDP(mu_squared=1 / Fraction(noise) ** 2)
    found = allocate_random(base, RandomAllocation(steps=rounds)).epsilon(delta=DELTA)

    assert found.relative_width < 1e-6


@pytest.mark.parametrize("noise", ["0.7", "2"])
def test_a_vertical_line_and_a_hyperbola_agree(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand rounds by both sums: their brackets overlap, and neither is wide."""
    epsilon, brackets = np.geomspace(1e-3, 0.3, 24), []
    for upright in (True, False):
        lognormal_means._nodes.cache_clear()
        if not upright:
            monkeypatch.setattr(lognormal_means._Line, "upright", lambda _: None)
        pair = allocated(10**4, noise)
        brackets.append([one.profile(epsilon) for one in (pair, pair.swapped())])
    lognormal_means._nodes.cache_clear()
    for (low, high), (other_low, other_high) in zip(*brackets, strict=True):
        assert (low <= other_high).all()
        assert (other_low <= high).all()
        assert (high[:8] <= other_low[:8] * (1 + 1e-6)).all()


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("noise", "rounds"), [("0.6", 10**4), ("4", 10), ("4", 100), ("10", 2), ("10", 5)]
)
def test_ten_epochs_have_a_narrow_bracket(noise: str, rounds: int) -> None:
    """Of much noise in few rounds too, whose tables have to reach as far as losses do."""
    found = answers.epsilon(Product.of(allocated(rounds, noise)).times(10), DELTA)

    assert found.relative_width < 1e-6


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_little_noise_has_narrow_brackets(times: int) -> None:
    """A noise multiplier of .3 in a hundred rounds, once and ten times."""
    product = Product.of(allocated(100, "0.3")).times(times)

    assert answers.epsilon(product, DELTA).relative_width < 1e-4


def test_kept_epochs_cost_more_than_fresh_ones() -> None:
    """Four epochs of kept rounds are one of half the noise; composition would say half of that."""
    kept = answers.epsilon(Product.of(allocated(100, "1")), DELTA)
    fresh = answers.epsilon(Product.of(allocated(100, "2")).times(4), DELTA)

    assert fresh.upper < 0.42697
    assert kept.lower > 0.85798


def test_a_delta_without_digits_is_answered_by_a_table_or_not_at_all() -> None:
    """Where the profile ends, epsilon has an upper end that is valid, and delta 0 has none."""
    pair = allocated(50, "1")
    deep = answers.epsilon(Product.of(pair), 1e-25)

    assert deep.lower > 5.0
    assert pair.delta(deep.upper).upper <= 1e-25
    assert math.isinf(answers.epsilon(Product.of(pair), 0.0).upper)


def test_finds_allocations_in_products() -> None:
    """Samples of an allocation hold one, and the largest coordinate replaces it outside."""
    pair = allocated(50, "1")
    product = Product.of(pair).times(3)
    sample = SubsampledPair(base=product, sampling_rate=Fraction(1, 2), direction=Direction.REMOVAL)

    assert is_allocated(product)
    assert is_allocated(Product.of(sample))
    assert as_largest(product) == Product.of(pair.largest).times(3)
    assert not is_allocated(as_largest(product))


@pytest.mark.parametrize("sigma", ["1e-3", "1e-5", "1e-7", "1e-9"])
def test_rounds_of_hardly_any_noise_have_a_wide_answer(sigma: str) -> None:
    """Two rounds of tiny noise cost nearly everything, in no memory to speak of."""
    base = GDP(mu=1 / Fraction(sigma))
    found = allocate_random(base, RandomAllocation(steps=2)).delta(epsilon=1)

    assert 0.0 <= found.lower <= found.upper == 1.0
