"""Centred and scaled columns, by moments that are paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dpproof.accountant import Guarantee, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import Relation
from dpproof.learn.private_estimator import UnlabelledEstimator
from dpproof.learn.reading import matrix, read_rows
from dpproof.mechanisms import ClassMeans, Records
from dpproof.mechanisms.learning.grid import RECORD_BITS, clipped_rows, unit_rows
from dpproof.mechanisms.parameters import scale

# Counts have this many times the noise of sums, or of all picks together: the price of a fit rises
# by 3 %.
_COUNT: Final = 4


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateScaler(TransformerMixin, UnlabelledEstimator):  # type: ignore[misc]  # untyped library
    """Subtract the mean of every column, and divide by its standard deviation, both with noise.

    One release of ``ClassMeans``: the number of rows and the sum of the rows, and with
    ``with_std`` of their squares. Rows that are alike waste a learner's norm on what they share;
    without their mean the same noise hides less.

    Args:
        epsilon: with ``delta``, the budget: sigma is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the noise's standard deviation on a sum, in units of ``norm``.
        norm: rows are clipped to this Euclidean norm, a public bound in data units; None scales
            every row to norm 1. Rows are transformed as they are clipped or scaled.
        bounds: public bounds of all columns, (lows, highs): columns are first moved and clipped to
            [-1, 1], and ``norm`` is in these units. A row in the middle of all counts for nothing.
        with_std: whether to divide. A variance counts as at least the noise's deviation on it.
        relation: which datasets are neighbours; None is AddRemove().
        random_state, ledger, ledger_key: as for ``PerceptronClassifier``.
    Attributes:
        mean_: noisy means, shape (features,), of clipped or scaled rows.
        scale_: what columns are divided by; ones without ``with_std``.
        n_features_in_: features of ``fit``.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
    Example:
        >>> scaler = PrivateScaler(epsilon=1, delta=1e-5, bounds=([0, 0], [100, 1]))
        >>> scaler.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> scaler.fit([[50.0, 0.5], [60.0, 1.0]]).transform([[50.0, 0.5]]).shape
        (1, 2)
    """

    norm: Number | None = None
    bounds: tuple[Sequence[Number], Sequence[Number]] | None = None
    with_std: bool = False

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the means, and standard deviations from the means of squares."""
        self.guarantee_ = guarantee
        means, squares = released.means[0].reshape(2 if self.with_std else 1, -1)[[0, -1]]
        self.n_features_in_, self.scale_ = len(means), np.ones(len(means))
        unit = 1.0 if self.norm is None else float(self.norm)
        self.mean_ = means * unit
        if self.with_std:
            moved = self._at(1).sensitivity.value
            noise = float(moved / guarantee.mu) / max(1.0, float(released.counts[0]))  # type: ignore[attr-defined]
            self.scale_ = np.sqrt(np.maximum(squares - means**2, noise)) * unit
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return the rows scaled: nan for one that is not finite, zeros for a blank one."""
        check_is_fitted(self)
        rows = matrix(X)
        named = X if hasattr(X, "columns") else rows
        validate_data(self, named, reset=False, skip_check_array=True)
        unit = 1.0 if self.norm is None else float(self.norm)
        scaled = (self._bounded(rows) * unit - self.mean_) / self.scale_
        scaled[~rows.any(axis=1)] = 0.0
        return np.asarray(scaled)

    def _at(self, sigma: Number) -> ClassMeans[Relation]:
        if self.norm is not None:
            scale(self.norm, "norm")
        if not isinstance(self.with_std, bool):
            raise ParameterError("with_std", self.with_std, "True or False")
        norm = sqrt_up(Fraction(2)) if self.with_std else Fraction(1)
        noise = check.positive(sigma=sigma)
        return ClassMeans(
            classes=1, sigma=noise, norm=norm, count_sigma=noise * _COUNT, relation=self.neighbours
        )

    def _rows(self, X: Any, *_: Any) -> Records:  # noqa: ANN401, N803
        """Return the rows, with their squares if asked for, all of one class."""
        rows = read_rows(self, X, fitting=True)
        bounded = self._bounded(rows)
        bounded[~rows.any(axis=1)] = 0.0
        parts = [bounded, bounded**2] if self.with_std else [bounded]
        return Records(np.hstack(parts), np.zeros(len(rows)))

    def _bounded(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows of norm at most 1, each by itself; nan where one is not finite."""
        finite = np.asarray(np.isfinite(rows).all(axis=1))
        inside = np.where(finite[:, np.newaxis], rows, 0.0)
        if self.bounds is not None:
            ends = np.asarray(self.bounds, dtype=np.float64)
            right = ends.shape == (2, rows.shape[1]) and bool(np.isfinite(ends).all())
            if not right or not (ends[0] < ends[1]).all():
                allowed = "finite lows and highs above them, one for each column"
                raise ParameterError("bounds", ends.shape, allowed)
            low, high = ends
            inside = (np.clip(inside, low, high) - (low / 2 + high / 2)) / (high / 2 - low / 2)
        if self.norm is None:
            steps = unit_rows(inside, RECORD_BITS)
        else:
            steps = clipped_rows(inside, float(self.norm), RECORD_BITS)
        return np.where(finite[:, np.newaxis], steps * 2.0**-RECORD_BITS, np.nan)
