"""Skellam noise: the finite pair has to be above the true shift, at every corner."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from dpproof.accountant.pairs.finite import FinitePair, skellam_pair
from dpproof.proofs import VerifiedUnder
from dpproof.proofs.certificate import show_rational
from tests.proofs.support import Case, Object, factor, gaussian, pairs, said

RULE = "mechanism/skellam"
GIVEN: Object = {"variance": "3", "units": 2, "norm": "L1"}
PAIR = skellam_pair(variance=Fraction(3), shift=2)
STEP = skellam_pair(variance=Fraction(3), shift=1)


def written(pair: FinitePair, count: int = 1) -> Object:
    """A finite pair in the certificate's JSON."""
    p, q = (list(map(show_rational, masses)) for masses in (pair.p, pair.q))
    return factor("finite", count, p=p, q=q)


def compared(pair: Object, changes: Object, why: str) -> Case:
    """One pair at the given variance, with changes."""
    return Case(RULE, pairs([pair]), witness={**GIVEN, **changes}, why=why)


def merged(place: int) -> FinitePair:
    """Two outcomes as one: a pair below."""

    def joined(masses: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        both = sum(masses[place : place + 2], Fraction(0))
        return (*masses[:place], both, *masses[place + 2 :])

    return FinitePair(p=joined(PAIR.p), q=joined(PAIR.q))


def early() -> FinitePair:
    """An infinite mass of a quarter, and a corner at a ratio beyond all others."""
    tiny = Fraction(1, 2**90)
    p = (Fraction(1, 4), Fraction(3, 4) - tiny, tiny, Fraction(0))
    return FinitePair(p=p, q=(Fraction(0), tiny, Fraction(1, 2), Fraction(1, 2) - tiny))


CASES = [
    *(
        compared(*row)
        for row in (
            (written(PAIR), {}, ""),
            (written(PAIR), {"variance": "4"}, ""),
            (written(PAIR), {"units": 1}, ""),
            (written(PAIR), {"variance": "29/10"}, "profile at"),
            (written(PAIR), {"units": 3}, "profile at"),
            (written(STEP), {}, "profile at"),
            (written(STEP, 2), {"norm": "L2"}, ""),
            (written(STEP), {"norm": "L2"}, "2 times"),
            (written(STEP, 2), {}, "1 times"),
            (written(STEP, 4), {"norm": "L2", "units": 4}, "at most 3"),
            (written(PAIR), {"norm": "linf"}, "norm L1"),
            (written(PAIR), {"variance": "2000000"}, "smaller"),
            (written(PAIR), {"units": 20000}, "smaller"),
            (written(merged(20)), {}, "profile at"),
            (written(merged(0)), {}, "profile at"),
            (written(merged(len(PAIR.p) - 2)), {}, "profile at"),
            (written(FinitePair(p=(Fraction(1),), q=(Fraction(1),))), {}, "profile at"),
            (written(early()), {}, ""),
        )
    ),
    Case(RULE, pairs([factor("laplace", epsilon="1")]), witness=GIVEN, why="one finite"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_pair_is_compared(case: Case) -> None:
    """Accepted at the noise it is made for and at more, refused with anything less."""
    case.holds()


SMOOTH_SENSITIVITY_RULE = "mechanism/smooth-sensitivity"
SMOOTH_SENSITIVITY_GIVEN = {"beta": "1/4", "scale": "2"}

SMOOTH_SENSITIVITY_CASES = [
    Case(SMOOTH_SENSITIVITY_RULE, said("pure-dp", epsilon="3/4"), witness=SMOOTH_SENSITIVITY_GIVEN),
    Case(
        SMOOTH_SENSITIVITY_RULE,
        said("pure-dp", epsilon="14899/20000"),
        witness=SMOOTH_SENSITIVITY_GIVEN,
    ),  # 0.74493...
    Case(
        SMOOTH_SENSITIVITY_RULE,
        said("pure-dp", epsilon="7449/10000"),
        witness=SMOOTH_SENSITIVITY_GIVEN,
        why="costs",
    ),
    Case(
        SMOOTH_SENSITIVITY_RULE,
        said("pure-dp", epsilon="1/4"),
        witness=SMOOTH_SENSITIVITY_GIVEN,
        why="costs",
    ),
    Case(
        SMOOTH_SENSITIVITY_RULE,
        said("pure-dp", epsilon="3/4"),
        witness={**SMOOTH_SENSITIVITY_GIVEN, "beta": "0"},
        why="above 0",
    ),
    Case(
        SMOOTH_SENSITIVITY_RULE,
        said("zcdp", rho="2"),
        witness=SMOOTH_SENSITIVITY_GIVEN,
        why="PureDP",
    ),
]


@pytest.mark.parametrize("case", SMOOTH_SENSITIVITY_CASES, ids=str)
def test_epsilon_is_compared(case: Case) -> None:
    """Accepted at the cost and above, refused below it."""
    case.holds()


PROPOSE_TEST_RELEASE_RULE = "mechanism/propose-test-release"
PROPOSE_TEST_RELEASE_GIVEN: Object = {
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
    return Case(
        PROPOSE_TEST_RELEASE_RULE,
        pairs(found),
        witness={**PROPOSE_TEST_RELEASE_GIVEN, **changes},
        why=why,
    )


PROPOSE_TEST_RELEASE_CASES = [
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


@pytest.mark.parametrize("case", PROPOSE_TEST_RELEASE_CASES, ids=str)
def test_pairs_and_margin_are_compared(case: Case) -> None:
    """Accepted for the pairs that follow and a margin that is enough."""
    case.holds()


def test_the_distance_has_noise_of_its_own() -> None:
    """The verdict asks for noise of the distance and for one function for all datasets."""
    verdict = PROPOSE_TEST_RELEASE_CASES[0].verdict()

    assert isinstance(verdict, VerifiedUnder)
    told = verdict.assumptions[0]
    assert re.search("independent Laplace noise of scale .* to a distance, a whole number", told)
    assert "its result is the noisy value if the noisy distance is above" in told


CORRELATED_GAUSSIAN_RULE = "mechanism/correlated-gaussian"
FACTOR = [["1", "0"], ["3/4", "1"]]
CORRELATED_GAUSSIAN_GIVEN: Object = {
    "factor": FACTOR,
    "sigmas": ["2", "1"],
    "differences": [["1", "1"], ["1", "-1"]],
    "radius": "0",
}
BALL: Object = {"differences": [], "radius": "1"}


def correlated_gaussian_stated(mu_squared: str, changes: Object, why: str = "") -> Case:
    """One statement of noise of covariance ((4, 3), (3, 13/4)), with changes."""
    return Case(
        CORRELATED_GAUSSIAN_RULE,
        said("gdp", mu_squared=mu_squared),
        witness={**CORRELATED_GAUSSIAN_GIVEN, **changes},
        why=why,
    )


CORRELATED_GAUSSIAN_CASES = [
    correlated_gaussian_stated("53/16", {}),  # (1, -7/4) over (2, 1)
    correlated_gaussian_stated("4", {}),
    correlated_gaussian_stated("33/10", {}, "difference"),
    correlated_gaussian_stated("53/16", {"differences": [["1", "1"]]}),
    correlated_gaussian_stated("1/4", {"differences": [["1", "1"]]}, "difference"),
    correlated_gaussian_stated("177/100", BALL),  # 1 over the smallest eigenvalue is 1.66206
    correlated_gaussian_stated("1663/1000", BALL),
    correlated_gaussian_stated("1661/1000", BALL, "some change"),
    correlated_gaussian_stated("1/100", BALL, "some change"),
    correlated_gaussian_stated("177/100", {**BALL, "radius": "2"}, "some change"),
    correlated_gaussian_stated("4", {"radius": "1"}, "either"),
    correlated_gaussian_stated("4", {"differences": []}, "either"),
    correlated_gaussian_stated("4", {**BALL, "radius": "-1"}, "either"),
    correlated_gaussian_stated("4", {"factor": [["1", "1"], ["0", "1"]]}, "triangular"),
    correlated_gaussian_stated("4", {"factor": [["2", "0"], ["0", "1"]]}, "triangular"),
    correlated_gaussian_stated("4", {"factor": [["1"]]}, "standard deviations"),
    correlated_gaussian_stated("4", {"factor": [["1", "0"], ["1"]]}, "one length"),
    correlated_gaussian_stated("4", {"factor": [["1", "0"], "1"]}, "factor must be a list"),
    correlated_gaussian_stated("4", {"sigmas": ["2", "0"]}, "standard deviations"),
    correlated_gaussian_stated("4", {"sigmas": []}, "standard deviations"),
    Case(
        CORRELATED_GAUSSIAN_RULE,
        said("zcdp", rho="2"),
        witness=CORRELATED_GAUSSIAN_GIVEN,
        why="GDP",
    ),
]


@pytest.mark.parametrize("case", CORRELATED_GAUSSIAN_CASES, ids=str)
def test_mu_is_compared(case: Case) -> None:
    """Accepted at the largest norm and above, refused below it and for odd matrices."""
    case.holds()
