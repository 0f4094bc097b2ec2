"""Beyond the largest loss delta is the infinite mass, against rationals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    L1,
    AddRemove,
    ApproxDP,
    Guarantee,
    Poisson,
    compose,
    convert,
    self_compose,
)
from dpproof.accountant.certificates.finite_sums import LargestLoss, bends, has_few_losses, losses
from dpproof.accountant.certificates.serialize import factors
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.laplace import (
    DiscreteLaplacePair,
    LaplacePair,
    RandomizedResponsePair,
)
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.mechanisms import DiscreteLaplace, Laplace, Mechanism, RandomizedResponse
from dpproof.proofs import VerifiedUnder
from dpproof.proofs.logic.statement import LANGUAGE
from dpproof.proofs.pairs.pair import outcomes, terms

PARTS = st.lists(
    st.tuples(st.fractions(Fraction(1, 10**12), Fraction(9, 10)), st.integers(1, 40)),
    min_size=1,
    max_size=3,
)


def _pair(delta: Fraction) -> FinitePair:
    """Give the answer away with a chance, else release nothing."""
    return FinitePair(p=(delta, 1 - delta, Fraction(0)), q=(Fraction(0), 1 - delta, delta))


@given(PARTS)
def test_the_infinite_mass_of_a_product(parts: list[tuple[Fraction, int]]) -> None:
    """1 - prod (1 - delta)^n lies in the bracket, and what is certified is not below it."""
    product = Product.merge([Factor(_pair(delta), count) for delta, count in parts])
    exact = 1 - math.prod((1 - delta) ** count for delta, count in parts)
    found = infinite_mass(product)
    logs = LargestLoss(product).log_upper(np.array([0.0, 200.0]))

    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.upper <= float(exact) * (1 + 1e-12)
    assert logs[0] == 0.0
    assert logs[1] == np.log(found.upper)


def test_a_certificate_far_out() -> None:
    """What is claimed beyond all losses is verified, of a mass that no float is."""
    whole = compose(
        self_compose(ApproxDP(epsilon=Fraction(1, 8), delta=Fraction(1, 3 * 10**5)), 7),
        self_compose(ApproxDP(epsilon=Fraction(1, 4), delta=Fraction(1, 7 * 10**5)), 11),
    )
    certificate = whole.certify(epsilon=8)

    assert not isinstance(proofs.check(certificate), proofs.Rejected)


HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
RARE = Poisson(sampling_rate=TENTH)
ANSWER = RandomizedResponsePair(epsilon=HALF, categories=4)
TOLD = RandomizedResponsePair(epsilon=HALF, infinite=TENTH)
WHOLE = DiscreteLaplacePair(scale=Fraction(4), shift=3)
COINS = FinitePair(p=(HALF, HALF, Fraction(0)), q=(TENTH, HALF, Fraction(2, 5)))


def drawn(direction: Direction, *base: tuple[Any, int]) -> SubsampledPair:
    """What shares a sample of one record in ten."""
    made = Product(tuple(Factor(pair, count) for pair, count in base))
    return SubsampledPair(base=made, sampling_rate=TENTH, direction=direction)


REMOVAL, ADDITION = Direction.REMOVAL, Direction.ADDITION
FEW = {
    "answers": Product((Factor(drawn(REMOVAL, (ANSWER, 2)), 3),)),
    "told": Product((Factor(drawn(REMOVAL, (TOLD, 1)), 2), Factor(drawn(ADDITION, (TOLD, 1)), 2))),
    "whole": Product((Factor(drawn(ADDITION, (WHOLE, 1)), 2), Factor(COINS, 1))),
    "coins": Product.of(drawn(REMOVAL, (COINS, 2))),
    "coins added": Product.of(drawn(ADDITION, (COINS, 2), (ANSWER, 1))),
    "twice": Product.of(drawn(REMOVAL, (drawn(REMOVAL, (COINS, 1)), 2))),
}
MANY = {
    "fixed size": Product.of(drawn(Direction.REPLACEMENT, (ANSWER, 1))),
    "dense": Product.of(drawn(REMOVAL, (LaplacePair(epsilon=HALF), 1))),
    "beside": Product(
        (Factor(drawn(REMOVAL, (ANSWER, 1)), 1), Factor(LaplacePair(epsilon=HALF), 1))
    ),
    "endless": Product.of(drawn(REMOVAL, (DiscreteGaussianPair(sigma_squared=HALF, shift=1), 1))),
    "repeated": Product((Factor(drawn(REMOVAL, (ANSWER, 1)), 101),)),
    "long": Product((Factor(drawn(REMOVAL, (WHOLE, 1)), 40),)),
}


@pytest.mark.parametrize("name", FEW)
def test_losses_are_those_that_the_checker_lists(name: str) -> None:
    """The same numbers, from floats and from balls, and where they bend is just past them."""
    product, checked = FEW[name], LANGUAGE.product([*factors(FEW[name])])
    found = losses(product)
    listed = terms(checked).losses
    wanted = np.unique(np.round([float(loss.mid()) for loss, _ in listed], 11))

    assert found is not None
    assert has_few_losses(product)
    assert outcomes(checked) == len(listed)
    inside = [loss for loss in found if np.abs(wanted - loss).min() < 1e-10]
    assert wanted.size <= len(inside)
    bent = bends(product)
    assert bent is not None
    assert (np.abs(bent) > np.abs(found)).all()
    assert (np.abs(bent - found) <= 1e-9 * (1 + np.abs(found))).all()


def test_equal_sums_are_one_loss() -> None:
    """Whatever the order in which they are added up: as many as there are multisets."""
    product = Product((Factor(drawn(REMOVAL, (ANSWER, 1)), 10),))
    found, none = losses(product), drawn(ADDITION, (TOLD, 1))
    told = losses(Product.of(none))

    assert found is not None
    assert told is not None
    assert (found.size, told.size) == (66, 3)


@pytest.mark.parametrize("name", MANY)
def test_other_losses_are_not_listed(name: str) -> None:
    """Neither by the library nor by the checker."""
    assert not has_few_losses(MANY[name])
    assert losses(MANY[name]) is None
    assert bends(MANY[name]) is None
    assert outcomes(LANGUAGE.product([*factors(MANY[name])])) == 0


def test_more_losses_than_a_selection_takes() -> None:
    """They are listed, but no grid follows them all."""
    product = Product((Factor(drawn(REMOVAL, (WHOLE, 1)), 18),))
    found = losses(product)

    assert found is not None
    assert found.size > 1_000
    assert bends(product) is None


def _mixed() -> Guarantee[AddRemove]:
    parts = [
        RandomizedResponse(epsilon=1, categories=2, relation=AddRemove())
        .subsample(RARE)
        .repeat(20),
        RandomizedResponse(epsilon=2, categories=4, relation=AddRemove())
        .subsample(Poisson(sampling_rate=0.05))
        .repeat(5),
        DiscreteLaplace(scale=2, sensitivity=L1(1)).subsample(RARE).repeat(3),
    ]
    return compose(*(one.guarantee() for one in parts))


REPEATED: dict[str, Callable[[], Mechanism[AddRemove]]] = {
    "answers": lambda: RandomizedResponse(epsilon=1, categories=2, relation=AddRemove()),
    "whole": lambda: DiscreteLaplace(scale=2, sensitivity=L1(1)),
}


@pytest.mark.parametrize("name", ["answers", pytest.param("whole", marks=pytest.mark.slow)])
def test_mu_of_many_samples_of_two_losses(name: str) -> None:
    """The closed profile of a hundred samples shows the engine's own mu."""
    mu = convert(REPEATED[name]().subsample(RARE).repeat(100).guarantee(), to=GDP)
    certificate = mu.certify()

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert certificate.steps[-1].rule == "convert/pair-gdp"
    assert Fraction(str(certificate.claim["mu_squared"])) == mu.mu_squared


@pytest.mark.parametrize("order", [2, 8, 64])
def test_divergences_without_tables(order: int) -> None:
    """Of mixtures of samples, at the engine's upper end to a billionth, with no table."""
    guarantee = _mixed()
    certificate = guarantee.certify(order=order)
    upper = guarantee.rdp(order=order).upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert "span" not in certificate.to_json()
    claimed = Fraction(str(certificate.claim["points"][0][1]))  # type: ignore[index]
    assert upper <= claimed <= upper * (1 + Fraction(1, 10**8))


def test_a_lower_end_of_several_samples() -> None:
    """The closed profile is exact, so that it bounds from below as well."""
    guarantee = REPEATED["answers"]().subsample(RARE).repeat(30).guarantee()
    certificate = guarantee.certify(delta=1e-6, lower=True)
    bracket = guarantee.epsilon(delta=1e-6)

    assert isinstance(proofs.check(certificate), proofs.Verified)
    assert math.isclose(
        float(Fraction(str(certificate.claim["epsilon"]))), bracket.lower, rel_tol=1e-6
    )


def test_beside_a_release_with_a_density() -> None:
    """A few samples and Laplace releases are one finite sum."""
    answers = REPEATED["answers"]().subsample(RARE).repeat(10).guarantee()
    guarantee = compose(answers, Laplace(scale=4, sensitivity=L1(1)).repeat(2).guarantee())
    certificate = guarantee.certify(delta=1e-6)

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert {step.rule for step in certificate.steps} >= {"hockey-stick/closed"}
