"""The base classes of mechanisms: parameters, a stated guarantee, a sampler that meets it, outputs.

One output is a number, an array of numbers, a tuple of outputs (a composition), or a record with
named fields (a learner). Tuples and records are kept as numpy structured arrays with one field a
part, so that a million outputs stay one array; the dtype of records is of type ``numpy.record``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof import mechanisms
from dpproof.accountant import DominatingPair, ParameterError, RunLaw, arguments
from dpproof.accountant.form import Withholding
from dpproof.accountant.guarantees.derivation import Attained, Parameter, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee, applied
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import R
from dpproof.accountant.sampling import CyclicPoisson, EpochScheme, SamplingScheme, Shuffle
from dpproof.accountant.sensitivity import Change
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import Blocks, NeedsAllRecords
from dpproof.mechanisms.queries import SUMS, Query
from dpproof.mechanisms.samplers import Rng, as_rng

if TYPE_CHECKING:
    from dpproof.mechanisms import Allocated, Repeated, Selected, Shuffled, Subsampled, Thresholded
    from dpproof.mechanisms.queries import Score


# An output's type belongs to the mechanism: float, int, an array of them, or a tuple of outputs.
Output: TypeAlias = Any
Outputs: TypeAlias = NDArray[Any]


def join(parts: Sequence[Outputs], axes: int) -> Outputs:
    """Pair up the outputs of several mechanisms: one structured array with one field a part."""
    return _filled(np.empty, axes, {str(i): part for i, part in enumerate(parts)})


def record(axes: int, **columns: NDArray[Any]) -> Outputs:
    """Return outputs with named fields, whose first axes they share: ``release`` gives records."""
    return np.asarray(_filled(np.recarray, axes, columns))


def _filled(make: Callable[..., Outputs], axes: int, columns: Mapping[str, Outputs]) -> Outputs:
    fields = [(name, one.dtype, one.shape[axes:]) for name, one in columns.items()]
    outputs = make(next(iter(columns.values())).shape[:axes], dtype=np.dtype(fields))
    for name, one in columns.items():
        outputs[name] = one
    return outputs


def unpack(output: Output) -> Output:
    """Return one output by itself: a number of any size, an array, a tuple, or a record."""
    if not isinstance(output, np.ndarray | np.generic):
        return output
    array = np.asarray(output)
    if array.ndim or output.dtype == object or issubclass(output.dtype.type, np.record):
        return array[()]  # an element by itself, or the array as it is
    if array.dtype.names is not None:
        return tuple(unpack(np.asarray(array[name])) for name in array.dtype.names)
    return array.item()


def flatten(outputs: Outputs) -> NDArray[np.float64]:
    """Flatten outputs to floats, (size,) for scalars, else (size, coordinates): post-processing."""
    if outputs.dtype.names is None and outputs.ndim == 1:
        return outputs.astype(np.float64)
    return np.concatenate(_columns(outputs, len(outputs)), axis=1)


def _columns(outputs: Outputs, size: int) -> list[NDArray[np.float64]]:
    if outputs.dtype.names is None:
        return [outputs.astype(np.float64).reshape(size, -1)]
    rows = outputs.reshape(size, -1)
    return [
        column
        for j in range(rows.shape[1])
        for name in outputs.dtype.names
        for column in _columns(np.ascontiguousarray(rows[name][:, j]), size)
    ]


class Mechanism(Withholding, Readable, ABC, Generic[R]):
    """A randomised computation on data, together with what it guarantees.

    A mechanism is abstract or final, frozen, and generic over its neighbouring relation. Final
    classes implement ``relation``, ``guarantee`` and ``draw``; everything else follows: releases,
    composition, subsampling, selection, certificates and audits. ``examples/unrelated_question.py``
    is one outside of the package, and its test runs the contract of all mechanisms on it.

    Derive from ``QueryMechanism`` what acts on a query's value, from ``NoiseMechanism`` what also
    states a sensitivity, and from ``Mechanism`` what acts on records. A parameter outside its
    domain is refused by ``ParameterError``. ``guarantee`` returns what
    mechanisms and theorems here state of the same laws, as ``FiniteMechanism(table).guarantee()``;
    one that only states numbers, ``PureDP(epsilon=1)``, can be composed and audited, and its
    certificate says that it was assumed.

    Law: ``guarantee`` is a statement about the distribution of ``draw``'s outputs, for every pair
    of neighbouring datasets on which the derivation's assumptions hold.
    """

    __slots__ = ()

    whole: ClassVar[str] = "its outputs are not known to follow from a sum over records"

    @property
    @abstractmethod
    def relation(self) -> R:
        """Return the relation that decides which datasets are neighbours."""

    @property
    def acts_on_records(self) -> bool:
        """Return whether the data is a sequence of records; False for one value of a query."""
        return True

    @property
    def needs_all(self) -> str:
        """Return why ``release`` takes no ``Blocks``; empty if it does."""
        parts = *getattr(self, "parts", ()), getattr(self, "base", None)
        return self.whole or next((one.needs_all for one in parts if one and one.needs_all), "")

    @abstractmethod
    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the outputs, derived, in the most informative notion."""

    @abstractmethod
    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw ``count`` independent outputs on each dataset: shape (datasets, count, ...).

        A dataset is the query's value for a noise mechanism without a query. ``rng`` is the only
        source of randomness.
        """

    @final
    def release(self, data: object, *, rng: Rng | np.random.Generator | None = None) -> Output:
        """Draw one output; this is what the guarantee speaks of.

        Args:
            data: the dataset, or the query's value for a noise mechanism without a query.
            rng: source of randomness; None is the operating system's cryptographic generator.
                A seeded generator makes the noise predictable to whoever knows the seed.
        Raises:
            DataError: the data does not fit the mechanism, or the query raised an error. It shows
                no value. Whether it is raised depends on the data and is covered by no guarantee:
                make the query total (clip, replace nan).
        """
        return unpack(self.release_many(data, 1, rng=rng)[0])

    @final
    def release_many(
        self, data: object, size: int, *, rng: Rng | np.random.Generator | None = None
    ) -> Outputs:
        """Draw ``size`` independent outputs, for tests and audits.

        Publishing them costs what ``repeat(size)`` costs. The first axis is the outputs; a
        composition gives a structured array with one field a part.
        """
        if isinstance(data, Blocks) and data.records is None and self.needs_all:
            raise NeedsAllRecords(f"{type(self).__name__} takes no blocks: {self.needs_all}")
        return np.asarray(self.draw([data], arguments.count(size=size), as_rng(rng))[0])

    @final
    def _dominated(
        self,
        theorem: Theorem,
        statement: str,
        forward: Product,
        *,
        assumptions: tuple[str, ...],
        backward: Product | None = None,
        attained: Attained | None = None,
        **given: Parameter,
    ) -> DominatingPair[R]:
        """State that a pair dominates neighbours, in both orders unless another one is given."""
        derivation = applied(
            theorem, statement, assumptions=assumptions, attained=attained, **given
        )
        return DominatingPair(
            forward=forward,
            backward=forward if backward is None else backward,
            relation=self.relation,
            derivation=derivation,
        )

    @final
    def sampler(self) -> MechanismSampler[R]:
        """Return the callable ``(data, size, rng)`` that audits expect."""
        return MechanismSampler(self)

    @final
    def subsample(self, scheme: SamplingScheme) -> Subsampled[R]:
        """Return this mechanism on a random sample of the records, drawn afresh for every output.

        Its ``guarantee`` raises NotImplied where no theorem covers the scheme under this
        mechanism's relation. Gaussian sums whose sensitivity is an ``L2Contribution`` have most:
        a fixed size and repeated draws under add-remove, Poisson under replace-one.
        """
        return mechanisms.Subsampled(self, scheme)

    @final
    def allocate(self, scheme: EpochScheme | CyclicPoisson) -> Allocated[R]:
        """Return this mechanism on every batch of an epoch, as a scheme allocates all records.

        ``CyclicPoisson`` is for ``MatrixMechanism``: all its rounds, each on a sample of a part.

        Its ``guarantee`` raises NotImplied where no theorem covers the scheme. Shuffled batches
        take Gaussian sums whose sensitivity is an ``L2Contribution``, not under add-remove; random
        allocation takes Gaussian noise and bounded losses, under replace-one such sums alone.
        """
        return mechanisms.Allocated(self, scheme)

    @final
    def shuffle(self, scheme: Shuffle) -> Shuffled[R]:
        """Return this mechanism on every record alone, its reports released in a random order.

        Its ``guarantee`` raises NotImplied for all but local mechanisms, and under all relations
        but replace-one.
        """
        return mechanisms.Shuffled(self, scheme)

    @final
    def repeat(self, count: int) -> Repeated[R]:
        """Return this mechanism ``count`` times with fresh randomness, all outputs released."""
        return mechanisms.Repeated(self, count)

    @final
    def select(self, runs: RunLaw, *, score: Score | None = None) -> Selected[R]:
        """Return a mechanism that releases only the best output of a random number of runs.

        The law of the number of runs looks neither at data nor at outputs. The score is from an
        output to a number, the larger the better; None where the output is one number.
        """
        return mechanisms.Selected(self, runs, score)

    @final
    def select_above(
        self, runs: RunLaw, *, threshold: float, score: Score | None = None
    ) -> Thresholded[R]:
        """Return a mechanism that releases the first output to score at or above a threshold.

        As ``select``; the law is of the most runs made, and the threshold must not look at data.
        """
        return mechanisms.Thresholded(self, runs, threshold, score)


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class QueryMechanism(Mechanism[R], ABC):
    """A mechanism on the value of a query of the data; ``None``: the data is that value already."""

    query: Query | None = field(default=None, converter=parameters.query)

    @property
    @final
    def acts_on_records(self) -> bool:
        """Return whether the mechanism carries its query."""
        return self.query is not None

    @property
    def needs_all(self) -> str:
        """Return why ``release`` takes no ``Blocks``: its query is not known to be a sum."""
        return (
            "" if isinstance(self.query, SUMS) else "its query is not Count, ClippedSum or Additive"
        )


def required_base(base: object) -> None:
    """Refuse anything but a mechanism, of what is built from one."""
    if not isinstance(base, Mechanism):
        raise ParameterError("base", base, "a mechanism")


class NoiseMechanism(QueryMechanism[R], ABC):
    """A mechanism on a value whose largest change between neighbours is stated."""

    __slots__ = ()

    @property
    @abstractmethod
    def sensitivity(self) -> Change[R]:
        """Return the largest change of the query's value between neighbours, with its relation."""

    @property
    def relation(self) -> R:
        """Return the relation that the sensitivity speaks of."""
        return self.sensitivity.relation


@final
@dataclass(frozen=True, slots=True)
class MechanismSampler(Generic[R]):
    """A mechanism as the callable that audits expect; picklable when the mechanism is."""

    mechanism: Mechanism[R]

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw ``size`` outputs: shape (size,) for scalars, else (size, coordinates)."""
        return flatten(self.mechanism.release_many(data, size, rng=rng))
