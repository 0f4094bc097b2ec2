"""Private perceptrons: two classes, several by Kesler's construction, and noisy means."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias, final, get_args

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import L2, Guarantee, post_process
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning import bounded_updates
from dpproof.mechanisms.learning.records import (
    MOST_CLASSES,
    PRODUCT_BITS,
    RECORD_BITS,
    SEVERAL_CLASSES,
    STATE_BITS,
    GridRecords,
    Integers,
    Matrix,
    Vectors,
    class_numbers,
    on_grid,
    row_width,
    unit_rows,
)
from dpproof.mechanisms.learning.stops import Stop
from dpproof.mechanisms.mechanism import Mechanism, Outputs, record
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.samplers import Rng, gaussian_rounded, repeated_values, with_noise

MarginNorm: TypeAlias = Literal["l2", "linf"]
"""The norm in which a record has to be far from the border: Euclidean, or largest coordinate."""

# Only utility depends on it: no product of a record and a state reaches this many times the norm.
_UNREACHABLE = 2


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Perceptron(bounded_updates.StepLearner[R], ABC):
    """A learner that adds up margin mistakes with Gaussian noise, a fixed number of times."""

    margin: Fraction = field(converter=parameters.non_negative)
    stop: Stop | None = field(default=None)
    iterates: bool = field(default=False, converter=parameters.flag)
    margin_norm: MarginNorm = field(
        default="l2", validator=parameters.one_of(*get_args(MarginNorm))
    )

    @stop.validator
    def _is_rule(self, _parameter: object, stop: object) -> None:
        if stop is not None and not isinstance(stop, Stop):
            allowed = "a rule such as GaussianStop(...), NormStop(...), ChooseIterate(...), or None"
            raise ParameterError("stop", stop, allowed)

    @abstractmethod
    def _squared_bound(self) -> int:
        """Return a bound of the squared norm of one record's contribution, in units of norm^2."""

    @final
    def sums(self) -> bounded_updates.NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        bound = self._squared_bound()
        sums = bounded_updates.StepLearner.sums(self)
        return replace(sums, squared_bound=bound, stop=self.stop, iterates=self.iterates)

    @final
    def _relative_margin(self) -> Fraction:
        """Return the margin in units of the norm bound, at most a value that no record reaches."""
        return min(self.margin / self._unit, Fraction(_UNREACHABLE))


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class BatchPerceptron(Perceptron[R]):
    """Learn a halfspace: add up the margin mistakes of a sample, with Gaussian noise, T times.

    Start from w = 0. In every step draw a sample, and add to w the sum of y x over its records with
    y <w / ||w||, x> <= margin (all of them if w = 0) and N(0, sigma^2 I). Every noisy sum is paid
    for, so every state may be released.

    Statement: one record moves the sum of a step by at most ``norm`` in Euclidean norm, twice that
        under replace-one, whatever was released before. With rate 1 the run is mu-GDP with
        mu = sqrt(steps) sensitivity / sigma; below 1 it is dominated by the pair of one
        Poisson-sampled Gaussian sum, ``steps`` times.
    Source: Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Algorithm 1; the accounting is
        Theorem A of proofs/theory/learners.md.

    Args:
        margin: at least 0, in data units: a record less far inside its halfspace is a mistake.
        steps: T, fixed in advance.
        sigma: standard deviation of the noise on a sum, in data units, in [2^-300, 2^300].
        rate: every record is in a sample independently with this probability, in (0, 1]. It has to
            be a constant: computed from the number of records, which is private, it leaks that.
        norm: rows are clipped to this Euclidean norm, in data units. None scales every row to
            norm 1; the margin is then the cosine of an angle.
        stop: a test that may end the run before its last step, or ``ChooseIterate``; None makes
            all steps. All steps are paid for.
        average: whether the weights are the mean of the last half of the states, or the last; of a
            stopped run they are the state that its test approved. Neither costs anything.
        features: the width of a row; None takes it from the array.
        batch: fixed-size samples in place of Poisson ones, under replace-one only: every step takes
            a fresh uniform subset of exactly ``sample_size`` of the ``population_size`` records.
        margin_norm: ``"l2"``, or ``"linf"`` to learn from every record that is called otherwise if
            its coordinates move by ``margin``: those with y <w, x> <= margin ||w||_1.
        iterates: whether to release the state after every step as well, which costs nothing.
    Outputs:
        A record with ``stopped``, ``steps`` (made before it stopped, or the number of the state
        picked), ``weights`` and, if asked for, ``iterates``, nan from where a run stopped.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
        NotImplied: on guarantee, a Laplace test on samples under replace-one.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> given = {"margin": 0.1, "features": 2, "relation": AddRemove()}
        >>> learner = BatchPerceptron(**given, steps=100, sigma=40)
        >>> learner.guarantee().mu
        Fraction(1, 4)
        >>> learner.release([([0.6, 0.8], 1), ([-1.0, 0.0], -1)]).weights.shape
        (2,)
    """

    def _squared_bound(self) -> int:
        """Return 1: a mistake contributes y x, of norm at most ``norm``."""
        return 1

    def _contributions(self, records: GridRecords) -> bounded_updates.Contributions:
        margin = self._relative_margin()
        if self.margin_norm == "linf":
            return bounded_updates.mistakes_of_coordinates(records, float(margin))
        return bounded_updates.mistakes_within(records, float(math.floor(margin * 2**PRODUCT_BITS)))


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class KeslerPerceptron(Perceptron[R]):
    """Learn one weight vector per class: a mistake pulls its class and pushes one rival.

    For a record of class y let r be the other class with the least normalised margin
    <w_y - w_r, x> / ||w_y - w_r|| (0 if the two are equal; the smallest index among ties). If it
    is at most ``margin``, the record contributes x to w_y and -x to w_r. All weight vectors
    together are one state, so ten classes cost one budget and not ten.

    Statement: one record moves the stacked sum of a step by at most sqrt(2) ``norm`` in Euclidean
        norm, twice that under replace-one, whatever was released before; both are attained.
    Source: Theorem A of proofs/theory/learners.md; the batch perceptron is Ghazi, Kumar,
        Manurangsi & Nguyen, arXiv:2011.14580, Algorithm 1; the construction is Kesler's (Duda &
        Hart 1973, section 5.12).

    Args:
        classes: k, from 2; labels are the class numbers 0 to k - 1.
        margin, steps, sigma, rate, norm, relation, stop, average, features, batch, iterates,
            margin_norm: as for ``BatchPerceptron``, with differences of two classes' weights.
    Outputs:
        As of ``BatchPerceptron``, with ``weights`` of shape (k, features).
    Raises:
        ParameterError: as for ``BatchPerceptron``.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> given = {"margin": 0.1, "features": 2, "relation": AddRemove()}
        >>> learner = KeslerPerceptron(**given, classes=3, steps=50, sigma=40)
        >>> round(float(learner.guarantee().mu), 6)
        0.25
        >>> learner.release([([0.6, 0.8], 2), ([-1.0, 0.0], 0)]).weights.shape
        (3, 2)
    """

    classes: int = field(converter=parameters.count, validator=SEVERAL_CLASSES)

    def _squared_bound(self) -> int:
        """Return 2: a mistake contributes x to one class and -x to another."""
        return 2

    def _encode(self, labels: Vectors) -> Integers:
        """Return the class numbers that the labels are."""
        return class_numbers(labels, self.classes)

    def _contributions(self, records: GridRecords) -> bounded_updates.Contributions:
        limit = float(self._relative_margin() * 2**RECORD_BITS)
        order = 1 if self.margin_norm == "linf" else 2
        return _Mistakes(records, self.classes, limit, order)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Mistakes(bounded_updates.Contributions):
    """Records that a rival class wins, or within a limit in 2^-24 of a norm of the order 1 or 2."""

    grid: GridRecords
    classes: int
    limit: float
    order: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.classes, self.grid.vectors.shape[1])

    def at(self, states: Vectors) -> bounded_updates.Adding:
        """Return what adds up the mistakes: scores are exact integers, one product for all."""
        # From there on every operation acts on one record's numbers alone and rounds correctly.
        runs = len(states)
        stacked = unit_rows(states.reshape(runs, -1), STATE_BITS)
        between = _distances(stacked.reshape(runs, self.classes, -1), self.order)
        directions = stacked.reshape(runs * self.classes, -1).T

        def add(
            vectors: Matrix, own: Integers, chosen: NDArray[np.bool_] | None
        ) -> tuple[Vectors, Integers]:
            each = np.arange(len(own))
            scores = (vectors @ directions).reshape(len(own), runs, self.classes)
            gaps = scores[each, :, own][:, :, np.newaxis] - scores
            lengths = between[:, own].swapaxes(0, 1)
            margins = np.divide(gaps, lengths, out=np.zeros_like(gaps), where=lengths > 0)
            margins[each, :, own] = np.inf
            rivals = margins.argmin(axis=2)
            mistakes = margins.min(axis=2) <= self.limit
            if chosen is not None:
                mistakes &= chosen.T
            signs = np.zeros(scores.shape)
            np.put_along_axis(signs, rivals[:, :, np.newaxis], -1.0, axis=2)
            signs[each, :, own] = 1.0
            signs *= mistakes[:, :, np.newaxis]
            return signs.reshape(len(own), directions.shape[1]).T @ vectors, mistakes.sum(axis=0)

        return add


def _distances(directions: Vectors, order: int) -> Vectors:
    """Return distances between the classes' weight vectors: shape (runs, classes, classes)."""
    return np.stack(
        [
            np.linalg.norm(directions - directions[:, [c]], ord=order, axis=2)
            for c in range(directions.shape[1])
        ],
        axis=1,
    )


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class MeanHalfspace(bounded_updates.SumLearner[R]):
    """Learn a halfspace from the noisy sum of y x over all records, released once.

    A perceptron of margin norm or more makes every record a mistake in every step, so it is this
    sum with more noise.

    Statement: the sum moves by at most ``norm``, twice that under replace-one, so the weights are
        mu-GDP with mu = norm / sigma, or twice that.
    Source: Theorem A of proofs/theory/learners.md with one step.

    Args:
        sigma, norm, relation, features: as for ``BatchPerceptron``.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` (1) and ``weights``, shape (features,).
    Raises:
        ParameterError: as for ``BatchPerceptron``.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> MeanHalfspace(sigma=4, relation=AddRemove()).guarantee().mu
        Fraction(1, 4)
    """

    sigma: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    average: bool = field(init=False, default=False)

    def sums(self) -> bounded_updates.NoisySums[R]:
        """Return the one noisy sum that a run releases."""
        return bounded_updates.NoisySums(
            steps=1, sigma=self.sigma, norm=self._unit, relation=self.relation
        )

    def _contributions(self, records: GridRecords) -> bounded_updates.Contributions:
        """Return the contributions of all records, whatever the state."""
        return bounded_updates.mistakes_within(records, np.inf)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ClassMeans(Mechanism[R]):
    """Release the sum of the rows and the number of records of every class, once, with noise.

    Classify a row x by the class of largest <mean, x> - ||mean||^2 / 2, the nearest mean.

    Statement: with the counts scaled by a = sigma / count_sigma, a record contributes (x, a) to
        one class, of norm at most sqrt(norm^2 + a^2). Under replace-one a record that changes its
        class moves two of them: max(2 norm, sqrt(2) sqrt(norm^2 + a^2)).
    Source: proofs/theory/learners.md, Lemma 6.

    Args:
        classes: k, from 1; labels are the class numbers 0 to k - 1.
        sigma: standard deviation of the noise on the sums, in data units.
        count_sigma: of the noise on the counts, in records; by default sigma / norm: a = norm.
        norm, relation, features: as for ``BatchPerceptron``.
    Outputs:
        A record with fields ``means``, shape (k, features), and ``counts``, shape (k,): a noisy sum
        divided by its noisy count, taken as at least 1, and the noisy count.
    Raises:
        ParameterError: as for ``BatchPerceptron``.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> round(float(ClassMeans(classes=10, sigma=4, relation=AddRemove()).guarantee().mu), 6)
        0.353553
    """

    whole = ""

    classes: int = field(
        converter=parameters.count,
        validator=parameters.within(1, MOST_CLASSES, f"at least 1 and at most {MOST_CLASSES}"),
    )
    sigma: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    count_sigma: Fraction = field(converter=parameters.scale)
    relation: R = field(validator=parameters.neighbours)
    features: int | None = field(default=None, converter=row_width)

    @count_sigma.default
    def _as_large(self) -> Fraction:
        return self.sigma / self._unit

    @property
    def sensitivity(self) -> L2[R]:
        """Return how far the sums and the scaled counts move together, in data units."""
        squared = self._unit**2 + (self.sigma / self.count_sigma) ** 2
        if self.relation.symmetric:
            return L2(sqrt_up(max(4 * self._unit**2, 2 * squared)), self.relation)
        return L2(sqrt_up(squared), self.relation)

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP with mu = sensitivity / sigma."""
        noise = Gaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        return post_process(noise.guarantee(), description="dividing noisy sums by noisy counts")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Release ``count`` times on each dataset: records of shape (len(datasets), count)."""
        totals = [self.totals(data) for data in datasets]
        sums = repeated_values(np.stack([total for total, _ in totals]), count)
        counts = repeated_values(np.stack([number for _, number in totals]), count)
        means, numbers = self.released(sums, counts, rng)
        return record(2, means=means, counts=numbers)

    def released(self, sums: Vectors, counts: Vectors, rng: Rng) -> tuple[Vectors, Vectors]:
        """Return noisy means and counts from exact sums and counts, each with fresh noise."""
        means = with_noise(gaussian_rounded, sums * 2.0**-RECORD_BITS, self.sigma / self._unit, rng)
        numbers = with_noise(gaussian_rounded, counts, self.count_sigma, rng)
        return means * float(self._unit) / np.maximum(numbers, 1.0)[..., np.newaxis], numbers

    def totals(self, data: object) -> tuple[Vectors, Vectors]:
        """Return the exact sums on the grid, in units of norm 2^-24, and the exact counts."""
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        _, sums, counts = blocks.sum(self._totals)
        return sums, counts

    def _totals(self, data: object) -> tuple[int, Vectors, Vectors]:
        """Return the number of records, and the exact sums and counts of every class."""
        encode = functools.partial(class_numbers, classes=self.classes)
        records = on_grid(data, encode, norm=self.norm, features=self.features, compact=True)
        sums = np.zeros((self.classes, records.vectors.shape[1]))
        counts = np.zeros(self.classes)
        for vectors, classes, _ in records.pieces():
            some, number = members(vectors, classes, self.classes)
            sums += some
            counts += number
        return records.total, sums, counts

    @property
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units: 1 if rows are scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm


def members(vectors: Matrix, classes: NDArray[np.int64], number: int) -> tuple[Vectors, Vectors]:
    """Return the exact sums and counts of so many classes, for each of the leading axes."""
    member = (classes[..., np.newaxis, :] == np.arange(number)[:, np.newaxis]).astype(np.float64)
    return member @ vectors, member.sum(axis=-1)
