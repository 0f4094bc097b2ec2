"""The subject of a guarantee, in the words of its author."""

from __future__ import annotations

from typing import Any

from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import Guarantee

_MOST_PARTS = 3  # that are named one by one


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
