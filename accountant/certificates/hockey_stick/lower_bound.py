"""Prove lower bounds of the divergence of the dominating pair itself.

Heuristic: all constants; the checker repeats every sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, rounded_short
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, Object, factors
from dpproof.accountant.certificates.hockey_stick.allocation_lines import shortfall_line
from dpproof.accountant.certificates.hockey_stick.closed_form import ClosedForm, has_closed_profile
from dpproof.accountant.certificates.hockey_stick.contour import (
    EASY_NODES,
    ContourProof,
    Hint,
    contour_proof,
    most_nodes,
    quadratures,
)
from dpproof.accountant.certificates.hockey_stick.lattice import FoldedSum, folded_sum
from dpproof.accountant.certificates.hockey_stick.quadrature import EXACT
from dpproof.accountant.certificates.hockey_stick.sampling_tables import subject_below
from dpproof.accountant.certificates.hockey_stick.table import Subject, Tabled
from dpproof.accountant.engine.contour import TENT
from dpproof.accountant.engine.profile import closed_form, max_loss
from dpproof.accountant.engine.saddle_point import find_saddle, total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Json, Step, show_rational

LowerProof: TypeAlias = "ClosedForm | FoldedSum | ContourProof"
# Slacks of a point, tried in this order.
_SLACKS = np.concatenate([[0.0], 2.0 ** np.arange(-30, -6)])
_WIDEST_SLACK = 2.0**-20  # Slack of a proof before a longer one is tried.
_MARGIN = 1e-8  # Share of delta above what a sum cuts and aliases add.
_TABLE_MARGIN = 1e-7  # How much lower the checker's tables are, as lines only enclose a profile.
_FINER = (1, 2, 4, 8, 16)  # Factors of the nodes, tried in this order.
_LONGER = 4  # Factor by which a line is made longer.
# Relative distances of the abscissae at which aliases are bounded.
_FAR = np.geomspace(0.01, 100.0, 81)
_FINENESS = (256, 1024)  # Points of a table for a typical loss, tried in this order.
_NEGLIGIBLE = 1e-10  # Share of delta that the last losses of tables may have.
# Share of the checker's work; the aliases and a finer sum take the rest.
_SHARE = limits.MAX_WORK // 2


def lower_fact(
    product: Product, epsilon: float, delta: float, *, moves: bool, among: int = 1
) -> Step:
    """Return the fact that a product's divergence near epsilon is at least delta, or near it.

    Args:
        product: one direction.
        epsilon: at or above 0.
        delta: what the engine finds at epsilon, from below.
        moves: whether epsilon may be lowered a little; else delta may.
        among: the certificate's other proofs leave this one a share of 1/among of the work.
    Raises:
        NotCertified: no sum of the checker comes near it.
    """
    if not delta:
        raise NotCertified(
            f"delta has no finite lower end above 0 at epsilon = {epsilon:.6g}: a lower end of 0 "
            "holds of every pair, and there is nothing to certify; try a smaller epsilon"
        )
    said, single = factors(product), closed_form(product)
    epsilons = epsilon * (1.0 - _SLACKS) if moves else np.full(_SLACKS.shape, epsilon)
    deltas = np.full(_SLACKS.shape, delta) if moves else delta * (1.0 - _SLACKS)
    proof: LowerProof | None = None
    if isinstance(single, AllocatedGaussianPair):
        slack, line = 0, shortfall_line(single, epsilon, below=True).witness()
    else:
        proofs = _proofs(product, epsilon, delta, among)
        slack, proof = _closest(proofs, epsilons, np.log(deltas))
        if proof is None:
            raise _rough(epsilon)
    near, least = float(epsilons[slack]), float(deltas[slack])
    claim: Object = {
        "notion": "hockey-stick-at-least",
        "product": said,
        "epsilon": show_rational(Fraction(near)),
        "delta": show_rational(Fraction(least)),
    }
    rule, witness = _witness(proof, near, math.log(least), among) if proof else ("allocated", line)
    return Step(rule=f"at-least/{rule}", premises=(), witness=witness, conclusion=claim)


def _closest(
    proofs: Iterator[LowerProof], epsilon: Reals, log_delta: Reals
) -> tuple[int, LowerProof | None]:
    """Return the first proof with little slack, else the one with least, and its slack."""
    closest: tuple[int, LowerProof | None] = epsilon.size, None
    try:
        for proof in proofs:
            enough = np.flatnonzero(_log_lower(proof, epsilon) >= log_delta)
            if enough.size and enough[0] < closest[0]:
                closest = int(enough[0]), proof
            if enough.size and _SLACKS[enough[0]] <= _WIDEST_SLACK:
                break
    except NotCertified:  # a closer one is out of reach
        if closest[1] is None:
            raise
    return closest


def _log_lower(proof: LowerProof, epsilon: Reals) -> Reals:
    """Approximate the log of the checker's bound at each epsilon, from below."""
    margin = (
        0.0 if isinstance(proof, ClosedForm) or not any(proof.subject.tables) else _TABLE_MARGIN
    )
    if isinstance(proof, ContourProof) and proof.contour.tau:
        return proof.log_lower(epsilon) - margin
    return proof.log_upper(epsilon) - _MARGIN - margin


def _proofs(product: Product, epsilon: float, delta: float, among: int) -> Iterator[LowerProof]:
    """Yield ways to bound the divergence near epsilon, each closer than the one before."""
    sampled = [one.pair for one in product.factors if isinstance(one.pair, Tabled)]
    samples = (one for one in sampled if isinstance(one, SubsampledPair))
    bounded = any(one.direction is Direction.REPLACEMENT for one in samples)
    if has_closed_profile(product) and product.factors and not bounded:
        yield ClosedForm(product)
    elif not product.factors or epsilon >= max_loss(product):
        return
    elif not sampled:
        yield from _sums(Subject.plain(product), epsilon, among)
    else:
        for fine in _FINENESS:
            used = subject_below(product, fine=fine, negligible=_NEGLIGIBLE * delta)
            yield from _sums(used, epsilon, among)


def _sums(used: Subject, epsilon: float, among: int) -> Iterator[LowerProof]:
    """Yield a folded sum, or lines, longer and longer as long as they are smoothed."""
    saddle = find_saddle(used.used, lambda one: one.epsilon - epsilon)
    on_lattice = folded_sum(used, saddle, among)
    if on_lattice is not None:
        yield on_lattice
        return
    limit = most_nodes(used, rounded_short(saddle.c), _SHARE // among)
    most = min(EASY_NODES, limit)
    while True:
        proof = contour_proof(used, saddle, most)
        yield proof
        if most == limit or not proof.contour.tau:
            return
        most = min(_LONGER * most, limit)


def _witness(proof: LowerProof, epsilon: float, log_delta: float, among: int) -> tuple[str, Object]:
    """Return the rule and witness of the sum, with enough nodes to make aliases negligible."""
    if isinstance(proof, ClosedForm):
        return "closed", {}
    log_least, tau = log_delta + math.log(_MARGIN / 8), 0.0
    witness: Object
    for finer in _FINER:
        if isinstance(proof, FoldedSum):
            c, half = proof.c, (proof.s.size - 1) * finer
            period = float(proof.span) * (2 * half + 1)
            name, witness = "lattice", {"span": show_rational(proof.span), "nodes": half}
            tails: tuple[Hint, ...] = ()
        else:
            c, h = float(proof.contour.s[0].real), proof.contour.step / finer
            nodes, period = (proof.contour.s.size - 1) * finer, 2 * math.pi / h
            name, witness = "contour", {"step": show_rational(Fraction(h)), "nodes": nodes}
            tails, tau = proof.hints, proof.contour.tau
        if tau:
            name, exact = "smoothed", Fraction(tau)
            witness["tau"], witness["width"] = show_rational(exact), show_rational(TENT * exact)
        sides = _sides(proof.subject, c, epsilon, period, tau)
        if max(log_size for _, log_size in sides.values()) <= log_least:
            levels = [hint if isinstance(hint, float) else None for hint in tails]
            hints: dict[str, Json] = {
                side: _at(proof.subject, at, levels) for side, (at, _) in sides.items()
            }
            accuracy = _accuracy(proof.subject, c, epsilon, log_delta)
            own = _at(proof.subject, c, tails, accuracy)
            witness = {**witness, **own, **hints}
            if _work(proof.subject, witness, tau) > limits.MAX_WORK // among:
                raise NotCertified(
                    f"a lower bound of {len(proof.subject.named.factors)} different pairs near "
                    f"epsilon = {epsilon:.6g} is more work than the checker accepts; certify "
                    f"fewer different pairs, or {UNCERTIFIED}"
                )
            return name, witness
    raise _rough(epsilon)


def _work(subject: Subject, witness: Object, tau: float) -> int:
    """Return the checker's work for a sum and its aliases, but for making tables."""
    places = [(witness, int(str(witness["nodes"])) + 1)]
    places += [(one, 2) for one in (witness["before"], witness["after"]) if isinstance(one, dict)]
    work = limits.PER_STEP + len(json.dumps([witness, factors(subject.named)]))
    work += limits.line_work(places[0][1], 3)
    work += limits.formula_work("gaussian", 1, places[0][1]) if tau else 0
    for place, nodes in places:
        work += subject.work(nodes)
        listed = place["factors"]
        for hint in listed if isinstance(listed, list) else []:
            if isinstance(hint, dict) and "tail" in hint:
                rule, tail = (_length(hint[name]) for name in ("nodes", "tail"))
                work += limits.quadrature_work(rule, tail, nodes)
    return work


def _length(rule: Json) -> int:
    """Return the number of nodes of a trapezoid rule in the certificate's JSON."""
    ends = (rule["left"], rule["right"]) if isinstance(rule, dict) else ()
    return 1 + sum(int(str(one)) for one in ends)


def _sides(
    subject: Subject, c: float, epsilon: float, period: float, tau: float
) -> dict[str, tuple[float, float]]:
    """Return the best abscissae before and after c, and logs of the aliases' bounds there."""
    sides = {}
    for name, places in (("before", c / (1.0 + _FAR)), ("after", c * (1.0 + _FAR))):
        b = np.array([rounded_short(one) for one in places])
        b = b[(b < c) if name == "before" else (b > c)]
        try:
            moment = total_cgf(subject.used, b + 0j).value.real
        except NotCertified:
            raise _rough(epsilon) from None
        size = moment + 0.5 * tau * tau * b * (b + 1.0) - b * epsilon
        size += b * np.log(b) - (1 + b) * np.log1p(b)
        size += -np.abs(b - c) * period - np.log(-np.expm1(-np.abs(b - c) * period))
        best = int(np.argmin(size))
        sides[name] = float(b[best]), float(size[best])
    return sides


def _at(subject: Subject, c: float, hints: Sequence[Hint], accuracy: float = EXACT) -> Object:
    """Return an abscissa with the quadratures that M needs there."""
    listed = quadratures(subject, c, hints, accuracy=accuracy)
    return {"c": show_rational(Fraction(c)), "factors": listed}


def _accuracy(subject: Subject, c: float, epsilon: float, log_delta: float) -> float:
    """Return the accuracy of M, in nats, at which the errors of all pairs are far below delta."""
    moment = float(total_cgf(subject.used, np.array([c + 0j])).value.real[0])
    return EXACT + math.log(len(subject.named.factors)) + max(moment - c * epsilon - log_delta, 0.0)


def _rough(epsilon: float) -> NotCertified:
    """Return the error where no sum bounds the divergence."""
    return NotCertified(
        f"no lower bound of delta was found near epsilon = {epsilon:.6g}: the losses are too rough "
        f"for the checker's sums; {UNCERTIFIED}"
    )
