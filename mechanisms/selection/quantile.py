"""Quantiles: one of the public candidates, by how many values lie on either side of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.provenance import rederived
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import LInf
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import real_column
from dpproof.mechanisms.samplers import categorical_exp
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.exponential import ExponentialMechanism

_MOST_CANDIDATES: Final = 100_000


def _increasing(candidates: Sequence[Number], _name: str = "value") -> tuple[float, ...]:
    """Return increasing binary64 numbers."""
    allowed = f"1 to {_MOST_CANDIDATES} increasing numbers, each exactly a binary64 number"
    value: object = candidates
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
        raise ParameterError("candidates", value, allowed)
    if not 1 <= len(candidates) <= _MOST_CANDIDATES:
        raise ParameterError("candidates", len(candidates), allowed)
    exact = [arguments.real(candidates=one) for one in candidates]
    try:
        floats = tuple(float(one) for one in exact)
    except OverflowError:
        raise ParameterError("candidates", candidates, allowed, "too large for floats") from None
    if any(Fraction(near) != one for near, one in zip(floats, exact, strict=True)):
        raise ParameterError("candidates", candidates, allowed, "round them first")
    if any(not one < after for one, after in pairwise(floats)):
        raise ParameterError("candidates", candidates, allowed, "sort them and drop equal ones")
    return floats


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class Quantile(Mechanism[R]):
    """Release a public candidate that is nearly the q-quantile of the values.

    The exponential mechanism on the scores u(c) = -|(1 - q) L(c) - q G(c)|, L(c) values lying below
    the candidate c and G(c) above: without ties L(c) - q n, the rank's distance from q n. Values
    beyond the outermost candidates count as beyond them, however far, as if they were clipped; a
    nan lies on no side and is a blank record. Scores are computed in rationals.

    Statement: u(c) moves by at most max(q, 1 - q) between add-remove and zero-out neighbours, and
        by at most 1 if a record is replaced; so the output is epsilon-bounded-range. Scores are
        not monotone: one value more raises some of them and lowers others.
    Proof: a value below c adds 1 - q to what is in the absolute value, a value above takes away q,
        and no other value changes it; a replaced one moves it by (1 - q) + q at most.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates.
    Source: ``ExponentialMechanism``; Smith (STOC 2011), Algorithm 2, for the score at q = 1/2.

    Args:
        epsilon: nats, above 0.
        q: from 0 to 1; 1/2 is the median.
        candidates: increasing numbers, fixed in advance, from 1 to 100,000 of them, each exactly a
            binary64 number.
        relation: the neighbouring relation.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not a sequence of
            real numbers.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> median = Quantile(epsilon=50, q=0.5, candidates=range(100), relation=AddRemove())
        >>> median.release([3.5] * 10 + [41.0] + [900.0] * 10)
        41.0
    """

    whole = "it sorts all records"

    epsilon: Fraction = field(converter=parameters.positive)
    q: Fraction = field(converter=parameters.probability)
    candidates: tuple[float, ...] = field(converter=_increasing)
    relation: R = field(validator=parameters.neighbours)

    @property
    def sensitivity(self) -> LInf[R]:
        """Return the largest change of a score between neighbours."""
        moved = 1 if self.relation.symmetric else max(self.q, 1 - self.q)
        return LInf(moved, self.relation)

    def guarantee(self) -> BoundedRange[R]:
        """State epsilon-bounded-range; counts are whole and do not reach each of its odds."""
        of_choice = self._choice().guarantee()
        return rederived(of_choice, replace(of_choice.derivation, attained=Attained.NO))

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw candidates: float64 of shape (datasets, count)."""
        values, factor = np.array(self.candidates), self._choice().factor
        rows = [self._scores(real_column(data)) for data in datasets]
        return np.stack([values[categorical_exp(row, count, rng, factor=factor)] for row in rows])

    def _choice(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism on the scores."""
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=self.sensitivity)

    def _scores(self, values: NDArray[np.float64]) -> list[Fraction]:
        """Return every candidate's score."""
        ordered = np.sort(values[~np.isnan(values)])
        below = np.searchsorted(ordered, self.candidates, side="left").tolist()
        above = (len(ordered) - np.searchsorted(ordered, self.candidates, side="right")).tolist()
        return [
            -abs((1 - self.q) * less - self.q * more)
            for less, more in zip(below, above, strict=True)
        ]
