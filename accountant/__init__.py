"""Certified privacy accounting: typed guarantees, the theorems between them, and their numbers.

>>> from accountant import GDP, PureDP, compose
>>> total = compose(GDP(mu=0.5), PureDP(epsilon=0.1))
>>> total.epsilon(delta=1e-6).upper < 3
True
"""

from __future__ import annotations

from accountant.bound import Bound
from accountant.calibrate import Calibrated, calibrate
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
from accountant.plan_selection import SelectionOption, SelectionPlan, plan_selection
from accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut
from accountant.runs.binomial import BinomialRuns
from accountant.runs.finite import FiniteRuns
from accountant.runs.fixed import FixedRuns
from accountant.runs.law import RunLaw
from accountant.runs.poisson import PoissonRuns
from accountant.runs.truncated_negative_binomial import TruncatedNegativeBinomial
from accountant.sampling import Poisson, SamplingScheme, WithoutReplacement
from accountant.sensitivity import L1, L2, LInf, Sensitivity
from accountant.theorems.compose import compose, self_compose
from accountant.theorems.convert import convert
from accountant.theorems.group import group
from accountant.theorems.parallel import parallel_compose
from accountant.theorems.post_process import post_process
from accountant.theorems.select import select
from accountant.theorems.select_above import select_above

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
