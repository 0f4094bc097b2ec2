"""Limit what the core accepts, and price what it computes: plain numbers, said once.

A unit of work is about a microsecond at 64 bits. Soundness rests on none of it: limits keep the
checker from running for hours, or out of memory.
"""

from __future__ import annotations

from typing import Final

MAX_CHARACTERS: Final = 4_000_000
MAX_STEPS: Final = 20_000  # each takes a verdict's line at least; soundness rests on none of these
MAX_DIGITS: Final = 1_100  # of a rational: any binary64 number, and products of three
MAX_DEPTH: Final = 32  # of nested brackets: a sample of a sample of ... needs a few each
MAX_LABEL: Final = 200  # characters of an author's name for a mechanism, which verdicts quote
MAX_NAME: Final = 60  # characters of a mechanism's name, which verdicts repeat
MAX_WORDS: Final = 300  # characters of a description, which verdicts quote
MAX_COUNT: Final = 10**12  # of equal parts: the most that the library composes
MAX_WORK: Final = 3 << 23  # units, of one certificate: at most some 20 seconds
PRECISIONS: Final = (64, 128, 256, 512)
_QUARTERS: Final = {64: 4, 128: 5, 256: 8, 512: 16}
PER_STEP: Final = 64  # units, beside one for every character
VALUE: Final = 24  # of a profile by formula


def at_precision(units: int, precision: int) -> int:
    """Return what work that is priced at 64 bits costs at another precision."""
    return units * _QUARTERS[precision] // 4
