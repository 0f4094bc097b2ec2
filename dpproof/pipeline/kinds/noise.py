"""Words for noise on numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from fractions import Fraction

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.relation import Relation
from dpproof.accountant.sensitivity import (
    L1,
    L2,
    Differences,
    JointSensitivity,
    L2Contribution,
    LInf,
)
from dpproof.mechanisms import (
    BoundedMean,
    BoundedSum,
    CanonicalNoise,
    Clamped,
    CorrelatedGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    FiniteMechanism,
    Gaussian,
    Histogram,
    Laplace,
    ProposeTestRelease,
    Skellam,
    SmoothBound,
    SmoothSensitivity,
    Staircase,
    TruncatedLaplace,
    WithinBound,
)
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters

NORMS: Mapping[str, type[L1 | L2]] = {"l1": L1, "l2": L2}
MOVES: Mapping[str, type[L1 | L2 | LInf]] = {**NORMS, "linf": LInf}


def _gaussian(given: ReleaseParameters) -> Mechanism[Relation]:
    if "noise_multiplier" in given.values:
        multiplier = given.values["noise_multiplier"]
        unit = L2Contribution(1) if given.summed else L2(1)
        try:
            return Gaussian(sigma=multiplier, sensitivity=unit, relation=given.relation)
        except ParameterError as refusal:  # by the file's name for it
            allowed = refusal.allowed
            raise ParameterError("noise_multiplier", multiplier, allowed) from refusal
    if "contribution" in given.values:
        moves: L2 | L2Contribution = L2Contribution(given.values["contribution"])
    else:
        moves = L2(given.values["sensitivity"])
    return Gaussian(sigma=given.values["sigma"], sensitivity=moves, relation=given.relation)


def _laplace(given: ReleaseParameters) -> Mechanism[Relation]:
    sensitivity: L1 | JointSensitivity = L1(given.values["sensitivity"])
    if "each" in given.values:
        sensitivity = JointSensitivity(l1=given.values["sensitivity"], linf=given.values["each"])
    return Laplace(scale=given.values["scale"], sensitivity=sensitivity, relation=given.relation)


def _discrete_gaussian(given: ReleaseParameters) -> Mechanism[Relation]:
    sensitivity = NORMS[given.norm](given.values["sensitivity"])
    return DiscreteGaussian(
        sigma=given.values["sigma"], sensitivity=sensitivity, relation=given.relation
    )


def _skellam(given: ReleaseParameters) -> Mechanism[Relation]:
    sensitivity = NORMS[given.norm](given.values["sensitivity"])
    return Skellam(
        variance=given.values["variance"], sensitivity=sensitivity, relation=given.relation
    )


def _discrete_laplace(given: ReleaseParameters) -> Mechanism[Relation]:
    sensitivity = L1(given.values["sensitivity"])
    return DiscreteLaplace(
        scale=given.values["scale"], sensitivity=sensitivity, relation=given.relation
    )


def _on_integer(build: Callable[..., Mechanism[Relation]]) -> Callable[..., Mechanism[Relation]]:
    """Return what builds noise on one integer."""

    def noise(given: ReleaseParameters) -> Mechanism[Relation]:
        values = {**given.values, "sensitivity": L1(given.values["sensitivity"])}
        return build(**values, relation=given.relation)

    return noise


def _elsewhere(data: object) -> int:
    """Refuse to look at data: a pipeline file has none."""
    raise NotImplied(f"a pipeline file accounts for a query that is not here: {data!r:.40}")


def _smooth_sensitivity(given: ReleaseParameters) -> Mechanism[Relation]:
    return SmoothSensitivity(
        query=_elsewhere,
        bound=SmoothBound(beta=given.values["beta"], bound=_elsewhere),
        scale=given.values["scale"],
        granularity=1,
        relation=given.relation,
    )


def _propose_test_release(given: ReleaseParameters) -> Mechanism[Relation]:
    release = Gaussian(
        sigma=given.values["sigma"],
        sensitivity=L2(given.values["sensitivity"]),
        query=_elsewhere,
        relation=given.relation,
    )
    return ProposeTestRelease(
        release=release,
        distance=_elsewhere,
        epsilon=given.values["epsilon"],
        delta=given.values["delta"],
    )


def _histogram(given: ReleaseParameters) -> Mechanism[Relation]:
    gaussian = "sigma" in given.values
    return Histogram(
        scale=given.values["sigma" if gaussian else "scale"],
        noise="gaussian" if gaussian else "laplace",
        contributions=int(given.values["contributions"]),
        largest=int(given.values["largest"]),
        relation=given.relation,
    )


def _clipped(build: Callable[..., Mechanism[Relation]]) -> Callable[..., Mechanism[Relation]]:
    """Return what builds a statistic of values that are clipped to bounds."""

    def statistic(given: ReleaseParameters) -> Mechanism[Relation]:
        gaussian = "sigma" in given.values
        return build(
            scale=given.values["sigma" if gaussian else "scale"],
            noise="gaussian" if gaussian else "laplace",
            lower=given.values["lower"],
            upper=given.values["upper"],
            relation=given.relation,
        )

    return statistic


def _within_bound(given: ReleaseParameters) -> Mechanism[Relation]:
    gaussian = "noise_multiplier" in given.values
    within = WithinBound(
        statistic="sum",  # a mean costs the same
        noise_multiplier=given.values["noise_multiplier" if gaussian else "scale"],
        noise="gaussian" if gaussian else "laplace",
        relation=given.relation,
    )
    return within.at(1)


def _correlated_gaussian(given: ReleaseParameters) -> Mechanism[Relation]:
    if "differences" in given.rows:
        moves: L1 | L2 | LInf | Differences = Differences(given.rows["differences"])
    else:
        moves = MOVES[given.norm](given.values["sensitivity"])
    return CorrelatedGaussian(given.rows["covariance"], sensitivity=moves, relation=given.relation)


def _finite(given: ReleaseParameters) -> Mechanism[Relation]:
    listed = given.rows.get("neighbours")
    pairs = None if listed is None else [(int(one), int(other)) for one, other in listed]
    table = given.rows["table"]
    for row in table:
        if sum(row) != 1:
            shown, allowed = [float(one) for one in row], "rows that sum to exactly 1"
            hint = 'write ratios such as "1/10", as 0.1 is the float next to it'
            raise ParameterError("table", shown, allowed, hint)
    return FiniteMechanism(table, neighbours=pairs, relation=given.relation)


def _numeric_answers(given: ReleaseParameters) -> Mechanism[Relation]:
    each = given.values["sensitivity"]
    return Laplace(
        scale=given.values["scale"],
        sensitivity=JointSensitivity.few(coordinates=int(given.values["cutoff"]), each=each),
        relation=given.relation,
    )


def _clampable(kind: Kind) -> Kind:
    """Return a kind of noise whose outputs may be moved into a public range."""

    def build(given: ReleaseParameters) -> Mechanism[Relation]:
        own = {name: value for name, value in given.values.items() if name not in ends}
        made = kind.build(dataclasses.replace(given, values=own))
        public = {name: value for name, value in given.values.items() if name in ends}
        return Clamped(made, **public) if public else made

    ends = ("lower", "upper")
    return dataclasses.replace(kind, additions=(*kind.additions, (ends,)), build=build)


_NOISE: Mapping[str, Kind] = {
    "gaussian": Kind(
        words="Gaussian noise",
        forms=(("noise_multiplier",), ("sigma", "sensitivity"), ("sigma", "contribution")),
        norms=("l2",),
        build=_gaussian,
    ),
    "laplace": Kind(
        words="Laplace noise",
        forms=(("scale", "sensitivity"),),
        additions=((("each",),),),
        norms=("l1",),
        build=_laplace,
    ),
    "discrete-gaussian": Kind(
        words="discrete Gaussian noise",
        forms=(("sigma", "sensitivity"),),
        norms=("l1", "l2"),
        whole=True,
        build=_discrete_gaussian,
    ),
    "discrete-laplace": Kind(
        words="discrete Laplace noise",
        forms=(("scale", "sensitivity"),),
        norms=("l1",),
        whole=True,
        build=_discrete_laplace,
    ),
    "truncated-laplace": Kind(
        words="bounded noise",
        forms=(("epsilon", "delta", "sensitivity"),),
        norms=("l1",),
        whole=True,
        build=_on_integer(TruncatedLaplace),
    ),
    "canonical-noise": Kind(
        words="canonical noise",
        forms=(("epsilon", "delta", "sensitivity"),),
        norms=("l1",),
        whole=True,
        build=_on_integer(CanonicalNoise),
    ),
    "staircase": Kind(
        words="staircase noise",
        forms=(("epsilon", "sensitivity"),),
        norms=("l1",),
        whole=True,
        build=_on_integer(Staircase),
    ),
    "skellam": Kind(
        words="Skellam noise",
        forms=(("variance", "sensitivity"),),
        norms=("l1", "l2"),
        whole=True,
        build=_skellam,
    ),
    "numeric-answers": Kind(
        words="noise on the queries found",
        forms=(("scale", "sensitivity"),),
        defaults={"cutoff": Fraction(1)},
        norms=("linf",),
        build=_numeric_answers,
    ),
}
KINDS: Mapping[str, Kind] = {
    **{name: _clampable(kind) for name, kind in _NOISE.items()},
    "smooth-sensitivity": Kind(
        words="noise of a smooth bound", forms=(("beta", "scale"),), build=_smooth_sensitivity
    ),
    "propose-test-release": Kind(
        words="noise after a test of stability",
        forms=(("sigma", "sensitivity", "epsilon", "delta"),),
        norms=("l2",),
        build=_propose_test_release,
    ),
    "correlated-gaussian": Kind(
        words="Gaussian noise with a covariance",
        forms=(("covariance", "sensitivity"), ("covariance", "differences")),
        norms=("l2", "l1", "linf"),
        build=_correlated_gaussian,
    ),
    "finite": Kind(
        words="outputs by a table of probabilities",
        forms=(("table",),),
        additions=((("neighbours",),),),
        build=_finite,
    ),
    "histogram": Kind(
        words="integer noise on counts",
        forms=(("sigma",), ("scale",)),
        defaults={"contributions": Fraction(1), "largest": Fraction(1)},
        build=_histogram,
    ),
    "bounded-sum": Kind(
        words="noise on a sum of clipped values",
        forms=(("sigma", "lower", "upper"), ("scale", "lower", "upper")),
        build=_clipped(BoundedSum),
    ),
    "bounded-mean": Kind(
        words="mean of clipped values",
        forms=(("sigma", "lower", "upper"), ("scale", "lower", "upper")),
        build=_clipped(BoundedMean),
    ),
    "within-bound": Kind(
        words="sum or mean within a released bound",
        forms=(("noise_multiplier",), ("scale",)),
        build=_within_bound,
    ),
}
