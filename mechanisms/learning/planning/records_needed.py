"""The least number of records for which a bound is small enough."""

from __future__ import annotations

from collections.abc import Callable

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import CalibrationError
from dpproof.mechanisms.learning.planning.least import least_count


def records_needed(bound: Callable[[int], float], *, at_most: Number, most: int = 10**12) -> int:
    """Return the least number of records with which a bound of a rate is at most a target.

    Statement: with the returned number the bound is at most the target, with one record less
        it is not, as evaluated; for a bound that falls with the number it is the least.

    Args:
        bound: from a number of records to a bound of a rate, such as the risk of a bound, or an
            ``excess`` divided by the number.
        at_most: the target, above 0.
        most: the largest number that is tried.
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: ``most`` records do not reach the target.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> from dpproof.mechanisms import NoisyCount, finite_class_risk
        >>> def risk(records):
        ...     one = NoisyCount(
        ...         value=0.05 * records, sigma=10, records=records, relation=ReplaceOne()
        ...     )
        ...     return finite_class_risk(one, candidates=20_000).risk
        >>> records_needed(risk, at_most=0.06)
        18309
    """
    target = check.positive(at_most=at_most)
    found = least_count(lambda records: bound(records) <= target, check.count(most=most))
    if found is None:
        raise CalibrationError(
            f"{most} records have the bound {bound(most):.4g}, above {float(target):g}; "
            "allow a larger one, or more records (most=)"
        )
    return found
