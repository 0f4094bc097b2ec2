"""Parameters of pairs that floats do not hold are refused, never taken for 0."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.pairs.domain import required_loss, required_square
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.theorems.subsampling.poisson import subsample_poisson

TINY, HUGE = Fraction(1, 10**400), Fraction(10**400)


@pytest.mark.parametrize(
    "guarantee",
    [
        kind(epsilon=epsilon)
        for kind in (PureDP, BoundedRange)
        for epsilon in (TINY, Fraction(1, 10**200), Fraction(10**200), HUGE)
    ]
    + [GDP(mu=TINY), GDP(mu=HUGE), ApproxDP(epsilon=HUGE, delta=Fraction(1, 10))],
)
def test_guarantees_are_not_answered_beyond_floats(guarantee: Guarantee[AddRemove]) -> None:
    """Every question is refused by name, where one was answered by 0 or by an overflow."""
    refused = pytest.raises(ParameterError, match="for its pair to be computed, got ")
    with refused:
        guarantee.epsilon(delta=1e-9)
    with refused:
        guarantee.advantage()
    with refused:
        guarantee.gdp()


def test_ends_of_the_domain() -> None:
    """Both ends belong to it, and beyond them the hint says which way to go."""
    required_loss(epsilon=Fraction(1, 10**100))
    required_loss(epsilon=Fraction(10**100))
    required_square(mu_squared=Fraction(1, 10**200))
    with pytest.raises(ParameterError, match="round it up"):
        required_loss(epsilon=Fraction(1, 10**101))
    with pytest.raises(ParameterError, match="add noise"):
        LaplacePair(epsilon=Fraction(10**101))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**99), Fraction(1, 10**30), Fraction(1, 10**17)])
def test_small_guarantees_are_never_none(epsilon: Fraction) -> None:
    """Next to the end of the domain, upper ends stay above 0 and above the truth."""
    for guarantee in (PureDP(epsilon=epsilon), BoundedRange(epsilon=epsilon), GDP(mu=epsilon)):
        assert guarantee.advantage().upper > 0.2 * float(epsilon)
        assert guarantee.gdp().upper > 0.5 * float(epsilon)
        assert guarantee.rdp(order=2).upper > 0.2 * float(epsilon) ** 2
        assert guarantee.zcdp().upper > 0.1 * float(epsilon) ** 2


@pytest.mark.parametrize("rate", [TINY, 1 - TINY, Fraction(1e-310), Fraction(1, 10**101)])
def test_samples_are_not_answered_beyond_floats(rate: Fraction) -> None:
    """A rate closer than 1e-100 to an end is refused by name, where logs of 0 were taken."""
    for base in (GDP(mu=1), PureDP(epsilon=1)):
        with pytest.raises(ParameterError, match="sampling_rate must be from 1e-100"):
            subsample_poisson(base, Poisson(sampling_rate=rate))


@pytest.mark.parametrize("rate", [Fraction(1, 10**100), 1 - Fraction(1, 10**100)])
def test_samples_next_to_the_ends_are_answered(rate: Fraction) -> None:
    """By brackets that hold what total variation distances of the base allow."""
    for base in (GDP(mu=1), PureDP(epsilon=1)):
        found = subsample_poisson(base, Poisson(sampling_rate=rate)).delta(epsilon=0)
        true = float(rate) * base.delta(epsilon=0).lower
        assert found.lower * (1 - 1e-9) <= true <= found.upper * (1 + 1e-9)
