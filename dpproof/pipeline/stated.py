"""Guarantees of mechanisms of others, taken as they are stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Stated(Mechanism[Relation]):
    """A mechanism of which only a guarantee is known: it is accounted for, and does not run here.

    Attributes:
        stated: what others state of it, an assumption of everything that follows.
    """

    stated: Guarantee[Relation]

    @property
    def relation(self) -> Relation:
        """Return the relation of the guarantee."""
        return self.stated.relation

    @property
    def acts_on_records(self) -> bool:
        """Return True: what it does with data is not known here."""
        return True

    def guarantee(self) -> Guarantee[Relation]:
        """Return what is stated."""
        return self.stated

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:  # noqa: ARG002
        """Refuse to run.

        Raises:
            NotImplied: always.
        """
        raise NotImplied(f"{self.stated.describe()} is stated of a mechanism that is not here")
