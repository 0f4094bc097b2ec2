"""Pairs and laws of numbers of runs in words, for sentences that people read."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.readable import declared

_NAMES: Final = {"Gaussian", "Gaussians", "Laplace", "Poisson"}
_BREAK: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def in_words(value: object) -> str:
    """Return the kind of a pair or law, and its parameters that are numbers.

    What it is made of stays unsaid, as a list of masses or the product that is sampled.
    """
    kind = " ".join(
        one if one in _NAMES else one.lower() for one in _BREAK.split(type(value).__name__)
    )
    shown = [name for name in declared(value) or () if not name.startswith("_")]
    given = ((name, getattr(value, name)) for name in shown)
    numbers = [
        f"{name.replace('_', ' ')} = {show(Fraction(number))}"
        for name, number in given
        if isinstance(number, int | Fraction) and not isinstance(number, bool)
    ]
    article = "" if kind.endswith("runs") else "an " if kind[0] in "aeio" else "a "
    return f"{article}{kind}" + (f" with {', '.join(numbers)}" if numbers else "")
