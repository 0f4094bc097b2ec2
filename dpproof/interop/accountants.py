"""Accountants that record events, for libraries that take one."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, final

from dpproof.accountant import AddRemove, Guarantee, PureDP, Relation, ReplaceOne, ZeroOut
from dpproof.accountant.errors import MissingDependency, ParameterError, PrivacyError
from dpproof.errors import InputError
from dpproof.interop.event import from_dp_event
from dpproof.interop.histories import from_opacus_history

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


_NAMES: Final = {True: "dpproof-poisson", False: "dpproof-shuffled"}


@final
class OpacusAccountant:
    """Account for a training with Opacus by our brackets, behind its ``IAccountant``.

    It takes the place of ``RDPAccountant`` and ``PRVAccountant``, in one line::

        engine = PrivacyEngine()
        engine.accountant = OpacusAccountant(poisson=True)

    ``get_epsilon`` returns the upper end; ``guarantee`` has both ends, certificates and audits.
    Once this module is imported, ``PrivacyEngine(accountant="dpproof-poisson")`` and
    ``"dpproof-shuffled"`` make one too.

    Args:
        poisson: state how batches are drawn, which Opacus does not tell its accountants: True with
            ``poisson_sampling=True``, its default; False for the shuffled batches of a loader,
            which cost more.
        relation: as of ``from_opacus_history``: of Poisson samples add-remove alone.
    Attributes:
        history: a list of (noise multiplier, sample rate, steps).
    Raises:
        ParameterError: poisson is neither True nor False, or no theorem covers the relation.
    Example:
        >>> accountant = OpacusAccountant(poisson=True)
        >>> for _ in range(1000):
        ...     accountant.step(noise_multiplier=1.1, sample_rate=0.01)
        >>> len(accountant), round(accountant.get_epsilon(delta=1e-5), 4)
        (1000, 1.5154)
    """

    def __init__(self, *, poisson: bool, relation: Relation | None = None) -> None:
        if not isinstance(poisson, bool):
            raise ParameterError("poisson", poisson, "True or False")
        if poisson and not isinstance(relation, AddRemove | None):
            raise ParameterError("relation", relation, "AddRemove() of Poisson samples, or None")
        if not isinstance(relation, Relation | None):
            raise ParameterError("relation", relation, "ZeroOut(), ReplaceOne() or None")
        self.history: list[tuple[float, float, int]] = []
        self._poisson = poisson
        self._relation = relation

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step."""
        steps = 1
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            steps += self.history.pop()[2]
        self.history.append((noise_multiplier, sample_rate, steps))

    def guarantee(self) -> Guarantee[Relation]:
        """Return the guarantee of all recorded steps.

        Raises:
            InputError: a record is none of the batches that were stated.
            ParameterError: a number outside its domain, such as no noise.
        """
        if not self.history:
            neighbours = AddRemove() if self._poisson else ZeroOut()
            return PureDP(epsilon=0, relation=self._relation or neighbours)
        return from_opacus_history(self.history, self._poisson, self._relation)

    def get_epsilon(self, delta: float, *_: object, **__: object) -> float:
        """Return the upper end of epsilon at a delta.

        Renyi orders and wanted errors, which Opacus' accountants take, are not needed.
        """
        return self.guarantee().epsilon(delta=delta).upper

    def __len__(self) -> int:
        """Return the number of recorded steps."""
        return sum(steps for _, _, steps in self.history)

    def mechanism(self) -> str:
        """Return the name under which Opacus knows this accountant."""
        return _NAMES[self._poisson]

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return what Opacus' optimiser calls at each step, before parameters change.

        Raises:
            InputError: by what is returned, where several Poisson samples are one step.
        """

        def hook(optimizer: Any) -> None:  # noqa: ANN401  # of a library that need not be there
            if self._poisson and optimizer.accumulated_iterations != 1:
                raise InputError(
                    "accumulated Poisson batches are not one Poisson sample: price them by "
                    "UserPoisson"
                )
            self.step(
                noise_multiplier=optimizer.noise_multiplier,
                sample_rate=sample_rate * optimizer.accumulated_iterations,
            )

        return hook

    def state_dict(
        self, destination: MutableMapping[str, Any] | None = None
    ) -> MutableMapping[str, Any]:
        """Return the state for a checkpoint, in a new mapping or in the one given."""
        state = OrderedDict() if destination is None else destination
        state["history"] = list(self.history)
        state["mechanism"] = self.mechanism()
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from the state of a checkpoint, of this accountant or of Opacus' own.

        Raises:
            InputError: there is no history in it, or one whose batches were drawn otherwise.
        """
        if not isinstance(state_dict, Mapping):
            raise InputError(
                f"expected the state of an accountant, got {type(state_dict).__name__}"
            )
        history = state_dict.get("history")
        if not isinstance(history, list):
            raise InputError('expected a state with "history", a list')
        stated = state_dict.get("mechanism")
        if stated == _NAMES[not self._poisson]:
            raise InputError(f"this state is of {stated}, not of {self.mechanism()}")
        if history:
            from_opacus_history(history, self._poisson, self._relation)
        self.history = [tuple(entry) for entry in history]


with suppress(ImportError):  # tell Opacus, where it is installed, the names of this accountant
    _opacus = importlib.import_module("opacus.accountants")
    _registry = importlib.import_module("opacus.accountants.registry")
    _opacus.IAccountant.register(OpacusAccountant)
    for _poisson, _name in _NAMES.items():
        _registry.register_accountant(_name, partial(OpacusAccountant, poisson=_poisson))
