"""Certified privacy budgets: everything public of the packages below, under one name.

``compose`` is the one of ``mechanisms``; guarantees are composed by ``accountant.compose``.

>>> import dpproof as dp
>>> dp.Gaussian(sigma=2, sensitivity=dp.L2(1)).guarantee().delta(epsilon=0).upper < 0.2
True
"""

from __future__ import annotations

from accountant import (
    GDP,
    L1,
    L2,
    RDP,
    ZCDP,
    AddRemove,
    ApproxDP,
    Bound,
    BoundedRange,
    Calibrated,
    CalibrationError,
    Derivation,
    DominatingPair,
    Guarantee,
    LInf,
    NoBracket,
    NotCertified,
    NotImplied,
    ParameterError,
    Poisson,
    PrivacyError,
    PrivacyProfile,
    PureDP,
    Relation,
    RelationMismatch,
    ReplaceOne,
    SamplingScheme,
    Sensitivity,
    TradeOff,
    WithoutReplacement,
    ZeroOut,
    calibrate,
    convert,
    group,
    parallel_compose,
    post_process,
    self_compose,
)
from mechanisms import (
    ClippedSum,
    Composed,
    Count,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    MechanismSampler,
    RandomizedResponse,
    Repeated,
    ReplayRng,
    Scores,
    Subsampled,
    SystemRng,
    compose,
)

__all__ = [  # noqa: RUF022  # plain order, as a test of the surface compares
    "AddRemove",
    "ApproxDP",
    "Bound",
    "BoundedRange",
    "Calibrated",
    "CalibrationError",
    "ClippedSum",
    "Composed",
    "Count",
    "Derivation",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DominatingPair",
    "ExponentialMechanism",
    "GDP",
    "Gaussian",
    "Guarantee",
    "L1",
    "L2",
    "LInf",
    "Laplace",
    "Mechanism",
    "MechanismSampler",
    "NoBracket",
    "NotCertified",
    "NotImplied",
    "ParameterError",
    "Poisson",
    "PrivacyError",
    "PrivacyProfile",
    "PureDP",
    "RDP",
    "RandomizedResponse",
    "Relation",
    "RelationMismatch",
    "Repeated",
    "ReplaceOne",
    "ReplayRng",
    "SamplingScheme",
    "Scores",
    "Sensitivity",
    "Subsampled",
    "SystemRng",
    "TradeOff",
    "WithoutReplacement",
    "ZCDP",
    "ZeroOut",
    "calibrate",
    "compose",
    "convert",
    "group",
    "parallel_compose",
    "post_process",
    "self_compose",
]


def __getattr__(name: str) -> str:
    """``__version__``, read from the installed metadata when it is asked for."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  # slow, and rarely asked for

        return version("dpproof")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
