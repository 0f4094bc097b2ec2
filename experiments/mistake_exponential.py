"""The exponential mechanism on the numbers of margin mistakes of public directions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.composition import post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import mistakes_within, signs
from dpproof.mechanisms.learning.covers import finite_directions
from dpproof.mechanisms.learning.exponential_halfspaces import fewest_mistakes
from dpproof.mechanisms.learning.records import PRODUCT_BITS, GridRecords, on_grid
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng


@frozen(kw_only=True, repr=False, field_transformer=named)
class MistakeExponential(Mechanism[R], ABC):
    """A learner that picks one of finitely many public directions by their mistakes.

    Statement: one record changes the number of mistakes of every direction by 0 or 1, under
        add-remove and zero-out all in the same direction, so the pick is epsilon-bounded-range.
    """

    margin: Fraction = field(converter=parameters.non_negative)
    epsilon: Fraction = field(converter=parameters.positive)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    relation: R = field(validator=parameters.neighbours)

    @property
    @abstractmethod
    def features(self) -> int | None:
        """Return the width of a row."""

    @abstractmethod
    def _directions(self) -> NDArray[np.float64]:
        """Return the public directions, shape (directions, features)."""

    @abstractmethod
    def _mistakes(self, records: GridRecords, limit: float) -> NDArray[np.int64]:
        """Count the mistakes of every direction.

        Args:
            records: on the grid, classes 1 and 0 for the labels 1 and -1.
            limit: the margin, an integer in units of 2^-52 of the norm bound.
        Laws: exact: a sum over the records of 0 or 1, which the record and the direction decide.
        """

    @final
    def guarantee(self) -> Guarantee[R]:
        """State epsilon-bounded range of the direction that is looked up."""
        return post_process(
            fewest_mistakes(self.epsilon, self.relation).guarantee(),
            description="looking up the candidate of an index",
        )

    @final
    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Pick ``count`` times on each dataset: records of shape (len(datasets), count)."""
        scores = [-self.mistakes(data) for data in datasets]
        picked = fewest_mistakes(self.epsilon, self.relation).draw(scores, count, rng)
        directions = self._directions()
        fields = [("index", np.int64), ("weights", np.float64, directions.shape[1:])]
        outputs = np.recarray(picked.shape, dtype=fields)
        outputs["index"], outputs["weights"] = picked, directions[picked]
        return np.asarray(outputs)

    @final
    def mistakes(self, data: object) -> NDArray[np.int64]:
        """Count the records that each direction is mistaken about, exactly.

        Raises:
            ParameterError: the data is not labelled rows of the right width.
        """
        unit = Fraction(1) if self.norm is None else self.norm
        norm = None if self.norm is None else float(self.norm)
        records = on_grid(data, signs, norm=norm, features=self.features)
        limit = math.floor(min(self.margin / unit, Fraction(2)) * 2**PRODUCT_BITS)
        return self._mistakes(records, float(limit))


def _directions(candidates: ArrayLike, _name: str = "value") -> tuple[tuple[float, ...], ...]:
    """Keep directions as tuples."""
    return tuple(tuple(row) for row in finite_directions(candidates).tolist())


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class CandidateExponential(MistakeExponential[R]):
    """Pick one of some public directions, those with few margin mistakes exponentially likely.

    A record (x, y) is a mistake of w if y <w / ||w||, x> <= margin. The pick has probability
    proportional to e^(-epsilon mistakes), e^(-epsilon mistakes / 2) under replace-one.

    Statement: the numbers of mistakes move by at most 1 between neighbours, under add-remove and
        zero-out all in the same direction, so the pick is epsilon-bounded-range, hence epsilon-DP.
    Source: Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 2, and Ghazi, Kumar,
        Manurangsi & Nguyen, arXiv:2011.14580, Theorem 5, over any finite set, with counts in place
        of shares of the number of records, which is private; under add-remove this halves the
        noise. A Markov chain over the sphere has not the law of the theorem: there is no such
        option, and a cover of the plane is a ``Polygon``.

    Args:
        candidates: directions, shape (candidates, features), chosen without looking at the data.
        margin: at least 0, in data units.
        epsilon: of the pick, in nats. It has at most log(candidates / beta) / epsilon mistakes more
            than the best candidate, except with probability beta; twice that under replace-one.
        norm: rows are clipped to this Euclidean norm; None scales every row to norm 1.
        relation: the neighbouring relation.
    Outputs:
        A record with fields ``index`` and ``weights``, the candidate of that index.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> pick = CandidateExponential(
        ...     candidates=[[1, 0], [0, 1]], margin=0, epsilon=50, relation=AddRemove()
        ... )
        >>> pick.release([([0.1, 0.9], 1), ([-0.9, -0.1], 1), ([-0.3, 0.3], 1)]).weights
        array([0., 1.])
    """

    candidates: tuple[tuple[float, ...], ...] = field(converter=_directions)

    @property
    def features(self) -> int:
        """Return the width of the candidates, and so of the rows."""
        return len(self.candidates[0])

    def _directions(self) -> NDArray[np.float64]:
        return np.array(self.candidates)

    def _mistakes(self, records: GridRecords, limit: float) -> NDArray[np.int64]:
        return mistakes_within(records, limit).totals(self._directions(), None).counts
