"""At most so many records of every user: what a query does before it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

from dpproof.accountant import arguments
from dpproof.accountant.form import withholding

Record = TypeVar("Record")


@withholding
def bound_contributions(
    records: Iterable[tuple[Hashable, Record]], most: int, *, once: bool = False
) -> list[Record]:
    """The first ``most`` records of every user, in the order in which they stand.

    Where all records of one user are protected together, the dataset is what the users have, and a
    neighbour has all records of one user more or less. What is kept of one user depends on that
    user's records alone, so that neighbours differ by at most ``most`` kept records. Used inside a
    query: ``Histogram(contributions=most, query=...)`` then speaks of users, and so do
    ``PartitionSelection(contributions=most)`` with ``once`` and a sum whose sensitivity is
    ``most`` times that of one record.

    Args:
        records: pairs (user, record); of data that are sorted, the first ones may be special.
        most: how many to keep of every user.
        once: whether to keep every record of a user once only; records are then hashable.
    Raises:
        ParameterError: most is not a whole number from 1.
    Laws: removing a user removes that user's kept records, and changes no other.
    Example:
        >>> visits = [("ann", "shop"), ("bob", "bank"), ("ann", "shop"), ("ann", "bank")]
        >>> bound_contributions(visits, 2)
        ['shop', 'bank', 'shop']
        >>> bound_contributions(visits, 2, once=True)
        ['shop', 'bank', 'bank']
    """
    limit = arguments.count(most=most)
    kept: Counter[Hashable] = Counter()
    seen: set[tuple[Hashable, object]] = set()
    found: list[Record] = []
    for user, record in records:
        if kept[user] >= limit or (once and (user, record) in seen):
            continue
        kept[user] += 1
        found.append(record)
        if once:
            seen.add((user, record))
    return found
