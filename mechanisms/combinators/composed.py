"""Several mechanisms on the same data, or several runs of one."""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Generic, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant import Guarantee, ParameterError, arguments, choice, mixture
from dpproof.accountant.form import Withholding
from dpproof.accountant.guarantees.rdp import has_common_worst
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import R, require_same_relation
from dpproof.accountant.run_counts.law import RunLaw, required_runs
from dpproof.accountant.theorems import composition
from dpproof.accountant.theorems.selection import select, select_above
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism, Outputs, join, required_base, unpack
from dpproof.mechanisms.queries import Score, required_score, scored
from dpproof.mechanisms.samplers import Rng, run_count, uniform_below

COMPOSES: Final = "accountant.compose composes guarantees"


@final
@dataclass(frozen=True, slots=True)
class Composed(Mechanism[R]):
    """The tuple of outputs of several mechanisms; built by ``compose``.

    Subsampling a composition draws one sample that all its parts share.
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
        return composition.compose(*[part.guarantee() for part in self.parts])

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw every part on every dataset, with independent randomness: one field a part."""
        if len({part.acts_on_records for part in self.parts}) > 1:
            silent = [str(i) for i, part in enumerate(self.parts) if not part.acts_on_records]
            allowed = "given for all parts or for none, in order to run"
            raise ParameterError("query", None, allowed, f"parts without one: {', '.join(silent)}")
        return join([part.draw(datasets, count, rng) for part in self.parts], axes=2)


def compose(*mechanisms: Mechanism[R]) -> Composed[R]:
    """Release the outputs of several mechanisms on the same data, under one relation, as a tuple.

    Statement: which mechanisms run, and all their parameters, are fixed before any output is seen.
        Choosing any of that, or whether to go on, after looking needs a privacy filter or odometer.
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
        required_base(self.base)
        object.__setattr__(self, "count", arguments.count(count=self.count))

    def guarantee(self) -> Guarantee[R]:
        """Return the ``count``-fold composition of the base's guarantee with itself."""
        return composition.self_compose(self.base.guarantee(), self.count)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw outputs of shape (self.count, ...), each with fresh randomness and fresh samples."""
        outputs = self.base.draw(datasets, count * self.count, rng)
        return outputs.reshape(len(datasets), count, self.count, *outputs.shape[2:])


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
        """Draw once for every output of the first mechanism, shape (count, ...), on these data."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Chained(Mechanism[R]):
    """Run a mechanism, then another one that sees its output; both outputs are released.

    Statement: the composition of both guarantees. Given any output of the first part, the second
        one is a mechanism on the data with a guarantee fixed in advance, which is what adaptive
        composition asks for.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Theorem 10; for mu-GDP Dong, Roth & Su,
        arXiv:1905.02383, Corollary 3.3; proofs/theory/learners.md, Lemma 7.

    Args:
        first: a mechanism on records.
        then: the second part, such as ``NoisyMistakes``; the output is a pair of both outputs.
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
        return composition.compose(self.first.guarantee(), self.then.guarantee())

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the first part on every dataset, then the second on the dataset and that output."""
        first = self.first.draw(datasets, count, rng)
        pairs = zip(datasets, first, strict=True)
        then = np.stack([self.then.draw(data, outputs, rng) for data, outputs in pairs])
        return join([first, then], axes=2)


@final
@frozen(repr=False, field_transformer=parameters.named)
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
        return composition.post_process(self.noise.guarantee(), description=f"clamping to {ends}")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw from the noise and clamp the outputs: float64."""
        drawn = self.noise.draw(datasets, count, rng)
        if drawn.dtype.names is not None:
            allowed = "a mechanism that releases numbers, not several outputs"
            raise ParameterError("noise", self.noise, allowed)
        return np.clip(drawn.astype(np.float64), float(self.lower), float(self.upper))


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
    Raises:
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


@final
@dataclass(frozen=True, slots=True)
class Selected(Rerun[R]):
    """The base run a random number of times, the output of largest score released.

    The other outputs, their scores and the number of runs are not released. The score sees an
    output alone: to select by accuracy, let the base release a private estimate of it beside its
    model, and score that. Of equally good outputs the first is taken, as runs are exchangeable.

    Where the law allows no run at all, an output is a pair (ran, output): (True, the best), or
    (False, a placeholder of zeros) when nothing was run. Elsewhere it is the best output alone.

    Built by ``.select``. The larger the score the better; None is for outputs that are one number.

    Laws: with one run this is the base.
    Example:
        >>> from dpproof.accountant.run_counts.law import FixedRuns
        >>> from dpproof.accountant.sensitivity import L2
        >>> from dpproof.mechanisms import Gaussian
        >>> noise = Gaussian(sigma=1, sensitivity=L2(1))
        >>> type(noise.select(FixedRuns(count=3)).release(0.0)).__name__
        'float'
    """

    base: Mechanism[R]
    runs: RunLaw
    score: Score | None = None

    def __post_init__(self) -> None:
        required_base(self.base)
        required_runs(self.runs)
        required_score(self.score)

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee for the best of the runs, whatever the score."""
        return select(self.base.guarantee(), self.runs)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the number of runs and the runs themselves anew for every output."""
        drawn = [self._best(data, run_count(self.runs, count, rng), rng) for data in datasets]
        best = np.stack([output[1] for output in drawn])
        if self.runs.probability_of_none == 0.0:
            return best
        return join([np.stack([output[0] for output in drawn]), best], axes=2)

    def _best(self, data: object, numbers_of_runs: Outputs, rng: Rng) -> tuple[Outputs, Outputs]:
        """Return for each number of runs whether there was one, and the best output, or zeros."""
        total = int(numbers_of_runs.sum())
        outputs = self.base.draw([data], max(total, 1), rng)[0]
        best = np.zeros((numbers_of_runs.size, *outputs.shape[1:]), dtype=outputs.dtype)
        ran = numbers_of_runs > 0
        if self.score is None and outputs.ndim == 1 and outputs.dtype.kind in "iuf":
            best[ran] = _largest(outputs[:total], numbers_of_runs[ran])
            return ran, best
        end = 0
        for i, runs in enumerate(numbers_of_runs):
            start, end = end, end + int(runs)
            if runs:
                scores = [scored(self.score, unpack(output)) for output in outputs[start:end]]
                best[i] = outputs[start + max(range(int(runs)), key=scores.__getitem__)]
        return ran, best


def _largest(outputs: Outputs, runs: Outputs) -> Outputs:
    """Return the largest of each number of runs, all above 0, of consecutive outputs."""
    for wrong in outputs[np.isnan(outputs)][:1]:
        scored(None, unpack(wrong))
    starts = np.cumsum(runs) - runs
    return np.maximum.reduceat(outputs, starts) if runs.size else outputs[:0]


@final
@dataclass(frozen=True, slots=True)
class Thresholded(Rerun[R]):
    """The base run until an output's score reaches a threshold, at most a random number of times.

    An output is a pair (found, output): (True, the first that was good enough), or (False, a
    placeholder of zeros). The number of runs is not released, nor how long they took.

    Built by ``.select_above``. No score, None, is for outputs that are one number.

    Laws: with a threshold below every score this is the base, where one run is certain.
    Example:
        >>> from dpproof.accountant.run_counts.law import FixedRuns
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import RandomizedResponse
        >>> coin = RandomizedResponse(epsilon=1, categories=2, relation=AddRemove())
        >>> coin.select_above(FixedRuns(count=99), threshold=1).release(1)
        (True, 1)
    """

    base: Mechanism[R]
    runs: RunLaw
    threshold: float
    score: Score | None = None

    def __post_init__(self) -> None:
        required_base(self.base)
        required_runs(self.runs)
        threshold: object = self.threshold
        if not isinstance(threshold, numbers.Real) or math.isnan(threshold):
            raise ParameterError("threshold", threshold, "a number")
        required_score(self.score)

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee for the first good run, whatever score and threshold are."""
        return select_above(self.base.guarantee(), self.runs)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw fresh runs for every output, none after the one that is released."""
        drawn = [self._first(data, run_count(self.runs, count, rng), rng) for data in datasets]
        return join([np.stack(parts) for parts in zip(*drawn, strict=True)], axes=2)

    def _first(self, data: object, most: Outputs, rng: Rng) -> tuple[Outputs, Outputs]:
        """Return per number of runs whether one reached the threshold, and its output or zeros."""
        successes = np.zeros(most.size, dtype=bool)
        like = self.base.draw([data], 1, rng)[0]  # only its shape is used
        kept = np.zeros((most.size, *like.shape[1:]), dtype=like.dtype)
        running, made = np.flatnonzero(most > 0), 0
        while running.size:
            outputs = self.base.draw([data], running.size, rng)[0]
            scores = [scored(self.score, unpack(output)) for output in outputs]
            good = np.array([value >= self.threshold for value in scores], dtype=bool)
            successes[running[good]] = True
            kept[running[good]] = outputs[good]
            made += 1
            running = running[~good]
            running = running[most[running] > made]
        return successes, kept
