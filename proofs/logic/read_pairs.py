"""Pairs of extensions from their JSON, and the language of the whole checker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import Pair
from dpproof.proofs.core.statements import CORE_LANGUAGE, Language, rate
from dpproof.proofs.pairs.gaussian_above_floor import (
    FlooredGaussianPair,
    FoldedGaussianPair,
    LargestOfGaussiansPair,
    OppositeGaussiansPair,
)
from dpproof.proofs.pairs.pair import DiscreteGaussianPair, DiscreteLaplacePair, LogisticPair
from dpproof.proofs.pairs.shuffled_reports import ShuffledReportsPair
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.count_laws import read_scheme
from dpproof.proofs.sampled.counted_gaussians import RELATIONS, CountedGaussiansPair
from dpproof.proofs.sampled.sampled import SampledPair, read_direction


def _largest_of_gaussians(fields: Fields, _language: Language) -> Pair:
    return LargestOfGaussiansPair(
        fields.positive("mu_squared"),
        fields.whole("batches"),
        fields.flag("replaced"),
        fields.flag("removal"),
    )


def _shuffled_reports(fields: Fields, _language: Language) -> Pair:
    categories = fields.whole("categories", least=0)
    if categories == 1:
        raise RefusedError("reports have two categories or more, or 0 for clones")
    return ShuffledReportsPair(
        fields.positive("epsilon"), categories, fields.whole("records"), fields.flag("removal")
    )


def _allocated_gaussian(fields: Fields, _language: Language) -> Pair:
    return AllocatedGaussianPair(
        fields.positive("mu_squared"), fields.whole("rounds", least=2), fields.flag("removal")
    )


def _counted_gaussians(fields: Fields, _language: Language) -> Pair:
    relation = fields.words("relation") if fields.has("relation") else ""
    scheme = read_scheme(fields.take("scheme"))
    if relation and (relation not in RELATIONS[1:] or not scheme.population):
        raise RefusedError(f"no pair of counted Gaussians is known under {relation!r:.60}")
    mu_squared, removal = fields.positive("mu_squared"), fields.flag("removal")
    return CountedGaussiansPair(mu_squared, scheme, removal, relation or "add-remove")


MAX_FLOOR: Final = 600  # nats


def _sampled(fields: Fields, language: Language) -> Pair:
    base = language.product(fields.items("base"))
    return SampledPair(base, rate(fields), read_direction(fields.take("direction")))


KINDS: Final[dict[str, Callable[[Fields, Language], Pair]]] = {
    **CORE_LANGUAGE.pairs,
    "logistic": lambda fields, _: LogisticPair(fields.positive("epsilon")),
    "discrete-laplace": lambda f, _: DiscreteLaplacePair(f.positive("scale"), f.whole("shift")),
    "discrete-gaussian": lambda f, _: DiscreteGaussianPair(
        f.positive("sigma_squared"), f.whole("shift")
    ),
    "opposite-gaussians": lambda fields, _: OppositeGaussiansPair(
        fields.positive("mu_squared"), rate(fields)
    ),
    "counted-gaussians": _counted_gaussians,
    "floored-gaussian": lambda f, _: FlooredGaussianPair(
        f.positive("mu_squared"), f.rational("floor", least=0, most=MAX_FLOOR)
    ),
    "folded-gaussian": lambda fields, _: FoldedGaussianPair(fields.positive("mu_squared")),
    "largest-of-gaussians": _largest_of_gaussians,
    "shuffled-reports": _shuffled_reports,
    "allocated-gaussian": _allocated_gaussian,
    "sampled": _sampled,
}
