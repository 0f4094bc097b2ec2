"""Two mechanisms on the same data, the second of which sees what the first released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import Withholding
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import R, require_same_relation
from dpproof.accountant.theorems.composition import compose as compose_guarantees, post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs, join
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng


class FollowUp(Withholding, Readable, ABC, Generic[R]):
    """A family of mechanisms on records, one for every output of another mechanism.

    Law: for every fixed output, ``guarantee`` is a statement about the distribution of what
    ``draw`` returns for it; the same statement for all outputs.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def relation(self) -> R:
        """Return the relation that decides which datasets are neighbours."""

    @abstractmethod
    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee that every mechanism of the family satisfies."""

    @abstractmethod
    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """Draw once for every output of the first mechanism on these data.

        Args:
            data: one dataset.
            outputs: of the first mechanism, shape (count, ...).
            rng: the only source of randomness.
        Returns:
            Shape (count, ...).
        """


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Chained(Mechanism[R]):
    """Run a mechanism, then another one that sees its output; both outputs are released.

    Train a model, then count its mistakes: what the second part computes depends on the weights
    that the first part released, and how private it is does not.

    Statement: the composition of both guarantees. Given any output of the first part, the second
        one is a mechanism on the data with a guarantee fixed in advance, which is what adaptive
        composition asks for.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Theorem 10; for mu-GDP Dong, Roth & Su,
        arXiv:1905.02383, Corollary 3.3; proofs/theory/learners.md, Lemma 7.

    Args:
        first: a mechanism on records.
        then: the second part, such as ``NoisyMistakes``.
    Outputs:
        A pair: the output of the first part, and that of the second.
    Raises:
        ParameterError: not a mechanism on records, or not a second part.
        RelationMismatch: the parts speak of different neighbours.
    Laws: the guarantee is that of ``compose`` of both parts.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import BatchPerceptron, NoisyMistakes
        >>> train = BatchPerceptron(margin=0.1, steps=9, sigma=10, features=2, relation=AddRemove())
        >>> scored = Chained(first=train, then=NoisyMistakes(sigma=2.5, relation=AddRemove()))
        >>> scored.guarantee().mu
        Fraction(1, 2)
        >>> model, mistakes = scored.release([([0.6, 0.8], 1), ([-1.0, 0.0], -1)])
        >>> model.weights.shape
        (2,)
    """

    first: Mechanism[R]
    then: FollowUp[R]

    def __post_init__(self) -> None:
        first: object = self.first
        then: object = self.then
        if not isinstance(first, Mechanism) or not first.acts_on_records:
            raise ParameterError("first", first, "a mechanism on records")
        if not isinstance(then, FollowUp):
            raise ParameterError("then", then, "a second part such as NoisyMistakes(...)")
        require_same_relation([self.first.relation, self.then.relation], "chain")

    @property
    def relation(self) -> R:
        """Return the relation that both parts share."""
        return self.first.relation

    def guarantee(self) -> Guarantee[R]:
        """Return the composition of both parts' guarantees."""
        return compose_guarantees(self.first.guarantee(), self.then.guarantee())

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the first part on every dataset, then the second on the dataset and that output."""
        first = self.first.draw(datasets, count, rng)
        pairs = zip(datasets, first, strict=True)
        then = np.stack([self.then.draw(data, outputs, rng) for data, outputs in pairs])
        return join([first, then], axes=2)


@final
@frozen(repr=False, field_transformer=named)
class Clamped(Mechanism[R]):
    """Release a noisy number, or each of several, moved into a public range.

    Noise that is redrawn, or renormalised, until the sum lies in a range has a law whose size
    depends on where the value is, and is less private than the noise says. Clamping is not.

    Statement: the guarantee of the noise; clamping looks at the sum alone.
    Assumes: outputs alone.
    Source: post-processing (Dong, Roth & Su, arXiv:1905.02383, Proposition 2.8).

    Args:
        noise: a mechanism that releases numbers.
        lower, upper: public, lower at most upper, both floats exactly; not from the data.
    Raises:
        ParameterError: not a mechanism, or ends that are no range.
    Laws: every answer is that of ``noise``.
    Example:
        >>> from dpproof.accountant import L1
        >>> from dpproof.mechanisms import Laplace
        >>> share = Clamped(Laplace(scale=0.1, sensitivity=L1(0.01)), lower=0, upper=1)
        >>> 0 <= share.release(0.98) <= 1
        True
    """

    noise: Mechanism[R] = field(
        validator=parameters.instance(Mechanism, "a mechanism that releases numbers")
    )
    lower: Fraction = field(kw_only=True, converter=parameters.real)
    upper: Fraction = field(kw_only=True, converter=parameters.real)

    def __attrs_post_init__(self) -> None:
        ends = self.lower, self.upper
        if self.lower > self.upper or any(Fraction(float(end)) != end for end in ends):
            raise ParameterError("lower, upper", tuple(map(float, ends)), "two floats in order")

    @property
    def relation(self) -> R:
        """Return the relation of the noise."""
        return self.noise.relation

    @property
    def acts_on_records(self) -> bool:
        """Return whether the noise carries its query."""
        return self.noise.acts_on_records

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the noise, after post-processing."""
        ends = f"[{show(self.lower)}, {show(self.upper)}]"
        return post_process(self.noise.guarantee(), description=f"clamping to {ends}")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw from the noise and clamp the outputs: float64."""
        drawn = self.noise.draw(datasets, count, rng)
        if drawn.dtype.names is not None:
            raise ParameterError(
                "noise", self.noise, "a mechanism that releases numbers, not several outputs"
            )
        return np.clip(drawn.astype(np.float64), float(self.lower), float(self.upper))
