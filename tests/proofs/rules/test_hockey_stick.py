"""Upper bounds of hockey-stick divergences, against closed forms and enumeration."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.proofs import Rejected, Step, check
from tests.proofs.rules.builders import GAUSS, GAUSS_TEN, MANY, ONE, RESPONSES, near, response_delta
from tests.proofs.support import Case, Object, certificate, fact, factor, gaussian

LAPLACE = factor("laplace", epsilon="1")
HALF, ZERO = Fraction(1, 2), Fraction(0)
LOW = {"c": "1/2", "step": "1/16", "nodes": 60, "tau": "0", "factors": [None]}
LINE = {"c": "2", "step": "1/4", "nodes": 40, "tau": "0", "factors": [None]}
FOLD = {"c": "1", "span": "1", "nodes": 20, "factors": [None]}
RULE = {"shift": "1", "step": "1/8", "left": 80, "right": 100}
SAMPLED = factor("subsampled-gaussian", 100, mu_squared="1", sampling_rate="1/10", removal=True)
QUADRATURE = {"nodes": RULE, "tail": RULE}


CLOSED = [
    Case("hockey-stick/closed", fact([ONE], "1", near(GAUSS, "1/100000000"))),
    Case("hockey-stick/closed", fact([ONE], "1", near(GAUSS, "-1/100000000")), why="is at least"),
    Case("hockey-stick/closed", fact([gaussian("1/2", 2)], "1", near(GAUSS, "1/100000000"))),
    Case(
        "hockey-stick/closed",
        fact([gaussian("1/2"), gaussian("1/4", 2)], "1", near(GAUSS, "1/100000000")),
    ),
    Case("hockey-stick/closed", fact([], "0", "0")),
    # 1 - e^{-1/4} = 0.2211992169285951
    Case(
        "hockey-stick/closed", fact([LAPLACE], "1/2", "2211992170/10000000000"), why="lowest terms"
    ),
    Case("hockey-stick/closed", fact([LAPLACE], "1/2", "221199217/1000000000")),
    Case("hockey-stick/closed", fact([LAPLACE], "1/2", "221199216/1000000000"), why="lowest"),
    Case("hockey-stick/closed", fact([LAPLACE], "1/2", "22119921/100000000"), why="is at least"),
    Case("hockey-stick/closed", fact([LAPLACE], "1", "0")),
    Case("hockey-stick/closed", fact([LAPLACE, ONE], "1", "1"), why="one pair, once"),
    Case("hockey-stick/closed", fact([gaussian("1"), LAPLACE], "1", "1"), why="few bounded ones"),
    Case("hockey-stick/closed", fact([{**LAPLACE, "count": 101}], "1", "1"), why="few bounded"),
    Case(
        "hockey-stick/closed",
        fact([{**RESPONSES, "count": 2}], "0", near(response_delta(2, HALF, ZERO), "1/100000000")),
    ),
    Case(
        "hockey-stick/closed",
        fact([{**RESPONSES, "count": 2}], "0", near(response_delta(2, HALF, ZERO), "-1/100000000")),
        why="is at least",
    ),
    # (1 - e^{-1})/(1 + e^{-1}) = 0.46211715726...
    Case(
        "hockey-stick/closed",
        fact([factor("discrete-laplace", scale="1", shift=1)], "0", "46211717/100000000"),
    ),
    Case(
        "hockey-stick/closed",
        fact([factor("discrete-laplace", scale="1", shift=1)], "0", "46211713/100000000"),
        why="is at least",
    ),
    Case(
        "hockey-stick/closed",
        fact([factor("discrete-laplace", scale="1", shift=1001)], "0", "1/2"),
        why="no profile in closed form",
    ),
    Case(
        "hockey-stick/closed", fact([factor("discrete-laplace", scale="1", shift=1001)], "0", "1")
    ),
    Case(
        "hockey-stick/closed",
        fact([factor("discrete-gaussian", sigma_squared="9999", shift=1)], "1", "1/2"),
        why="no profile in closed form",
    ),
    # (sqrt(e) - 1)^2 / (e - 1) = 0.24491866240...
    Case("hockey-stick/closed", fact([factor("logistic", epsilon="1")], "0", "2449187/10000000")),
    Case(
        "hockey-stick/closed",
        fact([factor("logistic", epsilon="1")], "0", "2449186/10000000"),
        why="lowest",
    ),
    Case(
        "hockey-stick/closed",
        fact([factor("logistic", epsilon="1")], "0", "244918/1000000"),
        why="lowest",
    ),
    Case(
        "hockey-stick/closed",
        fact([factor("logistic", epsilon="1")], "0", "24491/100000"),
        why="is at least",
    ),
    Case("hockey-stick/closed", fact([factor("logistic", epsilon="1")], "1", "0")),
    Case(
        "hockey-stick/closed",
        fact([factor("finite", p=["1/2", "1/4", "1/4"], q=["1/4", "3/4", "0"])], "0", "1/2"),
    ),
    Case(
        "hockey-stick/closed",
        fact([factor("finite", p=["1/2", "1/4", "1/4"], q=["1/4", "3/4", "0"])], "1", "1/4"),
    ),
    Case(
        "hockey-stick/closed",
        fact([factor("finite", p=["1/2", "1/4", "1/4"], q=["1/4", "3/4", "0"])], "1", "1/5"),
        why="is at least",
    ),
    Case("hockey-stick/closed", fact([{**RESPONSES, "count": 1}], "1/2", "0")),
    # e^{1/2}/(1 + e^{1/2}) - 1/(1 + e^{1/2}) = tanh(1/4) = 0.24491866...
    Case("hockey-stick/closed", fact([{**RESPONSES, "count": 1}], "0", "2449187/10000000")),
    Case(
        "hockey-stick/closed",
        fact([{**RESPONSES, "count": 1}], "0", "24491/100000"),
        why="is at least",
    ),
]

FINITE = factor("finite", p=["1/2", "1/4", "1/4"], q=["1/4", "3/4", "0"])
TOLD = factor("randomized-response", 2, epsilon="1/2", categories=2, infinite="1/10")
MANY_TOLD = factor(  # more bits than an exact product of their masses may have
    "randomized-response", 1000, epsilon="1/2", categories=2, infinite="1/1000000"
)
ADDED = factor("subsampled-gaussian", 2, mu_squared="1", sampling_rate="1/2", removal=False)
BOUNDED = [
    Case("hockey-stick/bounded", fact([FINITE], "1", "1/5"), why="divergence is at least"),
    Case("hockey-stick/bounded", fact([RESPONSES], "10", "0")),
    Case("hockey-stick/bounded", fact([RESPONSES], "9", "0"), why="the largest loss is"),
    Case("hockey-stick/bounded", fact([LAPLACE, RESPONSES], "11", "0")),
    Case("hockey-stick/bounded", fact([TOLD], "1", "1/5")),
    Case("hockey-stick/bounded", fact([TOLD], "1", "9/50"), why="divergence is at least"),
    Case("hockey-stick/bounded", fact([MANY_TOLD], "500", "1/1000")),
    Case("hockey-stick/bounded", fact([MANY_TOLD], "500", "999/1000000"), why="divergence is at"),
    Case("hockey-stick/bounded", fact([FINITE], "1", "1/4")),
    Case("hockey-stick/bounded", fact([FINITE], "1/2", "1/4"), why="the largest loss is"),
    Case("hockey-stick/bounded", fact([factor("logistic", epsilon="1")], "1", "0")),
    Case(
        "hockey-stick/bounded", fact([factor("discrete-laplace", scale="2", shift=3)], "3/2", "0")
    ),
    # 2 log 2 = 1.386...
    Case("hockey-stick/bounded", fact([ADDED], "7/5", "0")),
    Case("hockey-stick/bounded", fact([ADDED], "13/10", "0"), why="the largest loss is"),
    Case("hockey-stick/bounded", fact([SAMPLED], "99", "0"), why="no bound"),
    Case("hockey-stick/bounded", fact([ONE], "99", "0"), why="no bound"),
    Case("hockey-stick/bounded", fact([factor("finite", p=["1", "0"], q=["0", "1"])], "0", "1")),
    Case(
        "hockey-stick/bounded",
        fact([factor("discrete-gaussian", sigma_squared="1", shift=1)], "99", "0"),
        why="no bound",
    ),
]

SUMS = [
    Case("hockey-stick/contour", fact([ONE], "1", near(GAUSS, "1/100000")), (), LINE),
    Case(
        "hockey-stick/contour", fact([ONE], "1", near(GAUSS, "-1/100000")), (), LINE, "is at least"
    ),
    Case(
        "hockey-stick/contour", fact([gaussian("1", 10)], "3", near(GAUSS_TEN, "1/1000")), (), LOW
    ),
    Case(
        "hockey-stick/contour", fact([gaussian("1", 9)], "3", near(GAUSS_TEN, "-1/1000")), (), LOW
    ),
    Case(
        "hockey-stick/contour",
        fact([gaussian("1", 11)], "3", near(GAUSS_TEN, "1/1000")),
        (),
        LOW,
        "is at least",
    ),
    Case(
        "hockey-stick/contour",
        fact([ONE], "1", near(GAUSS, "1/100000")),
        (),
        {**LINE, "nodes": 2},
        "is at least",
    ),
    Case(
        "hockey-stick/contour",
        fact([ONE], "1", near(GAUSS, "1/100000")),
        (),
        {**LINE, "step": "4"},
        "is at least",
    ),
    Case(
        "hockey-stick/contour", fact([ONE], "1", near(GAUSS, "1/100")), (), {**LINE, "tau": "1/100"}
    ),
    Case(
        "hockey-stick/contour",
        fact([ONE], "1", near(GAUSS, "1/100000")),
        (),
        {**LINE, "tau": "1/10"},
        "is at least",
    ),
    Case("hockey-stick/contour", fact([ONE], "1", "1"), (), {**LINE, "c": "0"}, "above 0"),
    Case("hockey-stick/contour", fact([ONE], "1", "1"), (), {**LINE, "c": "-2"}, "above 0"),
    Case(
        "hockey-stick/contour", fact([ONE], "1", "1"), (), {**LINE, "nodes": 10**7}, "nodes must be"
    ),
    Case(
        "hockey-stick/contour",
        fact([ONE], "1", "1"),
        (),
        {**LINE, "factors": []},
        "one witness for each",
    ),
    Case("hockey-stick/contour", fact([], "1", "1"), (), {**LINE, "factors": []}, "not empty"),
    Case("hockey-stick/contour", fact([LAPLACE], "1/2", "2215/10000"), (), LINE, "lowest"),
    # Smoothed by tau: 1 - e^{-1/4} = 0.22119921...
    Case(
        "hockey-stick/contour",
        fact([LAPLACE], "1/2", "443/2000"),
        (),
        {**LINE, "nodes": 2500, "tau": "1/100"},
    ),
    Case(
        "hockey-stick/contour",
        fact([LAPLACE], "1/2", "2211/10000"),
        (),
        {**LINE, "nodes": 2500, "tau": "1/100"},
        "is at least",
    ),
    Case("hockey-stick/lattice", fact([RESPONSES], "2", near(MANY, "1/100000000")), (), FOLD),
    Case(
        "hockey-stick/lattice",
        fact([RESPONSES], "2", near(MANY, "-1/100000000")),
        (),
        FOLD,
        "is at least",
    ),
    Case(
        "hockey-stick/lattice",
        fact([{**RESPONSES, "count": 21}], "2", near(MANY, "1/1000")),
        (),
        FOLD,
        "is at least",
    ),
    Case(
        "hockey-stick/lattice",
        fact([RESPONSES], "2", near(MANY, "1/100000000")),
        (),
        {**FOLD, "span": "1/2", "nodes": 40},
    ),
    Case(
        "hockey-stick/lattice",
        fact([RESPONSES], "2", "1"),
        (),
        {**FOLD, "span": "2"},
        "no multiples of the span",
    ),
    Case(
        "hockey-stick/lattice",
        fact([RESPONSES], "2", near(MANY, "1/100000000")),
        (),
        {**FOLD, "nodes": 2},
        "is at least",
    ),
    # At the largest loss only the outcomes that tell are left: 1 - (9/10)^2.
    Case("hockey-stick/lattice", fact([TOLD], "1", "191/1000"), (), FOLD),
    Case("hockey-stick/lattice", fact([TOLD], "1", "189/1000"), (), FOLD, "is at least"),
    Case("hockey-stick/lattice", fact([LAPLACE], "2", "1"), (), FOLD, "on no lattice"),
    Case("hockey-stick/chernoff", fact([ONE], "3", "1/10"), (), {"c": "2", "factors": [None]}),
    Case(
        "hockey-stick/chernoff",
        fact([ONE], "3", "1/1000"),
        (),
        {"c": "2", "factors": [None]},
        "is at least",
    ),
    Case(
        "hockey-stick/chernoff",
        fact([ONE], "3", "1/10"),
        (),
        {"c": "2", "factors": []},
        "one witness for each",
    ),
]


def _quadrature(**changes: object) -> Object:
    line = {**RULE, **changes}
    return {**LINE, "c": "3/2", "nodes": 60, "factors": [{"nodes": line, "tail": RULE}]}


# At a small rate the binomial bound of a moment alone shows that this rule misses little.
RARE = factor("subsampled-gaussian", 10, mu_squared="1", sampling_rate="1/1000", removal=True)
ADDED = factor("subsampled-gaussian", 10, mu_squared="1", sampling_rate="1/1000", removal=False)
OFTEN = {**SAMPLED, "count": 1}
SHORT = {"shift": "3/2", "step": "1/4", "left": 34, "right": 50}
MOST = "374333/50000000"


def _rare(*more: object, c: str = "13/2", **changes: object) -> Object:
    return {"c": c, "factors": [{"nodes": {**SHORT, **changes}, "tail": SHORT}, *more]}


MANY_TAILS = {**LINE, "nodes": 1, "factors": [{"nodes": RULE, "tail": {**RULE, "left": 10**7}}]}
SAMPLING = [
    Case("hockey-stick/contour", fact([SAMPLED], "4", "1/250"), (), MANY_TAILS, "whole number"),
    Case("hockey-stick/contour", fact([SAMPLED], "4", "1/250"), (), _quadrature()),
    Case("hockey-stick/contour", fact([SAMPLED], "4", "399/100000"), (), _quadrature(), "at least"),
    Case(
        "hockey-stick/contour",
        fact([SAMPLED], "4", "1/250"),
        (),
        _quadrature(shift="2"),
        "at most 3",
    ),
    Case(
        "hockey-stick/contour",
        fact([SAMPLED], "4", "1/250"),
        (),
        _quadrature(right=19),
        "must reach",
    ),
    Case(
        "hockey-stick/contour",
        fact([SAMPLED], "4", "1/250"),
        (),
        _quadrature(left=8),
        "do not decide",
    ),
    Case(
        "hockey-stick/contour",
        fact([SAMPLED], "4", "1/250"),
        (),
        _quadrature(step="1/2"),
        "do not decide",
    ),
    Case(
        "hockey-stick/contour",
        fact([SAMPLED], "4", "1/250"),
        (),
        _quadrature(left=10**5),
        "whole number",
    ),
    Case(
        "hockey-stick/contour",
        fact([SAMPLED], "4", "1/250"),
        (),
        {**LINE, "factors": [None]},
        "is not an object",
    ),
    Case("hockey-stick/chernoff", fact([RARE], "3/10", MOST), (), _rare()),
    Case("hockey-stick/chernoff", fact([RARE], "3/10", "3743/500000"), (), _rare(), "is at least"),
    Case("hockey-stick/chernoff", fact([RARE], "3/10", MOST), (), _rare(right=31), "do not decide"),
    Case("hockey-stick/chernoff", fact([RARE, ADDED], "3/10", "9/1000"), (), _rare(0)),
    Case("hockey-stick/chernoff", fact([RARE], "3/10", MOST), (), _rare(0), "one witness"),
    Case("hockey-stick/chernoff", fact([RARE], "3/10", MOST), (), _rare(step="2/3"), "not decide"),
    Case("hockey-stick/chernoff", fact([OFTEN], "1", "217/10000"), (), _rare(c="2", right=40)),
    Case(
        "hockey-stick/chernoff",
        fact([OFTEN], "1", "23/1000"),
        (),
        _rare(c="2", right=12),
        "not decide",
    ),
    *(
        Case("hockey-stick/chernoff", fact([RARE, ADDED], "3/10", "9/1000"), (), _rare(k), why)
        for k, why in [(1, "no earlier place"), (-1, "no earlier place"), (True, "not an object")]
    ),
]


@pytest.mark.parametrize("case", [*CLOSED, *BOUNDED, *SUMS, *SAMPLING], ids=str)
def test_bounds(case: Case) -> None:
    """A bound is accepted just above the true value and refused just below."""
    case.holds()


def test_a_bound_has_no_premise() -> None:
    """A fact about pairs follows from nothing."""
    said = fact([ONE], "1", "1")
    first = Step(rule="hockey-stick/closed", premises=(), witness={}, conclusion=said)
    second = Step(rule="hockey-stick/closed", premises=(0,), witness={}, conclusion=said)
    verdict = check(certificate(first, second))

    assert verdict == Rejected(1, "hockey-stick/closed", "the rule takes no premise")
