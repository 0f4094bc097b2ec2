"""State what a step can conclude: one notion each, about one mechanism and all neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias, final

from dpproof.proofs.balls.arithmetic import exact
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.fields import Fields
from dpproof.proofs.logic.lower_ends import PowerAtLeast, RenyiAtLeast
from dpproof.proofs.logic.read_pairs import read_product
from dpproof.proofs.logic.wording import listed, product_words
from dpproof.proofs.pairs.pair import Product

RELATIONS: Final = ("add-remove", "replace-one", "zero-out", "replace-label")
SYMMETRIC: Final = ("replace-one", "replace-label")
Points: TypeAlias = tuple[tuple[Fraction, Fraction], ...]


@final
@dataclass(frozen=True, slots=True)
class PureDP:
    """P(S) <= e^epsilon Q(S) for every event S."""

    epsilon: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return f"{exact(self.epsilon)}-DP"


@final
@dataclass(frozen=True, slots=True)
class ApproxDP:
    """P(S) <= e^epsilon Q(S) + delta for every event S."""

    epsilon: Fraction
    delta: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return f"({exact(self.epsilon)}, {exact(self.delta)})-DP"


@final
@dataclass(frozen=True, slots=True)
class BoundedRange:
    """log P(y)/Q(y) stays in an interval of length epsilon."""

    epsilon: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return f"{exact(self.epsilon)}-bounded-range"


@final
@dataclass(frozen=True, slots=True)
class MetricDP:
    """P and Q end a path of laws with P_s(S) <= e^(epsilon |s - t|) P_t(S) for every event S."""

    epsilon: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return f"{exact(self.epsilon)}-metric-DP along paths"


@final
@dataclass(frozen=True, slots=True)
class GDP:
    """The trade-off between P and Q is at or above that of N(0, 1) and N(mu, 1)."""

    mu_squared: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return f"mu-GDP with mu^2 = {exact(self.mu_squared)}"


@final
@dataclass(frozen=True, slots=True)
class ZCDP:
    """Renyi divergence at most rho a at every order a > 1."""

    rho: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return f"{exact(self.rho)}-zCDP"


@final
@dataclass(frozen=True, slots=True)
class RDP:
    """Renyi divergence at most the value at each listed order > 1."""

    points: Points

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return "Renyi divergences at most " + listed(self.points)


@final
@dataclass(frozen=True, slots=True)
class Profile:
    """(epsilon, delta)-DP at every listed point."""

    points: Points

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return "a privacy profile at most " + listed(self.points)


@final
@dataclass(frozen=True, slots=True)
class TradeOff:
    """Type-II error at least the polygon through the points, at every type-I error."""

    points: Points

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return "a trade-off at least " + listed(self.points)


@final
@dataclass(frozen=True, slots=True)
class Power:
    """P(S) <= true_positive_rate for every event S with Q(S) <= false_positive_rate."""

    false_positive_rate: Fraction
    true_positive_rate: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return (
            f"open to true-positive rates of at most {exact(self.true_positive_rate)} at a "
            f"false-positive rate of {exact(self.false_positive_rate)}"
        )


@final
@dataclass(frozen=True, slots=True)
class Advantage:
    """P(S) <= Q(S) + advantage for every event S."""

    advantage: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return f"open to an advantage of at most {exact(self.advantage)}"


@final
@dataclass(frozen=True, slots=True)
class Pairs:
    """H_eps(P || Q) <= that of the product, for each direction and every real eps.

    ``forward`` stands for neighbours where D holds the extra record, ``backward`` for the others.
    """

    forward: Product
    backward: Product

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        forward, backward = product_words(self.forward), product_words(self.backward)
        if self.forward == self.backward:
            return f"dominated, whichever of two datasets comes first, by {forward}"
        return (
            "dominated forward (the first dataset has the record that the other lacks, or has "
            f"blank) by {forward}, and backward (the second dataset has it) by {backward}"
        )


@final
@dataclass(frozen=True, slots=True)
class HockeyStick:
    """H_epsilon(P || Q) <= delta for one product of pairs, at every listed (epsilon, delta).

    A fact that takes nothing for granted. H_epsilon(P || Q) = sup over S of P(S) - e^epsilon Q(S).
    """

    product: Product
    points: Points

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        if len(self.points) > 1:
            what = f"hockey-stick divergences of {product_words(self.product)}"
            return f"{what} at most {listed(self.points)}"
        ((epsilon, delta),) = self.points
        what = f"hockey-stick divergence at {exact(epsilon)} of {product_words(self.product)}"
        return f"{what} at most {exact(delta)}"


@final
@dataclass(frozen=True, slots=True)
class AtLeast:
    """H_epsilon(P || Q) >= delta for one product of pairs: a fact, of which no rule makes use."""

    product: Product
    epsilon: Fraction
    delta: Fraction

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        what = f"hockey-stick divergence at {exact(self.epsilon)} of {product_words(self.product)}"
        less = f"({exact(self.epsilon)}, less)-DP"
        said = f"{what} at least {exact(self.delta)}: two such outputs are not {less}"
        return said if self.epsilon else f"{said}, and the advantage of attacks is no less"


Claim: TypeAlias = (
    PureDP
    | ApproxDP
    | BoundedRange
    | MetricDP
    | GDP
    | ZCDP
    | RDP
    | Profile
    | TradeOff
    | Power
    | Advantage
    | Pairs
    | HockeyStick
    | AtLeast
    | PowerAtLeast
    | RenyiAtLeast
)


FACTS: Final = (HockeyStick, AtLeast, PowerAtLeast, RenyiAtLeast)
"""Claims about a product of pairs alone, which have neither relation nor steps."""


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """A claim, and the datasets it compares.

    Attributes:
        claim: the claim that holds.
        relation: the neighbouring relation, empty for a fact about pairs.
        steps: the most relation steps between the datasets; 0 for a fact.
    """

    claim: Claim
    relation: str
    steps: int

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        if not self.steps:
            return self.claim.describe()
        apart = "neighbours" if self.steps == 1 else f"datasets up to {self.steps} steps apart"
        return f"{self.claim.describe()} for {self.relation} {apart}"


def _approx(fields: Fields) -> ApproxDP:
    return ApproxDP(fields.rational("epsilon", least=0), fields.rational("delta", least=0, most=1))


def _rdp(fields: Fields) -> RDP:
    points = fields.points("points")
    if points[0][0] <= 1 or min(value for _, value in points) < 0:
        raise RefusedError("Renyi orders must be above 1 and divergences at or above 0")
    return RDP(points)


def _heights(fields: Fields) -> Points:
    points = fields.points("points")
    if points[0][0] < 0 or not all(0 <= delta <= 1 for _, delta in points):
        raise RefusedError("a profile needs epsilons at or above 0 and deltas from 0 to 1")
    return points


def _trade_off(fields: Fields) -> TradeOff:
    points = fields.points("points")
    if points[0][0] != 0 or points[-1][1] != 0 or points[-1][0] > 1:
        raise RefusedError("a trade-off curve goes from type-I error 0 to type-II error 0")
    if any(not 0 <= high <= 1 - x for x, high in points):
        raise RefusedError("a trade-off curve lies between 0 and 1 - type-I error")
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(points)]
    if slopes != sorted(slopes) or (slopes and slopes[-1] > 0):
        raise RefusedError("a trade-off curve is convex and falls")
    return TradeOff(points)


def _power(fields: Fields) -> Power:
    names = ("false_positive_rate", "true_positive_rate")
    return Power(*(fields.rational(name, least=0, most=1) for name in names))


def _pairs(fields: Fields) -> Pairs:
    return Pairs(read_product(fields.items("forward")), read_product(fields.items("backward")))


def _hockey_stick(fields: Fields) -> HockeyStick:
    product = read_product(fields.items("product"))
    point = _approx(fields)
    return HockeyStick(product, ((point.epsilon, point.delta),))


def _at_least(fields: Fields) -> AtLeast:
    product = read_product(fields.items("product"))
    point = _approx(fields)
    return AtLeast(product, point.epsilon, point.delta)


def _power_at_least(fields: Fields) -> PowerAtLeast:
    product, power = read_product(fields.items("product")), _power(fields)
    return PowerAtLeast(product, power.false_positive_rate, power.true_positive_rate)


def _renyi_at_least(fields: Fields) -> RenyiAtLeast:
    product = read_product(fields.items("product"))
    order, value = fields.rational("order"), fields.rational("value", least=0)
    if not order > 1:
        raise RefusedError("Renyi orders must be above 1")
    return RenyiAtLeast(product, order, value)


def _hockey_sticks(fields: Fields) -> HockeyStick:
    return HockeyStick(read_product(fields.items("product")), _heights(fields))


NOTIONS: Final[dict[str, Callable[[Fields], Claim]]] = {
    "pure-dp": lambda fields: PureDP(fields.rational("epsilon", least=0)),
    "approx-dp": _approx,
    "bounded-range": lambda fields: BoundedRange(fields.rational("epsilon", least=0)),
    "metric-dp": lambda fields: MetricDP(fields.rational("epsilon", least=0)),
    "gdp": lambda fields: GDP(fields.rational("mu_squared", least=0)),
    "zcdp": lambda fields: ZCDP(fields.rational("rho", least=0)),
    "rdp": _rdp,
    "privacy-profile": lambda fields: Profile(_heights(fields)),
    "trade-off": _trade_off,
    "true-positive-rate": _power,
    "advantage": lambda fields: Advantage(fields.rational("advantage", least=0, most=1)),
    "dominating-pair": _pairs,
    "hockey-stick": _hockey_stick,
    "hockey-sticks": _hockey_sticks,
    "hockey-stick-at-least": _at_least,
    "true-positive-rate-at-least": _power_at_least,
    "renyi-at-least": _renyi_at_least,
}


NOTION_TYPES: Final[dict[str, type[Claim]]] = {
    "pure-dp": PureDP,
    "approx-dp": ApproxDP,
    "bounded-range": BoundedRange,
    "metric-dp": MetricDP,
    "gdp": GDP,
    "zcdp": ZCDP,
    "rdp": RDP,
    "privacy-profile": Profile,
    "trade-off": TradeOff,
    "dominating-pair": Pairs,
}


def read_statement(value: object) -> Statement:
    """Return a conclusion from its JSON."""
    fields = Fields(value, "the conclusion")
    notion = fields.take("notion")
    if not isinstance(notion, str) or notion not in NOTIONS:
        raise RefusedError(f"no notion is called {notion!r:.60}")
    claim = NOTIONS[notion](fields)
    relation, steps = "", 0
    if not isinstance(claim, FACTS):
        found = fields.take("relation")
        if not isinstance(found, str) or found not in RELATIONS:
            raise RefusedError(f"no relation is called {found!r:.60}")
        relation, steps = found, fields.whole("steps")
    if isinstance(claim, Pairs) and (relation in SYMMETRIC or steps > 1):
        _require_one_product(claim)
    fields.close()
    return Statement(claim, relation, steps)


def _require_one_product(pairs: Pairs) -> None:
    """Refuse two directions where no dataset of two is the one with the extra record.

    Mechanisms could be dominated one by the forward, another by the backward pair of the same
    order of two datasets, and no product that a rule forms covers that: proofs/theory/relations.md.
    """
    if pairs.forward != pairs.backward:
        raise RefusedError(
            "under replace-one and replace-label, and of datasets several steps apart, every order "
            "of two datasets counts: the pairs must be the same in both directions"
        )
