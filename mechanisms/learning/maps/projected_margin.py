"""The part of a margin that a random projection keeps, exactly, and the dimensions it takes."""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms.learning.planning.exponential_plan import FAR, least_count

# A chi variable is further than this from its mode with probability below 1e-60.
_REACH: Final = 17.0
_NODES: Final = 600
_MOST: Final = 10**12


def margin_after_projection(*, dimension: int, margin: Number, kept: Number) -> float:
    """Return the probability that a Gaussian projection leaves a point a margin below ``kept``.

    Statement: Phi has independent N(0, 1/k) entries, u and v are unit vectors with <u, v> = c, and
        u' = Phi u / ||Phi u||. Then <u', Phi v> has the law of (c X + sqrt(1 - c^2) Z) / sqrt(k),
        X chi-distributed with k degrees of freedom, Z standard normal and independent. Returns
        P(<u', Phi v> < kept), by quadrature to approximately 12 digits
        for k up to 10^4, and 8 for k up to 10^6.
    Source: proofs/theory/margins.md, section 3. For n points multiply by n. It is proved for
        Gaussian projections; ``sign_projection_dimension`` is about signs. It is about utility:
        privacy does not rest on it.

    Args:
        dimension: k.
        margin: c, in (0, 1]: the cosine of the reference and the point, y times.
        kept: the margin to be left, from 0 to below ``margin``, in the same unit (not a share).
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> round(margin_after_projection(dimension=40, margin=0.3, kept=0.15), 5)
        0.16883
    """
    from scipy.special import ndtr  # noqa: PLC0415 - its import takes longer than all of ours

    width, cosine = check.count(dimension=dimension), float(check.positive(margin=margin))
    left = float(check.non_negative(kept=kept))
    if cosine > 1:
        raise ParameterError("margin", margin, "in (0, 1], the cosine of an angle")
    if left >= cosine:
        raise ParameterError("kept", kept, f"below margin = {cosine:g}, and in its unit")
    points, weights = chi_rule(width, _NODES)
    spread = math.sqrt(max(1 - cosine * cosine, 0.0))
    short = left * math.sqrt(width) - cosine * points
    below = ndtr(short / spread) if spread > 0 else (short > 0).astype(np.float64)
    return float(min(np.sum(weights * below), 1.0))


def projection_dimension(*, margin: Number, kept: Number, points: int, failure: Number) -> int:
    """Return the least k whose Gaussian projection keeps the margin of every one of some points.

    Statement: with probability at least 1 - failure all ``points`` unit vectors at cosine
        ``margin`` to a reference keep ``kept``: points * margin_after_projection <= failure.
    Source: ``margin_after_projection`` and a union bound.

    Args:
        margin: as for ``margin_after_projection``.
        kept: likewise.
        points: a public number of records.
        failure: in (0, 1).
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: 10^12 dimensions are too few.
    Example:
        >>> projection_dimension(margin=0.3, kept=0.15, points=10_000, failure=0.05)
        829
    """
    allowed = float(check.open_probability(failure=failure)) / check.count(points=points)

    def keeps(dimension: int) -> bool:
        found = margin_after_projection(dimension=dimension, margin=margin, kept=kept)
        return found <= allowed

    found = least_count(keeps, _MOST)
    if found is None:
        raise CalibrationError(f"{_MOST} dimensions are too few; keep less of the margin")
    return found


def sign_projection_dimension(*, distortion: Number, points: int, failure: Number) -> int:
    """Return the least k of the bound for sign projections of some points' norms and products.

    Statement: with k >= ln((6 m + 2)/failure) / (t^2/4 - t^3/6) a k x d matrix of signs / sqrt(k)
        keeps the squared norms of m points and of one reference up to a factor 1 -+ t, and their
        products with the reference up to t times both norms, with probability 1 - failure.
    Source: Achlioptas, JCSS 66 (2003), proof of Theorem 1.1, on m + 1 norms and 2 m sums and
        differences: 2 (3 m + 1) tails.

    Args:
        distortion: t, in (0, 1).
        points: m, a public number of records.
        failure: in (0, 1).
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: 10^300 dimensions are too few.
    Example:
        >>> sign_projection_dimension(distortion=0.15, points=10_000, failure=0.05)
        2766
    """
    chance, t = (
        check.open_probability(failure=failure),
        check.open_probability(distortion=distortion),
    )
    number = check.count(points=points)
    found = least_count(lambda width: _sign_failure(width, float(t), number) <= chance, FAR)
    if found is None:
        raise CalibrationError(f"{FAR:.0e} dimensions are too few; allow a larger distortion")
    return found


def sign_projection_failure(*, dimension: int, distortion: Number, points: int) -> float:
    """Bound the probability that a sign projection moves a norm or a product by more than stated.

    Statement: at most (6 m + 2) e^(-k (t^2/4 - t^3/6)), and 1, for what
        ``sign_projection_dimension`` states.
    Source: as there.

    Args:
        dimension: k.
        distortion: t, in (0, 1).
        points: m, a public number of records.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> round(sign_projection_failure(dimension=2766, distortion=0.15, points=10_000), 3)
        0.05
    """
    t = float(check.open_probability(distortion=distortion))
    return _sign_failure(check.count(dimension=dimension), t, check.count(points=points))


def _sign_failure(width: int, t: float, points: int) -> float:
    """Return the bound for checked numbers, of a width without a limit."""
    return min(math.exp(math.log(6 * points + 2) - width * (t * t / 4 - t**3 / 6)), 1.0)


def chi_rule(freedom: int, nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes, and weights that integrate against the density of a chi variable.

    Statement: a Gauss-Legendre rule on all but 1e-60 of the variable's mass.

    Args:
        freedom: degrees of freedom.
        nodes: the number of nodes.
    Example:
        >>> round(float(chi_rule(3, 60)[1].sum()), 12)
        1.0
    """
    from scipy.special import gammaln  # noqa: PLC0415 - its import takes longer than all of ours

    mode = math.sqrt(max(freedom - 1, 0))
    low, high = max(mode - _REACH, 0.0), mode + _REACH
    placed, weights = _legendre(nodes)
    points = low + (high - low) * (placed + 1) / 2
    log = (freedom - 1) * np.log(points) - points**2 / 2
    log -= gammaln(freedom / 2) + (freedom / 2 - 1) * math.log(2)
    return points, weights * (high - low) / 2 * np.exp(log)


@cache
def _legendre(nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Gauss-Legendre rule on [-1, 1], whose eigenvalues take long to find."""
    return np.polynomial.legendre.leggauss(nodes)
