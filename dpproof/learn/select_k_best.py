"""Columns chosen privately, with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from dpproof.accountant import L2, Guarantee, LInf, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import Relation
from dpproof.learn.linear_classifier import class_numbers, public_classes
from dpproof.learn.private_estimator import PrivateEstimator
from dpproof.learn.reading import read_labels, read_rows
from dpproof.mechanisms import (
    Chained,
    ExponentialMechanism,
    FollowUp,
    Gaussian,
    Mechanism,
    Records,
    Rng,
    TopK,
)
from dpproof.mechanisms.blocks import MOST_RECORDS
from dpproof.mechanisms.learning.records import dense_blocks
from dpproof.mechanisms.parameters import scale

# Soundness: 2^14 steps of a cell times 2^10 of a share times 2^29 records stay within 2^53.
_CELL: Final = 2**14
_SHARE: Final = 2**10


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SelectKBest(SelectorMixin, PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Keep the k columns that tell the classes apart best, chosen with noise.

    The score of a column is n times the largest covariance of it with membership in a class. The
    shares of the classes are released first, with noise; then ``TopK`` of ``ExponentialMechanism``
    picks k columns. One record moves every score by ``bound`` at most.

    Source: proofs/theory/learners.md, Lemma 15.

    Args:
        k: how many columns to keep.
        epsilon: with ``delta``, the budget: the noise is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the scale of the Gumbel noise on a score, in data units.
        classes: all labels, at least two. They are public; a row with another label contributes
            nothing.
        bound: cells are clipped to [-bound, bound] for the scores, a public bound in data units.
        relation: which datasets are neighbours; None is AddRemove().
        random_state, ledger, ledger_key: as for ``PerceptronClassifier``.
    Attributes:
        columns_: positions of the columns, in the order in which they were picked.
        n_features_in_: features of ``fit``.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
    Example:
        >>> from sklearn.datasets import load_iris
        >>> rows, labels = load_iris(return_X_y=True)
        >>> model = SelectKBest(2, epsilon=4, delta=1e-5, classes=range(3), bound=8)
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 4
        True
        >>> model.fit(rows, labels).transform(rows).shape
        (150, 2)
    """

    inverse_transform = withholding(SelectorMixin.inverse_transform)

    k: int = field(default=10, kw_only=False)
    classes: Sequence[object] | None = None
    bound: Number = 1

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # of scikit-learn
        """Say that labels are needed, and that rows may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.input_tags.sparse = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803  # scikit-learn
        """Release the positions of k columns.

        A second fit is a second release: if it sees a record again, the costs of both add up.

        Args:
            X: shape (rows, features), numbers; rows that are not finite, or all zeros, contribute
                nothing. It may be sparse.
            y: labels, shape (rows,).
        Raises:
            ParameterError: as for ``learner``, or fewer columns than k.
            BudgetExceeded, LedgerError: the ledger does not pay; nothing is released.
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        return self._released(lambda _: self._rows(X, y))

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the columns; the noisy shares of the classes are left out."""
        self.guarantee_, self.columns_ = guarantee, np.asarray(released[1])
        return self

    def transform(self, X: ArrayLike) -> Any:  # noqa: ANN401, N803  # an array, or a sparse one
        """Return the columns that were picked, in the order of the rows; sparse if X is."""
        check_is_fitted(self)
        return read_rows(self, X, fitting=False, finite=False)[:, self.get_support()]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "columns_")
        return np.isin(np.arange(self.n_features_in_), self.columns_)

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        k, relation = check.count(k=self.k), self.neighbours
        noise = check.positive(sigma=sigma) / scale(self.bound, "bound")
        moved = 2 if relation.symmetric else 1
        number = len(public_classes(self.classes))
        counts: Mechanism[Relation] = Gaussian(
            sigma=_COUNT * noise / sqrt_up(Fraction(k)),
            sensitivity=L2(sqrt_up(Fraction(moved)), relation),
            query=lambda data: np.bincount(_known(data), minlength=number),
        )
        pick = ExponentialMechanism(epsilon=2 * moved / noise, sensitivity=LInf(moved, relation))
        then = _Covariances(TopK(pick, k=k), float(self.bound))
        return Chained(first=counts, then=then)

    def _rows(self, X: Any, y: Any = None, *_: Any) -> Records:  # noqa: ANN401, N803
        """Return the rows with their class numbers, in units of the bound, -1 if unknown."""
        rows = read_rows(self, X, fitting=True)
        if rows.shape[1] < self.k:
            raise ParameterError("k", self.k, f"at most the number of columns, {rows.shape[1]}")
        if rows.shape[0] > MOST_RECORDS:
            raise ParameterError("X", rows.shape, f"at most {MOST_RECORDS} rows")
        numbers = class_numbers(read_labels(y, rows.shape[0]), public_classes(self.classes))
        with np.errstate(invalid="ignore"):  # nan where a cell is not finite, in sparse rows, too
            finite = np.asarray((rows * 0).sum(axis=1)) == 0
        blank = np.asarray((rows != 0).sum(axis=1)) == 0
        return Records(rows, np.where(finite & ~blank, numbers, -1))


def _known(data: Any) -> NDArray[np.int64]:  # noqa: ANN401  # Records
    """Return the class numbers of the rows that have one."""
    return np.asarray(data.labels[data.labels >= 0], dtype=np.int64)


@final
@dataclass(frozen=True, slots=True)
class _Covariances(FollowUp[Relation]):
    """Pick columns by their covariances with the classes, whose noisy counts are released."""

    picks: TopK[Relation]
    bound: float

    @property
    def relation(self) -> Relation:
        """Return the relation of the picks."""
        return self.picks.relation

    def guarantee(self) -> Guarantee[Relation]:
        """Return that of the picks, whatever the counts are."""
        return self.picks.guarantee()

    def draw(self, data: Any, outputs: Any, rng: Rng) -> Any:  # noqa: ANN401  # arrays
        """Pick k columns for every vector of noisy counts."""
        sums = np.zeros((outputs.shape[1], data.rows.shape[1]))
        start = 0
        for block in dense_blocks(data.rows):
            labels = data.labels[start : start + len(block)]
            member = (labels == np.arange(len(sums))[:, np.newaxis]).astype(np.float64)
            with np.errstate(over="ignore"):
                cells = np.where(np.isfinite(block), block, 0.0) / self.bound
            sums += member @ np.trunc(np.clip(cells, -1, 1) * _CELL)
            start += len(block)
        shares = np.maximum(outputs, 0.0)
        shares = np.rint(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0) * _SHARE)
        moved = sums * _SHARE - shares[:, :, np.newaxis] * sums.sum(axis=0)
        scores = np.abs(moved).max(axis=1) / (_SHARE * _CELL)
        return self.picks.draw(list(scores), 1, rng)[:, 0]
