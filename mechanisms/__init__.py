"""Mechanisms: what runs, and what it is stated to guarantee.

A mechanism has a sampler (``release``) and a statement (``guarantee``), and the statement
describes what the sampler really does. Combinators give mechanisms again.
"""

from typing import TYPE_CHECKING

from dpproof.accountant import public_names

if TYPE_CHECKING:
    from dpproof.mechanisms.batches import (
        index_batches as index_batches,
        index_samples as index_samples,
    )
    from dpproof.mechanisms.blocks import (
        BlockError as BlockError,
        Blocks as Blocks,
        NeedsAllRecords as NeedsAllRecords,
    )
    from dpproof.mechanisms.combinators.composed import (
        Chained as Chained,
        Clamped as Clamped,
        Composed as Composed,
        FollowUp as FollowUp,
        Repeated as Repeated,
        Selected as Selected,
        Thresholded as Thresholded,
        UniformChoice as UniformChoice,
        compose as compose,
    )
    from dpproof.mechanisms.combinators.subsampled import (
        Allocated as Allocated,
        Shuffled as Shuffled,
        Subsampled as Subsampled,
    )
    from dpproof.mechanisms.correlated.factors import (
        BufferedToeplitz as BufferedToeplitz,
        FixedEpochs as FixedEpochs,
        LowerTriangular as LowerTriangular,
        MinSeparation as MinSeparation,
        SingleParticipation as SingleParticipation,
        SquareRoot as SquareRoot,
        Toeplitz as Toeplitz,
        Tree as Tree,
    )
    from dpproof.mechanisms.correlated.matrix_mechanism import (
        MatrixMechanism as MatrixMechanism,
        NoisyRounds as NoisyRounds,
        TreeAggregation as TreeAggregation,
    )
    from dpproof.mechanisms.learning import *  # noqa: F403
    from dpproof.mechanisms.local.randomized_response import (
        LocalHashing as LocalHashing,
        RandomizedResponse as RandomizedResponse,
        Rappor as Rappor,
        SubsetSelection as SubsetSelection,
        SurveyOption as SurveyOption,
        UnaryEncoding as UnaryEncoding,
        plan_survey as plan_survey,
    )
    from dpproof.mechanisms.local.reports import (
        Frequencies as Frequencies,
        FrequencyOracle as FrequencyOracle,
    )
    from dpproof.mechanisms.mechanism import (
        Mechanism as Mechanism,
        MechanismSampler as MechanismSampler,
        NoiseMechanism as NoiseMechanism,
        QueryMechanism as QueryMechanism,
    )
    from dpproof.mechanisms.noise.finite_mechanism import FiniteMechanism as FiniteMechanism
    from dpproof.mechanisms.noise.gaussian import (
        CorrelatedGaussian as CorrelatedGaussian,
        DiscreteGaussian as DiscreteGaussian,
        Gaussian as Gaussian,
        Skellam as Skellam,
    )
    from dpproof.mechanisms.noise.histogram import Histogram as Histogram
    from dpproof.mechanisms.noise.laplace import (
        CanonicalNoise as CanonicalNoise,
        DiscreteLaplace as DiscreteLaplace,
        Laplace as Laplace,
        Staircase as Staircase,
        TruncatedLaplace as TruncatedLaplace,
    )
    from dpproof.mechanisms.noise.smooth_sensitivity import (
        ProposeTestRelease as ProposeTestRelease,
        SmoothBound as SmoothBound,
        SmoothMedian as SmoothMedian,
        SmoothSensitivity as SmoothSensitivity,
    )
    from dpproof.mechanisms.queries import (
        Additive as Additive,
        ClippedSum as ClippedSum,
        Count as Count,
        Scores as Scores,
        bound_contributions as bound_contributions,
        whole_values as whole_values,
    )
    from dpproof.mechanisms.samplers.rng import (
        ReplayRng as ReplayRng,
        Rng as Rng,
        SystemRng as SystemRng,
    )
    from dpproof.mechanisms.selection.above_threshold import (
        AboveThreshold as AboveThreshold,
        GaussianAboveThreshold as GaussianAboveThreshold,
    )
    from dpproof.mechanisms.selection.exponential import (
        ExponentialMechanism as ExponentialMechanism,
        GeneralisedExponential as GeneralisedExponential,
        PermuteAndFlip as PermuteAndFlip,
        Quantile as Quantile,
        ReportNoisyMax as ReportNoisyMax,
        TopK as TopK,
    )
    from dpproof.mechanisms.selection.partition_selection import (
        PartitionSelection as PartitionSelection,
        ThresholdedCounts as ThresholdedCounts,
    )
    from dpproof.mechanisms.statistics.bounded_mean import (
        BoundedMean as BoundedMean,
        BoundedSum as BoundedSum,
        MagnitudeBound as MagnitudeBound,
        NumericAnswers as NumericAnswers,
        WithinBound as WithinBound,
    )
    from dpproof.mechanisms.statistics.second_moments import (
        NoisyLloyd as NoisyLloyd,
        SecondMoments as SecondMoments,
    )
else:
    from dpproof.mechanisms import learning

    _LEARNERS = public_names.homes_of(learning.__name__)
    _HOMES = dict(sorted((_LEARNERS | public_names.homes_of(__name__)).items()))
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """Import a public name from its module when it is first asked for."""
        return public_names.fetch(__name__, _HOMES, name)


if __name__ != "dpproof.mechanisms":
    raise ImportError(f"{__name__} is a part of dpproof: import dpproof.mechanisms")
