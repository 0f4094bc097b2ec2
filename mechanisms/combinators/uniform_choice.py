"""One of several mechanisms, drawn uniformly at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import has_common_worst
from dpproof.accountant.relation import R, require_same_relation
from dpproof.accountant.theorems.parallel import choice, mixture
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs, join
from dpproof.mechanisms.samplers import uniform_below
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UniformChoice(Mechanism[R]):
    """Run one of several mechanisms, drawn uniformly, and release which one and its output.

    With ``.select`` it tries configurations at random and keeps the best: every run draws one.

    Statement: what ``accountant.choice`` says of the parts' guarantees if one of them is the worst
        at every epsilon, else what ``accountant.mixture`` says: the draw looks at no data, so the
        mean of the profiles counts.
    Source: proofs/theory/choice.md, Theorems 1 and 2.

    Args:
        parts: at least one mechanism, all under one relation, with outputs of one shape.
    Outputs:
        A pair: the position of the part, and its output.
    Raises:
        ParameterError: no parts, something that is no mechanism, or on release outputs of
            different shapes.
        RelationMismatch: two parts differ in relation.
        NotImplied: on guarantee, if the parts have neither a common worst guarantee nor pairs.
    Laws: one part alone costs what it costs; the order of the parts does not matter.
    Example:
        >>> from dpproof.accountant.sensitivity import L2
        >>> from dpproof.mechanisms import Gaussian
        >>> parts = tuple(Gaussian(sigma=s, sensitivity=L2(1)) for s in (2, 4))
        >>> UniformChoice(parts=parts).guarantee().mu
        Fraction(1, 2)
        >>> index, output = UniformChoice(parts=parts).release(10.0)
        >>> index in (0, 1)
        True
    """

    parts: tuple[Mechanism[R], ...]

    def __post_init__(self) -> None:
        parts: object = self.parts
        if not isinstance(parts, tuple) or not parts:
            raise ParameterError("parts", parts, "a tuple of at least one mechanism")
        for position, part in enumerate(parts):
            if not isinstance(part, Mechanism):
                raise ParameterError(f"part {position}", part, "a mechanism")
        require_same_relation([part.relation for part in self.parts], "choose")
        if len({part.acts_on_records for part in self.parts}) > 1:
            raise ParameterError("parts", parts, "mechanisms on records all, or none of them")

    @property
    def relation(self) -> R:
        """Return the relation that all parts share."""
        return self.parts[0].relation

    @property
    def acts_on_records(self) -> bool:
        """Return whether the parts act on records."""
        return self.parts[0].acts_on_records

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the worst part, or else the mixture of all."""
        parts = [part.guarantee() for part in self.parts]
        if has_common_worst(parts):
            return choice(*parts)
        return mixture(parts, weights=[Fraction(1, len(parts))] * len(parts))

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw a part for every output, then as many outputs of each part as it was drawn."""
        return np.stack([self._drawn(data, count, rng) for data in datasets])

    def _drawn(self, data: object, count: int, rng: Rng) -> Outputs:
        """Draw outputs on one dataset, with the positions of the parts that made them."""
        drawn = uniform_below(len(self.parts), count, rng)
        places = [np.flatnonzero(drawn == index) for index in range(len(self.parts))]
        made = [
            (where, part.draw([data], len(where), rng)[0])
            for where, part in zip(places, self.parts, strict=True)
            if len(where)
        ]
        shapes = {(some.shape[1:], some.dtype) for _, some in made}
        if len(shapes) > 1:
            raise ParameterError("parts", shapes, "mechanisms with outputs of one shape")
        ((shape, dtype),) = shapes
        outputs = np.empty((count, *shape), dtype=dtype)
        for where, some in made:
            outputs[where] = some
        return join([drawn, outputs], axes=1)
