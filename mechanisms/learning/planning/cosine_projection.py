"""The cosine that a random projection keeps, exactly, and in how many dimensions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms.learning.maps.projected_margin import chi_rule
from dpproof.mechanisms.learning.planning.least import least_count

_NODES: Final = 340
_MOST: Final = 10**7


def cosine_after_projection(*, dimension: int, margin: Number, kept: Number) -> float:
    """The probability that a Gaussian projection turns a cosine ``margin`` into one below ``kept``.

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
    (x, weights), (y, others) = chi_rule(width - 1, _NODES), chi_rule(width, _NODES)
    slope, shift = left / math.sqrt(1 - left**2), before / math.sqrt(1 - before**2)
    below = ndtr(slope * x[:, np.newaxis] - shift * y)
    return min(float(weights @ below @ others), 1.0)


def cosine_dimension(*, margin: Number, share: Number, failure: Number) -> int:
    """The least m whose Gaussian projection keeps a share of one point's cosine.

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

    found = least_count(keeps, _MOST)
    if found is None:
        raise CalibrationError(
            f"no dimension up to {_MOST} keeps {kept:g} of a margin of {float(margin):g}; ask for "
            "less of it, or for a larger margin"
        )
    return found + 1
