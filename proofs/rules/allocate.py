"""Schemes that allocate all records to the batches of an epoch."""

from __future__ import annotations

from typing import Final

from dpproof.proofs.balls.arithmetic import exact
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.logic.rule import Application
from dpproof.proofs.logic.statement import Pairs
from dpproof.proofs.pairs.gaussian import GaussianPair

_MOVES: Final = {"zero-out": 1, "replace-one": 2}  # in contributions


def shuffled(step: Application) -> tuple[str, ...]:
    """Check that a Gaussian pair dominates noisy sums of shuffled batches, in both directions.

    mu^2 = epochs (moves contribution / sigma)^2: proofs/theory/shuffled.md, section 1.
    """
    step.axiom()
    moves = _MOVES.get(step.conclusion.relation)
    if moves is None:
        raise RefusedError("the rule is about zero-out and replace-one")
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    batches, epochs = step.witness.whole("batches"), step.witness.whole("epochs")
    product = ((GaussianPair(epochs * (moves * contribution / sigma) ** 2), 1),)
    step.expect(Pairs(product, product))
    often = "once" if epochs == 1 else f"{epochs} times"
    order = (
        "puts the records in an order that is drawn uniformly, anew and independently of all other "
        f"randomness, fills {batches} batches in it, whose sizes are the same for all datasets"
    )
    added = (
        f"{often} adds to every batch's sum of its records' contributions, each a list of numbers, "
        f"as long for every record, of at most {exact(contribution)} in L2 norm that depends on no "
        "other record"
    )
    noise = (
        f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}, drawn anew for every "
        "coordinate and independent of the data and of all other noise"
    )
    alone = "a function of the noisy sums alone that is the same for all datasets, and nothing else"
    return (f"{order}, {added}, {noise}, and releases {alone}",)
