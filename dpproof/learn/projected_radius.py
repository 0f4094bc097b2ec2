"""Certified radii of linear classifiers on rows that a linear map projects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.learn.matrix_norm import lengths, norm_bound, slack
from dpproof.learn.scores import LinearScores, Projection
from dpproof.mechanisms import SignProjection
from dpproof.mechanisms.learning.grid import displacement

Vectors = NDArray[np.float64]


def projected_radii(
    scores: LinearScores, plan: Projection, rows: Vectors, kept: NDArray[np.int64], norm: str
) -> Vectors:
    """How far every row can be moved with the kept class sure to win, rounded down.

    Statement: let A be the matrix, w and b the differences of two classes' weights and offsets,
        u = A'w. The gap of their scores at z, times a scale s(z), is at least
        <u, z> - (e - b) s(z), where s(z) = max(1, ||z|| / R) if rows are clipped to norm R and
        ||A z|| if rows are scaled to norm 1 after projecting; e is what the map's rounding can
        take away. This changes by at most ||u||_* + |e - b| Lip(s) per unit, where ||.||_* is dual
        to the norm in which rows are moved, and Lip(s) is 1 / R or the operator norm of A. Without
        offsets the radius is <u, x> / ||u||_*, that of the weights u, which is exact up to
        rounding.
    Source: proofs/theory/robustness.md.

    Args:
        scores: of all classes.
        plan: the map.
        rows: finite, in data units.
        kept: class numbers, -1 for none.
        norm: ``"l2"`` or ``"linf"``.
    """
    radii = np.full(len(rows), np.inf)
    scale = _Scale.of(plan)
    # A move of 1 in every coordinate has Euclidean length sqrt(features).
    longest = 1.0 if norm == "l2" else float(np.sqrt(rows.shape[1])) * (1 + slack(1))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for winner in np.unique(kept[kept >= 0]):
            of = kept == winner
            gaps = _Gaps.of(scores, scale, int(winner))
            away = gaps.radii(scale, rows[of], 2 if norm == "l2" else 1, longest)
            away[:, winner] = np.inf
            radii[of] = away.min(axis=1)
    return radii


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """The positive number s(z) by which a map divides a row z.

    Attributes:
        matrix: A, shape (dimension, features).
        size: an upper bound of ||A||.
        radius: R, to which rows are clipped; None if they are scaled to norm 1.
        before: how far the map's grid moves a clipped or scaled row.
        after: how far it moves a projected one.
    """

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
        if isinstance(plan, SignProjection):
            return cls(
                matrix, size, None, displacement(plan.features), displacement(plan.output_features)
            )
        radius = float(plan.norm)
        after = slack(8) * float(lengths(matrix.ravel())) * radius
        return cls(matrix, size, radius, displacement(plan.features) * radius, after)

    @property
    def least(self) -> float:
        """The least value of s(z)."""
        return 0.0 if self.radius is None else 1.0

    @property
    def slope(self) -> float:
        """By how much s(z) changes per Euclidean unit at most."""
        return (self.size if self.radius is None else 1 / self.radius) * (1 + slack(4))

    def values(self, rows: Vectors) -> tuple[Vectors, Vectors]:
        """Lower and upper bounds of s at some rows."""
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
    """Differences of one class's score and those of all classes, pulled back through the matrix.

    Attributes:
        weights: u, shape (classes, features).
        errors: how far rounding may have moved every entry of u.
        offsets: lower bounds of b - e, what the map's rounding takes away subtracted.
        losses: what the grid of scaled rows takes away, per Euclidean unit of the row.
    """

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
        """The largest of the radii that are proved, shape (rows, classes)."""
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
        found = _ratio(scaled, slopes)
        least = np.where(self.offsets < 0, -np.inf, inner + scale.least * self.offsets)
        found = np.maximum(found, _ratio(least, steep))
        if scale.radius is None:
            return found
        # Clipping brings no two rows further apart; rows that stay inside are not clipped at all.
        clipped = _ratio(
            inner / np.where(inner > 0, upper, lower) + self.offsets,
            lengths(np.abs(self.weights) + self.errors),
        )
        found = np.maximum(found, clipped / longest * (1 - slack(4)))
        room = (scale.radius - lengths(rows)[:, np.newaxis]) / longest * (1 - slack(4))
        return np.maximum(found, np.minimum(_ratio(inner + self.offsets, steep), room))


def _ratio(gaps: Vectors, slopes: Vectors) -> Vectors:
    """Gaps divided by slopes, rounded down; 0 unless the gap is positive."""
    return np.where(gaps > 0, gaps * (1 - slack(8)) / slopes, 0.0) * (1 - slack(4))
