"""A guarantee with every conversion inside its derivation raised to numbers that proofs reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from accountant.certificates.conversions import SHOWN
from accountant.certificates.proved_guarantee import Shown
from accountant.errors import NotCertified
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.rdp import RDP
from accountant.sampling.schemes import Poisson, WithoutReplacement
from accountant.theorems.composition.compose import compose, self_compose
from accountant.theorems.composition.parallel import parallel_compose
from accountant.theorems.composition.post_process import post_process
from accountant.theorems.composition.rdp import compose_rdp
from accountant.theorems.conversion.approx_to_pure import approx_to_pure
from accountant.theorems.conversion.bounded_range_to_pure import bounded_range_to_pure
from accountant.theorems.conversion.bounded_range_to_zcdp import bounded_range_to_zcdp
from accountant.theorems.conversion.gdp_to_zcdp import gdp_to_zcdp
from accountant.theorems.conversion.notion_to_pair import notion_to_pair
from accountant.theorems.conversion.notion_to_rdp import notion_to_rdp
from accountant.theorems.conversion.pair_to_gdp import pair_to_gdp
from accountant.theorems.conversion.pair_to_pure import pair_to_pure
from accountant.theorems.conversion.pair_to_zcdp import pair_to_zcdp
from accountant.theorems.conversion.profile_to_trade_off import profile_to_trade_off
from accountant.theorems.conversion.pure_to_approx import pure_to_approx
from accountant.theorems.conversion.pure_to_bounded_range import pure_to_bounded_range
from accountant.theorems.conversion.pure_to_gdp import pure_to_gdp
from accountant.theorems.conversion.pure_to_zcdp import pure_to_zcdp
from accountant.theorems.group.group import group
from accountant.theorems.selection.above import select_above
from accountant.theorems.selection.pair import select_pair
from accountant.theorems.selection.pure import select_pure
from accountant.theorems.selection.rdp import select_rdp
from accountant.theorems.subsampling.poisson import subsample_poisson
from accountant.theorems.subsampling.without_replacement import subsample_without_replacement

Parts: TypeAlias = list[Any]
Parameters: TypeAlias = Mapping[str, Any]
_AGAIN: Final[Mapping[str, Callable[[Parts, Parameters], Guarantee[Any]]]] = {
    "dominate": lambda parts, _: notion_to_pair(parts[0]),
    "compose": lambda parts, _: compose(*parts),
    "compose/rdp": lambda parts, given: compose_rdp(parts, orders=given["orders"]),
    "repeat": lambda parts, given: self_compose(parts[0], given["count"]),
    "parallel": lambda parts, _: parallel_compose(*parts),
    "post-process": lambda parts, given: post_process(parts[0], description=given["description"]),
    "group": lambda parts, given: group(parts[0], size=given["size"]),
    "subsample/poisson": lambda parts, given: subsample_poisson(parts[0], Poisson(**given)),
    "subsample/without-replacement": lambda parts, given: subsample_without_replacement(
        parts[0], WithoutReplacement(**given)
    ),
    "select/pair": lambda parts, given: select_pair(parts[0], given["runs"]),
    "select/above": lambda parts, given: select_above(parts[0], given["runs"]),
    "select/pure": lambda parts, given: select_pure(parts[0], given["runs"]),
    "select/rdp": lambda parts, given: select_rdp(parts[0], given["runs"]),
    "convert/notion-rdp": lambda parts, given: notion_to_rdp(parts[0], orders=given["orders"]),
    "convert/pure-approx": lambda parts, _: pure_to_approx(parts[0]),
    "convert/approx-pure": lambda parts, _: approx_to_pure(parts[0]),
    "convert/pure-bounded-range": lambda parts, _: pure_to_bounded_range(parts[0]),
    "convert/pure-zcdp": lambda parts, _: pure_to_zcdp(parts[0]),
    "convert/pure-gdp": lambda parts, _: pure_to_gdp(parts[0]),
    "convert/bounded-range-pure": lambda parts, _: bounded_range_to_pure(parts[0]),
    "convert/bounded-range-zcdp": lambda parts, _: bounded_range_to_zcdp(parts[0]),
    "convert/gdp-zcdp": lambda parts, _: gdp_to_zcdp(parts[0]),
    "convert/profile-trade-off": lambda parts, _: profile_to_trade_off(parts[0]),
    "convert/pair-pure": lambda parts, _: pair_to_pure(parts[0]),
    "convert/pair-gdp": lambda parts, _: pair_to_gdp(parts[0]),
    "convert/pair-zcdp": lambda parts, _: pair_to_zcdp(parts[0]),
}
"""Every theorem, by its rule or the first word of it, as a function of premises and parameters."""


def raised(guarantee: Guarantee[Any]) -> tuple[Guarantee[Any], dict[int, Shown]]:
    """The same computation from raised numbers, itself where there are none.

    Returns:
        The guarantee, and what shows the raised numbers, by the id of their derivations.
    Raises:
        NotCertified: no proof comes near a number, or what was made of it cannot be made again.
    """
    found: dict[int, Guarantee[Any]] = {}
    shown: dict[int, Shown] = {}
    stack = [guarantee.derivation]
    while stack:
        node = stack[-1]
        missing = [one for one in node.premises if id(one) not in found]
        if missing and id(node) not in found:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if id(node) not in found:
            found[id(node)] = _raised(node, [found[id(one)] for one in node.premises], shown)
    return found[id(guarantee.derivation)], shown


def _raised(
    node: Derivation, premises: list[Guarantee[Any]], shown: dict[int, Shown]
) -> Guarantee[Any]:
    """What one theorem gives for raised premises."""
    if not isinstance(node.conclusion, Guarantee):
        raise NotCertified(f"the derivation does not say what {node.rule} concludes")
    if node.rule in SHOWN:
        proof = SHOWN[node.rule](node, premises[0])
        if proof is not None:
            shown[id(proof.guarantee.derivation)] = proof
            return proof.guarantee
    same = zip(premises, node.premises, strict=True)
    if all(one.derivation is old for one, old in same):
        return node.conclusion
    return _again(node, premises)


def _again(node: Derivation, premises: list[Guarantee[Any]]) -> Guarantee[Any]:
    """One theorem, applied to other premises with the parameters it had."""
    theorem = _AGAIN.get(node.rule) or _AGAIN.get(node.rule.split("/")[0])
    if theorem is None:
        raise NotCertified(
            f"{node.rule} is not certified of numbers that come from a conversion; certify what "
            "it was applied to"
        )
    given = dict(node.parameters)
    if isinstance(node.conclusion, RDP):
        given["orders"] = [order for order, _ in node.conclusion.points]  # type: ignore[assignment]
    return theorem(premises, given)
