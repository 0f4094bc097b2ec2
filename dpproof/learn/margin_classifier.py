"""Private learners by margin as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import Relation
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.learn.linear_classifier import LinearClassifier
from dpproof.mechanisms import FeatureMap, MarginDescent, Mechanism, PhasedHinge
from dpproof.mechanisms.learning.grid import RECORD_BITS, unit_rows
from dpproof.mechanisms.learning.maps.feature_map import LinearMap
from dpproof.mechanisms.learning.records import Matrix, dense_blocks

_SOLVERS: Final = ("descent", "phased")


@final
@dataclass(kw_only=True, eq=False, repr=False)
class MarginClassifier(LinearClassifier):
    """Learn a halfspace of large margin under differential privacy, by hinge loss.

    ``MarginDescent`` or ``PhasedHinge`` learn it. What ``fit`` keeps is a function of the released
    weights and of the arguments; the guarantee depends on the arguments alone.

    Args:
        epsilon: with ``delta``, the budget: sigma is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the standard deviation of the noise on a sum of mapped rows.
        classes: both labels, in the order of ``classes_``. They are public; a row with another
            label contributes nothing.
        norm: mapped rows are clipped to this Euclidean norm, a public bound. None scales every row
            to norm 1, which needs no bound; with a map, it clips to the norm that the map states,
            or to 1.
        margin: of the hinge, in units of mapped rows: far below a margin that the data may have.
        steps: of ``solver="descent"``, fixed in advance.
        solver: ``"descent"``, noisy steps on all records, or ``"phased"``, one pass over a random
            permutation.
        map: a public feature map; projections are mapped back.
        fit_intercept: whether to learn an offset, as the weight of a constant feature.
        intercept_scaling: the value of that feature, a public constant. Rows are clipped or scaled
            together with it.
        records: a public number of records for the step sizes, needed under add-remove and
            zero-out.
        radius: of the reference halfspace, which decides the step sizes.
        max_weight: weights of rows are clipped to [0, max_weight], a public bound.
        relation: which datasets are neighbours; None is AddRemove().
        random_state, ledger, ledger_key: as for ``PerceptronClassifier``.
    Attributes:
        classes_: ``classes`` as an array.
        coef_: the weights, shape (1, features); of mapped rows if the map is not linear.
        intercept_: the offset; zero without ``fit_intercept``.
        map_: the map through which rows are predicted, or None.
        n_features_in_: features of ``fit``.
        n_iter_: steps or phases made.
        stopped_: False, as nothing ends a run early.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
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

    def score_map(self) -> FeatureMap | None:
        """Return the map, unless it is linear: weights are for rows before mapping then."""
        return None if isinstance(self.map, LinearMap) else self.map

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        relation = self.neighbours
        norm = self._norm_bound()
        noise = check.positive(sigma=sigma)
        self._check_intercept()
        if len(self._classes()) != 2:
            why = "PerceptronClassifier and LogisticRegression learn more in one chain"
            raise ParameterError("classes", self.classes, "two labels", why)
        moved = L2Contribution(norm, relation).as_l2().value
        shared: dict[str, Any] = {
            "margin": self.margin,
            "norm": norm,
            "map": self.map,
            "relation": relation,
            "records": self.records,
            "radius": self.radius,
        }
        base: MarginDescent[Relation] | PhasedHinge[Relation]
        if self.solver == "descent":
            steps = check.count(steps=self.steps)
            mu = sqrt_up(moved**2 * steps / noise**2)
            base = MarginDescent(steps=steps, mu=mu, **shared)
        elif self.solver == "phased":
            base = PhasedHinge(mu=moved / noise, **shared)
        else:
            raise ParameterError(
                "solver", self.solver, " or ".join(repr(name) for name in _SOLVERS)
            )
        return base

    def _norm_bound(self) -> Fraction:
        """Return the norm that mapped rows are clipped to."""
        if self.norm is not None:
            return check.positive(norm=self.norm)
        stated = self.map.output_norm if isinstance(self.map, FeatureMap) else None
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
