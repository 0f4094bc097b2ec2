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
    from accountant.bound import Bound
    from accountant.calibration import Calibrated, calibrate
    from accountant.derivation import Derivation
    from accountant.errors import (
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
    from accountant.guarantees.dominating_pair import DominatingPair
    from accountant.guarantees.gdp import GDP
    from accountant.guarantees.guarantee import Guarantee
    from accountant.guarantees.privacy_profile import PrivacyProfile
    from accountant.guarantees.pure_dp import PureDP
    from accountant.guarantees.rdp import RDP
    from accountant.guarantees.trade_off import TradeOff
    from accountant.guarantees.zcdp import ZCDP
    from accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut
    from accountant.runs.binomial import BinomialRuns
    from accountant.runs.finite import FiniteRuns
    from accountant.runs.fixed import FixedRuns
    from accountant.runs.law import RunLaw
    from accountant.runs.poisson import PoissonRuns
    from accountant.runs.truncated_negative_binomial import TruncatedNegativeBinomial
    from accountant.sampling import Poisson, SamplingScheme, WithoutReplacement
    from accountant.selection_plan import SelectionOption, SelectionPlan, plan_selection
    from accountant.sensitivity import L1, L2, LInf, Sensitivity
    from accountant.theorems.compose import compose, self_compose
    from accountant.theorems.convert import convert
    from accountant.theorems.group import group
    from accountant.theorems.parallel import parallel_compose
    from accountant.theorems.post_process import post_process
    from accountant.theorems.select import select
    from accountant.theorems.select_above import select_above

_HOMES = {
    "AddRemove": "accountant.relation",
    "ApproxDP": "accountant.guarantees.approx_dp",
    "BinomialRuns": "accountant.runs.binomial",
    "Bound": "accountant.bound",
    "BoundedRange": "accountant.guarantees.bounded_range",
    "Calibrated": "accountant.calibration",
    "CalibrationError": "accountant.errors",
    "Derivation": "accountant.derivation",
    "DominatingPair": "accountant.guarantees.dominating_pair",
    "FiniteRuns": "accountant.runs.finite",
    "FixedRuns": "accountant.runs.fixed",
    "GDP": "accountant.guarantees.gdp",
    "Guarantee": "accountant.guarantees.guarantee",
    "L1": "accountant.sensitivity",
    "L2": "accountant.sensitivity",
    "LInf": "accountant.sensitivity",
    "NoBracket": "accountant.errors",
    "NotCertified": "accountant.errors",
    "NotImplied": "accountant.errors",
    "ParameterError": "accountant.errors",
    "Poisson": "accountant.sampling",
    "PoissonRuns": "accountant.runs.poisson",
    "PrivacyError": "accountant.errors",
    "PrivacyProfile": "accountant.guarantees.privacy_profile",
    "PureDP": "accountant.guarantees.pure_dp",
    "RDP": "accountant.guarantees.rdp",
    "Relation": "accountant.relation",
    "RelationMismatch": "accountant.errors",
    "ReplaceOne": "accountant.relation",
    "RunLaw": "accountant.runs.law",
    "SamplingScheme": "accountant.sampling",
    "SelectionOption": "accountant.selection_plan",
    "SelectionPlan": "accountant.selection_plan",
    "Sensitivity": "accountant.sensitivity",
    "TradeOff": "accountant.guarantees.trade_off",
    "TruncatedNegativeBinomial": "accountant.runs.truncated_negative_binomial",
    "WithoutReplacement": "accountant.sampling",
    "ZCDP": "accountant.guarantees.zcdp",
    "ZeroOut": "accountant.relation",
    "calibrate": "accountant.calibration",
    "compose": "accountant.theorems.compose",
    "convert": "accountant.theorems.convert",
    "group": "accountant.theorems.group",
    "parallel_compose": "accountant.theorems.parallel",
    "plan_selection": "accountant.selection_plan",
    "post_process": "accountant.theorems.post_process",
    "select": "accountant.theorems.select",
    "select_above": "accountant.theorems.select_above",
    "self_compose": "accountant.theorems.compose",
}

__all__ = [  # noqa: RUF022 - plain order, as a test of the surface compares
    "AddRemove",
    "ApproxDP",
    "BinomialRuns",
    "Bound",
    "BoundedRange",
    "Calibrated",
    "CalibrationError",
    "Derivation",
    "DominatingPair",
    "FiniteRuns",
    "FixedRuns",
    "GDP",
    "Guarantee",
    "L1",
    "L2",
    "LInf",
    "NoBracket",
    "NotCertified",
    "NotImplied",
    "ParameterError",
    "Poisson",
    "PoissonRuns",
    "PrivacyError",
    "PrivacyProfile",
    "PureDP",
    "RDP",
    "Relation",
    "RelationMismatch",
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
    "ZeroOut",
    "calibrate",
    "compose",
    "convert",
    "group",
    "parallel_compose",
    "plan_selection",
    "post_process",
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
