"""Gaussian noise on sums of rounds: the sensitivity of the factor is computed again."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, factor, pairs, said

RULE = "mechanism/matrix"
GIVEN: Object = {
    "factor": "toeplitz",
    "rounds": 3,
    "bands": 2,
    "listed": [["1", "1/2"]],
    "separation": 2,
    "participations": 2,
    "fixed": False,
    "method": "orthogonal",
    "duals": [],
    "sensitivity": "1",
    "sigma": "1",
}
TREE: Object = {"factor": "tree", "bands": 3, "listed": [], "method": "tree"}
ROWS: Object = {
    "factor": "rows",
    "bands": 3,
    "listed": [["1", "0", "0"], ["-1/2", "1", "0"], ["0", "-1/2", "1"]],
    "separation": 1,
    "participations": 3,
    "method": "dual",
    "duals": [["7/4", "9/4", "3/2"], ["5/4", "1"], ["7/4", "3/2"], ["1"]],
}


def case(mu_squared: str, changes: Object, why: str = "") -> Case:
    """One conclusion with changes to the witness."""
    return Case(RULE, said("gdp", mu_squared=mu_squared), witness={**GIVEN, **changes}, why=why)


CASES = [
    case("9/4", {}),
    case("5/2", {}),
    case("2", {}, "smaller than"),
    case("9/16", {"sigma": "2"}),
    case("9/4", {"separation": 1, "participations": 3}, "no theorem"),
    case("11/2", {"method": "envelope", "separation": 1, "participations": 3}),
    case("5", {"method": "envelope", "separation": 1, "participations": 3}, "smaller than"),
    case("9", {"method": "envelope", "listed": [["1", "2"]]}, "smaller than"),
    case("9/4", {"listed": [["1"]]}, "do not fit"),
    case("9/4", {"factor": "toplitz"}, "does not know"),
    case("9/4", {"fixed": True}, "as long as rounds"),
    case("9/4", {"duals": [["1"]]}, "method dual alone"),
    case("3", {"factor": "square-root", "listed": []}),
    case("100", {**ROWS, "factor": "buffered", "listed": [["1"], ["1"]], "duals": [],
                 "method": "envelope"}, "decays between"),
    case("3", TREE),
    case("2", TREE, "smaller than"),
    case("11/2", ROWS),
    case("3/2", ROWS, "smaller than"),
    case("11/2", {**ROWS, "duals": [["1", "9/4", "3/2"]]}, "not above"),
    case("11/2", {**ROWS, "duals": [["7/4", "9/4"]]}, "as long as the pattern"),
    case("11/2", {**ROWS, "duals": [*ROWS["duals"], ["9"]]}, "more duals"),
    case("11/2", {**ROWS, "method": "row-maxima", "duals": []}),
    case("11/2", {**ROWS, "listed": [["1", "1", "0"], *ROWS["listed"][1:]]}, "above its diagonal"),
    case("11/2", {**ROWS, "bands": 2}),
    case("11/2", {**ROWS, "bands": 1}, "below its bands"),
    case("45/16", {"factor": "buffered", "bands": 3, "listed": [["1/2"], ["1/2"]],
                   "method": "envelope"}),
    case("5/4", {"method": "envelope", "separation": 1, "participations": 1}),
    case("9/4", {"rounds": 40, "bands": 21, "method": "envelope",
                 "listed": [["1", *(f"1/{10**1000 + k}" for k in range(1, 41, 2))]]},
         "common denominator"),
    case("11/2", {"listed": [["1", "-1/2"]], "method": "row-maxima", "separation": 1,
                  "participations": 3}),
    case("7", {**TREE, "method": "row-maxima", "separation": 1, "participations": 3}),
    case("5/2", {"fixed": True, "rounds": 4, "method": "dual",
                 "duals": [["5/4", "5/4"], ["5/4", "1"]]}),
    case("27/4", {**ROWS, "duals": [["3", "43/20", "8/5"], *ROWS["duals"][1:]]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sensitivity_is_computed_again(case: Case) -> None:
    """Accepted at the sensitivity and above, refused below it or by no theorem."""
    case.holds()


PARTS: Object = {
    "contribution": "1",
    "sigma": "1",
    "sampling_rate": "1/4",
    "cycle": 2,
    "factor": "toeplitz",
    "rounds": 3,
    "bands": 2,
    "listed": [["1", "-1/2"]],
}
DENSE: Object = {"factor": "rows", "listed": [["1", "0", "0"], ["2", "1", "0"], ["0", "1", "3"]]}


def sampled(square: str, count: int, *, removal: bool) -> Object:
    """Some Poisson samples of rate 1/4."""
    given = {"mu_squared": square, "sampling_rate": "1/4", "removal": removal}
    return factor("subsampled-gaussian", count, **given)


def under(relation: str, square: str, count: int = 2, **changes: object) -> Object:
    """The pairs of so many samples at this squared mu."""
    both = (
        [[factor("opposite-gaussians", count, mu_squared=square, sampling_rate="1/4")]] * 2
        if relation == "replace-one"
        else [[sampled(square, count, removal=way)] for way in (True, False)]
    )
    return {**pairs(*both), "relation": relation, **changes}


def turn(conclusion: Object, changes: Object, why: str = "") -> Case:
    """One conclusion with changes to the witness."""
    return Case("allocate/cyclic-poisson", conclusion, [], {**PARTS, **changes}, why)


OTHER = "not the one that follows"
IN_TURN = [
    turn(under("add-remove", "5/4"), {}),
    turn(under("zero-out", "5/4"), {}),
    turn(under("replace-one", "5/4"), {}),
    turn(under("add-remove", "5", 1), {"contribution": "2", "cycle": 3}),
    turn(under("add-remove", "9"), DENSE),
    turn(under("add-remove", "5"), DENSE, OTHER),
    turn(under("add-remove", "1"), {}, OTHER),
    turn(under("add-remove", "5/4", 1), {}, OTHER),
    turn(under("add-remove", "5/4", 3), {"cycle": 1}, "as many bands as parts"),
    turn(under("add-remove", "2"), {"factor": "tree", "listed": [], "bands": 3, "cycle": 3},
         "must be triangular"),
    turn(under("add-remove", "5/4"), {"sampling_rate": "1"}, "below 1"),
    turn({**under("replace-one", "5/4"), "relation": "replace-label"}, {}, "the rule is about"),
    turn(under("replace-one", "5/4", steps=2), {}, "one step apart"),
]  # fmt: skip


@pytest.mark.parametrize("case", IN_TURN, ids=str)
def test_samples_of_parts_in_turn(case: Case) -> None:
    """A sample for each time that a part is asked, at the norm of the largest column."""
    case.holds()
