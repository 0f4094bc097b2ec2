"""What a step can conclude: one notion each, about one mechanism and all neighbours, or a fact."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields as fields_of
from fractions import Fraction
from typing import ClassVar, Final, TypeAlias, TypeVar

from . import pairs as kinds
from .arithmetic import exact
from .errors import BeyondError, RefusedError
from .fields import Fields
from .frozen import frozen
from .pairs import Pair, Product, product_words
from .verdict import openable

RELATIONS: Final = ("add-remove", "replace-one", "zero-out", "replace-label")
SYMMETRIC: Final = ("replace-one", "replace-label")
Points: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Claim(ABC):  # noqa: B024  # its words are what it leaves open
    """What holds: of a mechanism, or a fact about a product of pairs alone."""

    fact: ClassVar[bool] = False
    words: ClassVar[str] = ""

    def describe(self) -> str:
        """Return the claim in words and numbers: its words, its fields where they name them."""
        shown: Mapping[str, Callable[..., str]] = {"product": product_words, "points": listed}
        names = [one.name for one in fields_of(self)]
        return self.words.format(**{x: shown.get(x, exact)(getattr(self, x)) for x in names})


@frozen
class PureDP(Claim):
    """P(S) <= e^epsilon Q(S) for every event S."""

    epsilon: Fraction
    words: ClassVar[str] = "{epsilon}-DP"


@frozen
class ApproxDP(Claim):
    """P(S) <= e^epsilon Q(S) + delta for every event S."""

    epsilon: Fraction
    delta: Fraction
    words: ClassVar[str] = "({epsilon}, {delta})-DP"


@frozen
class GDP(Claim):
    """The trade-off between P and Q is at or above that of N(0, 1) and N(mu, 1)."""

    mu_squared: Fraction
    words: ClassVar[str] = "mu-GDP with mu^2 = {mu_squared}"


@frozen
class Power(Claim):
    """P(S) <= true_positive_rate for every event S with Q(S) <= false_positive_rate."""

    false_positive_rate: Fraction
    true_positive_rate: Fraction
    words: ClassVar[str] = (
        "open to true-positive rates of at most {true_positive_rate} at a false-positive rate of "
        "{false_positive_rate}"
    )


@frozen
class Advantage(Claim):
    """P(S) <= Q(S) + advantage for every event S."""

    advantage: Fraction
    words: ClassVar[str] = "open to an advantage of at most {advantage}"


@frozen
class Pairs(Claim):
    """H_eps(P || Q) <= that of the product at every real eps; forward if D has the extra record."""

    forward: Product
    backward: Product

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        forward, backward = product_words(self.forward), product_words(self.backward)
        if self.forward == self.backward:
            return f"dominated, whichever of two datasets comes first, by {forward}"
        return (
            "dominated forward (the first dataset has the record that the other lacks, or has "
            f"blank) by {forward}, and backward (the second has it) by {backward}"
        )


@frozen
class HockeyStick(Claim):
    """H_epsilon(P || Q) = sup over S of P(S) - e^epsilon Q(S) <= delta at every listed point."""

    product: Product
    points: Points
    fact: ClassVar[bool] = True
    words: ClassVar[str] = "hockey-stick divergences of {product} at most {points}"

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        if len(self.points) > 1:
            return Claim.describe(self)
        ((epsilon, delta),) = self.points
        what = f"hockey-stick divergence at {exact(epsilon)} of {product_words(self.product)}"
        return f"{what} at most {exact(delta)}"


@frozen
class Statement:
    """A claim about datasets at most so many steps of a relation apart; a fact has 0, and none."""

    claim: Claim
    relation: str
    steps: int

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        if not self.steps:
            return self.claim.describe()
        apart = "neighbours" if self.steps == 1 else f"datasets up to {self.steps} steps apart"
        return f"{self.claim.describe()} for {self.relation} {apart}"


@frozen
class Language:
    """How each kind of pair and each notion is read; others may be kept as they are written."""

    pairs: Mapping[str, Callable[[Fields, Language], Pair]]
    notions: Mapping[str, Callable[[Fields, Language], Claim]]
    others: bool = False

    def statement(self, value: object) -> Statement:
        """Return a conclusion from its JSON."""
        fields = Fields(value, "the conclusion")
        claim, relation, steps = _named(self.notions, fields, "notion")(fields, self), "", 0
        if not claim.fact:
            relation = str(fields.take("relation"))
            if relation not in RELATIONS:
                raise RefusedError(f"no relation is called {relation!r:.60}")
            steps = fields.whole("steps")
        if isinstance(claim, Pairs) and (relation in SYMMETRIC or steps > 1):
            _require_one_product(claim)
        fields.close()
        return Statement(claim, relation, steps)

    def product(self, factors: list[object]) -> Product:
        """Return different pairs with their counts; the empty product is two equal laws."""
        counts: dict[Pair, int] = {}
        for item in factors:
            fields = Fields(item, "a factor")
            pair, count = self.pair(fields.take("pair")), fields.whole("count")
            fields.close()
            if pair in counts:
                raise RefusedError("a product lists equal pairs twice instead of counting them")
            counts[pair] = count
        return tuple(counts.items())

    def pair(self, value: object) -> Pair:
        """Return one pair."""
        fields = Fields(value, "a pair")
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if self.others and isinstance(kind, str) and kind not in self.pairs:
            return kinds.OtherPair(json.dumps(value, sort_keys=True))
        pair = _named(self.pairs, fields, "kind")(fields, self)
        fields.close()
        return pair


def _named(readers: Mapping[str, Callable[..., C]], fields: Fields, what: str) -> Callable[..., C]:
    """Return the reader of the word that an object begins with."""
    word = fields.take(what)
    if not isinstance(word, str) or word not in readers:
        raise BeyondError(f"no {what} is called {word!r:.60}")
    return readers[word]


def _require_one_product(pairs: Pairs) -> None:
    """Refuse two directions where no dataset of two is the one with the extra record.

    Of two mechanisms each could be dominated by another one (proofs/theory/relations.md).
    """
    if pairs.forward != pairs.backward:
        raise RefusedError(
            "under replace-one and replace-label, and of datasets several steps apart, every order "
            "of two datasets counts: the pairs must be the same in both directions"
        )


def listed(points: Sequence[tuple[Fraction, Fraction]]) -> str:
    """List every point in words."""
    return openable(", ".join(f"({exact(x)}, {exact(y)})" for x, y in points))


def merged(*products: Product) -> Product:
    """Return the product of products: pairs in order of first appearance, counts added up."""
    counts: dict[Pair, int] = {}
    for product in products:
        for pair, count in product:
            counts[pair] = counts.get(pair, 0) + count
    return tuple(counts.items())


def rate(fields: Fields) -> Fraction:
    """Return a sampling rate, strictly between 0 and 1."""
    value = fields.positive("sampling_rate")
    if not value < 1:
        raise RefusedError("sampling_rate must be below 1")
    return value


def heights(fields: Fields) -> Points:
    """Return points of a profile."""
    points = fields.points("points")
    if points[0][0] < 0 or not all(0 <= delta <= 1 for _, delta in points):
        raise RefusedError("a profile needs epsilons at or above 0 and deltas from 0 to 1")
    return points


def approx(fields: Fields, _: Language) -> ApproxDP:
    """Return epsilon and delta."""
    return ApproxDP(fields.rational("epsilon", least=0), fields.rational("delta", least=0, most=1))


def power(fields: Fields, _: Language) -> Power:
    """Return both rates of an attack."""
    names = ("false_positive_rate", "true_positive_rate")
    return Power(*(fields.rational(name, least=0, most=1) for name in names))


def _pairs(fields: Fields, language: Language) -> Pairs:
    return Pairs(*(language.product(fields.items(name)) for name in ("forward", "backward")))


def _hockey_stick(fields: Fields, language: Language) -> HockeyStick:
    product, point = language.product(fields.items("product")), approx(fields, language)
    return HockeyStick(product, ((point.epsilon, point.delta),))


def _response(fields: Fields, _: Language) -> kinds.RandomizedResponsePair:
    infinite = fields.rational("infinite", least=0, most=1)
    if infinite == 1:
        raise RefusedError("a randomised-response pair needs infinite below 1")
    epsilon, categories = fields.positive("epsilon"), fields.whole("categories", least=2)
    return kinds.RandomizedResponsePair(epsilon, categories, infinite)


def _subsampled(fields: Fields, _: Language) -> kinds.SubsampledGaussianPair:
    mu_squared = fields.positive("mu_squared")
    return kinds.SubsampledGaussianPair(mu_squared, rate(fields), fields.flag("removal"))


CORE_LANGUAGE: Final = Language(
    {
        "gaussian": lambda fields, _: kinds.GaussianPair(fields.positive("mu_squared")),
        "laplace": lambda fields, _: kinds.LaplacePair(fields.positive("epsilon")),
        "randomized-response": _response,
        "finite": lambda fields, _: kinds.FinitePair(fields.rationals("p"), fields.rationals("q")),
        "subsampled-gaussian": _subsampled,
    },
    {
        "pure-dp": lambda fields, _: PureDP(fields.rational("epsilon", least=0)),
        "approx-dp": approx,
        "gdp": lambda fields, _: GDP(fields.rational("mu_squared", least=0)),
        "true-positive-rate": power,
        "advantage": lambda fields, _: Advantage(fields.rational("advantage", least=0, most=1)),
        "dominating-pair": _pairs,
        "hockey-stick": _hockey_stick,
        "hockey-sticks": lambda fields, language: HockeyStick(
            language.product(fields.items("product")), heights(fields)
        ),
    },
    others=True,
)
