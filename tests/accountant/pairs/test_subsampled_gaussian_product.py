"""Many subsampled Gaussian pairs as one: the answers are those of the product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs import subsampled_gaussian_product
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.smoothness import log_decay
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.pairs.subsampled_gaussian_product import (
    SubsampledGaussians,
    _merged,
    bundled,
)
from tests.accountant.pairs.builders import both
from tests.contracts.pair_contract import Case, PairContract


def parts(
    count: int = 70, *, removal: bool = True, most: Fraction = Fraction(1, 32)
) -> tuple[tuple[SubsampledGaussianPair, int], ...]:
    """Different pairs, in no order of noise, some more than once."""
    return tuple(
        (
            SubsampledGaussianPair(
                mu_squared=Fraction((37 * i) % count + 20, 70),
                sampling_rate=most * Fraction(i + 1, count),
                removal=removal,
            ),
            1 + i % 3,
        )
        for i in range(count)
    )


def bundle_of(case: Case) -> Case:
    """The same pair as a bundle of one part."""
    pair = case.pair
    assert isinstance(pair, SubsampledGaussianPair)
    return Case(SubsampledGaussians(((pair, 1),), pair.removal), case.definition, case.swapped)


class TestOnePart(PairContract):
    """A bundle of one against that one's own integral, in both directions."""

    tilts = (0.03, 8.0)
    heights = (0.0, 3.0)
    frequencies = (1.5, 20.0)
    bracket_width = 1e-8

    def cases(self) -> Sequence[Case]:
        """A rate neither near 0 nor near 1."""
        return [bundle_of(case) for case in both(Fraction(1), Fraction(1, 5))]

    def epsilons(self, pair: Pair) -> list[float]:
        """Not next to the largest loss: without a closed form no order is large enough."""
        top = 0.95 * min(pair.max_loss, pair.swapped().max_loss)
        return [x for x in super().epsilons(pair) if abs(x) < top]


LINES = [
    np.array([0.03, 2.7, 9.0]) + 0j,
    1.5 + 0.25j * np.arange(60),
    1.5 - 1j * np.arange(10),
    6.0 + 40j * np.arange(30),
]


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("most", [Fraction(1, 32), Fraction(99, 100)])
@pytest.mark.parametrize("line", range(len(LINES)))
def test_k_is_the_sum(*, removal: bool, most: Fraction, line: int) -> None:
    """Of the parts' own, which are narrower; the bundle errs by little."""
    some, s = parts(removal=removal, most=most), LINES[line]
    found = SubsampledGaussians(some, removal).cgf(s)
    each = [(pair.cgf(s), count) for pair, count in some]
    value = sum(count * one.value for one, count in each)
    radius = sum(count * one.radius for one, count in each)

    turned = np.abs(np.exp(1j * (found.value - value).imag) - 1)  # K up to 2 pi i
    known = np.isfinite(found.radius + radius)
    assert (np.abs((found.value - value).real) <= found.radius + radius)[known].all()
    assert (turned <= found.radius + radius)[known].all()
    assert (value.real - radius <= found.value.real)[np.isinf(found.radius)].all()
    if line == 0 or (line < 3 and most < 1 / 2):  # where M itself is not tiny
        assert known.all()
        assert found.radius.max() < 1e-9


@pytest.mark.parametrize("removal", [True, False])
def test_very_different_orders_are_computed_apart(*, removal: bool) -> None:
    """One rule cannot serve both."""
    some = parts(20, removal=removal)
    s = np.array([0.5, 60.0]) + 0j
    found = SubsampledGaussians(some, removal).cgf(s)
    value = sum(count * pair.cgf(s).value for pair, count in some)

    assert found.value == pytest.approx(value, rel=1e-11)
    assert (found.radius < 1e-9).all()


@pytest.mark.parametrize("removal", [True, False])
def test_steering(*, removal: bool) -> None:
    """K and its derivatives are sums too."""
    some, c = parts(removal=removal), np.geomspace(0.05, 8.0, 9)
    found = SubsampledGaussians(some, removal).steer(c)
    each = [(pair.steer(c), count) for pair, count in some]
    for order in range(3):
        assert found[order] == pytest.approx(sum(n * one[order] for one, n in each), rel=1e-4)


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("c", [0.4, 5.0])
def test_smoothness(*, removal: bool, c: float) -> None:
    """Not above the truth, and not far below what the layers of the parts say."""
    bundle, y = SubsampledGaussians(parts(removal=removal), removal), np.geomspace(0.5, 300.0, 12)
    bound = log_decay([(bundle.smoothness(c, Bound(0.0, 0.0)), 1)], y)
    fallen = bundle.cgf(c + 1j * y).value.real - bundle.cgf(np.array([c + 0j])).value.real
    own = np.zeros(y.shape)
    for pair, count in bundle.parts:
        one = pair.cgf(np.array([c + 0j]))
        at, off = float(one.value.real[0]), float(one.radius[0])
        found = pair.smoothness(c, Bound(at - off, at + off))
        own = own + log_decay([(type(found)(0.0, found.masses, found.widths), count)], y)

    assert (fallen <= bound + 1e-9).all()
    assert (1.05 * own <= bound).all()
    assert (bound <= 0.85 * own).all()


def test_merged_layers_are_no_wider_than_any_that_they_stand_for() -> None:
    """Also next to the ends of a group; up to a width, no mass is added, and little is lost."""
    ends = np.exp(0.02 * np.arange(-40, 40, 3))
    widths = np.concatenate([np.nextafter(ends, 0.0), ends, ends * (1 + 1e-10), ends * 1.01])
    masses = 1.0 / np.arange(3, 3 + widths.size)
    found, narrow = _merged(masses, widths)

    for width in narrow:
        assert found[narrow >= width].sum() <= masses[widths >= width].sum()
        assert found[narrow >= width].sum() >= masses[widths >= 1.021 * width].sum() * (1 - 1e-9)
    assert found.sum() == pytest.approx(masses.sum(), rel=1e-9)
    assert [part.size for part in _merged(np.ones(2), np.array([1.0, 1e-20]))] == [1, 1]
    assert not _merged(np.empty(0), np.empty(0))[0].size


@pytest.mark.parametrize("removal", [True, False])
def test_what_else_is_known(*, removal: bool) -> None:
    """Sums over the parts, and the other direction."""
    some = parts(removal=removal)
    bundle = SubsampledGaussians(some, removal)

    assert bundle.swapped().swapped() == bundle
    assert {pair.removal for pair, _ in bundle.swapped().parts} == {not removal}
    assert bundle.max_loss == pytest.approx(sum(n * pair.max_loss for pair, n in some))
    assert bundle.zcdp_bound == pytest.approx(sum(n * pair.zcdp_bound for pair, n in some))
    assert bundle.gdp_bound**2 == pytest.approx(sum(n * pair.gdp_bound**2 for pair, n in some))
    assert bundle.infinite_mass == 0.0
    assert bundle.above(1) is bundle.below(1) is bundle
    assert bundle.lattice(0.0) is None
    assert bundle.exponentials() is None
    assert bundle.profile(np.zeros(1)) is None
    assert 1000 < bundle.work(1 + 5j) < bundle.work(1 + 500j)


def test_work_out_of_reach() -> None:
    """Noise so small that no quadrature has enough nodes."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(10**12), sampling_rate=Fraction(1, 2), removal=True
    )
    assert SubsampledGaussians(((pair, 1),), removal=True).work(1 + 1j) > 1 << 30


def test_only_many_rare_samples_that_are_not_repeated_often_are_bundled() -> None:
    """And each direction by itself; what is something else stays."""
    laplace = (LaplacePair(epsilon=Fraction(1, 10)), 3)
    there, back = parts(40), parts(30, removal=False)
    often = [(pair, 1000 * count) for pair, count in there]

    assert bundled([*there, laplace, *back]) == [
        laplace,
        (SubsampledGaussians(there, removal=True), 1),
        (SubsampledGaussians(back, removal=False), 1),
    ]
    assert bundled([laplace, *often]) == [laplace, *often]
    assert bundled([laplace, *there[:15]]) == [laplace, *there[:15]]
    often_sampled = list(parts(40, most=Fraction(1, 2)))
    assert bundled(often_sampled) == often_sampled


@pytest.mark.parametrize("removal", [True, False])
def test_the_answers_are_the_same(*, removal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon, delta and Rényi divergence, with and without the bundle."""
    product = Product(
        (
            *(Factor(pair, count) for pair, count in parts(24, removal=removal)),
            Factor(LaplacePair(epsilon=Fraction(1, 10)), 5),
        )
    )

    def ask() -> list[Bound]:
        return [
            answers.epsilon(product, 1e-6),
            answers.delta(product, 0.7),
            answers.renyi(product, 8.0),
        ]

    assert len(product.bundled().factors) == 2
    together = ask()
    monkeypatch.setattr(subsampled_gaussian_product, "_MANY", 1000)
    assert len(product.bundled().factors) == 25
    apart = ask()
    for one, other in zip(together, apart, strict=True):
        assert one.lower <= other.upper
        assert other.lower <= one.upper
        assert one.relative_width < 1e-8
        assert 0 < one.upper < math.inf


def test_rates_that_are_hardly_floats_are_refused() -> None:
    """Their powers would vanish."""
    with pytest.raises(ParameterError, match="sampling_rate must be from 1e-100"):
        SubsampledGaussianPair(
            mu_squared=Fraction(1), sampling_rate=Fraction(1, 10**250), removal=True
        )


def test_a_wide_answer_is_asked_for_one_by_one() -> None:
    """Little is left of tiny rates when M is summed plainly; each by itself stays narrow."""
    product = Product(
        tuple(
            Factor(
                SubsampledGaussianPair(
                    mu_squared=Fraction(4, 100) * Fraction(13, 10) ** i,
                    sampling_rate=Fraction(13 + 3 * i, 10**5),
                    removal=True,
                ),
                1,
            )
            for i in range(17)
        )
    )
    bundle = product.bundled()

    assert len(bundle.factors) == 1
    assert answers.epsilon(bundle, 5.9e-5).relative_width > 1e-3
    assert answers.epsilon(product, 5.9e-5).relative_width < 1e-6
