"""Mechanisms: what runs, and what it is stated to guarantee.

A mechanism has a sampler (``release``) and a statement (``guarantee``), and the statement
describes what the sampler really does. Combinators give mechanisms again.
"""

from mechanisms.composed import Composed as Composed
from mechanisms.composed import compose as compose
from mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from mechanisms.discrete_laplace import DiscreteLaplace as DiscreteLaplace
from mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
from mechanisms.gaussian import Gaussian as Gaussian
from mechanisms.laplace import Laplace as Laplace
from mechanisms.protocol import Mechanism as Mechanism
from mechanisms.protocol import MechanismSampler as MechanismSampler
from mechanisms.queries import ClippedSum as ClippedSum
from mechanisms.queries import Count as Count
from mechanisms.queries import Scores as Scores
from mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from mechanisms.repeated import Repeated as Repeated
from mechanisms.rng import ReplayRng as ReplayRng
from mechanisms.rng import SystemRng as SystemRng
from mechanisms.selected import Selected as Selected
from mechanisms.subsampled import Subsampled as Subsampled
from mechanisms.thresholded import Thresholded as Thresholded

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
