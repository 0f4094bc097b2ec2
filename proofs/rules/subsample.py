"""Running a mechanism on a random sample of the records."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.proofs.balls.arithmetic import exact
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.logic.read_pairs import rate
from dpproof.proofs.logic.rule import Application
from dpproof.proofs.logic.statement import SYMMETRIC, Pairs
from dpproof.proofs.pairs.gaussian import GaussianPair
from dpproof.proofs.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.proofs.pairs.pair import Pair, Product
from dpproof.proofs.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.proofs.sampled.sampled import Direction, SampledPair

_HIDDEN: Final = (
    "releases what that run releases, and reveals nothing else of the sample or of the data"
)


def poisson(step: Application) -> tuple[str, ...]:
    """Check that ((1-q)Q + qP, Q) dominates for removal and (P', (1-q)P' + qQ') for addition.

    The product of Gaussians is one Gaussian, which has a pair of its own.
    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11; false under replace-one (Lebeda et al.,
    arXiv:2405.20769).
    """
    if step.conclusion.relation in SYMMETRIC:
        raise RefusedError(f"Poisson sampling under {step.conclusion.relation} is not this formula")
    if step.conclusion.steps != 1:
        raise RefusedError("the formula is about one record")
    base, q = step.only(Pairs), rate(step.witness)
    forward = _sampled(base.forward, q, Direction.REMOVAL)
    step.expect(Pairs(((forward, 1),), ((_sampled(base.backward, q, Direction.ADDITION), 1),)))
    (name,) = step.mechanisms
    drawn = (
        f"runs {name} on a sample that is drawn anew for this run, independently of all other "
        f"randomness, into which every record is drawn independently with probability {exact(q)}, "
        f"and {_HIDDEN}"
    )
    if step.conclusion.relation == "zero-out":
        return drawn, "treats a blank record as if it were not there"
    return (drawn,)


def gaussian_sum(step: Application) -> tuple[str, ...]:
    """Check that opposite Gaussians with mu = contribution/sigma dominate a sampled sum.

    The relation is replace-one.

    Source: proofs/theory/replace_one.md.
    """
    step.axiom()
    if step.conclusion.relation != "replace-one":
        raise RefusedError("the rule is about replace-one")
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    q = rate(step.witness)
    pair = OppositeGaussiansPair((contribution / sigma) ** 2, q)
    step.expect(Pairs(((pair, 1),), ((pair, 1),)))
    drawn = (
        "draws a sample, anew and independently of all other randomness, into which every record "
        f"is drawn independently with probability {exact(q)}"
    )
    added = (
        "adds to the sum of the drawn records' contributions, each a list of numbers, as long for "
        f"every record, of at most {exact(contribution)} in L2 norm that depends on no other record"
    )
    noise = (
        f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}, drawn anew for every "
        "coordinate and independent of the data and of all other noise"
    )
    alone = "a function of the noisy sum alone that is the same for all datasets, and nothing else"
    return (f"{drawn}, {added}, {noise}, and releases {alone}",)


def without_replacement(step: Application) -> tuple[str, ...]:
    """Check H_t <= q H_{1+(t-1)/q} for t >= 1 and both orders, q = m/n, under replace-one.

    Source: Balle, Barthe & Gaboardi (arXiv:1807.01647), Theorem 10. Proof:
    proofs/theory/sampled.md.
    """
    if step.conclusion.relation != "replace-one":
        raise RefusedError("the formula is about datasets of one size, under replace-one")
    if step.conclusion.steps != 1:
        raise RefusedError("the formula is about one record")
    base, size = step.only(Pairs), step.witness.whole("sample_size")
    population = step.witness.whole("population_size", least=size + 1)
    if not base.forward:
        raise RefusedError("the rule takes a base of at least one pair")
    pair = SampledPair(base.forward, Fraction(size, population), Direction.REPLACEMENT)
    step.expect(Pairs(((pair, 1),), ((pair, 1),)))
    (name,) = step.mechanisms
    drawn = f"{size} of the {population} records, all such subsets equally likely"
    anew = "drawn anew for this run, independently of all other randomness"
    return (f"runs {name} on {drawn}, {anew}, and {_HIDDEN}",)


def _sampled(base: Product, q: Fraction, direction: Direction) -> Pair:
    """Return the sampled pair of one direction; Gaussian bases have a pair of their own."""
    squares = [pair.mu_squared * n for pair, n in base if isinstance(pair, GaussianPair)]
    if not base:
        raise RefusedError("the rule takes a base of at least one pair")
    if len(squares) < len(base):
        return SampledPair(base, q, direction)
    removal = direction is Direction.REMOVAL
    return SubsampledGaussianPair(sum(squares, Fraction(0)), q, removal)
