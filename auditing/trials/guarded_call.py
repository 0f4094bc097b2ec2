"""One call of someone else's code on a copy of the data: a value, or an error to be seen."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

_LONGEST = 200


@final
@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """The outcome of a call: its value, or the error it raised.

    Attributes:
        value: what it returned; None after an error.
        error: the type and text of what it raised; None when it returned.
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
                return Attempt(None, f"{type(error).__name__}: {error}")

    def __str__(self) -> str:
        return short_text(self.value) if self.error is None else self.error


def short_text(item: object) -> str:
    """Return the text of an item, cut to one line."""
    plain = item.tolist() if isinstance(item, np.ndarray | np.generic) else item
    text = " ".join((plain if isinstance(plain, str) else repr(plain)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
