"""Any mechanism with finitely many inputs and outputs, from its table of probabilities."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any, Final, TypeAlias, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant import DataError, DominatingPair, ParameterError, arguments
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.pairs.finite import FinitePair, Law, smallest_pair_above
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import CATEGORIES, OUTPUT_ALONE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Outputs, QueryMechanism
from dpproof.mechanisms.queries import whole_values
from dpproof.mechanisms.samplers import Rng
from dpproof.mechanisms.samplers.discrete import from_law

Table: TypeAlias = tuple[tuple[Fraction, ...], ...]
Neighbours: TypeAlias = tuple[tuple[int, int], ...]

_MOST_DATASETS: Final = 64
_MOST_OUTPUTS: Final = 1_000

MECHANISM_FINITE: Final = Theorem(
    rule="mechanism/finite",
    source="proofs/theory/finite.md",
    attained=Attained.WHOLE,  # where one pair of neighbours is the worst: the table itself
)


def _table(table: Sequence[Sequence[arguments.Number]], _name: str = "value") -> Table:
    allowed = f"rows of probabilities, 2 to {_MOST_DATASETS} of one length up to {_MOST_OUTPUTS}"
    rows: Any = table
    if not isinstance(rows, Sequence | np.ndarray) or isinstance(rows, str):
        raise ParameterError("table", table, allowed)
    for row in rows:
        if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str):
            raise ParameterError("table", row, allowed)
    exact = tuple(tuple(arguments.probability(table=one) for one in row) for row in rows)
    if not 2 <= len(exact) <= _MOST_DATASETS or not 1 <= len(exact[0]) <= _MOST_OUTPUTS:
        raise ParameterError("table", (len(exact), len(exact[0]) if exact else 0), allowed)
    for row in exact:
        if len(row) != len(exact[0]) or sum(row) != 1:
            allowed = "rows of one length that sum to exactly 1"
            hint = "give fractions.Fraction, as floats are their exact binary values"
            raise ParameterError("table", [float(one) for one in row], allowed, hint)
    return exact


def _listed(pairs: Sequence[tuple[int, int]] | None, name: str = "value") -> Neighbours:
    if pairs is None:
        return ()
    allowed = "pairs of two datasets by their numbers, or None"
    listed: Any = pairs
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        raise ParameterError(name, pairs, allowed)
    for pair in listed:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ParameterError(name, pair, allowed)
    return tuple((arguments.whole(neighbours=x), arguments.whole(neighbours=y)) for x, y in pairs)


def _ordered(pairs: Neighbours, size: int, *, both: bool) -> Neighbours:
    """Return ordered pairs of datasets, both orders of each if all are or no order is said."""
    if not pairs:
        return tuple(permutations(range(size), 2))
    for x, y in pairs:
        if x == y or not (x < size and y < size):
            allowed = f"pairs of two different datasets, 0 to {size - 1}"
            raise ParameterError("neighbours", (x, y), allowed)
    orders = [((x, y), (y, x)) if both else ((x, y),) for x, y in pairs]
    return tuple(dict.fromkeys(order for either in orders for order in either))


@final
@frozen(repr=False, field_transformer=parameters.named)
class FiniteMechanism(QueryMechanism[R]):
    """Release output y on dataset x with probability ``table[x][y]``.

    It acts on ONE dataset's number, or a query's result that is one. Everything about it is exact
    in rationals: whatever its probabilities are, no pair dominates all neighbours that is smaller.

    Statement: each order of neighbours is dominated by the finite pair whose profile is the
        largest of all neighbours' profiles in that order; every pair that dominates them dominates
        it.
    Assumes: categories; random bits; output alone.
    Source: proofs/theory/finite.md, Theorem 1: ``smallest_pair_above``, by enumeration.

    Args:
        table: for each dataset the probabilities of all outputs, at least 0, of sum exactly 1
            (``fractions.Fraction`` where floats do not add up); up to 64 datasets and 1000 outputs.
        neighbours: pairs of datasets (x, x') that are neighbours, under add-remove and zero-out x
            the one with the extra record; None: any two datasets are, in both orders.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> coin = FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], relation=AddRemove())
        >>> round(coin.guarantee().delta(epsilon=0).upper, 9)
        0.5
    """

    table: Table = field(converter=_table)
    neighbours: Neighbours = field(default=None, converter=_listed, kw_only=True)
    relation: R = field(validator=parameters.neighbours, kw_only=True)

    def __attrs_post_init__(self) -> None:
        ordered = _ordered(self.neighbours, len(self.table), both=self.relation.symmetric)
        object.__setattr__(self, "neighbours", ordered)

    def guarantee(self) -> DominatingPair[R]:
        """Return the smallest pair above all neighbours, for each order."""
        laws = [(self.table[x], self.table[y]) for x, y in self.neighbours]
        forward = smallest_pair_above(laws)
        backward = smallest_pair_above((q, p) for p, q in laws)
        return self._dominated(
            MECHANISM_FINITE,
            f"{len(self.table[0])} outputs on {len(self.table)} datasets by a table, "
            f"{len(self.neighbours)} ordered pairs of them neighbours ({self.relation})",
            Product.of(forward),
            backward=Product.of(backward),
            assumptions=(CATEGORIES(categories=len(self.table)), RANDOM_BITS(), OUTPUT_ALONE()),
            table=self.table,
            neighbours=self.neighbours,
            attained=min(
                attained_by(laws, forward), attained_by([(q, p) for p, q in laws], backward)
            ),
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw numbers of outputs: int64 of shape (datasets, count)."""
        truth = whole_values(self.query, datasets)
        if truth.ndim != 1 or truth.min() < 0 or truth.max() >= len(self.table):
            raise DataError("value", np.squeeze(truth), f"one dataset, 0 to {len(self.table) - 1}")
        return np.stack([from_law(self.table[int(x)], count, rng) for x in truth])


def attained_by(laws: Sequence[tuple[Law, Law]], above: FinitePair) -> Attained:
    """Return whether one of some pairs of laws has the whole profile of the smallest pair above."""
    whole = any(smallest_pair_above([law]) == above for law in laws)
    return Attained.WHOLE if whole else Attained.POINTS
