"""Upper bounds of a matrix's Euclidean norm, rounding included."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

# Heuristic: how much room the Cholesky factorisation gets above the computed eigenvalue.
_ROOM: Final = 2.0**-30


def slack(terms: int) -> float:
    """Return a bound of the relative error of a sum of so many products and a few operations.

    Source: Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1: gamma_n =
        n u / (1 - n u), u = 2^-53; this is more than four times it.
    Example:
        >>> slack(100) < 1e-12
        True
    """
    return (4 * terms + 64) * 2.0**-52


def lengths(vectors: Matrix, order: int = 2) -> Matrix:
    """Return upper bounds of the norms of the last axis: Euclidean, or L1 for order 1.

    Scaled by the largest entry, so that squares neither overflow nor vanish.
    Example:
        >>> lengths(np.array([[3e-200, 4e-200]])) >= 5e-200
        array([ True])
    """
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
    Example:
        >>> 2 <= norm_bound(np.diag([2.0, 1.0])) < 2.0001
        True
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
