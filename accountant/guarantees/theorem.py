"""A theorem as an object, carried by derivations and dispatched on by certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

Premises: TypeAlias = Sequence[Any]
"""The guarantees that a theorem is applied to."""
Parameters: TypeAlias = Mapping[str, Any]
"""What it was applied with: the parameters of its derivation by name."""


@final
@dataclass(frozen=True, slots=True)
class Theorem:
    """One theorem, declared beside the function that applies it.

    Attributes:
        rule: the identifier, ``verb/notion`` ("compose/gdp").
        source: the numbered item that it comes from, or where its proof is.
        again: applies it to other premises with the parameters that it had; None if it has
            no premises, or if certificates raise its conclusion by other means.
        lossless: whether the conclusion says as much as the premises.
    """

    rule: str
    source: str
    again: Callable[[Premises, Parameters], Any] | None = field(
        default=None, compare=False, repr=False
    )
    lossless: bool = True


def dominate_again(premises: Premises, _: Parameters) -> Any:  # noqa: ANN401  # a DominatingPair
    """Return the dominating pair of the one premise."""
    return premises[0].to_pair()
