"""Private learners: mechanisms on labelled records, one family of algorithms a file.

A learner adds up one bounded contribution per record, computed on an integer grid so that it is a
function of the released state and of that record alone, and releases the sum with noise.
"""

from typing import TYPE_CHECKING

from dpproof.accountant import public_names

if TYPE_CHECKING:
    from dpproof.mechanisms.learning.covers import (
        Cover as Cover,
        CoverUnion as CoverUnion,
        CubeSurface as CubeSurface,
        FiniteCover as FiniteCover,
        Polygon as Polygon,
        RandomDirections as RandomDirections,
    )
    from dpproof.mechanisms.learning.descent import (
        MarginDescent as MarginDescent,
        PhasedHinge as PhasedHinge,
        SoftmaxDescent as SoftmaxDescent,
    )
    from dpproof.mechanisms.learning.exponential_halfspaces import (
        ExponentialHalfspaces as ExponentialHalfspaces,
    )
    from dpproof.mechanisms.learning.featured import (
        Aggregated as Aggregated,
        Featured as Featured,
        Projected as Projected,
        aggregated as aggregated,
    )
    from dpproof.mechanisms.learning.logistic_objective import (
        LogisticObjective as LogisticObjective,
        PureLogisticObjective as PureLogisticObjective,
    )
    from dpproof.mechanisms.learning.maps.feature_map import (
        FeatureMap as FeatureMap,
        FourierFeatures as FourierFeatures,
        GaussianProjection as GaussianProjection,
        MonomialFeatures as MonomialFeatures,
        RademacherProjection as RademacherProjection,
        SignProjection as SignProjection,
    )
    from dpproof.mechanisms.learning.maps.scattering_features import (
        ScatteringFeatures as ScatteringFeatures,
    )
    from dpproof.mechanisms.learning.perceptron import (
        BatchPerceptron as BatchPerceptron,
        ClassMeans as ClassMeans,
        KeslerPerceptron as KeslerPerceptron,
        MeanHalfspace as MeanHalfspace,
    )
    from dpproof.mechanisms.learning.records import Records as Records
    from dpproof.mechanisms.learning.risk_bounds import (
        NoisyCount as NoisyCount,
        NoisyMistakes as NoisyMistakes,
        RiskBound as RiskBound,
        cover_count as cover_count,
        finite_class_risk as finite_class_risk,
        halfspace_risk as halfspace_risk,
        holdout_risk as holdout_risk,
        margin_risk as margin_risk,
        relative_margin_risk as relative_margin_risk,
    )
    from dpproof.mechanisms.learning.separators.objective_perturbation import (
        AveragedPerturbation as AveragedPerturbation,
        SphereLift as SphereLift,
    )
    from dpproof.mechanisms.learning.separators.oracles import (
        EnumerationOracle as EnumerationOracle,
        MilpOracle as MilpOracle,
    )
    from dpproof.mechanisms.learning.separators.separator_perturbation import (
        EnumeratedExponential as EnumeratedExponential,
        GaussianSeparator as GaussianSeparator,
        SeparatorPerturbation as SeparatorPerturbation,
    )
    from dpproof.mechanisms.learning.separators.spaces import (
        Conjunctions as Conjunctions,
        Cube as Cube,
        Grid as Grid,
        HingeLoss as HingeLoss,
        Parities as Parities,
        ParityLoss as ParityLoss,
        Subsets as Subsets,
        ZeroOne as ZeroOne,
    )
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
