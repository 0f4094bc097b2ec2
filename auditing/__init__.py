"""Audits: statistical lower bounds on the privacy loss of code that runs.

>>> import auditing
>>> def sampler(value, size, rng):
...     return value + rng.laplace(scale=0.5, size=size)
>>> report = auditing.audit(sampler, pair=(0.0, 1.0), claim=(1, 0), samples=5_000, seed=1)
>>> report.outcome.name, report.epsilon_lower > 1
('VIOLATION', True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant import public_names
from auditing.audit import WITNESSES as WITNESSES, audit as audit
from auditing.bounds.enumeration import Enumeration as Enumeration
from auditing.bounds.gaussian_event import GaussianEvent as GaussianEvent
from auditing.bounds.one_run import Guesses as Guesses, OneRun as OneRun
from auditing.bounds.one_run_curve import OneRunCurve as OneRunCurve
from auditing.bounds.prefix_band import PrefixBand as PrefixBand
from auditing.bounds.randomised_label import RandomisedLabel as RandomisedLabel
from auditing.bounds.rectangle import Rectangle as Rectangle
from auditing.bounds.renyi_bins import RenyiBins as RenyiBins
from auditing.bounds.renyi_event import RenyiEvent as RenyiEvent
from auditing.bounds.trade_off_region import TradeOffRegion as TradeOffRegion
from auditing.bounds.two_sample import TwoSample as TwoSample
from auditing.counts.counts import (
    BinCounts as BinCounts,
    Design as Design,
    EventCounts as EventCounts,
    PrefixCounts as PrefixCounts,
)
from auditing.errors import (
    ClaimRefuted as ClaimRefuted,
    MissingDependency as MissingDependency,
    SamplesUsed as SamplesUsed,
    StoreRefused as StoreRefused,
    Unidentified as Unidentified,
)
from auditing.evidence.bet_process import BetProcess as BetProcess
from auditing.evidence.confidence_sequence import ConfidenceSequence as ConfidenceSequence
from auditing.evidence.e_process import EProcess as EProcess
from auditing.evidence.event_bet import EventBet as EventBet
from auditing.evidence.gaussian_sequence import GaussianSequence as GaussianSequence
from auditing.evidence.store import EvidenceStore as EvidenceStore, fingerprint as fingerprint
from auditing.inspection.check_query import check_query as check_query
from auditing.inspection.facts import (
    Fact as Fact,
    FactKind as FactKind,
    Inspection as Inspection,
    Movement as Movement,
)
from auditing.inspection.neighbours import (
    all_differ as all_differ,
    crowded as crowded,
    neighbours as neighbours,
    permuted as permuted,
    records_like as records_like,
)
from auditing.inspection.recorder import Recorder as Recorder
from auditing.planning.needed import samples_needed as samples_needed
from auditing.report import Finding as Finding, Outcome as Outcome, Report as Report
from auditing.trials.fingerprint import identity as identity
from auditing.trials.object_features import ObjectFeatures as ObjectFeatures
from auditing.trials.pair import Pair as Pair
from auditing.trials.sampler import OneAtATime as OneAtATime, Sampler as Sampler
from auditing.watch import Evidence as Evidence, watch as watch
from auditing.witnesses.coordinates import Thresholds as Thresholds
from auditing.witnesses.float_grid import FloatGrid as FloatGrid
from auditing.witnesses.histogram import Histogram as Histogram
from auditing.witnesses.independent import Independent as Independent
from auditing.witnesses.learned import (
    Boosting as Boosting,
    Logistic as Logistic,
    learned as learned,
)
from auditing.witnesses.linear import LinearDiscriminant as LinearDiscriminant
from auditing.witnesses.witness import Score as Score, Witness as Witness

if not TYPE_CHECKING:  # type checkers read no list that is computed, and need none
    __all__ = list(public_names.homes_of(__name__))
