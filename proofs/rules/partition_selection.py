"""Partition selection: a coin for each partition, by its count, or its noisy count."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise

from flint import arb

from dpproof.proofs.core.arithmetic import ball, exact, normal_tail, require_at_most
from dpproof.proofs.core.certificate import read_rational
from dpproof.proofs.core.errors import CertificateError, RefusedError
from dpproof.proofs.core.pairs import FinitePair, Pair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import Pairs
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.pairs.core_pairs import corners as corners_of
from dpproof.proofs.pairs.discrete_gaussian import DiscreteGaussianPair
from dpproof.proofs.pairs.laplace import DiscreteLaplacePair
from dpproof.proofs.rules.finite_mechanism import compare
from dpproof.proofs.rules.finite_pair import copied
from dpproof.proofs.rules.prices import corners_work


def partition_selection(step: Application) -> tuple[str, ...]:
    """Check one finite pair, repeated, above the coins of all partitions whose counts move.

    Counts move by 1, so a coin's laws are those of two consecutive numbers, in either order; the
    profile of two laws is convex in t, and that of a finite pair linear between its corners.
    """
    step.axiom()
    cells, kept = step.witness.whole("cells"), _kept(step)
    claim = step.concludes(Pairs)
    for product in (claim.forward, claim.backward):
        pair = copied(product, cells)
        each = 16 + sum(one.denominator.bit_length() for one in kept) // (16 * len(kept))
        step.budget.spend(corners_work(pair) + 2 * (len(pair.p) + 1) * len(kept) * each)
        corners = corners_of(pair)
        for low, high in pairwise((Fraction(0), *kept)):
            few, many = (low, 1 - low), (high, 1 - high)
            compare(many, few, corners, pair.infinite)
            compare(few, many, corners, pair.infinite)
    listed = openable(", ".join(map(str, kept)))
    released = (
        "its result is an independent coin's outcome for each number n of the list; it is heads "
        f"with probability 0 if n = 0, else with the n-th, the last if there are fewer, of {listed}"
    )
    return f"{_counts(step, cells)}; {released}", FRESH, ALONE


def _kept(step: Application) -> list[Fraction]:
    """Read the probabilities at 1, 2, ... records; the last holds for all larger numbers."""
    try:
        kept = [read_rational(one) for one in step.witness.items("kept")]
    except CertificateError as error:
        raise RefusedError(f"the probabilities: {error}") from None
    if not kept or min(kept) < 0 or max(kept) > 1:
        raise RefusedError("the probabilities must be at least one, each from 0 to 1")
    return kept


def thresholded_counts(step: Application) -> tuple[str, ...]:
    """Check the noise's pairs and (0, delta) for noisy counts from a threshold on.

    Only counts that somebody has are released.

    Proof: proofs/theory/partition_selection.md, Theorem 3.
    """
    step.axiom()
    noise, scale = step.witness.words("noise"), step.witness.positive("scale")
    cells, threshold = step.witness.whole("cells"), step.witness.whole("threshold", least=2)
    delta = step.witness.rational("delta", least=0, most=1)
    if noise not in {"gaussian", "laplace"}:
        raise RefusedError("the rule knows gaussian and laplace noise")
    gaussian = noise == "gaussian"
    shift: Pair = DiscreteGaussianPair(scale**2, 1) if gaussian else DiscreteLaplacePair(scale, 1)
    missed = FinitePair((delta, 1 - delta, delta * 0), (delta * 0, 1 - delta, delta))
    step.expect(Pairs(((shift, cells), (missed, 1)), ((shift, cells), (missed, 1))))

    def published() -> arb:
        if gaussian:
            return cells * normal_tail(ball((threshold - 2) / scale))
        return cells * (-ball((threshold - 1) / scale)).exp() / (1 + (-ball(1 / scale)).exp())

    require_at_most(published, partial(ball, delta), "the probability to publish what one has")
    law = f"e^(-z^2/(2 {exact(scale)}^2))" if gaussian else f"e^(-|z|/{exact(scale)})"
    released = (
        f"adds whole noise of P(z) proportional to {law}, independent in every coordinate; its "
        f"result is the sum of every number above 0 for which that is at least {threshold}, and of "
        "the others that it is not"
    )
    return f"{_counts(step, cells)}; it {released}", FRESH, ALONE


def _counts(step: Application, cells: int) -> str:
    return (
        "computes from the data a list of whole numbers, as long for every dataset, "
        f"none of them negative; at most {cells} of them move, each by at most 1, between "
        f"{step.conclusion.relation} neighbours"
    )
