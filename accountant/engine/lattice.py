r"""The privacy profile of a product whose losses all lie on one lattice.

M is then periodic up to a phase, and the trapezoid sum of engine/contour.py can be folded
into one period exactly. With span h, l the first lattice point above eps and N nodes
y_k = 2 pi k / (N h) in [-pi/h, pi/h),

    (1/N) sum_k M(s_k) e^{-s_k l} ( 1/(1 - e^{-s_k h}) - e^{eps-l}/(1 - e^{-(s_k+1)h}) )
        = sum_m delta(eps + m R) e^{c m R}  >=  delta(eps),   R = N h:

the bracket is the generating function of sum over j >= 0 of (1 - e^{eps - l - jh}) e^{-s(l+jh)},
computed in engine/lattice_nodes.py. Nothing is cut for lack of smoothness; where the counts are
large the outer nodes are bounded by |E e^{iyL}|^2 <= 1 - adjacency (1 - cos(y h)), which decreases
up to pi/h.

Offsets and spans are rounded, so each total loss is off its ideal lattice point by at most
blur = 16 u (2 size + |eps| + R); that moves M(s) by |s| blur M(c) at most, and delta by at most
blur P(L > eps - blur) <= blur M(c) e^{-c eps} (losses beyond eps + R are below tolerance).
Losses next to a lattice are moved there first (proofs/theory/contour.md, section 5, *Losses next to
a lattice*), all of them together by at most m: m is added to the blur and, as ``Atoms`` computes K
from masses under Q that then add up to 1 within m only, real values of K are raised by 2 s m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.arrays import distinct
from dpproof.accountant.arithmetic.enclosure import (
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
    rounded_short,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.aliases import Aliases, alias_step, real_bounds
from dpproof.accountant.engine.common_lattice import CommonLattice, too_fine
from dpproof.accountant.engine.each_factor import cgfs
from dpproof.accountant.engine.lattice_nodes import LatticeNodes
from dpproof.accountant.engine.saddle_point import Saddle, smoothnesses, sum_cgf, total_cgf
from dpproof.accountant.errors import COARSER, NotCertified
from dpproof.accountant.pairs.lattice_finite import LatticePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.smoothness import log_decay

_MAX_NODES = 1 << 23  # Most nodes, to bound memory. Exceeding it raises.
_FEW = 1 << 11  # Nodes up to which the sums are computed node by node. Heuristic.
# Nodes on a period, for each that is kept, from which K is computed without a transform. Heuristic.
_SPARSE = 1 << 5
_FAR = 4.0  # Times the blur at the saddle, up to which nodes may be dropped. Heuristic.
# Log of the size of dropped nodes, relative to the node on the real axis. Heuristic: what they add
# is bounded.
_LOG_DROPPED = -28.0


@final
@dataclass(frozen=True, slots=True)
class LatticeContour:
    """M at the nodes of one period, which brackets delta at every epsilon near the saddle.

    Attributes:
        nodes: where M is known.
        log_cut: log of a bound of |M| summed over the nodes left out, over N; -inf if none.
        log_dropped: log of a bound of the terms left out, without the factor e^{-c l}.
        dropped_pull: bounds how much these terms change over M(c) e^{-c l}, per nat that losses are
            moved by.
        most_blur: up to which distance of losses to the lattice it does.
        aliases: what bounds them.
    """

    nodes: LatticeNodes
    log_cut: float
    log_dropped: float
    dropped_pull: float
    most_blur: float
    aliases: Aliases

    def log_profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return logs of a lower (possibly -inf) and an upper bound of delta at each epsilon.

        The bounds of the cut and dropped terms are added, the aliases subtracted from the lower
        end. Of all nodes the kernel is largest on the real axis.
        """
        nodes = self.nodes
        total, error = nodes.sums(epsilon)
        c, blur, moment = nodes.c, nodes.blur(epsilon), nodes.log_moment
        shift = moment - c * nodes.first(epsilon)
        reach = moment + nodes.radius[0] - c * (epsilon - blur) - shift
        log_blurred = np.log(blur) + reach
        with np.errstate(over="ignore"):  # a cut beyond all floats says nothing
            cut = nodes.largest(1)[0] * np.exp(self.log_cut - moment)
            cut = cut + np.exp(self.log_dropped - moment) + blur * self.dropped_pull
        cut = np.where(blur > self.most_blur, np.inf, cut)
        upper = total + error + cut
        excess = self.aliases.log_excess(epsilon) - shift
        lower = total - error - cut - np.exp(np.minimum(np.logaddexp(excess, log_blurred), 600.0))
        margin = 8 * UNIT_ROUNDOFF * (np.abs(shift) + 4.0)
        with np.errstate(divide="ignore"):
            return (
                np.log(np.maximum(lower, 0.0)) + shift - margin,
                np.logaddexp(np.log(upper), log_blurred) + shift + margin,
            )


def build_lattice(product: Product, saddle: Saddle, lattice: CommonLattice) -> LatticeContour:
    """Choose the number of nodes for the question that a saddle suits.

    Raises:
        NotCertified: the period needs more nodes than allowed.
    """
    c = rounded_short(saddle.c)
    known = real_bounds(product, saddle)
    known = replace(known, upper=known.upper + 2 * lattice.moved * known.points)
    wanted = 2 * math.pi / (alias_step(saddle, known) * lattice.span)
    if wanted > 2.0**60:
        raise NotCertified(
            f"{too_fine(lattice)} in {wanted:.3g} sums, at most {_MAX_NODES}: {COARSER}"
        )
    half = max(math.ceil(wanted / 2), 2)
    if half > _FEW:
        half = 1 << (half - 1).bit_length()  # for the fast Fourier transform
    period = 2 * half * lattice.span
    angle = math.pi / half
    log_moment = known.at(c)
    needed = log_moment - c * saddle.epsilon - saddle.log_delta - saddle.log_tolerance
    needed += math.log(2.0 / -math.expm1(-c * lattice.span) + 2.0)
    keep, log_cut = _kept(product, known.moments, lattice=lattice, half=half, c=c, needed=needed)
    if keep > _MAX_NODES:
        raise NotCertified(f"{too_fine(lattice)} in {keep} sums, at most {_MAX_NODES}: {COARSER}")
    index = np.arange(keep + 1)
    s = c + 1j * (angle / lattice.span) * index
    if keep <= max(_FEW, half // _SPARSE):  # as one line
        cgf = sum_cgf(product, cgfs(product, s), s.shape)
    else:
        cgf = _many_values(product, s, half, lattice.span)
    weights = np.where((index == 0) | (index == half), 0.5, 1.0) / half
    return _without_negligible(
        LatticeNodes(s, cgf.value, cgf.radius, weights, lattice, period),
        epsilon=saddle.epsilon,
        log_cut=log_moment + log_cut + 1e-9,
        aliases=Aliases.of(np.column_stack([known.points, known.upper]), c, period),
    )


def _without_negligible(
    nodes: LatticeNodes, *, epsilon: float, log_cut: float, aliases: Aliases
) -> LatticeContour:
    """Return the contour without nodes that are negligible together."""
    if nodes.s.size <= _FEW:
        return LatticeContour(nodes, log_cut, -math.inf, 0.0, math.inf, aliases)
    kernel, weights = nodes.largest(), nodes.weights
    known = np.where(np.isinf(nodes.radius), 0.0, nodes.radius)
    log_size = nodes.cgf.real + known + np.log(kernel * weights)
    order = np.argsort(log_size)
    sums = np.logaddexp.accumulate(log_size[order])
    cut = int(np.searchsorted(sums, log_size[0] + _LOG_DROPPED))
    keep, dropped = np.sort(order[cut:]), order[:cut]
    blur = _FAR * float(nodes.blur(np.array([epsilon]))[0])
    pull = nodes.pull(blur)
    few = replace(
        nodes,
        s=nodes.s[keep],
        cgf=nodes.cgf[keep],
        radius=nodes.radius[keep],
        weights=weights[keep],
    )
    lost = float(sums[cut - 1]) + 1e-6 if cut else -math.inf
    pulled = float(kernel[dropped] @ pull[dropped]) * (1 + 1e-9)
    return LatticeContour(few, log_cut, lost, pulled, blur, aliases)


def _kept(
    product: Product,
    moments: tuple[Bound, ...],
    *,
    lattice: CommonLattice,
    half: int,
    c: float,
    needed: float,
) -> tuple[int, float]:
    """Return the last node kept, all if they are few, and log |M(c+iy)|/M(c) beyond it."""
    if half <= 64:
        return half, -math.inf
    parts = smoothnesses(product, c, moments)
    counts = distinct(np.geomspace(32, half, 100).astype(int))
    y = counts * (math.pi / (half * lattice.span))
    bound = -lattice.decay * (1.0 - np.cos(y * lattice.span))
    bound = np.minimum(bound, log_decay(parts, y, end=math.pi / lattice.span))
    enough = np.flatnonzero(needed + bound < 0)
    if not enough.size or counts[enough[0]] >= half:
        return half, -math.inf
    return int(counts[enough[0]]), float(bound[enough[0]])


def _many_values(product: Product, s: Complexes, half: int, span: float) -> Enclosure:
    """Enclose K of the product at very many nodes.

    Lattice pairs are evaluated by fast Fourier transforms.
    """
    ladders = [(f.pair, f.count) for f in product.factors if isinstance(f.pair, LatticePair)]
    others = Product(tuple(f for f in product.factors if not isinstance(f.pair, LatticePair)))
    found = total_cgf(others, s)
    value, radius = found.value, found.radius
    known = np.where(np.isinf(radius), 0.0, radius)
    for pair, count in ladders:
        one = pair.cgf_on_period(float(s[0].real), half, span)
        part = one.radius[: s.size]
        value = value + count * one.value[: s.size]
        radius = radius + count * part
        known = known + count * np.where(np.isinf(part), 0.0, part)
    radius = radius + 8 * UNIT_ROUNDOFF * np.abs(value)
    ceiling = value.real + known + 8 * UNIT_ROUNDOFF * np.abs(value)
    return Enclosure(np.where(np.isinf(radius), ceiling, value), radius)
