"""Lower bounds as proof: the dominating pair itself differs by at least so much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from accountant.certify.closed import Closed, has_closed_profile
from accountant.certify.contour import EASY_NODES, Hint, Line, line, quadratures
from accountant.certify.json_form import Object, factors
from accountant.certify.lattice import Folded, folded
from accountant.certify.table import Subject
from accountant.errors import NotCertified
from accountant.numerics.enclosure import short
from accountant.numerics.profile import max_loss
from accountant.numerics.saddle import find_saddle, total_cgf
from accountant.pairs.product import Product
from accountant.pairs.subsampled import Direction, SubsampledPair
from proofs.certificate import Step, show_rational

_SLACKS = np.concatenate([[0.0], 2.0 ** np.arange(-30, -9, 3)])
_MARGIN = 1e-8  # of delta: what a sum cuts and what aliases add, and more
_FINER = (1, 2, 4, 8, 16)
_FAR = np.geomspace(0.01, 100.0, 81)


def lower_fact(product: Product, epsilon: float, delta: float, *, moves: bool) -> Step:
    """The fact that a product's divergence near epsilon is at least delta, or near it.

    Args:
        product: one direction.
        epsilon: at or above 0.
        delta: what the engine finds at epsilon, from below.
        moves: whether epsilon may be lowered a little; else delta may.
    Raises:
        NotCertified: no sum of the checker comes near it.
    """
    if not delta:
        raise _rough(product, epsilon)
    said = factors(product)
    proof = _proof(product, epsilon)
    epsilons = epsilon * (1.0 - _SLACKS) if moves else np.full(_SLACKS.shape, epsilon)
    deltas = np.full(_SLACKS.shape, delta) if moves else delta * (1.0 - _SLACKS)
    with np.errstate(divide="ignore"):
        enough = np.flatnonzero(proof.log_upper(epsilons) - _MARGIN >= np.log(deltas))
    if not enough.size:
        raise _rough(product, epsilon)
    near, least = (float(found[enough[0]]) for found in (epsilons, deltas))
    claim: Object = {
        "notion": "hockey-stick-at-least",
        "product": said,
        "epsilon": show_rational(Fraction(near)),
        "delta": show_rational(Fraction(least)),
    }
    rule, witness = _witness(proof, product, near, math.log(least))
    return Step(rule=f"at-least/{rule}", premises=(), witness=witness, conclusion=claim)


def _proof(product: Product, epsilon: float) -> Closed | Folded | Line:
    sampled = [one.pair for one in product.factors if isinstance(one.pair, SubsampledPair)]
    bounded = any(one.direction is Direction.REPLACEMENT for one in sampled)
    if has_closed_profile(product) and product.factors and not bounded:
        return Closed(product)
    if not product.factors or sampled or epsilon >= max_loss(product):
        raise _rough(product, epsilon)
    used = Subject.plain(product)
    saddle = find_saddle(product, lambda one: one.epsilon - epsilon)
    proof = folded(used, saddle) or line(used, saddle, EASY_NODES)
    if isinstance(proof, Line) and proof.contour.tau:
        raise _rough(product, epsilon)
    return proof


def _witness(
    proof: Closed | Folded | Line, product: Product, epsilon: float, log_delta: float
) -> tuple[str, Object]:
    """The sum, with as many nodes as keep the aliases out, and where to bound these."""
    if isinstance(proof, Closed):
        return "closed", {}
    log_least = log_delta + math.log(_MARGIN / 8)
    witness: Object
    for finer in _FINER:
        if isinstance(proof, Folded):
            c, half = proof.c, (proof.s.size - 1) * finer
            period = float(proof.span) * (2 * half + 1)
            name, witness = "lattice", {"span": show_rational(proof.span), "nodes": half}
            tails: Sequence[Hint] = ()
        else:
            c, h = float(proof.contour.s[0].real), proof.contour.step / finer
            nodes, period = (proof.contour.s.size - 1) * finer, 2 * math.pi / h
            name, witness = "contour", {"step": show_rational(Fraction(h)), "nodes": nodes}
            tails = proof.hints
        sides = _sides(product, c, epsilon, period)
        if max(log_size for _, log_size in sides.values()) <= log_least:
            hints = {side: _at(product, at) for side, (at, _) in sides.items()}
            return name, {**witness, **_at(product, c, tails), **hints}
    raise _rough(product, epsilon)


def _sides(
    product: Product, c: float, epsilon: float, period: float
) -> dict[str, tuple[float, float]]:
    """The best abscissae before and after c, and logs of the aliases' bounds there."""
    found = {}
    for name, places in (("before", c / (1.0 + _FAR)), ("after", c * (1.0 + _FAR))):
        b = np.array([short(one) for one in places])
        b = b[(b < c) if name == "before" else (b > c)]
        try:
            moment = total_cgf(product, b + 0j).value.real
        except NotCertified:
            raise _rough(product, epsilon) from None
        size = moment + b * np.log(b) - (1 + b) * np.log1p(b) - b * epsilon
        size += -np.abs(b - c) * period - np.log(-np.expm1(-np.abs(b - c) * period))
        best = int(np.argmin(size))
        found[name] = float(b[best]), float(size[best])
    return found


def _at(product: Product, c: float, hints: Sequence[Hint] = ()) -> Object:
    """An abscissa with what M needs there."""
    return {
        "c": show_rational(Fraction(c)),
        "factors": quadratures(Subject.plain(product), c, hints),
    }


def _rough(product: Product, epsilon: float) -> NotCertified:
    return NotCertified(
        f"no lower bound of a product of {len(product.factors)} pairs was found near epsilon = "
        f"{epsilon:.6g}: the losses are too rough for the checker's sums, or none is so large"
    )
