"""Witnesses that the budget of a filter implies what is claimed of everything it admits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from dpproof.accountant.adaptive.several_filters import needed, order_of
from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.accountant.certificates.format.serialize import Object
from dpproof.accountant.certificates.single_number.renyi import best_order
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.proofs.core.certificate import Json, show_rational


def filter_witness(node: Derivation, guarantee: Guarantee[Any]) -> Object:
    """Return the witness of a filter's step.

    Raises:
        NotCertified: the budget is not divided among the filters yet.
    """
    if not isinstance(guarantee, ApproxDP):
        return {}
    limits: dict[str, Any] = dict(node.parameters)
    epsilon = guarantee.stated_epsilon
    if node.rule == "filter/approx-dp":
        rho, failures = limits["rho"], limits["failures"]
        order = _order(rho, epsilon, guarantee.stated_delta - failures)
        return {"rho": show_rational(rho), "failures": show_rational(failures), "order": order}
    if not limits:
        raise NotCertified(
            "the budget is divided among its filters by the first spend; certify it afterwards"
        )
    return {"filters": _listed(epsilon, guarantee.stated_delta, limits)}


def _listed(epsilon: Fraction, delta: Fraction, limits: dict[str, tuple[Fraction, ...]]) -> Json:
    """Return the filters that share a delta: sums have their own, the others what they leave."""
    parts = {way: needed(way, limit, epsilon) for way, limit in limits.items()}
    basic = parts.get("basic", Fraction(0))
    others = sum(parts.values()) - basic
    room = Fraction(float_down((delta - basic) / others)) if others else Fraction(1)
    listed: list[Json] = []
    for way, part in parts.items():
        share = part if way == "basic" else part * room
        order = order_of(way)
        name, size = ("renyi" if order else way), show_rational(limits[way][0])
        one: Object = {"way": name, "delta": show_rational(share), _SIZES[name]: size}
        if order is not None:
            one["order"] = show_rational(Fraction(order))
        elif way == "zcdp":
            one["order"] = _order(limits[way][0], epsilon, share)
        listed.append(one)
    return listed


_SIZES: Final = {"basic": "epsilon", "zcdp": "rho", "gdp": "mu_squared", "renyi": "divergence"}


def _order(rho: Fraction, epsilon: Fraction, delta: Fraction) -> str:
    """Return the order at which rho-zCDP implies (epsilon, delta)-DP most easily."""
    if not rho or not delta:
        return "2"
    order = best_order(ZCDP(rho=rho), float_up(epsilon), float_down(delta))
    return show_rational(order)
