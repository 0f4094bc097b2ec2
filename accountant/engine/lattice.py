"""The privacy profile of a product whose losses all lie on one lattice.

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
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
    distinct,
    rounded_short,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.contour import Aliases, alias_step, real_bounds
from dpproof.accountant.engine.saddle_point import Saddle, smoothnesses, sum_cgf, total_cgf
from dpproof.accountant.errors import COARSER, NotCertified
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.pair import Lattice, log_decay
from dpproof.accountant.pairs.product import Product, cgfs

# Relative difference of equal spans, which the blur of their users has to cover. Soundness depends
# on it.
_SAME = 1e-15


@final
@dataclass(frozen=True, slots=True)
class CommonLattice:
    """The lattice n_1 a_1 + n_2 a_2 + ... + k * span of a product.

    Attributes:
        offset: sum of counts times offsets.
        span: the common span.
        decay: half the sum of counts times adjacencies.
        size: sum of counts times absolute offsets.
        moved: by how much a total loss was moved to the lattice at most.
        fewest: the smallest count.
    """

    offset: float
    span: float
    decay: float
    size: float
    fewest: int
    moved: float = 0.0


def common_lattice(product: Product, c: float) -> CommonLattice | None:
    """Return the lattice of all factors, or None.

    It exists if each has one, with spans multiples of the least, as floats.
    """
    lattices: list[tuple[Lattice, int]] = []
    for factor in product.factors:
        lattice = factor.pair.lattice(c)
        if lattice is None:
            return None
        lattices.append((lattice, factor.count))
    span = min(lattice.span for lattice, _ in lattices)
    ratios = [lattice.span / span for lattice, _ in lattices]
    if any(abs(ratio - round(ratio)) > _SAME * ratio for ratio in ratios):
        return None
    finest = [
        (one, n) for (one, n), ratio in zip(lattices, ratios, strict=True) if round(ratio) == 1
    ]
    return CommonLattice(
        offset=math.fsum(count * lattice.offset for lattice, count in lattices),
        span=span,
        decay=0.5 * sum(count * lattice.adjacency for lattice, count in finest),
        size=math.fsum(count * abs(lattice.offset) for lattice, count in lattices),
        fewest=min(count for _, count in lattices),
    )


def too_fine(lattice: CommonLattice) -> str:
    """Return what is too much work, for refusals."""
    return f"privacy losses that are multiples of {lattice.span:.3g} are too fine to be added up"


_FEW = 1 << 11  # Nodes up to which the sums are computed node by node. Heuristic.
_BLOCK = 1 << 19  # Epsilons times nodes evaluated at once, to bound memory. Heuristic.
# Most nodes on a period that is transformed, to bound memory. Heuristic.
_MAX_TRANSFORMED = 1 << 24
# Most nodes times epsilons that are summed, to bound time. Exceeding it raises.
_MAX_TERMS = 1 << 24
_KNOWN = 0.5  # Error of K below which a value is used; else its size. Error bounds depend on it.
_GROWN = 1.3  # Above (e^x - 1)/x up to x = ``_KNOWN``. Soundness depends on it.


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatticeNodes:
    """M at the nodes of one period. Compared by identity, as its transform is kept for it.

    Attributes:
        s: shape (n,), nodes with imaginary part 0, step, 2 step, ...
        cgf: shape (n,), K(s).
        radius: shape (n,), its error.
        weights: shape (n,), 1/N or 2/N (conjugate pairs), 1/N at the end of the period.
        lattice: the lattice of the losses.
        period: N * span.
    """

    s: Complexes
    cgf: Complexes
    radius: Reals
    weights: Reals
    lattice: CommonLattice
    period: float

    @property
    def c(self) -> float:
        """Return the real part of all nodes."""
        return float(self.s[0].real)

    @property
    def log_moment(self) -> float:
        """Return K(c)."""
        return float(self.cgf[0].real)

    @property
    def count(self) -> int:
        """Return the number of nodes on a period, those with imaginary part below 0 included."""
        return round(self.period / self.lattice.span)

    def first(self, epsilon: Reals) -> Reals:
        """Return the first lattice point above each epsilon."""
        h, offset = self.lattice.span, self.lattice.offset
        above = offset + h * (np.floor((epsilon - offset) / h) + 1.0)
        return np.asarray(np.maximum(above, epsilon))

    def blur(self, epsilon: Reals) -> Reals:
        """Bound the distance of a total loss to its lattice point."""
        reach = 2 * self.lattice.size + np.abs(epsilon) + self.period
        return np.asarray(16.0 * UNIT_ROUNDOFF * reach + self.lattice.moved)

    def sums(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return the sum over the nodes at each epsilon and its error, over M(c) e^{-c l}.

        Raises:
            NotCertified: too many terms, and too long a period to be transformed.
        """
        terms, few = self.s.size * epsilon.size, max(_BLOCK // self.s.size, 1)
        if self.s.size > _FEW and self.count <= _MAX_TRANSFORMED and terms > _BLOCK:
            return self._transformed(epsilon)
        if terms > _MAX_TERMS and epsilon.size > 1:
            raise NotCertified(
                f"{too_fine(self.lattice)} at {epsilon.size} epsilons at once: ask at fewer"
            )
        parts = [self._summed(epsilon[i : i + few]) for i in range(0, epsilon.size, few)]
        total, error = (np.concatenate(one) for one in zip(*parts, strict=True))
        return total, error

    def largest(self, few: int | None = None) -> Reals:
        """Bound the moduli of the kernel at the first few nodes, or at all."""
        h = self.lattice.span
        return np.asarray(-math.expm1(-h) * (1 + 1e-9) * np.abs(_kernel(self.s[:few], h)))

    def pull(self, blur: float) -> Reals:
        """Bound how much each weighted M(s) over M(c) changes, per nat that losses are moved by.

        By x = |s| b e^{c b} at most if they move by b. One pair's |M(s)|/M(c) is at least
        r = e^{-g/n}, n the smallest count, if the product's is e^{-g}; so by e^{-g} (e^{x/r} - 1)
        at most, as M is a product of n and more terms that change by x together. That is convex in
        b, so up to ``blur`` at most in proportion.
        """
        fallen = self.log_moment - self.cgf.real
        spread = self.radius + self.radius[0]
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(self.s) * np.exp(self.c * np.float64(blur))
            ratio = np.exp((fallen + spread) / self.lattice.fewest)
            change = np.exp(spread - fallen) * np.expm1(size * blur * ratio) / blur
        return np.asarray(self.weights * np.where(change < size, change, size))

    def _shares(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return A and B."""
        gap = self.first(epsilon) - epsilon
        return -np.expm1(-gap), -np.exp(-gap) * np.expm1(np.minimum(gap - self.lattice.span, 0.0))

    def _ragged(self) -> float:
        """Bound the relative error of U, e^{-sh} U and their shares.

        With z = s h a rounding of z moves 1 - e^{-z} by |z e^{-z}/(1 - e^{-z})| <= 4 (1 + Re z)
        roundings, as |Im z| <= pi; one of h moves B U e^{-z} by less than A U + B U e^{-z} times
        (1 + h).
        """
        return 32 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * (1 + (self.c + 1.0) * self.lattice.span)

    def _summed(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return the sum over the nodes and its error, node by node."""
        first = self.first(epsilon)[:, None]
        shift = self.log_moment - self.c * first
        near, (a, b) = _kernel(self.s, self.lattice.span), self._shares(epsilon)
        far = np.exp(-self.s * self.lattice.span) * near
        kernel = a[:, None] * near + b[:, None] * far
        largest = a[:, None] * np.abs(near) + b[:, None] * np.abs(far)
        phase = self.s * first
        scale = np.exp(self.cgf - phase - shift) * self.weights
        size = np.exp(self.cgf.real - phase.real - shift) * self.weights
        wobble = self.radius + 4 * UNIT_ROUNDOFF * (
            np.abs(phase) + np.abs(shift) + np.abs(self.cgf) + 8.0
        )
        precise = wobble < _KNOWN
        growth = np.where(precise, 0.0, np.where(np.isinf(wobble), 1.0, wobble))
        with np.errstate(over="ignore"):
            slip = np.where(precise, np.expm1(np.where(precise, wobble, 0.0)), 1.0 + np.exp(growth))
        loose = self._ragged() * largest
        with np.errstate(over="ignore", invalid="ignore"):
            error = (size * (np.abs(kernel) * slip + loose * (1 + slip))).sum(axis=1)
            blur = self.blur(epsilon)
            error += blur * ((np.abs(kernel) + loose) @ self.pull(float(blur.max())))
        error = np.where(np.isnan(error), np.inf, error)  # 0 times infinity: nothing is known
        total = (np.where(precise, scale, 0.0) * kernel).real.sum(axis=1)
        return total, error + 64 * UNIT_ROUNDOFF * (size * np.abs(kernel)).sum(axis=1)

    def _transformed(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return that sum and its error by the transforms."""
        first = self.first(epsilon)
        furthest = max(float(np.abs(first).max()), float(np.abs(epsilon).max()), self.period)
        transform = _transform(self, math.ldexp(1.0, math.frexp(furthest)[1]))
        place = np.rint((first - self.lattice.offset) / self.lattice.span)
        place = np.mod(place, self.count).astype(int)
        a, b = self._shares(epsilon)
        turned = 4 * UNIT_ROUNDOFF * np.abs(first) * transform.turn
        turned += 4 * UNIT_ROUNDOFF * np.abs(self.log_moment - self.c * first) * transform.size
        error = (a + b) * (transform.error + _GROWN * turned + self.blur(epsilon) * transform.pull)
        return a * transform.near[place] + b * transform.far[place], error

    def transform(self, furthest: float) -> Transform:
        """Compute the sums at all lattice points of a period, for epsilons up to ``furthest``.

        With first = offset + m h a node turns by offset y_k and by 2 pi k m / N. An error of a
        transform of length N is at most 8 u log2 N times the sum of the moduli.
        """
        whole = _kernel(self.s, self.lattice.span)
        size = np.exp(self.cgf.real - self.log_moment) * self.weights * np.abs(whole)
        radius = self.radius + 4 * UNIT_ROUNDOFF * (np.abs(self.cgf) + 8.0)
        turn = np.abs(self.s)
        flat = np.abs(self.log_moment) + self.c * furthest
        most = radius + 4 * UNIT_ROUNDOFF * (turn * furthest + flat)
        precise = most < _KNOWN
        sizes, lost = size[precise], np.where(np.isinf(most), 1.0, most)[~precise]
        blur = float(self.blur(np.array([furthest]))[0])
        turned = np.where(precise, np.exp(self.cgf - self.log_moment), 0.0) * self.weights
        turned = turned * np.exp(-1j * self.s.imag * self.lattice.offset)
        with np.errstate(over="ignore", invalid="ignore"):
            error = float(size[~precise] @ (2.0 + np.exp(lost)))
            pull = 1.1 * float(np.abs(whole) @ self.pull(blur))
        error = math.inf if math.isnan(error) else 1.1 * error
        rounding = (64 + 8 * math.log2(self.count) + 16) * UNIT_ROUNDOFF + 2.0 * self._ragged()
        return Transform(
            near=self._along(turned * whole),
            far=self._along(turned * np.exp(-self.s * self.lattice.span) * whole),
            size=float(sizes.sum()),
            turn=float(sizes @ turn[precise]),
            error=error + rounding * float(size.sum()) + _GROWN * float(sizes @ radius[precise]),
            pull=pull,
        )

    def _along(self, terms: Complexes) -> Reals:
        """Return the real part of the sum over k of terms e^{-2 pi i k m / N}.

        The m are 0, ..., N - 1.
        """
        count = self.count
        place = np.rint(self.s.imag * (self.period / (2 * math.pi))).astype(int)
        spread = np.zeros(count // 2 + 1, dtype=complex)
        spread[place] = np.where((place == 0) | (place == count // 2), 1.0, 0.5) * terms
        return np.asarray(np.fft.hfft(spread, count))


def _kernel(s: Complexes, h: float) -> Complexes:
    """Return U."""
    return np.asarray(1.0 / (np.expm1(-s * h) * np.expm1(-(s + 1.0) * h)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """The sums over the nodes at every lattice point of one period, and what bounds their errors.

    All are for A + B = 1, of which A and B are shares.

    Attributes:
        near: shape (N,), with U as the kernel.
        far: shape (N,), with e^{-sh} U.
        size: sum of the known terms' sizes.
        turn: sum of these times |s|.
        error: bounds the error that does not depend on epsilon.
        pull: bounds what moving losses changes, per nat.
    """

    near: Reals
    far: Reals
    size: float
    turn: float
    error: float
    pull: float


@lru_cache(maxsize=1)
def _transform(nodes: LatticeNodes, furthest: float) -> Transform:
    """Return the transform of the nodes that were asked last."""
    return nodes.transform(furthest)


_MAX_NODES = 1 << 23  # Most nodes, to bound memory. Exceeding it raises.
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
        aliases: their bounds.
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
    on_axis = real_bounds(product, saddle)
    on_axis = replace(on_axis, upper=on_axis.upper + 2 * lattice.moved * on_axis.points)
    wanted = 2 * math.pi / (alias_step(saddle, on_axis) * lattice.span)
    if wanted > 2.0**60:
        raise NotCertified(
            f"{too_fine(lattice)} in {wanted:.3g} sums, at most {_MAX_NODES}: {COARSER}"
        )
    half = max(math.ceil(wanted / 2), 2)
    if half > _FEW:
        half = 1 << (half - 1).bit_length()  # for the fast Fourier transform
    period = 2 * half * lattice.span
    angle = math.pi / half
    log_moment = on_axis.at(c)
    needed = log_moment - c * saddle.epsilon - saddle.log_delta - saddle.log_tolerance
    needed += math.log(2.0 / -math.expm1(-c * lattice.span) + 2.0)
    keep, log_cut = _kept(product, on_axis.moments, lattice=lattice, half=half, c=c, needed=needed)
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
        aliases=Aliases.of(np.column_stack([on_axis.points, on_axis.upper]), c, period),
    )


def _without_negligible(
    nodes: LatticeNodes, *, epsilon: float, log_cut: float, aliases: Aliases
) -> LatticeContour:
    """Return the contour without nodes that are negligible together."""
    if nodes.s.size <= _FEW:
        return LatticeContour(nodes, log_cut, -math.inf, 0.0, math.inf, aliases)
    kernel, weights = nodes.largest(), nodes.weights
    radii = np.where(np.isinf(nodes.radius), 0.0, nodes.radius)
    log_size = nodes.cgf.real + radii + np.log(kernel * weights)
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
    cgf = total_cgf(others, s)
    value, radius = cgf.value, cgf.radius
    radii = np.where(np.isinf(radius), 0.0, radius)
    for pair, count in ladders:
        one = pair.cgf_on_period(float(s[0].real), half, span)
        part = one.radius[: s.size]
        value = value + count * one.value[: s.size]
        radius = radius + count * part
        radii = radii + count * np.where(np.isinf(part), 0.0, part)
    radius = radius + 8 * UNIT_ROUNDOFF * np.abs(value)
    ceiling = value.real + radii + 8 * UNIT_ROUNDOFF * np.abs(value)
    return Enclosure(np.where(np.isinf(radius), ceiling, value), radius)
