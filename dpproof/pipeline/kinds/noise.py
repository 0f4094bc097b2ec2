"""Words for noise on numbers."""

import dataclasses
from collections.abc import Callable, Mapping
from fractions import Fraction

from dpproof import mechanisms
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.relation import Relation
from dpproof.accountant.sensitivity import L1, L2, Differences, JointSensitivity, L2Contribution
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters, declared


def _gaussian(stated: ReleaseParameters) -> Mechanism[Relation]:
    if "noise_multiplier" in stated.values:
        multiplier = stated.values["noise_multiplier"]
        relation = stated.relation
        unit = L2Contribution(1, relation) if stated.summed else L2(1, relation)
        try:
            return mechanisms.Gaussian(sigma=multiplier, sensitivity=unit)
        except ParameterError as refusal:  # by the file's name for it
            allowed = refusal.allowed
            raise ParameterError("noise_multiplier", multiplier, allowed) from refusal
    moves = (
        L2Contribution(stated.values["contribution"], stated.relation)
        if "contribution" in stated.values
        else L2(stated.values["sensitivity"], stated.relation)
    )
    return mechanisms.Gaussian(sigma=stated.values["sigma"], sensitivity=moves)


def _laplace(stated: ReleaseParameters) -> Mechanism[Relation]:
    total, each = stated.values["sensitivity"], stated.values.get("each")
    moves = (
        L1(total, stated.relation)
        if each is None
        else JointSensitivity(l1=total, linf=each, relation=stated.relation)
    )
    return mechanisms.Laplace(scale=stated.values["scale"], sensitivity=moves)


def _elsewhere(data: object) -> int:
    """Refuse to look at data: a pipeline file has none."""
    raise NotImplied(f"a pipeline file accounts for a query that is not here: {data!r:.40}")


def _smooth_sensitivity(stated: ReleaseParameters) -> Mechanism[Relation]:
    return mechanisms.SmoothSensitivity(
        query=_elsewhere,
        bound=mechanisms.SmoothBound(beta=stated.values["beta"], bound=_elsewhere),
        scale=stated.values["scale"],
        granularity=1,
        relation=stated.relation,
    )


def _propose_test_release(stated: ReleaseParameters) -> Mechanism[Relation]:
    release = mechanisms.Gaussian(
        sigma=stated.values["sigma"],
        sensitivity=L2(stated.values["sensitivity"], stated.relation),
        query=_elsewhere,
    )
    return mechanisms.ProposeTestRelease(
        release=release,
        distance=_elsewhere,
        epsilon=stated.values["epsilon"],
        delta=stated.values["delta"],
    )


def _histogram(stated: ReleaseParameters) -> Mechanism[Relation]:
    return mechanisms.Histogram(
        **stated.noise(),
        contributions=int(stated.values["contributions"]),
        largest=int(stated.values["largest"]),
        relation=stated.relation,
    )


def _clipped(build: Callable[..., Mechanism[Relation]]) -> Callable[..., Mechanism[Relation]]:
    """Return what builds a statistic of values that are clipped to bounds."""

    def statistic(release: ReleaseParameters) -> Mechanism[Relation]:
        return build(
            **release.noise(),
            lower=release.values["lower"],
            upper=release.values["upper"],
            relation=release.relation,
        )

    return statistic


def _within_bound(stated: ReleaseParameters) -> Mechanism[Relation]:
    gaussian = "noise_multiplier" in stated.values
    within = mechanisms.WithinBound(
        statistic="sum",  # a mean costs the same
        noise_multiplier=stated.values["noise_multiplier" if gaussian else "scale"],
        noise="gaussian" if gaussian else "laplace",
        relation=stated.relation,
    )
    return within.at(1)


def _correlated_gaussian(stated: ReleaseParameters) -> Mechanism[Relation]:
    moves = (
        Differences(stated.rows["differences"], stated.relation)
        if "differences" in stated.rows
        else stated.sensitivity()
    )
    return mechanisms.CorrelatedGaussian(stated.rows["covariance"], sensitivity=moves)


def _finite(stated: ReleaseParameters) -> Mechanism[Relation]:
    listed = stated.rows.get("neighbours")
    pairs = None if listed is None else [(int(one), int(other)) for one, other in listed]
    table = stated.rows["table"]
    for row in table:
        if sum(row) != 1:
            shown, allowed = [float(one) for one in row], "rows that sum to exactly 1"
            hint = 'write ratios such as "1/10", as 0.1 is the float next to it'
            raise ParameterError("table", shown, allowed, hint)
    return mechanisms.FiniteMechanism(table, neighbours=pairs, relation=stated.relation)


def _numeric_answers(stated: ReleaseParameters) -> Mechanism[Relation]:
    each = stated.values["sensitivity"]
    return mechanisms.Laplace(
        scale=stated.values["scale"],
        sensitivity=JointSensitivity.few(
            coordinates=int(stated.values["cutoff"]), each=each, relation=stated.relation
        ),
    )


def _clampable(kind: Kind) -> Kind:
    """Return a kind of noise whose outputs may be moved into a public range."""

    def build(release: ReleaseParameters) -> Mechanism[Relation]:
        own = {name: value for name, value in release.values.items() if name not in ends}
        made = kind.build(dataclasses.replace(release, values=own))
        public = {name: value for name, value in release.values.items() if name in ends}
        return mechanisms.Clamped(made, **public) if public else made

    ends = ("lower", "upper")
    return dataclasses.replace(kind, additions=(*kind.additions, (ends,)), build=build)


_CLIPPED = (("sigma", "lower", "upper"), ("scale", "lower", "upper"))
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
        "discrete Gaussian noise", mechanisms.DiscreteGaussian, norms=("l1", "l2"), whole=True
    ),
    "discrete-laplace": declared(
        "discrete Laplace noise", mechanisms.DiscreteLaplace, norms=("l1",), whole=True
    ),
    "truncated-laplace": declared(
        "bounded noise", mechanisms.TruncatedLaplace, norms=("l1",), whole=True
    ),
    "canonical-noise": declared(
        "canonical noise", mechanisms.CanonicalNoise, norms=("l1",), whole=True
    ),
    "staircase": declared("staircase noise", mechanisms.Staircase, norms=("l1",), whole=True),
    "skellam": declared("Skellam noise", mechanisms.Skellam, norms=("l1", "l2"), whole=True),
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
        forms=_CLIPPED,
        build=_clipped(mechanisms.BoundedSum),
    ),
    "bounded-mean": Kind(
        words="mean of clipped values", forms=_CLIPPED, build=_clipped(mechanisms.BoundedMean)
    ),
    "within-bound": Kind(
        words="sum or mean within a released bound",
        forms=(("noise_multiplier",), ("scale",)),
        build=_within_bound,
    ),
}
