"""A theorem as an object, carried by derivations and dispatched on by certificates."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

from dpproof.accountant.guarantees.attained import Attained

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
        attained: the most that its conclusion attains, whatever its premises do.
        again: applies it to other premises with the parameters that it had; None if it has
            no premises, or if certificates raise its conclusion by other means.
        lossless: whether the conclusion says as much as the premises.
        pointwise: whether premises that are attained at points are attained at points still;
            else the conclusion of such premises is not attained.
    """

    rule: str
    source: str
    attained: Attained
    again: Callable[[Premises, Parameters], Any] | None = field(
        default=None, compare=False, repr=False
    )
    lossless: bool = True
    pointwise: bool = False

    def __reduce__(self) -> tuple[Callable[..., Theorem], tuple[str, ...] | tuple[object, ...]]:
        """Pickle a theorem by its rule, if how it is applied again cannot be pickled itself."""
        if self.again is None or self.again.__name__ != "<lambda>":
            fields = (self.rule, self.source, self.attained, self.again)
            return Theorem, (*fields, self.lossless, self.pointwise)
        return _declared_in, (self.again.__module__, self.rule)


def _declared_in(module: str, rule: str) -> Theorem:
    """Return the theorem of this rule that a module declares."""
    found = vars(importlib.import_module(module)).values()
    return next(one for one in found if isinstance(one, Theorem) and one.rule == rule)


def dominate_again(premises: Premises, _: Parameters) -> Any:  # noqa: ANN401  # a DominatingPair
    """Return the dominating pair of the one premise."""
    return premises[0].to_pair()
