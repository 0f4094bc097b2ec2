r"""The privacy profile of a product whose losses all lie on one lattice.

M is then periodic up to a phase, and the trapezoid sum of engine/contour.py can be folded
into one period exactly. With span h, l the first lattice point above eps and N nodes
y_k = 2 pi k / (N h) in [-pi/h, pi/h),

    (1/N) sum_k M(s_k) e^{-s_k l} ( 1/(1 - e^{-s_k h}) - e^{eps-l}/(1 - e^{-(s_k+1)h}) )
        = sum_m delta(eps + m R) e^{c m R}  >=  delta(eps),   R = N h:

the bracket is the generating function of sum over j >= 0 of (1 - e^{eps - l - jh}) e^{-s(l+jh)}.
Nothing is cut for lack of smoothness; where the counts are large the outer nodes are bounded
by |E e^{iyL}|^2 <= 1 - adjacency (1 - cos(y h)), which decreases up to pi/h.

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

from accountant.arithmetic.arrays import distinct
from accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
    rounded_short,
)
from accountant.bound import Bound
from accountant.engine.aliases import Aliases, alias_step, real_bounds
from accountant.engine.common_lattice import CommonLattice
from accountant.engine.each_factor import cgfs
from accountant.engine.saddle_point import Saddle, smoothnesses, sum_cgf, total_cgf
from accountant.errors import COARSER, NotCertified
from accountant.pairs.lattice_finite import LatticePair
from accountant.pairs.product import Product
from accountant.pairs.smoothness import log_decay

_MAX_NODES = 1 << 23  # Most nodes, to bound memory. Exceeding it raises.
# Most nodes on a period that is transformed, to bound memory. Heuristic.
_MAX_TRANSFORMED = 1 << 24
# Most nodes times epsilons that are summed, to bound time. Exceeding it raises.
_MAX_TERMS = 1 << 24
_FEW = 1 << 11  # Nodes up to which the sums are computed node by node. Heuristic.
# Nodes on a period, for each that is kept, from which K is computed without a transform. Heuristic.
_SPARSE = 1 << 5
_BLOCK = 1 << 19  # Epsilons times nodes evaluated at once, to bound memory. Heuristic.
_KNOWN = 0.5  # Error of K below which a value is used; else its size. Error bounds depend on it.
_FAR = 4.0  # Times the blur at the saddle, up to which nodes may be dropped. Heuristic.
_GROWN = 1.3  # Above (e^x - 1)/x up to x = ``_KNOWN``. Soundness depends on it.
# Log of the size of dropped nodes, relative to the node on the real axis. Heuristic: what they add
# is bounded.
_LOG_DROPPED = -28.0


@final
@dataclass(frozen=True, slots=True)
class LatticeContour:
    """M at the nodes of one period, which brackets delta at every epsilon near the saddle.

    Attributes:
        s: shape (n,), nodes with imaginary part 0, step, 2 step, ...
        cgf: shape (n,), K(s).
        radius: shape (n,), its error.
        weights: shape (n,), 1/N or 2/N (conjugate pairs), 1/N at the end of the period.
        lattice: what the losses lie on.
        period: N * span.
        log_cut: log of a bound of |M| summed over the nodes left out, over N; -inf if none.
        log_dropped: log of a bound of the terms left out, without the factor e^{-c l}.
        dropped_pull: bounds how much these terms change over M(c) e^{-c l}, per nat that losses are
            moved by.
        most_blur: up to which distance of losses to the lattice it does.
        aliases: what bounds them.
    """

    s: Complexes
    cgf: Complexes
    radius: Reals
    weights: Reals
    lattice: CommonLattice
    period: float
    log_cut: float
    log_dropped: float
    dropped_pull: float
    most_blur: float
    aliases: Aliases

    def log_profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return logs of a lower (possibly -inf) and an upper bound of delta at each epsilon."""
        few = max(_BLOCK // self.s.size, 1)
        if epsilon.size <= few:
            return self._bracket(epsilon, *self._summed(epsilon))
        if self.s.size > _FEW and self._count() <= _MAX_TRANSFORMED:
            return self._bracket(epsilon, *self._transformed(epsilon))
        if self.s.size * epsilon.size > _MAX_TERMS:
            raise NotCertified(
                f"{_too_fine(self.lattice)} at {epsilon.size} epsilons at once: ask at fewer"
            )
        parts = [self.log_profile(epsilon[i : i + few]) for i in range(0, epsilon.size, few)]
        low, high = (np.concatenate(one) for one in zip(*parts, strict=True))
        return low, high

    def _summed(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return the sum over the nodes and its error, both over e^{shift}.

        It is computed node by node.
        """
        first = self._first(epsilon)[:, None]
        shift = self.cgf[0].real - float(self.s[0].real) * first
        mass, weight = _kernel(self.s, self.lattice.span)
        kernel = mass - np.exp(epsilon[:, None] - first) * weight
        phase = self.s * first
        scale = np.exp(self.cgf - phase - shift) * self.weights
        size = np.exp(self.cgf.real - phase.real - shift) * self.weights
        wobble = self.radius + 4 * UNIT_ROUNDOFF * (
            np.abs(phase) + np.abs(shift) + np.abs(self.cgf) + 8.0
        )
        known = wobble < _KNOWN
        growth = np.where(known, 0.0, np.where(np.isinf(wobble), 1.0, wobble))
        with np.errstate(over="ignore"):
            slip = np.where(known, np.expm1(np.where(known, wobble, 0.0)), 1.0 + np.exp(growth))
        loose = self._loose(mass, weight)
        with np.errstate(over="ignore", invalid="ignore"):
            error = (size * (np.abs(kernel) * slip + loose * (1 + slip))).sum(axis=1)
            blur = self._blur(epsilon)
            error += blur * ((np.abs(kernel) + loose) @ self._pull(blur))
        error = np.where(np.isnan(error), np.inf, error)  # 0 times infinity: nothing is known
        total = (np.where(known, scale, 0.0) * kernel).real.sum(axis=1)
        return total, error + 64 * UNIT_ROUNDOFF * (size * np.abs(kernel)).sum(axis=1)

    def _transformed(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return that sum and its error by two fast Fourier transforms, which serve all epsilons.

        With first = offset + m h a node turns by offset y_k and by 2 pi k m / N. The kernel is
        mass - weight + (1 - e^{eps - first}) weight, where the bracket is at most h. An error of a
        transform of length N is at most 8 u log2 N times the sum of the moduli.
        """
        first, h, count = self._first(epsilon), self.lattice.span, self._count()
        mass, weight = _kernel(self.s, self.lattice.span)
        place = np.mod(np.rint((first - self.lattice.offset) / h), count).astype(int)
        size = np.exp(self.cgf.real - self.cgf[0].real) * self.weights
        ragged, largest = self._loose(mass, weight), _largest_bracket(mass, weight, h)
        loose, bound = size * ragged, size * largest
        radius = self.radius + 4 * UNIT_ROUNDOFF * (np.abs(self.cgf) + 8.0)
        slope = 4 * UNIT_ROUNDOFF * np.abs(first)
        flat = 4 * UNIT_ROUNDOFF * np.abs(self.cgf[0].real - float(self.s[0].real) * first)
        turn = np.abs(self.s)
        most = radius + turn * slope.max() + flat.max()
        known = most < _KNOWN
        kept, far = bound[known], np.where(np.isinf(most), 1.0, most)[~known]
        blur = self._blur(epsilon)
        turned = np.where(known, np.exp(self.cgf - self.cgf[0].real), 0.0) * self.weights
        turned = turned * np.exp(-1j * self.s.imag * self.lattice.offset)
        near, rest = (self._turned(turned * one)[place] for one in (mass - weight, weight))
        with np.errstate(over="ignore", invalid="ignore"):
            lost = float((bound + loose)[~known] @ (2.0 + np.exp(far)))
            pulled = blur * ((largest + ragged) @ self._pull(blur))
        lost = math.inf if math.isnan(lost) else lost
        lost += 2.0 * float(loose.sum())
        lost += (64 + 8 * math.log2(count) + 16) * UNIT_ROUNDOFF * float(bound.sum())
        error = kept @ radius[known] + slope * (kept @ turn[known]) + flat * kept.sum()
        return near - np.expm1(epsilon - first) * rest, _GROWN * error + pulled + lost

    def _turned(self, terms: Complexes) -> Reals:
        """Return the real part of the sum over k of terms e^{-2 pi i k m / N}.

        The m are 0, ..., N - 1.
        """
        count = self._count()
        place = np.rint(self.s.imag * (self.period / (2 * math.pi))).astype(int)
        spread = np.zeros(count // 2 + 1, dtype=complex)
        spread[place] = np.where((place == 0) | (place == count // 2), 1.0, 0.5) * terms
        return np.asarray(np.fft.hfft(spread, count))

    def _count(self) -> int:
        """Return the number of nodes on a period, those with imaginary part below 0 included."""
        return round(self.period / self.lattice.span)

    def _first(self, epsilon: Reals) -> Reals:
        """Return the first lattice point above each epsilon."""
        h, offset = self.lattice.span, self.lattice.offset
        above = offset + h * (np.floor((epsilon - offset) / h) + 1.0)
        return np.asarray(np.maximum(above, epsilon))

    def _blur(self, epsilon: Reals) -> Reals:
        """Bound the distance of a total loss to its lattice point."""
        return _rounding(self.lattice, np.abs(epsilon) + self.period) + self.lattice.moved

    def _pull(self, blur: Reals) -> Reals:
        """Bound how much each weighted M(s) over M(c) changes, per nat that losses are moved by."""
        known, fewest = Enclosure(self.cgf, self.radius), self.lattice.fewest
        return _pull(self.s, known, self.weights, fewest, float(blur.max()))

    def _loose(self, mass: Complexes, weight: Complexes) -> Reals:
        """Bound what the roundings of the bracket add to it."""
        room = 8 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * (1 + float(self.s[0].real) * self.lattice.span)
        return np.asarray(room * (np.abs(mass) + np.abs(weight)))

    def _bracket(self, epsilon: Reals, total: Reals, error: Reals) -> tuple[Reals, Reals]:
        """Add the bounds of the cut and dropped terms, and subtract the aliases from the lower end.

        Of all nodes the kernel is largest on the real axis.
        """
        c, blur, moment = float(self.s[0].real), self._blur(epsilon), self.cgf[0].real
        shift = moment - c * self._first(epsilon)
        reach = moment + self.radius[0] - c * (epsilon - blur) - shift
        log_blurred = np.log(blur) + reach
        tilts = np.array([c, c + 1.0]) * self.lattice.span
        with np.errstate(over="ignore"):  # a cut beyond all floats says nothing
            cut = -(1.0 / np.expm1(-tilts)).sum() * np.exp(self.log_cut - moment)
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


def _too_fine(lattice: CommonLattice) -> str:
    """Return what is too much work, for refusals."""
    return f"privacy losses that are multiples of {lattice.span:.3g} are too fine to be added up"


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
            f"{_too_fine(lattice)} in {wanted:.3g} sums, at most {_MAX_NODES}: {COARSER}"
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
        raise NotCertified(f"{_too_fine(lattice)} in {keep} sums, at most {_MAX_NODES}: {COARSER}")
    index = np.arange(keep + 1)
    s = c + 1j * (angle / lattice.span) * index
    if keep <= max(_FEW, half // _SPARSE):  # as one line
        cgf = sum_cgf(product, cgfs(product, s), s.shape)
    else:
        cgf = _many_values(product, s, half, lattice.span)
    weights = np.where((index == 0) | (index == half), 0.5, 1.0) / half
    far = abs(saddle.epsilon) + period
    blur = _FAR * _rounding(lattice, np.array([far])) + lattice.moved
    return _without_negligible(
        LatticeContour(
            s=s,
            cgf=cgf.value,
            radius=cgf.radius,
            weights=weights,
            lattice=lattice,
            period=period,
            log_cut=log_moment + log_cut + 1e-9,
            log_dropped=-math.inf,
            dropped_pull=0.0,
            most_blur=math.inf,
            aliases=Aliases.of(np.column_stack([known.points, known.upper]), c, period),
        ),
        float(blur[0]),
    )


def _rounding(lattice: CommonLattice, losses: Reals) -> Reals:
    """Bound how far rounding moves a total loss off the lattice, next to some losses."""
    return np.asarray(16.0 * UNIT_ROUNDOFF * (2 * lattice.size + np.abs(losses)))


def _kernel(s: Complexes, span: float) -> tuple[Complexes, Complexes]:
    """Return the generating functions of the places from the first on, and of e^{-L} there."""
    return -1.0 / np.expm1(-s * span), -1.0 / np.expm1(-(s + 1.0) * span)


def _largest_bracket(mass: Complexes, weight: Complexes, span: float) -> Reals:
    """Bound mass - weight + (1 - e^{eps - first}) weight, where the bracket is at most the span."""
    return np.asarray((np.abs(mass - weight) + span * np.abs(weight)) * (1 + 1e-9))


def _pull(s: Complexes, cgf: Enclosure, weights: Reals, fewest: int, blur: float) -> Reals:
    """Bound how much each weighted M(s) over M(c) changes, per nat that losses are moved by.

    By x = |s| b e^{c b} at most if they move by b. One pair's |M(s)|/M(c) is at least r = e^{-g/n},
    n the smallest count, if the product's is e^{-g}; so by e^{-g} (e^{x/r} - 1) at most, as M is a
    product of n and more terms that change by x together. That is convex in b, so up to ``blur`` at
    most in proportion.
    """
    fallen = cgf.value[0].real - cgf.value.real
    spread = cgf.radius + cgf.radius[0]
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(s) * np.exp(s[0].real * blur)
        ratio = np.exp((fallen + spread) / fewest)
        change = np.exp(spread - fallen) * np.expm1(size * blur * ratio) / blur
    return np.asarray(weights * np.where(change < size, change, size))


def _without_negligible(found: LatticeContour, blur: float) -> LatticeContour:
    """Drop nodes that are negligible together, for losses that are off the lattice by the blur."""
    s, cgf, radius, weights = found.s, found.cgf, found.radius, found.weights
    if s.size <= _FEW:
        return found
    kernel = _largest_bracket(*_kernel(s, found.lattice.span), found.lattice.span)
    known = np.where(np.isinf(radius), 0.0, radius)
    log_size = cgf.real + known + np.log(kernel * weights)
    order = np.argsort(log_size)
    sums = np.logaddexp.accumulate(log_size[order])
    cut = int(np.searchsorted(sums, log_size[0] + _LOG_DROPPED))
    keep, dropped = np.sort(order[cut:]), order[:cut]
    pull = _pull(s, Enclosure(cgf, radius), weights, found.lattice.fewest, blur)
    return replace(
        found,
        s=s[keep],
        cgf=cgf[keep],
        radius=radius[keep],
        weights=weights[keep],
        log_dropped=float(sums[cut - 1]) + 1e-6 if cut else -math.inf,
        most_blur=blur,
        dropped_pull=float(kernel[dropped] @ pull[dropped]) * (1 + 1e-9),
    )


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
