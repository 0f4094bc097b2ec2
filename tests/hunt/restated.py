"""What is true of a mechanism on all neighbours, stated in any notion, rounded up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.hunt.draw import Draw, text
from tests.hunt.laws import Law, Neighbours, dominating, hockey_stick
from tests.hunt.parts import exponential, pair_guarantee, points_text
from tests.hunt.truth import MP, Enumerated, Real, rational, real

GRID = Fraction(1, 2**60)
Statement = Callable[[Draw, Neighbours], str]


def up(value: Real) -> Fraction:
    """A number of MP to a multiple of 2^-60 above it."""
    return rational(value) // GRID * GRID + 2 * GRID


def restated(draw: Draw, rows: Sequence[Law], *, kind: str = "any", relation: str = "") -> str:
    """A guarantee that holds of a mechanism, in some notion.

    Args:
        draw: chooses the notion; the simplest is the mechanism's pairs.
        rows: its law at each count.
        kind: "any", "pair" for notions that have a dominating pair, "renyi" for those without.
        relation: Python source; then no pairs are stated, as one has to serve both directions.
    """
    neighbours = Neighbours.of_rows(rows)
    notions: list[Statement] = [_renyi, _concentrated] if _is_bounded(neighbours) else []
    if kind != "renyi" or not notions:
        notions = [*([] if relation else [_pair]), _trade_off, _approximate, _profile] + (
            ([_pure, _range, _gaussian] if notions else []) + (notions if kind == "any" else [])
        )
    source = draw.choose(notions)(draw, neighbours)
    return source[:-1] + f", relation={relation})" if relation else source


def _is_bounded(neighbours: Neighbours) -> bool:
    """Whether no outcome belongs to one law alone."""
    return all(
        bool(p) == bool(q) for pair in neighbours.forward for p, q in zip(*pair, strict=True)
    )


def symmetric(neighbours: Neighbours) -> tuple[Law, Law]:
    """The pair that dominates both directions."""
    return dominating([*neighbours.forward, *neighbours.backward])


def _pair(draw: Draw, neighbours: Neighbours) -> str:
    del draw
    return pair_guarantee(dominating(neighbours.forward), dominating(neighbours.backward))


def _trade_off(draw: Draw, neighbours: Neighbours) -> str:
    del draw
    ranked = sorted(
        zip(*symmetric(neighbours), strict=True),
        key=lambda mass: (0, -mass[0] / mass[1]) if mass[1] else (-1, 0),
    )
    points, rate, power = [(Fraction(0), Fraction(1))], Fraction(0), Fraction(0)
    for p, q in ranked:
        rate, power = rate + q, power + p
        points = [*(point for point in points if point[0] < rate), (rate, 1 - power)]
    return f"TradeOff(points={points_text(points)})"


def _delta(neighbours: Neighbours, epsilon: Fraction) -> Fraction:
    """A little more than the largest delta at an epsilon; 0 stays 0 if no loss is near."""
    exact = hockey_stick(symmetric(neighbours), exponential(epsilon))
    return min(exact // GRID * GRID + 2 * GRID, Fraction(1)) if exact else exact


def _approximate(draw: Draw, neighbours: Neighbours) -> str:
    epsilon = Fraction(draw.integer(0, 16), 8)
    return f"ApproxDP(epsilon={text(epsilon)}, delta={text(_delta(neighbours, epsilon))})"


def _profile(draw: Draw, neighbours: Neighbours) -> str:
    grid = sorted({Fraction(draw.integer(0, 16), 4) for _ in range(draw.integer(1, 4))})
    points = [(epsilon, _delta(neighbours, epsilon)) for epsilon in grid]
    return f"PrivacyProfile(points={points_text(points)})"


def _largest_loss(neighbours: Neighbours) -> Fraction:
    return up(Enumerated(neighbours).largest_loss())


def _pure(draw: Draw, neighbours: Neighbours) -> str:
    del draw
    return f"PureDP(epsilon={text(_largest_loss(neighbours))})"


def _range(draw: Draw, neighbours: Neighbours) -> str:
    del draw
    widest = max(
        max(p / q for p, q in zip(*pair, strict=True) if q)
        / min(p / q for p, q in zip(*pair, strict=True) if q)
        for pair in neighbours.forward
    )
    return (
        f"BoundedRange(epsilon={text(up(MP.log(MP.mpf(widest.numerator) / widest.denominator)))})"
    )


def _renyi(draw: Draw, neighbours: Neighbours) -> str:
    orders = sorted({1 + Fraction(draw.integer(1, 64), 4) for _ in range(draw.integer(1, 4))})
    truth = Enumerated(neighbours)
    return f"RDP(points={points_text([(a, up(truth.renyi(a))) for a in orders])})"


def _gaussian(draw: Draw, neighbours: Neighbours) -> str:
    del draw
    return f"GDP(mu={text(up(Enumerated(neighbours).mu()))})"


def _concentrated(draw: Draw, neighbours: Neighbours) -> str:
    """By pure DP, whose rho is known."""
    del draw
    epsilon = real(_largest_loss(neighbours))
    return f"ZCDP(rho={text(up(epsilon * MP.tanh(epsilon / 2)))})"
