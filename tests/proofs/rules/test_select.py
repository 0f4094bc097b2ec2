"""Private selection: closed forms, Renyi divergences, and mixtures of shifted profiles."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest

from tests.proofs.rules.builders import BASE, EDGE, FEW, GEOMETRIC, SOME, TILTED, TWO
from tests.proofs.support import Case, Object, gaussian, pairs, said

LOGARITHMIC: Object = {**GEOMETRIC, "eta": "0"}
POISSON: Object = {"kind": "poisson", "rate": "3"}
TRIALS: Object = {"kind": "binomial", "trials": 10, "probability": "1/2"}
ONE = said("pure-dp", epsilon="1")


def pure(epsilon: str, runs: Object, why: str = "", premise: Object = ONE) -> Case:
    """A selection from a 1-DP base."""
    said_of_it = said("pure-dp", epsilon=epsilon)
    return Case("select/pure", said_of_it, [premise], {"runs": runs}, why)


# 1 + 2 log((0.1 + e)/(1 + 0.1 e)) = 2.59134407..., 1 + log(...) = 1.79567203...,
# 1 + 3 tanh(1/2) = 2.38635147..., 1 + 9 log((1/2 + e/2)/(1/2 + ...)): test_closed_forms.
PURE = [
    pure("518269/200000", GEOMETRIC),
    pure("129567/50000", GEOMETRIC, "epsilon is at least"),
    pure("449/250", LOGARITHMIC),
    pure("359/200", LOGARITHMIC, "epsilon is at least"),
    pure("149147/62500", POISSON),
    pure("1193/500", POISSON, "epsilon is at least"),
    pure("759/200", TRIALS),
    pure("1897/500", TRIALS, "epsilon is at least"),
    pure("2001/1000", TWO),
    pure("1999/1000", TWO, "epsilon is at least"),
    pure("3/2", SOME, "known to be at the corner"),
    pure("9", {**TWO, "probability": "2"}, "at most 1"),
    pure("9", {**TWO, "trials": 0}, "whole number"),
    pure("9", {**GEOMETRIC, "eta": "-1"}, "eta above -1"),
    pure("9", {**GEOMETRIC, "gamma": "1"}, "gamma below 1"),
    pure("9", {**GEOMETRIC, "kind": "geometric"}, "no number of runs"),
    pure("9", {**GEOMETRIC, "rate": "1"}, "unknown fields"),
    pure("9", GEOMETRIC, "rule wants PureDP", said("approx-dp", epsilon="1", delta="0")),
    pure("9", GEOMETRIC, "different distance", {**ONE, "steps": 2}),
]


def curve(*points: tuple[str, str]) -> Object:
    """Renyi divergences."""
    return said("rdp", points=[list(point) for point in points])


def renyi(
    value: str, runs: Object, *hints: Object, why: str = "", premise: Object | None = None
) -> Case:
    """A selection's divergence at order 3, from 1/8-zCDP unless told otherwise."""
    base = premise or said("zcdp", rho="1/8")
    witness = {"runs": runs, "orders": list(hints)}
    return Case("select/rdp", curve(("3", value)), [base], witness, why)


SHAPE: Object = {"by": "shape", "order": "6"}
ALL: Object = {"by": "all"}
RATIO: Object = {"by": "ratio"}
RATE: Object = {"by": "rate", "order": "4"}
KNOWN = curve(("2", "1/4"), ("4", "1/2"), ("10", "5/4"))

# Numbers from test_bounds_of_renyi_divergences.
RENYI = [
    renyi("709/200", GEOMETRIC, SHAPE),
    renyi("177/50", GEOMETRIC, SHAPE, why="divergence at order 3 is at least"),
    renyi("1533/250", GEOMETRIC, {**SHAPE, "order": "1"}),
    renyi("9", GEOMETRIC, {**SHAPE, "order": "1/2"}, why="must be from 1"),
    renyi("1533/250", GEOMETRIC, RATIO),
    renyi("6131/1000", GEOMETRIC, RATIO, why="divergence at order 3"),
    renyi("84/25", LOGARITHMIC, RATIO),
    renyi("167/50", LOGARITHMIC, RATIO, why="divergence at order 3"),
    renyi("9", GEOMETRIC, ALL, why="every exponential moment"),
    renyi("9", GEOMETRIC, RATE, why="for Poisson runs"),
    renyi("9", POISSON, SHAPE, why="truncated negative binomial"),
    renyi("1347/1000", POISSON, RATE),
    renyi("673/500", POISSON, RATE, why="divergence at order 3"),
    renyi("9", POISSON, {**RATE, "order": "1"}, why="order above 1"),
    renyi("419/250", POISSON, ALL),
    renyi("67/40", POISSON, ALL, why="divergence at order 3"),
    renyi("3933/1000", POISSON, RATIO),
    renyi("751/1000", TWO, ALL),
    renyi("749/1000", TWO, ALL, why="divergence at order 3"),
    renyi("1000", TWO, RATIO, why="do not decide"),
    renyi("553/1000", SOME, ALL),
    renyi("69/125", SOME, ALL, why="divergence at order 3"),
    renyi("197/50", GEOMETRIC, SHAPE, premise=KNOWN),
    renyi("393/100", GEOMETRIC, SHAPE, premise=KNOWN, why="divergence at order 3"),
    renyi("9", GEOMETRIC, {**SHAPE, "order": "11"}, premise=KNOWN, why="lies above all"),
    renyi("9", GEOMETRIC, SHAPE, premise=ONE, why="zCDP or Renyi"),
    renyi("9", GEOMETRIC, SHAPE, SHAPE, why="one witness an order"),
    renyi("9", GEOMETRIC, {"by": "magic"}, why="no bound is called"),
    renyi("9", POISSON, {**ALL, "order": "2"}, why="unknown fields"),
    renyi("9", {**SOME, "probabilities": ["1"]}, ALL, why="from 1 to 1000"),
    renyi("9", {**SOME, "probabilities": ["1/2", "1/4"]}, ALL, why="sum to exactly 1"),
    renyi("9", {**SOME, "probabilities": ["3/2", "-1/2"]}, ALL, why="at or above 0"),
]


def polygon(*corners: tuple[str, str], tangents: list[Any]) -> Object:
    """Corners after a first cell on which nothing is claimed of tau."""
    return {
        "corners": [["0", "0"], ["1/100", "0"], *map(list, corners)],
        "tangents": [0, *tangents],
    }


LINE = polygon(("1", "73/100"), tangents=[3])
BENT = polygon(("73/100", "53/100"), ("4/5", "9/10"), ("1", "199/100"), tangents=[3, 1, 1])
FLAT: Object = {"corners": [["0", "1/4"], ["1", "1/4"]], "tangents": [0]}


def profile(
    points: list[list[str]],
    way: Object | None = None,
    why: str = "",
    *,
    premises: tuple[Object, ...] = (BASE, EDGE),
    **witness: Any,  # noqa: ANN401  # JSON is anything
) -> Case:
    """A selection from randomised response at 1, the best of two runs unless told otherwise."""
    hints = {"runs": TWO, "forward": way or LINE} | witness
    conclusion = said("privacy-profile", points=points)
    return Case("select/profile", conclusion, premises, hints, why)


FORTH, BACK = polygon(("1", "13/1000"), tangents=[5]), polygon(("1", "7/10"), tangents=[5])

# 2 tau(c) >= 2 c/e > 73/100 c, so slopes are 0 on a length of 1/50 and 0.3687 on the rest, and
# H is 0 from e on: delta is 1/50 at e^2.1 0.3687 > e, and about 0.012 more at epsilon = 1.995.
PROFILES = [
    profile([["21/10", "21/1000"]]),
    profile([["199/100", "1/20"], ["21/10", "21/1000"]]),
    profile([["199/100", "21/1000"]], why="delta at epsilon = 199/100 is at least"),
    profile([["199/100", "1/20"], ["21/10", "19/1000"]], why="delta at epsilon = 21/10"),
    profile([["21/10", "1"]], polygon(("1", "37/50"), tangents=[3]), "polygon less"),
    profile([["21/10", "1"]], polygon(("1", "73/100"), tangents=[2]), "polygon less"),
    profile([["21/10", "1"]], polygon(("1", "73/100"), tangents=[0]), "polygon less"),
    profile([["21/10", "1"]], polygon(("1", "73/100"), tangents=[4]), "place of a bound"),
    profile([["21/10", "1"]], polygon(("1", "73/100"), tangents=[-1]), "place of a bound"),
    profile([["21/10", "1"]], polygon(("1", "73/100"), tangents=[True]), "whole numbers"),
    profile([["21/10", "1"]], polygon(("1", "73/100"), tangents=[]), "place of a bound"),
    profile([["21/10", "1"]], polygon(("1", "73/100"), tangents=[3, 3]), "place of a bound"),
    profile([["21/10", "1"]], polygon(("9/10", "3/5"), tangents=[3]), "to mass 1"),
    profile([["21/10", "1"]], {**LINE, "corners": [["1/9", "0"], ["1", "1"]]}, "from mass 0"),
    profile([["21/10", "1"]], {**LINE, "corners": [["0", "-1"], ["1", "1"]]}, "not fall"),
    profile([["21/10", "1"]], polygon(("1/2", "1/3"), ("1", "1/4"), tangents=[3, 3]), "not fall"),
    profile([["21/10", "1"]], {**LINE, "more": []}, "unknown fields"),
    # The corner of randomised response: below it tau = c/e, above it 1 - e(1 - c).
    profile([["17/10", "1/3"]], BENT),
    profile([["17/10", "3/10"]], BENT, "delta at epsilon = 17/10"),
    profile(
        [["17/10", "1"]],
        polygon(("73/100", "53/100"), ("4/5", "1"), ("1", "199/100"), tangents=[3, 1, 1]),
        "polygon less its limit after 73/100",
    ),
    # Nothing known of tau, but phi' is at least phi'(0).
    profile([["3", "51/100"]], FLAT, runs=FEW),
    profile([["3", "49/100"]], FLAT, "delta at epsilon = 3", runs=FEW),
    profile([["0", "1"]], {**FLAT, "corners": [["0", "1/3"], ["1", "1/3"]]}, "less", runs=FEW),
    # Both directions of a sample, of which one has no loss above log 2.
    profile([["5", "4/5"]], FORTH, premises=TILTED, backward=BACK),
    profile([["5", "2/5"]], FORTH, "delta at epsilon = 5", premises=TILTED, backward=BACK),
    profile([["5", "4/5"]], BACK, "polygon less", premises=TILTED, backward=FORTH),
    profile([["5", "4/5"]], FORTH, "has no backward", premises=TILTED),
    profile([["21/10", "1"]], why="unknown fields", backward=LINE),
    profile([["21/10", "1"]], why="takes bounds of the profile", premises=(BASE,)),
    profile([["21/10", "1"]], why="takes pairs and hockey-stick", premises=(EDGE,)),
    profile([["21/10", "1"]], why="each once", premises=(pairs([gaussian("1")]), EDGE)),
    profile([["21/10", "1"]], why="each once", premises=(BASE, EDGE, EDGE)),
    profile([["21/10", "1"]], why="takes pairs and", premises=(BASE, EDGE, BASE)),
    profile([["21/10", "1"]], why="takes pairs and", premises=({**BASE, "steps": 2}, EDGE)),
    profile([["21/10", "21/1000"]], runs={**TWO, "trials": 3}, why="polygon less"),
]


@pytest.mark.parametrize("case", [*PURE, *RENYI, *PROFILES], ids=str)
def test_select(case: Case) -> None:
    """Every bound is refused as soon as it is below what the theorem says."""
    case.holds()


def test_closed_forms() -> None:
    """The numbers of the table, to 30 digits, from the laws' masses rather than from phi'."""
    with mpmath.workdps(30):
        z = mpmath.e / (1 + mpmath.e)

        def excess(mass: Any) -> Any:  # noqa: ANN401  # mpmath has no types
            def slope(x: Any) -> Any:  # noqa: ANN401
                return mpmath.nsum(lambda k: k * mass(k) * x ** (k - 1), [1, mpmath.inf])

            return mpmath.log(slope(z) / slope(1 - z))

        tenth, three = mpmath.mpf(1) / 10, mpmath.mpf(3)
        assert abs(1 + excess(lambda k: tenth * (1 - tenth) ** (k - 1)) - 2.591344078319) < 1e-11
        logarithmic = excess(lambda k: (1 - tenth) ** k / (-k * mpmath.log(tenth)))
        assert abs(1 + logarithmic - 1.795672039160) < 1e-11
        poisson = excess(lambda k: mpmath.exp(-three) * three**k / mpmath.factorial(k))
        assert abs(1 + poisson - 2.386351471780) < 1e-11
        trials = excess(lambda k: mpmath.binomial(10, k) / 2**10 if k <= 10 else mpmath.mpf(0))
        assert abs(1 + trials - 3.794950811136) < 1e-11


def test_bounds_of_renyi_divergences() -> None:
    """The numbers of the table, written out."""
    log, exp, rho, a = mpmath.log, mpmath.exp, mpmath.mpf(1) / 8, 3
    r = rho * a
    assert abs(r + 2 * (mpmath.mpf(5) / 6 * rho * 6 + log(10) / 6) + log(10) / 2 - 3.5438209) < 1e-6
    assert abs(r + log(100) + log(10) / 2 - 6.1314627) < 1e-6
    mean = mpmath.mpf(9) / log(10)
    assert abs(r + log(10) + log(mean) / 2 - 3.35919) < 1e-4
    delta = exp(3 * (rho * 4 - log(mpmath.mpf(3) / 2))) * (mpmath.mpf(3) / 4) ** 4 / 3
    assert abs(log(exp(-3) + 3 * exp(2 * (r + 3 * delta))) / 2 - 1.3461532) < 1e-6
    assert abs(3 * (exp(2 * r) - 1) / 2 - 1.6755000) < 1e-6
    assert abs(log(0.25 + 0.25 * exp(2 * r) + 0.5 * exp(4 * r)) / 2 - 0.5526441) < 1e-6
    assert abs(r + 3 + log(3 + exp(-3)) / 2 - 3.9325359) < 1e-6
