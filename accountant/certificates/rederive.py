"""Raise every conversion inside a guarantee's derivation to numbers that proofs reach."""

from __future__ import annotations

from typing import Any

from dpproof.accountant.certificates.conversions import RAISED_CONVERSIONS, ProvedGuarantee
from dpproof.accountant.certificates.format.serialize import unsaid
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import RDP


def raise_numbers(guarantee: Guarantee[Any]) -> tuple[Guarantee[Any], dict[int, ProvedGuarantee]]:
    """Return the guarantee rederived from raised numbers, or itself if none is raised.

    Returns:
        The guarantee, and what shows the raised numbers, by the id of their derivations.
    Raises:
        NotCertified: no proof comes near a number, or what was made of it cannot be made again.
    """
    raised: dict[int, Guarantee[Any]] = {}
    shown: dict[int, ProvedGuarantee] = {}
    stack = [guarantee.derivation]
    while stack:
        node = stack[-1]
        missing = [one for one in node.premises if id(one) not in raised]
        if missing and id(node) not in raised:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if id(node) not in raised:
            one = _raise_node(node, [raised[id(one)] for one in node.premises], shown)
            raised[id(node)] = _with_label(one, node, shown)
    return raised[id(guarantee.derivation)], shown


def _with_label(
    one: Guarantee[Any], node: Derivation, shown: dict[int, ProvedGuarantee]
) -> Guarantee[Any]:
    """Return what is made of a derivation anew with the label that it had."""
    if not node.label or one.derivation.label == node.label:
        return one
    labelled = one.labelled(node.label)
    if id(one.derivation) in shown:
        shown[id(labelled.derivation)] = shown.pop(id(one.derivation))
    return labelled


def _raise_node(
    node: Derivation, premises: list[Guarantee[Any]], shown: dict[int, ProvedGuarantee]
) -> Guarantee[Any]:
    """Return the conclusion of one theorem for raised premises."""
    if not isinstance(node.conclusion, Guarantee):
        raise NotCertified(unsaid(node.rule))
    if node.rule in RAISED_CONVERSIONS:
        proof = RAISED_CONVERSIONS[node.rule](node, premises[0])
        if proof is not None:
            shown[id(proof.guarantee.derivation)] = proof
            return proof.guarantee
    same = zip(premises, node.premises, strict=True)
    if all(one.derivation is old for one, old in same):
        return node.conclusion
    return _apply_again(node, premises)


def _apply_again(node: Derivation, premises: list[Guarantee[Any]]) -> Guarantee[Any]:
    """Apply a theorem to other premises, with the parameters that it had."""
    if node.theorem.again is None:
        raise NotCertified(
            f"{node.rule} is not certified of numbers that come from a conversion; certify what "
            "it was applied to"
        )
    parameters = dict(node.parameters)
    if isinstance(node.conclusion, RDP):
        parameters["orders"] = [order for order, _ in node.conclusion.points]  # type: ignore[assignment]
    again: Guarantee[Any] = node.theorem.again(premises, parameters)
    return again
