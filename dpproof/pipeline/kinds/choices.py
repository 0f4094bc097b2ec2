"""Words for choices: the best of several, what passes a threshold, or one category to report."""

from collections.abc import Mapping
from fractions import Fraction

from dpproof import mechanisms
from dpproof.accountant.relation import Relation
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters, declared


def _thresholded_counts(release: ReleaseParameters) -> Mechanism[Relation]:
    return mechanisms.ThresholdedCounts(
        **release.noise(),
        delta=release.values["delta"],
        contributions=int(release.values["contributions"]),
        relation=release.relation,
    )


KINDS: Mapping[str, Kind] = {
    "randomized-response": declared("randomized response", mechanisms.RandomizedResponse),
    "unary-encoding": declared("unary encoding", mechanisms.UnaryEncoding),
    "rappor": declared("RAPPOR", mechanisms.Rappor),
    "local-hashing": declared("local hashing", mechanisms.LocalHashing),
    "subset-selection": declared("subset selection", mechanisms.SubsetSelection),
    # The scores' own sensitivity scales them and costs nothing: epsilon says it all.
    "exponential": declared("exponential mechanism", mechanisms.ExponentialMechanism),
    "generalised-exponential": declared(
        "exponential mechanism for losses of different sensitivities",
        mechanisms.ExponentialMechanism,
    ),
    "quantile": declared("quantile", mechanisms.ExponentialMechanism, monotone=False),
    "report-noisy-max": declared("report noisy max", mechanisms.ReportNoisyMax),
    "permute-and-flip": declared("permute-and-flip", mechanisms.PermuteAndFlip),
    "partition-selection": declared("partition selection", mechanisms.PartitionSelection),
    "thresholded-counts": Kind(
        words="noisy counts above a threshold",
        forms=(("sigma", "delta"), ("scale", "delta")),
        defaults={"contributions": Fraction(1)},
        build=_thresholded_counts,
    ),
    "above-threshold": declared("above a threshold", mechanisms.AboveThreshold, norms=("linf",)),
    "gaussian-above-threshold": declared(
        "above a threshold, by normal noise", mechanisms.GaussianAboveThreshold, norms=("linf",)
    ),
    # How many values may exceed the bound, and which bounds are tried, costs nothing.
    "magnitude-bound": declared("bound of the values' size", mechanisms.MagnitudeBound, outside=0),
}
