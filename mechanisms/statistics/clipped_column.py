"""Numbers clipped to public bounds, on a grid of whole steps, so that their sums are exact."""

from __future__ import annotations

import functools
import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import MOST_RECORDS, Blocks
from dpproof.mechanisms.learning.records import GridRecords, Records, as_records, is_sparse, on_grid
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import real_column

# Soundness: 2^29 records of at most 2^24 steps each add up to at most 2^53, exact in binary64.
_STEP_BITS: Final = 24
# Bounds, and what lies between them, keep away from where binary64 overflows and underflows.
_LARGEST: Final = Fraction(2) ** 250
_SIZE: Final = parameters.within(-_LARGEST, _LARGEST, "at most 2^250 in size")

RealNoise: TypeAlias = Literal["gaussian", "laplace"]


@final
@dataclass(frozen=True, slots=True)
class StepGrid:
    """Whole numbers of steps of one size, a power of two.

    Attributes:
        exponent: a step is 2^exponent, in data units.
    """

    exponent: int

    @classmethod
    def up_to(cls, size: Fraction) -> StepGrid:
        """Return the grid on which ``size``, above 0, is more than 2^23 and at most 2^24 steps.

        Example:
            >>> StepGrid.up_to(Fraction(100)).exponent
            -17
        """
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** (exponent - 1) >= size:
            exponent -= 1
        elif Fraction(2) ** exponent < size:
            exponent += 1
        return cls(exponent - _STEP_BITS)

    def floor(self, number: Fraction) -> int:
        """Return the number of whole steps in a number, rounded down."""
        return math.floor(number / Fraction(2) ** self.exponent)

    def clipped(
        self, values: NDArray[np.float64], lowest: int, highest: int
    ) -> NDArray[np.float64]:
        """Round every value to steps, and clip it; nan stays nan.

        Laws: what becomes of one value does not depend on the others.
        """
        with np.errstate(over="ignore"):
            steps = np.rint(np.ldexp(values, -self.exponent))
        return np.clip(steps, lowest, highest)


def values_of(data: object) -> NDArray[np.float64]:
    """Return the values of a dataset, few enough for exact sums.

    Raises:
        ParameterError: not a sequence of real numbers, or more than 2^29.
    """
    values = real_column(data)
    if len(values) > MOST_RECORDS:
        raise ParameterError("data", len(values), f"at most {MOST_RECORDS} records")
    return values


@frozen(kw_only=True, repr=False, field_transformer=named)
class ClippedStatistic(Mechanism[R], ABC):
    """Noise on sums of values that are clipped to public bounds, 2^-250 or more apart."""

    whole = ""

    scale: Fraction = field(converter=parameters.scale)
    lower: Fraction = field(converter=parameters.real, validator=_SIZE)
    upper: Fraction = field(converter=parameters.real, validator=_SIZE)
    noise: RealNoise = field(default="gaussian", validator=parameters.one_of("gaussian", "laplace"))
    relation: R = field(validator=parameters.neighbours)

    @upper.validator
    def _above_lower(self, _parameter: object, upper: Fraction) -> None:
        if upper - self.lower < 1 / _LARGEST:
            allowed = f"at least 2^-250 above lower, which is {float(self.lower)}"
            raise ParameterError("upper", upper, allowed)

    @final
    def _noise(self, sensitivity: Fraction) -> Gaussian[R] | Laplace[R]:
        """Return the noise, on values that move by at most this in L1 norm, and so in L2 norm."""
        if self.noise == "gaussian":
            return Gaussian(sigma=self.scale, sensitivity=L2(sensitivity, self.relation))
        return Laplace(scale=self.scale, sensitivity=L1(sensitivity, self.relation))


def rows_on_grid(data: object, *, norm: float | None, features: int | None) -> GridRecords:
    """Read rows, and put each on the grid in units of the norm bound; all are of class 0.

    A row that is not finite, or zero on the grid, contributes nothing and is left out.

    Args:
        data: an array of shape (records, features), ``Records``, whose labels do not matter, or a
            sequence of rows.
        norm: rows are clipped to this Euclidean norm; None scales every row to norm 1.
        features: the width of a row; None takes the width of the array, which is public.
    Raises:
        ParameterError: not rows, another width than ``features``, more than 2^29 records, or more
            than 2^24 features.
    Laws: what becomes of one row does not depend on the others, bit for bit.
    Example:
        >>> rows_on_grid([[3.0, 4.0]], norm=10.0, features=2).vectors[0].astype(int).tolist()
        [5033164, 6710886]
    """
    return on_grid(
        _unlabelled(data, features), _no_class, norm=norm, features=features, compact=True
    )


def _unlabelled(data: object, features: int | None) -> Any:  # noqa: ANN401  # Records, or Blocks
    """Return rows with the label 0 each; a malformed row of a sequence becomes nan."""
    if isinstance(data, Blocks):
        return data.map(functools.partial(_unlabelled, features=features))
    rows: Any = data.rows if isinstance(data, Records) else data
    if is_sparse(rows) or (isinstance(rows, np.ndarray) and rows.ndim == 2):
        return Records(rows, np.zeros(rows.shape[0]))
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        allowed = "an array of shape (records, features), Records, or a sequence of rows"
        raise ParameterError("data", type(data).__name__, allowed)
    return as_records([(row, 0) for row in data], features)


def _no_class(labels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return class 0 for every row."""
    return np.zeros(len(labels), dtype=np.int64)
