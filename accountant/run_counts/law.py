"""Laws of the number of runs K, given by their probability generating functions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals, log_exact, raised_up
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.readable import Readable

# Relative error of the mean and of the derivatives of the generating function, at an argument that
# is exactly a float; the tests find at most a tenth of it. Soundness depends on it.
LAW_ERROR = 1e-11
# Relative error of sums of logs that are all at or above 0: approximately thirty roundings.
# Soundness depends on it.
LOG_ERROR = 1e-14
FARTHEST = 700.0  # Largest x for which e^x is computed as a float; beyond it logs are used.
# Least probability: a smaller one loses digits as a float. Smaller ones raise.
LEAST_PROBABILITY = Fraction(1, 10**300)
# Most masses that a quantile is looked for in, to bound memory. Exceeding it raises.
_LONGEST = 1 << 26


class RunLaw(Readable, ABC):
    """The law of a number of runs that does not depend on the data.

    Final subclasses are frozen, hashable dataclasses with exact parameters.
    """

    __slots__ = ()

    corner_is_worst: ClassVar[bool]  # a phi''(1 - a)/phi'(1 - a) is known to grow with a in [0, 1)

    @property
    @abstractmethod
    def mean(self) -> float:
        """Return the expected number of runs."""

    @property
    def largest(self) -> int | None:
        """Return the largest number of runs that is possible, None if there is none."""
        return None

    @property
    def smallest(self) -> int:
        """Return a number of runs below which there is none."""
        return 1

    @abstractmethod
    def describe(self) -> str:
        """Return the law in words and numbers."""

    @abstractmethod
    def pgf(self, z: Reals) -> Reals:
        """Return E[z^K] for z in [0, 1]."""

    @abstractmethod
    def derivative(self, z: Reals) -> Reals:
        """Return the first derivative of the generating function, E[K z^(K-1)], for z in [0, 1]."""

    @abstractmethod
    def growth(self, z: Reals) -> Reals:
        """Return the second derivative over the first on [0, 1], any number if both are 0."""

    @abstractmethod
    def third(self, z: Reals) -> Reals:
        """Return the third derivative of the generating function, for z in [0, 1]."""

    @abstractmethod
    def masses(self, largest: int) -> Reals:
        """Return P(K = k) for k = 0, ..., largest: shape (largest + 1,)."""

    @abstractmethod
    def log_moment_up(self, exponent: float) -> float:
        """Return log E[e^(exponent K)] for an exponent >= 0, rounded up; +inf if unbounded."""

    @abstractmethod
    def log_ratio_up(self, epsilon: float) -> float:
        """Return the largest log phi'(c)/phi'(tau) that epsilon-DP allows, rounded up.

        The epsilon is at or above 0.

        Statement: c and tau are the masses of one set under two neighbours, so tau >= e^-eps c
            and 1 - tau <= e^eps (1 - c). If a phi''(1 - a)/phi'(1 - a) grows with a
            (``corner_is_worst``) the ratio is largest where both are equalities, at
            c = 1 - tau = e^eps/(1 + e^eps). At infinity it is log phi'(1)/phi'(0).
        Source: proofs/theory/selection.md, Corollary 3.
        """

    def log_ratio_within(self, variation: float) -> float:  # noqa: ARG002  # some laws use it
        """Return a bound of log phi'(c)/phi'(tau) for |c - tau| <= variation, +inf if not known.

        The variation is in [0, 1]. The log of phi' grows by the integral of ``growth`` from tau to
        c, which is largest where that is.
        """
        return math.inf

    @property
    @final
    def log_mean_up(self) -> float:
        """Return log E[max(K, 1)] = log(m + P(K = 0)), m the mean, rounded up.

        E[max(K - 1, 0)] is at most E[K (K - 1)]/2 = phi''(1)/2, which keeps its digits if m + P(K =
        0) is close to 1.
        """
        size = self.mean + self.probability_of_none
        beyond = max(size - 1.0, 0.0) + 2 * LAW_ERROR * (1.0 + size)
        twice = 0.5 * self.mean * float(self.growth(np.ones(1))[0])
        if twice == 0.0 and self.largest == 1:
            return 0.0
        return raised_up(math.log1p(min(beyond, raised_up(twice, 4 * LAW_ERROR))), LOG_ERROR)

    @property
    @final
    def probability_of_none(self) -> float:
        """Return P(K = 0): there is no run and no release."""
        return float(self.pgf(np.zeros(1))[0])

    @final
    def probability_drawn(self, *, candidates: int) -> float:
        """Return the probability that a given candidate is among the runs.

        Each run draws one of the candidates uniformly, so K runs miss a given one with
        probability (1 - 1/n)^K, and that is the generating function at 1 - 1/n.

        Example:
            >>> from dpproof.accountant.run_counts.law import FixedRuns
            >>> FixedRuns(count=2).probability_drawn(candidates=2)
            0.75
        """
        number = arguments.count(candidates=candidates)
        return 1.0 - float(self.pgf(np.array([1.0 - 1.0 / number]))[0])

    @final
    def quantile(self, *, level: Number) -> int:
        """Return the smallest k with P(K <= k) >= level, for a level in (0, 1).

        It is computed in floating point.

        Example:
            >>> from dpproof.accountant.run_counts.law import FixedRuns
            >>> FixedRuns(count=5).quantile(level=0.5)
            5
        """
        wanted = float(arguments.open_probability(level=level))
        size = 64 + 2 * int(self.mean)
        while size <= _LONGEST:
            reached = np.cumsum(self.masses(size))
            if reached[-1] >= wanted:
                return int(np.argmax(reached >= wanted))
            size *= 4
        raise NotCertified(
            f"quantile {wanted} of {self.describe()} lies beyond {_LONGEST} runs; ask for a "
            "smaller level, or take a law with fewer runs"
        )


def masses_from_ratios(first: int, log_first: float, log_ratios: Reals) -> Reals:
    """Return masses from P(K = first) and the logs of P(K = k + 1) / P(K = k), k >= first."""
    logs = log_first + np.concatenate([[0.0], np.cumsum(log_ratios)])
    with np.errstate(under="ignore"):
        return np.concatenate([np.zeros(first), np.exp(logs)])


def log_binary_moment_up(probability: Fraction, exponent: float) -> float:
    """Return log(1 - p + p e^exponent), rounded up, for an exponent at or above 0.

    For large exponents it is bounded by log(1 + p e^exponent), and always by the exponent.
    """
    if exponent == 0.0:
        return 0.0
    if exponent <= FARTHEST:
        grown = raised_up(math.log1p(float(probability) * math.expm1(exponent)), LOG_ERROR)
    else:
        log_p = log_exact(probability)
        size = exponent - log_p
        grown = float(np.logaddexp(0.0, exponent + log_p)) + LOG_ERROR * size
    return min(grown, exponent)


def logistic_log_ratio_up(gamma: Fraction, epsilon: float) -> float:
    """Return log((gamma + e^eps)/(1 + gamma e^eps)), rounded up.

    The domain is gamma in (0, 1) and epsilon >= 0. As log1p((1 - gamma)(1 - e^-eps)/(e^-eps +
    gamma)), whose terms are all at or above 0.
    """
    gain = float(1 - gamma) * -math.expm1(-epsilon) / (math.exp(-epsilon) + float(gamma))
    return raised_up(math.log1p(gain), LOG_ERROR) if epsilon > 0.0 else 0.0


def only_one(name: str, value: Number | None, mean: Number | None) -> None:
    """Refuse a parameter and the mean in its place, if both or neither are there."""
    if (value is None) == (mean is None):
        raise ParameterError(name, value, "given, or mean in its place, and not both")


def required_runs(runs: object) -> None:
    """Refuse anything but a law of the number of runs, such as a bare number."""
    if not isinstance(runs, RunLaw):
        raise ParameterError(
            "runs", runs, "a law of the number of runs", "FixedRuns(count=...) is one"
        )


# Most runs: the error of the law's functions is tested up to here. Soundness depends on it.
_MOST_RUNS = 10**4


@final
@dataclass(frozen=True, slots=True, init=False)
class FixedRuns(RunLaw):
    """K = count: the worst law for privacy, as whoever loses always loses to the same number.

    Attributes:
        count: from 1 to 10^4.

    Example:
        >>> FixedRuns(count=7).mean
        7.0
    """

    count: int
    corner_is_worst: ClassVar[bool] = True  # (n - 1) a / (1 - a) grows with a

    def __init__(self, *, count: int) -> None:
        """Keep the count."""
        number = arguments.count(count=count)
        if number > _MOST_RUNS:
            raise ParameterError("count", count, f"a whole number from 1 to {_MOST_RUNS}")
        object.__setattr__(self, "count", number)

    @property
    def mean(self) -> float:
        """Return the count."""
        return float(self.count)

    @property
    def largest(self) -> int | None:
        """Return the count."""
        return self.count

    @property
    def smallest(self) -> int:
        """Return the count."""
        return self.count

    def describe(self) -> str:
        """Return the law in words and numbers."""
        return f"{self.count} runs"

    def pgf(self, z: Reals) -> Reals:
        """Return z^count."""
        return np.asarray(z**self.count)

    def derivative(self, z: Reals) -> Reals:
        """Return count z^(count - 1)."""
        return np.asarray(self.count * z ** (self.count - 1))

    def third(self, z: Reals) -> Reals:
        """Return count (count - 1) (count - 2) z^(count - 3)."""
        falling = float(self.count * (self.count - 1) * (self.count - 2))
        return np.asarray(falling * z ** max(self.count - 3, 0))

    def growth(self, z: Reals) -> Reals:
        """Return (count - 1) / z."""
        return np.asarray((self.count - 1) / np.maximum(z, 1e-300))

    def log_moment_up(self, exponent: float) -> float:
        """Return count times the exponent, rounded up."""
        return raised_up(self.count * exponent, LOG_ERROR) if exponent > 0.0 else 0.0

    def log_ratio_up(self, epsilon: float) -> float:
        """Return (count - 1) epsilon, rounded up."""
        if self.count == 1 or epsilon == 0.0:
            return 0.0
        return raised_up((self.count - 1) * epsilon, LOG_ERROR)

    def masses(self, largest: int) -> Reals:
        """Return mass 1 at the count and 0 elsewhere."""
        return np.asarray(np.arange(largest + 1) == self.count, dtype=float)


# Largest rate: the error of the law's functions is tested up to here. Soundness depends on it.
_LARGEST_RATE = 10**4


@final
@dataclass(frozen=True, slots=True, init=False)
class PoissonRuns(RunLaw):
    """K is Poisson: there is no run with probability e^-rate.

    Source: Papernot & Steinke (arXiv:2110.03620), Section 3.4.

    Attributes:
        rate: exact, in [1e-300, 10^4]: the expected number of runs, also called ``mean``.

    Example:
        >>> PoissonRuns(mean=3).quantile(level=0.5)
        3
    """

    rate: Fraction
    corner_is_worst: ClassVar[bool] = True  # the growth is constant, and rate a grows with a

    def __init__(self, *, rate: Number | None = None, mean: Number | None = None) -> None:
        """Keep the exact rate."""
        only_one("rate", rate, mean)
        exact = arguments.positive(rate=mean if rate is None else rate)
        if not LEAST_PROBABILITY <= exact <= _LARGEST_RATE:
            raise ParameterError("rate", rate, f"in [1e-300, {_LARGEST_RATE}]")
        object.__setattr__(self, "rate", exact)

    @property
    def mean(self) -> float:
        """Return the rate."""
        return float(self.rate)

    def describe(self) -> str:
        """Return the law in words and numbers."""
        return f"Poisson runs (rate {float(self.rate):g})"

    def pgf(self, z: Reals) -> Reals:
        """Return e^(-rate (1 - z))."""
        return np.asarray(np.exp(-float(self.rate) * (1.0 - z)))

    def derivative(self, z: Reals) -> Reals:
        """Return rate times the generating function."""
        return np.asarray(float(self.rate) * self.pgf(z))

    def third(self, z: Reals) -> Reals:
        """Return rate^3 times the generating function."""
        return np.asarray(float(self.rate) ** 3 * self.pgf(z))

    def growth(self, z: Reals) -> Reals:
        """Return the rate."""
        return np.full(np.shape(z), float(self.rate))

    def log_moment_up(self, exponent: float) -> float:
        """Return rate (e^exponent - 1), rounded up."""
        if exponent > FARTHEST:
            return math.inf
        return raised_up(float(self.rate) * math.expm1(exponent), LOG_ERROR) if exponent else 0.0

    def log_ratio_within(self, variation: float) -> float:
        """Return rate times variation, as the growth is the rate."""
        return raised_up(float(self.rate) * variation, LOG_ERROR)

    def log_ratio_up(self, epsilon: float) -> float:
        """Return rate tanh(epsilon/2), rounded up."""
        return raised_up(float(self.rate) * math.tanh(0.5 * epsilon), LOG_ERROR) if epsilon else 0.0

    def masses(self, largest: int) -> Reals:
        """Return the masses by the ratio rate/(k + 1) of neighbours."""
        ratios = log_exact(self.rate) - np.log(np.arange(1.0, largest + 1.0))
        return masses_from_ratios(0, -float(self.rate), ratios)


# Most trials: the error of the law's functions is tested up to here. Soundness depends on it.
_MOST_TRIALS = 10**5


@final
@dataclass(frozen=True, slots=True, init=False)
class BinomialRuns(RunLaw):
    """K is binomial: no run at all with probability (1 - probability)^trials.

    Attributes:
        trials: from 1 to 10^5.
        probability: exact, in (0, 1), at least 1e-300 away from both ends; or ``mean=``, over
            trials.

    Example:
        >>> BinomialRuns(trials=10, mean=5).probability
        Fraction(1, 2)
    """

    trials: int
    probability: Fraction
    corner_is_worst: ClassVar[bool] = True  # (n - 1) p a / (1 - p a) grows with a

    def __init__(
        self, *, trials: int, probability: Number | None = None, mean: Number | None = None
    ) -> None:
        """Keep the exact parameters."""
        number = arguments.count(trials=trials)
        only_one("probability", probability, mean)
        if probability is None:
            probability = arguments.positive(mean=mean) / number
        if number > _MOST_TRIALS:
            raise ParameterError("trials", trials, f"a whole number from 1 to {_MOST_TRIALS}")
        exact = arguments.open_probability(probability=probability)
        if not LEAST_PROBABILITY <= exact <= 1 - LEAST_PROBABILITY:
            raise ParameterError(
                "probability", probability, "at least 1e-300 away from 0 and from 1"
            )
        object.__setattr__(self, "trials", number)
        object.__setattr__(self, "probability", exact)

    @property
    def mean(self) -> float:
        """Return trials times probability."""
        return float(self.trials * self.probability)

    @property
    def largest(self) -> int | None:
        """Return the number of trials."""
        return self.trials

    def describe(self) -> str:
        """Return the law in words and numbers."""
        return f"binomial runs ({self.trials} trials of probability {float(self.probability):g})"

    def _log_gap(self, z: Reals) -> Reals:
        """Return log(1 - probability (1 - z)), accurate also if that is close to 0."""
        missed = float(self.probability) * (1.0 - z)
        near = float(1 - self.probability) + float(self.probability) * z
        log: Reals = np.where(missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(near))
        return log

    def pgf(self, z: Reals) -> Reals:
        """Return (1 - probability (1 - z))^trials."""
        return np.asarray(np.exp(self.trials * self._log_gap(z)))

    def derivative(self, z: Reals) -> Reals:
        """Return mean (1 - probability (1 - z))^(trials - 1)."""
        return np.asarray(self.mean * np.exp((self.trials - 1) * self._log_gap(z)))

    def third(self, z: Reals) -> Reals:
        """Return mean (n - 1)(n - 2) p^2 (1 - p (1 - z))^(n - 3), of n trials of probability p."""
        falling = (self.trials - 1) * (self.trials - 2) * float(self.probability) ** 2
        return np.asarray(self.mean * falling * np.exp(max(self.trials - 3, 0) * self._log_gap(z)))

    def growth(self, z: Reals) -> Reals:
        """Return (trials - 1) probability / (1 - probability (1 - z))."""
        gap = float(1 - self.probability) + float(self.probability) * z
        return np.asarray((self.trials - 1) * float(self.probability) / gap)

    def log_moment_up(self, exponent: float) -> float:
        """Return trials times log(1 - probability + probability e^exponent), rounded up."""
        one = log_binary_moment_up(self.probability, exponent)
        return raised_up(self.trials * one, LOG_ERROR) if one else 0.0

    def log_ratio_within(self, variation: float) -> float:
        """Return the log ratio at tau = 0, as the growth falls."""
        odds = float(self.probability / (1 - self.probability))
        return raised_up((self.trials - 1) * math.log1p(odds * variation), LOG_ERROR)

    def log_ratio_up(self, epsilon: float) -> float:
        """Return (trials - 1) log((1 - p + e^epsilon)/(1 + (1 - p) e^epsilon)), rounded up."""
        if self.trials == 1 or epsilon == 0.0:
            return 0.0
        one = logistic_log_ratio_up(1 - self.probability, epsilon)
        return raised_up((self.trials - 1) * one, LOG_ERROR)

    def masses(self, largest: int) -> Reals:
        """Return the masses by the ratio (n - k) p / ((k + 1)(1 - p)) of neighbours."""
        k = np.arange(0.0, min(largest, self.trials))
        odds = log_exact(self.probability / (1 - self.probability))
        first = self.trials * log_exact(1 - self.probability)
        head = masses_from_ratios(0, first, odds + np.log((self.trials - k) / (k + 1.0)))
        return np.concatenate([head, np.zeros(largest + 1 - head.size)])


_LEAST_GAMMA = Fraction(1, 10**9)  # A smaller one raises.
# Largest eta log(1/gamma), so that gamma^-eta is representable as a float. Larger ones raise.
_LARGEST_EXPONENT = 600
# For smaller |x| the quotient (e^x - 1)/x is 1 to within x/2. Error bounds depend on it.
_LINEAR = 1e-20


@final
@dataclass(frozen=True, slots=True, init=False)
class TruncatedNegativeBinomial(RunLaw):
    """P(K = k) proportional to (1 - gamma)^k prod_{l<k} (l + eta)/(l + 1), k >= 1.

    eta = 1 is the geometric law, eta = 0 the logarithmic one; a smaller eta costs less and has
    a smaller mean for the same tail.

    Source: Papernot & Steinke (arXiv:2110.03620), Definition 1. With d = 1 - (1 - gamma) z the
        generating function is (d^-eta - 1)/(gamma^-eta - 1), for eta = 0 log d / log gamma, and
        its derivative mean (gamma/d)^(eta+1).

    Attributes:
        eta: exact, above -1; eta log(1/gamma) at most 600.
        gamma: exact, in [1e-9, 1 - 1e-300]; or ``mean=``, above 1, from which it follows.

    Example:
        >>> TruncatedNegativeBinomial(eta=1, mean=8).gamma
        Fraction(1, 8)
    """

    eta: Fraction
    gamma: Fraction
    # (eta + 1)(1 - gamma) a / (gamma + (1 - gamma) a) grows with a.
    corner_is_worst: ClassVar[bool] = True

    def __init__(
        self, *, eta: Number, gamma: Number | None = None, mean: Number | None = None
    ) -> None:
        """Keep the exact parameters."""
        shape = arguments.real(eta=eta)
        allowed = f"above -1, and eta log(1/gamma) at most {_LARGEST_EXPONENT}"
        if not shape > -1:
            raise ParameterError("eta", eta, allowed)
        only_one("gamma", gamma, mean)
        if gamma is None:
            gamma = _gamma(shape, arguments.positive(mean=mean))
        tail = arguments.open_probability(gamma=gamma)
        if not _LEAST_GAMMA <= tail <= 1 - LEAST_PROBABILITY:
            raise ParameterError("gamma", gamma, "in [1e-9, 1 - 1e-300]")
        if shape * Fraction(-log_exact(tail)) > _LARGEST_EXPONENT:
            raise ParameterError("eta", eta, allowed)
        object.__setattr__(self, "eta", shape)
        object.__setattr__(self, "gamma", tail)

    @property
    def mean(self) -> float:
        """Return (1 - gamma)/(gamma log(1/gamma)) times x/(1 - e^-x). Here x = eta log(1/gamma)."""
        return _mean(self.eta, self.gamma)

    def describe(self) -> str:
        """Return the law in words and numbers."""
        shape, tail = float(self.eta), float(self.gamma)
        return f"truncated negative binomial runs (eta {shape:g}, gamma {tail:g})"

    def _gap(self, z: Reals) -> Reals:
        """Return d = 1 - (1 - gamma) z, computed from 1 - z, which is exact for z near 1."""
        return float(self.gamma) + float(1 - self.gamma) * (1.0 - z)

    def pgf(self, z: Reals) -> Reals:
        """Return (e^(eta l) - 1)/(gamma^-eta - 1), l = -log d, accurate for d near 1."""
        kept = float(1 - self.gamma) * z
        gap = np.where(kept < 0.5, -np.log1p(-np.minimum(kept, 0.5)), -np.log(self._gap(z)))
        length, eta = -log_exact(self.gamma), float(self.eta)
        growth = _relative_growth(eta * gap) / _relative_growth(np.array(eta * length))
        return np.asarray(gap / length * growth)

    def derivative(self, z: Reals) -> Reals:
        """Return mean (gamma/d)^(eta + 1), log(d/gamma) by log1p as eta may be large."""
        exponent = np.log1p(float((1 - self.gamma) / self.gamma) * (1.0 - z))
        return np.asarray(self.mean * np.exp(-float(self.eta + 1) * exponent))

    def third(self, z: Reals) -> Reals:
        """Return phi' (eta + 1)(eta + 2) ((1 - gamma)/d)^2."""
        rising = float((self.eta + 1) * (self.eta + 2))
        return np.asarray(self.derivative(z) * rising * (float(1 - self.gamma) / self._gap(z)) ** 2)

    def growth(self, z: Reals) -> Reals:
        """Return (eta + 1)(1 - gamma) / (1 - (1 - gamma) z)."""
        return np.asarray(float((self.eta + 1) * (1 - self.gamma)) / self._gap(z))

    def log_moment_up(self, exponent: float) -> float:
        """Return infinity for an exponent above 0: the tail is geometric."""
        return math.inf if exponent > 0.0 else 0.0

    def log_ratio_within(self, variation: float) -> float:
        """Return the log ratio at c = 1, as the growth rises."""
        return raised_up(
            float(1 + self.eta) * math.log1p(float(1 / self.gamma - 1) * variation), LOG_ERROR
        )

    def log_ratio_up(self, epsilon: float) -> float:
        """Return (1 + eta) log((gamma + e^epsilon)/(1 + gamma e^epsilon)), rounded up."""
        one = logistic_log_ratio_up(self.gamma, epsilon)
        return raised_up(float(1 + self.eta) * one, LOG_ERROR) if epsilon > 0.0 else 0.0

    def masses(self, largest: int) -> Reals:
        """Return the masses by the ratio (1 - gamma)(k + eta)/(k + 1) of neighbours."""
        k = np.arange(1.0, largest)
        first = math.log(float(self.derivative(np.zeros(1))[0]))
        ratios = log_exact(1 - self.gamma) + np.log(((k - 1.0) + float(self.eta + 1)) / (k + 1.0))
        return masses_from_ratios(1, first, ratios)[: largest + 1]

    def least_shape(self, curve: Mapping[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        """Minimise (1 - 1/b) R(b) + log(1/gamma)/b over the orders b of a curve R.

        It returns the minimum and its b. The log is rounded up, the rest exact. Papernot & Steinke
        (arXiv:2110.03620), Theorem 2.
        """
        tail = Fraction(raised_up(-log_exact(self.gamma), LOG_ERROR))
        return min(((1 - 1 / b) * value + tail / b, b) for b, value in curve.items())


@lru_cache(maxsize=64)
def _mean(eta: Fraction, gamma: Fraction) -> float:
    """Return the mean, which every derivative asks for."""
    length = -log_exact(gamma)
    growth = float(_relative_growth(np.array(-float(eta) * length)))
    return float((1 - gamma) / gamma) / length / growth


def _gamma(eta: Fraction, mean: Fraction) -> Fraction:
    """Return a gamma whose law has this mean, or a larger one by at most 1e-9 of it."""
    if eta == 1 and 1 < mean <= 1 / _LEAST_GAMMA:
        return 1 / mean
    low = max(log_exact(_LEAST_GAMMA), -_LARGEST_EXPONENT / float(eta) if eta > 0 else -math.inf)

    def law_mean(log_gamma: float) -> float:
        return _mean(eta, Fraction(math.exp(log_gamma)))

    ends = low * (1 - 1e-12), -(2.0**-40)
    log_gamma = bisect(lambda one: law_mean(one) > mean, *ends, rounds=80)[0]
    if not mean > 1 or abs(Fraction(law_mean(log_gamma)) - mean) > mean / 10**9:
        raise ParameterError("mean", mean, "above 1, and that of a gamma in its range")
    return Fraction(math.exp(log_gamma))


def _relative_growth(x: Reals) -> Reals:
    """Return (e^x - 1)/x, and 1 at 0."""
    safe = np.where(np.abs(x) < _LINEAR, 1.0, x)
    return np.where(np.abs(x) < _LINEAR, 1.0, np.expm1(safe) / safe)
