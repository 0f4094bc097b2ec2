"""Guarantees, pairs and laws of numbers of runs in words, for sentences that people read."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.readable import declared

if TYPE_CHECKING:
    from dpproof.accountant.guarantees.derivation import Derivation
    from dpproof.accountant.guarantees.guarantee import Guarantee

_NAMES: Final = {"Gaussian", "Gaussians", "Laplace", "Poisson"}
_MOST_PARTS: Final = 3  # that are named one by one
_BREAK: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def pair_in_words(value: object) -> str:
    """Return the kind of a pair or law, and its parameters that are numbers.

    What it is made of stays unsaid, as a list of masses or the product that is sampled.
    """
    kind = " ".join(
        one if one in _NAMES else one.lower() for one in _BREAK.split(type(value).__name__)
    )
    shown = [name for name in declared(value) or () if not name.startswith("_")]
    fields = ((name, getattr(value, name)) for name in shown)
    numbers = [
        f"{name.replace('_', ' ')} = {show(Fraction(number))}"
        for name, number in fields
        if isinstance(number, int | Fraction) and not isinstance(number, bool)
    ]
    article = "" if kind.endswith("runs") else "an " if kind[0] in "aeio" else "a "
    return f"{article}{kind}" + (f" with {', '.join(numbers)}" if numbers else "")


def in_words(guarantee: Guarantee[Any]) -> str:
    """Return a guarantee's label, or the mechanism that it is of; a stated notion is itself.

    Example:
        >>> from dpproof.accountant.guarantees.pure_dp import PureDP
        >>> in_words(PureDP(epsilon=1)), in_words(PureDP(epsilon=1).labelled("counts"))
        ('1-DP', 'counts')
    """
    return _words(guarantee.derivation) or guarantee.describe()


def _words(step: Derivation) -> str:
    """Return the words of one step, with those of its premises; empty for a stated notion."""
    parts = [_words(premise) or premise.statement for premise in step.premises]
    if step.label:
        return step.label
    match step.rule.partition("/")[0]:
        case "mechanism":
            return step.statement.partition(" is ")[0].partition(" (")[0]
        case "repeat":
            return f"{parts[0]}, {int(str(dict(step.parameters)['count'])):,} times"
        case "group":
            return f"{parts[0]}, groups of {dict(step.parameters)['size']}"
        case "subsample" | "select":
            return f"{parts[0]}, {step.statement}"
        case "compose" if len(parts) > _MOST_PARTS:
            return f"{len(parts)} releases together"
        case "compose":
            return "; ".join(parts)
        case "state":
            return ""
        case _:
            return "; ".join(map(_words, step.premises)) if parts else step.statement
