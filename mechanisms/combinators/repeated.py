"""One mechanism several times on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.composition.compose import self_compose
from dpproof.mechanisms.combinators.rerun import Rerun
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Repeated(Rerun[R]):
    """``count`` independent outputs of one mechanism, as an array; built by ``.repeat``.

    The count is fixed in advance: stopping after looking at an output needs a filter.

    Attributes:
        base: the mechanism that is repeated.
        count: how often, from 1 to 10^12.
    Laws: ``m.repeat(n)`` satisfies what ``compose(m, ..., m)`` with n parts satisfies.
    Example:
        >>> from dpproof.accountant.sensitivity import L2
        >>> from dpproof.mechanisms import Gaussian
        >>> Gaussian(sigma=2, sensitivity=L2(1)).repeat(3).release(0.0).shape
        (3,)
    """

    base: Mechanism[R]
    count: int

    def __post_init__(self) -> None:
        """Refuse a count that is not a whole number from 1 to 10^12."""
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        object.__setattr__(self, "count", arguments.count(count=self.count))

    def guarantee(self) -> Guarantee[R]:
        """The ``count``-fold composition of the base's guarantee with itself."""
        return self_compose(self.base.guarantee(), self.count)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Outputs of shape (self.count, ...): fresh randomness, and fresh samples, for each."""
        outputs = self.base.draw(datasets, count * self.count, rng)
        return outputs.reshape(len(datasets), count, self.count, *outputs.shape[2:])
