"""Private logistic regression by objective perturbation, and its certified minimum.

F(w) = sum_i log(1 + e^{-<a_i, w>}) + (decay/2) ||w||^2 + <tilt, w>. The minimum is a function of
the arguments alone, and so is whether it is found quickly: it is no output of a mechanism.

If ||grad F(w)|| <= g and F is c-strongly convex, w is within g/c of the minimum. The linear term is
a rounded noise vector, at most beta from the ideal one, which moves the minimum by beta/c. So what
the solver returns is within r = (g + beta)/c of the exact minimum of the ideal objective, and its
difference from that minimum has sensitivity 2 r given the minimum (proofs/theory/logistic.md).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import GDP, L1, L2, DominatingPair, PureDP, compose, post_process
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee, applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.cut_gaussian import FlooredGaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R, ReplaceLabel, ReplaceOne
from dpproof.accountant.side_conditions import PERTURBED_MINIMUM, RANDOM_BITS, SPHERICAL_MINIMUM
from dpproof.mechanisms import parameters, samplers
from dpproof.mechanisms.learning.bounded_updates import learned, signed, signs
from dpproof.mechanisms.learning.records import (
    RECORD_BITS,
    STATE_BITS,
    Integers,
    Matrix,
    Vectors,
    is_sparse,
    on_grid as labelled,
    row_width,
)
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.samplers import Rng, as_floats

# Largest gradient norm of a returned point, in units of the norm of a record. Soundness depends on
# it being a constant; halving it saves output noise, which is 2^-16 of that of b where the penalty
# decides. Roundings in binary64 are proved to be below it for 10^7 records; more take intervals.
GRADIENT: Final = Fraction(1, 2**24)

# Roundings per record in a certified gradient: exp, two products, a sum and an exact sum of all.
# Soundness depends on it; 17 are proved below.
_ROUNDINGS: Final = 32 * 2.0**-53
# Float iterations stop here, with room for the certificate. Heuristic.
_AIM: Final = float(GRADIENT) / 8
_LEAST_BITS: Final = 16  # Fewer would not reach the gradient. Heuristic.
_ROUNDS: Final = 200  # Most Newton steps; what is left is found exactly. Heuristic.
_CORRECTIONS: Final = 4  # Steps by exact sums of the gradient, and one. Heuristic.
_HALVINGS: Final = 40  # Shortest step tried: 2^-40 of Newton's. Heuristic.
_CURVED: Final = 1e-5  # Decay per record from which Newton's steps take float32. Heuristic.
_FIRST_BITS: Final = 128  # Precision of the first exact evaluation. Heuristic.
# Rows at once. Soundness: so many products of a share's first 18 bits and a record have exact sums.
_BLOCK: Final = 2 ** (53 - RECORD_BITS - 18)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Logistic losses and a quadratic term; a_i is one of the ``signed`` integers times 2^-24."""

    signed: Matrix
    decay: Fraction

    def minima(self, tilts: Vectors) -> Vectors:
        """Minimise F for every tilt, to a gradient of norm <= ``GRADIENT``; nan if unproved."""
        minima = self._newton(tilts)
        for run, tilt in enumerate(tilts):
            minima[run] = self._certified(minima[run], tilt)
        return minima

    def _certified(self, point: Vectors, tilt: Vectors) -> Vectors:
        """Return a point near one with a gradient proved short, corrected by exact sums, or nan."""
        for _ in range(_CORRECTIONS):
            split = _split(point)
            if split is None:
                break
            slope, error = self._slope(*split, tilt)
            point = split[0] + split[1]
            if float(np.linalg.norm(slope)) * (1 + 1e-9) + error <= float(GRADIENT):
                return point
            with np.errstate(over="ignore", invalid="ignore"):
                moves = self._newton_moves(point[np.newaxis], slope[np.newaxis])
                point = point - moves[0]
        return np.full(len(point), np.nan)

    def _newton(self, tilts: Vectors) -> Vectors:
        """Approximate minima by Newton steps, halved until the gradient gets shorter. Heuristic."""
        points: Vectors = -tilts / (float(self.decay) + self.signed.shape[0] / 4)
        slopes = self._slopes(tilts, points)
        active = np.flatnonzero(np.linalg.norm(slopes, axis=1) > _AIM)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(_ROUNDS):
                if not active.size:
                    break
                moves = self._newton_moves(points[active], slopes[active])
                active = self._improved(tilts, points, slopes, active, moves)
                active = active[np.linalg.norm(slopes[active], axis=1) > _AIM]
        return points

    def _slope(self, high: Vectors, low: Vectors, tilt: Vectors) -> tuple[Vectors, float]:
        """Return the gradient at high + low, and how far it may be from the true one.

        Proof: high and low are integers on grids on which products with records are exact
            (``grid``), so m = <a, w> is one sum of two exact numbers: relative error u = 2^-53.
            s = 1/(1 + e^m) moves by s (1 - s) |m| u <= 0.28 u with m, and by 8 units of exp, a sum
            and a division: |error of s| <= 12 u. Let t be s rounded to 2^-18. In a block the sum of
            t a_j is exact, and that of (s - t) a_j errs by at most 2^11 u 2^-18 sum_i |a_ij|. The
            sum of all is rounded once (``math.fsum``). So coordinate j errs by at most
            sum_i 17 u |a_ij|, and the vector by 17 u sum_i ||a_i|| <= 17 u n (the triangle
            inequality). ``_ROUNDINGS`` has room for the decay, the tilt, and the norm itself.
        """
        size = float(np.linalg.norm(high)) + float(np.linalg.norm(low))
        sums = []
        for block in self._blocks():
            with np.errstate(over="ignore"):
                shares = _shares((block @ high + block @ low) * 2.0**-RECORD_BITS)
            coarse = np.rint(shares * 2.0**18) * 2.0**-18
            sums.append(np.stack([coarse, shares - coarse]) @ block * 2.0**-RECORD_BITS)
        columns = np.concatenate(sums or [np.zeros((1, len(high)))]).T.tolist()
        total = np.array([math.fsum(column) for column in columns])
        slope = float(self.decay) * (high + low) + tilt - total
        rest = float(self.decay) * size + float(np.linalg.norm(tilt))
        rest += float(np.linalg.norm(total))
        return slope, _ROUNDINGS * (self.signed.shape[0] + rest)

    def _blocks(self, kind: type[np.floating[Any]] = np.float64) -> Iterator[NDArray[Any]]:
        for start in range(0, self.signed.shape[0], _BLOCK):
            block = self.signed[start : start + _BLOCK]
            yield (block.toarray() if is_sparse(block) else block).astype(kind, copy=False)

    def _slopes(self, tilts: Vectors, points: Vectors) -> Vectors:
        """Approximate the gradients at points, one for every tilt."""
        slopes, scaled = float(self.decay) * points + tilts, points * 2.0**-RECORD_BITS
        for block in self._blocks():
            slopes -= _shares(scaled @ block.T) @ block * 2.0**-RECORD_BITS
        return slopes

    def _newton_moves(self, points: Vectors, slopes: Vectors) -> Vectors:
        """Approximate the inverse Hessians times the gradients; nan if a Hessian is singular."""
        moves, scaled = np.empty_like(points), points * 2.0**-RECORD_BITS
        curved = float(self.decay) > self.signed.shape[0] * _CURVED
        kind = np.float32 if curved else np.float64
        for run, slope in enumerate(slopes):
            hessian = float(self.decay) * np.eye(len(slope))
            for block in self._blocks(kind):
                shares = _shares(block @ scaled[run].astype(kind))
                roots = np.sqrt(shares * (1 - shares)) * kind(2.0**-RECORD_BITS)
                weighed = block * roots[:, np.newaxis]
                hessian += weighed.T @ weighed
            try:
                moves[run] = np.linalg.solve(hessian, slope)
            except np.linalg.LinAlgError:
                moves[run] = np.nan
        return moves

    def _improved(
        self, tilts: Vectors, points: Vectors, slopes: Vectors, active: Integers, moves: Vectors
    ) -> Integers:
        """Move points by the longest halved step that shortens the gradient; return who moved."""
        left = np.arange(active.size)
        before = np.linalg.norm(slopes[active], axis=1)
        for halving in range(_HALVINGS):
            runs = active[left]
            tried = points[runs] - moves[left] * 2.0**-halving
            trials = self._slopes(tilts[runs], tried)
            shorter = np.linalg.norm(trials, axis=1) < before[left] * (1 - 2.0 ** -(halving + 4))
            points[runs[shorter]], slopes[runs[shorter]] = tried[shorter], trials[shorter]
            left = left[~shorter]
            if not left.size:
                break
        return np.delete(active, left)

    def exact_minimum(self, start: Vectors, tilt: Sequence[Fraction], unit: Fraction) -> list[int]:
        """Minimise F over multiples of a unit, in balls of growing precision; always succeeds."""
        # A step is Newton's if that shortens the gradient, else -gradient / (decay + n/4), which
        # does: F has no larger curvature. It ends if the multiple next to the minimum is good
        # enough: (decay + n/4) unit sqrt(features) <= GRADIENT / 2. Nan in ``start`` stands for 0.
        usable = np.isfinite(start).all()
        point = [round(Fraction(float(x)) / unit) if usable else 0 for x in start]
        bits = _FIRST_BITS
        slope, low, high = self._ball(point, tilt, unit, bits)
        while high > GRADIENT:
            if high - low > GRADIENT / 8:
                bits *= 2
                slope, low, high = self._ball(point, tilt, unit, bits)
                continue
            for move in self._moves(point, slope, unit):
                tried = [k - round(step / unit) for k, step in zip(point, move, strict=True)]
                ends = self._ball(tried, tilt, unit, bits)
                if ends[2] < low:
                    point, (slope, low, high) = tried, ends
                    break
            else:
                bits *= 2
                slope, low, high = self._ball(point, tilt, unit, bits)
        return point

    def _moves(
        self, point: list[int], slope: list[Fraction], unit: Fraction
    ) -> list[list[Fraction]]:
        """Return Newton's step by a binary64 Hessian if it is finite, and the gradient step."""
        bound = self.decay + Fraction(self.signed.shape[0], 4)
        plain = [value / bound for value in slope]
        at = np.array([float(k * unit) for k in point])
        size = max(map(abs, slope)) or Fraction(1)
        scaled = np.array([float(value / size) for value in slope])
        newton = self._newton_moves(at[np.newaxis], scaled[np.newaxis])[0]
        if not np.isfinite(newton).all():
            return [plain]
        return [[Fraction(float(x)) * size for x in newton], plain]

    def _ball(
        self, point: Sequence[int], tilt: Sequence[Fraction], unit: Fraction, bits: int
    ) -> tuple[list[Fraction], Fraction, Fraction]:
        """Enclose the gradient at an exact point; mpmath's intervals are assumed to be right."""
        from mpmath.ctx_iv import MPIntervalContext  # noqa: PLC0415 - only rare minima need it

        iv: Any = MPIntervalContext()
        iv.prec = bits
        grain = iv.mpf(2) ** -RECORD_BITS
        at = [_interval(iv, k * unit) for k in point]
        pull = [_interval(iv, t) for t in tilt]
        total = [_interval(iv, self.decay) * x + t for x, t in zip(at, pull, strict=True)]
        for row in itertools.chain.from_iterable(self._blocks()):
            record = [int(k) for k in row]
            margin = sum((x * k for k, x in zip(record, at, strict=True)), iv.mpf(0)) * grain
            share = grain / (1 + iv.exp(margin))
            total = [s - share * k for s, k in zip(total, record, strict=True)]
        norm = iv.sqrt(sum((abs(s) ** 2 for s in total), iv.mpf(0)))
        middle = [(_rational(s.a) + _rational(s.b)) / 2 for s in total]
        return middle, _rational(norm.a), _rational(norm.b)


def _split(point: Vectors) -> tuple[Vectors, Vectors] | None:
    """Round to high + low, whose products with records are exact in binary64; None if that fails.

    High is a multiple of 2^(e - 28) and low of 2^(e - 28 - b), where all coordinates are at most
    2^(e - h) and h, b leave room for the Euclidean norm of as many coordinates as there are.
    """
    room = (math.isqrt(point.size - 1) + 1).bit_length() if point.size > 1 else 0
    bits = STATE_BITS - 1 - room
    largest = float(np.abs(point).max(initial=0.0))
    if not math.isfinite(largest) or bits < _LEAST_BITS:
        return None
    exponent = math.frexp(largest)[1] - bits
    high = np.ldexp(np.rint(np.ldexp(point, -exponent)), exponent)
    low = np.ldexp(np.rint(np.ldexp(point - high, bits - exponent)), exponent - bits)
    return high, low


def _shares(margins: Vectors) -> Vectors:
    """Approximate the slopes of the logistic loss, 1 / (1 + e^m)."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(margins)))


def _interval(iv: Any, value: Fraction) -> Any:  # noqa: ANN401 - mpmath has no types
    """Enclose a rational number at the current precision."""
    return iv.mpf(value.numerator) / iv.mpf(value.denominator)


def _rational(value: Any) -> Fraction:  # noqa: ANN401 - mpmath has no types
    """Return the exact value of an interval's end, which is a binary number."""
    sign, mantissa, exponent, _ = value._mpi_[0]
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)


# The noise is rounded to 2^-14 of the default grid. Only the output noise depends on it.
_FINER: Final = 2**14
# Parts of the output grid in which exact minima are counted, few enough for a float.
_PARTS: Final = 2**50
# Soundness of nothing, but the exact minimisation ends, whatever the data (at most 2^29 records).
_MOST_RECORDS: Final = 2**29
# Batches of runs: entries of the largest temporary array. Heuristic.
_ENTRIES: Final = 2**22

Noise = Callable[[Vectors, Fraction, Fraction, Rng], NDArray[Any]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The release of a perturbed minimum, in units in which records have norm at most 1.

    Noise of ``scale`` is added to the linear term. The output noise's scale is the sensitivity, in
    L1 norm if ``by_coordinates``, over a ``share`` of the budget. Both are rounded, exactly.
    """

    decay: Fraction
    scale: Fraction
    perturb: Noise
    share: Fraction
    blur: Noise
    by_coordinates: bool

    def runs(
        self,
        datasets: Sequence[object],
        count: int,
        rng: Rng,
        *,
        norm: Fraction | None,
        features: int | None,
    ) -> Outputs:
        """Release ``count`` minima of each of labelled rows, clipped to the norm, in data units."""
        released = []
        for data in datasets:
            rows = signed(labelled(data, signs, norm=norm, features=features, compact=True))
            batch = max(1, _ENTRIES // max(1, rows.shape[0]))
            sizes = [min(batch, count - start) for start in range(0, count, batch)]
            weights = np.concatenate([self.draw(rows, size, rng) for size in sizes])
            flags, steps = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.int64)
            released.append(learned(flags, steps, weights / float(norm or 1)))
        return np.stack(released)

    def draw(self, rows: Matrix, runs: int, rng: Rng) -> Vectors:
        """Release ``runs`` perturbed minima of one dataset, shape (runs, features)."""
        width = rows.shape[1]
        grain = samplers.default_granularity(self.scale) / _FINER
        steps = self.perturb(np.zeros((runs, width)), self.scale, grain, rng)
        scale = self.output_scale(width)
        out = samplers.default_granularity(scale) / _FINER
        self._ends(width, out)
        objective = Objective(rows, self.decay)
        minima = objective.minima(as_floats(steps, grain))
        whole = np.zeros(minima.shape, dtype=np.object_)
        for run in np.flatnonzero(np.isnan(minima).any(axis=1)):
            tilt = [int(k) * grain for k in steps[run]]
            exact = objective.exact_minimum(minima[run], tilt, out / _PARTS)
            whole[run] = [k // _PARTS for k in exact]
            minima[run] = [float(Fraction(k % _PARTS, _PARTS) * out) for k in exact]
        return as_floats(whole + self.blur(minima, scale, out, rng), out)

    def output_scale(self, width: int) -> Fraction:
        """Return the scale of the output noise: it hides twice the radius r."""
        grain = samplers.default_granularity(self.scale) / _FINER
        radius = (GRADIENT + grain / 2 * _root_up(width)) / self.decay
        return 2 * radius * (_root_up(width) if self.by_coordinates else 1) / self.share

    def _ends(self, width: int, out: Fraction) -> None:
        """Refuse parameters at which a multiple of the smallest unit may miss the gradient."""
        if (self.decay + _MOST_RECORDS) * _root_up(width) * out / _PARTS > GRADIENT / 4:
            allowed = "larger for so much noise and so many features"
            hint = "the exact minimum could not be computed for every dataset"
            raise ParameterError("regulariser", self.decay, allowed, hint)


def _root_up(width: int) -> int:
    """Return an integer at or above the square root."""
    return math.isqrt(width - 1) + 1


MECHANISM_PURE_LOGISTIC: Final = Theorem(
    rule="mechanism/logistic-objective-pure",
    source="proofs/theory/logistic.md, Theorem 3",
    attained=Attained.NO,  # the largest loss alone is near
)

# The output noise gets 1/64 of epsilon, and rows are shortened so that a regulariser of
# norm^2 / epsilon is enough for the rest: 0.9917^2 < 63/64. Heuristic.
_PURE_OUTPUT_SHARE: Final = Fraction(1, 64)
_PURE_SHORTER: Final = Fraction(2031, 2048)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class PureLogisticObjective(Mechanism[R]):
    """Learn logistic regression by objective perturbation with spherical noise: epsilon-DP.

    As ``LogisticObjective``, with b of density proportional to e^(-c ||b||).

    Statement: if the regulariser is at least norm^2 / epsilon, twice that if a record or label is
        replaced, the weights are epsilon-DP: nothing is paid for the curvature. 1/64 of epsilon is
        that of the output noise.
    Assumes: spherical minimum; random bits.
    Source: proofs/theory/logistic.md, Theorems 3 and 4. The mechanism is Chaudhuri, Monteleoni &
        Sarwate, JMLR 12 (2011), Algorithm 2, whose price has a term for the curvature.

    Args:
        epsilon: nats.
        regulariser, norm, relation, features: as for ``LogisticObjective``, as are outputs.
    Raises:
        ParameterError: as for ``BatchPerceptron``; a regulariser that is too small.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import LogisticObjective
        >>> learner = LogisticObjective.pure(epsilon=1, regulariser=1, relation=AddRemove())
        >>> round(learner.guarantee().epsilon(delta=0).upper, 9)
        1.0
    """

    epsilon: Fraction = field(converter=parameters.scale)
    regulariser: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(converter=parameters.optional_scale)
    relation: R = field(validator=parameters.neighbours)
    features: int | None = field(converter=row_width)

    def __attrs_post_init__(self) -> None:
        least = self._unit**2 / self._one_record
        if self.regulariser < least:
            allowed = f"at least norm^2 / epsilon = {show(least)}"
            raise ParameterError("regulariser", self.regulariser, allowed)

    @property
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms: 1 if every row is scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm

    @property
    def _one_record(self) -> Fraction:
        """Return the price of adding or removing a record: half if a replacement does both."""
        doubled = isinstance(self.relation, ReplaceOne | ReplaceLabel)
        return self.epsilon / (2 if doubled else 1)

    @property
    def _noise(self) -> Fraction:
        """Return the price of one record in the exact minimum."""
        return self._one_record * (1 - _PURE_OUTPUT_SHARE)

    def guarantee(self) -> Guarantee[R]:
        """Return epsilon-DP: the exact minimum composes with the hidden difference from it."""
        price, bound = self.epsilon * (1 - _PURE_OUTPUT_SHARE), self._unit * _PURE_SHORTER
        node = applied(
            MECHANISM_PURE_LOGISTIC,
            f"logistic losses of rows of norm {show(bound)} with spherical noise in the linear "
            f"term: the minimum is {show(price)}-DP ({self.relation})",
            assumptions=(
                SPHERICAL_MINIMUM(bound=show(bound), regulariser=show(self.regulariser)),
                RANDOM_BITS(),
            ),
            norm=bound,
            scale=bound / self._noise,
            regulariser=self.regulariser,
        )
        minimum = PureDP(epsilon=price, relation=self.relation, derivation=node)
        scale = 1 / (self.epsilon * _PURE_OUTPUT_SHARE)
        hidden = Laplace(scale=scale, sensitivity=L1(1, self.relation))
        joint = compose(minimum, hidden.guarantee())
        return post_process(joint, description="adding the noisy difference to the minimum")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        release = Release(
            decay=self.regulariser / (self._unit * _PURE_SHORTER) ** 2,
            scale=1 / self._noise,
            perturb=_spherical,
            share=self.epsilon * _PURE_OUTPUT_SHARE,
            blur=samplers.laplace_rounded,
            by_coordinates=True,
        )
        return release.runs(datasets, count, rng, norm=self.norm, features=self.features)


def _spherical(values: Vectors, size: Fraction, grain: Fraction, rng: Rng) -> NDArray[Any]:
    """Draw spherical noise in the shape of the values, which are zeros."""
    runs, width = values.shape
    return samplers.spherical_rounded(size, grain, width, runs, rng)


MECHANISM_LOGISTIC_OBJECTIVE: Final = Theorem(
    rule="mechanism/logistic-objective",
    source="proofs/theory/logistic.md, Theorem 1",
    attained=Attained.NO,  # the curvature is paid for at its worst
)

# Rows are shortened by (1 - t^2)/(1 + t^2) and the output noise gets the share 2t/(1 + t^2) of mu:
# the squares add up to 1, so that the total is mu exactly. Heuristic: t = 2^-8.
_SHORTER: Final = Fraction(2**16 - 1, 2**16 + 1)
_OUTPUT_SHARE: Final = Fraction(2**9, 2**16 + 1)


def free_regulariser(sigma: Fraction, norm: Fraction) -> Fraction:
    """Return the least regulariser at which the curvature costs nothing: Theorem 1's condition."""
    return min(2 * sigma**2, norm * sigma / 2)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class LogisticObjective(Mechanism[R]):
    """Learn logistic regression: minimise the penalised losses with a random linear term.

    The weights minimise sum_i log(1 + e^{-y_i <x_i, w>}) + (regulariser/2) ||w||^2 + <b, w>, with b
    drawn from N(0, sigma^2 I). The sum is not divided by the number of records, which is private.

    Statement: if the regulariser is at least norm sigma/2 or 2 sigma^2, the weights are mu-GDP
        with mu = norm / sigma, twice that under replace-one: nothing is paid for the curvature. The
        minimum is computed to a certified gradient and hidden by output noise, whose share of mu is
        taken from the norm: rows are shortened to norm (1 - 2^-15), so that mu is the total. With a
        smaller regulariser, dominated by floored Gaussian pairs, if a record is added or removed.
    Assumes: perturbed minimum; random bits.
    Source: proofs/theory/logistic.md, Theorems 1 and 2. The mechanism is Chaudhuri, Monteleoni &
        Sarwate, JMLR 12 (2011), Algorithm 2, and Kifer, Smith & Thakurta, COLT 2012; the exact
        price is ours.

    Args:
        sigma: standard deviation of b, in data units, in [2^-300, 2^300].
        regulariser: weight of ||w||^2 / 2, in squared data units.
        norm: rows are clipped to this Euclidean norm, in data units. None scales every row to
            norm 1.
        features: the width of a row; None takes it from the array.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` (1) and ``weights``, shape (features,).
    Raises:
        ParameterError: as for ``BatchPerceptron``.
        NotImplied: on guarantee, a regulariser below both if a record or label is replaced.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Records
        >>> learner = LogisticObjective(sigma=4, regulariser=32, relation=AddRemove())
        >>> learner.guarantee().mu
        Fraction(1, 4)
        >>> learner.release(Records([[0.6, 0.8], [-1.0, 0.0]], [1, -1])).weights.shape
        (2,)
    """

    whole = "it minimises over all records at once, by sums of real numbers"

    sigma: Fraction = field(converter=parameters.scale)
    regulariser: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    relation: R = field(validator=parameters.neighbours)
    features: int | None = field(default=None, converter=row_width)

    @staticmethod
    def pure(
        *,
        epsilon: Number,
        regulariser: Number,
        norm: Number | None = 1,
        relation: R,
        features: int | None = None,
    ) -> PureLogisticObjective[R]:
        """Return the learner of the same objective with spherical noise, which is epsilon-DP."""
        parameters: dict[str, Any] = {"epsilon": epsilon, "regulariser": regulariser, "norm": norm}
        return PureLogisticObjective(**parameters, relation=relation, features=features)

    @property
    def _bound(self) -> Fraction:
        """Return the norm of the rows that the objective sees."""
        return (Fraction(1) if self.norm is None else self.norm) * _SHORTER

    @property
    def _output_share(self) -> Fraction:
        """Return the mu of the output noise."""
        doubled = 2 if isinstance(self.relation, ReplaceOne) else 1
        return doubled * self._bound / _SHORTER * _OUTPUT_SHARE / self.sigma

    def guarantee(self) -> Guarantee[R]:
        """Return (norm / sigma)-GDP: the exact minimum composes with the hidden difference from it.

        It is a dominating pair if the regulariser is below ``free_regulariser``, and raises
        NotImplied if then records or labels are replaced.
        """
        difference = Gaussian(sigma=1 / self._output_share, sensitivity=L2(1, self.relation))
        joint = compose(self._minimum(), difference.guarantee())
        return post_process(joint, description="adding the noisy difference to the minimum")

    def _minimum(self) -> Guarantee[R]:
        """Return the guarantee of the exact minimum of the ideal objective."""
        bound, sigma = self._bound, self.sigma
        regulariser = show(self.regulariser)
        assumptions = (PERTURBED_MINIMUM(bound=show(bound), regulariser=regulariser), RANDOM_BITS())
        parameters: dict[str, Any] = {
            "norm": bound,
            "sigma": sigma,
            "regulariser": self.regulariser,
        }
        said = (
            f"logistic losses of rows of norm {show(bound)} with Gaussian noise of standard "
            f"deviation {show(sigma)} in the linear term and regulariser {show(self.regulariser)}"
        )
        free = free_regulariser(sigma, bound)
        if self.regulariser >= free:
            mu = (2 if isinstance(self.relation, ReplaceOne) else 1) * bound / sigma
            text = f"{said}: the minimum is {show(mu)}-GDP ({self.relation})"
            node = applied(
                MECHANISM_LOGISTIC_OBJECTIVE, text, assumptions=assumptions, **parameters
            )
            return GDP(mu=mu, relation=self.relation, derivation=node)
        if isinstance(self.relation, ReplaceOne | ReplaceLabel):
            raise NotImplied(
                f"under {self.relation} logistic objective perturbation has a price only for a "
                f"regulariser of at least {show(free)}, got {show(self.regulariser)}"
            )
        square = (bound / sigma) ** 2
        floor = bound**2 / self.regulariser - square / 2
        text = f"{said}: dominated by floored Gaussian pairs, floor {show(floor)} ({self.relation})"
        return DominatingPair(
            forward=Product.of(FlooredGaussianPair(mu_squared=square, floor=floor)),
            backward=Product.of(FlooredGaussianPair(mu_squared=square, floor=Fraction(0))),
            relation=self.relation,
            derivation=applied(
                MECHANISM_LOGISTIC_OBJECTIVE, text, assumptions=assumptions, **parameters
            ),
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        bound = self._bound
        release = Release(
            decay=self.regulariser / bound**2,
            scale=self.sigma / bound,
            perturb=samplers.gaussian_rounded,
            share=self._output_share,
            blur=samplers.gaussian_rounded,
            by_coordinates=False,
        )
        return release.runs(datasets, count, rng, norm=self.norm, features=self.features)
