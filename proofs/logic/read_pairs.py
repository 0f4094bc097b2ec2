"""Pairs and products of pairs from their JSON."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from dpproof.proofs.errors import RefusedError
from dpproof.proofs.fields import Fields
from dpproof.proofs.pairs.discrete_gaussian import DiscreteGaussianPair
from dpproof.proofs.pairs.finite import FinitePair
from dpproof.proofs.pairs.gaussian import GaussianPair
from dpproof.proofs.pairs.gaussian_above_floor import FlooredGaussianPair, FoldedGaussianPair
from dpproof.proofs.pairs.laplace import DiscreteLaplacePair, LaplacePair
from dpproof.proofs.pairs.largest_of_gaussians import LargestOfGaussiansPair
from dpproof.proofs.pairs.logistic import LogisticPair
from dpproof.proofs.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.proofs.pairs.pair import Pair, Product
from dpproof.proofs.pairs.randomized_response import RandomizedResponsePair
from dpproof.proofs.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.proofs.sampled.sampled import SampledPair, read_direction


def _randomized_response(fields: Fields) -> Pair:
    infinite = fields.rational("infinite", least=0, most=1)
    if infinite == 1:
        raise RefusedError("a randomised-response pair needs infinite below 1")
    return RandomizedResponsePair(
        fields.positive("epsilon"), fields.whole("categories", least=2), infinite
    )


def _subsampled_gaussian(fields: Fields) -> Pair:
    return SubsampledGaussianPair(
        fields.positive("mu_squared"), rate(fields), fields.flag("removal")
    )


def _sampled(fields: Fields) -> Pair:
    base = read_product(fields.items("base"))
    return SampledPair(base, rate(fields), read_direction(fields.take("direction")))


def _largest_of_gaussians(fields: Fields) -> Pair:
    return LargestOfGaussiansPair(
        fields.positive("mu_squared"),
        fields.whole("batches"),
        fields.flag("replaced"),
        fields.flag("removal"),
    )


MAX_FLOOR: Final = 600  # nats

KINDS: Final[dict[str, Callable[[Fields], Pair]]] = {
    "gaussian": lambda fields: GaussianPair(fields.positive("mu_squared")),
    "laplace": lambda fields: LaplacePair(fields.positive("epsilon")),
    "logistic": lambda fields: LogisticPair(fields.positive("epsilon")),
    "randomized-response": _randomized_response,
    "finite": lambda fields: FinitePair(fields.rationals("p"), fields.rationals("q")),
    "discrete-laplace": lambda f: DiscreteLaplacePair(f.positive("scale"), f.whole("shift")),
    "discrete-gaussian": lambda f: DiscreteGaussianPair(
        f.positive("sigma_squared"), f.whole("shift")
    ),
    "subsampled-gaussian": _subsampled_gaussian,
    "opposite-gaussians": lambda fields: OppositeGaussiansPair(
        fields.positive("mu_squared"), rate(fields)
    ),
    "floored-gaussian": lambda f: FlooredGaussianPair(
        f.positive("mu_squared"), f.rational("floor", least=0, most=MAX_FLOOR)
    ),
    "folded-gaussian": lambda fields: FoldedGaussianPair(fields.positive("mu_squared")),
    "largest-of-gaussians": _largest_of_gaussians,
    "sampled": _sampled,
}


def rate(fields: Fields) -> Fraction:
    """Return a sampling rate, strictly between 0 and 1."""
    value = fields.positive("sampling_rate")
    if not value < 1:
        raise RefusedError("sampling_rate must be below 1")
    return value


def read_pair(value: object) -> Pair:
    """Return one pair."""
    fields = Fields(value, "a pair")
    kind = fields.take("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise RefusedError(f"no pair is called {kind!r:.60}")
    pair = KINDS[kind](fields)
    fields.close()
    return pair


def read_product(factors: list[object]) -> Product:
    """Return different pairs with their counts; the empty product is the pair of two equal laws."""
    found: dict[Pair, int] = {}
    for item in factors:
        fields = Fields(item, "a factor")
        pair, count = read_pair(fields.take("pair")), fields.whole("count")
        fields.close()
        if pair in found:
            raise RefusedError("a product lists equal pairs twice instead of counting them")
        found[pair] = count
    return tuple(found.items())


def merged(*products: Product) -> Product:
    """Return the product of products: pairs in order of first appearance, counts added up."""
    found: dict[Pair, int] = {}
    for product in products:
        for pair, count in product:
            found[pair] = found.get(pair, 0) + count
    return tuple(found.items())
