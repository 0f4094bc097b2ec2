"""Audits: statistical lower bounds on the privacy loss of code that runs.

>>> import auditing
>>> def sampler(value, size, rng):
...     return value + rng.laplace(scale=0.5, size=size)
>>> report = auditing.audit(sampler, pair=(0.0, 1.0), claim=(1, 0), samples=5_000, seed=1)
>>> report.outcome.name, report.epsilon_lower > 1
('VIOLATION', True)
"""

from __future__ import annotations

from auditing.audit import WITNESSES, audit
from auditing.bounds.enumeration import Enumeration
from auditing.bounds.gaussian_event import GaussianEvent
from auditing.bounds.one_run import Guesses, OneRun
from auditing.bounds.one_run_curve import OneRunCurve
from auditing.bounds.prefix_band import PrefixBand
from auditing.bounds.randomised_label import RandomisedLabel
from auditing.bounds.rectangle import Rectangle
from auditing.bounds.renyi_bins import RenyiBins
from auditing.bounds.renyi_event import RenyiEvent
from auditing.bounds.trade_off_region import TradeOffRegion
from auditing.bounds.two_sample import TwoSample
from auditing.counts.counts import BinCounts, Design, EventCounts, PrefixCounts
from auditing.errors import ClaimRefuted, MissingDependency, SamplesUsed, StoreRefused, Unidentified
from auditing.evidence.bet_process import BetProcess
from auditing.evidence.confidence_sequence import ConfidenceSequence
from auditing.evidence.e_process import EProcess
from auditing.evidence.event_bet import EventBet
from auditing.evidence.gaussian_sequence import GaussianSequence
from auditing.evidence.store import EvidenceStore, fingerprint
from auditing.inspection.check_query import check_query
from auditing.inspection.facts import Fact, FactKind, Inspection, Movement
from auditing.inspection.neighbours import all_differ, crowded, neighbours, permuted, records_like
from auditing.inspection.recorder import Recorder
from auditing.report import Finding, Outcome, Report
from auditing.trials.fingerprint import identity
from auditing.trials.object_features import ObjectFeatures
from auditing.trials.pair import Pair
from auditing.trials.sampler import OneAtATime, Sampler
from auditing.watch import Evidence, watch
from auditing.witnesses.coordinates import Thresholds
from auditing.witnesses.float_grid import FloatGrid
from auditing.witnesses.histogram import Histogram
from auditing.witnesses.independent import Independent
from auditing.witnesses.learned import Boosting, Logistic, learned
from auditing.witnesses.linear import LinearDiscriminant
from auditing.witnesses.witness import Score, Witness

__all__ = [  # noqa: RUF022  # plain order, as a test of the surface compares
    "BetProcess",
    "BinCounts",
    "Boosting",
    "ClaimRefuted",
    "ConfidenceSequence",
    "Design",
    "EProcess",
    "Enumeration",
    "EventBet",
    "EventCounts",
    "Evidence",
    "EvidenceStore",
    "Fact",
    "FactKind",
    "Finding",
    "FloatGrid",
    "GaussianEvent",
    "GaussianSequence",
    "Guesses",
    "Histogram",
    "Independent",
    "Inspection",
    "LinearDiscriminant",
    "Logistic",
    "MissingDependency",
    "Movement",
    "ObjectFeatures",
    "OneAtATime",
    "OneRun",
    "OneRunCurve",
    "Outcome",
    "Pair",
    "PrefixBand",
    "PrefixCounts",
    "RandomisedLabel",
    "Recorder",
    "Rectangle",
    "RenyiBins",
    "RenyiEvent",
    "Report",
    "Sampler",
    "SamplesUsed",
    "Score",
    "StoreRefused",
    "Thresholds",
    "TradeOffRegion",
    "TwoSample",
    "Unidentified",
    "WITNESSES",
    "Witness",
    "all_differ",
    "audit",
    "check_query",
    "crowded",
    "fingerprint",
    "identity",
    "learned",
    "neighbours",
    "permuted",
    "records_like",
    "watch",
]
