"""Numbers of runs K that look at no data: phi(z) = E[z^K] and its derivatives, as balls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from functools import partial
from typing import ClassVar, Final

from flint import arb

from dpproof.proofs.balls.arithmetic import each_precision, exact_sum
from dpproof.proofs.core.arithmetic import ball, exact, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.limits import MAX_RUNS, MAX_TRIALS, law_work


class Runs(ABC):
    """The law of a number of runs."""

    __slots__ = ()
    corner_is_worst: ClassVar[bool] = True  # a phi''(1-a)/phi'(1-a) grows with a in [0, 1)

    @property
    def largest(self) -> int | None:
        """Return a number at or above every number of runs; None if there is none."""
        return None

    @property
    def work(self) -> int:
        """Return the approximate work of one value of phi, in units of proofs/limits.py."""
        return law_work(0)

    @abstractmethod
    def phi(self, order: int, z: arb) -> arb:
        """Return the derivative of order 0, 1 or 2 of phi at z in [0, 1]."""

    @abstractmethod
    def describe(self) -> str:
        """Name the law in words and numbers."""


@frozen
class TruncatedNegativeBinomial(Runs):
    """K >= 1, phi = (d^-eta - 1)/(gamma^-eta - 1), d = 1 - (1 - gamma) z, or its limit at eta = 0.

    phi' = phi'(1) (gamma/d)^(eta+1); a phi''/phi' = (eta+1)(1-gamma) a/(gamma + (1-gamma) a) grows.
    Source: Papernot & Steinke (arXiv:2110.03620), Definition 1.
    """

    eta: Fraction
    gamma: Fraction
    _constants: Callable[[], tuple[arb, arb, arb, arb]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Prepare the constants that every value takes."""
        object.__setattr__(self, "_constants", each_precision(self._make_constants))

    def phi(self, order: int, z: arb) -> arb:
        """Return phi, phi' or phi''; by expm1, so that a small eta keeps its digits."""
        slope, power, first, log_gamma = self._constants()
        gap = 1 - slope * z
        if not order:
            if not self.eta:
                return gap.log() / log_gamma
            return ((1 - power) * gap.log()).expm1() / ((1 - power) * log_gamma).expm1()
        return first * gap**-power if order == 1 else first * power * slope * gap ** (-power - 1)

    def _make_constants(self) -> tuple[arb, arb, arb, arb]:
        """Return 1 - gamma, eta + 1, phi'(0) and log gamma, at the current precision."""
        eta, gamma = ball(self.eta), ball(self.gamma)
        slope, log_gamma = 1 - gamma, gamma.log()
        mean = eta / (eta * log_gamma).expm1() if self.eta else 1 / log_gamma
        first = -mean * slope / gamma * ((eta + 1) * log_gamma).exp()
        return slope, eta + 1, first, log_gamma

    def describe(self) -> str:
        """Name both parameters."""
        shown = f"eta = {exact(self.eta)} and gamma = {exact(self.gamma)}"
        return f"truncated negative binomial with {shown}"


@frozen
class Poisson(Runs):
    """phi = e^(rate (z-1)); a phi''/phi' = rate a grows."""

    rate: Fraction

    def phi(self, order: int, z: arb) -> arb:
        """Return the derivative, which has one formula for every z."""
        rate = ball(self.rate)
        return rate**order * (rate * (z - 1)).exp()

    def describe(self) -> str:
        """Name the mean."""
        return f"Poisson of mean {exact(self.rate)}"


@frozen
class Binomial(Runs):
    """phi = (1 - p + p z)^n, n runs for p = 1; a phi''/phi' = (n-1) p a/(1 - p a) grows."""

    trials: int
    probability: Fraction

    @property
    def largest(self) -> int | None:
        """Return the number of trials."""
        return self.trials

    def phi(self, order: int, z: arb) -> arb:
        """Return the derivative, which has one formula for every z."""
        n, p = self.trials, ball(self.probability)
        falling = (1, n, n * (n - 1))[order]
        return falling * p**order * (1 - p * (1 - z)) ** max(n - order, 0)

    def describe(self) -> str:
        """Name the number of trials and the probability."""
        if self.probability == 1:
            return f"always {self.trials}"
        return f"binomial of {self.trials} trials with probability {exact(self.probability)}"


@frozen
class Finite(Runs):
    """P(K = k) is the k-th of a list, k from 0 on."""

    probabilities: tuple[Fraction, ...]
    corner_is_worst: ClassVar[bool] = False  # not in general
    _falling: tuple[Callable[[], list[arb]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse anything that is not a law of some runs."""
        if not 2 <= len(self.probabilities) <= MAX_RUNS + 1:
            raise RefusedError(f"the largest number of runs must be from 1 to {MAX_RUNS}")
        if min(self.probabilities) < 0 or exact_sum(self.probabilities) != 1:
            raise RefusedError("probabilities must be at or above 0 and sum to exactly 1")
        derivatives = (each_precision(partial(self._make_coefficients, k)) for k in range(3))
        object.__setattr__(self, "_falling", tuple(derivatives))

    @property
    def largest(self) -> int | None:
        """Return the last number of runs that is listed."""
        return len(self.probabilities) - 1

    @property
    def work(self) -> int:
        """Return the work of one sum over all listed numbers of runs."""
        return law_work(len(self.probabilities))

    def phi(self, order: int, z: arb) -> arb:
        """Return the derivative by Horner's rule."""
        total = arb(0)
        for one in self._falling[order]():
            total = total * z + one
        return total

    def _make_coefficients(self, order: int) -> list[arb]:
        """Return a derivative's coefficients from the last on, at the current precision."""
        both = reversed(list(enumerate(self.probabilities))[order:])
        return [ball(p * (1, k, k * (k - 1))[order]) for k, p in both]

    def describe(self) -> str:
        """List every probability."""
        listed = ", ".join(map(str, self.probabilities))
        return f"0, 1, 2, ... with probabilities {openable(listed)}"


def _truncated(fields: Fields) -> Runs:
    eta, gamma = fields.rational("eta"), fields.positive("gamma")
    if not (eta > -1 and gamma < 1):
        raise RefusedError("the runs need eta above -1 and gamma below 1")
    return TruncatedNegativeBinomial(eta, gamma)


def _binomial(fields: Fields) -> Runs:
    trials, probability = fields.whole("trials", most=MAX_TRIALS), fields.positive("probability")
    if probability > 1:
        raise RefusedError("a probability is at most 1")
    return Binomial(trials, probability)


LAWS: Final[dict[str, Callable[[Fields], Runs]]] = {
    "truncated-negative-binomial": _truncated,
    "poisson": lambda fields: Poisson(fields.positive("rate")),
    "binomial": _binomial,
    "finite": lambda fields: Finite(fields.rationals("probabilities")),
}


def read_runs(value: object) -> Runs:
    """Return the law from its JSON."""
    fields = Fields(value, "the number of runs")
    kind = fields.take("kind")
    if not isinstance(kind, str) or kind not in LAWS:
        raise RefusedError(f"no number of runs is called {kind!r:.60}")
    runs = LAWS[kind](fields)
    fields.close()
    return runs


@frozen
class Tent:
    """The hat functions T_u, T, T_v on the points u = e^{-w}, 1, v = e^w."""

    tau: Fraction  # of the virtual Gaussian, above 0
    width: Fraction  # w, above 0

    def hats(self) -> tuple[arb, arb, arb]:
        """Return E[T_u(X)], E[T(X)], E[T_v(X)].

        P(u <= X <= 1) = E[X; 1 <= X <= v] = a, P(1 <= X <= v) = E[X; u <= X <= 1] = b.
        """
        half, reach = ball(self.tau / 2), ball(self.width / self.tau)
        a = normal_tail(-half) - normal_tail(reach - half)
        b = normal_tail(half) - normal_tail(reach + half)
        w = ball(self.width)
        left, right = (b - a) / (-w).expm1(), (a - b) / w.expm1()
        return left, a + b - left - right, right

    def outside(self, c: Fraction) -> arb:
        """Return E[X^{-c}; X < u or X > v] over E[X^{-c}] = e^{tau^2 c(c+1)/2}."""
        reach, shift = ball(self.width / self.tau), ball((c + Fraction(1, 2)) * self.tau)
        return normal_tail(reach - shift) + normal_tail(reach + shift)
