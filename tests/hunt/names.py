"""Every name that the source of a case may use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpproof import accountant, auditing, mechanisms, proofs
from dpproof.accountant import Guarantee
from dpproof.accountant.adaptive.privacy_filter import PrivacyFilter
from dpproof.accountant.adaptive.privacy_odometer import PrivacyOdometer
from dpproof.accountant.pairs.cut_gaussian import FlooredGaussianPair, FoldedGaussianPair
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.public_names import homes_of
from dpproof.accountant.theorems.subsampling import subsample_poisson, subsample_without_replacement
from tests.hunt.ways import by_ways


def admitted(
    budget: PrivacyFilter[Any], part: Guarantee[Any], most: int
) -> tuple[Guarantee[Any], int]:
    """Spend equal parts until the filter refuses one; return what it guarantees, and how many."""
    count = 0
    while count < most and budget.admits(part):
        budget.spend(part)
        count += 1
    return budget.guarantee(), count


def totals(
    begin: Callable[[], PrivacyOdometer[Any]],
    parts: Sequence[Guarantee[Any]],
    most: int,
    delta: Fraction,
) -> dict[tuple[int, int], float]:
    """Return what an odometer says of so many of one part and so many of the other."""
    said = {}
    for one in range(most + 1):
        odometer = begin()
        for _ in range(one):
            odometer.spend(parts[0])
        for other in range(most + 1 - one):
            said[one, other] = odometer.spent(delta=delta)
            odometer.spend(parts[1])
    return said


NAMES: dict[str, Any] = {
    **{name: getattr(accountant, name) for name in homes_of("dpproof.accountant")},
    "accountant": accountant,
    "admitted": admitted,
    "auditing": auditing,
    "mechanisms": mechanisms,
    "numpy": np,
    "proofs": proofs,
    "Fraction": Fraction,
    "FinitePair": FinitePair,
    "FlooredGaussianPair": FlooredGaussianPair,
    "FoldedGaussianPair": FoldedGaussianPair,
    "Product": Product,
    "subsample_poisson": subsample_poisson,
    "subsample_without_replacement": subsample_without_replacement,
    "by_ways": by_ways,
    "totals": totals,
}
