"""Sampling theorems at their ends; what runs is compared in the tests of the mechanism."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    AddRemove,
    Bound,
    Guarantee,
    Poisson,
    PureDP,
    Relation,
    ReplaceOne,
    WithoutReplacement,
    ZeroOut,
    answers,
    self_compose,
)
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.side_conditions import BLANK_IGNORED, SAMPLE_HIDDEN
from dpproof.accountant.theorems.subsampling import subsample_poisson, subsample_without_replacement


@pytest.mark.parametrize("nothing", [GDP(mu=0), PureDP(epsilon=0)])
def test_a_sample_of_what_reveals_nothing_reveals_nothing(nothing: Guarantee[Relation]) -> None:
    """A product without factors stays one."""
    sampled = subsample_poisson(nothing, Poisson(sampling_rate=0.1))
    assert sampled.forward.factors == sampled.backward.factors == ()
    assert sampled.epsilon(delta=1e-6) == sampled.advantage() == Bound.exactly(0.0)


def test_a_fixed_size_sample_of_what_reveals_nothing_reveals_nothing() -> None:
    """The same without replacement."""
    sampled = subsample_without_replacement(
        GDP(mu=0, relation=ReplaceOne()), WithoutReplacement(sample_size=1, population_size=10)
    )
    assert sampled.epsilon(delta=1e-6) == Bound.exactly(0.0)


@pytest.mark.parametrize("missing", [Fraction(1, 10**6), Fraction(1, 10**13), Fraction(1, 10**18)])
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_rates_next_to_one(missing: Fraction, share: float) -> None:
    """Addition against its formula at 50 digits: r H_{qt/r}(P|Q), r = 1 - t (1 - q)."""
    pair = SubsampledGaussianPair(mu_squared=Fraction(25), sampling_rate=1 - missing, removal=False)
    with mpmath.workdps(50):
        rest = mpmath.mpf(missing.numerator) / missing.denominator
        epsilon = float(-share * mpmath.log(rest))
        t = mpmath.exp(epsilon)
        r = 1 - t * rest
        x = mpmath.log((1 - rest) * t / r)
        true = r * (mpmath.ncdf(2.5 - x / 5) - mpmath.exp(x) * mpmath.ncdf(-2.5 - x / 5))
        found = answers.delta(Product.of(pair), epsilon)
        assert found.lower <= true <= found.upper
        assert found.relative_width < 1e-9
        assert -mpmath.log(rest) <= pair.max_loss


@pytest.mark.parametrize("release", [GDP(mu=1), PureDP(epsilon=1)])
def test_a_sample_of_nearly_everything_costs_no_more(release: Guarantee[Relation]) -> None:
    """At a rate that no float tells from 1."""
    sampled = subsample_poisson(release, Poisson(sampling_rate=1 - Fraction(1, 10**18)))
    whole = release.epsilon(delta=1e-6)
    assert sampled.epsilon(delta=1e-6).upper <= whole.upper * (1 + 1e-4)


@pytest.mark.parametrize("release", [GDP(mu=1), PureDP(epsilon=1)])
def test_a_sample_of_a_sample_is_a_sample_of_the_product_rate(release: Guarantee[Relation]) -> None:
    """Drawn twice is drawn once at rate pq: the same pairs, from the same premise."""
    rates = Fraction(1, 10), Fraction(1, 9)
    outer = subsample_poisson(release, Poisson(sampling_rate=rates[0]))
    nested = subsample_poisson(outer, Poisson(sampling_rate=rates[1]))
    once = subsample_poisson(release, Poisson(sampling_rate=rates[0] * rates[1]))
    assert nested == once
    assert nested.derivation == once.derivation


def test_what_follows_a_sample_is_sampled_as_it_is() -> None:
    """Two steps on samples of their own, on one outer sample, are no steps at the product rate."""
    step = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=Fraction(1, 10)))
    outer = subsample_poisson(self_compose(step, 2), Poisson(sampling_rate=Fraction(1, 9)))
    apart = self_compose(subsample_poisson(GDP(mu=1), Poisson(sampling_rate=Fraction(1, 90))), 2)
    assert outer.derivation.parameters == (("sampling_rate", Fraction(1, 9)),)
    assert outer != apart


def test_a_nested_sample_is_certified_at_the_product_rate() -> None:
    """The checker verifies what the engine says of the product rate."""
    step = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=Fraction(1, 10)))
    nested = self_compose(subsample_poisson(step, Poisson(sampling_rate=Fraction(1, 9))), 100)
    verdict = proofs.check(nested.certify(delta=1e-6))
    assert isinstance(verdict, proofs.VerifiedUnder)
    assert nested.epsilon(delta=1e-6).relative_width < 1e-8  # 3e-5 by a table of the sample's


@pytest.mark.parametrize("relation", [AddRemove(), ZeroOut()])
def test_what_a_poisson_sample_assumes(relation: AddRemove | ZeroOut) -> None:
    """The sample is hidden, and under zero-out a blank in it counts for nothing."""
    step = subsample_poisson(GDP(mu=1, relation=relation), Poisson(sampling_rate=0.5))

    assert SAMPLE_HIDDEN() in step.derivation.assumptions
    assert (BLANK_IGNORED() in step.derivation.assumptions) == isinstance(relation, ZeroOut)
