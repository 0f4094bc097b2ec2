"""What all mechanisms have in common that run another one, several times, on the same data."""

from __future__ import annotations

from abc import ABC
from typing import final

from dpproof.accountant.relation import R
from dpproof.mechanisms.mechanism import Mechanism


class Rerun(Mechanism[R], ABC):
    """A mechanism made of runs of its ``base``: the data and its neighbours are the base's."""

    __slots__ = ()

    base: Mechanism[R]

    @property
    @final
    def relation(self) -> R:
        """The neighbouring relation of the base mechanism."""
        return self.base.relation

    @property
    @final
    def acts_on_records(self) -> bool:
        """Whether the base mechanism acts on records."""
        return self.base.acts_on_records
