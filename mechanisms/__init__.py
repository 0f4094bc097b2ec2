"""Mechanisms: what runs, and what it is stated to guarantee.

A mechanism has a sampler (``release``) and a statement (``guarantee``), and the statement
describes what the sampler really does. Combinators give mechanisms again.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mechanisms.combinators.best_of_runs import Selected
    from mechanisms.combinators.chained import Chained, FollowUp
    from mechanisms.combinators.composed import Composed, compose
    from mechanisms.combinators.first_above import Thresholded
    from mechanisms.combinators.repeated import Repeated
    from mechanisms.combinators.subsampled import Subsampled
    from mechanisms.combinators.uniform_choice import UniformChoice
    from mechanisms.learning.aggregated import Aggregated, aggregated
    from mechanisms.learning.batch_perceptron import BatchPerceptron
    from mechanisms.learning.boosted import Boosted
    from mechanisms.learning.candidate_exponential import CandidateExponential
    from mechanisms.learning.circle_exponential import CircleExponential
    from mechanisms.learning.class_means import ClassMeans
    from mechanisms.learning.covers.cover import Cover
    from mechanisms.learning.covers.cover_union import CoverUnion
    from mechanisms.learning.covers.cube_surface import CubeSurface
    from mechanisms.learning.covers.finite_cover import FiniteCover
    from mechanisms.learning.covers.polygon import Polygon
    from mechanisms.learning.covers.published_cover import PublishedCover, published_cover
    from mechanisms.learning.covers.random_directions import RandomDirections
    from mechanisms.learning.exponential_halfspaces import ExponentialHalfspaces
    from mechanisms.learning.exponential_networks import ExponentialNetworks
    from mechanisms.learning.featured import Featured
    from mechanisms.learning.kesler_perceptron import KeslerPerceptron
    from mechanisms.learning.label_private import (
        LabelPrivateDescent,
        LabelPrivateHalfspaces,
        RandomizedLabels,
    )
    from mechanisms.learning.logistic_objective import LogisticObjective
    from mechanisms.learning.maps.feature_map import FeatureMap
    from mechanisms.learning.maps.fourier_features import FourierFeatures
    from mechanisms.learning.maps.gaussian_projection import GaussianProjection
    from mechanisms.learning.maps.hadamard_projection import HadamardProjection
    from mechanisms.learning.maps.heavy_fourier_features import HeavyFourierFeatures
    from mechanisms.learning.maps.monomial_features import MonomialFeatures
    from mechanisms.learning.maps.projected_margin import (
        margin_after_projection,
        projection_dimension,
    )
    from mechanisms.learning.maps.rademacher_projection import RademacherProjection
    from mechanisms.learning.maps.sign_projection import SignProjection
    from mechanisms.learning.margin_descent import MarginDescent
    from mechanisms.learning.margin_presets import efficient_margin, projected_descent
    from mechanisms.learning.mean_halfspace import MeanHalfspace
    from mechanisms.learning.noisy_hinge import NoisyHinge
    from mechanisms.learning.noisy_mistakes import NoisyMistakes
    from mechanisms.learning.one_vs_rest import OneVsRest
    from mechanisms.learning.phased_hinge import PhasedHinge
    from mechanisms.learning.planning.cosine_projection import (
        cosine_after_projection,
        cosine_dimension,
    )
    from mechanisms.learning.planning.perceptron_plan import PerceptronPlan, plan_perceptron
    from mechanisms.learning.projected import Projected
    from mechanisms.learning.pure_logistic import PureLogisticObjective
    from mechanisms.learning.records import Records
    from mechanisms.learning.risk_bounds import (
        NoisyCount,
        RiskBound,
        cover_count,
        finite_class_risk,
        halfspace_risk,
        holdout_risk,
        margin_risk,
    )
    from mechanisms.learning.separators.enumerated_exponential import EnumeratedExponential
    from mechanisms.learning.separators.gaussian_separator import GaussianSeparator
    from mechanisms.learning.separators.losses import ParityLoss, ZeroOne
    from mechanisms.learning.separators.milp import MilpOracle
    from mechanisms.learning.separators.oracles import EnumerationOracle
    from mechanisms.learning.separators.separator_perturbation import SeparatorPerturbation
    from mechanisms.learning.separators.spaces import Conjunctions, Cube, Grid, Parities, Subsets
    from mechanisms.learning.sparse_vector_stop import SparseVectorStop
    from mechanisms.learning.stops import ChooseIterate, GaussianStop, LaplaceStop, NormStop, Stop
    from mechanisms.learning.subsampled_hinge import SubsampledHinge
    from mechanisms.local.local_hashing import LocalHashing
    from mechanisms.local.randomized_response import RandomizedResponse
    from mechanisms.local.reports import Frequencies
    from mechanisms.local.subset_selection import SubsetSelection
    from mechanisms.local.unary_encoding import Rappor, UnaryEncoding
    from mechanisms.mechanism import Mechanism, MechanismSampler
    from mechanisms.noise.canonical_noise import CanonicalNoise
    from mechanisms.noise.discrete_gaussian import DiscreteGaussian
    from mechanisms.noise.discrete_laplace import DiscreteLaplace
    from mechanisms.noise.finite_mechanism import FiniteMechanism
    from mechanisms.noise.gaussian import Gaussian
    from mechanisms.noise.histogram import Histogram
    from mechanisms.noise.laplace import Laplace
    from mechanisms.noise.staircase import Staircase
    from mechanisms.noise.truncated_laplace import TruncatedLaplace
    from mechanisms.queries.exact import ClippedSum, Count, Scores
    from mechanisms.samplers.rng import ReplayRng, SystemRng
    from mechanisms.selection.above_threshold import AboveThreshold
    from mechanisms.selection.exponential import ExponentialMechanism
    from mechanisms.selection.partition_selection import PartitionSelection
    from mechanisms.selection.permute_and_flip import PermuteAndFlip
    from mechanisms.selection.quantile import Quantile
    from mechanisms.selection.report_noisy_max import ReportNoisyMax

_HOMES = {
    "AboveThreshold": "mechanisms.selection.above_threshold",
    "Aggregated": "mechanisms.learning.aggregated",
    "BatchPerceptron": "mechanisms.learning.batch_perceptron",
    "Boosted": "mechanisms.learning.boosted",
    "CandidateExponential": "mechanisms.learning.candidate_exponential",
    "CanonicalNoise": "mechanisms.noise.canonical_noise",
    "Chained": "mechanisms.combinators.chained",
    "ChooseIterate": "mechanisms.learning.stops",
    "CircleExponential": "mechanisms.learning.circle_exponential",
    "ClassMeans": "mechanisms.learning.class_means",
    "ClippedSum": "mechanisms.queries.exact",
    "Composed": "mechanisms.combinators.composed",
    "Conjunctions": "mechanisms.learning.separators.spaces",
    "Count": "mechanisms.queries.exact",
    "Cover": "mechanisms.learning.covers.cover",
    "CoverUnion": "mechanisms.learning.covers.cover_union",
    "Cube": "mechanisms.learning.separators.spaces",
    "CubeSurface": "mechanisms.learning.covers.cube_surface",
    "DiscreteGaussian": "mechanisms.noise.discrete_gaussian",
    "DiscreteLaplace": "mechanisms.noise.discrete_laplace",
    "EnumeratedExponential": "mechanisms.learning.separators.enumerated_exponential",
    "EnumerationOracle": "mechanisms.learning.separators.oracles",
    "ExponentialHalfspaces": "mechanisms.learning.exponential_halfspaces",
    "ExponentialMechanism": "mechanisms.selection.exponential",
    "ExponentialNetworks": "mechanisms.learning.exponential_networks",
    "FeatureMap": "mechanisms.learning.maps.feature_map",
    "Featured": "mechanisms.learning.featured",
    "FiniteCover": "mechanisms.learning.covers.finite_cover",
    "FiniteMechanism": "mechanisms.noise.finite_mechanism",
    "FollowUp": "mechanisms.combinators.chained",
    "FourierFeatures": "mechanisms.learning.maps.fourier_features",
    "Frequencies": "mechanisms.local.reports",
    "Gaussian": "mechanisms.noise.gaussian",
    "GaussianProjection": "mechanisms.learning.maps.gaussian_projection",
    "GaussianSeparator": "mechanisms.learning.separators.gaussian_separator",
    "GaussianStop": "mechanisms.learning.stops",
    "Grid": "mechanisms.learning.separators.spaces",
    "HadamardProjection": "mechanisms.learning.maps.hadamard_projection",
    "HeavyFourierFeatures": "mechanisms.learning.maps.heavy_fourier_features",
    "Histogram": "mechanisms.noise.histogram",
    "KeslerPerceptron": "mechanisms.learning.kesler_perceptron",
    "LabelPrivateDescent": "mechanisms.learning.label_private",
    "LabelPrivateHalfspaces": "mechanisms.learning.label_private",
    "Laplace": "mechanisms.noise.laplace",
    "LaplaceStop": "mechanisms.learning.stops",
    "LocalHashing": "mechanisms.local.local_hashing",
    "LogisticObjective": "mechanisms.learning.logistic_objective",
    "MarginDescent": "mechanisms.learning.margin_descent",
    "MeanHalfspace": "mechanisms.learning.mean_halfspace",
    "Mechanism": "mechanisms.mechanism",
    "MechanismSampler": "mechanisms.mechanism",
    "MilpOracle": "mechanisms.learning.separators.milp",
    "MonomialFeatures": "mechanisms.learning.maps.monomial_features",
    "NoisyCount": "mechanisms.learning.risk_bounds",
    "NoisyHinge": "mechanisms.learning.noisy_hinge",
    "NoisyMistakes": "mechanisms.learning.noisy_mistakes",
    "NormStop": "mechanisms.learning.stops",
    "OneVsRest": "mechanisms.learning.one_vs_rest",
    "Parities": "mechanisms.learning.separators.spaces",
    "ParityLoss": "mechanisms.learning.separators.losses",
    "PartitionSelection": "mechanisms.selection.partition_selection",
    "PerceptronPlan": "mechanisms.learning.planning.perceptron_plan",
    "PermuteAndFlip": "mechanisms.selection.permute_and_flip",
    "PhasedHinge": "mechanisms.learning.phased_hinge",
    "Polygon": "mechanisms.learning.covers.polygon",
    "Projected": "mechanisms.learning.projected",
    "PublishedCover": "mechanisms.learning.covers.published_cover",
    "PureLogisticObjective": "mechanisms.learning.pure_logistic",
    "Quantile": "mechanisms.selection.quantile",
    "RademacherProjection": "mechanisms.learning.maps.rademacher_projection",
    "RandomDirections": "mechanisms.learning.covers.random_directions",
    "RandomizedLabels": "mechanisms.learning.label_private",
    "RandomizedResponse": "mechanisms.local.randomized_response",
    "Rappor": "mechanisms.local.unary_encoding",
    "Records": "mechanisms.learning.records",
    "Repeated": "mechanisms.combinators.repeated",
    "ReplayRng": "mechanisms.samplers.rng",
    "ReportNoisyMax": "mechanisms.selection.report_noisy_max",
    "RiskBound": "mechanisms.learning.risk_bounds",
    "Scores": "mechanisms.queries.exact",
    "Selected": "mechanisms.combinators.best_of_runs",
    "SeparatorPerturbation": "mechanisms.learning.separators.separator_perturbation",
    "SignProjection": "mechanisms.learning.maps.sign_projection",
    "SparseVectorStop": "mechanisms.learning.sparse_vector_stop",
    "Staircase": "mechanisms.noise.staircase",
    "Stop": "mechanisms.learning.stops",
    "Subsampled": "mechanisms.combinators.subsampled",
    "SubsampledHinge": "mechanisms.learning.subsampled_hinge",
    "SubsetSelection": "mechanisms.local.subset_selection",
    "Subsets": "mechanisms.learning.separators.spaces",
    "SystemRng": "mechanisms.samplers.rng",
    "Thresholded": "mechanisms.combinators.first_above",
    "TruncatedLaplace": "mechanisms.noise.truncated_laplace",
    "UnaryEncoding": "mechanisms.local.unary_encoding",
    "UniformChoice": "mechanisms.combinators.uniform_choice",
    "ZeroOne": "mechanisms.learning.separators.losses",
    "aggregated": "mechanisms.learning.aggregated",
    "compose": "mechanisms.combinators.composed",
    "cosine_after_projection": "mechanisms.learning.planning.cosine_projection",
    "cosine_dimension": "mechanisms.learning.planning.cosine_projection",
    "cover_count": "mechanisms.learning.risk_bounds",
    "efficient_margin": "mechanisms.learning.margin_presets",
    "finite_class_risk": "mechanisms.learning.risk_bounds",
    "halfspace_risk": "mechanisms.learning.risk_bounds",
    "holdout_risk": "mechanisms.learning.risk_bounds",
    "margin_after_projection": "mechanisms.learning.maps.projected_margin",
    "margin_risk": "mechanisms.learning.risk_bounds",
    "plan_perceptron": "mechanisms.learning.planning.perceptron_plan",
    "projected_descent": "mechanisms.learning.margin_presets",
    "projection_dimension": "mechanisms.learning.maps.projected_margin",
    "published_cover": "mechanisms.learning.covers.published_cover",
}

__all__ = [
    "AboveThreshold",
    "Aggregated",
    "BatchPerceptron",
    "Boosted",
    "CandidateExponential",
    "CanonicalNoise",
    "Chained",
    "ChooseIterate",
    "CircleExponential",
    "ClassMeans",
    "ClippedSum",
    "Composed",
    "Conjunctions",
    "Count",
    "Cover",
    "CoverUnion",
    "Cube",
    "CubeSurface",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EnumeratedExponential",
    "EnumerationOracle",
    "ExponentialHalfspaces",
    "ExponentialMechanism",
    "ExponentialNetworks",
    "FeatureMap",
    "Featured",
    "FiniteCover",
    "FiniteMechanism",
    "FollowUp",
    "FourierFeatures",
    "Frequencies",
    "Gaussian",
    "GaussianProjection",
    "GaussianSeparator",
    "GaussianStop",
    "Grid",
    "HadamardProjection",
    "HeavyFourierFeatures",
    "Histogram",
    "KeslerPerceptron",
    "LabelPrivateDescent",
    "LabelPrivateHalfspaces",
    "Laplace",
    "LaplaceStop",
    "LocalHashing",
    "LogisticObjective",
    "MarginDescent",
    "MeanHalfspace",
    "Mechanism",
    "MechanismSampler",
    "MilpOracle",
    "MonomialFeatures",
    "NoisyCount",
    "NoisyHinge",
    "NoisyMistakes",
    "NormStop",
    "OneVsRest",
    "Parities",
    "ParityLoss",
    "PartitionSelection",
    "PerceptronPlan",
    "PermuteAndFlip",
    "PhasedHinge",
    "Polygon",
    "Projected",
    "PublishedCover",
    "PureLogisticObjective",
    "Quantile",
    "RademacherProjection",
    "RandomDirections",
    "RandomizedLabels",
    "RandomizedResponse",
    "Rappor",
    "Records",
    "Repeated",
    "ReplayRng",
    "ReportNoisyMax",
    "RiskBound",
    "Scores",
    "Selected",
    "SeparatorPerturbation",
    "SignProjection",
    "SparseVectorStop",
    "Staircase",
    "Stop",
    "Subsampled",
    "SubsampledHinge",
    "SubsetSelection",
    "Subsets",
    "SystemRng",
    "Thresholded",
    "TruncatedLaplace",
    "UnaryEncoding",
    "UniformChoice",
    "ZeroOne",
    "aggregated",
    "compose",
    "cosine_after_projection",
    "cosine_dimension",
    "cover_count",
    "efficient_margin",
    "finite_class_risk",
    "halfspace_risk",
    "holdout_risk",
    "margin_after_projection",
    "margin_risk",
    "plan_perceptron",
    "projected_descent",
    "projection_dimension",
    "published_cover",
]


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use, so that importing the package is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
