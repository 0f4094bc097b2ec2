"""Certified radii of linear classifiers, behind public feature maps too."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof import mechanisms
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.learn.linear_classifier import class_numbers
from dpproof.learn.private_estimator import matrix
from dpproof.mechanisms.learning.maps.scattering_features import filters_of
from dpproof.mechanisms.learning.records import Integers, Vectors, displacement

Matrix = NDArray[np.float64]

# Heuristic: how much room the Cholesky factorisation gets above the computed eigenvalue.
_ROOM: Final = 2.0**-30


def slack(terms: int) -> float:
    """Return a bound of the relative error of a sum of so many products and a few operations.

    Source: Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1: gamma_n =
        n u / (1 - n u), u = 2^-53; this is more than four times it.
    """
    return (4 * terms + 64) * 2.0**-52


def lengths(vectors: Matrix, order: int = 2) -> Matrix:
    """Return upper bounds of Euclidean or L1 norms; scaled, so that no square overflows."""
    largest = np.abs(vectors).max(axis=-1, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    shares = np.linalg.norm(vectors / scale[..., np.newaxis], ord=order, axis=-1)
    return np.asarray(scale * shares * (1 + slack(vectors.shape[-1])))


def norm_bound(matrix: Matrix) -> float:
    """Return an upper bound of the largest singular value, else the Frobenius norm if unproved.

    Statement: s^2 I - A A' minus the errors below is positive semidefinite, so ||A|| is at most the
        bound. The Cholesky factorisation of the computed matrix M, of size n, is exact for a
        matrix whose distance from M is at most gamma_(n+1) tr(M) in norm; A A' is computed within
        gamma_m ||A||_F^2.
    Source: Higham, Theorem 10.3; Rump, "Verification of positive definiteness", BIT 46 (2006).
    """
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest == 0:
        return 0.0
    scale = 2.0 ** math.frexp(largest)[1]
    scaled = matrix / scale
    frobenius = math.sqrt(float(np.square(scaled).sum())) * (1 + slack(matrix.size))
    wide = scaled if matrix.shape[0] <= matrix.shape[1] else scaled.T
    gram = wide @ wide.T
    size, terms = wide.shape
    square = float(np.linalg.eigvalsh(gram)[-1]) * (1 + _ROOM)
    try:
        np.linalg.cholesky(square * np.eye(size) - gram)
    except np.linalg.LinAlgError:
        return frobenius * scale
    errors = 2 * slack(size) * size * square + slack(terms) * frobenius**2
    return min(frobenius, math.sqrt((square + errors) * (1 + slack(4)))) * scale


Projection: TypeAlias = (
    mechanisms.SignProjection | mechanisms.GaussianProjection | mechanisms.RademacherProjection
)
"""A map that multiplies rows by a matrix, after and before scaling of which all is known."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearScores:
    """Scores of all classes, weights map(x) + offsets; two that share one score s have 0 and s."""

    weights: Vectors
    offsets: Vectors
    map: mechanisms.FeatureMap | None

    def rows(self, X: ArrayLike) -> Vectors:
        """Return the rows as floats."""
        rows = matrix(X)
        width = self.weights.shape[1] if self.map is None else self.map.features
        if rows.shape[1] != width:
            raise ParameterError("X", rows.shape, f"a matrix {width} wide")
        return rows

    def __call__(self, rows: Vectors) -> Vectors:
        """Return the scores, shape (rows, classes)."""
        mapped = rows if self.map is None else self.map.apply(rows)
        return np.asarray(mapped @ self.weights.T + self.offsets)


def scores_of(model: Any) -> LinearScores:
    """Read the scores of a model."""
    plan = getattr(model, "map_", None)
    kinds = mechanisms.FourierFeatures | mechanisms.ScatteringFeatures | Projection
    if plan is not None and not isinstance(plan, kinds):
        allowed = "without a map, or with Fourier or scattering features or a random projection"
        raise ParameterError("model", plan, allowed)
    if not all(hasattr(model, name) for name in ("coef_", "intercept_", "classes_", "predict")):
        raise ParameterError("model", model, "a fitted linear classifier")
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    offsets = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if len(weights) == 1:
        weights = np.concatenate([np.zeros_like(weights), weights])
        offsets = np.concatenate([np.zeros(1), offsets])
    if not (np.isfinite(weights).all() and np.isfinite(offsets).all()):
        raise ParameterError("model", model, "a classifier with finite weights")
    return LinearScores(weights, offsets, plan)


def class_of(model: Any, rows: Vectors, y: ArrayLike | None) -> Integers:
    """Return the class numbers of labels, -1 if unknown; without labels, of the largest scores."""
    if y is None:
        return np.asarray(scores_of(model)(rows).argmax(axis=1))
    labels = withholding(np.asarray)(y)
    if labels.shape != (len(rows),):
        raise ParameterError("y", labels.shape, f"one label for each of {len(rows)} rows")
    return class_numbers(labels, list(model.classes_.tolist()))


# Cosines and sines of the map are within 2^-50 of their values.
_WAVES = 2.0**-48


def fourier_radii(
    scores: LinearScores,
    plan: mechanisms.FourierFeatures,
    rows: Vectors,
    predicted: Integers,
    *,
    curvature: bool,
) -> Vectors:
    """Return the Euclidean distance that every row can move with the kept class sure to win.

    Statement: let g = f_y - f_c = D^(-1/2) sum_j (a_j cos <r_j, x> + b_j sin <r_j, x>) + b and
        s_j = sqrt(a_j^2 + b_j^2), P the matrix of the frequencies r_j. Everywhere ||grad g|| is at
        most L = min(||P|| ||(a, b)|| / sqrt(D), ||P diag(s)||), and the Hessian's norm at most
        H = ||P diag(sqrt(s))||^2 / sqrt(D). So along a segment of length t from x the slope of g is
        at most min(||grad g(x)|| + H t, L), and g stays positive until that adds up to g(x).
    Source: proofs/theory/robustness.md, with clipping, scaling and the map's rounding.

    Rows are finite, in data units; without ``curvature`` the first term of L alone counts, as in
    arXiv:2011.14580, section 5.
    """
    radii = np.full(len(rows), np.inf)
    mapped = plan.apply(rows)
    frequencies = plan.matrix()
    steepest = norm_bound(frequencies)
    for one, other in itertools.combinations(range(len(scores.offsets)), 2):
        concerned = (predicted == one) | (predicted == other)
        if concerned.any():
            gap = _Gap.of(scores, frequencies, steepest, one, other)
            signs = np.where(predicted[concerned] == one, 1.0, -1.0)
            gap_radii = gap.radii(mapped[concerned], signs, curvature=curvature)
            radii[concerned] = np.minimum(radii[concerned], gap_radii)
    chords = np.maximum(radii - 2 * plan.rounding, 0.0)
    if plan.norm is not None:
        return chords
    sizes = lengths(rows) * (1 - 4 * slack(rows.shape[1]))
    return np.asarray(sizes * shares_of_length(chords))


def shares_of_length(chords: Vectors) -> Vectors:
    """Return the largest share of its length by which a row moves with its turn within a chord."""
    # Moved by less than its length times sin(a) it turns by less than a; its chord is 2 sin(a / 2).
    inner = np.minimum(chords, math.sqrt(2))
    return np.asarray(inner * np.sqrt(np.maximum(1 - inner**2 / 4, 0.5)) * (1 - slack(4)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Gap:
    """The difference of two scores, with bounds: the paper's ``first``, ``slope`` L, ``bend`` H."""

    weights: Vectors
    offset: float
    frequencies: Vectors
    first: float
    slope: float
    bend: float

    @classmethod
    def of(
        cls, scores: LinearScores, frequencies: Vectors, steepest: float, one: int, other: int
    ) -> _Gap:
        """Return the gap of two classes, its largest weight near 1; ||P|| <= ``steepest``."""
        weights = scores.weights[one] - scores.weights[other]
        scale = 2.0 ** -math.frexp(float(np.abs(weights).max()))[1]
        weights = weights * scale
        offset = float(scores.offsets[one] - scores.offsets[other]) * scale
        count = len(frequencies)
        up = 1 + slack(2 * count)
        sizes = np.hypot(weights[:count], weights[count:]) * up
        first = steepest * float(lengths(weights)) / math.sqrt(count) * up
        slope = min(first, norm_bound(frequencies * sizes[:, np.newaxis]) * up)
        bend = norm_bound(frequencies * np.sqrt(sizes)[:, np.newaxis]) ** 2 / math.sqrt(count) * up
        return cls(weights, offset, frequencies, first, slope, bend)

    def radii(self, mapped: Vectors, signs: Vectors, *, curvature: bool) -> Vectors:
        """Return how far rows of these features move with the gap of this sign, rounded down."""
        count = len(self.frequencies)
        sizes = float(np.abs(self.weights).sum()) / math.sqrt(count) + abs(self.offset)
        gaps = signs * (mapped @ self.weights + self.offset)
        gaps = np.maximum(gaps - (slack(2 * count) + _WAVES) * 2 * sizes, 0.0)
        if not curvature:
            return _ratio(gaps, self.first)
        waves, shifted = mapped[:, :count], mapped[:, count:]
        turned = self.weights[count:] * waves - self.weights[:count] * shifted
        gradients = np.linalg.norm(turned @ self.frequencies, axis=1)
        largest = float(np.linalg.norm(self.frequencies)) * float(np.linalg.norm(self.weights))
        error = (slack(4 * count + self.frequencies.shape[1]) + _WAVES) * largest
        return _reach(gaps, gradients * (1 + slack(4)) + error, self.bend, self.slope)


def _ratio(gaps: Vectors, slope: float) -> Vectors:
    """Return gaps divided by a slope, rounded down; infinite if the slope is 0 and the gap not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gaps > 0, gaps / slope, 0.0) * (1 - slack(4))


def _reach(gaps: Vectors, gradients: Vectors, bend: float, slope: float) -> Vectors:
    """Return, rounded down, at which t the integral of min(gradient + bend t, slope) is the gap."""
    steep = gradients >= slope
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        corner = np.where(steep, 0.0, (slope - gradients) / bend)
        climbed = np.where(steep, 0.0, gradients * corner + bend * corner**2 / 2)
        beyond = corner + (gaps - climbed) / slope
        before = 2 * gaps / (gradients + np.sqrt(gradients**2 + 2 * bend * gaps))
        ends = np.where(gaps > climbed, beyond, before) * (1 - 2.0**-40)
    return np.where(gaps > 0, ends, 0.0)


def projected_radii(
    scores: LinearScores, plan: Projection, rows: Vectors, predicted: Integers, norm: str
) -> Vectors:
    """Return the distance that every row can move with the kept class sure to win, rounded down.

    Statement: let A be the matrix, w and b the differences of two classes' weights and offsets,
        u = A'w. The gap of their scores at z, times a scale s(z), is at least <u, z> - (e - b)
        s(z), where s(z) = max(1, ||z|| / R) if rows are clipped to norm R and ||A z|| if they are
        scaled after projecting; e is what the map's rounding can take away. This changes by at most
        ||u||_* + |e - b| Lip(s) per unit, ||.||_* dual to the norm in which rows are moved, Lip(s)
        1 / R or the operator norm of A. Without offsets it is exact up to rounding.
    Source: proofs/theory/robustness.md. Rows are finite; class numbers are -1 for none.
    """
    radii = np.full(len(rows), np.inf)
    scale = _Scale.of(plan)
    # A move of 1 in every coordinate has Euclidean length sqrt(features).
    longest = 1.0 if norm == "l2" else float(np.sqrt(rows.shape[1])) * (1 + slack(1))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for winner in np.unique(predicted[predicted >= 0]):
            of = predicted == winner
            gaps = _Gaps.of(scores, scale, int(winner))
            away = gaps.radii(scale, rows[of], 2 if norm == "l2" else 1, longest)
            away[:, winner] = np.inf
            radii[of] = away.min(axis=1)
    return radii


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """The positive number s(z) by which a map divides a row z."""

    # ``size`` is an upper bound of ||A||; rows are clipped to ``radius``, None if they are scaled
    # to norm 1; ``before`` and ``after`` are the largest moves by rounding, scaled and projected.

    matrix: Vectors
    size: float
    radius: float | None
    before: float
    after: float

    @classmethod
    def of(cls, plan: Projection) -> _Scale:
        """Read what a map does beside multiplying by its matrix."""
        matrix = plan.matrix()
        size = norm_bound(matrix) * (1 + slack(max(matrix.shape)))
        if isinstance(plan, mechanisms.SignProjection):
            return cls(
                matrix, size, None, displacement(plan.features), displacement(plan.output_features)
            )
        radius = float(plan.norm)
        after = slack(8) * float(lengths(matrix.ravel())) * radius
        return cls(matrix, size, radius, displacement(plan.features) * radius, after)

    @property
    def least(self) -> float:
        """Return the least value of s(z)."""
        return 0.0 if self.radius is None else 1.0

    @property
    def slope(self) -> float:
        """Return the largest change of s(z) per Euclidean unit."""
        return (self.size if self.radius is None else 1 / self.radius) * (1 + slack(4))

    def values(self, rows: Vectors) -> tuple[Vectors, Vectors]:
        """Return lower and upper bounds of s at some rows."""
        features = rows.shape[1]
        if self.radius is not None:
            sizes = lengths(rows) / self.radius
            lower = sizes * (1 - 4 * slack(features))
            return np.maximum(1.0, lower), np.maximum(1.0, sizes * (1 + slack(4)))
        error = slack(features) * float(lengths(self.matrix.ravel())) * lengths(rows)
        sizes = lengths(rows @ self.matrix.T)
        lower = sizes * (1 - 4 * slack(len(self.matrix))) - error
        return np.maximum(0.0, lower), sizes + error


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Gaps:
    """Differences of one class's score and those of all classes, pulled back through the matrix."""

    # Weights are u, (classes, features), with a bound of their ``errors``; ``offsets`` lower bounds
    # of b - e, rounding subtracted; ``losses`` by the grid of scaled rows, per Euclidean unit of
    # the row.

    weights: Vectors
    errors: Vectors
    offsets: Vectors
    losses: Vectors

    @classmethod
    def of(cls, scores: LinearScores, scale: _Scale, winner: int) -> _Gaps:
        """Subtract the scores of all classes from the winner's."""
        inner = scores.weights[winner] - scores.weights
        weights = inner @ scale.matrix
        errors = slack(len(scale.matrix) + 8) * (np.abs(inner) @ np.abs(scale.matrix))
        pulled = lengths(np.abs(weights) + errors)
        apart = scores.offsets[winner] - scores.offsets
        moved = lengths(inner) * scale.after * (1 + slack(8)) + slack(1) * np.abs(apart)
        if scale.radius is not None:
            moved += pulled * scale.before * (1 + slack(8))
            return cls(weights, errors, apart - moved, np.zeros_like(moved))
        losses = scale.before * (pulled + (np.abs(apart) + moved) * scale.size) * (1 + slack(8))
        return cls(weights, errors, apart - moved, losses)

    def radii(self, scale: _Scale, rows: Vectors, order: int, longest: float) -> Vectors:
        """Return the largest of the proved radii, shape (rows, classes)."""
        products = rows @ self.weights.T
        doubts = (
            np.abs(rows)
            @ (self.errors + slack(rows.shape[1]) * (np.abs(self.weights) + self.errors)).T
        )
        inner = products - doubts * (1 + slack(rows.shape[1]))
        inner -= lengths(rows)[:, np.newaxis] * self.losses * (1 + slack(8))
        steep = lengths(np.abs(self.weights) + self.errors, order) + self.losses * longest
        lower, upper = (one[:, np.newaxis] for one in scale.values(rows))
        scaled = inner + np.where(self.offsets < 0, upper, lower) * self.offsets
        slopes = steep + np.abs(self.offsets) * scale.slope * longest
        bound = _projected_radius_ratio(scaled, slopes)
        least = np.where(self.offsets < 0, -np.inf, inner + scale.least * self.offsets)
        bound = np.maximum(bound, _projected_radius_ratio(least, steep))
        if scale.radius is None:
            return bound
        # Clipping brings no two rows further apart; rows that stay inside are not clipped at all.
        clipped = _projected_radius_ratio(
            inner / np.where(inner > 0, upper, lower) + self.offsets,
            lengths(np.abs(self.weights) + self.errors),
        )
        bound = np.maximum(bound, clipped / longest * (1 - slack(4)))
        room = (scale.radius - lengths(rows)[:, np.newaxis]) / longest * (1 - slack(4))
        return np.maximum(
            bound, np.minimum(_projected_radius_ratio(inner + self.offsets, steep), room)
        )


def _projected_radius_ratio(gaps: Vectors, slopes: Vectors) -> Vectors:
    """Return gaps divided by slopes, rounded down; 0 unless the gap is positive."""
    return np.where(gaps > 0, gaps * (1 - slack(8)) / slopes, 0.0) * (1 - slack(4))


# The transforms of one image of norm 1 are off by less than this together (theory, section 3).
_TRANSFORMS = 2.0**-35


@functools.lru_cache(maxsize=8)
def lipschitz(plan: mechanisms.ScatteringFeatures) -> float:
    """Return an upper bound of how far features move per unit of a clipped or scaled image.

    Statement: the energy that a layer passes on is at most the largest eigenvalue of a matrix for
        every set of frequencies that its steps fold together, where a child weighs as much as what
        it passes on. Dividing a centred channel stretches by at most 1 / sqrt(floor).
    Source: proofs/theory/scattering.md, Theorem 1, after Mallat, arXiv:1101.2286, section 2.
    """
    second = [_passed(plan, octave, {}) for octave in range(plan.scales)]
    first = [
        _passed(plan, octave, dict(enumerate(second[octave + 1 :], octave + 1)))
        for octave in range(plan.scales)
    ]
    stretched = math.sqrt(_passed(plan, 0, dict(enumerate(first)))) * (1 + slack(4))
    if plan.floor is None:
        return stretched
    return stretched / math.sqrt(float(plan.floor)) * (1 + slack(4))


def _passed(plan: mechanisms.ScatteringFeatures, coarse: int, children: dict[int, float]) -> float:
    """Bound the energy of the features of an image of norm 1, given that of the wavelets' own."""
    low, wavelets = filters_of(plan)[coarse]
    parts = [(low[np.newaxis], plan.scales)]
    parts += [(wavelets[octave] * math.sqrt(c), octave) for octave, c in children.items()]
    bounds = [norm_bound(matrix) for matrix in _folded_together(parts, coarse, plan.scales)]
    return max(bounds) ** 2 * (1 + slack(16))


def _folded_together(parts: list[tuple[Matrix, int]], coarse: int, top: int) -> Matrix:
    """Return what filters do to frequencies that fold to one: (classes, rows, 4^(top - coarse))."""
    # ``parts`` are filters with the resolution of what they make. A filter has a second row,
    # mirrored: a real image has at a frequency the energy that it has at its negative.
    apart = 2 ** (top - coarse)
    down, across = np.divmod(np.arange(apart**2), apart)
    rows = []
    for filters, made in parts:
        same = 2 ** (top - made)  # aliases meet if they agree modulo this in both directions
        for kept in np.ndindex(same, same):
            meets = (down % same == kept[0]) & (across % same == kept[1])
            for one in filters:
                for filtered in (one, np.roll(np.flip(one), (1, 1), axis=(0, 1))):
                    height, width = (side // apart for side in one.shape)
                    cells = filtered.reshape(apart, height, apart, width).transpose(1, 3, 0, 2)
                    rows.append(cells.reshape(height * width, apart**2) * meets / math.sqrt(2))
    return np.stack(rows, axis=1)


def image_radii(moves: Matrix, plan: mechanisms.ScatteringFeatures, rows: Matrix) -> Matrix:
    """Return how far rows can move with their features sure to move by less than ``moves``.

    Statement: features move by at most ``lipschitz`` per unit of the clipped image; clipping, grid
        and scaling to norm 1 are as for Fourier features.
    Source: proofs/theory/scattering.md, section 4. Moves are Euclidean, of computed features.
    """
    error = _TRANSFORMS * (1 if plan.floor is None else 1 / math.sqrt(float(plan.floor)) + 1)
    chords = (moves - error) / lipschitz(plan) - 2 * displacement(plan.features)
    chords = np.maximum(chords, 0.0) * (1 - slack(8))
    if plan.norm is not None:
        return np.asarray(chords * float(plan.norm))
    sizes = lengths(rows) * (1 - 4 * slack(rows.shape[1]))
    return np.asarray(sizes * shares_of_length(chords))
