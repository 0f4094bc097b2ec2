"""Every name that the source of a case may use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import accountant
import auditing
import mechanisms
import proofs
from accountant.pairs.finite import FinitePair
from accountant.pairs.product import Product
from accountant.public_names import homes_of
from accountant.theorems.subsampling.poisson import subsample_poisson
from accountant.theorems.subsampling.without_replacement import subsample_without_replacement

NAMES: dict[str, Any] = {
    **{name: getattr(accountant, name) for name in homes_of("accountant")},
    "accountant": accountant,
    "auditing": auditing,
    "mechanisms": mechanisms,
    "numpy": np,
    "proofs": proofs,
    "Fraction": Fraction,
    "FinitePair": FinitePair,
    "Product": Product,
    "subsample_poisson": subsample_poisson,
    "subsample_without_replacement": subsample_without_replacement,
}
