"""Random allocation: what noise costs in rounds that records draw by themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.provenance import applied, require_single
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import AddRemove, R, ZeroOut
from dpproof.accountant.sampling import BallsInBins, RandomAllocation
from dpproof.accountant.side_conditions import BLANK_IGNORED, RANDOM_ALLOCATION, SAMPLE_HIDDEN
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair

ALLOCATE_RANDOM: Final = Theorem(
    rule="allocate/random",
    source="proofs/theory/allocation.md",
    attained=Attained.WHOLE,  # one record alone in the data
    again=lambda premises, given: allocate_random(premises[0], _scheme(**given)),
)
ALLOCATE_SEVERAL: Final = Theorem(
    rule="allocate/several",
    source="proofs/theory/allocation.md",
    attained=Attained.NO,  # which part of the rounds holds which of the record's is revealed
    again=lambda premises, given: allocate_random(premises[0], _scheme(**given)),
)


def allocate_random(
    guarantee: Guarantee[R], scheme: RandomAllocation | BallsInBins
) -> DominatingPair[R]:
    """Run Gaussian noise in every round, on the records that drew it.

    Statement: let (N(mu, 1), N(0, 1)) dominate M(S + x) against M(S) in both orders, and every
        record draw one of t rounds, uniformly, independently of the other records and of what is
        released. Under add-remove M on the records of round 1, ..., t, in turn, is dominated by
        (P, Q), P the mean over i of N(mu e_i, I) and Q = N(0, I) in t dimensions, and in the
        other order by (Q, P). If the rounds are kept for E epochs, mu^2 is E times as large.
        Under zero-out the same holds when a blank record contributes nothing.
        If every record draws k of t rounds, split t into k parts of sizes that differ by at most
        one: the product of their pairs dominates.
    Source: proofs/theory/allocation.md.
    Rounds: not at all; the pairs carry exact parameters.
    Assumes: random allocation; hidden sample; blank ignored (under ZeroOut).
    Laws: one round is the mechanism itself, and all t of t are t of it; falls with t; kept rounds
        cost what less noise by sqrt(E) costs.

    Args:
        guarantee: of the mechanism in a round: Gaussian noise, once or several times.
        scheme: the number of rounds, and how many of them a record draws or for how long it
            keeps its round.
    Returns:
        One pair per direction.
    Raises:
        NotImplied: under replace-one and replace-label, about groups, of other noise, or when
            only a Renyi curve is known.
        ParameterError: another scheme.
    Example:
        >>> from dpproof.accountant import GDP, RandomAllocation
        >>> epoch = allocate_random(GDP(mu=1), RandomAllocation(steps=1000))
        >>> round(epoch.epsilon(delta=1e-6).upper, 6)
        0.171729
    """
    if not isinstance(scheme, RandomAllocation | BallsInBins):
        raise ParameterError("scheme", scheme, "RandomAllocation(...) or BallsInBins(...)")
    if not isinstance(guarantee.relation, AddRemove | ZeroOut):
        raise NotImplied(
            "random allocation has a guarantee under AddRemove() and ZeroOut(), got "
            f"{type(guarantee.relation).__name__}; state the sensitivity under one of these"
        )
    require_single(guarantee, "the amplification by an allocation")
    pair = guarantee.to_pair()
    if not pair.forward.factors:
        return pair
    chosen, epochs = _numbers(scheme)
    forward = _allocated(_mu_squared(pair.forward) * epochs, scheme.steps, chosen)
    kept = f"{epochs} epochs" if epochs > 1 else "one epoch"
    blank = (BLANK_IGNORED(),) if isinstance(guarantee.relation, ZeroOut) else ()
    return DominatingPair(
        forward=forward,
        backward=forward.swapped(),
        relation=guarantee.relation,
        derivation=applied(
            ALLOCATE_RANDOM if chosen == 1 else ALLOCATE_SEVERAL,
            f"random allocation of every record to {chosen} of {scheme.steps} rounds for {kept}",
            pair,
            assumptions=(
                RANDOM_ALLOCATION(chosen=chosen, steps=scheme.steps, epochs=kept),
                SAMPLE_HIDDEN(),
                *blank,
            ),
            rounds=scheme.steps,
            chosen=chosen,
            epochs=epochs,
        ),
    )


def _numbers(scheme: RandomAllocation | BallsInBins) -> tuple[int, int]:
    """Return how many rounds a record draws, and for how many epochs it keeps them."""
    if isinstance(scheme, BallsInBins):
        return 1, scheme.epochs
    return scheme.chosen, 1


def _scheme(*, rounds: int, chosen: int, epochs: int) -> RandomAllocation | BallsInBins:
    """Return the scheme of these numbers."""
    if epochs > 1:
        return BallsInBins(steps=rounds, epochs=epochs)
    return RandomAllocation(steps=rounds, chosen=chosen)


def _mu_squared(product: Product) -> Fraction:
    """Return mu^2 of a product of Gaussian pairs; refuse others."""
    squares = [
        factor.pair.mu_squared * factor.count
        for factor in product.factors
        if isinstance(factor.pair, GaussianPair)
    ]
    if len(squares) < len(product.factors):
        raise NotImplied(
            "random allocation has a guarantee for Gaussian noise alone; allocate "
            "Gaussian(...), or sample with Poisson(sampling_rate=...)"
        )
    return sum(squares, Fraction(0))


def _allocated(mu_squared: Fraction, rounds: int, chosen: int) -> Product:
    """Return the pairs of as many parts of the rounds as a record draws."""
    size, larger = divmod(rounds, chosen)
    sizes = ((size + 1, larger), (size, chosen - larger))
    return Product.merge([Factor(_one_of(mu_squared, n), count) for n, count in sizes if count])


def _one_of(mu_squared: Fraction, rounds: int) -> GaussianPair | AllocatedGaussianPair:
    """Return the pair of one of so many rounds."""
    if rounds == 1:
        return GaussianPair(mu_squared=mu_squared)
    return AllocatedGaussianPair(mu_squared=mu_squared, rounds=rounds)
