"""An accountant of dp-accounting's kind; jax-privacy and TensorFlow Privacy take it too."""

from __future__ import annotations

from typing import Any, Final, final

from dpproof.accountant import Guarantee
from dpproof.accountant.errors import MissingDependency, PrivacyError
from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut
from dpproof.errors import InputError
from dpproof.interop.from_event import from_dp_event

try:
    from dp_accounting import NeighboringRelation, PrivacyAccountant
except ImportError:  # the checker of types knows the library, a machine may not have it
    raise MissingDependency("this needs dp-accounting: pip install 'dpproof[interop]'") from None

_RELATIONS: Final = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: AddRemove(),
    NeighboringRelation.REPLACE_ONE: ReplaceOne(),
    NeighboringRelation.REPLACE_SPECIAL: ZeroOut(),
}


@final
class EventAccountant(PrivacyAccountant):  # type: ignore[misc]  # of a library without types
    """Account for events of dp-accounting by our brackets, behind its own interface.

    It takes the place of ``PLDAccountant`` and ``RdpAccountant``. ``get_epsilon`` and ``get_delta``
    return upper ends; ``guarantee`` has both ends, certificates and audits. An event that no
    theorem here covers is refused by ``compose`` with the reason, and ``supports`` says False.

    Args:
        neighboring_relation: dp-accounting's word for which datasets are neighbours; by default
            add-remove, as of its own accountants.
    Raises:
        InputError: the relation is not one of dp-accounting's.
    Example:
        >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
        >>> step = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1))
        >>> accountant = EventAccountant().compose(step, 1000)
        >>> round(accountant.get_epsilon(target_delta=1e-5), 4)
        1.5154
        >>> accountant.guarantee().epsilon(delta=1e-5).lower > 1.515
        True
    """

    def __init__(
        self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    ) -> None:
        is_relation = isinstance(neighboring_relation, NeighboringRelation)
        if not is_relation or neighboring_relation not in _RELATIONS:
            raise InputError("neighboring_relation: expected a NeighboringRelation")
        super().__init__(neighboring_relation)

    @classmethod
    def create_accountant(cls) -> EventAccountant:
        """Return a fresh one; so the class is a ``DpAccountantConfig`` of jax-privacy."""
        return cls()

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:  # noqa: ANN401, ARG002, FBT001  # dp-accounting's signature
        """Return why an event is refused; the base class keeps those that are not."""
        if do_compose:
            return None
        try:
            self._read(event)
        except PrivacyError as refusal:
            return self.CompositionErrorDetails(event, " ".join(str(refusal).split()))
        return None

    def _read(self, event: object) -> Guarantee[Relation]:
        return from_dp_event(event, relation=_RELATIONS[self.neighboring_relation])

    def guarantee(self) -> Guarantee[Relation]:
        """Return the guarantee of everything composed so far."""
        return self._read(self.ledger)

    def get_epsilon(self, target_delta: float) -> float:
        """Return the upper end of epsilon at a delta."""
        return self.guarantee().epsilon(delta=target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return the upper end of delta at an epsilon."""
        return self.guarantee().delta(epsilon=target_epsilon).upper
