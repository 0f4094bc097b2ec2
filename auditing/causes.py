"""What a refuted claim may be due to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# What the words of an event or of a seen fact have in them, and the cause that fits.
_CAUSES: Final = (
    ((), "noise smaller, or a sensitivity larger, than stated (clipping, units, a factor)"),
    (
        ("one noise", "seed"),
        "noise that is shared by coordinates, steps or calls, or a seed that is set in the code",
    ),
    (
        ("batches may be fixed",),
        "sampling other than stated (a record in every batch, batches in turn or by a shuffle)",
    ),
    (
        ("random factor",),
        "a scale, divisor or count that depends on the data (the realised batch size)",
    ),
    (
        ("values that", "no noise"),
        "something released without noise, as lengths, keys, errors, defaults",
    ),
    (("lowest bit",), "floating-point numbers that are not rounded to a public grid"),
)


def causes(looked_at: str, seen: Sequence[str] = ()) -> list[str]:
    """Return what a refuted claim may be due to; an audit sees that it is false, and not why.

    Args:
        looked_at: what the event looks at, in words.
        seen: what the outputs show of the cause: what fits it stands first, before what fits
            the event.
    """

    def unlikely(cause: tuple[tuple[str, ...], str]) -> tuple[bool, bool]:
        signs, _ = cause
        return (
            not any(sign in fact for sign in signs for fact in seen),
            not any(sign in looked_at for sign in signs),
        )

    return [text for _, text in sorted(_CAUSES, key=unlikely)]
