"""How good an output is: a number that looks at the output and at nothing else."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, TypeAlias

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError

# The output's type belongs to the mechanism, so its score's argument does too.
Score: TypeAlias = Callable[[Any], float]


def required_score(score: object) -> None:
    """Refuse anything but a function of an output, or None."""
    if score is not None and not callable(score):
        raise ParameterError("score", score, "a function of an output, or None")


def scored(score: Score | None, output: object) -> float:
    """The score of an output; without one the output itself.

    Raises:
        ParameterError: it is not a number.
    Example:
        >>> scored(len, (3, 4))
        2
    """
    value = output if score is None else score(output)
    if isinstance(value, numbers.Real) and not math.isnan(value):
        return value  # type: ignore[return-value]  # comparable, whatever kind of number
    raise DataError(
        "score",
        value,
        "a number, for every output",
        "give score=, a function of the output, and let it map nan to a number",
    )
