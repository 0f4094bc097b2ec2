"""Every mechanism inherits an audit of its own release, and that audit has teeth."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest

from dpproof import mechanisms
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1
from dpproof.mechanisms import Laplace, Mechanism
from dpproof.mechanisms.samplers.rng import Rng
from tests.contracts.every_mechanism import contracts
from tests.contracts.mechanism_contract import MechanismContract


def test_every_mechanism_has_the_contract() -> None:
    """Each mechanism that is exported, and each that a combinator makes, is audited."""
    public = (getattr(mechanisms, name) for name in vars(mechanisms)["__all__"])
    exported = {item for item in public if inspect.isclass(item)}
    concrete = {item for item in exported if getattr(item, "__final__", False)}
    wanted = {item for item in concrete if issubclass(item, Mechanism)}
    audited = {type(contract().mechanism()) for contract in contracts()}

    assert len(wanted) >= 11
    assert wanted <= audited


@final
@dataclass(frozen=True, slots=True)
class Textbook(Mechanism[AddRemove]):
    """Laplace noise as textbooks have it: a sum in floating point, of some scale."""

    scale: float
    stated: float
    grid: bool

    @property
    def relation(self) -> AddRemove:
        """Add-remove."""
        return AddRemove()

    @property
    def acts_on_records(self) -> bool:
        """On a value."""
        return False

    def guarantee(self) -> DominatingPair[AddRemove]:
        """What Laplace noise of the stated scale satisfies."""
        return Laplace(scale=self.stated, sensitivity=L1(1)).guarantee()

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Any:  # noqa: ANN401
        """Inverse of the distribution function, on a grid or not."""
        values = np.repeat(np.asarray(datasets, dtype=float)[:, np.newaxis], count, axis=1)
        uniform = rng.words(values.size).reshape(values.shape) / 2.0**64 - 0.5
        noisy = values - self.scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
        return np.rint(noisy * 2**20) / 2**20 if self.grid else noisy


class Broken(MechanismContract):
    """The contract of a mechanism that breaks it; not collected."""

    __test__ = False
    subject = Textbook(scale=1.0, stated=1.0, grid=False)

    def mechanism(self) -> Mechanism[AddRemove]:
        """The textbook's."""
        return self.subject

    def data(self) -> object:
        """A value."""
        return 0.0

    def neighbour(self) -> object:
        """Moved by the sensitivity."""
        return 1.0

    def increasing_noise(self) -> Sequence[Mechanism[AddRemove]]:
        """None are compared here."""
        return []

    def invalid(self) -> Sequence[Callable[[], object]]:
        """None are tried here."""
        return []


@pytest.mark.parametrize(
    ("subject", "event"),
    [
        (Textbook(scale=1.0, stated=1.0, grid=False), "lowest_bit"),
        (Textbook(scale=0.5, stated=1.0, grid=True), "output"),
    ],
    ids=["floating point", "half the noise"],
)
def test_the_inherited_audit_has_teeth(subject: Textbook, event: str) -> None:
    """Floating-point noise and half the noise fail the very test that mechanisms inherit."""

    class Failing(Broken):
        """The contract of this one."""

    Failing.subject = subject
    with pytest.raises(AssertionError, match=event):
        Failing().test_audit_does_not_contradict_the_statement()


def test_the_inherited_audit_lets_sound_noise_pass() -> None:
    """The same noise on a grid, with its own statement, is not refuted."""

    class Passing(Broken):
        """The contract of this one."""

        subject = Textbook(scale=1.0, stated=1.0, grid=True)

    Passing().test_audit_does_not_contradict_the_statement()
