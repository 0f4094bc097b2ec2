"""Mechanisms: what runs, and what it is stated to guarantee.

A mechanism has a sampler (``release``) and a statement (``guarantee``), and the statement
describes what the sampler really does. Combinators give mechanisms again.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mechanisms.composed import Composed, compose
    from mechanisms.discrete_gaussian import DiscreteGaussian
    from mechanisms.discrete_laplace import DiscreteLaplace
    from mechanisms.exponential import ExponentialMechanism
    from mechanisms.gaussian import Gaussian
    from mechanisms.laplace import Laplace
    from mechanisms.protocol import Mechanism, MechanismSampler
    from mechanisms.queries import ClippedSum, Count, Scores
    from mechanisms.randomized_response import RandomizedResponse
    from mechanisms.repeated import Repeated
    from mechanisms.rng import ReplayRng, SystemRng
    from mechanisms.selected import Selected
    from mechanisms.subsampled import Subsampled
    from mechanisms.thresholded import Thresholded

_HOMES = {
    "ClippedSum": "mechanisms.queries",
    "Composed": "mechanisms.composed",
    "Count": "mechanisms.queries",
    "DiscreteGaussian": "mechanisms.discrete_gaussian",
    "DiscreteLaplace": "mechanisms.discrete_laplace",
    "ExponentialMechanism": "mechanisms.exponential",
    "Gaussian": "mechanisms.gaussian",
    "Laplace": "mechanisms.laplace",
    "Mechanism": "mechanisms.protocol",
    "MechanismSampler": "mechanisms.protocol",
    "RandomizedResponse": "mechanisms.randomized_response",
    "Repeated": "mechanisms.repeated",
    "ReplayRng": "mechanisms.rng",
    "Scores": "mechanisms.queries",
    "Selected": "mechanisms.selected",
    "Subsampled": "mechanisms.subsampled",
    "SystemRng": "mechanisms.rng",
    "Thresholded": "mechanisms.thresholded",
    "compose": "mechanisms.composed",
}

__all__ = [
    "ClippedSum",
    "Composed",
    "Count",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "MechanismSampler",
    "RandomizedResponse",
    "Repeated",
    "ReplayRng",
    "Scores",
    "Selected",
    "Subsampled",
    "SystemRng",
    "Thresholded",
    "compose",
]


def __getattr__(name: str) -> object:
    """A public name, from where it is defined, when it is first asked for: imports stay short."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
