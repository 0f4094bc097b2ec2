"""Plans of surveys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.accountant.relation import ReplaceOne
from dpproof.mechanisms import RandomizedResponse, UnaryEncoding, plan_survey

PEOPLE, WANTED = 1000, 0.02


@pytest.mark.parametrize("frequency", [None, 0, 0.25])
def test_plans_meet_the_error_and_no_smaller_epsilon_does(frequency: float | None) -> None:
    """Options are in the order of epsilon; a thousandth less of it misses the error."""
    options = plan_survey(categories=20, people=PEOPLE, error=WANTED, frequency=frequency)
    assert [option.epsilon for option in options] == sorted(option.epsilon for option in options)
    for option in options:
        assert option.error <= WANTED
        kind: Any = type(option.mechanism)
        less = kind(epsilon=0.999 * option.epsilon, categories=20, relation=ReplaceOne())
        truly, falsely = less.chances
        shares = [0, 1] if frequency is None else [frequency]
        half = max(
            1.96
            * float(share * truly * (1 - truly) + (1 - share) * falsely * (1 - falsely)) ** 0.5
            / float(truly - falsely)
            for share in shares
        )
        assert half / PEOPLE**0.5 > WANTED * 0.9999


def test_the_planned_error_is_met_in_a_survey() -> None:
    """The interval of normal size of a rare category is as wide as planned, within its noise."""
    plans = plan_survey(categories=3, people=PEOPLE, error=0.05, frequency=0)
    best = next(one.mechanism for one in plans if isinstance(one.mechanism, RandomizedResponse))
    rng = np.random.default_rng(2)
    reports = np.concatenate([best.release_many(k, 500, rng=rng) for k in (0, 1)])
    half = 1.96 * best.frequencies(reports).standard_error[2]
    assert half == pytest.approx(0.05, rel=0.1)


def test_what_the_worst_frequency_excludes() -> None:
    """Unary encoding keeps its noise for a category that everybody has, at any epsilon."""
    options = plan_survey(categories=4, people=PEOPLE, error=WANTED)
    assert not any(isinstance(option.mechanism, UnaryEncoding) for option in options)
    assert all(option.mechanism.relation == ReplaceOne() for option in options)
    assert "RandomizedResponse" in options[0]._repr_html_()


def test_refuses_what_cannot_be() -> None:
    """An error that no epsilon gives, and numbers outside their domain."""
    with pytest.raises(CalibrationError, match="1 people"):
        plan_survey(categories=2**20, people=1, error=1e-7)
    for people, error in ((0, 0.1), (10, 0), (10, 1)):
        with pytest.raises(ParameterError):
            plan_survey(categories=3, people=people, error=error)
    with pytest.raises(ParameterError, match="confidence"):
        plan_survey(categories=3, people=10, error=0.1, confidence=1 - 2**-53)
