"""Audits: statistical lower bounds on the privacy loss of code that runs.

>>> from dpproof import auditing
>>> def sampler(value, size, rng):
...     return value + rng.laplace(scale=0.5, size=size)
>>> report = auditing.audit(sampler, pair=(0.0, 1.0), claim=(1, 0), samples=5_000, seed=1)
>>> report.outcome.name, report.epsilon_lower > 1
('VIOLATION', True)
"""

from typing import TYPE_CHECKING

from dpproof.accountant import public_names
from dpproof.auditing.audit import (
    WITNESSES as WITNESSES,
    Evidence as Evidence,
    audit as audit,
    search_pairs as search_pairs,
    watch as watch,
)
from dpproof.auditing.bounds.curves import (
    Guesses as Guesses,
    OneRunCurve as OneRunCurve,
    PrefixBand as PrefixBand,
    RenyiBins as RenyiBins,
    RunBet as RunBet,
    TradeOffRegion as TradeOffRegion,
)
from dpproof.auditing.bounds.event_bound import (
    Enumeration as Enumeration,
    GaussianEvent as GaussianEvent,
    RandomisedLabel as RandomisedLabel,
    Rectangle as Rectangle,
    RenyiEvent as RenyiEvent,
    TwoSample as TwoSample,
)
from dpproof.auditing.canaries import (
    CanaryPlan as CanaryPlan,
    CanaryReport as CanaryReport,
    audit_canaries as audit_canaries,
    bound_membership as bound_membership,
    margin_score as margin_score,
    orthogonal_canaries as orthogonal_canaries,
    plan_canaries as plan_canaries,
)
from dpproof.auditing.counts import (
    BinCounts as BinCounts,
    ClaimRefuted as ClaimRefuted,
    Design as Design,
    EventCounts as EventCounts,
    MissingDependency as MissingDependency,
    PrefixCounts as PrefixCounts,
    SamplerFailed as SamplerFailed,
    SamplesUsed as SamplesUsed,
    StoreRefused as StoreRefused,
    Unidentified as Unidentified,
)
from dpproof.auditing.evidence import (
    BetProcess as BetProcess,
    ConfidenceSequence as ConfidenceSequence,
    EProcess as EProcess,
    EventBet as EventBet,
    GaussianSequence as GaussianSequence,
)
from dpproof.auditing.inspection.batch_laws import RecordedDataset as RecordedDataset
from dpproof.auditing.inspection.loader import (
    LoaderReport as LoaderReport,
    SchemeVerdict as SchemeVerdict,
    inspect_loader as inspect_loader,
)
from dpproof.auditing.inspection.neighbours import (
    all_differ as all_differ,
    check_query as check_query,
    crowded as crowded,
    neighbours as neighbours,
    permuted as permuted,
    records_like as records_like,
    suggested_pairs as suggested_pairs,
)
from dpproof.auditing.inspection.recorder import (
    Fact as Fact,
    FactKind as FactKind,
    Inspection as Inspection,
    Movement as Movement,
    Recorder as Recorder,
)
from dpproof.auditing.planning.plan import samples_needed as samples_needed
from dpproof.auditing.report import Finding as Finding, Outcome as Outcome, Report as Report
from dpproof.auditing.trials.encoding import (
    ObjectFeatures as ObjectFeatures,
    Pair as Pair,
    identity as identity,
)
from dpproof.auditing.trials.sampler import (
    Command as Command,
    OneAtATime as OneAtATime,
    Sampler as Sampler,
    Server as Server,
    Timed as Timed,
)
from dpproof.auditing.trials.trials import (
    EvidenceStore as EvidenceStore,
    fingerprint as fingerprint,
)
from dpproof.auditing.witnesses.standard import (
    Boosting as Boosting,
    FloatGrid as FloatGrid,
    Histogram as Histogram,
    Independent as Independent,
    LinearDiscriminant as LinearDiscriminant,
    Logistic as Logistic,
    Summaries as Summaries,
    Thresholds as Thresholds,
    learned as learned,
)
from dpproof.auditing.witnesses.witness import Score as Score, Witness as Witness

if not TYPE_CHECKING:  # type checkers read no list that is computed, and need none
    __all__ = list(public_names.homes_of(__name__))

if __name__ != "dpproof.auditing":
    raise ImportError(f"{__name__} is a part of dpproof: import dpproof.auditing")
