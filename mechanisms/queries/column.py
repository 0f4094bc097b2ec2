"""One number a record."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.form import DataError


def real_column(data: object) -> NDArray[np.float64]:
    """The values of a dataset, one number a record, each rounded to binary64 by itself.

    Raises:
        ParameterError: not a sequence of real numbers; it shows no record. A number of any size is
            one: beyond binary64 it is read as infinite.
    Example:
        >>> real_column([1, 2.5])
        array([1. , 2.5])
        >>> real_column([1, -(10**400)])
        array([  1., -inf])
    """
    allowed = "a sequence of real numbers", "one value a record"
    try:
        array = np.asarray(data)
    except ValueError:
        raise DataError("data", data, *allowed) from None
    if array.ndim == 1 and array.dtype.kind == "O" and all(isinstance(one, Real) for one in array):
        return np.array([_nearest(one) for one in array], dtype=np.float64)
    if array.ndim != 1 or (array.dtype.kind not in "fiu" and array.size):
        raise DataError("data", array, *allowed)
    return array.astype(np.float64)


def _nearest(number: int | Fraction) -> float:
    """Return a number as a float, beyond the largest an infinite one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
