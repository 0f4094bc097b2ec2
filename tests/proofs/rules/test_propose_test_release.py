"""Propose-test-release: three pairs, and a margin that is large enough for delta."""

from __future__ import annotations

import pytest

from dpproof.proofs import VerifiedUnder
from tests.proofs.support import Case, Object, factor, gaussian, pairs

RULE = "mechanism/propose-test-release"
GIVEN: Object = {
    "noise": "gaussian",
    "scale": "4",
    "sensitivity": "2",
    "epsilon": "1/2",
    "delta": "1/8",
    "margin": "7/5",
}
LAPLACE = {"noise": "laplace"}
TEST = factor("laplace", epsilon="1/2")
MISSED = factor("finite", p=["1/8", "7/8", "0"], q=["0", "7/8", "1/8"])


def stated(found: list[Object], changes: Object, why: str = "") -> Case:
    """Some pairs in both directions."""
    return Case(RULE, pairs(found), witness={**GIVEN, **changes}, why=why)


CASES = [
    stated([gaussian("1/4"), TEST, MISSED], {}),
    stated([factor("laplace", 2, epsilon="1/2"), MISSED], LAPLACE),
    stated([gaussian("1/4"), TEST, MISSED], {"margin": "6/5"}, "probability to pass"),
    stated([gaussian("1/4"), TEST], {}, "not the one"),
    stated([gaussian("1/5"), TEST, MISSED], {}, "not the one"),
    stated([gaussian("1/4"), factor("laplace", epsilon="1/4"), MISSED], {}, "not the one"),
    stated([gaussian("1/4"), TEST, MISSED], {"noise": "uniform"}, "gaussian and laplace"),
    stated([gaussian("1/4"), TEST, MISSED], {"margin": "-1"}, "margin"),
    stated([gaussian("1/4"), TEST, MISSED], {"delta": "1/9"}, "not the one"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pairs_and_margin_are_compared(case: Case) -> None:
    """Accepted for the pairs that follow and a margin that is enough."""
    case.holds()


def test_the_distance_has_noise_of_its_own() -> None:
    """The verdict asks for noise of the distance and for one function for all datasets."""
    verdict = CASES[0].verdict()

    assert isinstance(verdict, VerifiedUnder)
    assert (
        "drawn anew and independent of the data and of all other noise, to a distance"
        in verdict.assumptions[0]
    )
    assert (
        "a function of the sum alone that is the same for all datasets if the"
        in verdict.assumptions[0]
    )
