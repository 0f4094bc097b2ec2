"""The pairs that dominate every mechanism of a notion."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.rule import Application, Budget
from dpproof.proofs.logic.statement import LANGUAGE
from dpproof.proofs.rules import compose
from tests.proofs.rules.builders import finite, response
from tests.proofs.support import Case, factor, gaussian, pairs, said

OTHER = "not the one that follows"


def shares(count: int) -> list[str]:
    """Masses that sum to 1, with as many different long denominators as asked for."""
    tenth, small = Fraction(1, 10), [Fraction(1, 10**540 + k) for k in range(count)]
    rest = [tenth] * (10 - count)
    return [str(one) for one in (*small, *(tenth - one for one in small), *rest)]


APPROX = said("approx-dp", epsilon="1", delta="1/8")
TOLD = said("approx-dp", epsilon="0", delta="1/8")
LAX = said("privacy-profile", points=[["0", "0"]])
PROFILE = said("privacy-profile", points=[["0", "1/2"], ["1", "1/8"]])
CURVE = said("trade-off", points=[["0", "7/8"], ["1/4", "1/4"], ["7/8", "0"]])
WALK = finite(["1/8", "5/8", "1/4", "0"], ["0", "1/4", "5/8", "1/8"])

CASES = [
    Case(
        "dominate/metric-dp",
        pairs([factor("laplace", epsilon="1")]),
        [said("metric-dp", epsilon="1")],
    ),
    Case("dominate/metric-dp", pairs([]), [said("metric-dp", epsilon="0")]),
    Case(
        "dominate/metric-dp",
        pairs([factor("laplace", epsilon="1/2")]),
        [said("metric-dp", epsilon="1")],
        why=OTHER,
    ),
    Case(
        "dominate/metric-dp",
        pairs([factor("laplace", epsilon="1")]),
        [said("pure-dp", epsilon="1")],
        why="wants MetricDP",
    ),
    Case("dominate/approx-dp", pairs([response("1", "1/9")]), [APPROX], why=OTHER),
    Case(
        "dominate/bounded-range",
        pairs([response("1")]),
        [said("bounded-range", epsilon="1")],
        why=OTHER,
    ),
    Case("dominate/trade-off", pairs([WALK]), [PROFILE], why="wants TradeOff"),
    Case("dominate/trade-off", pairs([WALK], []), [CURVE], why=OTHER),
    Case("dominate/gdp", pairs([gaussian("1/4")]), [said("gdp", mu_squared="1/4")]),
    Case("dominate/gdp", pairs([]), [said("gdp", mu_squared="0")]),
    Case("dominate/gdp", pairs([gaussian("1/5")]), [said("gdp", mu_squared="1/4")], why=OTHER),
    Case("dominate/gdp", pairs([gaussian("1/4")], []), [said("gdp", mu_squared="1/4")], why=OTHER),
    Case("dominate/gdp", pairs([gaussian("1/4")]), [said("pure-dp", epsilon="1")], why="wants GDP"),
    Case("dominate/pure-dp", pairs([response("1")]), [said("pure-dp", epsilon="1")]),
    Case("dominate/pure-dp", pairs([]), [said("pure-dp", epsilon="0")]),
    Case(
        "dominate/pure-dp",
        pairs([response("1", categories=3)]),
        [said("pure-dp", epsilon="1")],
        why=OTHER,
    ),
    Case("dominate/pure-dp", pairs([]), [said("pure-dp", epsilon="1")], why=OTHER),
    Case("dominate/approx-dp", pairs([response("1", "1/8")]), [APPROX]),
    Case("dominate/approx-dp", pairs([response("1")]), [APPROX], why=OTHER),
    Case("dominate/approx-dp", pairs([finite(["1/8", "7/8", "0"], ["0", "7/8", "1/8"])]), [TOLD]),
    Case("dominate/approx-dp", pairs([]), [said("approx-dp", epsilon="0", delta="0")]),
    Case("dominate/approx-dp", pairs([]), [TOLD], why=OTHER),
    Case(
        "dominate/bounded-range",
        pairs([factor("logistic", epsilon="1")]),
        [said("bounded-range", epsilon="1")],
    ),
    Case("dominate/bounded-range", pairs([]), [said("bounded-range", epsilon="0")]),
    Case(
        "dominate/bounded-range",
        pairs([factor("logistic", epsilon="1/2")]),
        [said("bounded-range", epsilon="1")],
        why=OTHER,
    ),
    Case("dominate/privacy-profile", pairs([finite(["1"], ["1"])]), [PROFILE], why="not above"),
    Case("dominate/privacy-profile", pairs([finite(["1", "0"], ["0", "1"])]), [PROFILE]),
    Case("dominate/privacy-profile", pairs([finite(shares(3), shares(3)[::-1])]), [LAX]),
    Case(
        "dominate/privacy-profile",
        pairs([finite(shares(10), shares(10)[::-1])]),
        [LAX],
        why="common denominator",
    ),
    Case(
        "dominate/privacy-profile",
        pairs([finite(["1", "0"], ["0", "1"], 2)]),
        [PROFILE],
        why="one finite pair",
    ),
    Case("dominate/privacy-profile", pairs([gaussian("1")]), [PROFILE], why="one finite pair"),
    Case("dominate/privacy-profile", pairs([]), [PROFILE], why="one pair"),
    Case("dominate/trade-off", pairs([WALK]), [CURVE]),
    Case("dominate/trade-off", pairs([finite(["1"], ["1"])]), [CURVE], why=OTHER),
    Case(
        "dominate/trade-off",
        pairs([finite(["1"], ["1"])]),
        [said("trade-off", points=[["0", "1"], ["1", "0"]])],
    ),
    Case(
        "dominate/trade-off",
        pairs([finite(["1", "0"], ["0", "1"])]),
        [said("trade-off", points=[["0", "0"]])],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_domination(case: Case) -> None:
    """Every notion has its pair, and no smaller one is accepted."""
    case.holds()


def test_profile_to_finite_pair() -> None:
    """The rule accepts hulls that exact rationals make of a profile, and refuses smaller ones."""
    # One point (1, 0): with t = 3 > e, the pair of losses log 3, -log 3 is above it.
    point = said("privacy-profile", points=[["1", "0"]])
    good = pairs([finite(["3/4", "1/4"], ["1/4", "3/4"])])
    # losses +-log 2 < 1: its profile is 0 from t = 2 on, where the point says nothing.
    small = pairs([finite(["2/3", "1/3"], ["1/3", "2/3"])])
    lopsided = pairs([finite(["3/4", "1/4"], ["1/4", "3/4"])], [finite(["1"], ["1"])])

    Case("dominate/privacy-profile", good, [point]).holds()
    Case("dominate/privacy-profile", small, [point], why="not above").holds()
    Case("dominate/privacy-profile", lopsided, [point], why="same in both").holds()


def test_corners_are_work() -> None:
    """Pairs of many outcomes above one profile are more work than a certificate may cause."""
    many = finite(*(["1/100"] * 100,) * 2)
    statements = [LANGUAGE.statement(one) for one in (pairs([many]), PROFILE)]
    step = Application(
        conclusion=statements[0],
        premises=(statements[1],),
        witness=Fields({}, "the witness"),
        mechanisms=("M1",),
        budget=Budget(6_000),
    )

    with pytest.raises(RefusedError, match="more work"):
        compose.privacy_profile(step)


def test_the_least_delta_up_to_each_epsilon() -> None:
    """A profile falls: a later point says no more than an earlier one with less delta."""
    points = tuple((Fraction(x), Fraction(y, 10)) for x, y in ((0, 5), (1, 2), (2, 3), (3, 1)))
    expected = tuple((Fraction(x), Fraction(y, 10)) for x, y in ((0, 5), (1, 2), (2, 2), (3, 1)))
    assert compose.lowest(points) == expected
