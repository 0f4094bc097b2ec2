"""Group privacy: datasets that several steps between neighbours connect."""

from __future__ import annotations

from typing import Final, TypeVar

from flint import arb

from proofs.arithmetic import ball, exact_sum, require_at_most
from proofs.errors import RefusedError
from proofs.pairs.discrete_gaussian import DiscreteGaussianPair
from proofs.pairs.discrete_laplace import DiscreteLaplacePair
from proofs.pairs.gaussian import GaussianPair
from proofs.pairs.laplace import LaplacePair
from proofs.pairs.logistic import LogisticPair
from proofs.pairs.pair import Pair, Product
from proofs.rules.compose import divergence
from proofs.rules.rule import Application
from proofs.statement import GDP, RDP, ZCDP, ApproxDP, BoundedRange, Pairs, PureDP

C = TypeVar("C")
MAX_CHAIN: Final = 1_000


def pure_dp(step: Application) -> tuple[str, ...]:
    """Epsilon times the size. Source: Dwork & Roth (2014), Theorem 2.2."""
    claim, size = _one(step, PureDP)
    step.expect(PureDP(size * claim.epsilon))
    return ()


def bounded_range(step: Application) -> tuple[str, ...]:
    """Log ratios add up along a chain, and so do the intervals they stay in."""
    claim, size = _one(step, BoundedRange)
    step.expect(BoundedRange(size * claim.epsilon))
    return ()


def gdp(step: Application) -> tuple[str, ...]:
    """Mu times the size. Source: Dong, Roth & Su (arXiv:1905.02383), Theorem 2.14."""
    claim, size = _one(step, GDP)
    step.expect(GDP(size * size * claim.mu_squared))
    return ()


def zcdp(step: Application) -> tuple[str, ...]:
    """Rho times the square of the size. Source: arXiv:1605.02065, Proposition 1.9."""
    claim, size = _one(step, ZCDP)
    step.expect(ZCDP(size * size * claim.rho))
    return ()


def approx_dp(step: Application) -> tuple[str, ...]:
    """With delta (e^{k eps} - 1)/(e^eps - 1). Source: Vadhan (2017), Lemma 2.2."""
    claim, size = _one(step, ApproxDP)
    found = step.concludes(ApproxDP)
    if found.epsilon != size * claim.epsilon:
        raise RefusedError("epsilon is not the premise's times the size")
    if found.delta == 1 or claim.delta == 0:
        return ()
    if claim.epsilon == 0 or size == 1:
        if found.delta < size * claim.delta:
            raise RefusedError("delta is below the premise's times the size")
        return ()

    def sum_of_powers() -> arb:
        return ball(size * claim.epsilon).expm1() / ball(claim.epsilon).expm1()

    require_at_most(lambda: ball(claim.delta) * sum_of_powers(), lambda: ball(found.delta), "delta")
    return ()


def rdp(step: Application) -> tuple[str, ...]:
    """R_k(a) = sum_{j<k} k a/(k a - j) R(k a - j). Proof: proofs/conversions.md, section 4."""
    claim, size = _one(step, RDP)
    if size > MAX_CHAIN:
        raise RefusedError(f"the rule adds up at most {MAX_CHAIN} steps")
    found = step.concludes(RDP).points
    step.budget.spend(8 * size * len(found) * len(claim.points))
    for order, value in found:
        top = size * order
        terms = (top / (top - j) * divergence(claim.points, top - j) for j in range(size))
        if value < exact_sum(terms):
            raise RefusedError(f"at order {order} the divergence is only known to be larger")
    return ()


def pair(step: Application) -> tuple[str, ...]:
    """Shifts of log-concave noise multiply. Source: arXiv:1905.02383, Theorem 2.14.

    The best tests are half-lines, so the power 1 - f_s(a) = F(F^{-1}(a) + s), and shifts add.
    """
    claim, size = _one(step, Pairs)
    if claim.forward != claim.backward:
        raise RefusedError("the rule takes the same pair in both directions")
    scaled = _scaled(claim.forward, size)
    step.expect(Pairs(scaled, scaled))
    return ()


def _one(step: Application, kind: type[C]) -> tuple[C, int]:
    """The one premise, and how many of its steps the conclusion is about."""
    size = step.witness.whole("size")
    if len(step.premises) != 1:
        raise RefusedError("the rule takes one premise")
    (premise,) = step.premises
    if not isinstance(premise.claim, kind):
        raise RefusedError(f"the premise is not {kind.__name__}")
    if step.conclusion.steps != size * premise.steps:
        raise RefusedError("the conclusion is about another distance")
    return premise.claim, size


def _scaled(product: Product, size: int) -> Product:
    if all(isinstance(one, GaussianPair) for one, _ in product):
        return tuple((_shifted(one, size), count) for one, count in product)
    if len(product) > 1 or product[0][1] > 1:
        raise RefusedError("the rule takes one pair, once, or Gaussian pairs")
    return ((_shifted(product[0][0], size), 1),)


def _shifted(one: Pair, size: int) -> Pair:
    match one:
        case GaussianPair(mu_squared):
            return GaussianPair(size * size * mu_squared)
        case LaplacePair(epsilon):
            return LaplacePair(size * epsilon)
        case LogisticPair(epsilon):
            return LogisticPair(size * epsilon)
        case DiscreteLaplacePair(scale, shift):
            return DiscreteLaplacePair(scale, size * shift)
        case DiscreteGaussianPair(sigma_squared, shift):
            return DiscreteGaussianPair(sigma_squared, size * shift)
    raise RefusedError(f"no theorem shifts {one.describe()}")
