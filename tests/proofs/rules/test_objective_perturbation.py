"""Minima of perturbed objectives: accepted with exactly what they state, refused else."""

from __future__ import annotations

import pytest

from dpproof.proofs import VerifiedUnder
from tests.proofs.support import Case, factor, pairs, said

OTHER = "not the one that follows"
LOGISTIC = {"norm": "3", "sigma": "2", "regulariser": "8"}
THIN = {"norm": "3", "sigma": "1"}
RULE = "mechanism/logistic-objective"
CHOICE = "mechanism/separator-perturbation"


FOLD = "mechanism/gaussian-separator"
PLACES = {"places": 4, "shift": 8, "sigma": "16"}
FOLDED = dict(factor("folded-gaussian", 4, mu_squared="1/4"))
MEAN = "mechanism/averaged-perturbation"
AVERAGED = {
    "coordinates": 2,
    "slope": "8",
    "reach": 32,
    "noise": "1600",
    "calls": 100,
    "box": 8,
    "share": "1/5",
    "scale": "320",
}
LONELY = {**AVERAGED, "coordinates": 1, "reach": 8, "share": "1/20", "scale": "80"}
LIFT = "mechanism/sphere-lift"
LIFTED = {"shift": 8, "length": 4, "scale": "32"}
BALL = "mechanism/logistic-objective-pure"
SPHERE = {"norm": "3", "scale": "6", "regulariser": "18"}
SMALL = {**LOGISTIC, "regulariser": "2"}


def floored(forward: str, backward: str = "0", relation: str = "add-remove") -> dict[str, object]:
    """Floored Gaussian pairs of mu^2 = 9/4."""
    kind, square = "floored-gaussian", "9/4"
    first, second = (factor(kind, mu_squared=square, floor=floor) for floor in (forward, backward))
    return dict(said("dominating-pair", forward=[first], backward=[second], relation=relation))


def choice(noise: str, scale: str, **more: object) -> dict[str, object]:
    """Noise on four places that hides shifts by eight units."""
    return {"noise": noise, "places": 4, "shift": 8, "scale": scale, **more}


def near(delta: str) -> dict[str, object]:
    """Return the statement (1/2, delta)-DP."""
    return dict(said("approx-dp", epsilon="1/2", delta=delta))


PURE = said("pure-dp", epsilon="1/2")


CASES = [
    Case(RULE, said("gdp", mu_squared="9/4"), witness=LOGISTIC),
    Case(RULE, said("gdp", mu_squared="9", relation="replace-one"), witness=LOGISTIC),
    Case(RULE, said("gdp", mu_squared="9/4", relation="zero-out"), witness=LOGISTIC),
    Case(RULE, said("gdp", mu_squared="9/4"), witness={**LOGISTIC, "regulariser": "3"}),
    Case(
        RULE, said("gdp", mu_squared="9/4"), witness={**LOGISTIC, "regulariser": "29/10"}, why=OTHER
    ),
    Case(RULE, said("gdp", mu_squared="9"), witness={**THIN, "regulariser": "3/2"}),
    Case(RULE, said("gdp", mu_squared="9"), witness={**THIN, "regulariser": "1"}, why=OTHER),
    Case(RULE, said("gdp", mu_squared="2"), witness=LOGISTIC, why=OTHER),
    Case(RULE, said("gdp", mu_squared="5/2"), witness=LOGISTIC, why=OTHER),
    Case(RULE, said("gdp", mu_squared="9/4", relation="replace-one"), witness=LOGISTIC, why=OTHER),
    Case(RULE, said("gdp", mu_squared="9/4"), witness=SMALL, why=OTHER),
    Case(BALL, said("pure-dp", epsilon="1/2"), witness=SPHERE),
    Case(BALL, said("pure-dp", epsilon="1", relation="replace-one"), witness=SPHERE),
    Case(BALL, said("pure-dp", epsilon="1", relation="replace-label"), witness=SPHERE),
    Case(BALL, said("pure-dp", epsilon="1/2", relation="replace-one"), witness=SPHERE, why=OTHER),
    Case(BALL, said("pure-dp", epsilon="2/5"), witness=SPHERE, why=OTHER),
    Case(
        BALL,
        said("pure-dp", epsilon="1/2"),
        witness={**SPHERE, "regulariser": "17"},
        why="norm times scale",
    ),
    Case(FOLD, pairs([FOLDED]), witness=PLACES),
    Case(FOLD, pairs([{**FOLDED, "count": 3}]), witness=PLACES, why=OTHER),
    Case(FOLD, pairs([FOLDED], []), witness=PLACES, why=OTHER),
    Case(FOLD, pairs([FOLDED]), witness={**PLACES, "sigma": "17"}, why=OTHER),
    Case(FOLD, PURE, witness=PLACES, why=OTHER),
    # floor 9 (1/4 - 1/8)
    Case(RULE, floored("27/8"), witness=SMALL),
    Case(RULE, floored("1"), witness=SMALL, why=OTHER),
    Case(RULE, floored("27/8", "27/8"), witness=SMALL, why=OTHER),
    Case(RULE, floored("27/8"), witness=LOGISTIC, why=OTHER),
    Case(RULE, floored("0", relation="replace-one"), witness=SMALL, why="at least 2 sigma^2"),
    Case(
        RULE,
        said("gdp", mu_squared="9/4"),
        [said("gdp", mu_squared="9/4")],
        LOGISTIC,
        "takes no premise",
    ),
    Case(RULE, said("gdp", mu_squared="9/4", steps=2), witness=LOGISTIC, why="one step apart"),
    Case(RULE, said("zcdp", rho="9/8"), witness=LOGISTIC, why=OTHER),
    Case(CHOICE, PURE, witness=choice("laplace", "64")),
    Case(CHOICE, PURE, witness=choice("laplace", "63"), why=OTHER),
    Case(CHOICE, PURE, witness=choice("linf", "16")),
    Case(CHOICE, PURE, witness=choice("linf", "64"), why=OTHER),
    Case(CHOICE, PURE, witness=choice("sphere", "32")),
    Case(CHOICE, PURE, witness=choice("sphere", "33")),
    Case(CHOICE, PURE, witness=choice("sphere", "319/10"), why=OTHER),
    Case(LIFT, PURE, witness=LIFTED),
    Case(LIFT, PURE, witness={**LIFTED, "scale": "33"}),
    Case(LIFT, PURE, witness={**LIFTED, "scale": "319/10"}, why=OTHER),
    Case(LIFT, PURE, witness={**LIFTED, "length": 5}, why=OTHER),
    Case(LIFT, PURE, witness={**LIFTED, "shift": "8"}, why="shift"),
    Case(LIFT, near("1/2"), witness=LIFTED, why="wants PureDP"),
    # p = .03982 at reach 2, kl(.2 || p) = .1770, 100 times that is 17.7 = log(4.9e7); 100 8 / 5
    Case(MEAN, near("1/10000000"), witness=AVERAGED),
    Case(MEAN, near("1/100000000"), witness=AVERAGED, why="log 1/delta"),
    Case(MEAN, near("0"), witness=AVERAGED, why="and a delta"),
    Case(MEAN, near("1/10000000"), witness={**AVERAGED, "reach": 16}, why="and a delta"),
    Case(MEAN, near("1/10000000"), witness={**AVERAGED, "share": "1/50"}, why="the mean share"),
    Case(MEAN, near("1/10000000"), witness={**AVERAGED, "scale": "319"}, why=OTHER),
    Case(MEAN, near("1/10000000"), witness={**AVERAGED, "share": "2"}, why=OTHER),
    Case(MEAN, near("0"), witness={**AVERAGED, "share": "1", "scale": "1600"}),
    Case(MEAN, PURE, witness=AVERAGED, why="wants ApproxDP"),
    # One coordinate: p = 1 - e^(-1/200) at reach 8, 100 kl(.05 || p) = log(1245.83)
    Case(MEAN, near("1/1245"), witness=LONELY),
    Case(MEAN, near("1/1246"), witness=LONELY, why="log 1/delta"),
    Case(MEAN, near("1/10"), witness={**LONELY, "reach": 7}, why="and a delta"),
    Case(MEAN, near("1/10"), witness={**LONELY, "coordinates": 2}, why="and a delta"),
    Case(CHOICE, PURE, witness=choice("gaussian", "64"), why="no noise is called"),
    Case(CHOICE, PURE, witness=choice("linf", "16", units=1), why="wants ApproxDP"),
    Case(CHOICE, said("bounded-range", epsilon="1/2"), witness=choice("linf", "16"), why="wants"),
    # (1 + e^(1/2)) 4 3/128 = .2483, (1 + e^(1/2)) 3 (1 + 1/4)/32 = .3104
    Case(CHOICE, near("249/1000"), witness=choice("laplace", "64", units=1)),
    Case(CHOICE, near("248/1000"), witness=choice("laplace", "64", units=1), why="delta"),
    Case(CHOICE, near("311/1000"), witness=choice("linf", "16", units=1)),
    Case(CHOICE, near("310/1000"), witness=choice("linf", "16", units=1), why="delta"),
    Case(CHOICE, near("1"), witness=choice("linf", "16", units=100)),
    Case(
        CHOICE,
        said("approx-dp", epsilon="8", delta="9/10"),
        witness=choice("linf", "1", units=0),
        why="no bound of near",
    ),
    # (1 + e^(1/2)) 4/(32 sqrt(21.98)) = .07063
    Case(CHOICE, near("707/10000"), witness=choice("sphere", "32", units=0)),
    Case(CHOICE, near("706/10000"), witness=choice("sphere", "32", units=0), why="delta"),
    Case(CHOICE, near("53/250"), witness=choice("sphere", "32", units=1)),
    Case(CHOICE, near("211/1000"), witness=choice("sphere", "32", units=1), why="delta"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_objective_perturbation(case: Case) -> None:
    """Each rule concludes its own statement and nothing else."""
    case.holds()


def test_every_minimum_has_noise_of_its_own() -> None:
    """The verdict asks for noise of each minimum and for one function for all datasets."""
    verdict = next(one for one in CASES if one.rule == MEAN and not one.why).verdict()

    assert isinstance(verdict, VerifiedUnder)
    assert "one k for each of the vectors" in verdict.assumptions[0]
    assert "independent of k and in every coordinate" in verdict.assumptions[0]
    assert "mass proportional to e^(-|x|/scale) at every whole number x" in verdict.assumptions[0]
    assert "mass proportional to e^(-x/scale) at x = 0, 1, 2, ..." in verdict.assumptions[0]
    logistic = next(one for one in CASES if "logistic" in one.rule and not one.why).verdict()
    assert isinstance(logistic, VerifiedUnder)
    assert "of L2 norm at most" in logistic.assumptions[0]


NOISES = [one for one in CASES if not one.why and one.rule in (CHOICE, FOLD, LIFT, BALL)]


@pytest.mark.parametrize("case", NOISES, ids=str)
def test_dependent_coordinates_are_drawn_together(case: Case) -> None:
    """Whoever draws each coordinate anew gets another law, but for a product of laws."""
    verdict = case.verdict()
    assert isinstance(verdict, VerifiedUnder)
    apart = case.rule == FOLD or case.witness.get("noise") == "laplace"

    assert ("independent in every coordinate" in verdict.assumptions[0]) is apart
    assert ("one vector, its coordinates drawn together" in verdict.assumptions[0]) is not apart


@pytest.mark.parametrize("case", [one for one in NOISES if one.rule in (CHOICE, FOLD)], ids=str)
def test_patterns_are_distinct(case: Case) -> None:
    """Two candidates of one pattern could be told apart by a tolerant minimiser at no noise."""
    verdict = case.verdict()
    assert isinstance(verdict, VerifiedUnder)

    assert "no two candidates of one pattern" in verdict.assumptions[0]
    if "units" in case.witness:
        assert (
            "misses the minimum of that sum, the noise in it, by at most" in verdict.assumptions[1]
        )
