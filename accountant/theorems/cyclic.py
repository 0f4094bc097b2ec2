"""Poisson samples of parts of the records in turn, of which a banded factor weights the sums."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Rows, Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import AddRemove, R, Relation, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import CyclicPoisson
from dpproof.accountant.sensitivity import L2Contribution, required_contribution
from dpproof.accountant.side_conditions import (
    BLANK_ADDS_NOTHING,
    CYCLIC_SAMPLE,
    OUTPUT_ALONE,
    RANDOM_BITS,
    SAMPLE_HIDDEN,
    SUM_OF_CONTRIBUTIONS,
)

ALLOCATE_CYCLIC: Final = Theorem(
    rule="allocate/cyclic-poisson",
    source="proofs/theory/matrix.md, section 6",
    attained=Attained.NO,  # the last columns of a factor are shorter, and parts are hidden
)


def allocate_cyclic(
    *,
    sigma: Number,
    contribution: L2Contribution[R],
    scheme: CyclicPoisson,
    rounds: int,
    bands: int,
    column: Fraction,
    factor: str,
    listed: Rows,
) -> DominatingPair[R]:
    """Release sums of rounds that a banded factor weights, over Poisson samples of parts in turn.

    Statement: let each of n rounds sum up contributions of Euclidean norm at most B of a Poisson
        sample of rate q of one of b parts of the records, part i mod b in round i; contributions
        may depend on earlier releases. Let C be lower triangular with at most b bands and columns
        of Euclidean norm at most c, and let C times the sums be released, row by row, with
        independent N(0, sigma^2) noise in every coordinate. Let mu = c B / sigma and N(r) be the
        normal law of mean r mu and variance 1. Then all rounds are dominated by the product of
        ceil(n/b) pairs ((1-q) N(0) + q N(1), N(0)), and swapped pairs in the other order; under
        replace-one by that of ((1-q) N(0) + q N(1), (1-q) N(0) + q N(-1)).
    Source: proofs/theory/matrix.md, section 6; Choquette-Choo et al., arXiv:2306.08153, Theorems 4
        and 5, without its equal split under add-remove.
    Rounds: not at all; the pairs carry exact parameters.
    Assumes: sum of contributions; cyclic sample; hidden sample; random bits; output alone;
        blank adds nothing (under ZeroOut).
    Laws: one band and a cycle of 1 is a Poisson sample in every round; increases in mu, q and n.

    Args:
        sigma: standard deviation of the noise, in data units.
        contribution: a bound on what one record adds to the sum of a round, in data units, under
            add-remove, zero-out or replace-one.
        scheme: the rate within a part, and the number of parts.
        rounds: how many.
        bands: entries of C so far below the diagonal are 0; at most as many as parts.
        column: the square of c.
        factor: the kind of C, as a certificate names it.
        listed: its numbers there.
    Returns:
        One pair per direction.
    Raises:
        NotImplied: fewer parts than bands, where what is added to several rounds is mixed.
        ParameterError: not an L2Contribution, or one under replace-label.
    Example:
        >>> from dpproof.accountant import CyclicPoisson, L2Contribution
        >>> step = allocate_cyclic(
        ...     sigma=1,
        ...     contribution=L2Contribution(1),
        ...     scheme=CyclicPoisson(sampling_rate=0.01, cycle=4),
        ...     rounds=400,
        ...     bands=2,
        ...     column=Fraction(5, 4),
        ...     factor="toeplitz",
        ...     listed=((Fraction(1), Fraction(1, 2)),),
        ... )
        >>> round(step.epsilon(delta=1e-6).upper, 4)
        1.3891
    """
    relation, rate, parts = required_contribution(contribution), scheme.sampling_rate, scheme.cycle
    if not isinstance(relation, AddRemove | ZeroOut | ReplaceOne):
        raise ParameterError("relation", relation, "AddRemove(), ZeroOut() or ReplaceOne()")
    if bands > parts:
        raise NotImplied(
            f"a factor of {bands} bands has no guarantee over a cycle of {parts}: noisy rows would "
            "hold several samples of one record; use at least as many parts as bands, or fewer "
            "bands"
        )
    noise, bound = arguments.positive(sigma=sigma), show(contribution.bound)
    mu_squared, blocks = column * (contribution.bound / noise) ** 2, -(-rounds // parts)
    forward = Product.of(_sampled(mu_squared, rate, relation)).times(blocks)
    alone = isinstance(relation, AddRemove)
    dealt = "depends on no other record" if alone else "is drawn without looking at any record"
    return DominatingPair(
        forward=forward,
        backward=forward if isinstance(relation, ReplaceOne) else forward.swapped(),
        relation=relation,
        derivation=applied(
            ALLOCATE_CYCLIC,
            f"Gaussian noise of standard deviation {show(noise)} on {rounds} sums of contributions "
            f"of norm at most {bound}, weighted by a factor of {bands} bands and columns of "
            f"squared norm at most {show(column)}, over Poisson samples of rate {float(rate):g} of "
            f"{parts} parts in turn ({relation})",
            assumptions=(
                SUM_OF_CONTRIBUTIONS(bound=bound),
                CYCLIC_SAMPLE(cycle=parts, dealt=dealt, rate=f"{float(rate):g}"),
                SAMPLE_HIDDEN(),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
                *[BLANK_ADDS_NOTHING()] * isinstance(relation, ZeroOut),
            ),
            sigma=noise,
            contribution=contribution.bound,
            sampling_rate=rate,
            cycle=parts,
            rounds=rounds,
            bands=bands,
            factor=factor,
            listed=listed,
        ),
    )


def _sampled(mu_squared: Fraction, rate: Fraction, relation: Relation) -> Pair:
    """Return the pair of one Poisson sample, of the removal where there is one."""
    if isinstance(relation, ReplaceOne):
        return OppositeGaussiansPair(mu_squared=mu_squared, sampling_rate=rate)
    return SubsampledGaussianPair(mu_squared=mu_squared, sampling_rate=rate, removal=True)
