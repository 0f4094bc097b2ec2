"""Plan a survey: the least epsilon at which so many people give so small an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, TypeAlias, final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.errors import CalibrationError
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import Relation, ReplaceOne
from dpproof.mechanisms.local.randomized_response import (
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from dpproof.mechanisms.local.reports import MOST_EPSILON, FrequencyOracle, kept_confidence

_KINDS: Final = (RandomizedResponse, UnaryEncoding, SubsetSelection, LocalHashing)
_LEAST: Final = 2.0**-10  # epsilon
_CLOSE: Final = 1e-4  # relative, of epsilon. Heuristic: the one returned meets the error.

Oracle: TypeAlias = FrequencyOracle[Relation]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyOption(Readable):
    """One way to ask.

    Attributes:
        mechanism: what every person runs.
        epsilon: of it.
        error: half the width of the interval of normal size of one category.
    """

    mechanism: Oracle
    epsilon: float
    error: float


def plan_survey(
    *,
    categories: int,
    people: int,
    error: Number,
    confidence: Number = 0.95,
    frequency: Number | None = None,
    relation: Relation | None = None,
) -> tuple[SurveyOption, ...]:
    """Return ways to ask so many people that meet an error, the least epsilon first.

    Randomised response, unary encoding, subset selection and local hashing are compared, each with
    its best epsilon. The error is half the width of ``Frequencies.normal`` of one category: the
    guaranteed intervals are wider.

    Args:
        categories: that a person may answer, from 2 to 2^20.
        people: who report, at least 1.
        error: wanted, in (0, 1): 0.02 is two percentage points.
        confidence: of each interval by itself.
        frequency: of the category that the error is about, in [0, 1]; None is the worst.
        relation: of the mechanisms, by default ReplaceOne(): any answer may become any other.
    Raises:
        ParameterError: a number outside its domain, or a confidence that rounds to 1.
        CalibrationError: no mechanism meets the error at an epsilon up to 32.
    Example:
        >>> best = plan_survey(categories=4, people=1000, error=0.02)[0]
        >>> type(best.mechanism).__name__, round(best.epsilon, 2)
        ('RandomizedResponse', 3.43)
    """
    size, wanted = arguments.count(people=people), float(arguments.open_probability(error=error))
    kept = kept_confidence(confidence)
    deviations = NormalDist().inv_cdf(0.5 + kept / 2)
    share = None if frequency is None else arguments.probability(frequency=frequency)
    neighbours = ReplaceOne() if relation is None else relation
    options = []
    for kind in _KINDS:

        def build(epsilon: float, kind: Callable[..., Oracle] = kind) -> Oracle:
            return kind(epsilon=epsilon, categories=categories, relation=neighbours)

        def misses(epsilon: float, build: Callable[[float], Oracle] = build) -> bool:
            return deviations * _deviation(build(epsilon), size, share) > wanted

        if misses(MOST_EPSILON):
            continue
        low = _LEAST if misses(_LEAST) else _LEAST / 2
        epsilon = bisect(misses, low, float(MOST_EPSILON), near=_CLOSE)[1]
        mechanism = build(epsilon)
        half = deviations * _deviation(mechanism, size, share)
        options.append(SurveyOption(mechanism=mechanism, epsilon=epsilon, error=half))
    if not options:
        raise CalibrationError(
            f"{size} people do not give an error of {wanted:g} at any epsilon up to {MOST_EPSILON}"
        )
    return tuple(sorted(options, key=lambda option: option.epsilon))


def _deviation(mechanism: Oracle, people: int, frequency: Fraction | None) -> float:
    """Return the standard deviation of an estimate; infinite if reports say nothing.

    The variance of the support is linear in the frequency, so that the worst is 0 or 1.
    """
    truly, falsely = mechanism.chances
    if not truly > falsely:
        return math.inf
    ends = falsely * (1 - falsely), truly * (1 - truly)
    spread = max(ends) if frequency is None else (1 - frequency) * ends[0] + frequency * ends[1]
    return math.sqrt(float(spread) / people) / float(truly - falsely)
