"""Private transformers, clusters and linear regression with scikit-learn's interface."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin, RegressorMixin, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted, validate_data

from dpproof import mechanisms
from dpproof.accountant import L2, Guarantee, LInf, PrivacyFilter, Relation, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.learn import private_estimator
from dpproof.learn.linear_classifier import class_numbers, public_classes
from dpproof.mechanisms import SecondMoments
from dpproof.mechanisms.blocks import MOST_RECORDS
from dpproof.mechanisms.learning.records import RECORD_BITS, dense_blocks, grid_rows
from dpproof.mechanisms.parameters import scale

# The squared length, in units of norm^2, of the constant feature by which the mean is known; a
# longer one would make the mean more exact and the second moments less.
_CONSTANT: Final = Fraction(1, 4)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PCA(TransformerMixin, private_estimator.UnlabelledEstimator):  # type: ignore[misc]  # untyped library
    """Find principal components under differential privacy, from noisy second moments.

    The eigenvectors of one release of ``SecondMoments`` (Dwork, Talwar, Thakurta & Zhang, STOC
    2014, Algorithm 1). With ``center`` every row carries a constant feature, so that the same
    release holds the number of rows and their mean.

    Args:
        n_components: how many components to keep.
        sigma: instead of a budget, the noise's standard deviation on a sum of squares of a feature,
            in squared data units.
        norm: rows are clipped to this Euclidean norm, a public bound in data units.
        center: whether to subtract the mean. Without it components are those of second moments
            around 0, with a fifth less noise.
    Attributes:
        components_: shape (n_components, features), of length 1, by decreasing variance.
        mean_: noisy mean, shape (features,); zeros without ``center``.
        explained_variance_: eigenvalues of the noisy covariance, or of the noisy sum of squares
            without ``center``; noise may make small ones negative.
    Example:
        >>> from sklearn.datasets import load_digits
        >>> model = PCA(n_components=2, epsilon=1, delta=1e-5, norm=70)
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> rows, _ = load_digits(return_X_y=True)
        >>> model.fit(rows).transform(rows).shape
        (1797, 2)
    """

    n_components: int = field(default=2, kw_only=False)
    norm: Number = 1
    center: bool = True

    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,  # noqa: ARG002
        *,
        budget: PrivacyFilter[Any] | None = None,
    ) -> Self:
        """Release moments of one batch, paid from a filter, and add them to those before.

        Arguments, guarantee and errors are those of ``LinearRegression.partial_fit``, without y.
        """
        return self._added(lambda: self._rows(X), budget)

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:
        """Keep the eigenvectors of the released moments."""
        self.guarantee_ = guarantee
        moments = np.asarray(released)
        constant = float(self.norm) * math.sqrt(_CONSTANT)
        if self.center:
            count = max(1.0, float(moments[-1, -1]) / constant**2)
            self.mean_ = moments[:-1, -1] / constant / count
            moments = moments[:-1, :-1] / count - np.outer(self.mean_, self.mean_)
        else:
            self.mean_ = np.zeros(len(moments))
        values, vectors = np.linalg.eigh(moments)
        largest = slice(None, -self.n_components - 1, -1)
        self.explained_variance_, components = values[largest], vectors[:, largest].T
        signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
        self.components_ = components * signs[:, np.newaxis]
        self.n_features_in_ = components.shape[1]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return coordinates along the components, shape (rows, n_components).

        Laws: those of one row depend on it alone, bit for bit; not finite if the row is not.
        """
        check_is_fitted(self)
        rows = private_estimator.read_rows(self, X, fitting=False, finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = rows - self.mean_
            return np.stack([(moved * axis).sum(axis=1) for axis in self.components_], axis=1)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the rows with these coordinates, shape (rows, features)."""
        check_is_fitted(self)
        return np.asarray(private_estimator.matrix(X) @ self.components_ + self.mean_)

    def _at(self, sigma: Number) -> mechanisms.SecondMoments[Relation]:
        norm = check.positive(norm=self.norm)
        check.count(n_components=self.n_components)
        center: object = self.center
        if not isinstance(center, bool):
            raise ParameterError("center", center, "True or False")
        longest = sqrt_up((1 + (_CONSTANT if center else 0)) * norm**2)
        return mechanisms.SecondMoments(sigma=sigma, norm=longest, relation=self.neighbours)

    def _rows(self, X: Any, *_: Any) -> NDArray[np.float64]:
        """Return the clipped rows, with the constant feature."""
        rows = private_estimator.read_rows(self, X, fitting=True)
        if rows.shape[1] < self.n_components:
            allowed = f"at most the number of features, {rows.shape[1]}"
            raise ParameterError("n_components", self.n_components, allowed)
        clipped = private_estimator.clipped_to_norm(rows, float(self.norm))
        if not self.center:
            return clipped
        constant = np.full((len(rows), 1), float(self.norm) * math.sqrt(_CONSTANT))
        return np.hstack([clipped, constant])


# Candidates a cluster among which the first centres are chosen far from each other.
_CANDIDATES: Final = 50


@final
@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(TransformerMixin, ClusterMixin, private_estimator.UnlabelledEstimator):  # type: ignore[misc]  # untyped
    """Find clusters under differential privacy, by Lloyd's iteration on noisy means.

    Steps of ``NoisyLloyd`` from public centres. Neither the labels of the rows that were fitted nor
    their distances are kept, as they are not released; ``predict`` computes them for any rows.

    Args:
        n_clusters: k.
        sigma: instead of a budget, the noise's standard deviation on the sum of a cluster's rows,
            in data units.
        norm: rows are clipped to this Euclidean norm, a public bound in data units.
        init: the first centres, public, shape (n_clusters, features); None spreads them in the
            ball of radius norm / 2, without looking at the data.
        steps: how often the centres move; every step has its part of the budget.
    Attributes:
        cluster_centers_: shape (n_clusters, features).
    Example:
        >>> from sklearn.datasets import load_iris
        >>> rows, _ = load_iris(return_X_y=True)
        >>> model = KMeans(n_clusters=3, epsilon=5, delta=1e-5, norm=10)
        >>> model.fit(rows).predict(rows).shape
        (150,)
    """

    n_clusters: int = field(default=8, kw_only=False)
    norm: Number = 1
    init: ArrayLike | None = None
    steps: int = 5

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002
        """Release centres of the rows; arguments and refusals are those of ``PCA.fit``."""
        private_estimator.in_blocks(self, X)  # the first centres are as wide as the rows
        return self._fitted(X)

    def _before(self, blocks: mechanisms.Blocks) -> None:
        """Read the width, which is that of the first centres."""
        if self.init is None:
            _, width, pieces = blocks.map(self._reader()).sum(_width)
            self.n_features_in_ = width // pieces

    def _rows(self, X: Any, *_: Any) -> NDArray[np.float64]:
        """Return the rows as floats."""
        return np.asarray(private_estimator.read_rows(self, X, fitting=True))

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:
        """Keep the released centres."""
        self.guarantee_ = guarantee
        self.cluster_centers_ = np.asarray(released.centres)
        self.n_features_in_ = self.cluster_centers_.shape[1]
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the nearest centre of every row, shape (rows,)."""
        private_estimator.read_rows(self, X, fitting=False)  # refuses what has no nearest centre
        return np.asarray(self.transform(X).argmin(axis=1))

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return distances to the centres, shape (rows, n_clusters); as of ``PCA.transform``."""
        check_is_fitted(self)
        rows = private_estimator.read_rows(self, X, fitting=False, finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = [np.square(rows - one).sum(axis=1) for one in self.cluster_centers_]
        return np.asarray(np.sqrt(np.stack(squares, axis=1)))

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.int64]:
        """Fit, and then predict for the same rows; the prediction is not protected."""
        return self.fit(X, y).predict(X)

    def _at(self, sigma: Number) -> mechanisms.Mechanism[Relation]:
        relation = self.neighbours
        number = check.count(n_clusters=self.n_clusters)
        centres = self._first() if self.init is None else np.asarray(self.init)
        if centres.ndim != 2 or len(centres) != number:
            raise ParameterError("init", centres.shape, f"of shape ({number}, features)")
        return mechanisms.NoisyLloyd(
            centres=centres, steps=self.steps, sigma=sigma, norm=self.norm, relation=relation
        )

    def _first(self) -> NDArray[np.float64]:
        """Return public centres, far from each other, in the ball of radius norm / 2."""
        public = np.random.default_rng(0)
        features = getattr(self, "n_features_in_", 1)
        candidates = public.normal(size=(_CANDIDATES * self.n_clusters, features))
        lengths = public.random(len(candidates)) ** (1 / features)
        candidates *= (lengths / np.linalg.norm(candidates, axis=1))[:, np.newaxis]
        chosen = candidates[:1]
        while len(chosen) < self.n_clusters:
            apart = pairwise_distances(candidates, chosen).min(axis=1)
            chosen = np.vstack([chosen, candidates[apart.argmax()]])
        return chosen * float(scale(self.norm, "norm")) / 2


def _width(rows: NDArray[np.float64]) -> tuple[int, int, int]:
    """Return the number of rows, their width, and 1."""
    return len(rows), rows.shape[1], 1


# Counts have this many times the noise of sums, or of all picks together: the price of a fit rises
# by 3 %.
_COUNT: Final = 4


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateScaler(TransformerMixin, private_estimator.UnlabelledEstimator):  # type: ignore[misc]  # untyped library
    """Subtract the mean of every column, and divide by its standard deviation, both with noise.

    One release of ``ClassMeans``: the number of rows and the sum of the rows, and with
    ``with_std`` of their squares. Rows that are alike waste a learner's norm on what they share;
    without their mean the same noise hides less.

    Args:
        sigma: instead of a budget, the noise's standard deviation on a sum, in units of ``norm``.
        norm: rows are clipped to this Euclidean norm, a public bound in data units; None scales
            every row to norm 1. Rows are transformed as they are clipped or scaled.
        bounds: public bounds of all columns, (lows, highs): columns are first moved and clipped to
            [-1, 1], and ``norm`` is in these units. A row in the middle of all counts for nothing.
        with_std: whether to divide. A variance counts as at least the noise's deviation on it.
    Attributes:
        mean_: noisy means, shape (features,), of clipped or scaled rows.
        scale_: what columns are divided by; ones without ``with_std``.
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

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:
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

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the rows scaled: nan for one that is not finite, zeros for a blank one."""
        check_is_fitted(self)
        rows = private_estimator.matrix(X)
        named = X if hasattr(X, "columns") else rows
        validate_data(self, named, reset=False, skip_check_array=True)
        unit = 1.0 if self.norm is None else float(self.norm)
        scaled = (self._bounded(rows) * unit - self.mean_) / self.scale_
        scaled[~rows.any(axis=1)] = 0.0
        return np.asarray(scaled)

    def _at(self, sigma: Number) -> mechanisms.ClassMeans[Relation]:
        if self.norm is not None:
            scale(self.norm, "norm")
        if not isinstance(self.with_std, bool):
            raise ParameterError("with_std", self.with_std, "True or False")
        norm = sqrt_up(Fraction(2)) if self.with_std else Fraction(1)
        noise = check.positive(sigma=sigma)
        return mechanisms.ClassMeans(
            classes=1, sigma=noise, norm=norm, count_sigma=noise * _COUNT, relation=self.neighbours
        )

    def _rows(self, X: Any, *_: Any) -> mechanisms.Records:
        """Return the rows, with their squares if asked for, all of one class."""
        rows = private_estimator.read_rows(self, X, fitting=True)
        bounded = self._bounded(rows)
        bounded[~rows.any(axis=1)] = 0.0
        parts = [bounded, bounded**2] if self.with_std else [bounded]
        return mechanisms.Records(np.hstack(parts), np.zeros(len(rows)))

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
        steps = grid_rows(inside, self.norm)
        return np.where(finite[:, np.newaxis], steps * 2.0**-RECORD_BITS, np.nan)


# Soundness: 2^14 steps of a cell times 2^10 of a share times 2^29 records stay within 2^53.
_CELL: Final = 2**14
_SHARE: Final = 2**10


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SelectKBest(SelectorMixin, private_estimator.PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Keep the k columns that tell the classes apart best, chosen with noise.

    The score of a column is n times the largest covariance of it with membership in a class. The
    shares of the classes are released first, with noise; then ``TopK`` of ``ExponentialMechanism``
    picks k columns. One record moves every score by ``bound`` at most.

    Source: proofs/theory/learners.md, Lemma 15.

    Args:
        k: how many columns to keep.
        sigma: instead of a budget, the scale of the Gumbel noise on a score, in data units.
        classes: all labels, at least two. They are public; a row with another label contributes
            nothing.
        bound: cells are clipped to [-bound, bound] for the scores, a public bound in data units.
    Attributes:
        columns_: positions of the columns, in the order in which they were picked.
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

    def __sklearn_tags__(self) -> Any:
        """Say that labels are needed, and that rows may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.input_tags.sparse = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release the positions of k columns, at most those of X; as ``PerceptronClassifier.fit``.

        Rows that are all zeros contribute nothing, too.
        """
        return self._released(lambda _: self._rows(X, y))

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:
        """Keep the columns; the noisy shares of the classes are left out."""
        self.guarantee_, self.columns_ = guarantee, np.asarray(released[1])
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Return the columns that were picked, in the order of the rows; sparse if X is."""
        check_is_fitted(self)
        rows = private_estimator.read_rows(self, X, fitting=False, finite=False)
        return rows[:, self.get_support()]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "columns_")
        return np.isin(np.arange(self.n_features_in_), self.columns_)

    def _at(self, sigma: Number) -> mechanisms.Mechanism[Relation]:
        k, relation = check.count(k=self.k), self.neighbours
        noise = check.positive(sigma=sigma) / scale(self.bound, "bound")
        moved = 2 if relation.symmetric else 1
        number = len(public_classes(self.classes))
        counts: mechanisms.Mechanism[Relation] = mechanisms.Gaussian(
            sigma=_COUNT * noise / sqrt_up(Fraction(k)),
            sensitivity=L2(sqrt_up(Fraction(moved)), relation),
            query=lambda data: np.bincount(_known(data), minlength=number),
        )
        bound = LInf(moved, relation)
        pick = mechanisms.ExponentialMechanism(epsilon=2 * moved / noise, sensitivity=bound)
        then = _Covariances(mechanisms.TopK(pick, k=k), float(self.bound))
        return mechanisms.Chained(first=counts, then=then)

    def _rows(self, X: Any, y: Any = None, *_: Any) -> mechanisms.Records:
        """Return the rows with their class numbers, in units of the bound, -1 if unknown."""
        rows = private_estimator.read_rows(self, X, fitting=True)
        if rows.shape[1] < self.k:
            raise ParameterError("k", self.k, f"at most the number of columns, {rows.shape[1]}")
        if rows.shape[0] > MOST_RECORDS:
            raise ParameterError("X", rows.shape, f"at most {MOST_RECORDS} rows")
        labels = private_estimator.read_labels(y, rows.shape[0])
        numbers = class_numbers(labels, public_classes(self.classes))
        with np.errstate(invalid="ignore"):  # nan where a cell is not finite, in sparse rows, too
            finite = np.asarray((rows * 0).sum(axis=1)) == 0
        blank = np.asarray((rows != 0).sum(axis=1)) == 0
        return mechanisms.Records(rows, np.where(finite & ~blank, numbers, -1))


def _known(data: Any) -> NDArray[np.int64]:
    """Return the class numbers of the rows that have one."""
    return np.asarray(data.labels[data.labels >= 0], dtype=np.int64)


@final
@dataclass(frozen=True, slots=True)
class _Covariances(mechanisms.FollowUp[Relation]):
    """Pick columns by their covariances with the classes, whose noisy counts are released."""

    picks: mechanisms.TopK[Relation]
    bound: float

    @property
    def relation(self) -> Relation:
        """Return the relation of the picks."""
        return self.picks.relation

    def guarantee(self) -> Guarantee[Relation]:
        """Return that of the picks, whatever the counts are."""
        return self.picks.guarantee()

    def draw(self, data: Any, outputs: Any, rng: mechanisms.Rng) -> Any:
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


# The squared lengths, in units of norm^2, that the constant feature and the target get in a row.
# Sums of products with the target are as noisy as those of features at 1/2; both choices change
# accuracy alone.
_INTERCEPT: Final = Fraction(1, 4)
_TARGET: Final = Fraction(1, 2)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, private_estimator.PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Learn a linear regression under differential privacy, from noisy second moments.

    One release of ``SecondMoments`` of the rows (x, constant, y) holds X'X and X'y; the weights
    solve the normal equations with just as much ridge as keeps them stable: the smallest eigenvalue
    of the released X'X and the size of its noise decide, as in AdaSSP (Wang, arXiv:1803.02596).
    There a third of the budget goes to the smallest eigenvalue; here it follows from what is
    released anyway.

    Args:
        sigma: instead of a budget, the noise's standard deviation on a sum of squares of a feature,
            in squared data units.
        norm: rows are clipped to this Euclidean norm, a public bound in data units.
        bound: targets are clipped to [-bound, bound], a public bound in their units.
        regulariser: weight of the squared length of the weights, in squared data units; None finds
            it from the release.
        fit_intercept: whether to learn an offset, as the weight of a constant feature.
        max_weight: weights of rows are clipped to [0, max_weight], a public bound. A row of that
            weight counts as a row without weights does.
    Attributes:
        coef_: weights, shape (features,).
        intercept_: the offset.
        regulariser_: the ridge that was added.
    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> model = LinearRegression(epsilon=1, delta=1e-5, norm=0.3, bound=350)
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> model.fit(*load_diabetes(return_X_y=True)).coef_.shape
        (10,)
    """

    score = private_estimator.scored(RegressorMixin.score)

    norm: Number = 1
    bound: Number = 1
    regulariser: Number | None = None
    fit_intercept: bool = True
    max_weight: Number = 1

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Release second moments of the rows and their targets, and solve for the weights.

        Weights are private, of the squared errors; None is ``max_weight`` for all. A row with a
        target or weight that is nan contributes nothing. All else is as for
        ``PerceptronClassifier.fit``.
        """
        return self._fitted(X, y, sample_weight)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        budget: PrivacyFilter[Any] | None = None,
    ) -> Self:
        """Release moments of one batch, paid from a filter, and add them to those before.

        ``guarantee_`` is then the filter's: it holds however many batches follow, whatever they
        are chosen by, and also if they share records. The budget of the arguments is one batch's.

        Args:
            X: as for ``fit``.
            y: as for ``fit``.
            sample_weight: as for ``fit``.
            budget: a filter that is shared by all batches, such as ``GDPFilter(mu=1)``.
        Raises:
            ParameterError: as for ``fit``; no filter, or another filter or other arguments than
                before; a ledger.
            BudgetExceeded: the filter has less left; nothing is released.
        """
        return self._added(lambda: self._rows(X, y, sample_weight), budget)

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:
        """Solve the normal equations of the released moments."""
        self.guarantee_ = guarantee
        moments, weight = np.asarray(released), self._target_weight()
        gram, mixed = moments[:-1, :-1], moments[:-1, -1] / weight
        width = len(gram)
        if self.regulariser is None:
            sigma = float(self._at(1).sensitivity.value / guarantee.mu)  # type: ignore[attr-defined]
            # The spectral norm of the noise, of variance sigma^2 / 2 above the diagonal.
            noise = sigma * math.sqrt(2 * width)
            self.regulariser_ = max(0.0, 2 * noise - float(np.linalg.eigvalsh(gram)[0]))
        else:
            self.regulariser_ = float(self.regulariser)
        weights = np.linalg.lstsq(gram + self.regulariser_ * np.eye(width), mixed, rcond=None)[0]
        constant = float(self.norm) * math.sqrt(_INTERCEPT)
        self.coef_ = weights[:-1] if self.fit_intercept else weights
        self.intercept_ = float(weights[-1]) * constant if self.fit_intercept else 0.0
        self.n_features_in_ = len(self.coef_)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted targets, shape (rows,)."""
        check_is_fitted(self)
        rows = private_estimator.read_rows(self, X, fitting=False)
        return np.asarray(rows @ self.coef_ + self.intercept_)

    def _at(self, sigma: Number) -> SecondMoments[Relation]:
        norm = scale(self.norm, "norm")
        scale(self.bound, "bound")
        scale(self.max_weight, "max_weight")
        if self.regulariser is not None:
            check.non_negative(regulariser=self.regulariser)
        lengths = 1 + _TARGET + (_INTERCEPT if self.fit_intercept else 0)
        relation = self.neighbours
        return SecondMoments(sigma=sigma, norm=sqrt_up(lengths * norm**2), relation=relation)

    def _target_weight(self) -> float:
        """Return what a target is multiplied with to have its length in a row."""
        return math.sqrt(_TARGET) * float(self.norm) / float(self.bound)

    def _rows(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.float64]:
        """Return the rows with a constant feature and their targets, each clipped by itself."""
        # A weight w multiplies a row by sqrt(w / max_weight), at most 1, its squares by w / max.
        rows = private_estimator.read_rows(self, X, fitting=True)
        targets = private_estimator.read_targets(y, len(rows))
        parts = [private_estimator.clipped_to_norm(rows, float(self.norm))]
        if self.fit_intercept:
            parts.append(np.full((len(rows), 1), float(self.norm) * math.sqrt(_INTERCEPT)))
        limit = float(self.bound)
        parts.append(np.clip(targets, -limit, limit)[:, np.newaxis] * self._target_weight())
        joined = np.hstack(parts)
        if sample_weight is None:
            return joined
        most = float(self.max_weight)
        weights = private_estimator.read_targets(sample_weight, len(rows), name="sample_weight")
        return np.asarray(joined * np.sqrt(np.clip(weights, 0, most) / most)[:, np.newaxis])
