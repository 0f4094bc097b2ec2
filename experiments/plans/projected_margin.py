"""The part of a margin that a random projection keeps, exactly, and the dimensions it takes."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import least_count
from dpproof.accountant.errors import CalibrationError, ParameterError

# A chi variable is further than this from its mode with probability below 1e-60.
_REACH: Final = 17.0
_NODES: Final = 600
_MOST: Final = 10**12
_COSINE_NODES: Final = 340
_MOST_COSINE: Final = 10**7
# Beyond what is feasible by far, and a float.
_FAR: Final = 10**300


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


def cosine_after_projection(*, dimension: int, margin: Number, kept: Number) -> float:
    """Return the probability that a Gaussian projection takes ``margin`` below ``kept``.

    Statement: A has independent N(0, 1) entries, u and v are unit vectors with <u, v> = rho. The m
        pairs of coordinates of Au and Av are a sample of a binormal law of correlation rho, and
        Au, Av have the cosine c or less with probability
        E Phi(c / sqrt(1 - c^2) X - rho / sqrt(1 - rho^2) Y), X and Y independent and
        chi-distributed with m - 1 and m degrees of freedom.
    Proof: rotate the coordinates of R^m so that Au is Y times the first. Given Y, Av =
        rho Au + sqrt(1 - rho^2) Z with Z standard normal, so its first coordinate is
        rho Y + sqrt(1 - rho^2) Z_1 and the others have length sqrt(1 - rho^2) X. The cosine is at
        most c if and only if rho Y + sqrt(1 - rho^2) Z_1 <= c / sqrt(1 - c^2) sqrt(1 - rho^2) X.
    Source: for Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Lemma 3, which scales projected rows
        to norm 1; ``margin_after_projection`` is for those that are not. It is about
        utility: privacy does not rest on it.

    Args:
        dimension: m, at least 2.
        margin: rho, in (0, 1).
        kept: c, at least 0 and below ``margin``.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> round(cosine_after_projection(dimension=20, margin=0.3, kept=0.1), 6)
        0.175714
    """
    from scipy.special import ndtr  # noqa: PLC0415 - its import takes longer than all of ours

    width = check.count(dimension=dimension)
    if width < 2:
        raise ParameterError("dimension", dimension, "at least 2")
    before = float(check.open_probability(margin=margin))
    left = float(check.non_negative(kept=kept))
    if left >= before:
        raise ParameterError("kept", kept, f"below margin = {before:g}")
    (x, weights), (y, others) = chi_rule(width - 1, _COSINE_NODES), chi_rule(width, _COSINE_NODES)
    slope, shift = left / math.sqrt(1 - left**2), before / math.sqrt(1 - before**2)
    below = ndtr(slope * x[:, np.newaxis] - shift * y)
    return min(float(weights @ below @ others), 1.0)


def cosine_dimension(*, margin: Number, share: Number, failure: Number) -> int:
    """Return the least m whose Gaussian projection keeps a share of one point's cosine.

    Statement: the inverse of ``cosine_after_projection`` at kept = share margin: the probability is
        at most ``failure`` at m, and above it at m - 1. For n points divide the failure by n.
    Source: ``cosine_after_projection``.

    Args:
        margin: rho, in (0, 1).
        share: of it, in [0, 1).
        failure: in (0, 1).
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: no m up to 10^7 is enough.
    Example:
        >>> cosine_dimension(margin=0.3, share=0.5, failure=1e-3)
        382
    """
    part = check.non_negative(share=share)
    if part >= 1:
        raise ParameterError("share", share, "below 1")
    allowed = float(check.open_probability(failure=failure))
    kept = float(part) * float(check.open_probability(margin=margin))

    def keeps(dimension: int) -> bool:
        lost = cosine_after_projection(dimension=dimension + 1, margin=margin, kept=kept)
        return lost <= allowed

    found = least_count(keeps, _MOST_COSINE)
    if found is None:
        raise CalibrationError(
            f"no dimension up to {_MOST_COSINE} keeps {kept:g} of a margin of {float(margin):g}; "
            "ask for less of it, or for a larger margin"
        )
    return found + 1


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
    fails = partial(sign_projection_failure, distortion=float(t), points=number)
    found = least_count(lambda width: fails(dimension=width) <= chance, _FAR)
    if found is None:
        raise CalibrationError(f"{_FAR:.0e} dimensions are too few; allow a larger distortion")
    return found


def sign_projection_failure(*, dimension: int, distortion: float, points: int) -> float:
    """Bound the probability that a sign projection moves a norm or a product by more than stated.

    Statement: at most (6 m + 2) e^(-k (t^2/4 - t^3/6)), and 1, for the events of
        ``sign_projection_dimension``.
    Source: as there.

    Args:
        dimension: k.
        distortion: t, in (0, 1).
        points: m, a public number of records.
    Example:
        >>> round(sign_projection_failure(dimension=2766, distortion=0.15, points=10_000), 3)
        0.05
    """
    exponent = dimension * (distortion**2 / 4 - distortion**3 / 6)
    return min(math.exp(math.log(6 * points + 2) - exponent), 1.0)


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
