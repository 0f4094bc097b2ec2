"""Single guarantees whose worst mechanism is known outcome by outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import final

from tests.hunt.draw import Draw, text
from tests.hunt.laws import Law, Neighbours, Pair, dominating, hockey_stick
from tests.hunt.questions import Pipeline
from tests.hunt.truth import MP, Enumerated, rational, real


@final
@dataclass(frozen=True)
class Part:
    """The source of a guarantee, and the laws of a mechanism of which it holds.

    Attributes:
        source: a Python expression.
        neighbours: output laws, exact.
        attained: whether the guarantee's statement is no weaker.
    """

    source: str
    neighbours: Neighbours
    attained: bool

    def pipeline(self) -> Pipeline:
        """With the truth that enumerates its laws."""
        return Pipeline(self.source, Enumerated(self.neighbours), self.attained)


def exponential(epsilon: Fraction) -> Fraction:
    """E^epsilon, far closer than a comparison with the truth sees."""
    return rational(MP.exp(real(epsilon)))


def law_text(law: Law) -> str:
    """A law as a tuple of Fractions, integers included."""
    listed = (f"Fraction({mass.numerator}, {mass.denominator}), " for mass in law)
    return "(" + "".join(listed).rstrip() + ")"


def pair_text(pair: Pair) -> str:
    """A product of one finite pair."""
    return f"Product.of(FinitePair(p={law_text(pair[0])}, q={law_text(pair[1])}))"


def pair_guarantee(forward: Pair, backward: Pair) -> str:
    """The guarantee that two finite pairs dominate."""
    return f"DominatingPair(forward={pair_text(forward)}, backward={pair_text(backward)})"


def points_text(points: Sequence[tuple[Fraction, Fraction]]) -> str:
    """Points as a list."""
    return "[" + ", ".join(f"({text(x)}, {text(y)})" for x, y in points) + "]"


def finite_pair(draw: Draw, largest: int = 4) -> Pair:
    """A pair of laws on a few outcomes, perhaps with outcomes of one law alone."""
    size, zeros = draw.integer(2, largest), draw.rarely(4)
    return draw.law(size, zeros=zeros), draw.law(size, zeros=zeros)


def symmetric_pair(draw: Draw) -> Pair:
    """A pair that renaming outcomes swaps."""
    law = draw.law(draw.integer(2, 4))
    return law, law[::-1]


def _pair(draw: Draw) -> Part:
    one = finite_pair(draw)
    truth = Neighbours.symmetric(one)
    return Part(pair_guarantee(one, (one[1], one[0])), truth, attained=True)


def _table(draw: Draw) -> Part:
    """What dominates the neighbours among three datasets: directions that are no swaps."""
    table = [draw.law(draw.integer(2, 3)) for _ in range(3)]
    table = [law for law in table if len(law) == len(table[0])]
    if len(table) == 1:
        table.append(table[0][::-1])
    truth = Neighbours.of_rows(table)
    source = pair_guarantee(dominating(truth.forward), dominating(truth.backward))
    return Part(source, truth, attained=False)


def response(epsilon: Fraction, delta: Fraction = Fraction(0), categories: int = 2) -> Pair:
    """Randomised response, with a chance delta that the answer is given away."""
    t = exponential(epsilon)
    total = t + categories - 1
    rest = (1 - delta) / total
    p = (delta, Fraction(0), rest * t, rest, rest * (categories - 2))
    q = (p[1], p[0], p[3], p[2], p[4])
    kept = [k for k in range(5) if p[k] or q[k]]
    return tuple(p[k] for k in kept), tuple(q[k] for k in kept)


def _pure(draw: Draw) -> Part:
    epsilon = min(draw.positive(), Fraction(20))
    truth = Neighbours.symmetric(response(epsilon))
    return Part(f"PureDP(epsilon={text(epsilon)})", truth, attained=True)


def _approximate(draw: Draw) -> Part:
    epsilon, delta = min(draw.positive(), Fraction(20)), draw.fraction_below_one()
    truth = Neighbours.symmetric(response(epsilon, delta))
    source = f"ApproxDP(epsilon={text(epsilon)}, delta={text(delta)})"
    return Part(source, truth, attained=True)


def _response(draw: Draw) -> Part:
    epsilon, categories = min(draw.positive(), Fraction(20)), draw.integer(2, 9)
    truth = Neighbours.symmetric(response(epsilon, categories=categories))
    source = (
        f"mechanisms.RandomizedResponse(epsilon={text(epsilon)}, categories={categories}, "
        "relation=AddRemove()).guarantee()"
    )
    return Part(source, truth, attained=True)


def _trade_off(draw: Draw) -> Part:
    p, q = symmetric_pair(draw)
    ranked = sorted(zip(p, q, strict=True), key=lambda mass: mass[0] / mass[1], reverse=True)
    rates = [Fraction(0), *accumulate(b for _, b in ranked)]
    misses = [Fraction(1), *(1 - power for power in accumulate(a for a, _ in ranked))]
    listed = points_text(list(zip(rates, misses, strict=True)))
    truth = Neighbours.symmetric((p, q))
    return Part(f"TradeOff(points={listed})", truth, attained=True)


def _profile(draw: Draw) -> Part:
    pair = symmetric_pair(draw)
    grid = sorted({Fraction(draw.integer(0, 16), 4) for _ in range(draw.integer(1, 4))})
    points = [(epsilon, _up(hockey_stick(pair, exponential(epsilon)))) for epsilon in grid]
    truth = Neighbours.symmetric(pair)
    return Part(f"PrivacyProfile(points={points_text(points)})", truth, attained=False)


def _up(delta: Fraction) -> Fraction:
    """The next multiple of 2^-80."""
    return min(Fraction(-(-delta.numerator << 80) // delta.denominator + 1, 1 << 80), Fraction(1))


def _discrete_laplace(draw: Draw) -> Part:
    """The tails on both sides have one likelihood ratio each."""
    scale, shift = max(draw.positive(), Fraction(1, 8)), draw.integer(1, 4)
    r = exponential(-1 / scale)
    peak = (1 - r) / (1 + r)
    inside = [(peak * r**x, peak * r ** (shift - x)) for x in range(1, shift)]
    tail, far = 1 / (1 + r), r**shift / (1 + r)
    p, q = zip((tail, far), *inside, (far, tail), strict=True)
    source = f"mechanisms.DiscreteLaplace(scale={text(scale)}, sensitivity=L1({shift})).guarantee()"
    return Part(source, Neighbours.symmetric((p, q)), attained=True)


_ALL = (_pair, _pure, _response, _approximate, _trade_off, _profile, _table, _discrete_laplace)


def part(draw: Draw) -> Part:
    """One of them."""
    return draw.choose(_ALL)(draw)
