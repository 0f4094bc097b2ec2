"""Lower bounds by cells of outcomes, against single events and sums over all cells."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import mpmath
import pytest

from dpproof.proofs import limits
from tests.proofs.rules.builders import gaussian_delta
from tests.proofs.support import Case, Object, fact, factor, gaussian

RULE = "at-least/cells"
ENDS = list(range(-8, 33, 2))  # in eighths


ALLOCATED: Object = {"mu_squared": "1", "rounds": 3, "removal": True}


def largest(count: int = 1, **changes: object) -> Object:
    """The largest of three variables, zeroed out, with the record under P."""
    fields = {"mu_squared": "1", "batches": 3, "replaced": False, "removal": True, **changes}
    return factor("largest-of-gaussians", count, **fields)


def hint(ends: list[int] | None = None, **changes: object) -> Object:
    """Cells between some eighths."""
    return {"unit": "1/8", "offset": "0", "ends": ENDS if ends is None else ends, **changes}


def cut(*hints: Object, **changes: object) -> Object:
    """A witness with cells of every factor."""
    return {"span": "1/1024", "factors": list(hints) or [hint()], **changes}


def said(delta: Fraction | str, *factors: Object, epsilon: str = "1") -> Object:
    """The fact that a product's divergence is at least delta."""
    return {
        "notion": "hockey-stick-at-least",
        "product": list(factors) or [largest()],
        "epsilon": epsilon,
        "delta": str(delta),
    }


def masses(shifts: tuple[int, int], *, removal: bool = True) -> list[tuple[Any, Any]]:
    """Masses of the cells at ``ENDS`` under both laws of the largest of three, to 40 digits."""
    with mpmath.workdps(40):
        below = [
            [0, *(mpmath.ncdf(x) ** 2 * mpmath.ncdf(x - shift) for x in map(_eighth, ENDS)), 1]
            for shift in shifts
        ]
        found = [[b - a for a, b in pairwise(one)] for one in below]
        return list(zip(*(found if removal else found[::-1]), strict=True))


def _eighth(place: int) -> Any:  # noqa: ANN401  # a number of mpmath
    return mpmath.mpf(place) / 8


def divergence(*cells: list[tuple[Any, Any]], epsilon: int = 1) -> Fraction:
    """The sum of (p - e^epsilon q)_+ over all choices of cells, to 30 digits."""
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for chosen in product(*cells):
            p, q = (mpmath.fprod(one[k] for one in chosen) for k in (0, 1))
            total += max(p - mpmath.exp(epsilon) * q, 0)
        return Fraction(int(total * 10**30), 10**30)


CLOSE, ABOVE = Fraction(995, 1000), Fraction(1001, 1000)
ZEROED = divergence(masses((2, 1)))
TWICE = divergence(masses((2, 1)), masses((2, 1)))
REPLACED = divergence(masses((1, 0)))
SWAPPED = divergence(masses((2, 1), removal=False), epsilon=0)
GAUSSIAN = Fraction(gaussian_delta(1.0, 1.0))

CASES = [
    Case(RULE, said(ZEROED * CLOSE), [], cut()),
    Case(RULE, said(ZEROED * ABOVE), [], cut(), "the claimed divergence is at least"),
    Case(RULE, said(TWICE * CLOSE, largest(2)), [], cut()),
    Case(RULE, said(TWICE * ABOVE, largest(2)), [], cut(), "the claimed divergence"),
    Case(RULE, said(ZEROED, largest(3)), [], cut()),
    Case(RULE, said(REPLACED * CLOSE, largest(replaced=True)), [], cut()),
    Case(RULE, said(REPLACED * CLOSE, factor("allocated-gaussian", **ALLOCATED)), [], cut()),
    Case(RULE, said(REPLACED * ABOVE, largest(replaced=True)), [], cut(), "claimed divergence"),
    Case(RULE, said(SWAPPED * CLOSE, largest(removal=False), epsilon="0"), [], cut()),
    Case(RULE, said(SWAPPED * ABOVE, largest(removal=False), epsilon="0"), [], cut(), "claimed"),
    Case(RULE, said(GAUSSIAN * Fraction(9, 10), gaussian("1")), [], cut()),
    Case(RULE, said(GAUSSIAN, gaussian("1")), [], cut(), "the claimed divergence"),
    Case(RULE, said(ZEROED, largest(), gaussian("1")), [], cut(hint(), hint())),
    Case(RULE, said(ZEROED * CLOSE), [], cut(hint(offset="1/2048"))),
    Case(RULE, said(ZEROED * CLOSE), [], cut(span="1"), "the claimed divergence"),
    Case(RULE, said("0"), [], cut(hint(ends=[0]))),
    Case(RULE, said(ZEROED * CLOSE), [], cut(hint(ends=[*ENDS, 1000]))),
    Case(RULE, said("0", epsilon="900"), [], cut()),
    Case(RULE, said("1/100", epsilon="900"), [], cut(), "the claimed divergence"),
    Case(RULE, said("0"), [fact([gaussian("1")], "1", "1")], cut(), "no premise"),
    Case(RULE, said("0"), [], cut(hint(), hint()), "one hint for each"),
    Case(RULE, {**said("0"), "product": []}, [], {"span": "1", "factors": []}, "not empty"),
    Case(RULE, said("0", factor("laplace", epsilon="1")), [], cut(), "takes largest normal"),
    Case(RULE, said("0"), [], cut(hint(ends=[])), "ends of cells must be"),
    Case(RULE, said("0"), [], cut(hint(ends=[1, 1])), "ends of cells must be"),
    Case(RULE, said("0"), [], cut(hint(ends=[2, 1])), "ends of cells must be"),
    Case(RULE, said("0"), [], cut(hint(ends=list(range(limits.MAX_ENDS + 1)))), "must be 1 to"),
    Case(RULE, said("0"), [], cut(span="1/10000000"), "more than"),
    Case(RULE, said("0", largest(10**6)), [], cut(), "more than"),
    Case(RULE, said("0"), [], cut(span="0"), "above 0"),
    Case(RULE, said("0"), [], cut(hint(unit="-1")), "above 0"),
    Case(RULE, said("0"), [], cut(hint(more=1)), "unknown fields"),
    Case(RULE, said("0", largest(batches=0)), [], cut(), "whole number"),
    Case(RULE, said("0", largest(mu_squared="0")), [], cut(), "above 0"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cells(case: Case) -> None:
    """Every bound is what the cells prove, next to their own divergence, and nothing above it."""
    case.holds()


OTHERS = [
    Case("at-least/closed", said("0"), [], {}, "known exactly"),
    Case(
        "hockey-stick/closed",
        {**said("1/2"), "notion": "hockey-stick"},
        [],
        {},
        "has no profile in closed form",
    ),
    Case(
        "hockey-stick/contour",
        {**said("1/2"), "notion": "hockey-stick"},
        [],
        {"c": "1", "step": "1/8", "nodes": 8, "tau": "0", "tails": [None], "factors": [None]},
        "are not listed",
    ),
]


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_no_other_rule_takes_the_largest_of_normal_variables(case: Case) -> None:
    """It has no profile or M in closed form, so nothing about privacy follows from the pair."""
    case.holds()
