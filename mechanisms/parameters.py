"""Argument checks and assumptions that mechanisms share."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, TypedDict, TypeVar

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import AddRemove, Relation
from dpproof.accountant.sensitivity import L1, L2, Sensitivity
from dpproof.accountant.side_conditions import ONE_SHAPE, OUTPUT_ALONE, RANDOM_BITS, SENSITIVITY

S = TypeVar("S", bound=Sensitivity)


class Arguments(TypedDict, total=False):
    """Arguments of a constructor besides the relation, for both of its overloads.

    Without a relation it makes a mechanism under add-remove, or whatever its default is, and with
    one a mechanism under that. A default of a type variable would let type checkers take one for
    the other.
    """


DEFAULT_RELATION: Final = AddRemove()

_SLACK: Final = Fraction(1, 2**40)


def require_sensitivity(sensitivity: object, *kinds: type[S]) -> S:
    """Accept a sensitivity in one of the given norms.

    Raises:
        ParameterError: a bare number, or another norm; says how to convert.
    Example:
        >>> require_sensitivity(L1(2), L1)
        L1(2)
    """
    for kind in kinds:
        if isinstance(sensitivity, kind):
            return sensitivity
    names = " or ".join(kind.__name__ for kind in kinds)
    hint = f"a number alone does not say its norm: {kinds[0].__name__}(1) does"
    if isinstance(sensitivity, L1) and L2 in kinds:
        hint = "L1(...).as_l2() converts it"
    elif isinstance(sensitivity, Sensitivity):
        hint = "another norm converts with as_l1 or as_l2, given the dimension"
    raise ParameterError("sensitivity", sensitivity, f"{names}, in data units", hint)


def whole_part(sensitivity: Fraction) -> int:
    """Return the largest integer at most the sensitivity: how far a whole quantity can move.

    A value within a relative 2^-40 below the next integer is taken as that integer: it is a rounded
    square root or product, and counting one unit more is the safe side. An integer is itself.

    Raises:
        ParameterError: below 1; such a query never moves.
    Example:
        >>> whole_part(Fraction(math.sqrt(3)) ** 2)
        3
        >>> whole_part(Fraction(2**40)) == 2**40
        True
    """
    raised = min(sensitivity * (1 + _SLACK), Fraction(math.ceil(sensitivity)))
    units = math.floor(raised)
    if units < 1:
        raise ParameterError(
            "sensitivity", float(sensitivity), "at least 1", "an integer query moves by integers"
        )
    return units


def units(sensitivity: Sensitivity) -> int:
    """Return the whole part of k, or for L2 that of the square, of an integer query.

    Raises:
        ParameterError: below 1; such a query never moves.
    Example:
        >>> units(L1(2.5)), units(L2(1.5))
        (2, 2)
    """
    value = sensitivity.value
    return whole_part(value**2 if isinstance(sensitivity, L2) else value)


def assumptions(sensitivity: Sensitivity, relation: Relation) -> tuple[str, ...]:
    """Return the assumptions of a noise mechanism's guarantee.

    Example:
        >>> len(assumptions(L1(1), AddRemove()))
        4
    """
    norm = type(sensitivity).__name__
    return (
        SENSITIVITY(value=show(sensitivity.value), norm=norm, relation=relation),
        ONE_SHAPE(),
        RANDOM_BITS(),
        OUTPUT_ALONE(),
    )
