"""Prove trade-off curves of groups by a chain of curves, each made of two before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from dpproof.accountant.certificates.format.serialize import Object, conclusion, points
from dpproof.accountant.certificates.proved_guarantee import ProvedGuarantee
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.point_lists import (
    Points,
    chained,
    shortened,
    symmetric,
    value_at,
)
from dpproof.accountant.guarantees.trade_off import TradeOff
from dpproof.proofs.certificate import Step

# Bits of the slack by which the last curve is lowered, tried in this order. Heuristic.
_BITS: Final = (140, 100, 60, 40)
# Most points of the curves in the chain, to bound the time. Exceeding it raises.
_MOST_POINTS: Final = 1_000


def to_group(node: Derivation, known: Guarantee[Any]) -> ProvedGuarantee | None:
    """Prove the curve of a group, lowered a little, by doubling and adding.

    The curve made of two rounded ones is not exactly its own inverse, as the library's curves are:
    the last is the larger of both, lowered by more than they differ.
    """
    if not isinstance(known, TradeOff):
        return None
    size = int(str(dict(node.parameters)["size"]))
    links = _links(size)
    curves, apart = [known.points], [1]
    for first, second in links:
        curves.append(chained(curves[first], curves[second]))
        apart.append(apart[first] + apart[second])
        if len(curves[-1]) > _MOST_POINTS:
            raise NotCertified(
                f"the trade-off curve of a group of {size} has more than {_MOST_POINTS} corners; "
                "certify a smaller group, or one of PureDP, GDP or ZCDP"
            )
    lowered = next(
        (one for bits in _BITS if _below(one := _lowered(curves[-1], bits), curves[-1])), None
    )
    if lowered is None:
        raise NotCertified(
            f"roundings add up in the trade-off curve of a group of {size}; certify a smaller "
            "group, or one of PureDP, GDP or ZCDP"
        )
    claim = TradeOff(
        points=lowered,
        relation=known.relation,
        derivation=replace(node, premises=(known.derivation,)),
    )

    def steps(base: int) -> Sequence[Step]:
        said: list[Object] = [
            {**conclusion(known, base * count), "points": points(curve)}
            for curve, count in zip(curves[1:-1], apart[1:-1], strict=True)
        ]
        last = conclusion(claim, base * size)
        return [
            Step(rule="group/trade-off", premises=link, witness={}, conclusion=one)
            for link, one in zip(links, [*said, last], strict=True)
        ]

    return ProvedGuarantee(claim, known, steps, size)


def _lowered(curve: Points, bits: int) -> Points:
    """Return the larger of a curve and its inverse, lowered.

    Its corners move towards the origin, except for those with a coordinate 1.
    """
    share = 1 - Fraction(1, 1 << bits)
    corners = symmetric(curve)
    return shortened([(x, y) if 1 in {x, y} else (x * share, y * share) for x, y in corners])


def _below(curve: Points, limit: Points) -> bool:
    """Return whether one convex polygon is at or below another."""
    return all(value_at(curve, x) <= y for x, y in limit)


def _links(size: int) -> list[tuple[int, int]]:
    """Return for each curve the two that it is made of.

    Curve 0 is that of one step, the last that of ``size``.
    """
    links: list[tuple[int, int]] = []
    for digit in f"{size:b}"[1:]:
        links.append((len(links), len(links)))
        if digit == "1":
            links.append((0, len(links)))
    return links
