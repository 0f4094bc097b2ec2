"""Certified privacy accounting: typed guarantees, the theorems between them, and their numbers.

>>> from dpproof.accountant import GDP, PureDP, compose
>>> total = compose(GDP(mu=0.5), PureDP(epsilon=0.1))
>>> total.epsilon(delta=1e-6).upper < 3
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpproof.accountant import public_names

if TYPE_CHECKING:
    from dpproof.accountant.adaptive.privacy_filter import (
        ApproxDPFilter as ApproxDPFilter,
        GDPFilter as GDPFilter,
        PrivacyFilter as PrivacyFilter,
        RenyiFilter as RenyiFilter,
        ZCDPFilter as ZCDPFilter,
    )
    from dpproof.accountant.adaptive.privacy_odometer import (
        ApproxDPOdometer as ApproxDPOdometer,
        GDPOdometer as GDPOdometer,
        PrivacyOdometer as PrivacyOdometer,
        RenyiOdometer as RenyiOdometer,
        ZCDPOdometer as ZCDPOdometer,
    )
    from dpproof.accountant.bound import Bound as Bound, Bounds as Bounds
    from dpproof.accountant.calibration.calibrate import (
        Calibrated as Calibrated,
        calibrate as calibrate,
    )
    from dpproof.accountant.calibration.gaussian_sweep import sweep as sweep
    from dpproof.accountant.calibration.plan_selection import (
        SelectionOption as SelectionOption,
        SelectionPlan as SelectionPlan,
        plan_selection as plan_selection,
    )
    from dpproof.accountant.certificates.certify import certify as certify
    from dpproof.accountant.errors import (
        BudgetExceeded as BudgetExceeded,
        CalibrationError as CalibrationError,
        NoBracket as NoBracket,
        NotCertified as NotCertified,
        NotImplied as NotImplied,
        NotShared as NotShared,
        ParameterError as ParameterError,
        PrivacyError as PrivacyError,
        RelationMismatch as RelationMismatch,
    )
    from dpproof.accountant.form import DataError as DataError
    from dpproof.accountant.guarantees.approx_dp import (
        ApproxDP as ApproxDP,
        PrivacyProfile as PrivacyProfile,
        TradeOff as TradeOff,
    )
    from dpproof.accountant.guarantees.derivation import (
        Attained as Attained,
        Derivation as Derivation,
    )
    from dpproof.accountant.guarantees.dominating_pair import (
        GDP as GDP,
        DominatingPair as DominatingPair,
    )
    from dpproof.accountant.guarantees.guarantee import Guarantee as Guarantee
    from dpproof.accountant.guarantees.pure_dp import (
        BoundedRange as BoundedRange,
        MetricDP as MetricDP,
        PureDP as PureDP,
    )
    from dpproof.accountant.guarantees.rdp import RDP as RDP, ZCDP as ZCDP
    from dpproof.accountant.relation import (
        AddRemove as AddRemove,
        Relation as Relation,
        ReplaceLabel as ReplaceLabel,
        ReplaceOne as ReplaceOne,
        ZeroOut as ZeroOut,
    )
    from dpproof.accountant.run_counts.finite import FiniteRuns as FiniteRuns
    from dpproof.accountant.run_counts.law import (
        BinomialRuns as BinomialRuns,
        FixedRuns as FixedRuns,
        PoissonRuns as PoissonRuns,
        RunLaw as RunLaw,
        TruncatedNegativeBinomial as TruncatedNegativeBinomial,
    )
    from dpproof.accountant.sampling import (
        BallsInBins as BallsInBins,
        CyclicPoisson as CyclicPoisson,
        EpochScheme as EpochScheme,
        Poisson as Poisson,
        RandomAllocation as RandomAllocation,
        SamplingScheme as SamplingScheme,
        Shuffle as Shuffle,
        ShuffledBatches as ShuffledBatches,
        TruncatedPoisson as TruncatedPoisson,
        UserPoisson as UserPoisson,
        WithoutReplacement as WithoutReplacement,
        WithReplacement as WithReplacement,
    )
    from dpproof.accountant.sensitivity import (
        L1 as L1,
        L2 as L2,
        Differences as Differences,
        JointSensitivity as JointSensitivity,
        L2Contribution as L2Contribution,
        LInf as LInf,
        Sensitivity as Sensitivity,
    )
    from dpproof.accountant.theorems.composition import (
        compose as compose,
        compose_concurrent as compose_concurrent,
        map_records as map_records,
        post_process as post_process,
        self_compose as self_compose,
    )
    from dpproof.accountant.theorems.conversion import convert as convert
    from dpproof.accountant.theorems.group import group as group
    from dpproof.accountant.theorems.implications import restrict as restrict
    from dpproof.accountant.theorems.parallel import (
        choice as choice,
        mixture as mixture,
        parallel_compose as parallel_compose,
        parallel_positions as parallel_positions,
    )
    from dpproof.accountant.theorems.selection import select as select, select_above as select_above
else:
    _HOMES = public_names.homes_of(__name__)
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """Return a public name from the module that defines it, imported on first use."""
        return public_names.fetch(__name__, _HOMES, name)


if __name__ != "dpproof.accountant":
    raise ImportError(f"{__name__} is a part of dpproof: import dpproof.accountant")
