"""The private perceptron as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from dpproof.accountant import WithoutReplacement
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import Relation
from dpproof.learn.linear_classifier import LinearClassifier
from dpproof.mechanisms import BatchPerceptron, Featured, KeslerPerceptron, Mechanism, Stop
from dpproof.mechanisms.learning.batch_perceptron import MarginNorm


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronClassifier(LinearClassifier):
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
        margin_norm: ``"linf"`` takes ``margin`` as what every coordinate of a row may move by.
        rate: every row is in the sample of a step independently with this probability; a
            constant, never computed from the number of rows. 1 takes all rows in every step.
        steps: how many noisy sums, fixed in advance.
        average: whether to return the mean of the last half of the states, or the last state.
        stop: a test that may end the run early, or ``ChooseIterate(...)``; all steps are paid for.
        map: a public feature map, such as ``FourierFeatures(...)``, through which all rows go.
        fit_intercept: whether to learn an offset, as the weight of a constant feature. None learns
            one for two classes if there is no map.
        intercept_scaling: the value of that feature, a public constant in data units. Rows are
            clipped or scaled together with it.
        batch: ``WithoutReplacement(...)`` takes a fresh subset of a fixed size in every step in
            place of a Poisson sample, under ``ReplaceOne()`` only.
        max_weight: weights of rows are clipped to [0, max_weight], a public bound.
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
        guarantee_: the guarantee of the fit.
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

    fit_intercept: bool | None = None
    intercept_scaling: Number = 0.25
    norm: Number | None = None
    margin: Number = 0.1
    margin_norm: MarginNorm = "l2"
    rate: Number = 1
    steps: int = 60
    average: bool = True
    stop: Stop | None = None
    batch: WithoutReplacement | None = None

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        classes = len(self._classes())
        relation = self.neighbours
        shared: dict[str, Any] = {
            "margin": self.margin,
            "margin_norm": self.margin_norm,
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
        self._check_intercept()
        if self.map is None:
            return base
        return Featured(base=base, map=self.map)
