"""One call of someone else's code on a copy of the data: a value, or an error to be seen."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpproof.accountant.form import Form, origin


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attempt:
    """The outcome of a call: its value, or the error it raised.

    Attributes:
        value: what it returned; None after an error.
        error: the type of what it raised, and where, as its text may quote the data; None when it
            returned.
    """

    value: Any
    error: str | None = None

    @staticmethod
    def of(call: Callable[[Any], Any], data: object) -> Attempt:
        """Call it; the data stays as it is, warnings are not shown."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return Attempt(call(copy.deepcopy(data)))
            except Exception as error:  # noqa: BLE001  # whatever it raises is what it shows
                return Attempt(None, origin(error))

    def __str__(self) -> str:
        return str(Form.of(self.value)) if self.error is None else self.error


def told_apart(first: Attempt, other: Attempt) -> tuple[str, str]:
    """Return two outcomes in words, of values their forms and where they differ first."""
    if first.error is not None or other.error is not None:
        return str(first), str(other)
    one, two = Form.of_both(first.value, other.value)
    return str(one), str(two)
