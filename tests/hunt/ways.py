"""One number of a mechanism by many ways, none of which may contradict another.

What any way allows holds for every instance of the mechanism, and the lower end of a bracket that
is attained is met by one of them: so every upper end is at or above every such lower end. A number
that a certificate proves counts as an end of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, Final

from dpproof.accountant import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Attained,
    Bound,
    BoundedRange,
    DominatingPair,
    Guarantee,
    NotImplied,
    PrivacyError,
    PrivacyProfile,
    PureDP,
    TradeOff,
    compose,
    convert,
    self_compose,
)

Known = Guarantee[Any]
Conversion = Callable[[Known], Known]

CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "zcdp": lambda given: convert(given, to=ZCDP),
    "gdp": lambda given: convert(given, to=GDP),
    "pure": lambda given: convert(given, to=PureDP),
    "bounded-range": lambda given: convert(given, to=BoundedRange),
    "pair": lambda given: convert(given, to=DominatingPair),
    "renyi": lambda given: convert(given, to=RDP, orders=(Fraction(3, 2), 2, 4, 8, 16, 64)),
    "approx": lambda given: convert(given, to=ApproxDP, delta=Fraction(1, 10**8)),
    "profile": lambda given: convert(given, to=PrivacyProfile, epsilons=(0, Fraction(1, 2), 1, 4)),
    "trade-off": lambda given: convert(given, to=TradeOff, epsilons=(0, Fraction(1, 2), 1, 4)),
}


def _half(given: Known, uses: int, change: Conversion) -> Known:
    """Some of the uses by what is converted, the others as they are."""
    first = uses // 2 or 1
    parts = [self_compose(change(given), first)]
    return compose(*parts, *([self_compose(given, uses - first)] if uses > first else []))


PLACES: Final[Mapping[str, Callable[[Known, int, Conversion], Known]]] = {
    "first": lambda given, uses, change: self_compose(change(given), uses),
    "last": lambda given, uses, change: change(self_compose(given, uses)),
    "half": _half,
}
WAYS: Final = ("direct", *(" ".join(way) for way in product(PLACES, CONVERSIONS)))
QUESTIONS: Final[Mapping[str, Callable[[Known, Fraction], Bound]]] = {
    "delta": lambda given, at: given.epsilon(delta=at),
    "epsilon": lambda given, at: given.delta(epsilon=at),
    "advantage": lambda given, _: given.advantage(),
    "false_positive_rate": lambda given, at: given.true_positive_rate(false_positive_rate=at),
    "order": lambda given, at: given.rdp(order=at),
    "smallest_delta": lambda given, at: given.gdp(smallest_delta=at),
    "rho": lambda given, _: given.zcdp(),
}
"""What is asked for, by the name of what it is asked at."""
_CERTIFIED: Final = {
    "delta": "epsilon",
    "epsilon": "delta",
    "advantage": "advantage",
    "false_positive_rate": "true_positive_rate",
}


def by_ways(
    given: Known, uses: int, ways: Sequence[str], asked: tuple[str, Fraction], certified: str = ""
) -> dict[str, Bound]:
    """Return the brackets of one number by every way that answers.

    Args:
        given: of one use.
        uses: how many there are.
        ways: of ``WAYS``.
        asked: the question, and at what.
        certified: the way whose certificates count, too.
    Raises:
        NotImplied: fewer than two ways answer.
    """
    found: dict[str, Bound] = {}
    for way in {*ways, certified} - {""}:
        try:
            guarantee = _by(way, given, uses)
            found[way] = QUESTIONS[asked[0]](guarantee, asked[1])
        except PrivacyError:
            continue
        if way == certified and asked[0] in _CERTIFIED:
            found.update(_proved(way, guarantee, asked))
    if len(found) < 2:
        raise NotImplied("fewer than two ways answer")
    return found


def contradiction(found: Mapping[str, Bound]) -> str:
    """Return two ways of which one excludes what the other one attains; empty if there are none."""
    for (one, low), (other, high) in product(found.items(), repeat=2):
        if low.attained and low.lower > high.upper:
            return f"{one} attains {low.lower!r}, and {other} allows {high.upper!r} at most"
    return ""


def _by(way: str, given: Known, uses: int) -> Known:
    if way == "direct":
        return self_compose(given, uses)
    place, conversion = way.split(" ")
    return PLACES[place](given, uses, CONVERSIONS[conversion])


def _proved(way: str, guarantee: Known, asked: tuple[str, Fraction]) -> dict[str, Bound]:
    """Return what certificates prove of the number, from above and from below."""
    name, at = asked
    question: dict[str, Any] = {name: True if name == "advantage" else at}
    found = {}
    for lower in (False, True):
        try:
            claim = guarantee.certify(**question, lower=lower).claim
        except PrivacyError:
            continue
        key = "delta" if lower and name == "advantage" else _CERTIFIED[name]
        number = float(Fraction(str(claim[key])))
        if lower:
            whole = Attained.WHOLE if name == "false_positive_rate" else Attained.POINTS
            number = math.nextafter(number, -math.inf)
            found[f"{way} certified from below"] = Bound(
                number, math.inf, guarantee.attained >= whole
            )
        else:
            up = math.nextafter(number, math.inf)
            found[f"{way} certified"] = Bound(-math.inf, up)
    return found
