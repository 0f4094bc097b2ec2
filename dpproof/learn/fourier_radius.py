"""Certified radii of linear classifiers on random Fourier features."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.learn.matrix_norm import lengths, norm_bound, slack
from dpproof.learn.scores import LinearScores
from dpproof.mechanisms import FourierFeatures

Vectors = NDArray[np.float64]

# Cosines and sines of the map are within 2^-50 of their values.
_WAVES = 2.0**-48


def fourier_radii(
    scores: LinearScores,
    plan: FourierFeatures,
    rows: Vectors,
    kept: NDArray[np.int64],
    *,
    curvature: bool,
) -> Vectors:
    """How far every row can be moved, in Euclidean norm, with the kept class sure to win.

    Statement: let g = f_y - f_c = D^(-1/2) sum_j (a_j cos <r_j, x> + b_j sin <r_j, x>) + b and
        s_j = sqrt(a_j^2 + b_j^2), P the matrix of the frequencies r_j. Everywhere ||grad g|| is at
        most L = min(||P|| ||(a, b)|| / sqrt(D), ||P diag(s)||), and the Hessian's norm at most
        H = ||P diag(sqrt(s))||^2 / sqrt(D). So along a segment of length t from x the slope of g
        is at most min(||grad g(x)|| + H t, L), and g stays positive until that adds up to g(x).
        This is at least the radius g(x) sqrt(D) / (||P|| ||(a, b)||) of the paper.
    Source: proofs/theory/robustness.md; the first term is Ghazi, Kumar, Manurangsi & Nguyen,
        arXiv:2011.14580, section 5.

    Rows are clipped before they are mapped, which brings no two rows further apart; the map
    rounds them, by at most ``plan.rounding`` each. For rows scaled to norm 1, a radius on the
    sphere, as a chord, is turned into one in space.

    Args:
        scores: of all classes.
        plan: the map.
        rows: finite, in data units.
        kept: class numbers, -1 for none.
        curvature: whether to use more than the first term.
    """
    radii = np.full(len(rows), np.inf)
    mapped = plan.apply(rows)
    frequencies = plan.matrix()
    steepest = norm_bound(frequencies)
    for one, other in itertools.combinations(range(len(scores.offsets)), 2):
        concerned = (kept == one) | (kept == other)
        if concerned.any():
            gap = _Gap.of(scores, frequencies, steepest, one, other)
            signs = np.where(kept[concerned] == one, 1.0, -1.0)
            found = gap.radii(mapped[concerned], signs, curvature=curvature)
            radii[concerned] = np.minimum(radii[concerned], found)
    chords = np.maximum(radii - 2 * plan.rounding, 0.0)
    if plan.norm is not None:
        return chords
    sizes = lengths(rows) * (1 - 4 * slack(rows.shape[1]))
    return np.asarray(sizes * shares_of_length(chords))


def shares_of_length(chords: Vectors) -> Vectors:
    """The largest share of its length by which a row can move with its direction within a chord.

    A row that moves by less than its length times sin(a) turns by less than a, at most a right
    angle; the chord of a is 2 sin(a / 2).
    Example:
        >>> shares_of_length(np.array([1.0, 2.0])).round(6)  # sixty degrees, half a turn
        array([0.866025, 1.      ])
    """
    inner = np.minimum(chords, math.sqrt(2))
    return np.asarray(inner * np.sqrt(np.maximum(1 - inner**2 / 4, 0.5)) * (1 - slack(4)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Gap:
    """The difference of two scores, with bounds of its slope and of its curvature.

    Attributes:
        weights: of the features, (a, b) of the statement.
        offset: b.
        frequencies: shape (D, features).
        first: the paper's bound of the slope.
        slope: L.
        bend: H.
    """

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
        """Of two classes, scaled so that the largest weight is near 1; ||P|| <= ``steepest``."""
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
        """How far rows of these features can be moved with the gap of this sign, rounded down."""
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
    """Gaps divided by a slope, rounded down; infinite if the slope is 0 and the gap is not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gaps > 0, gaps / slope, 0.0) * (1 - slack(4))


def _reach(gaps: Vectors, gradients: Vectors, bend: float, slope: float) -> Vectors:
    """Where a slope of min(gradient + bend t, slope) adds up to the gap, rounded down."""
    steep = gradients >= slope
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        corner = np.where(steep, 0.0, (slope - gradients) / bend)
        climbed = np.where(steep, 0.0, gradients * corner + bend * corner**2 / 2)
        beyond = corner + (gaps - climbed) / slope
        before = 2 * gaps / (gradients + np.sqrt(gradients**2 + 2 * bend * gaps))
        found = np.where(gaps > climbed, beyond, before) * (1 - 2.0**-40)
    return np.where(gaps > 0, found, 0.0)
