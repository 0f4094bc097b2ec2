"""Poisson subsampling of anything with a dominating pair."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import require_single
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import R, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.side_conditions import BLANK_IGNORED, POISSON_SAMPLE, SAMPLE_HIDDEN
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair

SUBSAMPLE_POISSON: Final = Theorem(
    rule="subsample/poisson",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Theorem 11",
    attained=Attained.WHOLE,  # one record alone in the data: the sample is empty or has it
    again=lambda premises, given: subsample_poisson(premises[0], Poisson(**given)),
)


def subsample_poisson(guarantee: Guarantee[R], scheme: Poisson) -> DominatingPair[R]:
    """Run a mechanism on a Poisson sample of the records.

    Statement: let (P, Q) dominate M(S + x) against M(S), and (P', Q') M(S) against M(S + x).
        Then M on a Poisson sample of rate q is dominated under add/remove by
        ((1-q) Q + q P, Q) and (P', (1-q) P' + q Q'). Under zero-out the same holds when a
        blank record contributes nothing, so that M(S + blank) has the law of M(S).
        Releases on one sample are one mechanism: their product pair is subsampled as a whole.
        A Poisson sample of rate q of a Poisson sample of rate p is a Poisson sample of rate pq,
        so that a guarantee which this theorem made is made again from its premise at rate pq.
    Assumes: independent sampling; hidden sample; blank ignored (under ZeroOut).
    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11. Under replace-one the formula is
        false (Lebeda, Regehr, Kamath & Steinke, arXiv:2405.20769), and the guarantee is refused;
        Gaussian sums have a theorem of their own there, ``subsample_gaussian_sum``.
        Samples of samples: a record is in the inner sample if both independent draws keep it, so
        with probability pq and independently of the other records; the mechanism sees nothing
        but the inner sample.
    Rounds: not at all; the pairs carry exact parameters.
    Laws: at rate 1 the guarantee is returned as a pair, unchanged; never above the
        unsubsampled divergences; at rates p and then q what it is at rate pq.

    Args:
        guarantee: of the mechanism on the sample, with a dominating pair.
        scheme: the sampling rate.
    Returns:
        One pair per direction.
    Raises:
        NotImplied: under replace-one and replace-label, about groups (each of their records is
            drawn by itself), or when only a Rényi curve is known.
    Example:
        >>> from dpproof.accountant import GDP, Poisson
        >>> step = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=0.01))
        >>> round(step.epsilon(delta=1e-6).upper, 6)
        0.363948
    """
    if isinstance(guarantee.relation, ReplaceLabel):
        raise NotImplied(
            "a sample under replace-label has no amplification of epsilon: what is public of the "
            "sampled records may be released; state the guarantee under ReplaceOne(), subsample "
            "that, and restrict the result"
        )
    if isinstance(guarantee.relation, ReplaceOne):
        raise NotImplied(
            "Poisson sampling under replace-one is not the add/remove formula, and is bounded for "
            "Gaussian sums alone: state Gaussian(sensitivity=L2Contribution(...)), or the "
            "sensitivity under AddRemove(), or sample with "
            "WithoutReplacement(sample_size=..., population_size=...)"
        )
    require_single(guarantee, "the amplification by a sample")
    pair = guarantee.to_pair()
    if scheme.sampling_rate == 1:
        return pair
    sampled = _sampled_before(pair)
    if sampled is not None:
        base, rate = sampled
        return subsample_poisson(base, Poisson(sampling_rate=rate * scheme.sampling_rate))
    blank = (BLANK_IGNORED(),) if isinstance(guarantee.relation, ZeroOut) else ()
    return DominatingPair(
        forward=_subsampled(pair.forward, scheme, Direction.REMOVAL),
        backward=_subsampled(pair.backward, scheme, Direction.ADDITION),
        relation=guarantee.relation,
        derivation=applied(
            SUBSAMPLE_POISSON,
            f"Poisson sample of rate {float(scheme.sampling_rate):g}",
            pair,
            assumptions=(
                POISSON_SAMPLE(rate=f"{float(scheme.sampling_rate):g}"),
                SAMPLE_HIDDEN(),
                *blank,
            ),
            sampling_rate=scheme.sampling_rate,
        ),
    )


def _sampled_before(pair: DominatingPair[R]) -> tuple[Guarantee[R], Fraction] | None:
    """Return the guarantee that was Poisson-sampled and the rate, or None.

    It returns None if the pair was not made by this theorem.
    """
    node = pair.derivation
    if node.theorem is not SUBSAMPLE_POISSON:
        return None
    base, rate = node.premises[0].conclusion, dict(node.parameters)["sampling_rate"]
    if not (isinstance(base, Guarantee) and isinstance(rate, Fraction)):
        return None
    return base, rate


def _subsampled(base: Product, scheme: Poisson, direction: Direction) -> Product:
    """Return the product of the sampled pair for one direction.

    It is empty for an empty base, the Gaussian's own pair for Gaussians, else known by the base's
    profile.
    """
    if not base.factors:
        return base
    squares = [
        f.pair.mu_squared * f.count for f in base.factors if isinstance(f.pair, GaussianPair)
    ]
    if len(squares) == len(base.factors):
        gaussian = SubsampledGaussianPair(
            mu_squared=sum(squares[1:], squares[0]),
            sampling_rate=scheme.sampling_rate,
            removal=direction is Direction.REMOVAL,
        )
        return Product.of(gaussian)
    pair = SubsampledPair(base=base, sampling_rate=scheme.sampling_rate, direction=direction)
    return Product.of(pair)
