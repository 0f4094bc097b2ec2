"""Votes of code that nobody has to trust, one a block of the records."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import Guarantee, LInf, ParameterError, post_process
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.subsampled import cut, records_of
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.samplers import Rng, uniform_below
from dpproof.mechanisms.selection.exponential import ExponentialMechanism

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
