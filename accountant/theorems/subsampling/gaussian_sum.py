"""Poisson-sampled Gaussian sums under replace-one."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R, ReplaceOne
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.accountant.side_conditions import (
    OUTPUT_ALONE,
    POISSON_SAMPLE,
    RANDOM_BITS,
    SAMPLE_HIDDEN,
    SUM_OF_CONTRIBUTIONS,
)

SUBSAMPLE_GAUSSIAN_SUM: Final = Theorem(
    rule="subsample/gaussian-sum",
    source="proofs/theory/replace_one.md",
    attained=Attained.WHOLE,  # two records with opposite contributions
)


def subsample_gaussian_sum(
    *, sigma: Number, contribution: L2Contribution, scheme: Poisson, relation: R
) -> DominatingPair[R]:
    """Release a sum over a Poisson sample of the records with Gaussian noise, under replace-one.

    Statement: let the sum of the sampled records' contributions, vectors of Euclidean norm at most
        C that each depend on their record alone, be released with independent N(0, sigma^2) noise
        in every coordinate, the sample being Poisson of rate q. Under replace-one the release is
        dominated, in both orders of neighbours and every dimension, by
        P = (1-q) N(0, 1) + q N(mu, 1) and Q = (1-q) N(0, 1) + q N(-mu, 1), mu = C / sigma.
        Two records with opposite contributions of norm C attain it.
    Source: proofs/theory/replace_one.md. The pair is the one that Koskela, Jaelkoe & Honkela
        (arXiv:1906.03049) integrate in one dimension.
    Rounds: not at all; the pair carries exact parameters.
    Assumes: sum of contributions; independent sampling; hidden sample; random bits; output alone.
    Laws: at most the divergences of the sum of all records, 2 mu-GDP; increases in mu and q.

    Args:
        sigma: standard deviation of the noise, in data units.
        contribution: a bound on what one record adds to the sum, in data units. A sensitivity is
            not enough: how far the value moves if a record is not drawn matters, too.
        scheme: the sampling rate, below 1.
        relation: replace-one, under which the number of records is public.
    Returns:
        One pair, for both directions.
    Raises:
        NotImplied: under another relation, whose own theorem is ``subsample_poisson``.
        ParameterError: at rate 1, where nothing is sampled.
    Example:
        >>> from dpproof.accountant import L2Contribution, Poisson, ReplaceOne, self_compose
        >>> step = subsample_gaussian_sum(
        ...     sigma=0.871199,
        ...     contribution=L2Contribution(1),
        ...     scheme=Poisson(sampling_rate=1 / 120),
        ...     relation=ReplaceOne(),
        ... )
        >>> round(self_compose(step, 120).epsilon(delta=1e-5).upper, 6)
        1.13472
    """
    if not isinstance(relation, ReplaceOne):
        raise NotImplied(
            "the theorem on Poisson-sampled Gaussian sums is about replace-one, got "
            f"{type(relation).__name__}; subsample_poisson is about the others"
        )
    if not isinstance(contribution, L2Contribution):
        raise ParameterError(
            "contribution", contribution, "L2Contribution(...)", "a sensitivity is not enough"
        )
    noise, rate = arguments.positive(sigma=sigma), scheme.sampling_rate
    if rate == 1:
        raise ParameterError(
            "sampling_rate", 1, "below 1", "at rate 1 the whole sum is released, which is GDP"
        )
    pair = OppositeGaussiansPair(mu_squared=(contribution.value / noise) ** 2, sampling_rate=rate)
    product, shown = Product.of(pair), f"{float(rate):g}"
    bound = show(contribution.value)
    return DominatingPair(
        forward=product,
        backward=product,
        relation=relation,
        derivation=applied(
            SUBSAMPLE_GAUSSIAN_SUM,
            f"Gaussian noise of standard deviation {show(noise)} on a sum of "
            f"contributions of norm at most {bound} over a Poisson sample of rate {shown}",
            assumptions=(
                SUM_OF_CONTRIBUTIONS(bound=bound),
                POISSON_SAMPLE(rate=shown),
                SAMPLE_HIDDEN(),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
            ),
            sigma=noise,
            contribution=contribution.value,
            sampling_rate=rate,
        ),
    )
