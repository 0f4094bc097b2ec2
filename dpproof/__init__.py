"""Certified privacy budgets: state what runs, get both ends of what it costs, prove and audit it.

>>> import dpproof as dp
>>> dp.Gaussian(sigma=2, sensitivity=dp.L2(1)).guarantee().delta(epsilon=0).upper < 0.2
True

What most people need is here. A mechanism, as ``dp.Gaussian``, states its ``guarantee()``, which
answers ``epsilon(delta=...)`` and proves it by ``certify(...)``; ``dp.compose`` puts mechanisms
together; ``dp.calibrate`` finds the noise; ``dp.check`` verifies a certificate; ``dp.audit`` looks
for evidence against a claim; ``dp.Ledger`` keeps a budget over months.

    budgets         ApproxDP, BoundedRange, GDP, PrivacyProfile, PureDP, RDP, TradeOff, ZCDP
    neighbours      AddRemove, ReplaceLabel, ReplaceOne, ZeroOut
    sensitivities   L1, L2, LInf, L2Contribution
    noise           Gaussian, Laplace, DiscreteGaussian, DiscreteLaplace, MatrixMechanism,
                    TreeAggregation, Histogram, BoundedSum, BoundedMean, NumericAnswers
    choices         ExponentialMechanism, ReportNoisyMax, PermuteAndFlip, Quantile, TopK,
                    AboveThreshold, PartitionSelection, ThresholdedCounts
    of one's own    Mechanism, FiniteMechanism, RandomizedResponse, Stated
    own loops       PricedSearch, sample_runs
    put together    compose, self_compose, parallel_compose, mixture, choice, group, select,
                    post_process, convert; Poisson, WithoutReplacement, WithReplacement,
                    TruncatedPoisson, UserPoisson, ShuffledBatches, RandomAllocation, BallsInBins,
                    CyclicPoisson, Shuffle; FixedRuns, PoissonRuns, TruncatedNegativeBinomial
    numbers         Bound, calibrate, sweep, plan_selection, certify, check, Certificate
    spending        Ledger, PrivacyFilter and its kinds, PrivacyOdometer
    audits          audit, watch, Pair, Recorder, check_query, neighbours, samples_needed,
                    inspect_loader

The rest has a place by topic:

    dpproof.learn         estimators of scikit-learn's kind dpproof.plot          pictures of
    guarantees, budgets and audits dpproof.tables        questions about frames in which users have
    rows dpproof.learning      the learners as mechanisms, their covers, maps and bounds
    dpproof.mechanisms    every mechanism, and how one is made dpproof.accountant    every guarantee
    and theorem dpproof.auditing      every test and witness of audits dpproof.interop       what
    other libraries recorded dpproof.proofs        the checker of certificates, by itself
"""

import functools
import importlib
import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import dpproof.mechanisms.learning as learning  # noqa: F401, PLR0402  # no file defines it
    from dpproof import plot as plot
    from dpproof.accountant.adaptive.privacy_filter import (
        ApproxDPFilter as ApproxDPFilter,
        GDPFilter as GDPFilter,
        PrivacyFilter as PrivacyFilter,
        RenyiFilter as RenyiFilter,
        ZCDPFilter as ZCDPFilter,
    )
    from dpproof.accountant.adaptive.privacy_odometer import PrivacyOdometer as PrivacyOdometer
    from dpproof.accountant.bound import Bound as Bound
    from dpproof.accountant.calibration.calibrate import calibrate as calibrate
    from dpproof.accountant.calibration.gaussian_sweep import sweep as sweep
    from dpproof.accountant.calibration.plan_selection import plan_selection as plan_selection
    from dpproof.accountant.certificates.certify import certify as certify
    from dpproof.accountant.errors import (
        BudgetExceeded as BudgetExceeded,
        CalibrationError as CalibrationError,
        NotCertified as NotCertified,
        NotImplied as NotImplied,
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
    from dpproof.accountant.guarantees.dominating_pair import GDP as GDP
    from dpproof.accountant.guarantees.guarantee import Guarantee as Guarantee
    from dpproof.accountant.guarantees.pure_dp import BoundedRange as BoundedRange, PureDP as PureDP
    from dpproof.accountant.guarantees.rdp import RDP as RDP, ZCDP as ZCDP
    from dpproof.accountant.relation import (
        AddRemove as AddRemove,
        ReplaceLabel as ReplaceLabel,
        ReplaceOne as ReplaceOne,
        ZeroOut as ZeroOut,
    )
    from dpproof.accountant.run_counts.law import (
        FixedRuns as FixedRuns,
        PoissonRuns as PoissonRuns,
        TruncatedNegativeBinomial as TruncatedNegativeBinomial,
    )
    from dpproof.accountant.sampling import (
        BallsInBins as BallsInBins,
        CyclicPoisson as CyclicPoisson,
        Poisson as Poisson,
        RandomAllocation as RandomAllocation,
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
        L2Contribution as L2Contribution,
        LInf as LInf,
    )
    from dpproof.accountant.theorems.composition import (
        post_process as post_process,
        self_compose as self_compose,
    )
    from dpproof.accountant.theorems.conversion import convert as convert
    from dpproof.accountant.theorems.group import group as group
    from dpproof.accountant.theorems.parallel import (
        choice as choice,
        mixture as mixture,
        parallel_compose as parallel_compose,
    )
    from dpproof.accountant.theorems.selection import select as select
    from dpproof.auditing.audit import audit as audit, watch as watch
    from dpproof.auditing.counts import ClaimRefuted as ClaimRefuted
    from dpproof.auditing.inspection.loader import inspect_loader as inspect_loader
    from dpproof.auditing.inspection.neighbours import (
        check_query as check_query,
        neighbours as neighbours,
    )
    from dpproof.auditing.inspection.recorder import Recorder as Recorder
    from dpproof.auditing.planning.plan import samples_needed as samples_needed
    from dpproof.auditing.report import Outcome as Outcome
    from dpproof.auditing.trials.encoding import Pair as Pair
    from dpproof.ledger.errors import (
        AlreadySpent as AlreadySpent,
        KeyConflict as KeyConflict,
        LedgerDamaged as LedgerDamaged,
        LedgerError as LedgerError,
    )
    from dpproof.ledger.ledger import Ledger as Ledger
    from dpproof.mechanisms.combinators.composed import compose as compose
    from dpproof.mechanisms.correlated.matrix_mechanism import (
        MatrixMechanism as MatrixMechanism,
        TreeAggregation as TreeAggregation,
    )
    from dpproof.mechanisms.local.randomized_response import (
        RandomizedResponse as RandomizedResponse,
    )
    from dpproof.mechanisms.mechanism import Mechanism as Mechanism
    from dpproof.mechanisms.noise.finite_mechanism import FiniteMechanism as FiniteMechanism
    from dpproof.mechanisms.noise.gaussian import (
        DiscreteGaussian as DiscreteGaussian,
        Gaussian as Gaussian,
    )
    from dpproof.mechanisms.noise.histogram import Histogram as Histogram
    from dpproof.mechanisms.noise.laplace import (
        DiscreteLaplace as DiscreteLaplace,
        Laplace as Laplace,
    )
    from dpproof.mechanisms.queries import bound_contributions as bound_contributions
    from dpproof.mechanisms.selection.above_threshold import AboveThreshold as AboveThreshold
    from dpproof.mechanisms.selection.exponential import (
        ExponentialMechanism as ExponentialMechanism,
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
        NumericAnswers as NumericAnswers,
    )
    from dpproof.pipeline.vocabulary import Stated as Stated
    from dpproof.proofs import Certificate as Certificate, check as check
    from dpproof.search import PricedSearch as PricedSearch, sample_runs as sample_runs

# ``from dpproof import *`` is not meant to be used: without a list ``help(dpproof)`` is a page.


@functools.cache
def _homes() -> dict[str, str]:
    """Return the module of each public name, as the imports above say it."""
    from dpproof.accountant.public_names import homes_of  # noqa: PLC0415  # the checker needs none

    return homes_of(__name__)


def __getattr__(name: str) -> object:
    """Return a public name or a module of this package, when it is first asked for.

    So ``dpproof.pytest_plugin``, which every pytest run of an environment imports, costs nothing.
    ``__version__`` is read from the installed metadata.
    """
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("dpproof")
    if not name.startswith("_"):
        if importlib.util.find_spec(f"{__name__}.{name}"):  # as ``dpproof.learn``
            return importlib.import_module(f"{__name__}.{name}")
        if name == "learning":
            return importlib.import_module("dpproof.mechanisms.learning")
        if name in _homes():
            value = globals()[name] = getattr(importlib.import_module(_homes()[name]), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return every public name, so that an interactive shell completes those not asked for yet."""
    return sorted({*globals(), "learning", *_homes()})
