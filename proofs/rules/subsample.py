"""Running a mechanism on a random sample of the records."""

from __future__ import annotations

from fractions import Fraction

from proofs.arithmetic import show
from proofs.errors import RefusedError
from proofs.pairs.gaussian import GaussianPair
from proofs.pairs.read import Product, rate
from proofs.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.rules.rule import Application
from proofs.statement import Pairs


def poisson(step: Application) -> tuple[str, ...]:
    """((1-q)Q + qP, Q) for removal and (P', (1-q)P' + qQ') for addition dominate.

    For a base of Gaussians, whose product is one Gaussian.
    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11; false under replace-one (Lebeda et al.,
    arXiv:2405.20769).
    """
    if step.conclusion.relation == "replace-one":
        raise RefusedError("Poisson sampling under replace-one is not this formula")
    if step.conclusion.steps != 1:
        raise RefusedError("the formula is about one record")
    base, q = step.only(Pairs), rate(step.witness)
    step.expect(
        Pairs(
            ((SubsampledGaussianPair(_gaussian(base.forward), q, removal=True), 1),),
            ((SubsampledGaussianPair(_gaussian(base.backward), q, removal=False), 1),),
        )
    )
    (name,) = step.mechanisms
    drawn = (
        f"runs {name} on a sample into which every record is drawn independently with probability "
        f"{show(q)}, and reveals nothing else of the sample"
    )
    if step.conclusion.relation == "zero-out":
        return drawn, "treats a blank record as if it were not there"
    return (drawn,)


def _gaussian(base: Product) -> Fraction:
    """Mu squared of a product of Gaussians."""
    squares = [pair.mu_squared * n for pair, n in base if isinstance(pair, GaussianPair)]
    if not base or len(squares) != len(base):
        raise RefusedError("the rule takes a base of Gaussian pairs")
    return sum(squares, Fraction(0))
