"""One number a record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accountant.errors import ParameterError


def real_column(data: object) -> NDArray[np.float64]:
    """The values of a dataset, one number a record, each rounded to binary64 by itself.

    Raises:
        ParameterError: not a sequence of real numbers.
    Example:
        >>> real_column([1, 2.5])
        array([1. , 2.5])
    """
    array = np.asarray(data)
    if array.ndim != 1 or (array.dtype.kind not in "fiu" and array.size):
        raise ParameterError("data", data, "a sequence of real numbers", "one value a record")
    return array.astype(np.float64)
