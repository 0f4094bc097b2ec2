"""Words for choices: the best of several, or what passes a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dpproof.accountant.relation import Relation
from dpproof.accountant.sensitivity import LInf
from dpproof.mechanisms import (
    AboveThreshold,
    ExponentialMechanism,
    GaussianAboveThreshold,
    MagnitudeBound,
    PartitionSelection,
    PermuteAndFlip,
    ReportNoisyMax,
    ThresholdedCounts,
)
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters


def _exponential(given: ReleaseParameters) -> Mechanism[Relation]:
    # The scores' own sensitivity scales them and costs nothing: epsilon says it all.
    return ExponentialMechanism(
        epsilon=given.values["epsilon"],
        sensitivity=LInf(1),
        monotone=bool(given.values.get("monotone")),
        relation=given.relation,
    )


def _report_noisy_max(given: ReleaseParameters) -> Mechanism[Relation]:
    return ReportNoisyMax(
        epsilon=given.values["epsilon"],
        monotone=bool(given.values["monotone"]),
        relation=given.relation,
    )


def _permute_and_flip(given: ReleaseParameters) -> Mechanism[Relation]:
    return PermuteAndFlip(
        epsilon=given.values["epsilon"],
        monotone=bool(given.values["monotone"]),
        relation=given.relation,
    )


def _partition_selection(given: ReleaseParameters) -> Mechanism[Relation]:
    return PartitionSelection(
        epsilon=given.values["epsilon"],
        delta=given.values["delta"],
        contributions=int(given.values["contributions"]),
        relation=given.relation,
    )


def _thresholded_counts(given: ReleaseParameters) -> Mechanism[Relation]:
    gaussian = "sigma" in given.values
    return ThresholdedCounts(
        scale=given.values["sigma" if gaussian else "scale"],
        noise="gaussian" if gaussian else "laplace",
        delta=given.values["delta"],
        contributions=int(given.values["contributions"]),
        relation=given.relation,
    )


def _above_threshold(given: ReleaseParameters) -> Mechanism[Relation]:
    return AboveThreshold(
        threshold_scale=given.values["threshold_scale"],
        query_scale=given.values["query_scale"],
        sensitivity=LInf(given.values["sensitivity"]),
        cutoff=int(given.values["cutoff"]),
        monotone=bool(given.values["monotone"]),
        rising=bool(given.values["rising"]),
        gap=bool(given.values["gap"]),
        relation=given.relation,
    )


def _gaussian_above_threshold(given: ReleaseParameters) -> Mechanism[Relation]:
    return GaussianAboveThreshold(
        threshold_sigma=given.values["threshold_sigma"],
        query_sigma=given.values["query_sigma"],
        queries=int(given.values["queries"]),
        sensitivity=LInf(given.values["sensitivity"]),
        cutoff=int(given.values["cutoff"]),
        monotone=bool(given.values["monotone"]),
        rising=bool(given.values["rising"]),
        relation=given.relation,
    )


def _magnitude_bound(given: ReleaseParameters) -> Mechanism[Relation]:
    # How many values may exceed the bound, and which bounds are tried, costs nothing.
    return MagnitudeBound(
        threshold_scale=given.values["threshold_scale"],
        query_scale=given.values["query_scale"],
        outside=0,
        relation=given.relation,
    )


_EITHER_WAY: Mapping[str, Fraction] = {"monotone": Fraction(0)}


KINDS: Mapping[str, Kind] = {
    "exponential": Kind(
        words="exponential mechanism",
        forms=(("epsilon",),),
        defaults=_EITHER_WAY,
        build=_exponential,
    ),
    "generalised-exponential": Kind(
        words="exponential mechanism for losses of different sensitivities",
        forms=(("epsilon",),),
        defaults=_EITHER_WAY,
        build=_exponential,
    ),
    "quantile": Kind(words="quantile", forms=(("epsilon",),), build=_exponential),
    "report-noisy-max": Kind(
        words="report noisy max",
        forms=(("epsilon",),),
        defaults=_EITHER_WAY,
        build=_report_noisy_max,
    ),
    "permute-and-flip": Kind(
        words="permute-and-flip",
        forms=(("epsilon",),),
        defaults=_EITHER_WAY,
        build=_permute_and_flip,
    ),
    "partition-selection": Kind(
        words="partition selection",
        forms=(("epsilon", "delta"),),
        defaults={"contributions": Fraction(1)},
        build=_partition_selection,
    ),
    "thresholded-counts": Kind(
        words="noisy counts above a threshold",
        forms=(("sigma", "delta"), ("scale", "delta")),
        defaults={"contributions": Fraction(1)},
        build=_thresholded_counts,
    ),
    "above-threshold": Kind(
        words="above a threshold",
        forms=(("threshold_scale", "query_scale", "sensitivity"),),
        defaults={"cutoff": Fraction(1), "rising": Fraction(0), "gap": Fraction(0), **_EITHER_WAY},
        norms=("linf",),
        build=_above_threshold,
    ),
    "gaussian-above-threshold": Kind(
        words="above a threshold, by normal noise",
        forms=(("threshold_sigma", "query_sigma", "queries", "sensitivity"),),
        defaults={"cutoff": Fraction(1), "rising": Fraction(0), **_EITHER_WAY},
        norms=("linf",),
        build=_gaussian_above_threshold,
    ),
    "magnitude-bound": Kind(
        words="bound of the values' size",
        forms=(("threshold_scale", "query_scale"),),
        build=_magnitude_bound,
    ),
}
