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
from dpproof.proofs.rules.allocate import NOTHING_FOR_BLANKS, contributed
from dpproof.proofs.sampled.count_laws import read_scheme
from dpproof.proofs.sampled.counted_gaussians import RELATIONS, CountedGaussiansPair
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
    return f"{drawn}, and {_noisy_sum(contribution, sigma)}", FRESH, ALONE


def counted_sum(step: Application) -> tuple[str, ...]:
    """Check that Gaussian mixtures against a point dominate a sampled sum, under add-remove.

    The same under zero-out where a record enters by coins of its own, so that it moves the sum by
    one contribution. Where a record counts once at most they are a Poisson sample's pair. Else,
    where the number of records is public, both laws are mixtures under zero-out and replace-one.

    Source: proofs/theory/one_step.md.
    """
    step.axiom()
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    mu_squared = (contribution / sigma) ** 2
    scheme, relation = read_scheme(step.witness.take("scheme")), step.conclusion.relation
    blank, coins = relation == "zero-out", not scheme.population
    if relation not in RELATIONS or (coins and relation == "replace-one"):
        raise RefusedError("the rule is about add-remove, zero-out, and replace-one of fixed sizes")
    alone = coins or relation == "add-remove"
    named = "add-remove" if alone else relation
    pair: Pair = CountedGaussiansPair(mu_squared, scheme, removal=True, relation=named)
    if alone and scheme.is_simple:
        pair = SubsampledGaussianPair(scheme.moves**2 * mu_squared, scheme.rate, removal=True)
    step.expect(Pairs(((pair, 1),), ((swapped(pair), 1),)))
    empty = "treats a blank record as if it were not there" if coins else NOTHING_FOR_BLANKS
    drawn = scheme.drawn
    if not coins:
        sizes = f"the larger of two neighbours has {scheme.larger}"
        drawn += f", where {sizes if alone else f'every dataset has {scheme.population} records'}"
    return f"{drawn}, and {_noisy_sum(contribution, sigma)}", *[empty] * blank, FRESH, ALONE


def _noisy_sum(contribution: Fraction, sigma: Fraction) -> str:
    noise = f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}"
    drawn = "independent in every coordinate, to the sum of the drawn records' contributions"
    return f"adds {noise}, {drawn}; {contributed(contribution)}"


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
    return f"runs {name} on {drawn}, in random order if their order matters", FRESH, ALONE


def _sample(base: Product, q: Fraction, *, removal: bool) -> Pair:
    """Return the sampled pair of one direction; Gaussian bases have a pair of their own."""
    if all(isinstance(pair, GaussianPair) for pair, _ in base):
        return gaussian_sample(base, q, removal=removal)
    return SampledPair(base, q, Direction.REMOVAL if removal else Direction.ADDITION)


poisson: Final = poisson_by(_sample)
"""Sampled pairs of any base."""
