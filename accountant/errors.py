"""Everything the accountant can refuse, as one tree.

    PrivacyError
    ├─ ParameterError (ValueError)    a value outside its domain, caught where it enters
    │  └─ DataError                   data that does not fit, told by its form (accountant.form)
    ├─ RelationMismatch (TypeError)   two parts speak of different neighbouring relations
    ├─ NotImplied                     no theorem leads from what is known to what was asked
    ├─ NotCertified                   the rigorous bracket could not be computed
    ├─ NotShared (TypeError)          what is spent in one place is copied, pickled or forked
    ├─ BudgetExceeded                 a filter has less left than a guarantee costs
    ├─ MissingDependency (ImportError) an optional library is not installed
    └─ CalibrationError               no parameter value meets the target
       └─ NoBracket                   the search interval does not straddle the target

Every message says what was given, what is allowed and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from typing import Final

EASIER: Final = "ask at a larger delta, or use more noise or a larger sampling rate"
"""What to do where a question is so extreme that its numbers leave the range of floats."""

TOO_LITTLE_NOISE: Final = "use more noise, or ask at smaller orders or a larger delta"
"""What to do where little noise makes losses too rough to be integrated."""

COARSER: Final = (
    "round epsilons or scales to a coarser common step, ask for fewer releases together, or state "
    "what some of them satisfy (PureDP, ZCDP) in place of the mechanism"
)
"""What to do where losses are multiples of a number too small for the sums over them."""

CONVERT: Final = "convert it to another notion first: PureDP, ZCDP, GDP or a DominatingPair"
"""What to do with a guarantee that no theorem takes."""

LARGER: Final = "ask for a larger margin, error or epsilon"
"""What to do where no plan within limits reaches its goal."""

_HOLDERS = (list, tuple, dict, set)
_MOST = 12  # items of a list that are shown
_LONGEST = 24  # characters of a rational that is shown as it is
_FLOAT_BITS = 1000


class PrivacyError(Exception):
    """Base class of every error that dpproof raises on purpose."""


class ParameterError(PrivacyError, ValueError):
    """A parameter is outside its domain."""

    def __init__(self, name: str, value: object, allowed: str, hint: str = "") -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        self.hint = hint
        hinted = f"; {hint}" if hint else ""
        super().__init__(f"{name} must be {allowed}, got {_shown(value)}{hinted}")

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, object, str, str]]:
        """Rebuild from the fields, so that the error survives pickling."""
        return type(self), (self.name, self.value, self.allowed, self.hint)


def _shown(value: object) -> str:
    """Return a value as its source has it, an exact rational in decimal or as a fraction.

    What is long or nested is shown by its type and size: it may be data in place of a parameter.
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"a {type(value).__name__} of shape {shape}"
    if isinstance(value, _HOLDERS) and not _is_short(value):
        return f"a {type(value).__name__} of length {len(value)}"
    if type(value) is tuple or type(value) is list:
        shown = ", ".join(map(_shown, value))
        if isinstance(value, list):
            return f"[{shown}]"
        return f"({shown},)" if len(value) == 1 else f"({shown})"
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return repr(value)
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(bits) > _FLOAT_BITS:
        return f"about 1e{round(bits * math.log10(2)):+}"
    text = str(value)
    return text if len(text) <= _LONGEST else f"{float(value):.6g}"


def _is_short(value: Collection[object]) -> bool:
    """Return whether a list holds a few numbers or texts, or tuples of such, as parameters do."""
    flat = [one for item in value for one in (item if isinstance(item, tuple) else (item,))]
    nested = any(isinstance(one, _HOLDERS) or hasattr(one, "shape") for one in flat)
    return isinstance(value, list | tuple) and len(value) <= _MOST and not nested


class RelationMismatch(PrivacyError, TypeError):
    """Two guarantees speak of different neighbouring relations."""


class NotImplied(PrivacyError):
    """No theorem leads from what is known to what was asked."""


class NotCertified(PrivacyError):
    """A rigorous bracket could not be computed for this question."""


class NotShared(PrivacyError, TypeError):
    """A filter or an odometer is spent in one process, and has no copies."""


class BudgetExceeded(PrivacyError):
    """A filter has less left than a guarantee costs; nothing was spent."""


class CalibrationError(PrivacyError):
    """No parameter value meets the target."""


class NoBracket(CalibrationError):
    """The search interval does not straddle the target."""


class MissingDependency(PrivacyError, ImportError):
    """An optional library is needed and not installed; the message says how to install it."""
