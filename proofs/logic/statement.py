"""Notions of extensions, and the language of the whole checker."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Final

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Product, product_words
from dpproof.proofs.core.statements import (
    CORE_LANGUAGE,
    Claim,
    Language,
    Points,
    approx,
    heights,
    power,
)
from dpproof.proofs.logic.lower_ends import PowerAtLeast, RenyiAtLeast
from dpproof.proofs.logic.read_pairs import KINDS


@frozen
class BoundedRange(Claim):
    """log P(y)/Q(y) stays in an interval of length epsilon."""

    epsilon: Fraction
    words: ClassVar[str] = "{epsilon}-bounded-range"


@frozen
class MetricDP(Claim):
    """P and Q end a path of laws with P_s(S) <= e^(epsilon |s - t|) P_t(S) for every event S."""

    epsilon: Fraction
    words: ClassVar[str] = "{epsilon}-metric-DP along paths"


@frozen
class ZCDP(Claim):
    """Renyi divergence at most rho a at every order a > 1."""

    rho: Fraction
    words: ClassVar[str] = "{rho}-zCDP"


@frozen
class RDP(Claim):
    """Renyi divergence at most the value at each listed order > 1."""

    points: Points
    words: ClassVar[str] = "Renyi divergences at most {points}"


@frozen
class Profile(Claim):
    """(epsilon, delta)-DP at every listed point."""

    points: Points
    words: ClassVar[str] = "a privacy profile at most {points}"


@frozen
class TradeOff(Claim):
    """Type-II error at least the polygon through the points, at every type-I error."""

    points: Points
    words: ClassVar[str] = "a trade-off at least {points}"


@frozen
class AtLeast(Claim):
    """H_epsilon(P || Q) >= delta for one product of pairs: a fact, of which no rule makes use."""

    product: Product
    epsilon: Fraction
    delta: Fraction
    fact: ClassVar[bool] = True

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        what = f"hockey-stick divergence at {exact(self.epsilon)} of {product_words(self.product)}"
        less = f"({exact(self.epsilon)}, less)-DP"
        said = f"{what} at least {exact(self.delta)}: two such outputs are not {less}"
        return said if self.epsilon else f"{said}, and the advantage of attacks is no less"


def _rdp(fields: Fields, _: Language) -> RDP:
    points = fields.points("points")
    if points[0][0] <= 1 or min(value for _, value in points) < 0:
        raise RefusedError("Renyi orders must be above 1 and divergences at or above 0")
    return RDP(points)


def _trade_off(fields: Fields, _: Language) -> TradeOff:
    points = fields.points("points")
    if points[0][0] != 0 or points[-1][1] != 0 or points[-1][0] > 1:
        raise RefusedError("a trade-off curve goes from type-I error 0 to type-II error 0")
    if any(not 0 <= high <= 1 - x for x, high in points):
        raise RefusedError("a trade-off curve lies between 0 and 1 - type-I error")
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(points)]
    if slopes != sorted(slopes) or (slopes and slopes[-1] > 0):
        raise RefusedError("a trade-off curve is convex and falls")
    return TradeOff(points)


def _at_least(fields: Fields, language: Language) -> AtLeast:
    product, point = language.product(fields.items("product")), approx(fields, language)
    return AtLeast(product, point.epsilon, point.delta)


def _power_at_least(fields: Fields, language: Language) -> PowerAtLeast:
    product, both = language.product(fields.items("product")), power(fields, language)
    return PowerAtLeast(product, both.false_positive_rate, both.true_positive_rate)


def _renyi_at_least(fields: Fields, language: Language) -> RenyiAtLeast:
    product = language.product(fields.items("product"))
    order, value = fields.rational("order"), fields.rational("value", least=0)
    if not order > 1:
        raise RefusedError("Renyi orders must be above 1")
    return RenyiAtLeast(product, order, value)


NOTIONS: Final[dict[str, Callable[[Fields, Language], Claim]]] = {
    **CORE_LANGUAGE.notions,
    "bounded-range": lambda fields, _: BoundedRange(fields.rational("epsilon", least=0)),
    "metric-dp": lambda fields, _: MetricDP(fields.rational("epsilon", least=0)),
    "zcdp": lambda fields, _: ZCDP(fields.rational("rho", least=0)),
    "rdp": _rdp,
    "privacy-profile": lambda fields, _: Profile(heights(fields)),
    "trade-off": _trade_off,
    "hockey-stick-at-least": _at_least,
    "true-positive-rate-at-least": _power_at_least,
    "renyi-at-least": _renyi_at_least,
}

LANGUAGE: Final = Language(KINDS, NOTIONS)
"""Everything that a certificate may say."""
