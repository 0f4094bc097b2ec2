"""Running a mechanism on a random sample of the records."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import GaussianPair, Pair, Product, SubsampledGaussianPair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.rules import gaussian_sample, poisson_by
from dpproof.proofs.core.statements import Pairs, rate
from dpproof.proofs.pairs.core_pairs import swapped
from dpproof.proofs.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.proofs.sampled.count_laws import Binomial, read_scheme
from dpproof.proofs.sampled.counted_gaussians import CountedGaussiansPair
from dpproof.proofs.sampled.sampled import Direction, SampledPair


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
    drawn = f"draws a sample that holds every record independently with probability {exact(q)}"
    added = (
        "adds to the sum of the drawn records' contributions, each a list of numbers, as long for "
        f"every record, of at most {exact(contribution)} in L2 norm that depends on no other record"
    )
    noise = (
        f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}, independent in every "
        "coordinate"
    )
    return f"{drawn}, and {added}, {noise}", FRESH, ALONE


def counted_sum(step: Application) -> tuple[str, ...]:
    """Check that Gaussian mixtures against a point dominate a sampled sum, under add-remove.

    The same under zero-out where a record enters by coins of its own, so that it moves the sum by
    one contribution. Where a record counts once at most they are a Poisson sample's pair.

    Source: proofs/theory/one_step.md.
    """
    step.axiom()
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    mu_squared = (contribution / sigma) ** 2
    scheme, relation = read_scheme(step.witness.take("scheme")), step.conclusion.relation
    blank = relation == "zero-out" and isinstance(scheme, Binomial) and scheme.moves == 1
    if not (blank or relation == "add-remove"):
        raise RefusedError("the rule is about add-remove, and about users' samples under zero-out")
    pair: Pair = CountedGaussiansPair(mu_squared, scheme, removal=True)
    if scheme.is_simple:
        pair = SubsampledGaussianPair(scheme.moves**2 * mu_squared, scheme.rate, removal=True)
    step.expect(Pairs(((pair, 1),), ((swapped(pair), 1),)))
    added = (
        "adds to the sum of the drawn records' contributions, each a list of numbers, as long for "
        f"every record, of at most {exact(contribution)} in L2 norm that depends on no other record"
    )
    noise = (
        f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}, independent in every "
        "coordinate"
    )
    empty = "treats a blank record as if it were not there"
    return f"{scheme.drawn}, and {added}, {noise}", *[empty] * blank, FRESH, ALONE


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
    drawn = f"a sample of {size} of the {population} records, all such subsets equally likely"
    return f"runs {name} on {drawn}", FRESH, ALONE


def _sample(base: Product, q: Fraction, *, removal: bool) -> Pair:
    """Return the sampled pair of one direction; Gaussian bases have a pair of their own."""
    if all(isinstance(pair, GaussianPair) for pair, _ in base):
        return gaussian_sample(base, q, removal=removal)
    return SampledPair(base, q, Direction.REMOVAL if removal else Direction.ADDITION)


poisson: Final = poisson_by(_sample)
"""Sampled pairs of any base."""
