"""Prove bounds of one product at many epsilons, each line serving all those near its saddle.

Heuristic: all constants; the checker repeats every sum.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpproof.accountant.certificates.hockey_stick.allocation_lines import single_allocations
from dpproof.accountant.certificates.hockey_stick.closed_form import (
    ClosedForm,
    LargestLoss,
    has_closed_profile,
    largest_loss,
)
from dpproof.accountant.certificates.hockey_stick.contour import EASY_NODES, contour_proof
from dpproof.accountant.certificates.hockey_stick.lattice import folded_sum
from dpproof.accountant.certificates.hockey_stick.proof import Proof
from dpproof.accountant.certificates.hockey_stick.sampling_tables import subject
from dpproof.accountant.engine.profile import closed_form, deltas
from dpproof.accountant.engine.saddle_point import find_saddle
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Step

_BITS = 30  # Bits of a delta.
_SLACK = 1e-6  # Slack of log delta up to which a line serves an epsilon.
_WIDEST = 0.01  # Slack for an epsilon that no line serves better.
_ROOM = 4e-9  # Relative room of a delta, as a base's bound may be 1e-9 above its profile.
_SHARE = limits.MAX_WORK * 3 // 8  # Share of the checker's work.
# Points of a table for a typical loss, and the mass it may leave out.
_FINE, _NEGLIGIBLE = 512, 1e-30
FAINT = 1e-24  # Deltas of allocations that are not told apart. Heuristic.
_LEAST = -690.0  # Least log delta that is representable as a float.


def facts(
    product: Product,
    places: list[Fraction],
    *,
    fine: int = _FINE,
    slack: float = _SLACK,
    most: int | None = None,
) -> tuple[Points, list[Step], int]:
    """Return bounds at most of some epsilons >= 0, the steps that prove them, and their work.

    An epsilon is left out if the checker's sums are not close enough there.

    Args:
        product: one direction.
        places: epsilons, increasing.
        fine: grid points of a sampled pair's table for a typical loss.
        slack: of log delta: what one line may give away to serve more epsilons.
        most: the most work of the checker; None is as much as leaves some for a selection.
    Raises:
        NotCertified: the checker would refuse so much work.
    """
    end = largest_loss(product)
    near, far = ([x for x in places if (x < end) is inside] for inside in (True, False))
    proofs: list[tuple[Proof, list[Fraction]]] = [(LargestLoss(product), far)] if far else []
    if has_closed_profile(product):
        proofs.append((ClosedForm(product), near))
    elif isinstance(single := closed_form(product), AllocatedGaussianPair):
        proofs.extend(single_allocations(single, near, FAINT / 2))
    else:
        proofs.extend(_along(product, near, fine, slack))
    listed: list[tuple[Fraction, Fraction]] = []
    steps: list[Step] = []
    work = sum(proof.work(len(served)) for proof, served in proofs)
    if work > (_SHARE if most is None else most):
        raise NotCertified(
            "bounding the profile of what is selected from takes more work than the checker does; "
            "certify the runs without the selection"
        )
    for proof, served in proofs:
        least = -math.inf if isinstance(proof, LargestLoss) else _LEAST
        heights = np.exp(np.maximum(proof.log_upper(np.array([float(x) for x in served])), least))
        raised = [short_up(min(float(one) * (1 + _ROOM), 1.0), _BITS) for one in heights]
        points = tuple(zip(served, raised, strict=True))
        if points:
            listed.extend(points)
            steps.append(proof.fact(points))
    return tuple(sorted(listed)), steps, work


def _along(
    product: Product, places: list[Fraction], fine: int, slack: float
) -> list[tuple[Proof, list[Fraction]]]:
    """Return lines, each with the epsilons for which it is nearly as good as any."""
    epsilon = np.array([float(x) for x in places])
    with np.errstate(divide="ignore"):
        best = np.log(deltas(product, epsilon)[1])
    proofs: list[tuple[Proof, list[Fraction]]] = []
    first, ahead = 0, 4
    while first < epsilon.size:
        middle = min(first + ahead, epsilon.size - 1)
        proof = _proof(product, float(epsilon[middle]), fine)
        count = 0
        if proof is not None:
            over = proof.log_upper(epsilon[first:]) - best[first:]
            good = over <= (slack if ahead else max(slack, _WIDEST))
            count = int(np.argmin(np.append(good, False)))
        if proof is not None and count:
            proofs.append((proof, places[first : first + count]))
            first, ahead = first + count, max(count // 2, 1)
        elif ahead:
            ahead //= 2
        else:
            first += 1
    return proofs


def _proof(product: Product, epsilon: float, fine: int) -> Proof | None:
    """Return a sum that suits one epsilon, or None if it takes too much of the checker's work."""
    used = subject(product, fine=fine, negligible=_NEGLIGIBLE)
    saddle = find_saddle(used.used, lambda one: one.epsilon - epsilon)
    proof = folded_sum(used, saddle) or contour_proof(used, saddle, EASY_NODES)
    try:
        proof.work(1)
    except NotCertified:
        return None
    return proof
