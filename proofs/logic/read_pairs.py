"""Pairs of extensions from their JSON, and the language of the whole checker."""

from __future__ import annotations

from functools import partial
from typing import Final

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import Pair
from dpproof.proofs.core.statements import CORE_LANGUAGE, Language, Reader, domain, made_of, rate
from dpproof.proofs.pairs import gaussian_above_floor, pair
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.pairs.gaussian_above_floor import FlooredGaussianPair, FoldedGaussianPair
from dpproof.proofs.pairs.pair import DiscreteGaussianPair, DiscreteLaplacePair, LogisticPair
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.count_laws import read_scheme
from dpproof.proofs.sampled.counted_gaussians import RELATIONS, CountedGaussiansPair
from dpproof.proofs.sampled.sampled import SampledPair, read_direction


def _counted_gaussians(fields: Fields, _language: Language) -> Pair:
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


_below_one: Final = domain("from 0 to below 1", lambda value: 0 <= value < 1)
KINDS: Final[dict[str, Reader[Pair]]] = {
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
