"""Learners that protect labels alone: features and the number of records are public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import ReplaceLabel
from dpproof.accountant.theorems.composition import post_process
from dpproof.accountant.theorems.parallel import parallel_positions
from dpproof.mechanisms.learning.bounded_updates import learned
from dpproof.mechanisms.learning.covers import Cover
from dpproof.mechanisms.learning.descent import MarginDescent
from dpproof.mechanisms.learning.exponential_halfspaces import ExponentialHalfspaces
from dpproof.mechanisms.learning.records import Records, Vectors, as_records
from dpproof.mechanisms.local.randomized_response import RandomizedResponse
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.samplers.rng import Rng

_PUBLIC = "features and the number of records are public and are not protected"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPrivateHalfspaces(Mechanism[ReplaceLabel]):
    """Pick a direction in the space of the leading public components of the features.

    The rows, which are public, decide the components: the leading eigenvectors of sum x x', as many
    as the cover has dimensions, each scaled to the same spread. A direction of the cover is picked
    with probability proportional to e^(-epsilon mistakes / 2).

    Statement: datasets that differ in one label have the same components and candidates, and
        numbers of mistakes move by at most 1, so the pick is epsilon-bounded-range under
        replace-label.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, section 5 and appendix E, whose cover of the
        class on the public points may depend on them; proofs/theory/margins.md, sections 1 and 4.

    Args:
        cover: of directions of the components.
        epsilon: of the pick, in nats.
    Outputs:
        A record with fields ``index`` and ``weights``, for rows as they are.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows
            at least as wide as the cover. Rows that are not finite contribute nothing.
    Example:
        >>> from dpproof.mechanisms.learning.covers import Polygon
        >>> learner = LabelPrivateHalfspaces(cover=Polygon(corners=64), epsilon=1)
        >>> learner.guarantee()
        BoundedRange(epsilon=1, relation=ReplaceLabel())
    """

    cover: Cover
    epsilon: Number

    def __post_init__(self) -> None:
        """Refuse what is no cover, and epsilons that are not above 0."""
        cover: object = self.cover
        if not isinstance(cover, Cover):
            raise ParameterError("cover", cover, "such as RandomDirections(...)")
        object.__setattr__(self, "epsilon", check.positive(epsilon=self.epsilon))

    @property
    def relation(self) -> ReplaceLabel:
        """Return the relation that protects labels alone."""
        return ReplaceLabel()

    def guarantee(self) -> Guarantee[ReplaceLabel]:
        """State epsilon-bounded range of the direction that is looked up."""
        return post_process(
            self._pick().guarantee(),
            description=f"mapping a direction of the features' own components back; {_PUBLIC}",
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Pick ``count`` times on each dataset: records of shape (len(datasets), count)."""
        return np.stack([self._picked(data, count, rng) for data in datasets])

    def _picked(self, data: object, count: int, rng: Rng) -> Outputs:
        read = as_records(data, None)
        if read.rows.shape[1] < self.cover.dimension:
            raise ParameterError("rows", read.rows.shape[1], f"{self.cover.dimension} wide or more")
        components = public_components(read.rows, self.cover.dimension)
        rows = np.where(np.isfinite(read.rows), read.rows, 0.0) @ components
        rows[~np.isfinite(read.rows).all(axis=1)] = np.nan
        choices = self._pick().draw([Records(rows, read.labels)], count, rng)[0]
        weights = choices["weights"] @ components.T
        fields = [("index", np.int64), ("weights", np.float64, weights.shape[1:])]
        outputs = np.recarray(choices.shape, dtype=fields)
        outputs["index"], outputs["weights"] = choices["index"], weights
        return np.asarray(outputs)

    def _pick(self) -> ExponentialHalfspaces[ReplaceLabel]:
        return ExponentialHalfspaces(cover=self.cover, epsilon=self.epsilon, relation=self.relation)


def public_components(rows: Vectors, count: int) -> Vectors:
    """Return the leading eigenvectors of sum x x' over the finite rows, each over its spread.

    Laws: labels have no part in it.
    Example:
        >>> public_components(np.array([[4.0, 0.0], [0.0, 1.0], [4.0, 0.0]]), 1).round(6).tolist()
        [[0.176777], [0.0]]
    """
    finite = rows[np.isfinite(rows).all(axis=1)]
    values, vectors = np.linalg.eigh(finite.T @ finite)
    spread = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    leading = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(len(values))])
    return np.asarray((leading / spread)[:, ::-1][:, :count])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPrivateDescent(Mechanism[ReplaceLabel]):
    """Descend on the hinge loss with noise for the labels alone.

    The largest norm of a row is public here, so rows are divided by it and nothing is clipped.

    Statement: a changed label turns one contribution around, so ``MarginDescent`` under
        replace-label is mu-GDP at a sensitivity of twice the largest norm.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, section 5; proofs/theory/margins.md,
        sections 1 and 2.

    Args:
        margin: of the hinge, above 0, in data units.
        steps: T.
        mu: of the whole run.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` and ``weights``.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
    Example:
        >>> LabelPrivateDescent(margin=0.1, steps=100, mu=0.5).guarantee()
        GDP(mu_squared=0.25, relation=ReplaceLabel())
    """

    margin: Number
    steps: int
    mu: Number

    def __post_init__(self) -> None:
        """Refuse what ``MarginDescent`` refuses."""
        object.__setattr__(self, "margin", check.positive(margin=self.margin))
        object.__setattr__(self, "steps", check.count(steps=self.steps))
        object.__setattr__(self, "mu", check.positive(mu=self.mu))
        self._descent(Fraction(1))

    @property
    def relation(self) -> ReplaceLabel:
        """Return the relation that protects labels alone."""
        return ReplaceLabel()

    def guarantee(self) -> Guarantee[ReplaceLabel]:
        """Return mu-GDP of the noisy sums of rows in units of the largest norm."""
        return post_process(
            self._descent(Fraction(1)).guarantee(),
            description=f"dividing rows by their largest norm before, and weights after; {_PUBLIC}",
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        return np.stack([self._runs(data, count, rng) for data in datasets])

    def _runs(self, data: object, count: int, rng: Rng) -> Outputs:
        read = as_records(data, None)
        finite = read.rows[np.isfinite(read.rows).all(axis=1)]
        largest = float(np.linalg.norm(finite, axis=1).max(initial=0.0)) or 1.0
        if not math.isfinite(largest):
            raise ParameterError("rows", largest, "of norms that are floats")
        scaled = Records(read.rows / largest, read.labels)
        runs = self._descent(Fraction(largest)).draw([scaled], count, rng)[0]
        return learned(runs["stopped"], runs["steps"], runs["weights"] / largest)

    def _descent(self, largest: Fraction) -> MarginDescent[ReplaceLabel]:
        """Return the learner of rows divided by their largest norm."""
        return MarginDescent(
            margin=Fraction(self.margin) / largest,
            norm=1,
            steps=self.steps,
            mu=self.mu,
            radius=largest,
            relation=self.relation,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedLabels(Mechanism[ReplaceLabel]):
    """Release every label by randomised response: the baseline of label privacy.

    Any learner may then be trained on the public rows and the released labels. The mean of
    ``debiased`` labels is that of the true ones.

    Statement: one position's label changes, and only its own answer looks at it, so all answers
        together satisfy what one satisfies: epsilon-DP under replace-label.
    Source: Warner (1965), and proofs/theory/margins.md, section 6.

    Args:
        epsilon: of every answer, in nats.
    Outputs:
        A record with field ``labels``, +1 or -1 each; an unknown label counts as -1.
    Raises:
        ParameterError: epsilon is not above 0; on release, data that is not labelled rows.
    Example:
        >>> learner = RandomizedLabels(epsilon=1)
        >>> round(learner.guarantee().epsilon(delta=0).upper, 9)
        1.0
        >>> learner.debiased(np.array([1.0, -1.0])).round(4)
        array([ 2.164, -2.164])
    """

    epsilon: Number

    def __post_init__(self) -> None:
        """Refuse epsilons that are not above 0."""
        object.__setattr__(self, "epsilon", check.positive(epsilon=self.epsilon))

    @property
    def relation(self) -> ReplaceLabel:
        """Return the relation that protects labels alone."""
        return ReplaceLabel()

    def guarantee(self) -> Guarantee[ReplaceLabel]:
        """Return the guarantee of one answer."""
        one = self._answer().guarantee()
        return parallel_positions(one, one)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Answer ``count`` times on each dataset: records of shape (len(datasets), count)."""
        return np.stack([self._answers(data, count, rng) for data in datasets])

    def debiased(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers over 1 - 2 P(another label): unbiased for the labels."""
        return np.asarray(labels / math.tanh(float(self.epsilon) / 2))

    def _answers(self, data: object, count: int, rng: Rng) -> Outputs:
        classes = (as_records(data, None).labels == 1).astype(np.int64)
        said = self._answer().draw(list(classes), count, rng)
        outputs = np.recarray((count,), dtype=[("labels", np.float64, (len(classes),))])
        outputs["labels"] = 2.0 * said.T - 1.0
        return np.asarray(outputs)

    def _answer(self) -> RandomizedResponse[ReplaceLabel]:
        return RandomizedResponse(epsilon=self.epsilon, relation=self.relation)
