"""Write guarantees and pairs in the certificate's JSON."""

from __future__ import annotations

from typing import Any, TypeAlias

from accountant.errors import NotCertified
from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.bounded_range import BoundedRange
from accountant.guarantees.dominating_pair import DominatingPair
from accountant.guarantees.gdp import GDP
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.metric_dp import MetricDP
from accountant.guarantees.point_lists import Points
from accountant.guarantees.privacy_profile import PrivacyProfile
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.rdp import RDP
from accountant.guarantees.trade_off import TradeOff
from accountant.guarantees.zcdp import ZCDP
from accountant.pairs.discrete_gaussian import DiscreteGaussianPair
from accountant.pairs.discrete_laplace import DiscreteLaplacePair
from accountant.pairs.finite import FinitePair
from accountant.pairs.floored_gaussian import FlooredGaussianPair
from accountant.pairs.folded_gaussian import FoldedGaussianPair
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.logistic import LogisticPair
from accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from accountant.pairs.pair import Pair
from accountant.pairs.product import Product
from accountant.pairs.randomized_response import RandomizedResponsePair
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from accountant.run_counts.binomial import BinomialRuns
from accountant.run_counts.finite import FiniteRuns
from accountant.run_counts.fixed import FixedRuns
from accountant.run_counts.law import RunLaw
from accountant.run_counts.poisson import PoissonRuns
from accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from accountant.subsampling.subsampled import SubsampledPair
from proofs import limits
from proofs.certificate import Json, show_rational

Object: TypeAlias = dict[str, Json]


def conclusion(guarantee: Guarantee[Any], steps: int) -> Object:
    """Return a guarantee for datasets at most ``steps`` steps of its relation apart."""
    return {**_claim(guarantee), "relation": guarantee.relation.name, "steps": steps}


def hockey_stick(product: Product, known: Points) -> Object:
    """Return the fact that a product's divergence is at most delta at every point."""
    if len(known) > 1:
        return {"notion": "hockey-sticks", "product": factors(product), "points": points(known)}
    ((epsilon, delta),) = known
    return {
        "notion": "hockey-stick",
        "product": factors(product),
        "epsilon": show_rational(epsilon),
        "delta": show_rational(delta),
    }


def factors(product: Product) -> list[Json]:
    """Return the pairs of a product with their counts."""
    return [{"count": factor.count, "pair": pair(factor.pair)} for factor in product.factors]


def points(listed: Points) -> list[Json]:
    """Return pairs of rationals."""
    return [[show_rational(x), show_rational(y)] for x, y in listed]


def run_law(runs: RunLaw) -> Object:
    """Return the law of a number of runs."""
    match runs:
        case TruncatedNegativeBinomial():
            shape = {"eta": show_rational(runs.eta), "gamma": show_rational(runs.gamma)}
            return {"kind": "truncated-negative-binomial", **shape}
        case PoissonRuns():
            return {"kind": "poisson", "rate": show_rational(runs.rate)}
        case BinomialRuns():
            probability = show_rational(runs.probability)
            return {"kind": "binomial", "trials": runs.trials, "probability": probability}
        case FixedRuns():
            return {"kind": "binomial", "trials": runs.count, "probability": "1"}
        case FiniteRuns():
            return {
                "kind": "finite",
                "probabilities": [show_rational(p) for p in runs.probabilities],
            }
        case _:
            raise NotCertified(f"certificates do not know {type(runs).__name__}")


def _claim(guarantee: Guarantee[Any]) -> Object:
    """Return the guarantee without its relation."""
    match guarantee:
        case PureDP():
            return {"notion": "pure-dp", "epsilon": show_rational(guarantee.stated_epsilon)}
        case ApproxDP():
            return {
                "notion": "approx-dp",
                "epsilon": show_rational(guarantee.stated_epsilon),
                "delta": show_rational(guarantee.stated_delta),
            }
        case BoundedRange():
            return {"notion": "bounded-range", "epsilon": show_rational(guarantee.stated_epsilon)}
        case MetricDP():
            return {"notion": "metric-dp", "epsilon": show_rational(guarantee.stated_epsilon)}
        case GDP():
            return {"notion": "gdp", "mu_squared": show_rational(guarantee.mu_squared)}
        case ZCDP():
            return {"notion": "zcdp", "rho": show_rational(guarantee.rho)}
        case _:
            return _listed(guarantee)


def _listed(guarantee: Guarantee[Any]) -> Object:
    """Return a guarantee that lists points or pairs."""
    match guarantee:
        case RDP():
            return {"notion": "rdp", "points": points(guarantee.points)}
        case PrivacyProfile():
            return {"notion": "privacy-profile", "points": points(guarantee.points)}
        case TradeOff():
            return {"notion": "trade-off", "points": points(guarantee.points)}
        case DominatingPair():
            return {
                "notion": "dominating-pair",
                "forward": factors(guarantee.forward),
                "backward": factors(guarantee.backward),
            }
        case _:
            raise NotCertified(f"certificates do not know {type(guarantee).__name__}")


def pair(one: Pair) -> Object:
    """Return a pair by its kind and exact parameters.

    Raises:
        NotCertified: certificates do not know this kind of pair.
    """
    match one:
        case GaussianPair():
            return {"kind": "gaussian", "mu_squared": show_rational(one.mu_squared)}
        case LaplacePair():
            return {"kind": "laplace", "epsilon": show_rational(one.epsilon)}
        case LogisticPair():
            return {"kind": "logistic", "epsilon": show_rational(one.epsilon)}
        case SubsampledGaussianPair():
            return {
                "kind": "subsampled-gaussian",
                "mu_squared": show_rational(one.mu_squared),
                "sampling_rate": show_rational(one.sampling_rate),
                "removal": one.removal,
            }
        case OppositeGaussiansPair():
            return {
                "kind": "opposite-gaussians",
                "mu_squared": show_rational(one.mu_squared),
                "sampling_rate": show_rational(one.sampling_rate),
            }
        case FlooredGaussianPair(reverse=False):
            return {
                "kind": "floored-gaussian",
                "mu_squared": show_rational(one.mu_squared),
                "floor": show_rational(one.floor),
            }
        case FoldedGaussianPair(reverse=False):
            return {"kind": "folded-gaussian", "mu_squared": show_rational(one.mu_squared)}
        case SubsampledPair():
            return _sampled(one)
        case _:
            return _discrete(one)


def _sampled(one: SubsampledPair) -> Object:
    """Return a sampled pair by its base."""
    return {
        "kind": "sampled",
        "base": factors(one.base),
        "sampling_rate": show_rational(one.sampling_rate),
        "direction": one.direction.value,
    }


def _discrete(one: Pair) -> Object:
    """Return a pair with atoms."""
    match one:
        case RandomizedResponsePair():
            return {
                "kind": "randomized-response",
                "epsilon": show_rational(one.epsilon),
                "categories": one.categories,
                "infinite": show_rational(one.infinite),
            }
        case FinitePair():
            p, q = [[show_rational(mass) for mass in masses] for masses in (one.p, one.q)]
            return {"kind": "finite", "p": p, "q": q}
        case DiscreteLaplacePair():
            return {
                "kind": "discrete-laplace",
                "scale": show_rational(one.scale),
                "shift": one.shift,
            }
        case DiscreteGaussianPair():
            return {
                "kind": "discrete-gaussian",
                "sigma_squared": show_rational(one.sigma_squared),
                "shift": one.shift,
            }
        case _:
            raise NotCertified(
                f"no rule of the certificates covers {type(one).__name__} yet; "
                ".epsilon(delta=...) has the number"
            )


def law_work(runs: RunLaw) -> int:
    """Return the checker's work for one value of phi."""
    return limits.law_work(len(runs.probabilities) if isinstance(runs, FiniteRuns) else 0)
