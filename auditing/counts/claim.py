"""A claim: a guarantee, or a pair (epsilon, delta)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotCertified, NotImplied, ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.guarantees.words import in_words
from dpproof.auditing.counts.binomial import Floats, exp_up, special

_DEFAULT_DELTA = Fraction(1, 10**6)
# Where on the curve tangents are taken: fractions of its value at epsilon = 0.
_HEIGHTS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, *(10.0 ** (-j / 2) for j in range(2, 13)))
_GROWTH = 0.1


@final
@dataclass(frozen=True, slots=True)
class Tangent:
    """One consequence of a claim: P(S) <= e^epsilon Q(S) + delta for every event S.

    Attributes:
        epsilon: any, as a float.
        delta: at or above the claimed delta(epsilon).
        room: about how much delta would grow if every loss grew by a tenth; for planning only.
    """

    epsilon: float
    delta: float
    room: float


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to be contradicted.

    Attributes:
        guarantee: the claim; for a point (epsilon, delta) the ApproxDP of it.
        delta: where the audit reports its lower bound of epsilon.
        is_curve: whether the claim says more than one point does.
    """

    guarantee: Guarantee[Any]
    delta: Fraction
    is_curve: bool

    @staticmethod
    def of(claim: object, delta: Number | None = None) -> Claim:
        """Return a claim from a guarantee or a tuple (epsilon, delta).

        Args:
            claim: any ``Guarantee``, or ``(epsilon, delta)``.
            delta: where to report epsilon; by default the claim's own delta, 0 where the claim
                bounds epsilon there, else 1e-6.
        Raises:
            ParameterError: neither.
        """
        if isinstance(claim, Claim):
            return claim
        if isinstance(claim, tuple) and len(claim) == 2:
            return Claim.of(ApproxDP(epsilon=claim[0], delta=claim[1]), delta)
        if not isinstance(claim, Guarantee):
            raise ParameterError("claim", claim, "a guarantee or a tuple (epsilon, delta)")
        chosen = None if delta is None else arguments.probability(delta=delta)
        if isinstance(claim, PureDP):
            return Claim(claim, chosen or Fraction(0), is_curve=bool(chosen))
        if isinstance(claim, ApproxDP):
            own = claim.stated_delta
            return Claim(claim, own if chosen is None else chosen, chosen not in (None, own))
        if chosen is None:
            chosen = Fraction(0) if math.isfinite(_epsilon(claim, Fraction(0))) else _DEFAULT_DELTA
        return Claim(claim, chosen, is_curve=True)

    @property
    def epsilon(self) -> float:
        """Return the claimed epsilon at the claim's delta: a value above it is a violation."""
        return _epsilon(self.guarantee, self.delta)

    @property
    def delta_up(self) -> float:
        """Return the delta as a float at or above it."""
        return floats_around(self.delta)[1]

    def tangents(self) -> tuple[Tangent, ...]:
        """Return consequences of a curve, one for each of a few heights; none for a point."""
        return _tangents(self.guarantee) if self.is_curve else ()

    def describe(self) -> str:
        """Return the claim's label or mechanism in words, or what is stated of it."""
        return in_words(self.guarantee)


@functools.lru_cache(maxsize=64)
def _epsilon(guarantee: Guarantee[Any], delta: Fraction) -> float:
    return guarantee.epsilon(delta=delta).upper


@functools.lru_cache(maxsize=64)
def _tangents(guarantee: Guarantee[Any]) -> tuple[Tangent, ...]:
    """Return points (epsilon, delta(epsilon)) of the claimed profile, each delta rounded up.

    An epsilon that cannot be certified is left out: a test less.
    """
    highest = guarantee.delta(epsilon=0).upper
    tangents = [Tangent(0.0, highest, _GROWTH * highest)]
    for height in _HEIGHTS:
        try:
            epsilon = guarantee.epsilon(delta=height * highest).lower
            if math.isfinite(epsilon) and epsilon > tangents[-1].epsilon:
                here = guarantee.delta(epsilon=epsilon).upper
                grown = (1 + _GROWTH) * guarantee.delta(epsilon=epsilon / (1 + _GROWTH)).upper
                tangents.append(Tangent(epsilon, here, max(grown - here, 0.0)))
        except (NotCertified, NotImplied):
            continue
    return tuple(tangents)


_LINES = 64
_FAR, _MOST = 1e-9, 40.0

# The least probability of an event on one dataset, given that on the other: f(1 - right).
LeastWrong = Callable[[float], float]


def gaussian(mu: float) -> LeastWrong:
    """Return Phi(Phi^-1(right) - mu): the curve of a claim of mu-GDP."""
    ndtr, ndtri = special().ndtr, special().ndtri
    return lambda right: float(ndtr(ndtri(right) - mu))


def lines(points: list[tuple[float, float]]) -> LeastWrong:
    """Return the maximum of the lines that (epsilon, delta)-DP in both orders gives.

    right <= e^eps wrong + delta, and 1 - wrong <= e^eps (1 - right) + delta, which is the same of
    the complements with the datasets exchanged.
    """
    growth = np.array([exp_up(epsilon) for epsilon, _ in points])
    mass = np.array([delta for _, delta in points])

    def least(right: float) -> float:
        first = float(np.max((right - mass) / growth))
        return max(0.0, first, float(np.max(1.0 - mass - growth * (1.0 - right))))

    return least


def supported(claim: Claim) -> LeastWrong:
    """Return lines of the claimed profile at many epsilons, which together are close to it."""
    if not claim.is_curve:
        return lines([(claim.epsilon, claim.delta_up)])
    epsilons, deltas = profile_points(claim.guarantee)
    return lines(list(zip(epsilons.tolist(), deltas.tolist(), strict=True)))


@functools.lru_cache(maxsize=64)
def profile_points(guarantee: Guarantee[Any]) -> tuple[Floats, Floats]:
    """Return epsilons from 0 to where little is left of the claim, and its deltas rounded up."""
    far = guarantee.epsilon(delta=_FAR).upper
    last = far if math.isfinite(far) else guarantee.epsilon(delta=0.01).upper
    epsilons = np.linspace(0.0, max(last, _FAR) if math.isfinite(last) else _MOST, _LINES)
    return epsilons, np.asarray(guarantee.deltas(epsilons=epsilons).upper)
