"""Symmetric matrices of rational numbers: triangular factors, solutions and definiteness."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

Vector: TypeAlias = Sequence[Fraction]
Matrix: TypeAlias = Sequence[Vector]


def triangular_factors(matrix: Matrix) -> tuple[list[list[Fraction]], list[Fraction]] | None:
    """Return L with ones on its diagonal and D with matrix = L diag(D) L', None if some D <= 0.

    Statement: they exist, all D being positive, exactly if a symmetric matrix is positive definite.
    Source: Gaussian elimination; Sylvester's criterion, as products of D are leading minors.
    """
    size = len(matrix)
    lower = [[Fraction(i == j) for j in range(size)] for i in range(size)]
    pivots: list[Fraction] = []
    for i in range(size):
        for j in range(i):
            done = sum((lower[i][k] * lower[j][k] * pivots[k] for k in range(j)), Fraction(0))
            lower[i][j] = (matrix[i][j] - done) / pivots[j]
        done = sum((lower[i][k] ** 2 * pivots[k] for k in range(i)), Fraction(0))
        pivots.append(matrix[i][i] - done)
        if pivots[-1] <= 0:
            return None
    return lower, pivots


def solved(lower: Matrix, vector: Vector) -> list[Fraction]:
    """Return x with lower x = vector, ``lower`` triangular with ones on its diagonal."""
    solution: list[Fraction] = []
    for i, value in enumerate(vector):
        solution.append(value - sum((lower[i][k] * solution[k] for k in range(i)), Fraction(0)))
    return solution
