"""A learner on the features of its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant import Guarantee, ParameterError
from dpproof.accountant.relation import R
from dpproof.mechanisms.combinators.composed import OnBase
from dpproof.mechanisms.learning.bounded_updates import SumLearner, mapped_back
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.samplers import Rng


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Featured(OnBase[R]):
    """Run a learner on mapped records; its weights are for mapped rows.

    Statement: a map that is fixed in advance acts on one record at a time and keeps blank records
        blank, so neighbours stay neighbours, and map and weights together satisfy the base's
        guarantee. The base clips mapped rows to its own norm, so this needs no property of the map.
    Source: Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, section 5, for random Fourier
        features.

    Args:
        base: a learner, its ``features`` None or those of mapped rows.
        map: such as ``FourierFeatures(...)``; to classify, map rows with ``map.apply`` first.
    Raises:
        ParameterError: not a learner and a map, or widths that do not fit.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms.learning.perceptron import BatchPerceptron
        >>> from dpproof.mechanisms.learning.maps.feature_map import FourierFeatures
        >>> base = BatchPerceptron(margin=0.1, steps=100, sigma=40, relation=AddRemove())
        >>> plan = FourierFeatures(features=2, frequencies=50, width=1, seed=7)
        >>> Featured(base=base, map=plan).guarantee().mu
        Fraction(1, 4)
    """

    whole = ""

    base: Mechanism[R]
    map: FeatureMap

    def __post_init__(self) -> None:
        """Refuse other bases and maps."""
        base: object = self.base
        plan: object = self.map
        width = getattr(base, "features", "none")
        if not isinstance(base, Mechanism) or width == "none":
            raise ParameterError("base", base, "a learner such as BatchPerceptron(...)")
        if not isinstance(plan, FeatureMap):
            raise ParameterError("map", plan, "a feature map such as FourierFeatures(...)")
        if width not in (None, plan.output_features):
            allowed = f"None or {plan.output_features} in the base"
            raise ParameterError("features", width, allowed)

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee, with the map in its derivation."""
        return self.map.applied(self.base.guarantee())

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run the base on the mapped datasets: shape (len(datasets), count)."""
        return self.base.draw([self.map.records(data) for data in datasets], count, rng)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Projected(OnBase[R]):
    """Run a learner on projected records, and map its weights back.

    Statement: for every fixed matrix the projection acts on one record at a time and keeps blank
        records blank, so neighbours stay neighbours, and matrix and weights together satisfy the
        base's guarantee. The base clips projected rows, or scales them to norm 1, so the
        sensitivity holds for every matrix and not with high probability.
    Source: Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 1.

    Args:
        base: a learner of halfspaces, or ``KeslerPerceptron``, with norm None or at least 1.
        projection: a public matrix, such as ``SignProjection(...)``.
    Raises:
        ParameterError: not a learner and a projection, or widths that do not fit.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms.learning.perceptron import BatchPerceptron
        >>> from dpproof.mechanisms.learning.maps.feature_map import SignProjection
        >>> base = BatchPerceptron(margin=0.1, steps=100, sigma=40, relation=AddRemove())
        >>> plan = SignProjection(features=1000, dimension=50, seed=7)
        >>> Projected(base=base, projection=plan).guarantee().mu
        Fraction(1, 4)
    """

    whole = ""

    base: SumLearner[R]
    projection: LinearMap

    def __post_init__(self) -> None:
        """Refuse other bases and projections."""
        base: object = self.base
        projection: object = self.projection
        if not isinstance(base, SumLearner):
            raise ParameterError("base", base, "a learner such as BatchPerceptron(...)")
        if not isinstance(projection, LinearMap):
            raise ParameterError("projection", projection, "SignProjection(...)")
        width = projection.output_features
        if base.features not in (None, width):
            raise ParameterError("features", base.features, f"None or {width} in the base")

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee, with the matrix in its derivation."""
        return self.projection.applied(self.base.guarantee())

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run the base on the projected datasets: records of shape (len(datasets), count)."""
        mapped = [self.projection.records(data) for data in datasets]
        return np.stack(
            [mapped_back(self.projection, runs) for runs in self.base.draw(mapped, count, rng)]
        )
