"""What a refuted claim may be due to."""

from __future__ import annotations

from typing import Final

_CAUSES: Final = (
    ("", "noise smaller, or a sensitivity larger, than stated (clipping, units, a factor)"),
    ("", "noise that is shared by coordinates, steps or calls, or a seed that is set in the code"),
    ("", "sampling other than stated (a record in every batch, batches in turn or by a shuffle)"),
    ("", "a scale, divisor or count that depends on the data (the realised batch size)"),
    ("values that", "something released without noise, as lengths, keys, errors, defaults"),
    ("lowest bit", "floating-point numbers that are not rounded to a public grid"),
)


def causes(looked_at: str) -> list[str]:
    """What a refuted claim may be due to; an audit sees that it is false, and not why.

    Args:
        looked_at: what the event looks at, in words: what fits it stands first.
    """
    ordered = sorted(_CAUSES, key=lambda cause: not (cause[0] and cause[0] in looked_at))
    return [text for _, text in ordered]
