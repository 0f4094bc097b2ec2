"""Schemes that allocate all records to the batches of an epoch."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import GaussianPair, Pair, Product
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import Pairs
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair

NOTHING_FOR_BLANKS: Final = "adds nothing to the exact sum for a blank record"


def contributed(contribution: Fraction) -> str:
    """Say what a record adds to a sum."""
    each = "each contribution is a list of numbers, as long for every record, of at most"
    return f"{each} {exact(contribution)} in L2 norm that depends on no other record"


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
        f"{often} it adds Gaussian noise of mean 0 and standard deviation {exact(sigma)}, "
        "independent in every coordinate, to every batch's sum of its records' contributions"
    )
    blank = [NOTHING_FOR_BLANKS] * (step.conclusion.relation == "zero-out")
    return f"{order}; {added}; {contributed(contribution)}", *blank, FRESH, ALONE


def random(step: Application) -> tuple[str, ...]:
    """Check the pairs of Gaussian noise in rounds that every record draws by itself.

    One pair of one of t rounds, or the product of k of them, of sizes that differ by at most one
    and add up to t; mu^2 = epochs times the base's: proofs/theory/allocation.md, sections 1, 2.
    """
    relation = step.conclusion.relation
    if relation not in ("add-remove", "zero-out"):
        raise RefusedError("the rule is about add-remove and zero-out")
    if step.conclusion.steps != 1:
        raise RefusedError("the rule is about one record")
    base = step.only(Pairs)
    rounds, chosen = step.witness.whole("rounds"), step.witness.whole("chosen")
    epochs = step.witness.whole("epochs")
    if chosen > rounds or (chosen > 1 and epochs > 1):
        raise RefusedError("chosen is at most rounds, and 1 if the rounds are kept")
    ways = tuple(
        _parts(epochs * _mu_squared(product), rounds, chosen, removal=removal)
        for product, removal in ((base.forward, True), (base.backward, False))
    )
    step.expect(Pairs(*ways))
    return runs_on_draws(step, rounds, chosen, epochs)


def runs_on_draws(step: Application, rounds: int, chosen: int, epochs: int) -> tuple[str, ...]:
    """Return what is assumed of a mechanism in rounds that records draw."""
    drawn = (
        f"of which every record draws {chosen} of {rounds}, uniformly, and independently of the "
        "other records and of every result"
    )
    runs = f"runs {step.mechanisms[0]} in every round on the records that drew it"
    often = "" if epochs == 1 else f", all rounds {epochs} times"
    blank = ["treats a blank record as if it were not there"]
    blanks = blank * (step.conclusion.relation == "zero-out")
    return f"{runs}{often}, rounds {drawn}", *blanks, FRESH, ALONE


def _mu_squared(base: Product) -> Fraction:
    """Return mu^2 of Gaussian pairs; refuse others, and none."""
    squares = [pair.mu_squared * n for pair, n in base if isinstance(pair, GaussianPair)]
    if not base or len(squares) < len(base):
        raise RefusedError("the rule takes a base of Gaussian pairs")
    return sum(squares, Fraction(0))


def _parts(mu_squared: Fraction, rounds: int, chosen: int, *, removal: bool) -> Product:
    """Return the pairs of as many parts of the rounds as are drawn, larger parts first."""
    size, larger = divmod(rounds, chosen)
    sizes = ((size + 1, larger), (size, chosen - larger))
    return tuple((_part(mu_squared, n, removal=removal), count) for n, count in sizes if count)


def _part(mu_squared: Fraction, rounds: int, *, removal: bool) -> Pair:
    """Return the pair of one of so many rounds."""
    if rounds == 1:
        return GaussianPair(mu_squared)
    return AllocatedGaussianPair(mu_squared, rounds, removal)
