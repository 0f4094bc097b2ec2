"""Prove the smallest mu of a product without a closed profile, by points of the profile."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np

from dpproof.accountant.certificates.format.serialize import factors
from dpproof.accountant.certificates.hockey_stick.choose import distinct
from dpproof.accountant.certificates.hockey_stick.curve import facts
from dpproof.accountant.certificates.single_number.gdp_zcdp import above_tangent, refined
from dpproof.accountant.engine.profile import deltas, max_loss
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.point_lists import Points
from dpproof.accountant.pairs.gaussian import gaussian_tangent
from dpproof.accountant.pairs.product import Product
from dpproof.proofs import limits
from dpproof.proofs.certificate import Step

_TRIES: Final = ((20, 512), (17, 256), (14, 128), (12, 128), (10, 64), (8, 32))
"""Bits of the slack in mu and in the facts, and how fine their tables are."""
_MOST_WORK: Final = limits.MAX_WORK * 3 // 4  # Most work of the checker. Heuristic.
_CELLS: Final = 16  # Cells of the first grid. Heuristic.
_SHARE: Final = 1e-12  # Relative rounding of a comparison. Heuristic: the checker decides.
_MENDED, _PARTS = 3, 4  # Rounds in which failing cells are cut, and the parts of each. Heuristic.


def smallest_mu(pair: DominatingPair[Any], mu: float) -> tuple[float, Points, list[Step]]:
    """Return a mu slightly above a valid one, points of the profile that prove it, and facts.

    Raises:
        NotCertified: a loss has no bound, or no points show any such mu.
    """
    products = distinct(pair)
    end = max(max_loss(one) for one in products) * (1 + 1e-9)
    for one in products:
        factors(one)  # refuse what certificates do not know
    if not np.isfinite(end):
        raise NotCertified(
            "certificates show mu-GDP of unbounded losses only where the pairs' own mu add up in "
            "squares; certify epsilon or delta, or convert the parts"
        )
    for bits, fine in _TRIES:
        raised = mu * (1 + 2.0**-bits)
        try:
            grid = refined(
                np.linspace(0.0, end, _CELLS),
                lambda points, at=raised: np.any(  # type: ignore[misc]
                    [above_tangent(deltas(one, points)[1], points, at) for one in products], axis=0
                ),
                lambda left, right: 0.5 * (left + right),
            )
        except NotCertified:
            continue
        found = _points_below(products, [Fraction(x) for x in grid.tolist()], raised, bits, fine)
        if found:
            return raised, *found
    raise NotCertified(
        "no certificate shows this mu as closely as it is stated; certify epsilon at a delta"
    )


def _points_below(
    products: list[Product], places: list[Fraction], mu: float, bits: int, fine: int
) -> tuple[Points, list[Step]] | None:
    """Return points that prove mu with facts about them, or None.

    Cells that are too wide are cut a few times.
    """
    known: list[dict[Fraction, Fraction]] = [{} for _ in products]
    steps: list[Step] = []
    left = _MOST_WORK
    for _ in range(_MENDED):
        for product, heights in zip(products, known, strict=True):
            try:
                points, shown, work = facts(product, places, fine=fine, slack=2.0**-bits, most=left)
            except NotCertified:
                return None
            heights.update(points)
            steps.extend(shown)
            left -= work
        points = _larger(known)
        places = _wide(points, mu)
        if not places:
            return points, steps
    return None


def _larger(tables: list[dict[Fraction, Fraction]]) -> Points:
    """Return the largest delta at the epsilons that all tables list."""
    shared = set.intersection(*(set(table) for table in tables))
    return tuple((x, max(table[x] for table in tables)) for x in sorted(shared))


def _wide(points: Points, mu: float) -> list[Fraction]:
    """Return more places inside the cells on which the checker's comparison fails."""
    if points[0][0] or points[-1][1]:
        raise NotCertified(
            "the losses have no proved largest one, or none at epsilon 0, so that no mu is shown; "
            "certify epsilon at a delta"
        )
    found: list[Fraction] = []
    for (left, high), (right, low) in pairwise(points):
        ends, middle = np.array([float(left), float(right)]), float((left + right) / 2)
        line = gaussian_tangent(mu, np.array([middle]), ends) * (1 - _SHARE)
        if not (float(high) <= line[0] and float(low) <= line[1]):
            found.extend(left + (right - left) * part / _PARTS for part in range(1, _PARTS))
    return found
