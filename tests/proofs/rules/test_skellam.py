"""Skellam noise: the finite pair has to be above the true shift, at every corner."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.skellam import skellam_pair
from dpproof.proofs.certificate import show_rational
from tests.proofs.support import Case, Object, factor, pairs

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
