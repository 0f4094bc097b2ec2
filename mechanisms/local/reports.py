"""Local reports of one category: their shared pair, exact probabilities and frequencies."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import exp_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import CATEGORIES, OUTPUT_ALONE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import QueryMechanism
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import Query, whole_values

_GRID: Final = 1 << 60
MOST_EPSILON: Final = 32
_MOST_CATEGORIES: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Frequencies:
    """Estimates of how frequent each category is among those who reported.

    Attributes:
        estimate: shape (categories,), unbiased, possibly below 0 or above 1.
        lower: lower ends of confidence intervals, at or above 0, each valid by itself.
        upper: upper ends, at or below 1.
    """

    estimate: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


@frozen(kw_only=True, repr=False, field_transformer=named)
class Report(QueryMechanism[R], ABC):
    """A report of one category, which may become any other between neighbours."""

    categories: int = field(
        converter=parameters.whole,
        validator=parameters.within(2, _MOST_CATEGORIES, f"from 2 to {_MOST_CATEGORIES}"),
    )
    relation: R = field(validator=parameters.neighbours)


@frozen(kw_only=True, repr=False, field_transformer=named)
class EpsilonReport(Report[R], ABC):
    """A report whose probabilities follow from its epsilon."""

    epsilon: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(0, MOST_EPSILON, f"at most {MOST_EPSILON}"),
    )


def share_down(epsilon: Fraction, ours: int, others: int) -> Fraction:
    """Return ours e^epsilon / (ours e^epsilon + others), down to a multiple of 2^-60.

    Every probability of a report is therefore an exact rational, and costs no more than epsilon.

    Example:
        >>> float(share_down(Fraction(1, 10**30), 1, 1)) == 0.5
        True
    """
    power = exp_up(epsilon) * (1 - Fraction(1, 1 << 98))  # below e^epsilon
    share = ours * power / (ours * power + others)
    return Fraction(math.floor(share * _GRID), _GRID)


def report_guarantee(
    theorem: Theorem,
    relation: R,
    masses: tuple[Fraction, Fraction],
    categories: int,
    said: str,
    **given: Any,  # noqa: ANN401  # parameters of several types
) -> DominatingPair[R]:
    """Return the guarantee of a report that tells two categories apart by three outcomes.

    Args:
        theorem: of the mechanism, of rule "mechanism/local-report".
        relation: any: a category may become any other.
        masses: of the reports that speak for the true category against the other, and the
            other way round.
        categories: the number of categories.
        said: the statement in words and numbers.
        given: the parameters that the checker computes the masses from.
    Example:
        >>> from dpproof.accountant import AddRemove, Attained
        >>> half, rule = Fraction(1, 2), Theorem("mechanism/local-report", "", Attained.WHOLE)
        >>> pair = report_guarantee(rule, AddRemove(), (half, Fraction(0)), 2, "")
        >>> pair.delta(epsilon=0).upper < 0.51
        True
    """
    pair = Product.of(three_outcomes(*masses))
    derivation = applied(
        theorem,
        f"{said} ({relation})",
        assumptions=(CATEGORIES(categories=categories), RANDOM_BITS(), OUTPUT_ALONE()),
        categories=categories,
        **given,
    )
    return DominatingPair(forward=pair, backward=pair, relation=relation, derivation=derivation)


def three_outcomes(up: Fraction, down: Fraction) -> FinitePair:
    """Return the pair of masses (up, down, rest) and (down, up, rest).

    Example:
        >>> three_outcomes(Fraction(1, 2), Fraction(1, 4)).p[2]
        Fraction(1, 4)
    """
    rest = 1 - up - down
    return FinitePair(p=(up, down, rest), q=(down, up, rest))


def estimated(
    support: NDArray[np.int64], reports: int, truly: Fraction, falsely: Fraction, confidence: Number
) -> Frequencies:
    """Estimate frequencies from how many reports support each category.

    Statement: if a report supports its own category with probability ``truly`` and any other with
        probability ``falsely``, (support/n - falsely)/(truly - falsely) is unbiased, and by
        Hoeffding's inequality the interval around it holds the true frequency of a category with at
        least the confidence stated.

    Args:
        support: shape (categories,), how many reports support each.
        reports: n, at least 1.
        truly: above ``falsely``.
        falsely: at or above 0.
        confidence: of each interval by itself, above 0 and below 1.
    Example:
        >>> estimated(np.array([75, 25]), 100, Fraction(3, 4), Fraction(1, 4), 0.9).estimate
        array([1., 0.])
    """
    alpha = 1 - float(arguments.open_probability(confidence=confidence))
    gap = float(truly - falsely)
    estimate = (support / reports - float(falsely)) / gap
    width = math.sqrt(math.log(2 / alpha) / (2 * reports)) / gap
    return Frequencies(
        estimate, np.clip(estimate - width, 0.0, 1.0), np.clip(estimate + width, 0.0, 1.0)
    )


def require_reports(reports: object, width: int, allowed: str) -> NDArray[np.int64]:
    """Return reports as integers of shape (n, width), n at least 1.

    Raises:
        ParameterError: another shape, or no integers.
    Example:
        >>> require_reports([[0, 1]], 2, "").shape
        (1, 2)
    """
    array = np.asarray(reports)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != width or not len(array):
        raise ParameterError("reports", np.shape(array), allowed)
    return array.astype(np.int64)


def one_category(
    query: Query | None, datasets: Sequence[object], categories: int
) -> NDArray[np.int64]:
    """Return the category of each dataset.

    Raises:
        ParameterError: not one whole number from 0 to categories - 1 each.
    Example:
        >>> one_category(None, [2, 0], 3)
        array([2, 0])
    """
    truth = whole_values(query, datasets)
    if truth.ndim != 1 or truth.min() < 0 or truth.max() >= categories:
        raise DataError("value", np.squeeze(truth), f"one category, 0 to {categories - 1}")
    return truth
