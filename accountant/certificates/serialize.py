"""Write guarantees, pairs and facts in the certificate's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from fractions import Fraction
from typing import Any, Final, Protocol, TypeAlias

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, Points
from dpproof.accountant.guarantees.guarantee import Guarantee, pair_in_words
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.pairs.cut_gaussian import FlooredGaussianPair, FoldedGaussianPair
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.laplace import (
    DiscreteLaplacePair,
    LaplacePair,
    LogisticPair,
    RandomizedResponsePair,
)
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.ranges import BoundedRangePair
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.accountant.sampling import (
    OneStepScheme,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair
from dpproof.accountant.subsampling.shuffled_reports import ShuffledReportsPair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Json, Step, show_rational

UNCERTIFIED: Final = "ask for the number without a certificate"
"""What to do without a certificate, whatever was asked."""

Object: TypeAlias = dict[str, Json]


def unsaid(what: str) -> str:
    """Return why a derivation that was written by hand has no certificate."""
    return (
        f"the derivation does not record what follows from {what}; make guarantees by the "
        "functions of accountant, which record it"
    )


def unwritten(what: str) -> str:
    """Return why something that certificates do not name has none."""
    return f"certificates are not written for {what} yet; {UNCERTIFIED}"


def conclusion(guarantee: Guarantee[Any], steps: int) -> Object:
    """Return a guarantee for datasets at most ``steps`` steps of its relation apart."""
    if type(guarantee) not in _NOTIONS:
        raise NotCertified(unwritten(guarantee.describe()))
    notion, fields = _NOTIONS[type(guarantee)]
    about: Object = {"relation": guarantee.relation.name, "steps": steps}
    return {"notion": notion, **_written(guarantee, fields), **about}


def hockey_stick(product: Product, claims: Points) -> Object:
    """Return the fact that a product's divergence is at most delta at every point."""
    if len(claims) > 1:
        return {"notion": "hockey-sticks", "product": factors(product), "points": points(claims)}
    ((epsilon, delta),) = claims
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
            raise NotCertified(unwritten(pair_in_words(runs)))


def pair(one: Pair) -> Object:
    """Return a pair by its kind and exact parameters, or refuse an unknown kind."""
    if type(one) not in _PAIRS or getattr(one, "reverse", False):
        raise NotCertified(unwritten(f"the losses of {pair_in_words(one)}"))
    kind, names = _PAIRS[type(one)]
    if isinstance(one, ShuffledReportsPair):
        reports = _written(one.reports, {name: name for name in names.split()})
        return {"kind": kind, **reports, "removal": one.removal}
    if getattr(one, "relation", "add-remove") != "add-remove":
        names += " relation"
    return {"kind": kind, **_written(one, {name: name for name in names.split()})}


def scheme(one: OneStepScheme) -> Object:
    """Return a scheme of one step by its kind and exact parameters."""
    names = {field.name: field.name for field in fields_of(one)}
    return {"kind": _SCHEMES[type(one)], **_written(one, names)}


def _written(one: object, fields: Mapping[str, str]) -> Object:
    """Return attributes of a value in JSON, by the names they have there."""
    values = {name: getattr(one, field) for name, field in fields.items()}
    return {name: value if name in _PLAIN else _json(value) for name, value in values.items()}


def _json(value: object) -> Json:
    """Return an exact value in JSON: a rational, a product, points or masses."""
    match value:
        case Fraction() | int():
            return show_rational(value)
        case Product():
            return factors(value)
        case Direction():
            return value.value
        case UserPoisson() | TruncatedPoisson() | WithReplacement() | WithoutReplacement():
            return scheme(value)
        case tuple():
            return [_json(one) for one in value]
        case _:
            raise NotCertified(unwritten(f"a {type(value).__name__}"))


_NOTIONS: Final[Mapping[type, tuple[str, Mapping[str, str]]]] = {
    PureDP: ("pure-dp", {"epsilon": "stated_epsilon"}),
    ApproxDP: ("approx-dp", {"epsilon": "stated_epsilon", "delta": "stated_delta"}),
    BoundedRange: ("bounded-range", {"epsilon": "stated_epsilon"}),
    MetricDP: ("metric-dp", {"epsilon": "stated_epsilon"}),
    GDP: ("gdp", {"mu_squared": "mu_squared"}),
    ZCDP: ("zcdp", {"rho": "rho"}),
    RDP: ("rdp", {"points": "points"}),
    PrivacyProfile: ("privacy-profile", {"points": "points"}),
    TradeOff: ("trade-off", {"points": "points"}),
    DominatingPair: ("dominating-pair", {"forward": "forward", "backward": "backward"}),
}

_PLAIN: Final = (
    "categories",
    "relation",
    "removal",
    "shift",
    "batches",
    "replaced",
    "contributions",
    "largest",
    "population_size",
    "sample_size",
    "rounds",
    "records",
)

_SCHEMES: Final[Mapping[type, str]] = {
    UserPoisson: "user-poisson",
    TruncatedPoisson: "truncated-poisson",
    WithReplacement: "with-replacement",
    WithoutReplacement: "without-replacement",
}

_PAIRS: Final[Mapping[type, tuple[str, str]]] = {
    GaussianPair: ("gaussian", "mu_squared"),
    LaplacePair: ("laplace", "epsilon"),
    LogisticPair: ("logistic", "epsilon"),
    BoundedRangePair: ("logistic", "epsilon"),
    SubsampledGaussianPair: ("subsampled-gaussian", "mu_squared sampling_rate removal"),
    OppositeGaussiansPair: ("opposite-gaussians", "mu_squared sampling_rate"),
    FlooredGaussianPair: ("floored-gaussian", "mu_squared floor"),
    FoldedGaussianPair: ("folded-gaussian", "mu_squared"),
    ShuffledGaussianPair: ("largest-of-gaussians", "mu_squared batches replaced removal"),
    ShuffledReportsPair: ("shuffled-reports", "epsilon categories records"),
    CountedGaussiansPair: ("counted-gaussians", "mu_squared scheme removal"),
    AllocatedGaussianPair: ("allocated-gaussian", "mu_squared rounds removal"),
    SubsampledPair: ("sampled", "base sampling_rate direction"),
    RandomizedResponsePair: ("randomized-response", "epsilon categories infinite"),
    FinitePair: ("finite", "p q"),
    DiscreteLaplacePair: ("discrete-laplace", "scale shift"),
    DiscreteGaussianPair: ("discrete-gaussian", "sigma_squared shift"),
}


def law_work(runs: RunLaw) -> int:
    """Return the checker's work for one value of phi."""
    return limits.law_work(len(runs.probabilities) if isinstance(runs, FiniteRuns) else 0)


class Proof(Protocol):
    """A bound of the hockey-stick divergence of one product that the checker can repeat."""

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the bound at each epsilon; it never grows with epsilon."""

    def work(self, points: int) -> int:
        """Return approximately how many operations so many points take the checker."""

    def fact(self, points: Points) -> Step:
        """Return the step that concludes that delta is an upper bound at every (epsilon, delta)."""


def fact_step(rule: str, product: Product, points: Points, witness: Object) -> Step:
    """Return a step about a product that has no premises, only its witness."""
    return Step(
        rule=f"hockey-stick/{rule}",
        premises=(),
        witness=witness,
        conclusion=hockey_stick(product, points),
    )
