"""Descent by noisy steps: on a hinge loss, or multinomial logistic regression of all classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import Guarantee, ParameterError, arguments as check, post_process
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import AddRemove, R, ZeroOut
from dpproof.accountant.sensitivity import L2, L2Contribution
from dpproof.accountant.theorems.parallel import parallel_positions
from dpproof.accountant.theorems.subsampling import repeated_positions
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning import bounded_updates
from dpproof.mechanisms.learning.bounded_updates import (
    Contributions,
    HalfspaceMistakes,
    NoisySums,
    SumLearner,
    hinge_limits,
    learned,
    mapped_back,
    signed,
    signs,
)
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap, fits_rows
from dpproof.mechanisms.learning.records import (
    RECORD_BITS,
    SEVERAL_CLASSES,
    STATE_BITS,
    GridRecords,
    Integers,
    Matrix,
    Vectors,
    class_numbers,
    is_sparse,
    on_grid,
    unit_rows,
)
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.samplers import Rng, gaussian_rounded, uniform_below, with_noise
from dpproof.mechanisms.samplers.arrays import scale as noise_scale

# Above Euler's constant, and above 4 + 1 + 1/4 + 1/9 + ...: Theorem 2' of margins.md.
_EULER: Final = 0.5772156650
_SQUARES: Final = 5.645


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class MarginDescent(SumLearner[R]):
    """Learn a halfspace by noisy subgradient steps on the hinge loss max(0, 1 - y <w, x> / margin).

    Map every row, clip it to ``norm``, start from w = 0, and ``steps`` times add up y x over all
    records with y <w, x> < margin, and move w by a constant times that sum plus N(0, sigma^2 I).

    Statement: one record moves a sum by at most C = norm, by 2 C under replace-one and
        replace-label, for every map, as rows are clipped after mapping. With
        sigma = sensitivity sqrt(steps) / mu all noisy sums together are mu-GDP, and so is every
        function of them. Opposite records attain it.
    Source: the algorithms are Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 2, and Wang,
        Zhu & Wang, arXiv:2505.24737, Algorithm 1, with one solver for both; the accounting is
        Theorem A of proofs/theory/learners.md, the utility proofs/theory/margins.md, section 2.

    Args:
        margin: of the hinge, above 0, in units of mapped rows.
        norm: mapped rows are clipped to this Euclidean norm.
        steps: T, fixed in advance.
        mu: of the whole run; sigma follows, rounded up.
        map: from rows to rows; None is the identity.
        relation: the neighbouring relation. Under add-remove and zero-out ``records`` is
            needed; under the others the number of records is public.
        records: a public number of records at or above the true one, for the step size only;
            None takes the number of records, malformed ones included.
        radius: of the reference halfspace, for the step size.
        average: whether the weights are the mean of all states, w = 0 included, or the last state.
        features: the width of a row; None takes it from the map or the array.
    Outputs:
        A record with ``stopped`` (False), ``steps`` and ``weights``, for mapped rows if the map is
        not linear.
    Raises:
        ParameterError: as for ``BatchPerceptron``.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> given = {"margin": 0.125, "norm": 1, "relation": ReplaceOne()}
        >>> learner = MarginDescent(**given, steps=100, mu=0.25)
        >>> learner.guarantee().mu, learner.sigma
        (Fraction(1, 4), Fraction(80, 1))
    """

    margin: Fraction = field(converter=parameters.positive)
    norm: Fraction = field(converter=parameters.scale)
    steps: int = field(converter=parameters.count)
    mu: Fraction = field(converter=parameters.positive)
    map: FeatureMap | None = field(default=None, validator=fits_rows)
    records: int | None = field(default=None, converter=parameters.optional_count)
    radius: Fraction = field(default=Fraction(1), converter=parameters.positive)

    @records.validator
    def _is_public(self, _parameter: object, records: int | None) -> None:
        if records is None and isinstance(self.relation, AddRemove | ZeroOut):
            hint = "the number of records is private there, and the learner would show it"
            raise ParameterError("records", None, f"a public number under {self.relation}", hint)

    def __attrs_post_init__(self) -> None:
        noise_scale(sigma=self.sigma)

    @property
    def sensitivity(self) -> Fraction:
        """Return how far one record moves a sum between neighbours, in units of mapped rows."""
        return L2Contribution(self.norm, self.relation).as_l2().value

    @property
    def sigma(self) -> Fraction:
        """Return the noise's deviation on a sum: sensitivity sqrt(steps) / mu, rounded up."""
        return sqrt_up(self.sensitivity**2 * self.steps / self.mu**2)

    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        return NoisySums(
            steps=self.steps, sigma=self.sigma, norm=self.norm, relation=self.relation, whole=True
        )

    def excess(self, *, records: int, width: int, failure: Number | None = None) -> float:
        """Bound the released state's hinge loss beyond that of any reference w.

        Statement: for all w with ||w|| <= radius, E[sum of hinge(released)] <= sum of hinge(w) + c
            radius sqrt((G^2 + k s^2)/(T + 1)). Here G = n norm/margin, s = sigma/margin, k is the
            width of mapped rows, and n = ``records`` of the learner, at or above the true number; c
            is 1 for the mean state, and 1 + H/2 with H = 1 + 1/2 + ... + 1/T for the last one. With
            ``failure`` the last state has the bound of Theorem 2' with that probability missed.
            The mean state has no such bound, and refuses it.
        Source: proofs/theory/margins.md, Theorems 2 and 2'.
        Example:
            >>> from dpproof.accountant import ReplaceOne
            >>> given = {"margin": 0.5, "norm": 1, "mu": 1, "relation": ReplaceOne()}
            >>> round(MarginDescent(**given, steps=10_000).excess(records=1_000, width=4))
            22
        """
        size, s = self.records or records, float(self.sigma / self.margin)
        g = size * float(self.norm / self.margin)
        largest = math.hypot(g, math.sqrt(width) * s)
        doubled = 2.0 if self.average else 2 + _EULER + math.log(self.steps) + 0.5 / self.steps
        if failure is not None:
            if self.average:
                allowed = "None: a bound with a probability is proved for average=False"
                raise ParameterError("failure", failure, allowed)
            log = math.log(3 / float(check.open_probability(failure=failure)))
            tail = (2 * g + math.sqrt(2 * width) * s) * math.sqrt(2 * _SQUARES * log) + 8 * s * log
            doubled += 1 + s * tail / largest**2
        return float(self.radius) * largest / math.sqrt(self.steps + 1) * doubled / 2

    def mistakes(
        self, *, records: int, width: int, outliers: int = 0, failure: Number | None = None
    ) -> float:
        """Bound the expected mistakes, if all but some records have the hinge's margin.

        Statement: let some w with ||w|| <= radius have y <w, z> >= margin for the mapped and
            clipped rows z of all but ``outliers`` records. Then the released state is expected to
            err on at most outliers (1 + radius norm/margin) + ``excess``: a mistake has hinge at
            least 1. With ``failure`` it errs on no more but with that probability.
        Source: proofs/theory/margins.md, section 2; the form of Wang, Zhu & Wang,
            arXiv:2505.24737, Theorems 6.3 and 6.5, with our constants.
        """
        worst = 1 + float(self.radius * self.norm / self.margin)
        return outliers * worst + self.excess(records=records, width=width, failure=failure)

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP of the noisy sums, with the map in the derivation."""
        guarantee = SumLearner.guarantee(self)
        return guarantee if self.map is None else self.map.applied(guarantee)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        released = SumLearner.draw(self, datasets, count, rng)
        if not isinstance(self.map, LinearMap):
            return released
        return np.stack([mapped_back(self.map, runs) for runs in released])

    def _read(self, data: object) -> GridRecords:
        """Map the rows first, and put what comes out on the grid."""
        return mapped_records(data, self.map, self.norm, self.features, compact=True)

    def _contributions(self, records: GridRecords) -> Contributions:
        # The engine's states are w / norm, and the grid's rows x / norm.
        size, width = self.records or max(records.total, 1), records.vectors.shape[1]
        pace = float(self.radius) / (math.sqrt(self.steps + 1) * self._largest(size, width))

        limits = hinge_limits(float(self.margin / self.norm**2))
        return HalfspaceMistakes(records, limits, lambda states, sums: states + pace * sums)

    def _largest(self, records: int, width: int) -> float:
        """Return the root of the expected squared norm of a noisy sum, at most."""
        return math.hypot(records * float(self.norm), math.sqrt(width) * float(self.sigma))


def mapped_records(
    data: object,
    plan: FeatureMap | None,
    norm: Fraction,
    features: int | None,
    *,
    compact: bool = False,
) -> GridRecords:
    """Return records of labels 1 and -1, their rows mapped, clipped to ``norm``, on the grid."""
    read = data if plan is None else plan.records(data)
    width = features if plan is None else plan.output_features
    return on_grid(read, signs, norm=norm, features=width, compact=compact)


_PERMUTATION: Final = "permutation"
_REPLACEMENT: Final = "with-replacement"
_LEAST: Final = 4


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class PhasedHinge(Mechanism[R]):
    """Learn a halfspace in phases of one pass each, with Gaussian noise after every phase.

    Phase p = 1, ..., floor(log2 n) takes n_p = floor(n / 2^p) records. It makes a step of projected
    descent on the smoothed hinge for each, with a rate that falls by 4 from phase to phase. It
    releases the mean of its states plus noise, from which the next phase starts.

    Statement: with ``sampling="permutation"`` the phases see disjoint positions of a random
        permutation, so the run is mu-GDP (parallel composition by position). With
        ``"with-replacement"`` a position occurs C_p ~ Bin(n_p, 1/n) times in phase p, and
        delta(epsilon) is the mean of that of (mu sqrt(sum C_p^2))-GDP: about three times the
        epsilon at the same noise.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 4, which samples with replacement
        and prices it by a group of O(log 1/delta) records; the permutation is Feldman, Koren &
        Talwar, arXiv:2005.04763. Sensitivity and accounting: proofs/theory/margins.md, section 6,
        binary64 included.

    Args:
        margin, norm, map, relation, radius, features: as for ``MarginDescent``; add-remove is
            refused, as a record has no position there.
        mu: of the noise of one phase: what a record that occurs once costs.
        sampling: "permutation" or "with-replacement".
        records: n; None takes the number of records, which is public here. Sampling with
            replacement needs it, and then data of another size is refused.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` (phases) and ``weights``.
    Raises:
        ParameterError: as for ``BatchPerceptron``; data of another size, or below 4 records.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> given = {"margin": 0.1, "norm": 1, "mu": 0.1, "relation": ReplaceOne()}
        >>> float(PhasedHinge(**given).guarantee().mu)
        0.1
        >>> other = PhasedHinge(**given, sampling="with-replacement", records=10_000)
        >>> other.guarantee().epsilon(delta=1e-6).upper > 3 * 0.397
        True
    """

    whole = "it takes the records one after the other, in a random order"

    margin: Fraction = field(converter=parameters.scale)
    norm: Fraction = field(converter=parameters.scale)
    mu: Fraction = field(converter=parameters.scale)
    map: FeatureMap | None = field(default=None, validator=fits_rows)
    relation: R = field(validator=parameters.neighbours)
    records: int | None = field(default=None, converter=parameters.optional_count)
    radius: Fraction = field(default=Fraction(1), converter=parameters.scale)
    sampling: str = field(
        default=_PERMUTATION, validator=parameters.one_of(_PERMUTATION, _REPLACEMENT)
    )
    features: int | None = field(default=None, converter=parameters.optional_count)

    @relation.validator
    def _has_positions(self, _parameter: object, relation: object) -> None:
        if isinstance(relation, AddRemove):
            allowed = "ReplaceOne(), ReplaceLabel() or ZeroOut()"
            raise ParameterError("relation", relation, allowed, "records need positions")

    @records.validator
    def _enough(self, _parameter: object, records: int | None) -> None:
        missing = records is None and self.sampling == _REPLACEMENT
        if (_LEAST if records is None else records) < _LEAST or missing:
            allowed = f"at least {_LEAST}, and stated for sampling with replacement"
            raise ParameterError("records", records, allowed)

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP of phases on a permutation, or the profile of draws with replacement."""
        phase = Gaussian(sigma=1 / self.mu, sensitivity=L2(1, self.relation)).guarantee()
        if self.sampling == _PERMUTATION:
            count = 2 if self.records is None else len(phase_sizes(self.records))
            guarantee: Guarantee[R] = parallel_positions(*[phase] * count)
        else:
            assert self.records is not None  # noqa: S101  # by construction
            draws = phase_sizes(self.records)
            guarantee = repeated_positions(phase, records=self.records, draws=draws)
        guarantee = post_process(guarantee, description="projecting the last phase's noisy mean")
        return guarantee if self.map is None else self.map.applied(guarantee)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        runs = [self._runs(data, count, rng) for data in datasets]
        if isinstance(self.map, LinearMap):
            runs = [mapped_back(self.map, one) for one in runs]
        return np.stack(runs)

    def _runs(self, data: object, count: int, rng: Rng) -> Outputs:
        """Run the phases on one dataset."""
        records = mapped_records(data, self.map, self.norm, self.features)
        size = records.total
        if size != (self.records or size) or size < _LEAST:
            allowed = f"{self.records or f'at least {_LEAST}'} of them"
            raise ParameterError("records", size, allowed, "their number is public")
        rows = np.zeros((size, records.vectors.shape[1]))
        rows[records.positions] = signed(records)
        sizes = phase_sizes(size)
        order, states = self._order(size, sum(sizes), count, rng), np.zeros((count, rows.shape[1]))
        for phase, steps in enumerate(sizes, start=1):
            places, order = order[:, :steps], order[:, steps:]
            one = self._pass(size, phase)
            start = projected(states, float(one.radius))
            mean = one.run(start, rows, places)
            sides = 2 if self.relation.symmetric else 1
            noise = one.moves(steps=steps, width=rows.shape[1], sides=sides) / self.mu
            states = with_noise(gaussian_rounded, mean, noise, rng)
        weights = projected(states, float(one.radius)) / float(self.norm)
        return learned(np.zeros(count, dtype=np.bool_), np.full(count, len(sizes)), weights)

    def _order(self, size: int, steps: int, count: int, rng: Rng) -> Integers:
        """Draw the positions of every run's steps; privacy needs only that their law is public."""
        if self.sampling == _REPLACEMENT:
            return np.asarray(uniform_below(size, count * steps, rng), dtype=np.int64).reshape(
                count, steps
            )
        keys = rng.words(count * size).reshape(count, size)
        return np.asarray(keys.argsort(axis=1, kind="stable")[:, :steps])

    def _pass(self, size: int, phase: int) -> SmoothedPass:
        """Run one phase for w norm and rows / norm, in a ball of twice the reference's radius."""
        # Rate <= 2/smoothness at once, as it is a quarter of 1/smoothness in the first phase.
        ball = 2 * self.radius * self.norm
        slope, root = float(1 / self.margin), math.sqrt(size)
        return SmoothedPass(
            margin=self.margin,
            smoothness=slope * root / float(ball),
            rate=float(ball) / slope / root / 4.0**phase,
            radius=ball,
        )


def phase_sizes(records: int) -> list[int]:
    """Return how many steps each phase makes: half of the records, a quarter, and so on."""
    return [records >> phase for phase in range(1, records.bit_length())]


# Soundness: what rounding moves a step by is below this many units, see the proof of ``moves``.
_ROUNDINGS: Final = 8
_UNIT: Final = Fraction(1, 2**53)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothedPass:
    """Steps w <- P(w - rate gradient) over some records z = y x of norm at most 1, one each.

    The loss is the Moreau envelope of max(0, 1 - <w, z>/margin), with c = smoothness/||z||^2 and a
    = <w, z>: 0 from a = margin on, (c/2)(margin - a)^2 next to it, and linear of slope 1/margin
    beyond margin - 1/(margin c). It is (1/margin)-Lipschitz, ``smoothness``-smooth and convex.
    Steps are non-expansive, as the rate is at most 2/smoothness; P projects on the ball of
    ``radius``.
    """

    margin: Fraction
    smoothness: float
    rate: float
    radius: Fraction

    def moves(self, *, steps: int, width: int, sides: int) -> Fraction:
        """Bound how far one record moves the mean state of a pass, in Euclidean norm.

        Statement: sides rate / margin, and what rounding adds; sides is 2 if a record is replaced,
            1 if it is blanked.
        Proof: proofs/theory/margins.md, section 6. Binary64 errs in a step of two vectors of
            ``width`` coordinates by at most (3 width + 6) u (radius + rate/margin), in the mean by
            at most steps u radius; non-expansive steps only add these up, in either run.
        """
        slope = Fraction(self.rate) / self.margin
        rounded = _ROUNDINGS * (width + 2) * _UNIT * (self.radius + slope)
        return sides * slope + 2 * steps * rounded

    def run(self, start: Vectors, signed: Vectors, order: Integers) -> Vectors:
        """Return each run's mean state after the steps of its order; ``signed`` is on the grid."""
        squares = np.square(signed).sum(axis=1) * 4.0**-RECORD_BITS
        curve = self.smoothness / np.where(squares > 0, squares, 1.0)
        states, total = start.copy(), np.zeros_like(start)
        margin, slope, radius = float(self.margin), float(1 / self.margin), float(self.radius)
        for places in order.T:
            rows = signed[places] * 2.0**-RECORD_BITS
            short = np.maximum(margin - np.einsum("ij,ij->i", states, rows), 0.0)
            states += (self.rate * np.minimum(slope, curve[places] * short))[:, np.newaxis] * rows
            states = projected(states, radius)
            total += states
        return np.asarray(total / order.shape[1])


def projected(states: Vectors, radius: float) -> Vectors:
    """Shorten states to the radius of a ball."""
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    return np.asarray(states * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))


# Soundness: rows are integers of norm at most 2^16, coefficients at most 2^12 in size, so that a
# sum of 2^25 of their products stays below 2^53, exact in binary64 in any order.
_ROW_BITS: Final = 16
SHARE_BITS: Final = 12
_MOST_RECORDS: Final = 2**25
# Soundness: a sum of 2^16 powers of at most 2^34, times 2^12, fits an int64.
_POWER_BITS: Final = 34
_LARGEST: Final = Fraction(2**100)
# Smaller powers are 0. Taylor's series of 2^f, f in [0, 1), errs by less than 2^-22.
_LEAST_POWER: Final = -64.0
_SERIES: Final = [math.log(2) ** k / math.factorial(k) for k in range(9)]


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SoftmaxDescent(bounded_updates.StepLearner[R]):
    """Learn multinomial logistic regression by noisy gradient steps, all classes in one chain.

    Start from w = 0, one vector a class. In step t add up (e_y - p) x' over a sample, p the softmax
    of a record's scores, and N(0, sigma^2 I); subtract regulariser w and the mean over the classes;
    and move w by radius / (norm sqrt(t)) in that direction, whatever the number of records.

    Statement: one record moves the stacked sum of a step by at most sqrt(2) ``norm`` in Euclidean
        norm, twice that under replace-one, whatever was released before. The first is attained,
        and the second is approached by nearly opposite rows of one class.
    Source: Theorem A and Lemma 14 of proofs/theory/learners.md. It is DP-SGD (Abadi et al.,
        arXiv:1607.00133) on a loss whose gradients need no clipping, with sums in place of means.

    Args:
        classes: k, from 2; labels are the class numbers 0 to k - 1.
        radius: how far the first step goes, in units of 1 / norm.
        regulariser: weight of ||w||^2 / 2 in the sum of the losses; None is 0.
        steps, sigma, rate, norm, relation, features, batch: as for ``BatchPerceptron``.
        average: whether the weights are the mean of the last quarter of the states, or the last.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` and ``weights``, shape (k, features).
    Raises:
        ParameterError: as for ``BatchPerceptron``, or more than 2^25 records.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> given = {"steps": 50, "sigma": 40, "features": 2, "relation": AddRemove()}
        >>> learner = SoftmaxDescent(**given, classes=3)
        >>> round(float(learner.guarantee().mu), 6)
        0.25
        >>> learner.release([([0.6, 0.8], 2), ([-1.0, 0.0], 0)]).weights.shape
        (3, 2)
    """

    classes: int = field(converter=parameters.count, validator=SEVERAL_CLASSES)
    radius: Fraction = field(default=Fraction(16), converter=parameters.scale)
    regulariser: Fraction | None = field(default=None, converter=parameters.optional_scale)

    def __attrs_post_init__(self) -> None:
        # Soundness: the grid of a state that is not finite would not be exact.
        for name, value in (("radius", self.radius), ("norm", self._unit)):
            if not 1 / _LARGEST <= value <= _LARGEST:
                raise ParameterError(name, value, "in [2^-100, 2^100]")

    def sums(self) -> bounded_updates.NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        return replace(bounded_updates.StepLearner.sums(self), squared_bound=2, tail=4)

    def _encode(self, labels: Vectors) -> Integers:
        """Return the class numbers that the labels are."""
        return class_numbers(labels, self.classes)

    def _contributions(self, records: GridRecords) -> bounded_updates.Contributions:
        if records.total > _MOST_RECORDS:
            raise ParameterError("data", records.total, f"at most {_MOST_RECORDS} records")
        # The engine's states are w / norm, and the grid's rows x / norm.
        square = float(self._unit**2)
        pace, decay = float(self.radius) / square, float(self.regulariser or 0)
        return _Gradients(records, self.classes, square, pace, decay)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Gradients(bounded_updates.Contributions):
    """Gradients of the logistic losses, negated; ``square`` is the unit of a state times a row."""

    grid: GridRecords
    classes: int
    square: float
    pace: float
    decay: float

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.classes, self.grid.vectors.shape[1])

    def at(self, states: Vectors) -> bounded_updates.Adding:
        """Return what adds up gradients; scores of rows cut to norm 2^16 are exact integers."""
        # From there on every operation acts on one record's numbers alone and rounds correctly.
        runs = len(states)
        flat = states.reshape(runs, -1)
        directions = unit_rows(flat, STATE_BITS).reshape(runs * self.classes, -1).T
        lengths = np.linalg.norm(flat, axis=1)[:, np.newaxis]
        unit = self.square / math.log(2) * 2.0 ** -(_ROW_BITS + STATE_BITS)
        grain = 2.0 ** (RECORD_BITS - _ROW_BITS - SHARE_BITS)

        def add(
            vectors: Matrix, own: Integers, chosen: NDArray[np.bool_] | None
        ) -> tuple[Vectors, Integers]:
            each, scaled = np.arange(len(own)), vectors * 2.0 ** (_ROW_BITS - RECORD_BITS)
            rows = scaled.trunc() if is_sparse(scaled) else np.trunc(scaled)
            scores = (rows @ directions).reshape(len(own), runs, self.classes)
            gaps = scores - scores.max(axis=2, keepdims=True)
            shares = softmax(gaps * (lengths * unit))
            wrong = gaps[each, :, own] < 0
            coefficients = -shares.astype(np.float64)
            coefficients[each, :, own] += 2**SHARE_BITS
            if chosen is not None:
                coefficients *= chosen.T[:, :, np.newaxis]
                wrong = wrong & chosen.T
            sums = coefficients.reshape(len(own), directions.shape[1]).T @ rows
            return sums * grain, wrong.sum(axis=0)

        return add

    def advance(self, states: Vectors, noisy: Vectors, step: int) -> Vectors:
        """Move along the noisy gradient, by a length that depends on the step alone."""
        moves = noisy - self.decay * states
        moves -= moves.mean(axis=1, keepdims=True)
        largest = np.abs(moves).max(axis=(1, 2), keepdims=True)
        moves /= np.where(largest > 0, largest, 1.0)
        lengths = np.sqrt(np.square(moves).sum(axis=(1, 2), keepdims=True))
        pace = self.pace / math.sqrt(step + 1)
        return np.asarray(states + pace * moves / np.where(lengths > 0, lengths, 1.0))


def softmax(powers: Vectors) -> Integers:
    """Return the shares of 2^power in the sum along the last axis, in units of 2^-12.

    Powers are at most 0, the largest 0, along an axis of at most 2^16. The integers add up to 2^12,
    each within one unit of its share, and depend on their slice alone, bit for bit.

    Proof: products, sums and floors of one number each round correctly; the powers are integers
        from there on, and shares are differences of cumulated ones, rounded down in integers.
    """
    kept = np.maximum(powers, _LEAST_POWER)
    whole = np.floor(kept)
    fraction, series = kept - whole, np.full_like(kept, _SERIES[-1])
    for coefficient in reversed(_SERIES[:-1]):
        series = series * fraction + coefficient
    series = np.ldexp(series, whole.astype(np.int64) + _POWER_BITS)
    total = np.minimum(np.floor(series), 2.0**_POWER_BITS).astype(np.int64).cumsum(axis=-1)
    below = (total << SHARE_BITS) // total[..., -1:]
    return np.asarray(np.diff(below, axis=-1, prepend=0))
