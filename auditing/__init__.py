"""Audits: statistical lower bounds on the privacy loss of code that runs.

>>> from dpproof import auditing
>>> def sampler(value, size, rng):
...     return value + rng.laplace(scale=0.5, size=size)
>>> report = auditing.audit(sampler, pair=(0.0, 1.0), claim=(1, 0), samples=5_000, seed=1)
>>> report.outcome.name, report.epsilon_lower > 1
('VIOLATION', True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpproof.accountant import public_names
from dpproof.auditing.audit import WITNESSES as WITNESSES, audit as audit
from dpproof.auditing.bounds.one_run import Guesses as Guesses, OneRunCurve as OneRunCurve
from dpproof.auditing.bounds.prefix_band import PrefixBand as PrefixBand
from dpproof.auditing.bounds.randomised_label import RandomisedLabel as RandomisedLabel
from dpproof.auditing.bounds.rectangle import (
    GaussianEvent as GaussianEvent,
    Rectangle as Rectangle,
    RenyiEvent as RenyiEvent,
)
from dpproof.auditing.bounds.renyi_bins import RenyiBins as RenyiBins
from dpproof.auditing.bounds.run_bet import RunBet as RunBet
from dpproof.auditing.bounds.trade_off_region import TradeOffRegion as TradeOffRegion
from dpproof.auditing.bounds.two_sample import Enumeration as Enumeration, TwoSample as TwoSample
from dpproof.auditing.canaries.audit_canaries import audit_canaries as audit_canaries
from dpproof.auditing.canaries.made import (
    margin_score as margin_score,
    orthogonal_canaries as orthogonal_canaries,
)
from dpproof.auditing.canaries.membership import (
    CanaryPlan as CanaryPlan,
    CanaryReport as CanaryReport,
    bound_membership as bound_membership,
    plan_canaries as plan_canaries,
)
from dpproof.auditing.counts.counts import (
    BinCounts as BinCounts,
    Design as Design,
    EventCounts as EventCounts,
    PrefixCounts as PrefixCounts,
)
from dpproof.auditing.errors import (
    ClaimRefuted as ClaimRefuted,
    MissingDependency as MissingDependency,
    SamplerFailed as SamplerFailed,
    SamplesUsed as SamplesUsed,
    StoreRefused as StoreRefused,
    Unidentified as Unidentified,
)
from dpproof.auditing.evidence.confidence_sequence import ConfidenceSequence as ConfidenceSequence
from dpproof.auditing.evidence.e_process import (
    BetProcess as BetProcess,
    EProcess as EProcess,
    EventBet as EventBet,
)
from dpproof.auditing.evidence.gaussian_sequence import GaussianSequence as GaussianSequence
from dpproof.auditing.evidence.store import (
    EvidenceStore as EvidenceStore,
    fingerprint as fingerprint,
)
from dpproof.auditing.inspection.batch_log import RecordedDataset as RecordedDataset
from dpproof.auditing.inspection.check_query import check_query as check_query
from dpproof.auditing.inspection.facts import (
    Fact as Fact,
    FactKind as FactKind,
    Inspection as Inspection,
    Movement as Movement,
)
from dpproof.auditing.inspection.loader import (
    LoaderReport as LoaderReport,
    SchemeVerdict as SchemeVerdict,
    inspect_loader as inspect_loader,
)
from dpproof.auditing.inspection.neighbours import (
    all_differ as all_differ,
    crowded as crowded,
    neighbours as neighbours,
    permuted as permuted,
    records_like as records_like,
    suggested_pairs as suggested_pairs,
)
from dpproof.auditing.inspection.recorder import Recorder as Recorder
from dpproof.auditing.planning.plan import samples_needed as samples_needed
from dpproof.auditing.report import Finding as Finding, Outcome as Outcome, Report as Report
from dpproof.auditing.search import search_pairs as search_pairs
from dpproof.auditing.trials.encoding import ObjectFeatures as ObjectFeatures
from dpproof.auditing.trials.fingerprint import identity as identity
from dpproof.auditing.trials.pair import Pair as Pair
from dpproof.auditing.trials.programs import Command as Command, Server as Server
from dpproof.auditing.trials.sampler import (
    OneAtATime as OneAtATime,
    Sampler as Sampler,
    Timed as Timed,
)
from dpproof.auditing.watch import Evidence as Evidence, watch as watch
from dpproof.auditing.witnesses.coordinates import (
    FloatGrid as FloatGrid,
    Independent as Independent,
    Thresholds as Thresholds,
)
from dpproof.auditing.witnesses.histogram import Histogram as Histogram
from dpproof.auditing.witnesses.learned import (
    Boosting as Boosting,
    Logistic as Logistic,
    learned as learned,
)
from dpproof.auditing.witnesses.standard import LinearDiscriminant as LinearDiscriminant
from dpproof.auditing.witnesses.summaries import Summaries as Summaries
from dpproof.auditing.witnesses.witness import Score as Score, Witness as Witness

if not TYPE_CHECKING:  # type checkers read no list that is computed, and need none
    __all__ = list(public_names.homes_of(__name__))

if __name__ != "dpproof.auditing":
    raise ImportError(f"{__name__} is a part of dpproof: import dpproof.auditing")
