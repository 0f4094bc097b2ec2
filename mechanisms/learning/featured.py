"""Learners around others: on the features of records, on projections, and by votes of blocks."""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import Guarantee, LInf, ParameterError, post_process
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.composed import OnBase
from dpproof.mechanisms.combinators.subsampled import cut, records_of
from dpproof.mechanisms.learning.bounded_updates import SumLearner, mapped_back
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.samplers import Rng, uniform_below
from dpproof.mechanisms.selection.exponential import ExponentialMechanism


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


_FEW = parameters.within(1, 2**20, f"at most {2**20}")

# From the records of one block to the number of a candidate, by any means.
Vote = Callable[[Any], object]


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Aggregated(Mechanism[R]):
    """Pick a candidate by votes, one a block: probabilities proportional to e^(epsilon votes / 2).

    Every record is in one of the blocks, drawn for it alone, uniformly. The code that votes may be
    wrong, slow or malicious, if it cannot send anything but its vote, and keeps nothing from one
    vote to the next, in the records neither. What raises or exits, or is no number of a candidate,
    does not vote; a process killed from inside, and an interrupt, are not caught.

    Statement: given which block each record is in, a record changes the vote of one block at most:
        one count falls by 1 and another rises by 1, so that the pick is epsilon-bounded-range under
        every relation. The counts are not monotone.
    Source: Nissim, Raskhodnikova & Smith, STOC 2007 (sample and aggregate), with the exponential
        mechanism on the counts.

    Args:
        vote: from the records of one block to the number of a candidate.
        epsilon: of the pick, in nats.
        blocks: their number.
        candidates: their number, fixed in advance; the output is the number of one, from 0.
    Raises:
        ParameterError: a parameter outside its domain, or data that is no sequence of records.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> pick = aggregated(max, epsilon=1, blocks=200, candidates=3, relation=AddRemove())
        >>> pick.release([0, 2, 1, 2] * 1000)
        2
    """

    vote: Vote = field()
    epsilon: Fraction = field(converter=parameters.positive)
    blocks: int = field(converter=parameters.count, validator=_FEW)
    candidates: int = field(converter=parameters.count, validator=_FEW)
    relation: R = field(validator=parameters.neighbours)

    @vote.validator
    def _is_called(self, _parameter: object, vote: object) -> None:
        if not callable(vote):
            raise ParameterError("vote", vote, "a function of the records of one block")

    def guarantee(self) -> Guarantee[R]:
        """State epsilon-bounded range, whatever votes."""
        return post_process(self._mechanism().guarantee(), description="naming the candidate")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw numbers of candidates: int64 of shape (datasets, count)."""
        votes = np.empty((len(datasets), count), dtype=np.int64)
        for row, data in enumerate(datasets):
            records = records_of(data)
            for run in range(count):
                counts = self._counts(records, uniform_below(self.blocks, len(records), rng))
                votes[row, run] = self._mechanism().draw([counts], 1, rng)[0, 0]
        return votes

    def _counts(self, records: Any, place: NDArray[Any]) -> NDArray[np.int64]:  # noqa: ANN401
        """Count the blocks that vote for each candidate."""
        counts = np.zeros(self.candidates, dtype=np.int64)
        for block in range(self.blocks):
            chosen = self._vote(cut(records, np.flatnonzero(place == block)))
            if chosen is not None:
                counts[chosen] += 1
        return counts

    def _vote(self, records: object) -> int | None:
        """Return the number voted for, None if there is none."""
        try:
            label = self.vote(records)
            number = int(label) if isinstance(label, numbers.Integral) else -1
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - whatever it is, an exit too, it must not be seen
            return None
        return number if 0 <= number < self.candidates else None

    def _mechanism(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism on the numbers of votes."""
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=LInf(1, self.relation))


def aggregated(
    vote: Vote, *, epsilon: Number, blocks: int, candidates: int, relation: R
) -> Aggregated[R]:
    """Make ``Aggregated``, a private choice of an oracle, or any code, that nobody trusts.

    Example:
        >>> from dpproof.accountant import AddRemove
        >>> aggregated(
        ...     len, epsilon=1, blocks=10, candidates=5, relation=AddRemove()
        ... ).guarantee().describe()
        '1-bounded-range'
    """
    parameters: dict[str, Any] = {"epsilon": epsilon, "blocks": blocks, "candidates": candidates}
    return Aggregated(vote=vote, relation=relation, **parameters)
