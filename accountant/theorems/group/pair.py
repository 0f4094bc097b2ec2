"""Group privacy of dominating pairs that a shift of log-concave noise makes."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.discrete_laplace import DiscreteLaplacePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.logistic import LogisticPair, LogisticShift
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R

GROUP_PAIR: Final = Theorem(
    rule="group/pair",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14; proved in group_pair",
    attained=Attained.WHOLE,  # a query that moves on along a line
    again=lambda premises, given: group_pair(premises[0], size=given["size"]),
)


def group_pair(guarantee: DominatingPair[R], *, size: int) -> DominatingPair[R]:
    """Multiply the shift by the size of the group.

    Statement: let F be the distribution function of log-concave noise (on the line, or on the
        integers with integer shifts), f_s the trade-off between the noise and its shift by s.
        Then 1 - f_{k s} is 1 - f_s applied k times: what f_s-DP implies for groups of k.
        Products of Gaussians are one Gaussian, mu^2 being the sum, and scale the same way.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14; that shifts add is proved below.
    Proof: the best tests are half-lines (on the integers, randomised at the edge), so the power
        is 1 - f_s(a) = F(F^{-1}(a) + s), and shifts add. On the integers a shift by an integer s
        takes each step of F linearly onto another.
    Rounds: nothing.

    Args:
        guarantee: one Laplace, logistic, discrete Laplace or discrete Gaussian pair, used once,
            or any product of Gaussian pairs; the same in both directions.
        size: number of steps, from 1 to 10**12.

    Returns:
        DominatingPair for datasets that size steps connect.

    Raises:
        NotImplied: any other product. Where each part of a composition has its own guarantee,
            group the parts and compose; else convert to TradeOff at epsilons and group that.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> from fractions import Fraction
        >>> pair = DominatingPair(forward=Product.of(LaplacePair(epsilon=Fraction(1))))
        >>> group_pair(pair, size=3).forward.factors[0].pair
        LaplacePair(epsilon=3)
    """
    times = arguments.count(size=size)
    if times == 1:
        return guarantee
    product = _scaled(guarantee.forward, times)
    if product is None or guarantee.backward.swapped() != guarantee.forward:
        raise NotImplied(
            f"no group-privacy theorem scales {guarantee.describe()}; group each part and "
            "compose, or convert with to=TradeOff (at epsilons) and group that"
        )
    derivation = applied(
        GROUP_PAIR, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return DominatingPair(forward=product, relation=guarantee.relation, derivation=derivation)


def _scaled(product: Product, times: int) -> Product | None:
    """Return the product with shifts multiplied, or None if no theorem applies."""
    pairs = [factor.pair for factor in product.factors]
    gaussians = [pair for pair in pairs if isinstance(pair, GaussianPair)]
    if len(gaussians) == len(pairs):
        return Product(
            tuple(
                Factor(GaussianPair(mu_squared=times**2 * pair.mu_squared), factor.count)
                for pair, factor in zip(gaussians, product.factors, strict=True)
            )
        )
    if len(pairs) > 1 or product.factors[0].count > 1:
        return None
    shifted = _shifted(pairs[0], times)
    return None if shifted is None else Product.of(shifted)


def _shifted(pair: Pair, times: int) -> Pair | None:
    """Return the pair with its shift multiplied, or None for other pairs."""
    if isinstance(pair, LaplacePair):
        return LaplacePair(epsilon=times * pair.epsilon)
    if isinstance(pair, LogisticShift):
        return LogisticPair(epsilon=times * pair.epsilon)
    if isinstance(pair, DiscreteLaplacePair):
        return DiscreteLaplacePair(scale=pair.scale, shift=times * pair.shift)
    if isinstance(pair, DiscreteGaussianPair):
        return DiscreteGaussianPair(sigma_squared=pair.sigma_squared, shift=times * pair.shift)
    return None
