"""The private perceptron as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from accountant import AddRemove, Guarantee, WithoutReplacement, calibrate
from accountant import arguments as check
from accountant.arguments import Number
from accountant.errors import ParameterError
from accountant.relation import Relation
from dpproof.learn.refits import refuse_search
from dpproof.learn.spending import LedgerPlace, paid
from dpproof.learn.warnings import PredictableNoise, SecondRelease
from mechanisms import (
    BatchPerceptron,
    Featured,
    FeatureMap,
    KeslerPerceptron,
    Mechanism,
    Records,
    Stop,
)
from proofs.certificate import Certificate


@final
class PerceptronClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """Learn a linear classifier under differential privacy, by noisy perceptron steps.

    Two classes are learned by ``BatchPerceptron``, more by ``KeslerPerceptron``. Everything that
    ``fit`` keeps is a function of the released noisy sums and of the arguments; the guarantee
    depends on the arguments alone.

    Args:
        epsilon: with ``delta``, the budget: sigma is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the standard deviation of the noise on a sum, in data units.
        classes: all labels, in the order of ``classes_``, at least two. They are public: labels
            that are found in private data would be released. A row with another label contributes
            nothing.
        norm: rows are clipped to this Euclidean norm, a public bound in data units. None scales
            every row to norm 1, which needs no bound.
        margin: how far inside its region a row has to be, in units of the clipped rows.
        rate: every row is in the sample of a step independently with this probability; a
            constant, never computed from the number of rows. 1 takes all rows in every step.
        steps: how many noisy sums, fixed in advance.
        average: whether to return the mean of the last half of the states, or the last state.
        stop: a test that may end the run early, or ``ChooseIterate(...)``; all steps are paid for.
        map: a public feature map, such as ``FourierFeatures(...)``, through which all rows go.
        fit_intercept: whether to learn an offset, as the weight of a constant feature.
        intercept_scaling: the value of that feature, a public constant in data units. Rows are
            clipped or scaled together with it.
        batch: ``WithoutReplacement(...)`` takes a fresh subset of a fixed size in every step in
            place of a Poisson sample, under ``ReplaceOne()`` only.
        relation: which datasets are neighbours; None is AddRemove().
        random_state: None takes the noise from the operating system. An integer makes it
            predictable, for tests only, and warns.
        ledger: a ``dpproof.Ledger``, its path or its URL, from which ``fit`` pays before it
            releases anything; clones spend the same one.
        ledger_key: names the fit in the ledger. It pays for one fit: a second one is refused.
    Attributes:
        classes_: ``classes`` as an array.
        coef_: the weights: shape (1, features) for two classes, else (classes, features); of mapped
            rows if there is a map.
        intercept_: the offsets; zeros without ``fit_intercept``.
        map_: the map of the fit, or None.
        n_features_in_: features of ``fit``.
        n_iter_: steps made, or the number of the state that was chosen.
        stopped_: whether a test ended the run.
        guarantee_: what the fit satisfies.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
    Example:
        >>> from sklearn.datasets import load_digits
        >>> model = PerceptronClassifier(epsilon=1, delta=1e-5, classes=range(10))
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> model.fit(*load_digits(return_X_y=True)).coef_.shape
        (10, 64)
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        classes: Sequence[object] | None = None,
        norm: Number | None = None,
        margin: Number = 0.1,
        rate: Number = 1,
        steps: int = 60,
        average: bool = True,
        stop: Stop | None = None,
        map: FeatureMap | None = None,  # noqa: A002  # what other learners call it
        fit_intercept: bool = False,
        intercept_scaling: Number = 1,
        batch: WithoutReplacement | None = None,
        relation: Relation | None = None,
        random_state: int | None = None,
        ledger: LedgerPlace | None = None,
        ledger_key: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.sigma = sigma
        self.classes = classes
        self.norm = norm
        self.margin = margin
        self.rate = rate
        self.steps = steps
        self.average = average
        self.stop = stop
        self.map = map
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.batch = batch
        self.relation = relation
        self.random_state = random_state
        self.ledger = ledger
        self.ledger_key = ledger_key

    def learner(self) -> Mechanism[Relation]:
        """The mechanism that ``fit`` releases from, its noise calibrated to the budget.

        Raises:
            ParameterError: an argument outside its domain, or not one of a budget and sigma.
        """
        if (self.sigma is None) == (self.epsilon is None):
            raise ParameterError(
                "sigma", self.sigma, "given if and only if epsilon and delta are not"
            )
        if self.sigma is not None:
            return self._at(self.sigma)
        self._at(1)  # refuses every other bad argument by its name
        found = calibrate(self._at, epsilon=self.epsilon, delta=self.delta, increasing=False)
        return self._at(found.value)

    def guarantee(self) -> Guarantee[Relation]:
        """What one fit satisfies; it is known before there is any data.

        Raises:
            ParameterError: as for ``learner``.
        """
        return self.learner().guarantee()

    def certificate(self, *, delta: Number | None = None) -> Certificate:
        """A certificate of the fit's (epsilon, delta), for ``python -m proofs``.

        After a fit it is about that fit, whatever arguments were set since; before, about the next.

        Args:
            delta: where epsilon is certified; by default that of the budget.
        Raises:
            ParameterError: no delta here and none in the budget.
        """
        at = self.delta if delta is None else delta
        if at is None:
            raise ParameterError("delta", None, "given, here or as part of the budget")
        fitted = hasattr(self, "guarantee_")
        return (self.guarantee_ if fitted else self.guarantee()).certify(delta=at)

    def fit(self, X: ArrayLike, y: ArrayLike) -> PerceptronClassifier:  # noqa: N803  # scikit-learn
        """Release weights learned from the rows and their labels.

        A second fit is a second release: if it sees a record again, the costs of both add up.

        Args:
            X: shape (rows, features), numbers; rows that are not finite contribute nothing.
            y: labels, shape (rows,); a row whose label is not one of ``classes`` contributes
                nothing.
        Raises:
            ParameterError: as for ``learner``.
            BudgetExceeded, LedgerError: the ledger does not pay; nothing is released.
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        refuse_search()
        learner = self.learner()
        if hasattr(self, "coef_"):
            warnings.warn(
                "this estimator was fitted before; on the same records the guarantee of both fits "
                "is their composition",
                SecondRelease,
                stacklevel=2,
            )
        records = self.records(X, y)
        guarantee = learner.guarantee()
        with paid(self.ledger, self.ledger_key, guarantee, type(self).__name__):
            released = learner.release(records, rng=self.rng())
        return self.adopt(released, guarantee)

    def records(self, X: ArrayLike, y: ArrayLike) -> Records:  # noqa: N803  # scikit-learn
        """The rows and their labels as the mechanism reads them; nothing is released.

        Raises:
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        rows = validate_data(self, X, ensure_all_finite=False, ensure_min_samples=0)
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None")
        # A list is read label by label: as one array, a single text turns all its numbers to texts.
        labels = column_or_1d(y, warn=True, dtype=None if hasattr(y, "dtype") else np.object_)
        if labels.shape != (len(rows),):
            raise ValueError(f"y has shape {labels.shape}, expected one label for {len(rows)} rows")
        numbers = class_numbers(labels, self._classes())
        signed = np.array([-1, 1, 0])[numbers] if len(self._classes()) == 2 else numbers
        return Records(self._extended(rows), signed)

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> PerceptronClassifier:  # noqa: ANN401
        """Keep a model that the learner released, with what its release satisfies.

        Args:
            released: an output of ``learner()``, with fields ``weights``, ``steps``, ``stopped``.
            guarantee: of the mechanism that released it, which may have been one of many runs.
        """
        self.guarantee_ = guarantee
        self.classes_ = np.asarray(self._classes())
        self.map_ = self.map
        weights = np.atleast_2d(released.weights)
        self.coef_ = weights[:, :-1] if self.fit_intercept else weights
        offsets = weights[:, -1] * float(self.intercept_scaling)
        self.intercept_ = offsets if self.fit_intercept else np.zeros(len(weights))
        self.n_features_in_ = self.coef_.shape[1] if self.map is None else self.map.features
        self.n_iter_, self.stopped_ = int(released.steps), bool(released.stopped)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Scores: of the second class, shape (rows,), or of every class, shape (rows, classes)."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        rows = rows if self.map_ is None else self.map_.apply(np.asarray(rows, dtype=np.float64))
        scores = np.asarray(rows @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803  # scikit-learn
        """The class of largest score for every row; of equal scores, the first class."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return cast("NDArray[Any]", self.classes_[best])

    def _classes(self) -> list[object]:
        if self.classes is None or isinstance(self.classes, str):
            allowed = "the sequence of all labels, known without looking at private data"
            raise ParameterError("classes", self.classes, allowed)
        classes = np.asarray(self.classes, dtype=np.object_).tolist()
        if len(classes) < 2 or len(set(classes)) < len(classes):
            raise ParameterError("classes", self.classes, "at least two different labels")
        return list(classes)

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        classes = len(self._classes())
        relation: Relation = AddRemove() if self.relation is None else self.relation
        shared: dict[str, Any] = {
            "margin": self.margin,
            "rate": self.rate,
            "steps": self.steps,
            "sigma": sigma,
            "norm": self.norm,
            "relation": relation,
            "average": self.average,
            "stop": self.stop,
            "batch": self.batch,
        }
        two = classes == 2
        base = BatchPerceptron(**shared) if two else KeslerPerceptron(classes=classes, **shared)
        check.positive(intercept_scaling=self.intercept_scaling)
        fit_intercept: object = self.fit_intercept
        if not isinstance(fit_intercept, bool) or (fit_intercept and self.map is not None):
            raise ParameterError("fit_intercept", fit_intercept, "True or False, False with a map")
        if self.map is None:
            return base
        return Featured(base=base, map=self.map)

    def _extended(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Append the constant feature to every row that is not blank."""
        if not self.fit_intercept:
            return rows
        present = rows.any(axis=1)
        return np.column_stack([rows, np.where(present, float(self.intercept_scaling), 0.0)])

    def rng(self) -> np.random.Generator | None:
        """Where the noise comes from: None is the operating system; a seed warns."""
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise predictable, and the fit protects nobody: tests only",
            PredictableNoise,
            stacklevel=3,
        )
        return np.random.default_rng(self.random_state)


def class_numbers(labels: NDArray[Any], classes: Sequence[object]) -> NDArray[np.int64]:
    """The position of every label among the classes, -1 for a label that is none of them.

    Laws: of one label, whatever the others are; no label raises an error.
    Example:
        >>> class_numbers(np.array(["b", "c", "a"]), ["a", "b"]).tolist()
        [1, -1, 0]
    """
    if labels.dtype == np.object_:
        positions = {label: number for number, label in enumerate(classes)}
        return np.array([_position(label, positions) for label in labels], dtype=np.int64)
    numbers = np.full(len(labels), -1)
    for number, label in enumerate(classes):
        numbers[labels == label] = number
    return numbers


def _position(label: object, positions: Mapping[object, int]) -> int:
    try:
        return positions.get(label, -1)
    except TypeError:  # a label without a hash, such as a list, is none of the classes
        return -1
