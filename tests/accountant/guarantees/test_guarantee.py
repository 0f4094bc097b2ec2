"""What the abstract guarantee does before a notion is asked."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.guarantees.dominating_pair import GDP, PairGuarantee
from dpproof.accountant.guarantees.guarantee import Guarantee, within_floats
from dpproof.accountant.guarantees.rdp import ZCDP, RenyiGuarantee
from dpproof.accountant.relation import AddRemove


@pytest.mark.parametrize("guarantee", [GDP(mu=1), ZCDP(rho=Fraction(1, 2))])
def test_questions_between_floats_are_widened(guarantee: Guarantee[AddRemove]) -> None:
    """At a Fraction that no float holds, the answer covers both neighbours."""
    third = Fraction(1, 3)
    for exact, near in (
        (guarantee.delta(epsilon=third), guarantee.delta(epsilon=1 / 3)),
        (guarantee.epsilon(delta=third / 10**6), guarantee.epsilon(delta=1e-6 / 3)),
        (guarantee.rdp(order=4 * third), guarantee.rdp(order=4 / 3)),
        (
            guarantee.true_positive_rate(false_positive_rate=third),
            guarantee.true_positive_rate(false_positive_rate=1 / 3),
        ),
    ):
        assert exact.lower <= near.upper
        assert near.lower <= exact.upper
        assert exact.upper == pytest.approx(near.upper, rel=1e-12)


def test_an_order_next_to_one_is_an_order() -> None:
    """Above 1 by less than a float can tell."""
    answer = ZCDP(rho=1).rdp(order=1 + Fraction(1, 2**90))

    assert answer.lower <= 1 <= answer.upper <= 1 + 1e-15


def test_a_delta_below_every_float_gives_the_weaker_side() -> None:
    """Smaller than the smallest float: the upper end is that of delta 0."""
    answer = GDP(mu=1).epsilon(delta=Fraction(1, 10**400))

    assert answer.lower > 30
    assert answer.upper == float("inf")


def test_an_epsilon_beyond_every_float_is_answered() -> None:
    """As at the largest float."""
    assert GDP(mu=1).delta(epsilon=10**400).upper == pytest.approx(0.0, abs=1e-300)
    assert GDP(mu=1).delta(epsilon=-(10**400)).upper == 1.0


def test_abstract_notions_are_not_instances() -> None:
    """Only final notions can be stated."""
    notions: tuple[Any, ...] = (Guarantee, PairGuarantee, RenyiGuarantee)
    for notion in notions:
        with pytest.raises(TypeError, match="abstract"):
            notion()


def test_smallest_delta_is_a_probability() -> None:
    """And the name is in the message."""
    with pytest.raises(ParameterError, match="smallest_delta"):
        GDP(mu=1).gdp(smallest_delta=-1)


@pytest.mark.parametrize(
    "overflow",
    [
        lambda: np.float64(1e300) * 1e300,
        lambda: np.log1p(np.array([-1.0])),
        lambda: np.array([np.inf]) - np.inf,
        lambda: float(10**400),
    ],
)
def test_an_overflow_is_refused_by_type(overflow: object) -> None:
    """What leaves the floats, in arrays or in Python, is NotCertified with its cause."""
    with pytest.raises(NotCertified, match="not representable as a float") as refused:
        within_floats(overflow)()  # type: ignore[arg-type]

    assert isinstance(refused.value.__cause__, ArithmeticError)


def test_other_errors_and_answers_pass() -> None:
    """A mistake in our own code is not hidden as a refusal, and an underflow is none."""
    with pytest.raises(ZeroDivisionError):
        within_floats(lambda: 1 / 0)()

    assert within_floats(lambda: float(np.float64(1e-300) * 1e-300))() == 0.0
