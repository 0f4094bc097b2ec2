"""Local reports of one category: their shared pair, exact probabilities and frequencies."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import DataError, DominatingPair, ParameterError, arguments
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.rounding import exp_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.readable import table
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import CATEGORIES, OUTPUT_ALONE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import QueryMechanism
from dpproof.mechanisms.queries import Query, whole_values

_GRID: Final = 1 << 60
MOST_EPSILON: Final = 32
_MOST_CATEGORIES: Final = 1 << 20
_MOST_ROWS: Final = 50  # of a notebook's table
_HALVINGS: Final = 60


@final
@dataclass(frozen=True, slots=True)
class Frequencies:
    """Estimates of how frequent each category is among those who reported.

    Arrays are of shape (categories,). Estimates are unbiased, possibly below 0 or above 1. The ends
    ``lower`` and ``upper`` of confidence intervals, each valid by itself, are in [0, 1]. The
    standard error is itself estimated; ``names`` is empty if none were given.
    """

    estimate: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    confidence: float
    names: tuple[str, ...] = ()

    def projected(self) -> NDArray[np.float64]:
        """Return the frequencies nearest to the estimates that are at or above 0 and add up to 1.

        They are biased, and as a rule nearer to the truth; the intervals are about the estimates.
        Source: Wang et al. (NDSS 2020), Norm-Sub.
        """
        falling = np.sort(self.estimate)[::-1]
        shifts = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
        shift = shifts[np.flatnonzero(falling > shifts)[-1]]
        return np.asarray(np.maximum(self.estimate - shift, 0.0))

    def normal(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return lower and upper ends of intervals of normal size: narrower, and not guaranteed.

        They hold about as often as ``confidence`` says where there are many reports. ``lower`` and
        ``upper`` hold at least as often, however few there are.
        """
        width = NormalDist().inv_cdf(0.5 + self.confidence / 2) * self.standard_error
        return np.clip(self.estimate - width, 0, 1), np.clip(self.estimate + width, 0, 1)

    def __str__(self) -> str:
        title, rows = self._table()
        return "\n".join([title, *(f"  {name}: {text}" for name, text in rows)])

    def _repr_html_(self) -> str:
        """Show a notebook the same as a table."""
        return table(*self._table())

    def _table(self) -> tuple[str, list[tuple[str, str]]]:
        names = self.names or [str(place) for place in range(len(self.estimate))]
        ends = zip(names, self.estimate, self.lower, self.upper, strict=True)
        rows = [(name, f"{one:.4g}, in [{low:.4g}, {high:.4g}]") for name, one, low, high in ends]
        return f"Frequencies, intervals of confidence {self.confidence:g}", rows[:_MOST_ROWS]


class FrequencyOracle(QueryMechanism[R], ABC):
    """A mechanism on one category whose reports, one a person, tell how frequent each is."""

    __slots__ = ()

    @property
    @abstractmethod
    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how likely a report supports its own category, and how likely any other."""

    @abstractmethod
    def support(self, reports: object) -> tuple[NDArray[np.int64], int]:
        """Return how many reports support each category, and the number of reports."""

    @final
    def frequencies(
        self, reports: object, *, confidence: arguments.Number = 0.95, names: Sequence[str] = ()
    ) -> Frequencies:
        """Estimate how frequent each category is among those who reported.

        Statement: if a report supports its own category with probability ``truly`` and any other
            with probability ``falsely``, (support/n - falsely)/(truly - falsely) is unbiased. The
            interval holds the true frequency of a category with at least the confidence, by
            P(support/n >= s) <= e^(-n KL(s, mean)) for s at or above the mean, and so below it.
        Source: Hoeffding (1963), Theorem 1, whose summands need not be alike.

        Reports are as ``release`` returns them, one a person on the first axis. The confidence is
        of each interval by itself.
        """
        support, size = self.support(reports)
        if len(names) not in (0, len(support)):
            raise ParameterError("names", len(names), f"{len(support)} of them")
        return estimated(support, size, self.chances, confidence, tuple(map(str, names)))


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Report(FrequencyOracle[R], ABC):
    """A report of one category, which may become any other between neighbours."""

    categories: int = field(
        converter=parameters.whole,
        validator=parameters.within(2, _MOST_CATEGORIES, f"from 2 to {_MOST_CATEGORIES}"),
    )
    relation: R = field(validator=parameters.neighbours)

    @final
    def _apart(
        self,
        theorem: Theorem,
        said: str,
        up: Fraction,
        down: Fraction,
        **given: Any,  # noqa: ANN401  # parameters of several types
    ) -> DominatingPair[R]:
        """State that two categories differ: reports for the true one, ``up``, and ``down``."""
        rest = 1 - up - down
        return self._dominated(
            theorem,
            f"{said} ({self.relation})",
            Product.of(FinitePair(p=(up, down, rest), q=(down, up, rest))),
            assumptions=(CATEGORIES(categories=self.categories), RANDOM_BITS(), OUTPUT_ALONE()),
            categories=self.categories,
            **given,
        )


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class EpsilonReport(Report[R], ABC):
    """A report whose probabilities follow from its epsilon."""

    epsilon: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(0, MOST_EPSILON, f"at most {MOST_EPSILON}"),
    )


def share_down(epsilon: Fraction, ours: int, others: int) -> Fraction:
    """Return ours e^epsilon / (ours e^epsilon + others), rounded down to a multiple of 2^-60."""
    power = exp_up(epsilon) * (1 - Fraction(1, 1 << 98))  # below e^epsilon
    share = ours * power / (ours * power + others)
    return Fraction(math.floor(share * _GRID), _GRID)


def estimated(
    support: NDArray[np.int64],
    reports: int,
    chances: tuple[Fraction, Fraction],
    confidence: arguments.Number,
    names: tuple[str, ...] = (),
) -> Frequencies:
    """Estimate frequencies from how many reports support each category."""
    truly, falsely = chances
    if not truly > falsely:
        reason = "epsilon is so small that reports say nothing"
        raise ParameterError("chances", (float(truly), float(falsely)), "apart", reason)
    certainty = kept_confidence(confidence)
    gap, share = float(truly - falsely), support / reports

    def frequency(mean: NDArray[np.float64]) -> NDArray[np.float64]:
        return (mean - float(falsely)) / gap

    estimate = frequency(share)
    likely = np.clip(estimate, 0.0, 1.0)
    spread = likely * float(truly * (1 - truly)) + (1 - likely) * float(falsely * (1 - falsely))
    far = math.log(2 / (1 - certainty)) / reports
    low, high = (frequency(_mean_at(share, far, end)) for end in (0.0, 1.0))
    error = np.sqrt(spread / reports) / gap
    return Frequencies(
        estimate, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), error, certainty, names
    )


def kept_confidence(confidence: arguments.Number) -> float:
    """Return a confidence as a float whose quantile of a normal distribution is finite."""
    certainty = float(arguments.open_probability(confidence=confidence))
    if 0.5 + certainty / 2 == 1.0:
        raise ParameterError("confidence", confidence, "at most 1 - 2^-52: it rounds to 1")
    return certainty


def _mean_at(share: NDArray[np.float64], far: float, end: float) -> NDArray[np.float64]:
    """Return the mean towards an end of [0, 1] whose KL(share, mean) is just above a number."""
    from scipy.special import rel_entr  # noqa: PLC0415 - its import takes longer than all of ours

    inside, outside = share.copy(), np.full_like(share, end)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        nearer = rel_entr(share, middle) + rel_entr(1 - share, 1 - middle) <= far
        inside, outside = np.where(nearer, middle, inside), np.where(nearer, outside, middle)
    return outside


def require_reports(reports: object, width: int, allowed: str) -> NDArray[np.int64]:
    """Return reports as integers of shape (n, width), n at least 1."""
    array = np.asarray(reports)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != width or not len(array):
        raise ParameterError("reports", np.shape(array), allowed)
    return array.astype(np.int64)


def one_category(
    query: Query | None, datasets: Sequence[object], categories: int
) -> NDArray[np.int64]:
    """Return the category of each dataset."""
    truth = whole_values(query, datasets)
    if truth.ndim != 1 or truth.min() < 0 or truth.max() >= categories:
        raise DataError("value", np.squeeze(truth), f"one category, 0 to {categories - 1}")
    return truth
