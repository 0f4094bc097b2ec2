"""Private learners: mechanisms on labelled records, one algorithm a file.

A learner adds up one bounded contribution per record, computed on an integer grid so that it is a
function of the released state and of that record alone, and releases the sum with noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpproof.accountant import public_names

if TYPE_CHECKING:
    from dpproof.mechanisms.learning.aggregation import (
        Aggregated as Aggregated,
        aggregated as aggregated,
    )
    from dpproof.mechanisms.learning.batch_perceptron import BatchPerceptron as BatchPerceptron
    from dpproof.mechanisms.learning.class_means import ClassMeans as ClassMeans
    from dpproof.mechanisms.learning.covers import (
        Cover as Cover,
        CoverUnion as CoverUnion,
        CubeSurface as CubeSurface,
        FiniteCover as FiniteCover,
        Polygon as Polygon,
        RandomDirections as RandomDirections,
    )
    from dpproof.mechanisms.learning.exponential_halfspaces import (
        ExponentialHalfspaces as ExponentialHalfspaces,
    )
    from dpproof.mechanisms.learning.featured import Featured as Featured, Projected as Projected
    from dpproof.mechanisms.learning.kesler_perceptron import KeslerPerceptron as KeslerPerceptron
    from dpproof.mechanisms.learning.logistic_objective import (
        LogisticObjective as LogisticObjective,
    )
    from dpproof.mechanisms.learning.maps.feature_map import FeatureMap as FeatureMap
    from dpproof.mechanisms.learning.maps.fourier_features import FourierFeatures as FourierFeatures
    from dpproof.mechanisms.learning.maps.monomial_features import (
        MonomialFeatures as MonomialFeatures,
    )
    from dpproof.mechanisms.learning.maps.projections import (
        GaussianProjection as GaussianProjection,
        RademacherProjection as RademacherProjection,
        SignProjection as SignProjection,
    )
    from dpproof.mechanisms.learning.maps.scattering_features import (
        ScatteringFeatures as ScatteringFeatures,
    )
    from dpproof.mechanisms.learning.margin_descent import MarginDescent as MarginDescent
    from dpproof.mechanisms.learning.mean_halfspace import MeanHalfspace as MeanHalfspace
    from dpproof.mechanisms.learning.noisy_mistakes import NoisyMistakes as NoisyMistakes
    from dpproof.mechanisms.learning.phased_hinge import PhasedHinge as PhasedHinge
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
    from dpproof.mechanisms.learning.softmax_descent import SoftmaxDescent as SoftmaxDescent
    from dpproof.mechanisms.learning.stops import (
        ChooseIterate as ChooseIterate,
        GaussianStop as GaussianStop,
        LaplaceStop as LaplaceStop,
        NormStop as NormStop,
        SparseVectorStop as SparseVectorStop,
        Stop as Stop,
    )
else:
    _HOMES = public_names.homes_of(__name__)
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """Import a public name from its module when it is first asked for."""
        return public_names.fetch(__name__, _HOMES, name)
