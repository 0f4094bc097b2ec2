"""Private linear classifiers with scikit-learn's interface."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from dpproof import accountant, mechanisms
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import Relation
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.learn import private_estimator
from dpproof.mechanisms.learning.covers import Cover
from dpproof.mechanisms.learning.logistic_objective import free_regulariser
from dpproof.mechanisms.learning.maps.feature_map import LinearMap
from dpproof.mechanisms.learning.perceptron import MarginNorm
from dpproof.mechanisms.learning.records import (
    RECORD_BITS,
    Matrix,
    dense_blocks,
    unit_rows,
    with_column,
)
from dpproof.mechanisms.parameters import scale
from dpproof.mechanisms.samplers import as_rng


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(ClassifierMixin, private_estimator.PrivateEstimator, ABC):  # type: ignore[misc]  # untyped
    """A classifier by released weights, linear in rows with a constant, or in mapped rows.

    What ``fit`` keeps is a function of what the mechanism releases and of the arguments; the
    guarantee depends on the arguments alone.

    Args:
        classes: all labels, in the order of ``classes_``. They are public: labels that are found in
            private data would be released. A row with another label contributes nothing.
        map: a public feature map, such as ``FourierFeatures(...)``, through which all rows go.
        fit_intercept: whether to learn an offset, as the weight of a constant feature.
        intercept_scaling: the value of that feature, a public constant in data units. Rows are
            clipped or scaled together with it.
        max_weight: weights of rows are clipped to [0, max_weight], a public bound.
    Attributes:
        classes_: ``classes`` as an array.
        coef_: the weights: shape (1, features) for two classes, else (classes, features); of mapped
            rows if there is a map.
        intercept_: the offsets; zeros without ``fit_intercept``.
        map_: the map through which rows are predicted, or None.
    """

    classes: Sequence[object] | None = None
    map: mechanisms.FeatureMap | None = None
    fit_intercept: bool | None = False
    intercept_scaling: Number = 1
    max_weight: Number = 1
    _maps_back = False  # whether weights of a linear map's rows are made those of rows before it
    score = private_estimator.scored(ClassifierMixin.score)

    @property
    def learns_offset(self) -> bool:
        """Return whether an offset is learned; None stands for two classes without a map."""
        if self.fit_intercept is None:
            return self.map is None and len(self._classes()) == 2
        return self.fit_intercept

    @property
    def scales_rows(self) -> bool:
        """Return whether the rows are scaled before the mechanism gets them."""
        return False

    def __sklearn_tags__(self) -> Any:
        """Say that rows may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Release weights learned from the rows and their labels.

        A second fit is a second release: if it sees a record again, the costs of both add up.

        Args:
            X: shape (rows, features), numbers; rows that are not finite contribute nothing. It may
                be sparse.
            y: labels, shape (rows,); a row with none of ``classes`` contributes nothing.
            sample_weight: private weights, shape (rows,). A row of weight w takes part in the fit
                with probability w / ``max_weight``, by one private coin; None takes all rows.
        Raises:
            ParameterError: as for ``learner``.
            BudgetExceeded, LedgerError: the ledger does not pay; nothing is released.
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        if sample_weight is None:
            return self._fitted(X, y)
        return self._released(lambda _: self.labelled(X, y, sample_weight))  # one coin a record

    def labelled(self, X: Any, y: Any = None, sample_weight: Any = None) -> mechanisms.Records:
        """Return rows and labels as the mechanism reads them, each with the coin of its weight."""
        # Proof: proofs/theory/learners.md, Lemma 16; refused under replace-label: weights tell.
        rows = private_estimator.read_rows(self, X, fitting=True)
        numbers = class_numbers(private_estimator.read_labels(y, rows.shape[0]), self._classes())
        if sample_weight is not None:
            if isinstance(self.neighbours, accountant.ReplaceLabel):
                allowed = "left out under replace-label: a weight may tell the label"
                raise ParameterError("sample_weight", "weights", allowed)
            read = private_estimator.read_targets
            weights = read(sample_weight, rows.shape[0], name="sample_weight")
            most, seed = float(scale(self.max_weight, "max_weight")), self.random_state
            rng = None if seed is None else np.random.default_rng([seed, 1])
            coins = (as_rng(rng).words(len(weights)) >> np.uint64(11)) * 2.0**-53
            with np.errstate(over="ignore"):
                numbers[~(coins < weights / most)] = -1  # nan, too
        signed = np.array([-1, 1, 0])[numbers] if len(self._classes()) == 2 else numbers
        return mechanisms.Records(self._extended(rows), signed)

    def _rows(self, X: Any, y: Any = None, *weights: Any) -> mechanisms.Records:
        """Return ``labelled`` rows; every step reads a block again, and would draw its coins."""
        if weights:
            raise ParameterError("blocks", "weights", "of rows and labels; weights go to fit")
        return self.labelled(X, y)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores: of the second class, shape (rows,), or of all, shape (rows, classes)."""
        check_is_fitted(self)
        blocks = dense_blocks(private_estimator.read_rows(self, X, fitting=False))
        mapped = (rows if self.map_ is None else self.map_.apply(rows) for rows in blocks)
        scores = np.concatenate([self._scores(rows) for rows in mapped])
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of mapped rows, shape (rows, weight vectors)."""
        return np.asarray(rows @ self.coef_.T + self.intercept_, dtype=np.float64)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of largest score for every row; of equal scores, the first class."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return cast("NDArray[Any]", self.classes_[best])

    def _classes(self) -> list[object]:
        """Return the public labels, at least two and different."""
        return public_classes(self.classes)

    def adopt(self, released: Any, guarantee: accountant.Guarantee[Relation]) -> Self:
        """Keep the weights, and the steps that were made if the learner makes steps."""
        self.guarantee_ = guarantee
        self.classes_ = np.asarray(self._classes())
        self.map_ = self.score_map()
        weights = np.atleast_2d(released.weights)
        self.coef_ = weights[:, :-1] if self.learns_offset else weights
        offsets = weights[:, -1] * float(self.intercept_scaling)
        self.intercept_ = offsets if self.learns_offset else np.zeros(len(weights))
        self.n_features_in_ = self.coef_.shape[1] if self.map_ is None else self.map_.features
        if "steps" in released.dtype.names:
            self.n_iter_, self.stopped_ = int(released.steps), bool(released.stopped)
        return self

    def score_map(self) -> mechanisms.FeatureMap | None:
        """Return the map of the rows that released weights are multiplied with; None if none."""
        return None if self._maps_back and isinstance(self.map, LinearMap) else self.map

    def _extended(self, rows: Matrix) -> Matrix:
        """Append the constant feature to every row that is not blank."""
        if not self.learns_offset:
            return rows
        present = np.asarray((rows != 0).sum(axis=1) > 0)
        return with_column(rows, np.where(present, float(self.intercept_scaling), 0.0))

    def _check_intercept(self) -> None:
        """Refuse a constant feature beside a map, or one or a bound that is no positive number."""
        scale(self.intercept_scaling, "intercept_scaling")
        scale(self.max_weight, "max_weight")
        fit_intercept: object = self.fit_intercept
        if not isinstance(fit_intercept, bool | None) or (fit_intercept and self.map is not None):
            allowed = "True, False or None, and not True with a map"
            raise ParameterError("fit_intercept", fit_intercept, allowed)


def public_classes(labels: Sequence[object] | None) -> list[object]:
    """Return the labels of all classes."""
    array = np.asarray(labels, dtype=np.object_)
    if array.ndim != 1:
        allowed = "the sequence of all labels, known without looking at private data"
        raise ParameterError("classes", labels, allowed)
    classes = array.tolist()
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ParameterError("classes", labels, "at least two different labels")
    return list(classes)


def class_numbers(labels: NDArray[Any], classes: Sequence[object]) -> NDArray[np.int64]:
    """Return the position of each label among the classes, by itself; -1 for any other label."""
    if labels.dtype == np.object_:
        positions = {label: number for number, label in enumerate(classes)}
        return np.array([_position(label, positions) for label in labels], dtype=np.int64)
    numbers = np.full(len(labels), -1)
    for number, label in enumerate(classes):
        numbers[labels == label] = number
    return numbers


def _position(label: object, positions: Mapping[object, int]) -> int:
    """Return where a label stands, -1 if it is none of them."""
    try:
        return positions.get(label, -1)
    except TypeError:  # a label without a hash, such as a list, is none of the classes
        return -1


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronClassifier(LinearClassifier):
    """Learn a linear classifier under differential privacy, by noisy perceptron steps.

    Two classes are learned by ``BatchPerceptron``, more by ``KeslerPerceptron``.

    Args:
        sigma: instead of a budget, the standard deviation of the noise on a sum, in data units.
        norm: rows are clipped to this Euclidean norm, a public bound in data units. None scales
            every row to norm 1, which needs no bound.
        margin: how far inside its region a row has to be, in units of the clipped rows.
        margin_norm: ``"linf"`` takes ``margin`` as what every coordinate of a row may move by.
        rate: every row is in the sample of a step independently with this probability; a
            constant, never computed from the number of rows. 1 takes all rows in every step.
        steps: how many noisy sums, fixed in advance.
        average: whether to return the mean of the last half of the states, or the last state.
        stop: a test that may end the run early, or ``ChooseIterate(...)``; all steps are paid for.
        fit_intercept: whether to learn an offset, as the weight of a constant feature. None learns
            one for two classes if there is no map.
        batch: ``WithoutReplacement(...)`` takes a fresh subset of a fixed size in every step in
            place of a Poisson sample, under ``ReplaceOne()`` only.
    Attributes:
        n_iter_: steps made, or the number of the state that was chosen.
        stopped_: whether a test ended the run.
    Example:
        >>> from sklearn.datasets import load_digits
        >>> model = PerceptronClassifier(epsilon=1, delta=1e-5, classes=range(10))
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> model.fit(*load_digits(return_X_y=True)).coef_.shape
        (10, 64)
    """

    fit_intercept: bool | None = None
    intercept_scaling: Number = 0.25
    norm: Number | None = None
    margin: Number = 0.1
    margin_norm: MarginNorm = "l2"
    rate: Number = 1
    steps: int = 60
    average: bool = True
    stop: mechanisms.Stop | None = None
    batch: accountant.WithoutReplacement | None = None

    def _at(self, sigma: Number) -> mechanisms.Mechanism[Relation]:
        own = ("margin", "margin_norm", "rate", "steps", "norm", "average", "stop", "batch")
        given: dict[str, Any] = {name: getattr(self, name) for name in own}
        given |= {"sigma": sigma, "relation": self.neighbours}
        number = len(self._classes())
        base: mechanisms.Mechanism[Relation] = (
            mechanisms.BatchPerceptron(**given)
            if number == 2
            else mechanisms.KeslerPerceptron(classes=number, **given)
        )
        self._check_intercept()
        return base if self.map is None else mechanisms.Featured(base=base, map=self.map)


# Share of the budget's epsilon at which the loss has its floor: the output noise has to fit above.
_FLOOR: Final = Fraction(63, 64)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(LinearClassifier):
    """Learn logistic regression under differential privacy.

    Two classes are learned by objective perturbation, ``LogisticObjective``, more by noisy steps on
    the multinomial loss, ``SoftmaxDescent``, all in one chain.

    Args:
        sigma: instead of a budget, the standard deviation of the random linear term, or with more
            than two classes of the noise on a sum of gradients.
        norm: rows are clipped to this Euclidean norm, a public bound in data units. None scales
            every row to norm 1, in fits and in predictions, which needs no bound.
        regulariser: weight of ||w||^2 / 2 in the sum of the losses, which is not divided by the
            number of rows. For two classes None is the least that costs nothing: norm sigma/2
            or 2 sigma^2, or with a budget, if records are added or removed, about norm^2 / epsilon.
            For more it is 0.
        steps: with more than two classes, how many noisy sums, fixed in advance.
        radius: with more than two classes, how far the first step goes, in units of 1 / norm.
        intercept_scaling: the value of that feature, a public constant in data units. Rows are
            clipped or scaled together with it, in fits and in predictions.
    Attributes:
        n_iter_: steps made, 1 for two classes.
    Raises:
        NotImplied: on guarantee and fit, a regulariser below norm sigma/2 and 2 sigma^2 if a record
            or label is replaced.
    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> model = LogisticRegression(epsilon=1, delta=1e-5, classes=[0, 1])
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model.fit(X, y).predict_proba(X).shape
        (569, 2)
    """

    norm: Number | None = None
    regulariser: Number | None = None
    steps: int = 16
    radius: Number = 16

    def adopt(self, released: Any, guarantee: accountant.Guarantee[Relation]) -> Self:
        """Keep the weights, and how predictions scale their rows."""
        self.scaled_ = self.norm is None
        self.constant_ = float(self.intercept_scaling) if self.learns_offset else 0.0
        return super().adopt(released, guarantee)

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale every row, with the constant feature, to norm 1 if the fit did."""
        if not self.scaled_:
            return super()._scores(rows)
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=self.constant_)
        largest = np.where(largest > 0, largest, 1.0)
        rows = rows / largest
        squares = np.square(rows).sum(axis=1, keepdims=True) + (self.constant_ / largest) ** 2
        scores = rows @ self.coef_.T + self.intercept_ / largest
        return np.asarray(scores / np.sqrt(np.where(squares > 0, squares, 1.0)))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities of the classes, shape (rows, classes): of scores, the softmax.

        Of two classes the scores are those of the second and 0.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            shares = 0.5 * (1 + np.tanh(0.5 * scores))
            return np.stack([1 - shares, shares], axis=1)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _priced(self, sigma: Number) -> mechanisms.Mechanism[Relation]:
        """Leave the regulariser free where records are replaced: no price there depends on it."""
        if not isinstance(self.neighbours, accountant.ReplaceOne | accountant.ReplaceLabel):
            return self._at(sigma)
        free: Self = clone(self).set_params(sigma=sigma, epsilon=None, regulariser=None)
        return free.learner()

    def _at(self, sigma: Number) -> mechanisms.Mechanism[Relation]:
        classes, relation = len(self._classes()), self.neighbours
        self._check_intercept()
        shared: dict[str, Any] = {"sigma": sigma, "norm": self.norm, "relation": relation}
        descent = mechanisms.SoftmaxDescent(  # refuses bad steps for two classes, too
            classes=max(classes, 3),
            steps=self.steps,
            radius=self.radius,
            regulariser=self.regulariser,
            **shared,
        )
        base: mechanisms.LogisticObjective[Relation] | mechanisms.SoftmaxDescent[Relation] = descent
        if classes == 2:
            stated = self.regulariser
            least = self._least(sigma, relation) if stated is None else stated
            base = mechanisms.LogisticObjective(regulariser=least, **shared)
        return base if self.map is None else mechanisms.Featured(base=base, map=self.map)

    def _least(self, sigma: Number, relation: Relation) -> Number:
        """Return the least regulariser at which epsilon is that of the gradient alone."""
        norm = Fraction(1) if self.norm is None else Fraction(self.norm)
        free = free_regulariser(Fraction(sigma), norm) if sigma else Fraction(1)
        replaced = isinstance(relation, accountant.ReplaceOne | accountant.ReplaceLabel)
        if self.epsilon is None or replaced:
            return free
        curved = 1 / (2 * Fraction(sigma) ** 2) if sigma else Fraction(1)
        floor = _FLOOR * accountant.arguments.positive(epsilon=self.epsilon)
        return min(free, 1 / (curved + floor / norm**2))


@final
@dataclass(kw_only=True, eq=False, repr=False)
class MarginClassifier(LinearClassifier):
    """Learn a halfspace of large margin under differential privacy, by hinge loss.

    ``MarginDescent`` or ``PhasedHinge`` learn it, for two classes.

    Args:
        sigma: instead of a budget, the standard deviation of the noise on a sum of mapped rows.
        norm: mapped rows are clipped to this Euclidean norm, a public bound. None scales every row
            to norm 1, which needs no bound; with a map, it clips to the norm that the map states,
            or to 1.
        margin: of the hinge, in units of mapped rows: far below a margin that the data may have.
        steps: of ``solver="descent"``, fixed in advance.
        solver: ``"descent"``, noisy steps on all records, or ``"phased"``, one pass over a random
            permutation.
        map: a public feature map; projections are mapped back.
        records: a public number of records for the step sizes, needed under add-remove and
            zero-out.
        radius: of the reference halfspace, which decides the step sizes.
    Attributes:
        coef_: the weights, shape (1, features); of mapped rows if the map is not linear.
        n_iter_: steps or phases made.
        stopped_: False, as nothing ends a run early.
    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from dpproof.accountant import ReplaceOne
        >>> budget = {"epsilon": 1, "delta": 1e-5, "relation": ReplaceOne()}
        >>> model = MarginClassifier(**budget, classes=[0, 1], fit_intercept=True)
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> model.fit(*load_breast_cancer(return_X_y=True)).coef_.shape
        (1, 30)
    """

    norm: Number | None = None
    margin: Number = 2.0**-7
    steps: int = 100
    solver: str = "descent"
    records: int | None = None
    radius: Number = 1

    _maps_back = True

    def _at(self, sigma: Number) -> mechanisms.Mechanism[Relation]:
        relation = self.neighbours
        norm = self._norm_bound()
        noise = accountant.arguments.positive(sigma=sigma)
        self._check_intercept()
        if len(self._classes()) != 2:
            why = "PerceptronClassifier and LogisticRegression learn more in one chain"
            raise ParameterError("classes", self.classes, "two labels", why)
        moved = L2Contribution(norm, relation).as_l2().value
        own = ("margin", "map", "records", "radius")
        shared: dict[str, Any] = {name: getattr(self, name) for name in own}
        shared |= {"norm": norm, "relation": relation}
        base: mechanisms.MarginDescent[Relation] | mechanisms.PhasedHinge[Relation]
        if self.solver == "descent":
            steps = accountant.arguments.count(steps=self.steps)
            mu = sqrt_up(moved**2 * steps / noise**2)
            base = mechanisms.MarginDescent(steps=steps, mu=mu, **shared)
        elif self.solver == "phased":
            base = mechanisms.PhasedHinge(mu=moved / noise, **shared)
        else:
            raise ParameterError("solver", self.solver, "'descent' or 'phased'")
        return base

    def _norm_bound(self) -> Fraction:
        """Return the norm that mapped rows are clipped to."""
        if self.norm is not None:
            return accountant.arguments.positive(norm=self.norm)
        stated = self.map.output_norm if isinstance(self.map, mechanisms.FeatureMap) else None
        return Fraction(1) if stated is None else stated

    @property
    def scales_rows(self) -> bool:
        """Return whether rows are scaled to norm 1, as there is neither a norm nor a map."""
        return self.norm is None and self.map is None

    def _extended(self, rows: Matrix) -> Matrix:
        """Append the constant feature, and scale rows to norm 1 if no norm is given."""
        extended = super()._extended(rows)
        if not self.scales_rows:
            return extended
        parts = []
        for block in dense_blocks(extended):
            finite = np.asarray(np.isfinite(block).all(axis=1))
            scaled = unit_rows(np.where(finite[:, np.newaxis], block, 0.0), RECORD_BITS)
            scaled[~finite] = np.nan
            parts.append(scaled * 2.0**-RECORD_BITS)
        return np.concatenate(parts)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class CoverClassifier(LinearClassifier):
    """Learn a halfspace, of two classes, under pure privacy, by ``ExponentialHalfspaces``.

    Args:
        epsilon: the budget; delta is 0.
        cover: of directions of mapped rows, such as ``RandomDirections(...)``, or a ``CoverUnion``
            of them with linear maps of its own.
        map: a public feature map; projections are mapped back.
        prior: public weights, as for ``ExponentialHalfspaces``.
        fit_intercept: whether to learn an offset, as the weight of a constant feature, which the
            cover has a dimension for.
        intercept_scaling: the value of that feature, a public constant in data units.
    Attributes:
        coef_: the weights, shape (1, features); of mapped rows if the map is not linear.
        index_: the number of the candidate.
    Example:
        >>> from dpproof.mechanisms import RandomDirections
        >>> cover = RandomDirections(size=1_000, dimension=2, seed=1)
        >>> model = CoverClassifier(epsilon=20, classes=["no", "yes"], cover=cover)
        >>> model.guarantee()
        BoundedRange(epsilon=20, relation=AddRemove())
        >>> rows = [[0.1, 0.9], [0.2, -0.9], [-0.3, 0.5]] * 9
        >>> model.fit(rows, ["yes", "no", "yes"] * 9).predict(rows[:3]).tolist()
        ['yes', 'no', 'yes']
    """

    delta: Number | None = field(init=False, default=0)
    sigma: Number | None = field(init=False, default=None)

    max_weight: Number = field(init=False, default=1)
    cover: Cover | mechanisms.CoverUnion | None = None
    prior: Sequence[Number] | None = None
    _maps_back = True

    def learner(self) -> mechanisms.Mechanism[Relation]:
        """Return the mechanism that ``fit`` releases from, for two classes."""
        return self._at(1)

    def _at(self, sigma: Number) -> mechanisms.Mechanism[Relation]:
        """Return the learner, which has no sigma."""
        del sigma
        self._check_intercept()
        if len(self._classes()) != 2:
            raise ParameterError("classes", self.classes, "two labels")
        own = self.cover.maps if isinstance(self.cover, mechanisms.CoverUnion) else None
        if not all(isinstance(one, LinearMap | None) for one in own or ()):
            raise ParameterError("cover", self.cover, "a union whose own maps, if any, are linear")
        price: dict[str, Any] = {} if self.epsilon is None else {"epsilon": self.epsilon}
        cover: Any = self.cover
        return mechanisms.ExponentialHalfspaces(
            map=self.map, cover=cover, prior=self.prior, relation=self.neighbours, **price
        )

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Release a halfspace, as other classifiers do, but without weights of rows.

        A mixture by private coins may have a wider range of log-ratios than its parts.
        """
        return super().fit(X, y)

    def adopt(self, released: Any, guarantee: Any) -> Any:
        """Keep the weights, and the number of the candidate."""
        self.index_ = int(released.index)
        return super().adopt(released, guarantee)
