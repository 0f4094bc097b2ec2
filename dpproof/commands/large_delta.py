"""A warning of deltas at which epsilon promises little."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import click

LARGE_DELTA: Final = Fraction(1, 100)


def warn(delta: Fraction | None) -> None:
    """Say on standard error that a delta is so large that epsilon promises little."""
    if delta is not None and delta > LARGE_DELTA:
        click.echo(
            f"dpproof: warning: delta = {float(delta):g} lets that share of all runs reveal "
            "anything; below one over the number of records is usual",
            err=True,
        )
