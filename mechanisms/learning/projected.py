"""A learner on randomly projected records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from accountant import arguments as check
from accountant.errors import ParameterError
from accountant.guarantees.guarantee import Guarantee
from accountant.relation import R
from accountant.theorems.composition.post_process import post_process
from mechanisms.learning.bounded_updates import learned
from mechanisms.learning.grid import RECORD_BITS, WIDEST, Vectors, unit_rows
from mechanisms.learning.records import Records, as_records
from mechanisms.learning.sum_learner import SumLearner
from mechanisms.mechanism import Mechanism
from mechanisms.outputs import Outputs
from mechanisms.samplers.rng import ReplayRng, Rng

_WORD_BITS = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SignProjection:
    """A public matrix of random signs, from features to fewer dimensions.

    Scalar products of unit vectors keep their value up to approximately 1 / sqrt(dimension). If
    dimension is at least features, rows stay as they are.

    Args:
        features: d, the width of the rows.
        dimension: m. It has to be a constant: computed from the number of records it leaks that.
        seed: public, chosen before looking at the data; trying several is a selection.
    Source: Achlioptas, "Database-friendly random projections", JCSS 66 (2003), Theorem 1.1.
    Example:
        >>> SignProjection(features=4, dimension=2, seed=1).matrix().shape
        (2, 4)
    """

    features: int
    dimension: int
    seed: int

    def __post_init__(self) -> None:
        """Refuse widths that are not counts, and a seed that is no integer."""
        for name in ("features", "dimension"):
            width = check.count(**{name: getattr(self, name)})
            if width > WIDEST:
                raise ParameterError(name, width, f"at most {WIDEST}")
            object.__setattr__(self, name, width)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise ParameterError("seed", self.seed, "an int")

    def matrix(self) -> Vectors:
        """The signs, shape (dimension, features); the identity if nothing is gained."""
        if self.dimension >= self.features:
            return np.diag(np.ones(self.features))
        size = self.dimension * self.features
        words = ReplayRng(self.seed).words(-(-size // _WORD_BITS))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8))[:size]
        signs = 2.0 * bits.astype(np.float64) - 1.0
        return signs.reshape(self.dimension, self.features)

    def project(self, rows: Vectors) -> Vectors:
        """Project rows and scale each to norm 1; nan if a row is not finite, 0 if it is zero.

        Laws: a row of the result depends on that row of the input alone, bit for bit: rows are put
            on the grid first, where sums of at most 2^24 signed coordinates of at most 2^24 are
            exact in binary64.
        """
        finite = np.asarray(np.isfinite(rows).all(axis=1))
        steps = unit_rows(np.where(finite[:, np.newaxis], rows, 0.0), RECORD_BITS)
        projected = unit_rows(steps @ self.matrix().T, RECORD_BITS) * 2.0**-RECORD_BITS
        projected[~finite] = np.nan
        return projected


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Projected(Mechanism[R]):
    """Run a learner on projected records, scaled to norm 1, and map its weights back.

    Statement: for every fixed matrix the projection acts on one record at a time and keeps blank
        records blank, so neighbours stay neighbours, and matrix and weights together satisfy the
        base's guarantee. Records are scaled to norm 1 after projecting, so the sensitivity holds
        for every matrix and not with high probability.
    Source: Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 1.

    Args:
        base: a learner of halfspaces, or ``KeslerPerceptron``, with norm None or at least 1.
        projection: a public matrix.
    Outputs:
        As for the base, with weights for the rows before projecting.
    Raises:
        ParameterError: not a learner and a projection, or widths that do not fit.
    Example:
        >>> from mechanisms.learning.batch_perceptron import BatchPerceptron
        >>> base = BatchPerceptron(margin=0.1, steps=100, sigma=40)
        >>> plan = SignProjection(features=1000, dimension=50, seed=7)
        >>> Projected(base=base, projection=plan).guarantee().mu
        Fraction(1, 4)
    """

    base: SumLearner[R]
    projection: SignProjection

    def __post_init__(self) -> None:
        """Refuse other bases and projections."""
        base: object = self.base
        projection: object = self.projection
        if not isinstance(base, SumLearner):
            raise ParameterError("base", base, "a learner such as BatchPerceptron(...)")
        if not isinstance(projection, SignProjection):
            raise ParameterError("projection", projection, "SignProjection(...)")
        width = min(projection.dimension, projection.features)
        if base.features not in (None, width):
            raise ParameterError("features", base.features, f"None or {width} in the base")

    @property
    def relation(self) -> R:
        """The neighbouring relation of the base learner."""
        return self.base.relation

    @property
    def acts_on_records(self) -> bool:
        """A learner learns from records."""
        return True

    def guarantee(self) -> Guarantee[R]:
        """The base's guarantee.

        Raises:
            NotImplied: as for the base.
        """
        return post_process(
            self.base.guarantee(), description="mapping weights back by a public matrix"
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run the base on the projected datasets: records of shape (len(datasets), count)."""
        released = self.base.draw([self._projected(data) for data in datasets], count, rng)
        weights = released["weights"] @ self.projection.matrix()
        runs = zip(released["stopped"], released["steps"], weights, strict=True)
        return np.stack([learned(*one) for one in runs])

    def _projected(self, data: object) -> Records:
        """The records with projected rows, and the same labels."""
        records = as_records(data, self.projection.features)
        if records.rows.shape[1] != self.projection.features:
            allowed = f"{self.projection.features} wide"
            raise ParameterError("rows", records.rows.shape[1], allowed)
        return Records(self.projection.project(records.rows), records.labels)
