"""The engine's questions, at the ends of their domains and far out."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import deltas
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, LogisticPair, RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair

DISJOINT = FinitePair(p=(Fraction(1), Fraction(0)), q=(Fraction(0), Fraction(1)))
SAME = FinitePair(p=(Fraction(1),), q=(Fraction(1),))
FAR: tuple[Pair, ...] = (
    GaussianPair(mu_squared=Fraction(10) ** 30),
    GaussianPair(mu_squared=Fraction(1, 10**30)),
    LaplacePair(epsilon=Fraction(10**6)),
    LaplacePair(epsilon=Fraction(1, 10**12)),
    LogisticPair(epsilon=Fraction(1000)),
    LogisticPair(epsilon=Fraction(1, 10**12)),
    RandomizedResponsePair(epsilon=Fraction(1000)),
    RandomizedResponsePair(epsilon=Fraction(1), categories=10**9),
    RandomizedResponsePair(epsilon=Fraction(1), infinite=1 - Fraction(1, 10**9)),
    FinitePair(p=(Fraction(1, 18), Fraction(17, 18)), q=(Fraction(0), Fraction(1))),
    DISJOINT,
    SAME,
)


@pytest.mark.parametrize("pair", FAR, ids=lambda pair: repr(pair)[:60])
@pytest.mark.parametrize("count", [1, 3])
def test_far_out(pair: Pair, count: int) -> None:
    """Extreme parameters: no warning, no nan, no untyped error, at once."""
    product = Product((Factor(pair, count),))
    for epsilon in (-1000.0, -1.0, 0.0, 1e-9, 1.0, 1000.0, 1e6):
        start = time.process_time()
        try:
            found = answers.delta(product, epsilon)
            assert 0 <= found.lower <= found.upper <= 1
        except NotCertified:
            pass
        assert time.process_time() - start < 10.0


@pytest.mark.parametrize("pair", FAR, ids=lambda pair: repr(pair)[:60])
def test_epsilon_at_the_ends(pair: Pair) -> None:
    """Delta 1 costs nothing."""
    assert answers.epsilon(Product.of(pair), 1.0) == Bound(0.0, 0.0)


STEP = SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 100), removal=True)


def test_a_refused_table_leaves_the_bracket() -> None:
    """Where the table is too fine to compose, the first bracket is the answer."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 10**4), removal=True
    )
    found = answers.delta(Product((Factor(pair, 10**4),)), 0.1)
    assert 1.2154e-11 < found.lower <= found.upper < 1.2159e-11


def test_near_the_largest_loss() -> None:
    """A closed form that is loose there is still used next to the contour."""
    found = answers.delta(Product.of(RandomizedResponsePair(epsilon=Fraction(1, 3))), 1 / 3 - 1e-13)
    assert found.upper < 1e-12


@pytest.mark.some(6)
@pytest.mark.parametrize(
    "product",
    [
        Product((Factor(STEP, 1000),)),
        Product((Factor(LaplacePair(epsilon=Fraction(1, 2)), 30),)),
        Product.of(GaussianPair(mu_squared=Fraction(1))),
        Product.of(FinitePair(p=(Fraction(1, 2), Fraction(1, 2)), q=(Fraction(1), Fraction(0)))),
    ],
)
@pytest.mark.parametrize("ends", [(1e-6, 2e-6), (0.3, 0.7), (0.0, 5e-324), (1e-201, 1e-200)])
def test_epsilon_at_a_bracket_of_delta(product: Product, ends: tuple[float, float]) -> None:
    """What holds at every delta of the bracket: from epsilon at its upper to that at its lower."""
    found = answers.epsilon(product, Bound(*ends))
    low, high = answers.epsilon(product, ends[1]), answers.epsilon(product, ends[0])
    assert found.lower <= low.upper
    assert found.upper >= high.lower
    assert found.lower >= low.lower - 1e-4
    assert found.upper <= high.upper + 1e-4


def test_larger_epsilon() -> None:
    """The larger of both directions, also when the second one is skipped."""
    there = Product((Factor(STEP, 1000),))
    for delta in (1e-3, 1e-9):
        both = answers.epsilon(there, delta).maximum(answers.epsilon(there.swapped(), delta))
        for found in (
            answers.larger_epsilon(there, there.swapped(), delta),
            answers.larger_epsilon(there.swapped(), there, delta),
        ):
            assert found.lower <= both.upper
            assert both.lower <= found.upper


def test_two_orders_of_neighbours_that_are_not_swaps() -> None:
    """Each order obeys both pairs: tests and losses below 0 are those of the smaller one."""
    weak, strong = (Product.of(GaussianPair(mu_squared=Fraction(x))) for x in (1, 4))
    less = answers.true_positive_rate(weak, 0.1)
    found = answers.larger_power(strong, weak, 0.1)
    assert found.lower <= less.upper
    assert less.lower <= found.upper < answers.true_positive_rate(strong, 0.1).lower
    at = answers.of_orders(strong, weak, lambda product: answers.delta(product, -1.0))
    assert at == answers.delta(weak, -1.0)


def test_a_listed_pair_is_its_swap_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finite pair that is symmetric is asked once, in whatever order its outcomes stand."""
    half = (Fraction(1, 2), Fraction(3, 8), Fraction(1, 8))
    product = Product.of(FinitePair(p=half, q=half[::-1]))
    monkeypatch.delattr(answers, "of_orders")
    found = answers.larger_power(product, product, 0.1)
    assert found == answers.true_positive_rate(product, 0.1)


def test_infinite_losses() -> None:
    """Disjoint supports: delta is 1, epsilon infinite, alone and in company."""
    for product in (
        Product.of(DISJOINT),
        Product.of(DISJOINT, GaussianPair(mu_squared=Fraction(1))),
    ):
        assert answers.delta(product, 3.0) == Bound(1.0, 1.0)
        assert answers.epsilon(product, 0.5).lower == math.inf
        assert answers.renyi(product, 2.0).lower == math.inf


@pytest.mark.some(3)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.999, 0.99999, 1.0])
@mpmath.workdps(40)  # type: ignore[untyped-decorator]  # mpmath has no types
def test_two_additions_next_to_the_largest_loss(share: float) -> None:
    """Where no order within reach is large enough, the upper end of a smaller one has to do.

    The second step's part is in closed form: E (1 - a (1 - q + q x))_+ over log-normal x.
    """
    q = Fraction(1, 5)
    pair = SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=q, removal=False)
    epsilon = share * 2 * pair.max_loss
    rate, level = mpmath.mpf(1) / 5, mpmath.exp(mpmath.mpf(epsilon))

    def rest(z: mpmath.mpf) -> mpmath.mpf:
        a = level * (1 + rate * mpmath.expm1(z - mpmath.mpf(1) / 2))
        highest = (1 / a - (1 - rate)) / rate
        if highest <= 0:
            return mpmath.mpf(0)
        end = mpmath.log(highest) + mpmath.mpf(1) / 2
        whole = (1 - a * (1 - rate)) * mpmath.ncdf(end) - a * rate * mpmath.ncdf(end - 1)
        return whole * mpmath.npdf(z)

    true = mpmath.mpf(0)
    if share < 1:
        last = mpmath.log(1 + (1 / (level * (1 - rate)) - 1) / rate) + mpmath.mpf(1) / 2
        true = mpmath.quad(rest, [-30, -12, -8, -4, last])
    found = answers.delta(Product((Factor(pair, 2),)), epsilon)

    assert found.lower <= true * (1 + mpmath.mpf(10) ** -12)
    assert true * (1 - mpmath.mpf(10) ** -12) <= found.upper <= 1.1 * true + 1e-19


@pytest.mark.parametrize("share", [1e-9, 1e-12, 1e-15])
def test_two_coins_next_to_their_largest_loss(share: float) -> None:
    """Where a contour's step would vanish there is a bracket all the same."""
    pair = FinitePair(
        p=(Fraction(1, 451), Fraction(450, 451)), q=(Fraction(1, 533), Fraction(532, 533))
    )
    product = Product((Factor(pair, 2),))
    top = 2 * math.log(533 / 451)
    found = answers.delta(product, (1 - share) * top)
    true = -((1 / 451) ** 2) * math.expm1(-share * top)

    assert found.lower <= true * (1 + 1e-3) + 1e-20
    assert true * (1 - 1e-3) - 1e-20 <= found.upper < 1e-5


@pytest.mark.parametrize("mu", [60, pytest.param(30, marks=pytest.mark.slow)])
def test_a_sample_that_reveals_everything(mu: int) -> None:
    """Then delta(eps) is q + (1 - q) times the other release's at eps - log(1 - q)."""
    q, rest = Fraction(1, 1000), GaussianPair(mu_squared=Fraction(1))
    sampled = SubsampledGaussianPair(mu_squared=Fraction(mu * mu), sampling_rate=q, removal=True)
    product = Product((Factor(sampled, 1), Factor(rest, 1)))
    shift = math.log1p(-1e-3)
    alone = answers.epsilon(Product.of(rest), float(Fraction(1, 10**4) / (1 - q)))
    found = answers.epsilon(product, 1.1e-3)
    delta = answers.delta(product, 1.0)
    unsampled = answers.delta(Product.of(rest), 1.0 - shift)

    assert found.lower - 1e-6 <= alone.upper + shift
    assert alone.lower + shift <= found.upper + 1e-6 <= alone.upper + shift + 1e-3
    assert delta.lower - 1e-9 <= 1e-3 + 0.999 * unsampled.upper
    assert 1e-3 + 0.999 * unsampled.lower <= delta.upper + 1e-9


@pytest.mark.parametrize("delta", [0.0, 1e-323, 1e-305])
def test_deltas_below_the_least_are_not_taken_for_it(delta: float) -> None:
    """What is enough at 1e-300 is not enough below: the upper end is the largest loss."""
    gaussian = Product.of(GaussianPair(mu_squared=Fraction(1, 100)))
    laplace = Product.merge([Factor(LaplacePair(epsilon=Fraction(1)), 2000)])
    enough = answers.epsilon(laplace, 1e-300)
    found = answers.epsilon(laplace, delta)

    assert answers.epsilon(gaussian, delta).upper == math.inf
    assert enough.upper < 1999.0
    assert found.upper >= 2000.0
    assert enough.lower * (1 - 1e-9) <= found.lower


def test_deltas_of_sums_are_never_none() -> None:
    """Many deltas at once, where that is below all floats, are above 0 up to the largest loss."""
    product = Product.merge([Factor(LaplacePair(epsilon=Fraction(1, 10)), 10_000)])
    high = deltas(product, np.array([500.0, 999.0, 1001.0]))[1]
    assert (high[:2] > 0.0).all()
    assert high[2] == 0.0


def test_no_table_is_made_deep_below_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """At deltas that no table of a million steps tells apart, none is made."""
    monkeypatch.setattr(answers, "_tabulated", lambda _: pytest.fail("a table"))
    mu_squared, rate = 1 / Fraction("0.989") ** 2, Fraction("3.38e-5")
    for removal in (True, False):
        pair = SubsampledGaussianPair(mu_squared=mu_squared, sampling_rate=rate, removal=removal)
        product = Product((Factor(pair, 2_471_946),))
        found = answers.delta(product, 3.54)
        assert found.upper < 1e-38
        assert found.lower <= found.upper


def test_rho_of_a_schedule_asks_one_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where removal's rho is known, that of addition is no larger by its own bound."""
    rate, smallest, asked = Fraction(1, 1000), answers.smallest_rho, set()

    def counted(product: Product) -> Bound:
        asked.add(product)
        return smallest(product)

    monkeypatch.setattr(answers, "smallest_rho", counted)
    removal, addition = (
        Product.merge(
            [
                Factor(
                    SubsampledGaussianPair(
                        mu_squared=Fraction(1, k), sampling_rate=rate, removal=way
                    ),
                    k,
                )
                for k in range(1, 40)
            ]
        )
        for way in (True, False)
    )
    found = answers.larger_rho(removal, addition)
    assert found.lower <= 39 / 2 <= found.upper
    assert found.relative_width < 1e-12
    assert asked == {removal}
