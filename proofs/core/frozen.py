"""Classes of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform, final

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(kind: type[T]) -> type[T]:
    """Make a final class whose fields are those listed, and never change."""
    return final(dataclass(frozen=True, slots=True)(kind))
