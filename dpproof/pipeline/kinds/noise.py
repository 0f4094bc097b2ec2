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
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters, declared


def _gaussian(given: ReleaseParameters) -> Mechanism[Relation]:
    if "noise_multiplier" in given.values:
        multiplier = given.values["noise_multiplier"]
        relation = given.relation
        unit = L2Contribution(1, relation) if given.summed else L2(1, relation)
        try:
            return Gaussian(sigma=multiplier, sensitivity=unit)
        except ParameterError as refusal:  # by the file's name for it
            allowed = refusal.allowed
            raise ParameterError("noise_multiplier", multiplier, allowed) from refusal
    moves = (
        L2Contribution(given.values["contribution"], given.relation)
        if "contribution" in given.values
        else L2(given.values["sensitivity"], given.relation)
    )
    return Gaussian(sigma=given.values["sigma"], sensitivity=moves)


def _laplace(given: ReleaseParameters) -> Mechanism[Relation]:
    total, each = given.values["sensitivity"], given.values.get("each")
    moves = (
        L1(total, given.relation)
        if each is None
        else JointSensitivity(l1=total, linf=each, relation=given.relation)
    )
    return Laplace(scale=given.values["scale"], sensitivity=moves)


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
        sensitivity=L2(given.values["sensitivity"], given.relation),
        query=_elsewhere,
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
    moves = (
        Differences(given.rows["differences"], given.relation)
        if "differences" in given.rows
        else given.sensitivity()
    )
    return CorrelatedGaussian(given.rows["covariance"], sensitivity=moves)


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
        sensitivity=JointSensitivity.few(
            coordinates=int(given.values["cutoff"]), each=each, relation=given.relation
        ),
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
    "discrete-gaussian": declared(
        "discrete Gaussian noise", DiscreteGaussian, norms=("l1", "l2"), whole=True
    ),
    "discrete-laplace": declared(
        "discrete Laplace noise", DiscreteLaplace, norms=("l1",), whole=True
    ),
    "truncated-laplace": declared("bounded noise", TruncatedLaplace, norms=("l1",), whole=True),
    "canonical-noise": declared("canonical noise", CanonicalNoise, norms=("l1",), whole=True),
    "staircase": declared("staircase noise", Staircase, norms=("l1",), whole=True),
    "skellam": declared("Skellam noise", Skellam, norms=("l1", "l2"), whole=True),
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
