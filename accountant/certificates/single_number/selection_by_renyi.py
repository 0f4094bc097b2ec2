"""Compute Renyi divergences of a derivation with selections, for which no finite pair is used.

A finite pair above a selection counts large losses as infinite, which no Renyi divergence allows.
Papernot & Steinke's theorems take the divergences of one run instead (proofs/theory/selection.md,
Section 5); they bound every selection, not the pair above them all.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, unsaid
from dpproof.accountant.certificates.steps import law_of
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.theorems.composition import compose_rdp, self_compose
from dpproof.accountant.theorems.conversion import notion_to_rdp
from dpproof.accountant.theorems.post_processing import map_records, post_process
from dpproof.accountant.theorems.selection import select_rdp

_SELECTIONS: Final = ("select/pair", "select/above")
# Orders that a theorem may need besides. Heuristic.
_OTHERS: Final = tuple(1 + Fraction(2) ** k for k in range(-4, 13))


def has_selections(derivation: Derivation) -> bool:
    """Return whether a pair depends on a selection that is known by its pair."""
    return any(node.rule in _SELECTIONS for node in derivation.everything())


def as_renyi(derivation: Derivation, orders: list[Fraction]) -> RDP[Any]:
    """Return the same computation by Renyi divergences at some orders.

    Raises:
        NotCertified: it has a theorem that Renyi divergences do not have.
    """
    known, given = derivation.conclusion, dict(derivation.parameters)
    if not isinstance(known, Guarantee):
        raise NotCertified(unsaid(derivation.rule))
    if not has_selections(derivation):
        return notion_to_rdp(known, orders=orders)
    if derivation.rule == "select/pair":
        base = as_renyi(derivation.premises[0], sorted({*orders, *_OTHERS}))
        return select_rdp(base, law_of(given))
    parts = [as_renyi(one, orders) for one in derivation.premises]
    match derivation.rule:
        case "compose/pair":
            return compose_rdp(parts, orders=orders)
        case "repeat/pair":
            return compose_rdp([self_compose(parts[0], int(str(given["count"])))], orders=orders)
        case "post-process":
            return post_process(parts[0], description=str(given["description"]))
        case "map-records":
            return map_records(parts[0], description=str(given["description"]))
        case _:
            raise NotCertified(
                f"Renyi divergences through {derivation.rule} of a selection are not certified; "
                f"{UNCERTIFIED}"
            )
