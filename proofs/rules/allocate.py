"""Schemes that allocate all records to the batches of an epoch."""

from __future__ import annotations

from typing import Final

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import GaussianPair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import Pairs

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
        f"puts the records in an order that is drawn uniformly and fills {batches} batches in it, "
        "whose sizes are the same for all datasets"
    )
    added = (
        f"{often} adds to every batch's sum of its records' contributions, each a list of numbers, "
        f"as long for every record, of at most {exact(contribution)} in L2 norm that depends on no "
        "other record"
    )
    noise = (
        f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}, independent in every "
        "coordinate"
    )
    return f"{order}, and {added}, {noise}", FRESH, ALONE
