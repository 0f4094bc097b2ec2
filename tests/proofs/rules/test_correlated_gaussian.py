"""Gaussian noise with a covariance: mu has to be the largest norm of a change, or more."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, said

RULE = "mechanism/correlated-gaussian"
FACTOR = [["1", "0"], ["3/4", "1"]]
GIVEN: Object = {
    "factor": FACTOR,
    "sigmas": ["2", "1"],
    "differences": [["1", "1"], ["1", "-1"]],
    "radius": "0",
}
BALL: Object = {"differences": [], "radius": "1"}


def stated(mu_squared: str, changes: Object, why: str = "") -> Case:
    """One statement of noise of covariance ((4, 3), (3, 13/4)), with changes."""
    return Case(RULE, said("gdp", mu_squared=mu_squared), witness={**GIVEN, **changes}, why=why)


CASES = [
    stated("53/16", {}),  # (1, -7/4) over (2, 1)
    stated("4", {}),
    stated("33/10", {}, "difference"),
    stated("53/16", {"differences": [["1", "1"]]}),
    stated("1/4", {"differences": [["1", "1"]]}, "difference"),
    stated("177/100", BALL),  # 1 over the smallest eigenvalue is 1.66206
    stated("1663/1000", BALL),
    stated("1661/1000", BALL, "some change"),
    stated("1/100", BALL, "some change"),
    stated("177/100", {**BALL, "radius": "2"}, "some change"),
    stated("4", {"radius": "1"}, "either"),
    stated("4", {"differences": []}, "either"),
    stated("4", {**BALL, "radius": "-1"}, "either"),
    stated("4", {"factor": [["1", "1"], ["0", "1"]]}, "triangular"),
    stated("4", {"factor": [["2", "0"], ["0", "1"]]}, "triangular"),
    stated("4", {"factor": [["1"]]}, "standard deviations"),
    stated("4", {"factor": [["1", "0"], ["1"]]}, "one length"),
    stated("4", {"factor": [["1", "0"], "1"]}, "list of rows"),
    stated("4", {"sigmas": ["2", "0"]}, "standard deviations"),
    stated("4", {"sigmas": []}, "standard deviations"),
    Case(RULE, said("zcdp", rho="2"), witness=GIVEN, why="GDP"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mu_is_compared(case: Case) -> None:
    """Accepted at the largest norm and above, refused below it and for odd matrices."""
    case.holds()
