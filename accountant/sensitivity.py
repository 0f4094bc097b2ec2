"""The largest move of a query's value between neighbours, with its norm and relation in the type.

A sensitivity is in data units and speaks of one neighbouring relation: ``L1(1)`` of add-remove,
``L1(2, ReplaceOne())`` of replace-one. Under replace-one, a sum of clipped records moves by twice
the clipping norm.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable, readable
from dpproof.accountant.relation import AddRemove, R, Relation, require_relation

_ADD_REMOVE: Final = AddRemove()


class Change(Readable, ABC, Generic[R]):
    """A statement of how far a query's value moves between neighbours under one relation."""

    __slots__ = ()

    relation: R

    @abstractmethod
    def _stated(self) -> str:
        """Return the numbers as they are typed."""

    def __repr__(self) -> str:
        """Return what one types; a relation that is left out is add-remove."""
        relation = "" if isinstance(self.relation, AddRemove) else f", {self.relation!r}"
        return f"{type(self).__name__}({self._stated()}{relation})"

    @final
    def _set(self, relation: Relation, **values: object) -> None:
        """Set the fields of the frozen instance."""
        values["relation"] = require_relation(relation)
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Sensitivity(Change[R], ABC):
    """A bound on the norm of ``query(D) - query(D')`` over all neighbours, in data units.

    Attributes:
        value: the bound, exact.
        relation: the neighbouring relation that it speaks of.
    """

    value: Fraction
    relation: R

    @final
    def _keep(self, value: Number, relation: Relation) -> None:
        """Keep the exact value; refuse anything that is not a finite number above 0."""
        self._set(relation, value=arguments.positive(sensitivity=value))

    def _stated(self) -> str:
        return readable(self.value)


@final
class L1(Sensitivity[R]):
    """Bound on the sum of absolute changes.

    Example:
        >>> from dpproof.accountant.relation import ReplaceOne
        >>> L1(1), L1(2, ReplaceOne())
        (L1(1), L1(2, ReplaceOne()))
    """

    __slots__ = ()

    @overload
    def __init__(self: L1[AddRemove], value: Number) -> None: ...
    @overload
    def __init__(self, value: Number, relation: R) -> None: ...

    def __init__(self, value: Number, relation: Relation = _ADD_REMOVE) -> None:
        self._keep(value, relation)

    def as_l1(self) -> L1[R]:
        """Return the bound itself."""
        return self

    def as_l2(self) -> L2[R]:
        """Return the same number: the Euclidean norm never exceeds the sum of absolute values."""
        return L2(self.value, self.relation)


@final
class L2(Sensitivity[R]):
    """Bound on the Euclidean norm of the change."""

    __slots__ = ()

    @overload
    def __init__(self: L2[AddRemove], value: Number) -> None: ...
    @overload
    def __init__(self, value: Number, relation: R) -> None: ...

    def __init__(self, value: Number, relation: Relation = _ADD_REMOVE) -> None:
        self._keep(value, relation)

    def as_l1(self, *, dimension: int) -> L1[R]:
        """Return the value times sqrt(dimension), rounded up, by Cauchy-Schwarz."""
        root = _sqrt_up(arguments.count(dimension=dimension))
        return L1(self.value * root, self.relation)

    def as_l2(self) -> L2[R]:
        """Return the bound itself."""
        return self


@final
class LInf(Sensitivity[R]):
    """Bound on the largest absolute change of a coordinate."""

    __slots__ = ()

    @overload
    def __init__(self: LInf[AddRemove], value: Number) -> None: ...
    @overload
    def __init__(self, value: Number, relation: R) -> None: ...

    def __init__(self, value: Number, relation: Relation = _ADD_REMOVE) -> None:
        self._keep(value, relation)

    def as_l1(self, *, dimension: int) -> L1[R]:
        """Return dimension times the largest change, which the L1 norm never exceeds."""
        return L1(self.value * arguments.count(dimension=dimension), self.relation)

    def as_l2(self, *, dimension: int) -> L2[R]:
        """Return sqrt(dimension) times the largest change, rounded up: a bound of the L2 norm."""
        root = _sqrt_up(arguments.count(dimension=dimension))
        return L2(self.value * root, self.relation)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class L2Contribution(Change[R]):
    """A bound on what one record contributes to a query that is a sum over the records.

    It says more than a sensitivity: the query's exact value is the sum, over the records of the
    data, of terms of Euclidean norm at most this, each of which depends on its record alone and on
    what was released before (and on public constants). A blank record contributes 0. Poisson
    sampling under replace-one asks for it, as there it matters how far the value moves if a record
    is left out, not only if it is replaced.

    Attributes:
        bound: of one record's term, in data units, exact.
        relation: the neighbouring relation.
    Example:
        >>> from dpproof.accountant.relation import ReplaceOne
        >>> L2Contribution(1).as_l2(), L2Contribution(1, ReplaceOne()).as_l2()
        (L2(1), L2(2, ReplaceOne()))
    """

    bound: Fraction
    relation: R

    @overload
    def __init__(self: L2Contribution[AddRemove], bound: Number) -> None: ...
    @overload
    def __init__(self, bound: Number, relation: R) -> None: ...

    def __init__(self, bound: Number, relation: Relation = _ADD_REMOVE) -> None:
        """Keep the exact bound; refuse anything that is not a finite number above 0."""
        self._set(relation, bound=arguments.positive(contribution=bound))

    def _stated(self) -> str:
        return readable(self.bound)

    def as_l2(self) -> L2[R]:
        """Return the sensitivity of the sum: twice the bound if a record is replaced."""
        moved = 2 * self.bound if self.relation.symmetric else self.bound
        return L2(moved, self.relation)


def required_contribution(contribution: L2Contribution[R]) -> R:
    """Return the relation of a bound on contributions; refuse a sensitivity."""
    if not isinstance(contribution, L2Contribution):
        raise ParameterError(
            "contribution",
            contribution,
            "L2Contribution(...)",
            "a sensitivity says what one record more does; here every contribution matters",
        )
    return contribution.relation


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Differences(Change[R]):
    """The query moves by a vector in the convex hull of some vectors and their negatives.

    For noise whose size differs from direction to direction, of which no norm says enough.

    Attributes:
        vectors: of one length, not all of them 0, exact, in data units.
        relation: the neighbouring relation.
    Example:
        >>> Differences([[1, 0], [0.5, 2]]).vectors[1]
        (Fraction(1, 2), Fraction(2, 1))
    """

    vectors: tuple[tuple[Fraction, ...], ...]
    relation: R

    @overload
    def __init__(self: Differences[AddRemove], vectors: Sequence[Sequence[Number]]) -> None: ...
    @overload
    def __init__(self, vectors: Sequence[Sequence[Number]], relation: R) -> None: ...

    def __init__(
        self, vectors: Sequence[Sequence[Number]], relation: Relation = _ADD_REMOVE
    ) -> None:
        """Keep the exact vectors; refuse none, several lengths, and zeros alone."""
        exact = tuple(tuple(arguments.real(vectors=one) for one in row) for row in vectors)
        if not exact or len({len(row) for row in exact}) != 1 or not any(map(any, exact)):
            raise ParameterError("vectors", vectors, "vectors of one length, not all of them 0")
        self._set(relation, vectors=exact)

    def _stated(self) -> str:
        return readable(self.vectors)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class JointSensitivity(Change[R]):
    """Bounds on the sum of all absolute changes and on each of them: less than either says alone.

    Attributes:
        l1: on the sum, in data units.
        linf: on each, at most ``l1``.
        relation: the neighbouring relation.
    Example:
        >>> JointSensitivity.few(coordinates=3, each=2)
        JointSensitivity(l1=6, linf=2)
    """

    l1: Fraction
    linf: Fraction
    relation: R

    @overload
    def __init__(self: JointSensitivity[AddRemove], *, l1: Number, linf: Number) -> None: ...
    @overload
    def __init__(self, *, l1: Number, linf: Number, relation: R) -> None: ...

    def __init__(self, *, l1: Number, linf: Number, relation: Relation = _ADD_REMOVE) -> None:
        """Keep the exact values; refuse anything that is not a finite number above 0."""
        whole = arguments.positive(l1=l1)
        self._set(relation, l1=whole, linf=min(arguments.positive(linf=linf), whole))

    @overload
    @staticmethod
    def few(*, coordinates: int, each: Number) -> JointSensitivity[AddRemove]: ...
    @overload
    @staticmethod
    def few(*, coordinates: int, each: Number, relation: R) -> JointSensitivity[R]: ...

    @staticmethod
    def few(
        *, coordinates: int, each: Number, relation: Relation = _ADD_REMOVE
    ) -> JointSensitivity[Any]:
        """Return the sensitivity if so many coordinates move (L0), each by at most ``each``."""
        largest = arguments.positive(each=each)
        total = largest * arguments.count(coordinates=coordinates)
        return JointSensitivity(l1=total, linf=largest, relation=relation)

    def _stated(self) -> str:
        return f"l1={readable(self.l1)}, linf={readable(self.linf)}"

    @property
    def largest(self) -> tuple[int, Fraction]:
        """Return the number of coordinates that can move by ``linf``, and the rest for one more."""
        full = self.l1 // self.linf
        return full, self.l1 - full * self.linf

    def as_l1(self) -> L1[R]:
        """Return the L1 sensitivity alone."""
        return L1(self.l1, self.relation)

    def as_l2(self) -> L2[R]:
        """Return the norm of a change that moves as many coordinates by ``linf`` as can be.

        It is the largest Euclidean norm, rounded up.
        """
        full, rest = self.largest
        square = full * self.linf**2 + rest**2
        norm = _sqrt_up(square.numerator * square.denominator) / square.denominator
        return L2(norm, self.relation)


def _sqrt_up(whole: int) -> Fraction:
    """Return the smallest multiple of 2**-40 at or above the square root."""
    scaled = math.isqrt(whole << 80)
    return Fraction(scaled if scaled * scaled == whole << 80 else scaled + 1, 1 << 40)
