"""Notions and pairs of extensions from their JSON, and the language of the whole checker."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import ClassVar, Final

from dpproof.proofs.core import statements
from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Pair, Product, product_words
from dpproof.proofs.core.statements import CORE_LANGUAGE, Claim, Points, made_of, nonnegative, rate
from dpproof.proofs.fields import points
from dpproof.proofs.pairs import gaussian_above_floor, pair
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.pairs.gaussian_above_floor import FlooredGaussianPair, FoldedGaussianPair
from dpproof.proofs.pairs.pair import DiscreteGaussianPair, DiscreteLaplacePair, LogisticPair
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.counted_gaussians import RELATIONS, CountedGaussiansPair, read_scheme
from dpproof.proofs.sampled.sampled import SampledPair, read_direction


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


@frozen
class PowerAtLeast(Claim):
    """Some test T has Q(T) <= false_positive_rate and P(T) >= true_positive_rate: a fact."""

    product: Product
    false_positive_rate: Fraction
    true_positive_rate: Fraction
    fact: ClassVar[bool] = True
    words: ClassVar[str] = (
        "a test of {product} with a true-positive rate of at least {true_positive_rate} at a "
        "false-positive rate of {false_positive_rate}"
    )


@frozen
class RenyiAtLeast(Claim):
    """The Renyi divergence of P from Q at one order > 1 is at least the value: a fact."""

    product: Product
    order: Fraction
    value: Fraction
    fact: ClassVar[bool] = True
    words: ClassVar[str] = "Renyi divergence of order {order} of {product} at least {value}"


def _heights(fields: Fields, name: str) -> Points:
    """Return points of a profile."""
    found = points(fields, name)
    if found[0][0] < 0 or not all(0 <= delta <= 1 for _, delta in found):
        raise RefusedError("a profile needs epsilons at or above 0 and deltas from 0 to 1")
    return found


def _divergences(fields: Fields, name: str) -> Points:
    """Return Renyi divergences by their orders."""
    found = points(fields, name)
    if found[0][0] <= 1 or min(value for _, value in found) < 0:
        raise RefusedError("Renyi orders must be above 1 and divergences at or above 0")
    return found


def _order(fields: Fields, name: str) -> Fraction:
    """Return one Renyi order."""
    order = fields.rational(name)
    if not order > 1:
        raise RefusedError("Renyi orders must be above 1")
    return order


def _errors(fields: Fields, name: str) -> Points:
    """Return the corners of a trade-off curve."""
    found = points(fields, name)
    if found[0][0] != 0 or found[-1][1] != 0 or found[-1][0] > 1:
        raise RefusedError("a trade-off curve goes from type-I error 0 to type-II error 0")
    if any(not 0 <= high <= 1 - x for x, high in found):
        raise RefusedError("a trade-off curve lies between 0 and 1 - type-I error")
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(found)]
    if slopes != sorted(slopes) or (slopes and slopes[-1] > 0):
        raise RefusedError("a trade-off curve is convex and falls")
    return found


NOTIONS: Final[dict[str, statements.Reader[Claim]]] = {
    **CORE_LANGUAGE.notions,
    "bounded-range": made_of(BoundedRange, epsilon=nonnegative),
    "metric-dp": made_of(MetricDP, epsilon=nonnegative),
    "zcdp": made_of(ZCDP, rho=nonnegative),
    "rdp": made_of(RDP, points=_divergences),
    "privacy-profile": made_of(Profile, points=_heights),
    "trade-off": made_of(TradeOff, points=_errors),
    "hockey-sticks": made_of(statements.HockeyStick, product=None, points=_heights),
    "hockey-stick-at-least": made_of(
        AtLeast, product=None, epsilon=nonnegative, delta=statements.share
    ),
    "true-positive-rate-at-least": made_of(PowerAtLeast, product=None, **statements.RATES),
    "renyi-at-least": made_of(RenyiAtLeast, product=None, order=_order, value=nonnegative),
}


def _counted_gaussians(fields: Fields, _language: statements.Language) -> Pair:
    relation = fields.words("relation") if fields.has("relation") else ""
    scheme = read_scheme(fields.take("scheme"))
    if relation and (relation not in RELATIONS[1:] or not scheme.population):
        raise RefusedError(f"no pair of counted Gaussians is known under {relation!r:.60}")
    mu_squared, removal = fields.positive("mu_squared"), fields.flag("removal")
    return CountedGaussiansPair(mu_squared, scheme, removal, relation or "add-remove")


MAX_FLOOR: Final = 600  # nats


def _several(fields: Fields, name: str) -> int:
    """Return a whole number from 2."""
    return fields.whole(name, least=2)


def _categories(fields: Fields, name: str) -> int:
    """Return a number of categories, 0 for clones."""
    categories = fields.whole(name, least=0)
    if categories == 1:
        raise RefusedError("reports have two categories or more, or 0 for clones")
    return categories


_below_one: Final = statements.domain("from 0 to below 1", lambda value: 0 <= value < 1)
KINDS: Final[dict[str, statements.Reader[Pair]]] = {
    **CORE_LANGUAGE.pairs,
    "randomized-response": made_of(
        RandomizedResponsePair, epsilon=Fields.positive, categories=_several, infinite=_below_one
    ),
    "finite": made_of(FinitePair, p=Fields.rationals, q=Fields.rationals),
    "logistic": made_of(LogisticPair, epsilon=Fields.positive),
    "discrete-laplace": made_of(DiscreteLaplacePair, scale=Fields.positive, shift=Fields.whole),
    "discrete-gaussian": made_of(
        DiscreteGaussianPair, sigma_squared=Fields.positive, shift=Fields.whole
    ),
    "opposite-gaussians": made_of(
        gaussian_above_floor.OppositeGaussiansPair, mu_squared=Fields.positive, sampling_rate=rate
    ),
    "counted-gaussians": _counted_gaussians,
    "floored-gaussian": made_of(
        FlooredGaussianPair,
        mu_squared=Fields.positive,
        floor=partial(Fields.rational, least=0, most=MAX_FLOOR),
    ),
    "folded-gaussian": made_of(FoldedGaussianPair, mu_squared=Fields.positive),
    "largest-of-gaussians": made_of(
        gaussian_above_floor.LargestOfGaussiansPair,
        mu_squared=Fields.positive,
        batches=Fields.whole,
        replaced=Fields.flag,
        removal=Fields.flag,
    ),
    "shuffled-reports": made_of(
        pair.ShuffledReportsPair,
        epsilon=Fields.positive,
        categories=_categories,
        records=Fields.whole,
        removal=Fields.flag,
    ),
    "allocated-gaussian": made_of(
        AllocatedGaussianPair, mu_squared=Fields.positive, rounds=_several, removal=Fields.flag
    ),
    "sampled": made_of(
        SampledPair,
        base=None,
        sampling_rate=rate,
        direction=lambda fields, name: read_direction(fields.take(name)),
    ),
}

LANGUAGE: Final = statements.Language(KINDS, NOTIONS)
"""Everything that a certificate may say."""
