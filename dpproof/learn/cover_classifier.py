"""A halfspace of a public cover, purely private, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, final

from numpy.typing import ArrayLike

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation
from dpproof.learn.linear_classifier import LinearClassifier
from dpproof.mechanisms import CoverUnion, ExponentialHalfspaces, FeatureMap, Mechanism
from dpproof.mechanisms.learning.covers import Cover
from dpproof.mechanisms.learning.maps.feature_map import LinearMap


@final
@dataclass(kw_only=True, eq=False, repr=False)
class CoverClassifier(LinearClassifier):
    """Learn a halfspace under pure differential privacy, by ``ExponentialHalfspaces``.

    Args:
        epsilon: the budget; delta is 0.
        classes: both labels, in the order of ``classes_``. They are public; a row with another
            label contributes nothing.
        cover: of directions of mapped rows, such as ``RandomDirections(...)``, or a ``CoverUnion``
            of them with linear maps of its own.
        map: a public feature map; projections are mapped back.
        prior: public weights, as for ``ExponentialHalfspaces``.
        fit_intercept: whether to learn an offset, as the weight of a constant feature, which the
            cover has a dimension for.
        intercept_scaling: the value of that feature, a public constant in data units.
        relation: which datasets are neighbours; None is AddRemove().
        random_state, ledger, ledger_key: as for ``PerceptronClassifier``.
    Attributes:
        classes_: ``classes`` as an array.
        coef_: the weights, shape (1, features); of mapped rows if the map is not linear.
        intercept_: the offset; zero without ``fit_intercept``.
        index_: the number of the candidate.
        map_: the map through which rows are predicted, or None.
        n_features_in_: features of ``fit``.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
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
    cover: Cover | CoverUnion | None = None
    prior: Sequence[Number] | None = None

    def learner(self) -> Mechanism[Relation]:
        """Return the mechanism that ``fit`` releases from.

        Raises:
            ParameterError: an argument outside its domain, or more than two classes.
        """
        return self._at(1)

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        """Return the learner, which has no sigma."""
        del sigma
        self._check_intercept()
        if len(self._classes()) != 2:
            raise ParameterError("classes", self.classes, "two labels")
        own = self.cover.maps if isinstance(self.cover, CoverUnion) else None
        if not all(isinstance(one, LinearMap | None) for one in own or ()):
            raise ParameterError("cover", self.cover, "a union whose own maps, if any, are linear")
        price: dict[str, Any] = {} if self.epsilon is None else {"epsilon": self.epsilon}
        cover: Any = self.cover
        return ExponentialHalfspaces(
            map=self.map, cover=cover, prior=self.prior, relation=self.neighbours, **price
        )

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]  # noqa: N803
        """Release a halfspace, as other classifiers do, but without weights of rows.

        A mixture by private coins may have a wider range of log-ratios than its parts.
        """
        return super().fit(X, y)

    def adopt(self, released: Any, guarantee: Any) -> Any:  # noqa: ANN401  # as the base says
        """Keep the weights, and the number of the candidate."""
        self.index_ = int(released.index)
        return super().adopt(released, guarantee)

    def score_map(self) -> FeatureMap | None:
        """Return the map, unless it is linear: weights are for rows before mapping then."""
        return None if isinstance(self.map, LinearMap) else self.map
