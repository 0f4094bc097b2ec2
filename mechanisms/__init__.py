"""Mechanisms: what runs, and what it is stated to guarantee.

A mechanism has a sampler (``release``) and a statement (``guarantee``), and the statement
describes what the sampler really does. Combinators give mechanisms again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpproof.accountant import public_names

if TYPE_CHECKING:
    from dpproof.mechanisms.combinators.best_of_runs import (
        Selected as Selected,
        Thresholded as Thresholded,
    )
    from dpproof.mechanisms.combinators.chained import (
        Chained as Chained,
        Clamped as Clamped,
        FollowUp as FollowUp,
    )
    from dpproof.mechanisms.combinators.composed import (
        Composed as Composed,
        Repeated as Repeated,
        compose as compose,
    )
    from dpproof.mechanisms.combinators.subsampled import Subsampled as Subsampled
    from dpproof.mechanisms.combinators.uniform_choice import UniformChoice as UniformChoice
    from dpproof.mechanisms.learning.aggregated import (
        Aggregated as Aggregated,
        aggregated as aggregated,
    )
    from dpproof.mechanisms.learning.batch_perceptron import BatchPerceptron as BatchPerceptron
    from dpproof.mechanisms.learning.boosted import Boosted as Boosted
    from dpproof.mechanisms.learning.circle_exponential import (
        CircleExponential as CircleExponential,
    )
    from dpproof.mechanisms.learning.class_means import ClassMeans as ClassMeans
    from dpproof.mechanisms.learning.covers import (
        Cover as Cover,
        CoverUnion as CoverUnion,
        CubeSurface as CubeSurface,
        FiniteCover as FiniteCover,
        Polygon as Polygon,
        PublishedCover as PublishedCover,
        RandomDirections as RandomDirections,
        published_cover as published_cover,
    )
    from dpproof.mechanisms.learning.exponential_halfspaces import (
        ExponentialHalfspaces as ExponentialHalfspaces,
    )
    from dpproof.mechanisms.learning.exponential_networks import (
        ExponentialNetworks as ExponentialNetworks,
    )
    from dpproof.mechanisms.learning.featured import Featured as Featured, Projected as Projected
    from dpproof.mechanisms.learning.kesler_perceptron import KeslerPerceptron as KeslerPerceptron
    from dpproof.mechanisms.learning.label_private import (
        LabelPrivateDescent as LabelPrivateDescent,
        LabelPrivateHalfspaces as LabelPrivateHalfspaces,
        RandomizedLabels as RandomizedLabels,
    )
    from dpproof.mechanisms.learning.least_hinges import (
        ChosenDescent as ChosenDescent,
        LeastHinges as LeastHinges,
    )
    from dpproof.mechanisms.learning.logistic_objective import (
        LogisticObjective as LogisticObjective,
    )
    from dpproof.mechanisms.learning.maps.feature_map import FeatureMap as FeatureMap
    from dpproof.mechanisms.learning.maps.fourier_features import (
        FourierFeatures as FourierFeatures,
        HeavyFourierFeatures as HeavyFourierFeatures,
    )
    from dpproof.mechanisms.learning.maps.monomial_features import (
        MonomialFeatures as MonomialFeatures,
    )
    from dpproof.mechanisms.learning.maps.projected_margin import (
        margin_after_projection as margin_after_projection,
        projection_dimension as projection_dimension,
        sign_projection_dimension as sign_projection_dimension,
        sign_projection_failure as sign_projection_failure,
    )
    from dpproof.mechanisms.learning.maps.projections import (
        GaussianProjection as GaussianProjection,
        HadamardProjection as HadamardProjection,
        RademacherProjection as RademacherProjection,
        SignProjection as SignProjection,
    )
    from dpproof.mechanisms.learning.margin_descent import MarginDescent as MarginDescent
    from dpproof.mechanisms.learning.margin_grid import (
        MarginGrid as MarginGrid,
        dyadic_margins as dyadic_margins,
    )
    from dpproof.mechanisms.learning.margin_presets import (
        adaptive_margins as adaptive_margins,
        efficient_margin as efficient_margin,
        projected_descent as projected_descent,
    )
    from dpproof.mechanisms.learning.mean_halfspace import MeanHalfspace as MeanHalfspace
    from dpproof.mechanisms.learning.mistake_exponential import (
        CandidateExponential as CandidateExponential,
    )
    from dpproof.mechanisms.learning.noisy_hinge import (
        NoisyHinge as NoisyHinge,
        SubsampledHinge as SubsampledHinge,
    )
    from dpproof.mechanisms.learning.noisy_mistakes import NoisyMistakes as NoisyMistakes
    from dpproof.mechanisms.learning.one_vs_rest import OneVsRest as OneVsRest
    from dpproof.mechanisms.learning.phased_hinge import PhasedHinge as PhasedHinge
    from dpproof.mechanisms.learning.planning.exponential_plan import (
        ExponentialPlan as ExponentialPlan,
        plan_exponential as plan_exponential,
    )
    from dpproof.mechanisms.learning.planning.hinge_plan import (
        HingePlan as HingePlan,
        cosine_after_projection as cosine_after_projection,
        cosine_dimension as cosine_dimension,
        hinge_mistakes as hinge_mistakes,
        plan_hinge as plan_hinge,
        published_excess as published_excess,
        records_needed as records_needed,
    )
    from dpproof.mechanisms.learning.planning.perceptron_plan import (
        PerceptronPlan as PerceptronPlan,
        plan_perceptron as plan_perceptron,
    )
    from dpproof.mechanisms.learning.pure_logistic import (
        PureLogisticObjective as PureLogisticObjective,
    )
    from dpproof.mechanisms.learning.records import Records as Records
    from dpproof.mechanisms.learning.risk_bounds import (
        NoisyCount as NoisyCount,
        RiskBound as RiskBound,
        cover_count as cover_count,
        finite_class_risk as finite_class_risk,
        halfspace_risk as halfspace_risk,
        holdout_risk as holdout_risk,
        margin_risk as margin_risk,
        relative_margin_risk as relative_margin_risk,
    )
    from dpproof.mechanisms.learning.separators.averaged_perturbation import (
        AveragedPerturbation as AveragedPerturbation,
    )
    from dpproof.mechanisms.learning.separators.enumerated_exponential import (
        EnumeratedExponential as EnumeratedExponential,
    )
    from dpproof.mechanisms.learning.separators.gaussian_separator import (
        GaussianSeparator as GaussianSeparator,
    )
    from dpproof.mechanisms.learning.separators.losses import (
        HingeLoss as HingeLoss,
        ParityLoss as ParityLoss,
        ZeroOne as ZeroOne,
    )
    from dpproof.mechanisms.learning.separators.milp import MilpOracle as MilpOracle
    from dpproof.mechanisms.learning.separators.oracles import (
        EnumerationOracle as EnumerationOracle,
    )
    from dpproof.mechanisms.learning.separators.separator_perturbation import (
        SeparatorPerturbation as SeparatorPerturbation,
    )
    from dpproof.mechanisms.learning.separators.spaces import (
        Conjunctions as Conjunctions,
        Cube as Cube,
        Grid as Grid,
        Parities as Parities,
        Subsets as Subsets,
    )
    from dpproof.mechanisms.learning.separators.sphere_lift import SphereLift as SphereLift
    from dpproof.mechanisms.learning.stops import (
        ChooseIterate as ChooseIterate,
        GaussianStop as GaussianStop,
        LaplaceStop as LaplaceStop,
        NormStop as NormStop,
        SparseVectorStop as SparseVectorStop,
        Stop as Stop,
    )
    from dpproof.mechanisms.local.local_hashing import LocalHashing as LocalHashing
    from dpproof.mechanisms.local.randomized_response import (
        RandomizedResponse as RandomizedResponse,
    )
    from dpproof.mechanisms.local.reports import Frequencies as Frequencies
    from dpproof.mechanisms.local.subset_selection import SubsetSelection as SubsetSelection
    from dpproof.mechanisms.local.unary_encoding import (
        Rappor as Rappor,
        UnaryEncoding as UnaryEncoding,
    )
    from dpproof.mechanisms.mechanism import (
        Mechanism as Mechanism,
        MechanismSampler as MechanismSampler,
    )
    from dpproof.mechanisms.noise.canonical_noise import CanonicalNoise as CanonicalNoise
    from dpproof.mechanisms.noise.correlated_gaussian import (
        CorrelatedGaussian as CorrelatedGaussian,
    )
    from dpproof.mechanisms.noise.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from dpproof.mechanisms.noise.discrete_laplace import DiscreteLaplace as DiscreteLaplace
    from dpproof.mechanisms.noise.finite_mechanism import FiniteMechanism as FiniteMechanism
    from dpproof.mechanisms.noise.gaussian import Gaussian as Gaussian
    from dpproof.mechanisms.noise.histogram import Histogram as Histogram
    from dpproof.mechanisms.noise.laplace import Laplace as Laplace
    from dpproof.mechanisms.noise.propose_test_release import (
        ProposeTestRelease as ProposeTestRelease,
    )
    from dpproof.mechanisms.noise.skellam import Skellam as Skellam
    from dpproof.mechanisms.noise.smooth_sensitivity import (
        SmoothBound as SmoothBound,
        SmoothMedian as SmoothMedian,
        SmoothSensitivity as SmoothSensitivity,
    )
    from dpproof.mechanisms.noise.staircase import Staircase as Staircase
    from dpproof.mechanisms.noise.truncated_laplace import TruncatedLaplace as TruncatedLaplace
    from dpproof.mechanisms.queries import (
        ClippedSum as ClippedSum,
        Count as Count,
        Scores as Scores,
        bound_contributions as bound_contributions,
    )
    from dpproof.mechanisms.samplers.rng import ReplayRng as ReplayRng, SystemRng as SystemRng
    from dpproof.mechanisms.selection.above_threshold import AboveThreshold as AboveThreshold
    from dpproof.mechanisms.selection.exponential import (
        ExponentialMechanism as ExponentialMechanism,
    )
    from dpproof.mechanisms.selection.gaussian_above_threshold import (
        GaussianAboveThreshold as GaussianAboveThreshold,
    )
    from dpproof.mechanisms.selection.generalised_exponential import (
        GeneralisedExponential as GeneralisedExponential,
    )
    from dpproof.mechanisms.selection.partition_selection import (
        PartitionSelection as PartitionSelection,
    )
    from dpproof.mechanisms.selection.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dpproof.mechanisms.selection.quantile import Quantile as Quantile
    from dpproof.mechanisms.selection.report_noisy_max import ReportNoisyMax as ReportNoisyMax
    from dpproof.mechanisms.selection.thresholded_counts import (
        ThresholdedCounts as ThresholdedCounts,
    )
    from dpproof.mechanisms.selection.top_k import TopK as TopK
    from dpproof.mechanisms.statistics.bounded_mean import (
        BoundedMean as BoundedMean,
        BoundedSum as BoundedSum,
    )
    from dpproof.mechanisms.statistics.magnitude_bound import (
        MagnitudeBound as MagnitudeBound,
        WithinBound as WithinBound,
    )
    from dpproof.mechanisms.statistics.noisy_lloyd import NoisyLloyd as NoisyLloyd
    from dpproof.mechanisms.statistics.numeric_answers import NumericAnswers as NumericAnswers
    from dpproof.mechanisms.statistics.second_moments import SecondMoments as SecondMoments
else:
    _HOMES = public_names.homes_of(__name__)
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """Import a public name from its module when it is first asked for."""
        return public_names.fetch(__name__, _HOMES, name)


if __name__ != "dpproof.mechanisms":
    raise ImportError(f"{__name__} is a part of dpproof: import dpproof.mechanisms")
