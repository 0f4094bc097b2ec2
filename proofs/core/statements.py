"""What a step can conclude: one notion each, about one mechanism and all neighbours, or a fact."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import ClassVar, Final, TypeAlias, TypeVar

from . import pairs as kinds
from .arithmetic import exact
from .errors import BeyondError, RefusedError
from .fields import Fields
from .frozen import frozen
from .pairs import Pair, Product, Worded, product_words

RELATIONS: Final = ("add-remove", "replace-one", "zero-out", "replace-label")
SYMMETRIC: Final = ("replace-one", "replace-label")
Points: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
C = TypeVar("C")
Reader: TypeAlias = "Callable[[Fields, Language], C]"


class Claim(Worded, ABC):
    """What holds: of a mechanism, or a fact about a product of pairs alone."""

    __slots__ = ()
    fact: ClassVar[bool] = False


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
            return Worded.describe(self)
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

    pairs: Mapping[str, Reader[Pair]]
    notions: Mapping[str, Reader[Claim]]
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
        both_ways = relation in SYMMETRIC or steps > 1  # proofs/theory/relations.md
        if both_ways and isinstance(claim, Pairs) and claim.forward != claim.backward:
            raise RefusedError(
                "under replace-one and replace-label, and of datasets several steps apart, every "
                "order of two datasets counts: the pairs must be the same in both directions"
            )
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


def _named(readers: Mapping[str, Reader[C]], fields: Fields, what: str) -> Reader[C]:
    """Return the reader of the word that an object begins with."""
    word = fields.take(what)
    if not isinstance(word, str) or word not in readers:
        raise BeyondError(f"no {what} is called {word!r:.60}")
    return readers[word]


def merged(*products: Product) -> Product:
    """Return the product of products: pairs in order of first appearance, counts added up."""
    counts: dict[Pair, int] = {}
    for product in products:
        for pair, count in product:
            counts[pair] = counts.get(pair, 0) + count
    return tuple(counts.items())


def made_of(kind: Callable[..., C], **fields: Callable[[Fields, str], object] | None) -> Reader[C]:
    """Return the reader of what these fields make, each read so in this order; None: a product."""

    def read(given: Fields, language: Language) -> C:
        listed = ((name, how, language.product) for name, how in fields.items())
        return kind(*(how(given, x) if how else many(given.items(x)) for x, how, many in listed))

    return read


def domain(what: str, holds: Callable[[Fraction], bool]) -> Callable[[Fields, str], Fraction]:
    """Return the reader of a rational of which something holds."""

    def read(fields: Fields, name: str) -> Fraction:
        value = fields.rational(name)
        if not holds(value):
            raise RefusedError(f"{fields.where}: {name} must be {what}")
        return value

    return read


nonnegative: Final = domain("at or above 0", lambda value: value >= 0)
_rate: Final = domain("above 0 and below 1", lambda value: 0 < value < 1)
share: Final = domain("from 0 to 1", lambda value: 0 <= value <= 1)


def rate(fields: Fields, name: str = "sampling_rate") -> Fraction:
    """Return a sampling rate, strictly between 0 and 1."""
    return _rate(fields, name)


RATES: Final = {"false_positive_rate": share, "true_positive_rate": share}
CORE_LANGUAGE: Final = Language(
    {
        "gaussian": made_of(kinds.GaussianPair, mu_squared=Fields.positive),
        "laplace": made_of(kinds.LaplacePair, epsilon=Fields.positive),
        "subsampled-gaussian": made_of(
            kinds.SubsampledGaussianPair,
            mu_squared=Fields.positive,
            sampling_rate=rate,
            removal=Fields.flag,
        ),
    },
    {
        "pure-dp": made_of(PureDP, epsilon=nonnegative),
        "approx-dp": made_of(ApproxDP, epsilon=nonnegative, delta=share),
        "gdp": made_of(GDP, mu_squared=nonnegative),
        "true-positive-rate": made_of(Power, **RATES),
        "advantage": made_of(Advantage, advantage=share),
        "dominating-pair": made_of(Pairs, forward=None, backward=None),
        "hockey-stick": made_of(
            lambda product, epsilon, delta: HockeyStick(product, ((epsilon, delta),)),
            product=None,
            epsilon=nonnegative,
            delta=share,
        ),
    },
    others=True,
)
