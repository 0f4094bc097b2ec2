"""Refuse by type what leaves the range of floats while a question is answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from dpproof.accountant.errors import NotCertified

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def within_floats(question: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """Make a question raise NotCertified if a number on the way to its answer overflows.

    An overflow that code provides for is handled where it occurs. Any other would go on as an
    infinity, or as no number, behind a warning: here it ends the computation. Other errors pass,
    as they are mistakes of ours.
    """

    @wraps(question)
    def answered(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Answer:
        """Answer the question, or refuse."""
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return question(*arguments, **named)
        except (FloatingPointError, OverflowError) as error:
            raise NotCertified(
                f"a number on the way to this answer is not representable as a float ({error}); "
                "ask with parameters, counts or epsilons that are less extreme"
            ) from error

    return answered
