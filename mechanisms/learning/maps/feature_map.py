"""Feature maps: public functions of one row, the same whatever other rows there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, TypeVar, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import Withholding
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.readable import Readable
from dpproof.accountant.theorems.composition import map_records
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning.grid import WIDEST, Vectors
from dpproof.mechanisms.learning.records import Records, as_records, dense_blocks
from dpproof.mechanisms.parameters import named

N = TypeVar("N", bound=Guarantee)  # type: ignore[type-arg]  # of any relation


class FeatureMap(Withholding, Readable, ABC):
    """A public function from rows to rows: a frozen value, its seed a field.

    For every fixed map that acts on one row at a time neighbours stay neighbours, so a learner on
    mapped rows keeps its guarantee, and map and weights together satisfy it. No property of the
    map is needed for that: learners clip mapped rows to their own bound.

    Laws: ``apply`` of some of the rows is those rows of ``apply`` of all, bit for bit.
    """

    __slots__ = ()

    features: int

    @property
    @abstractmethod
    def output_features(self) -> int:
        """Return the width of a mapped row."""

    @property
    @abstractmethod
    def output_norm(self) -> Fraction | None:
        """Return a bound of the Euclidean norm of mapped rows, up to rounding, or None.

        It is for choosing a learner's ``norm``. Privacy does not depend on it.
        """

    @property
    @abstractmethod
    def description(self) -> str:
        """Return the map in words, for derivations and certificates.

        The words hold everything that decides the map.
        """

    @abstractmethod
    def _apply(self, rows: Vectors) -> Vectors:
        """Map finite rows of the right width."""

    @final
    def apply(self, rows: Vectors) -> Vectors:
        """Map rows, shape (n, features), to shape (n, output_features); nan if a row is not finite.

        Raises:
            ParameterError: the rows have another width.
        """
        if rows.ndim != 2 or rows.shape[1] != self.features:
            raise ParameterError("rows", rows.shape, f"a matrix {self.features} wide")
        finite = np.asarray(np.isfinite(rows).all(axis=1))
        mapped = self._apply(np.where(finite[:, np.newaxis], rows, 0.0))
        mapped[~finite] = np.nan
        return mapped

    @final
    def records(self, data: object) -> Any:  # noqa: ANN401  # Records, or Blocks of them
        """Read labelled rows and map them; a blank row, all zeros, stays blank.

        Args:
            data: as for every learner.
        Raises:
            ParameterError: the data is not labelled rows of the right width.
        """
        if isinstance(data, Blocks):
            return data.map(self.records)
        read = as_records(data, self.features)
        parts = []
        for rows in dense_blocks(read.rows):
            parts.append(self.apply(rows))
            parts[-1][~rows.any(axis=1)] = 0.0
        return Records(np.concatenate(parts), read.labels)

    @final
    def applied(self, guarantee: N) -> N:
        """Return the guarantee of a learner on mapped records, with the map in its derivation."""
        return map_records(guarantee, description=self.description)


class LinearMap(FeatureMap, ABC):
    """A map that multiplies a row by a public matrix, and may scale the result."""

    __slots__ = ()

    @abstractmethod
    def matrix(self) -> Vectors:
        """Return the matrix, shape (output_features, features), up to scale."""

    @final
    def back(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights for the rows before mapping, from weights for mapped rows."""
        return np.asarray(weights @ self.matrix())


def checked_width(value: int, name: str = "features") -> int:
    """Keep a number of features.

    Raises:
        ParameterError: not a count, or more than learners take.
    """
    width = check.count(**{name: value})
    if width > WIDEST:
        raise ParameterError(name, width, f"at most {WIDEST}")
    return width


def checked_seed(value: int, name: str = "seed") -> int:
    """Keep the seed of a public map.

    Raises:
        ParameterError: not an int.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(name, value, "an int, chosen before looking at the data")
    return value


@frozen(kw_only=True, repr=False, field_transformer=named)
class ClippedProjection(LinearMap, ABC):
    """A random matrix on rows clipped to a norm; if k >= d, rows stay as they are."""

    features: int = field(converter=checked_width)
    dimension: int = field(converter=checked_width)
    seed: int = field(converter=checked_seed)
    norm: Fraction = field(default=Fraction(1), converter=parameters.scale)

    @property
    @final
    def output_features(self) -> int:
        """Return the smaller one of both widths."""
        return min(self.dimension, self.features)

    @property
    @final
    def output_norm(self) -> Fraction | None:
        """Return the norm of the rows if they stay as they are; else no useful bound."""
        return self.norm if self.dimension >= self.features else None

    @property
    @final
    def description(self) -> str:
        """Return a description that names the map, the widths, the seed and the clipping."""
        widths = f"{self.features} to {self.output_features} features"
        clipped = f"after clipping to {self.norm}"
        return f"{type(self).__name__}, {widths}, seed {self.seed}, {clipped}"


def map_or_none(_learner: object, _parameter: object, value: Any) -> None:  # noqa: ANN401  # checked
    """Refuse anything but a feature map or None."""
    if value is not None and not isinstance(value, FeatureMap):
        allowed = "a feature map such as RademacherProjection(...), or None"
        raise ParameterError("map", value, allowed)


def fits_rows(learner: Any, _parameter: object, value: Any) -> None:  # noqa: ANN401  # checked
    """Refuse anything but None or a feature map of rows as wide as the learner's features."""
    map_or_none(learner, _parameter, value)
    if isinstance(value, FeatureMap) and learner.features not in (None, value.features):
        allowed = f"None or {value.features}, as the map's"
        raise ParameterError("features", learner.features, allowed)
