"""Schemes that fix a whole epoch: what sums over its batches cost together."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, R, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import ShuffledBatches
from dpproof.accountant.sensitivity import L2Contribution, required_contribution
from dpproof.accountant.side_conditions import (
    BLANK_ADDS_NOTHING,
    OUTPUT_ALONE,
    RANDOM_BITS,
    SHUFFLED_BATCHES,
    SUM_OF_CONTRIBUTIONS,
)
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair

ALLOCATE_SHUFFLED: Final = Theorem(
    rule="allocate/shuffled",
    source="proofs/theory/shuffled.md",
    attained=Attained.WHOLE,  # a record against all others: the lower ends are of that pair
)


def allocate_shuffled(
    *, sigma: Number, contribution: L2Contribution[R], scheme: ShuffledBatches
) -> DominatingPair[R]:
    """Release Gaussian sums of shuffled batches, under zero-out or replace-one.

    Statement: let a uniformly random order of the records fill T batches of public sizes, and be
        kept for E epochs; of every batch the sum of the contributions, vectors of Euclidean norm
        at most C, is released in every epoch with independent N(0, sigma^2) noise in every
        coordinate. All releases are mu-GDP with mu^2 = E (C / sigma)^2 under zero-out, and
        4 E (C / sigma)^2 under replace-one; a blank record adds nothing.
        From below: for one record of contribution C against others of -C, the largest of the
        batches' centred sums is a function of the releases. In units of sigma / sqrt(E) it is the
        maximum of T normal variables, of which one has mean 2 mu with the record and mu when it is
        zeroed out (mu and 0 when it is replaced), the others 0.
    Source: proofs/theory/shuffled.md. The datasets are those of Chua et al., arXiv:2403.17673, and
        2411.04205; the maximum, and other batch sizes, are ours.
    Rounds: not at all; the pair carries exact parameters. Upper ends are a Gaussian's, lower ends
        those of the maximum.
    Assumes: sum of contributions; shuffled batches; random bits; output alone; blank adds nothing
        (under ZeroOut).
    Laws: one batch is the Gaussian mechanism, from below as well; lower ends fall with the number
        of batches; a kept order costs what less noise by sqrt(E) costs.

    Args:
        sigma: standard deviation of the noise, in data units.
        contribution: a bound on what one record adds to a sum, in data units. A sensitivity is
            not enough: every record's contribution matters, as records change places. Under
            zero-out or replace-one, where the number of records is public.
        scheme: the number of batches, and for how many epochs the order is kept.
    Returns:
        One pair per direction, of which one pair above and one below are known.
    Raises:
        NotImplied: under add-remove, where shuffling amplifies nothing, and replace-label.
        ParameterError: not an L2Contribution.
    Example:
        >>> from dpproof.accountant import L2Contribution, ShuffledBatches, ZeroOut, self_compose
        >>> epoch = allocate_shuffled(
        ...     sigma=1,
        ...     contribution=L2Contribution(1, ZeroOut()),
        ...     scheme=ShuffledBatches(batches=469),
        ... )
        >>> cost = self_compose(epoch, 10).epsilon(delta=1e-6)
        >>> round(cost.lower, 2), round(cost.upper, 2)
        (6.9, 19.42)
    """
    relation = required_contribution(contribution)
    _require_public_size(relation)
    noise, replaced = arguments.positive(sigma=sigma), isinstance(relation, ReplaceOne)
    moved = contribution.as_l2().value / noise
    pair = ShuffledGaussianPair(
        mu_squared=scheme.epochs * moved**2, batches=scheme.batches, replaced=replaced
    )
    forward = Product.of(pair)
    bound = show(contribution.bound)
    per = f"{scheme.epochs} epochs" if scheme.epochs > 1 else "one epoch"
    return DominatingPair(
        forward=forward,
        backward=forward if replaced else forward.swapped(),
        relation=relation,
        derivation=applied(
            ALLOCATE_SHUFFLED,
            f"Gaussian noise of standard deviation {show(noise)} on sums of contributions of norm "
            f"at most {bound} over {scheme.batches} shuffled batches for {per} ({relation})",
            assumptions=(
                SUM_OF_CONTRIBUTIONS(bound=bound),
                SHUFFLED_BATCHES(batches=scheme.batches, epochs=per),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
                *[BLANK_ADDS_NOTHING()] * isinstance(relation, ZeroOut),
            ),
            sigma=noise,
            contribution=contribution.bound,
            batches=scheme.batches,
            epochs=scheme.epochs,
        ),
    )


def _require_public_size(relation: object) -> None:
    """Refuse relations under which the number of records is not public, or nothing is proved."""
    if isinstance(relation, AddRemove):
        raise NotImplied(
            "shuffled batches have no guarantee under add-remove: one record less moves another "
            "into the last batch, and the number of batches may show it; shuffling amplifies "
            "nothing there. State the sum under ZeroOut() or ReplaceOne(), where the number of "
            "records is public"
        )
    if not isinstance(relation, ZeroOut | ReplaceOne):
        raise NotImplied(
            f"shuffled batches have a guarantee under ZeroOut() and ReplaceOne(), got "
            f"{type(relation).__name__}; state it under ReplaceOne() and restrict the result"
        )
