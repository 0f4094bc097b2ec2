"""Finite pairs above a base, and above the best of some runs of finite pairs."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import FixedRuns, RunLaw, TruncatedNegativeBinomial
from dpproof.proofs.balls.run_counts import read_runs
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.rule import Budget
from dpproof.proofs.rules import select
from tests.proofs.builders import Runs as Masses, drawn_masses, halved, worst_of_all_orders
from tests.proofs.rules.builders import (
    BASE,
    EDGE,
    FEW,
    GEOMETRIC,
    SURE,
    TILTED,
    TOLD,
    TWO,
    WIDE,
    finite,
)
from tests.proofs.support import Case, Object, gaussian, pairs, said

LESS = finite(["1/9", "8/9", "0"], ["0", "8/9", "1/9"])
SHORT = finite(["1/100", "7/10", "29/100", "0"], ["0", "29/100", "7/10", "1/100"])
TIGHT = finite(["3/4", "1/4"], ["1/4", "3/4"])


def above(
    forward: Object,
    why: str = "",
    *,
    backward: Object | None = None,
    premises: tuple[Object, ...] = (BASE, EDGE),
    **witness: Any,  # noqa: ANN401  # JSON is anything
) -> Case:
    """A finite pair above randomised response at 1: at most 1/2, and 0 from e on."""
    conclusion = pairs([forward], None if backward is None else [backward])
    return Case("dominate/pair", conclusion, premises, witness, why)


# The ratio of WIDE is 74/25 > e, that of SHORT 70/29 < e, where the chord is above 1/100.
ABOVE = [
    above(WIDE),
    above(TOLD),
    above(SHORT, "the profile at ratio 29/70"),
    above(LESS, "the profile at ratio 1 is at least 0.5"),
    above(SURE, "the profile at ratio 1"),
    above(TIGHT, "the profile at ratio 1/3: 512 bits"),
    above(WIDE, "the profile at ratio 1 ", backward=LESS),
    above(LESS, "the profile at ratio 1 ", backward=WIDE),
    above(gaussian("1"), "concludes one finite pair"),
    above({**WIDE, "count": 2}, "concludes one finite pair"),
    Case("dominate/pair", pairs([WIDE, TOLD]), [BASE, EDGE], why="concludes one finite pair"),
    Case("dominate/pair", pairs([]), [BASE, EDGE], why="concludes one finite pair"),
    Case("dominate/pair", said("pure-dp", epsilon="1"), [BASE, EDGE], why="wants Pairs"),
    above(WIDE, "takes bounds of the profile", premises=(BASE,)),
    above(WIDE, "each once", premises=(BASE, EDGE, EDGE)),
    above(WIDE, "pairs and hockey-stick", premises=(EDGE,)),
    above(WIDE, "unknown fields", runs=TWO),
    above(TOLD, premises=TILTED),
    above(TOLD, "the profile at ratio 1 ", backward=LESS, premises=TILTED),
    above(LESS, "the profile at ratio 1 ", backward=TOLD, premises=TILTED),
]

ONE = Fraction(1)
QUARTERS = ["0", "1/4", "1/2", "3/4", "1"]
STEEP: Object = {"blocks": ["0", "1/2", "3/4", "1"], "masses": ["0", "1/2", "1"]}
CUTS: Object = {"parts": [1, 1], "masses": QUARTERS}
RESPONSE = pairs([TIGHT])
AT_ONE = finite(["27/100", "73/100", "0"], ["0", "73/100", "27/100"])
UNDER = finite(["6/25", "19/25", "0"], ["0", "19/25", "6/25"])
AT_EIGHT = finite(["8/9", "1/9"], ["1/9", "8/9"])
AT_FOUR = finite(["4/5", "1/5"], ["1/5", "4/5"])


def best(
    forward: Object,
    why: str = "",
    *,
    backward: Object | None = None,
    premises: tuple[Object, ...] = (RESPONSE,),
    way: Object | None = None,
    **witness: Any,  # noqa: ANN401
) -> Case:
    """At most two runs of randomised response with odds of 3, unless told otherwise."""
    hints = {"runs": FEW, "forward": way or CUTS} | witness
    conclusion = pairs([forward], None if backward is None else [backward])
    return Case("select/pair", conclusion, premises, hints, why)


# phi = (2 + z + z^2)/4, and phi' is its own tangent, so that nothing is lost at t = 1: the sum is
# phi(3/4) - phi(1/4) = 1/4. From t = 6 on it is 0.
BEST = [
    best(AT_ONE),
    best(AT_EIGHT),
    best(TOLD),
    best(UNDER, "the profile at ratio 1 may be 0.25000000000000000, above 6/25"),
    best(AT_FOUR, "the profile at ratio 0.25 may be"),
    best(SURE, "the profile at ratio 1 may be"),
    best(AT_ONE, "at ratio 1 may be", backward=UNDER),
    best(UNDER, "at ratio 1 may be", backward=AT_ONE),
    best(AT_ONE, "at ratio 1 may be", runs=TWO),
    best(AT_ONE, "at ratio 1 may be", runs=GEOMETRIC),
    best(AT_ONE, "at ratio 1 may be", way={"parts": [1, 1], "masses": ["0", "1"]}),
    best(AT_ONE, way={"parts": [3, 2], "masses": QUARTERS}),
    best(AT_ONE, "number of parts", way={"parts": [1], "masses": QUARTERS}),
    best(AT_ONE, "number of parts", way={"parts": [1, 1, 1], "masses": QUARTERS}),
    best(AT_ONE, "number of parts", way={"parts": [1, 0], "masses": QUARTERS}),
    best(AT_ONE, "whole numbers", way={"parts": [1, True], "masses": QUARTERS}),
    best(AT_ONE, "more work", way={"parts": [1, 10**9], "masses": QUARTERS}),
    best(TOLD, way=STEEP),
    best(AT_ONE, "at ratio 1 may be", way=STEEP),
    best(AT_ONE, way={"blocks": ["0", "3/4", "1"], "masses": QUARTERS}),
    best(AT_ONE, way={"blocks": ["0", "1/2", "3/4", "7/8", "1"], "masses": QUARTERS}),
    best(AT_EIGHT, way={"blocks": ["0", "1"], "masses": QUARTERS}),
    best(AT_ONE, "at ratio 1 may be", way={"blocks": ["0", "1"], "masses": QUARTERS}),
    best(AT_ONE, "at ratio 1 may be", way={"blocks": ["0", "1/2", "1"], "masses": QUARTERS}),
    best(AT_ONE, "grow from 0 to 1", way={"blocks": ["1/4", "1"], "masses": QUARTERS}),
    best(AT_ONE, "grow from 0 to 1", way={"blocks": ["0", "3/4"], "masses": QUARTERS}),
    best(AT_ONE, "grow from 0 to 1", way={"blocks": ["0", "3/4", "1/2", "1"], "masses": QUARTERS}),
    best(AT_ONE, "grow from 0 to 1", way={"blocks": ["0", "3/4", "3/4", "1"], "masses": QUARTERS}),
    best(AT_ONE, "grow from 0 to 1", way={"blocks": ["0"], "masses": QUARTERS}),
    best(AT_ONE, "has no blocks", way={"masses": QUARTERS}),
    best(AT_ONE, "has no masses", way={"blocks": ["0", "1"]}),
    best(AT_ONE, "unknown fields", way={**CUTS, "blocks": ["0", "3/4", "1"]}),
    best(AT_ONE, "grow from 0 to 1", way={"parts": [1, 1], "masses": QUARTERS[1:]}),
    best(AT_ONE, "grow from 0 to 1", way={"parts": [1, 1], "masses": QUARTERS[:-1]}),
    best(AT_ONE, "grow from 0 to 1", way={"parts": [1, 1], "masses": ["0", "1/2", "1/2", "1"]}),
    best(AT_ONE, "grow from 0 to 1", way={"parts": [1, 1], "masses": ["0"]}),
    best(AT_ONE, "unknown fields", way={**CUTS, "more": []}),
    best(AT_ONE, "unknown fields", more=CUTS),
    best(AT_ONE, "takes one finite pair", premises=(BASE,)),
    best(AT_ONE, "takes one finite pair", premises=(pairs([{**TIGHT, "count": 2}]),)),
    best(AT_ONE, "takes 1 to 1 premises", premises=(RESPONSE, RESPONSE)),
    best(AT_ONE, "takes 1 to 1 premises", premises=()),
    best(AT_ONE, "different distance", premises=(pairs([TIGHT], steps=2),)),
    best(AT_ONE, "wants Pairs", premises=(said("pure-dp", epsilon="1"),)),
    best({**AT_ONE, "count": 2}, "concludes one finite pair"),
    best(gaussian("1"), "concludes one finite pair"),
]


FIFTH = finite(["1/5", "4/5", "0"], ["0", "4/5", "1/5"])
SIXTH = finite(["1/6", "5/6", "0"], ["0", "5/6", "1/6"])
BACK = finite(["1/100", "59/75", "61/300", "0"], ["0", "59/150", "61/150", "1/5"])
TWO_WAYS = pairs([finite(["1/4", "3/4"], ["0", "1"])], [finite(["0", "1"], ["1/4", "3/4"])])
OTHER_WAYS = pairs([finite(["0", "1"], ["1/4", "3/4"])], [finite(["1/4", "3/4"], ["0", "1"])])
SINGLE: Object = {"parts": [1], "masses": QUARTERS}


def told(
    forward: Object,
    backward: Object,
    why: str = "",
    base: Object = TWO_WAYS,
    hint: Object | None = SINGLE,
) -> Case:
    """A base that may betray one direction: there the sum is 11/64 at every t, else 0 at t = 2."""
    conclusion = pairs([forward], [backward])
    hints = {"runs": FEW, "forward": CUTS} | ({} if hint is None else {"backward": hint})
    return Case("select/pair", conclusion, [base], hints, why)


BEST += [
    told(FIFTH, FIFTH),
    told(FIFTH, BACK),
    told(BACK, FIFTH, "the profile at ratio 2 may be 0.171875"),
    told(SIXTH, FIFTH, "the profile at ratio 1 may be 0.171875"),
    told(FIFTH, SIXTH, "the profile at ratio 1 may be 0.171875"),
    told(FIFTH, BACK, "number of parts", base=OTHER_WAYS),
    told(FIFTH, BACK, "has no backward", hint=None),
    told(FIFTH, BACK, "number of parts", hint=CUTS),
]


THREE: Object = {"kind": "binomial", "trials": 3, "probability": "1"}
CUBED = finite(["28/29", "1/29"], ["1/29", "28/29"])
BELOW = finite(["26/27", "1/27"], ["1/27", "26/27"])


def chords(close: list[Any], why: str = "", above: Object = CUBED, runs: Object = THREE) -> Case:
    """Three runs: with chords the sum is 0 from 3^3 on, with tangents of 3 z^2 nowhere."""
    return best(above, why, runs=runs, way={**CUTS, "close": close})


BEST += [
    chords([2, 0]),
    chords([1, 1]),
    chords([1, 1], runs=TWO),
    chords([9, 9]),
    chords([0, 0], "the profile at ratio 1/28 may be"),
    chords([1, 1], "the profile at ratio 1/26 may be", BELOW),
    best(CUBED, "the profile at ratio 1/28 may be", runs=THREE),
    chords([1], "a count for each block"),
    chords([1, 1, 1], "a count for each block"),
    chords([1, -1], "a count for each block"),
    chords([1, True], "whole numbers"),
    chords([1, 1], "a count for each block", runs=GEOMETRIC),
    best(CUBED, "grow from 0 to 1", way={"blocks": ["0"], "masses": QUARTERS, "close": []}),
]


# Where A is below 2^-96 up to the last outcome, costs are below 0 by rounding: they count as 0.
SHARE = Fraction(1, 2**100)
ODDS = finite([str(1 - SHARE), str(SHARE)], [str(SHARE), str(1 - SHARE)])
SIXTEENTHS = [str(Fraction(k, 16)) for k in range(17)]
PARTED: Object = {"parts": [16, 1], "masses": SIXTEENTHS}
NEARLY_SURE: Object = {
    "kind": "truncated-negative-binomial",
    "eta": "1",
    "gamma": str(1 - Fraction(1, 10**500)),
}
MANY_FAILURES: Object = {**NEARLY_SURE, "eta": str(2**180), "gamma": "1/2"}

BEST += [
    best(finite(["0", "1"], ["1", "0"]), premises=(pairs([ODDS]),), runs=TWO, way=PARTED),
    best(TOLD, "at ratio 1 may be", premises=(pairs([ODDS]),), runs=TWO, way=PARTED),
    best(AT_EIGHT, "not known at this precision", runs=NEARLY_SURE),
    best(AT_EIGHT, "not known at this precision", runs=MANY_FAILURES),
]


@pytest.mark.parametrize("case", [*ABOVE, *BEST], ids=str)
def test_finite_pairs(case: Case) -> None:
    """A pair is refused as soon as its profile is below the bound at a corner."""
    case.holds()


def test_parts_are_counted_before_they_are_made() -> None:
    """A witness of a few characters may not fill the memory."""
    budget = Budget(31)

    with pytest.raises(RefusedError, match="more work"):
        select._blocks(Fields({"parts": [1]}, "x"), [(ONE, ONE, ONE)], budget)


def _law(document: Object, law: RunLaw, masses: list[float]) -> tuple[Masses, Object]:
    return Masses(law, np.array(masses)), document


HALF: Object = {"kind": "truncated-negative-binomial", "eta": "1", "gamma": "1/2"}
LAWS = [
    _law(TWO, FixedRuns(count=2), [0.0, 0.0, 1.0]),
    _law(THREE, FixedRuns(count=3), [0.0, 0.0, 0.0, 1.0]),
    _law(FEW, FiniteRuns(probabilities=[Fraction(1, 2), *[Fraction(1, 4)] * 2]), [0.5, 0.25, 0.25]),
    _law(
        HALF,
        TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 2)),
        [0.0, *(0.5**k for k in range(1, 60))],
    ),
]


@pytest.mark.some(24)
@pytest.mark.parametrize("close", [0, 3, 48])
@pytest.mark.parametrize("fine", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_every_order_is_below_the_sum(seed: int, *, fine: bool, close: int) -> None:
    """Orders of small mechanisms' outcomes are below the sum, the worst just below a fine one."""
    rng = np.random.default_rng(70_000 + seed)
    runs, document = LAWS[seed % len(LAWS)]
    p, q = drawn_masses(rng, int(rng.integers(2, 4)))
    outcomes = sorted((b / a, a, b) for a, b in zip(p, q, strict=True) if a)
    starts = accumulate((a for _, a, _ in outcomes), initial=Fraction(0))
    cuts = (
        k + a * n / 12 for k, (_, a, _) in zip(starts, outcomes, strict=False) for n in range(12)
    )
    blocks = (*(cuts if fine else (Fraction(k, 7) for k in range(7))), Fraction(1))
    masses = tuple(Fraction(k, 48) for k in range(49))
    asked = [Fraction(1), Fraction(3, 2), Fraction(4)]
    counts = (close if runs.law.largest else 0,) * (len(blocks) - 1)
    found = select.bound(read_runs(document), outcomes, blocks, masses, counts).at(asked)
    for t in asked:
        truth = worst_of_all_orders(runs, halved(p, 6), halved(q, 6), float(np.log(float(t))))
        assert truth <= float(found[t]) + 1e-12, (p, q, t)
        assert not fine or close > 3 or float(found[t]) <= truth + 0.07, (p, q, t)
