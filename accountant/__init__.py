"""Certified privacy accounting: typed guarantees, the theorems between them, and their numbers.

>>> from accountant import GDP, PureDP, compose
>>> total = compose(GDP(mu=0.5), PureDP(epsilon=0.1))
>>> total.epsilon(delta=1e-6).upper < 3
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountant.adaptive.approx_dp_filter import ApproxDPFilter
    from accountant.adaptive.gdp_filter import GDPFilter
    from accountant.adaptive.privacy_filter import PrivacyFilter
    from accountant.adaptive.privacy_odometer import PrivacyOdometer
    from accountant.adaptive.renyi_filter import RenyiFilter
    from accountant.adaptive.renyi_odometer import RenyiOdometer
    from accountant.adaptive.zcdp_filter import ZCDPFilter
    from accountant.adaptive.zcdp_odometer import ZCDPOdometer
    from accountant.bound import Bound
    from accountant.calibration.calibrate import Calibrated, calibrate
    from accountant.calibration.plan_selection import SelectionOption, SelectionPlan, plan_selection
    from accountant.certificates.certify import certify
    from accountant.errors import (
        BudgetExceeded,
        CalibrationError,
        NoBracket,
        NotCertified,
        NotImplied,
        ParameterError,
        PrivacyError,
        RelationMismatch,
    )
    from accountant.guarantees.approx_dp import ApproxDP
    from accountant.guarantees.bounded_range import BoundedRange
    from accountant.guarantees.derivation import Derivation
    from accountant.guarantees.dominating_pair import DominatingPair
    from accountant.guarantees.gdp import GDP
    from accountant.guarantees.guarantee import Guarantee
    from accountant.guarantees.metric_dp import MetricDP
    from accountant.guarantees.privacy_profile import PrivacyProfile
    from accountant.guarantees.pure_dp import PureDP
    from accountant.guarantees.rdp import RDP
    from accountant.guarantees.trade_off import TradeOff
    from accountant.guarantees.zcdp import ZCDP
    from accountant.relation import AddRemove, Relation, ReplaceLabel, ReplaceOne, ZeroOut
    from accountant.run_counts.binomial import BinomialRuns
    from accountant.run_counts.finite import FiniteRuns
    from accountant.run_counts.fixed import FixedRuns
    from accountant.run_counts.law import RunLaw
    from accountant.run_counts.poisson import PoissonRuns
    from accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
    from accountant.sampling.schemes import Poisson, SamplingScheme, WithoutReplacement
    from accountant.sensitivity import L1, L2, L2Contribution, LInf, Sensitivity
    from accountant.theorems.composition.choice import choice
    from accountant.theorems.composition.compose import compose, self_compose
    from accountant.theorems.composition.map_records import map_records
    from accountant.theorems.composition.parallel import parallel_compose
    from accountant.theorems.composition.parallel_positions import parallel_positions
    from accountant.theorems.composition.post_process import post_process
    from accountant.theorems.conversion.convert import convert
    from accountant.theorems.conversion.restrict import restrict
    from accountant.theorems.group.group import group
    from accountant.theorems.selection.above import select_above
    from accountant.theorems.selection.select import select

_HOMES = {
    "AddRemove": "accountant.relation",
    "ApproxDP": "accountant.guarantees.approx_dp",
    "ApproxDPFilter": "accountant.adaptive.approx_dp_filter",
    "BinomialRuns": "accountant.run_counts.binomial",
    "Bound": "accountant.bound",
    "BoundedRange": "accountant.guarantees.bounded_range",
    "BudgetExceeded": "accountant.errors",
    "Calibrated": "accountant.calibration.calibrate",
    "CalibrationError": "accountant.errors",
    "Derivation": "accountant.guarantees.derivation",
    "DominatingPair": "accountant.guarantees.dominating_pair",
    "FiniteRuns": "accountant.run_counts.finite",
    "FixedRuns": "accountant.run_counts.fixed",
    "GDP": "accountant.guarantees.gdp",
    "GDPFilter": "accountant.adaptive.gdp_filter",
    "Guarantee": "accountant.guarantees.guarantee",
    "L1": "accountant.sensitivity",
    "L2": "accountant.sensitivity",
    "L2Contribution": "accountant.sensitivity",
    "LInf": "accountant.sensitivity",
    "MetricDP": "accountant.guarantees.metric_dp",
    "NoBracket": "accountant.errors",
    "NotCertified": "accountant.errors",
    "NotImplied": "accountant.errors",
    "ParameterError": "accountant.errors",
    "Poisson": "accountant.sampling.schemes",
    "PoissonRuns": "accountant.run_counts.poisson",
    "PrivacyError": "accountant.errors",
    "PrivacyFilter": "accountant.adaptive.privacy_filter",
    "PrivacyOdometer": "accountant.adaptive.privacy_odometer",
    "PrivacyProfile": "accountant.guarantees.privacy_profile",
    "PureDP": "accountant.guarantees.pure_dp",
    "RDP": "accountant.guarantees.rdp",
    "Relation": "accountant.relation",
    "RelationMismatch": "accountant.errors",
    "RenyiFilter": "accountant.adaptive.renyi_filter",
    "RenyiOdometer": "accountant.adaptive.renyi_odometer",
    "ReplaceLabel": "accountant.relation",
    "ReplaceOne": "accountant.relation",
    "RunLaw": "accountant.run_counts.law",
    "SamplingScheme": "accountant.sampling.schemes",
    "SelectionOption": "accountant.calibration.plan_selection",
    "SelectionPlan": "accountant.calibration.plan_selection",
    "Sensitivity": "accountant.sensitivity",
    "TradeOff": "accountant.guarantees.trade_off",
    "TruncatedNegativeBinomial": "accountant.run_counts.truncated_negative_binomial",
    "WithoutReplacement": "accountant.sampling.schemes",
    "ZCDP": "accountant.guarantees.zcdp",
    "ZCDPFilter": "accountant.adaptive.zcdp_filter",
    "ZCDPOdometer": "accountant.adaptive.zcdp_odometer",
    "ZeroOut": "accountant.relation",
    "calibrate": "accountant.calibration.calibrate",
    "certify": "accountant.certificates.certify",
    "choice": "accountant.theorems.composition.choice",
    "compose": "accountant.theorems.composition.compose",
    "convert": "accountant.theorems.conversion.convert",
    "group": "accountant.theorems.group.group",
    "map_records": "accountant.theorems.composition.map_records",
    "parallel_compose": "accountant.theorems.composition.parallel",
    "parallel_positions": "accountant.theorems.composition.parallel_positions",
    "plan_selection": "accountant.calibration.plan_selection",
    "post_process": "accountant.theorems.composition.post_process",
    "restrict": "accountant.theorems.conversion.restrict",
    "select": "accountant.theorems.selection.select",
    "select_above": "accountant.theorems.selection.above",
    "self_compose": "accountant.theorems.composition.compose",
}

__all__ = [  # noqa: RUF022 - plain order, as a test of the surface compares
    "AddRemove",
    "ApproxDP",
    "ApproxDPFilter",
    "BinomialRuns",
    "Bound",
    "BoundedRange",
    "BudgetExceeded",
    "Calibrated",
    "CalibrationError",
    "Derivation",
    "DominatingPair",
    "FiniteRuns",
    "FixedRuns",
    "GDP",
    "GDPFilter",
    "Guarantee",
    "L1",
    "L2",
    "L2Contribution",
    "LInf",
    "MetricDP",
    "NoBracket",
    "NotCertified",
    "NotImplied",
    "ParameterError",
    "Poisson",
    "PoissonRuns",
    "PrivacyError",
    "PrivacyFilter",
    "PrivacyOdometer",
    "PrivacyProfile",
    "PureDP",
    "RDP",
    "Relation",
    "RelationMismatch",
    "RenyiFilter",
    "RenyiOdometer",
    "ReplaceLabel",
    "ReplaceOne",
    "RunLaw",
    "SamplingScheme",
    "SelectionOption",
    "SelectionPlan",
    "Sensitivity",
    "TradeOff",
    "TruncatedNegativeBinomial",
    "WithoutReplacement",
    "ZCDP",
    "ZCDPFilter",
    "ZCDPOdometer",
    "ZeroOut",
    "calibrate",
    "certify",
    "choice",
    "compose",
    "convert",
    "group",
    "map_records",
    "parallel_compose",
    "parallel_positions",
    "plan_selection",
    "post_process",
    "restrict",
    "select",
    "select_above",
    "self_compose",
]


def __getattr__(name: str) -> object:
    """A public name, from where it is defined, when it is first asked for: imports stay short."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
