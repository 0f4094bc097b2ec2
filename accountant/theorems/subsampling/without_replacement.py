"""Sampling a fixed number of records without replacement."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import require_single
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R, ReplaceOne
from dpproof.accountant.sampling.without_replacement import WithoutReplacement
from dpproof.accountant.side_conditions import FIXED_SIZE_SAMPLE, SAMPLE_HIDDEN
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair

SUBSAMPLE_WITHOUT_REPLACEMENT: Final = Theorem(
    rule="subsample/without-replacement",
    source="Balle, Barthe & Gaboardi, arXiv:1807.01647, Theorem 10",
    attained=Attained.POINTS,  # a sample without the record is like either neighbour's
    again=lambda premises, given: subsample_without_replacement(
        premises[0], WithoutReplacement(**given)
    ),
)


def subsample_without_replacement(
    guarantee: Guarantee[R], scheme: WithoutReplacement
) -> DominatingPair[R]:
    """Run a mechanism on a uniformly random subset of fixed size.

    Statement: let M have profile delta under replace-one on samples of the fixed size m. On a
        uniform m-subset of n records, with q = m/n, it has profile
        q delta(log(1 + (t-1)/q)) for t = e^eps >= 1, and 1 - t + t times that at 1/t for t < 1.
        The profile is that of one pair, which composes adaptively.
    Assumes: uniform subset; hidden sample.
    Source: Balle, Barthe & Gaboardi (arXiv:1807.01647), Theorem 10; proof repeated in
        ``accountant.pairs.subsampling_formulas.replacement_profile``. Profiles compose as pairs:
        Zhu, Dong & Wang (arXiv:2106.08567), Theorem 10.
    Rounds: not at all; the pair carries exact parameters.
    Laws: at m = n the guarantee is returned as a pair, unchanged.

    Args:
        guarantee: under replace-one, with a dominating pair.
        scheme: sample and population size, both public.
    Returns:
        One pair, for both directions.
    Raises:
        NotImplied: under another relation, where n itself differs between neighbours, about
            groups, or when only a Rényi curve is known.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne, WithoutReplacement
        >>> scheme = WithoutReplacement(sample_size=1, population_size=100)
        >>> step = subsample_without_replacement(GDP(mu=1, relation=ReplaceOne()), scheme)
        >>> round(step.epsilon(delta=1e-6).upper, 6)
        0.363948
    """
    if not isinstance(guarantee.relation, ReplaceOne):
        raise NotImplied(
            "sampling a fixed number of records without replacement has a guarantee under "
            f"ReplaceOne() only, got {type(guarantee.relation).__name__}; state the sensitivity "
            "under ReplaceOne(), or use Poisson(sampling_rate=...)"
        )
    require_single(guarantee, "the amplification by a sample")
    pair = guarantee.to_pair()
    if scheme.sampling_rate == 1:
        return pair
    size, population = scheme.sample_size, scheme.population_size
    sampled = Product.of(
        SubsampledPair(
            base=pair.forward,
            sampling_rate=scheme.sampling_rate,
            direction=Direction.REPLACEMENT,
        )
    )
    return DominatingPair(
        forward=sampled,
        backward=sampled,
        relation=guarantee.relation,
        derivation=applied(
            SUBSAMPLE_WITHOUT_REPLACEMENT,
            f"uniform subset of {size} of {population} records",
            pair,
            assumptions=(
                FIXED_SIZE_SAMPLE(size=size, population=population),
                SAMPLE_HIDDEN(),
            ),
            sample_size=size,
            population_size=population,
        ),
    )
