"""Several mechanisms on the same data, all outputs released."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R, require_same_relation
from dpproof.accountant.theorems.composition import compose as compose_guarantees, self_compose
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs, join
from dpproof.mechanisms.samplers.rng import Rng

COMPOSES: Final = "accountant.compose composes guarantees"


@final
@dataclass(frozen=True, slots=True)
class Composed(Mechanism[R]):
    """The tuple of outputs of several mechanisms; built by ``compose``.

    Subsampling a composition draws one sample that all its parts share.

    Attributes:
        parts: at least one mechanism, all under the same relation.
    """

    whole = ""

    parts: tuple[Mechanism[R], ...]

    def __post_init__(self) -> None:
        for position, part in enumerate(self.parts):
            if not isinstance(part, Mechanism):
                raise ParameterError(f"part {position}", part, "a mechanism", COMPOSES)
        if not self.parts:
            raise ParameterError("mechanisms", self.parts, "at least one mechanism")
        require_same_relation([part.relation for part in self.parts], "compose")

    @property
    def relation(self) -> R:
        """Return the relation that all parts share."""
        return self.parts[0].relation

    @property
    def acts_on_records(self) -> bool:
        """Return whether every part acts on records."""
        return all(part.acts_on_records for part in self.parts)

    def guarantee(self) -> Guarantee[R]:
        """Return the composition of the parts' guarantees."""
        return compose_guarantees(*[part.guarantee() for part in self.parts])

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw every part on every dataset, with independent randomness: one field a part."""
        if len({part.acts_on_records for part in self.parts}) > 1:
            silent = [str(i) for i, part in enumerate(self.parts) if not part.acts_on_records]
            allowed = "given for all parts or for none, in order to run"
            raise ParameterError("query", None, allowed, f"parts without one: {', '.join(silent)}")
        return join([part.draw(datasets, count, rng) for part in self.parts], axes=2)


def compose(*mechanisms: Mechanism[R]) -> Composed[R]:
    """Release the outputs of several mechanisms on the same data.

    Statement: which mechanisms run, and all their parameters, are fixed before any output is
        seen. Choosing the next mechanism, its noise, its sampling rate, or whether to go on,
        after looking at an output is not a composition in this sense; it needs a privacy filter
        or odometer.
    The release is the tuple of the parts' outputs, in order. All parts are under one neighbouring
    relation.

    Laws: compose(m, m) satisfies what m.repeat(2) satisfies; the order does not matter.
    Example:
        >>> from dpproof.accountant.sensitivity import L1, L2
        >>> from dpproof.mechanisms import Gaussian, Laplace
        >>> count = Gaussian(sigma=2, sensitivity=L2(1))
        >>> len(compose(count, Laplace(scale=5, sensitivity=L1(1))).release(10.0))
        2
    """
    return Composed(mechanisms)


class OnBase(Mechanism[R], ABC):
    """A mechanism made of another one, its ``base``, under the same relation."""

    __slots__ = ()

    base: Mechanism[R]

    @property
    @final
    def relation(self) -> R:
        """Return the neighbouring relation of the base mechanism."""
        return self.base.relation

    @final
    def _require_query(self, where: str) -> None:
        """Refuse to run a base on a value where it has to read records."""
        if not self.base.acts_on_records:
            allowed = f"a mechanism on records, in order to run on {where}"
            hint = "give its noise query=, a function from records to a value"
            raise ParameterError("base", self.base, allowed, hint)


class Rerun(OnBase[R], ABC):
    """A mechanism made of runs of its ``base``, on the same data."""

    __slots__ = ()

    @property
    @final
    def acts_on_records(self) -> bool:
        """Return whether the base mechanism acts on records."""
        return self.base.acts_on_records


@final
@dataclass(frozen=True, slots=True)
class Repeated(Rerun[R]):
    """``count`` independent outputs of one mechanism, as an array; built by ``.repeat``.

    The count is fixed in advance: stopping after looking at an output needs a filter.

    Attributes:
        base: the mechanism that is repeated.
        count: the number of outputs, from 1 to 10^12.
    Laws: ``m.repeat(n)`` satisfies what ``compose(m, ..., m)`` with n parts satisfies.
    Example:
        >>> from dpproof.accountant.sensitivity import L2
        >>> from dpproof.mechanisms import Gaussian
        >>> Gaussian(sigma=2, sensitivity=L2(1)).repeat(3).release(0.0).shape
        (3,)
    """

    whole = ""

    base: Mechanism[R]
    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        object.__setattr__(self, "count", arguments.count(count=self.count))

    def guarantee(self) -> Guarantee[R]:
        """Return the ``count``-fold composition of the base's guarantee with itself."""
        return self_compose(self.base.guarantee(), self.count)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw outputs of shape (self.count, ...), each with fresh randomness and fresh samples."""
        outputs = self.base.draw(datasets, count * self.count, rng)
        return outputs.reshape(len(datasets), count, self.count, *outputs.shape[2:])
