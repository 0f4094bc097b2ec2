"""Prove a bound by a trapezoid sum on a vertical line, with a bound of the cut tail.

Heuristic: all constants; the checker repeats every sum.

M of a Gaussian mixture is a trapezoid sum itself, on a shifted line. With b = shift and h = step,
the checker bounds what that misses by 2 e^{2 b^2} S / (e^{2 pi b/h} - 1) plus tails, S a bound of
E|1+u|^a: see proofs/theory/subsampled_gaussian.md, and replace_one.md of opposite mixtures.
Of a sampled pair the checker bounds the base's profile on a grid, takes the convex polygon through
the bounds, and uses M of the finite pair that has it as its profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Final, TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Reals, rounded_short
from dpproof.accountant.certificates.serialize import (
    UNCERTIFIED,
    Object,
    fact_step,
    pair as pair_json,
)
from dpproof.accountant.engine.contour import Contour, RealBounds, alias_step, real_bounds
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.engine.saddle_point import Saddle, total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.guarantees.guarantee import pair_in_words
from dpproof.accountant.pairs.finite import FinitePair, LatticePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.gaussian_mixtures import GaussianMixtures
from dpproof.accountant.pairs.laplace import LaplacePair, LogisticShift
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Json, Step, show_rational
from dpproof.proofs.limits import MAX_QUADRATURE

_LARGEST_TURN = 1.49  # Largest mu times shift: the checker allows 3/2. Heuristic.
_SHIFTS = 8  # Shifts tried for a tail. Heuristic.
_OWN_SHIFTS = (3.0, 2.1, 1.5, 1.0, 0.7, 0.5)  # For M itself: larger ones lose digits. Heuristic.
# Logs of how far below 1/count the error of M is, for M itself and for tails. Heuristic.
EXACT, _ROUGH = 30.0, 5.0
_BLUR = 2 * math.exp(-_ROUGH)  # of a tail, over the count
# Ratio of the mu^2, and of the rates, of mixtures that share a rule; few share none. Heuristic.
_SPREAD, _FEW = 1.5, 16
_LARGEST_LOSS = 600.0  # A loss whose exponential is representable as a float.

Mixture = SubsampledGaussianPair | OppositeGaussiansPair

_REMEMBERED: Final = 256  # Mixtures, of a schedule of many stages too. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class ShiftedRule:
    """A trapezoid rule with nodes step * j + i shift for j = -left, ..., right."""

    shift: float
    step: float
    left: int
    right: int

    def witness(self) -> Json:
        """Return the rule in the certificate's JSON."""
        return {
            "shift": show_rational(Fraction(self.shift)),
            "step": show_rational(Fraction(self.step)),
            "left": self.left,
            "right": self.right,
        }

    def samples(self, pairs: Sequence[Mixture]) -> tuple[Reals, Complexes]:
        """Return logs of the weights' sizes, and what grows with the power, at pairs and nodes."""
        x = self.step * np.arange(-self.left, self.right + 1)
        log_weight = math.log(self.step / math.sqrt(2 * math.pi)) + 0.5 * self.shift**2
        above = self._log_ratio(pairs, x, 1.0)
        if isinstance(pairs[0], SubsampledGaussianPair):
            return np.broadcast_to(log_weight - 0.5 * x * x, above.shape), above
        return log_weight - 0.5 * x * x + above.real, above - self._log_ratio(pairs, x, -1.0)

    def _log_ratio(self, pairs: Sequence[Mixture], x: Reals, sign: float) -> Complexes:
        """Return the log of 1-q + q e^{sign mu z - mu^2/2} at the nodes z = x + i shift."""
        mu = np.sqrt([[float(pair.mu_squared)] for pair in pairs])
        q = np.array([[float(pair.sampling_rate)] for pair in pairs])
        real = np.minimum(sign * mu * x - 0.5 * mu * mu, _LARGEST_LOSS)
        return np.asarray(np.log1p(q * np.expm1(real + 1j * sign * mu * self.shift)))


@final
@dataclass(frozen=True, slots=True)
class MixtureAtTilt:
    """A mixture at one abscissa, with the rules that compute and bound M."""

    pair: Mixture  # the pair
    power: float  # real part of the exponent: of 1 + u, c + 1 or -c; of opposite mixtures, c
    centre: float  # the integrand's centre, in mu right of 0
    fall: float  # the power of cos(mu shift) that the checker's bound is divided by
    log_size: float  # log of S over M(c), without the cosine
    log_moment: float  # log M(c)
    count: int  # the number of times the pair occurs
    # Logs of the terms of a whole moment's expansion, where that is the checker's bound.
    terms: tuple[float, ...] = ()

    @staticmethod
    def at(pair: Mixture, c: float, count: int, moment: float) -> MixtureAtTilt:
        """Return all that does not depend on the length of the contour, from K(c)."""
        mu2, q = float(pair.mu_squared), float(pair.sampling_rate)
        lifted = -c * math.log1p(-q) - moment
        grown = float(np.logaddexp(0.0, math.log(q) + 0.5 * c * (c + 1) * mu2))
        if isinstance(pair, OppositeGaussiansPair):
            return MixtureAtTilt(pair, c, c + 1, c, lifted + grown, moment, count)
        if not pair.removal:
            return MixtureAtTilt(pair, -c, 0.0, c, lifted, moment, count)
        order = math.ceil(c + 1)
        if order <= limits.MAX_EXPANDED:
            k = np.arange(order + 1)
            choices = np.log([float(math.comb(order, j)) for j in range(order + 1)])
            terms = choices + (order - k) * math.log1p(-q) + k * math.log(q)
            terms += 0.5 * k * (k - 1) * mu2
            whole = float(np.logaddexp.reduce(terms)) * (c + 1) / order
            if whole < grown:
                listed = tuple(terms.tolist())
                return MixtureAtTilt(pair, c + 1, order, 0.0, whole - moment, moment, count, listed)
        return MixtureAtTilt(pair, c + 1, c + 1, 0.0, grown - moment, moment, count)

    def rule(self, shift: float, accuracy: float) -> ShiftedRule:
        """Return the rule with a shift and an accuracy."""
        b = rounded_short(shift)
        mu = math.sqrt(self.pair.mu_squared)
        room = accuracy + math.log(self.count) + 2.0
        lost = room + self.log_size
        if self.fall:
            lost -= self.fall * math.log(math.cos(mu * b))
        step = rounded_short(2 * math.pi * b / (lost + 2 * b * b))
        reach = math.sqrt(2 * lost + b * b)
        right = reach + mu * self.centre
        if self.terms:
            ends = (2 * (room - self.log_moment + one) + b * b for one in self.terms)
            right = max(mu * k + math.sqrt(max(end, 0.0)) for k, end in enumerate(ends))
        return ShiftedRule(b, step, math.ceil(reach / step), math.ceil(right * (1 + 1e-12) / step))


@final
@dataclass(frozen=True, eq=False)
class Alike:
    """Mixtures at one abscissa that share their rules."""

    members: tuple[MixtureAtTilt, ...]

    @property
    def _limit(self) -> float:
        """Return the largest shift."""
        return _LARGEST_TURN / math.sqrt(max(one.pair.mu_squared for one in self.members))

    @lru_cache(maxsize=_REMEMBERED)  # noqa: B019  # frozen, and only some are kept
    def nodes(self, accuracy: float = EXACT) -> ShiftedRule:
        """Return the rule for M itself, with few nodes and an error far below 1/count."""
        rules = [self._rule(min(self._limit, shift), accuracy) for shift in _OWN_SHIFTS]
        rule = min(rules, key=lambda one: one.left + one.right)
        if max(rule.left, rule.right) > MAX_QUADRATURE:
            raise NotCertified(
                f"the proof integrates {pair_in_words(self.members[0].pair)} at "
                f"{max(rule.left, rule.right)} points, where the checker allows {MAX_QUADRATURE}; "
                f"{UNCERTIFIED}"
            )
        return rule

    def tail(self, y: float, longest: int) -> tuple[float, ShiftedRule | None]:
        """Return the least log of a bound of all |M(c+iv)/M(c)|^count, v >= y, and its rule."""
        counts = np.array([float(one.count) for one in self.members])
        bounds = [
            (float(counts @ np.log(np.exp(still - y * turned).sum(axis=1) + _BLUR / counts)), rule)
            for rule, still, turned in self._sampled(longest)
        ]
        return min(bounds, key=itemgetter(0), default=(0.0, None))

    @lru_cache(maxsize=_REMEMBERED)  # noqa: B019  # frozen, and only some are kept
    def _sampled(self, longest: int) -> list[tuple[ShiftedRule, Reals, Reals]]:
        """Return rules for a tail, logs of their terms over M, and how these fall with y."""
        found: list[tuple[ShiftedRule, Reals, Reals]] = []
        power = np.array([[one.power] for one in self.members])
        moment = np.array([[one.log_moment] for one in self.members])
        for shift in self._limit * np.geomspace(1e-3, 1.0, _SHIFTS):
            rule = self._rule(float(shift), _ROUGH)
            if rule.left + rule.right < longest:
                weights, growth = rule.samples([one.pair for one in self.members])
                found.append((rule, weights + power * growth.real - moment, growth.imag))
        return found

    def _rule(self, shift: float, accuracy: float) -> ShiftedRule:
        """Return a rule that is as fine and as long as that of each."""
        rules = [one.rule(shift, accuracy) for one in self.members]
        step = min(rule.step for rule in rules)
        left, right = (max(getattr(x, end) * x.step for x in rules) for end in ("left", "right"))
        return ShiftedRule(rules[0].shift, step, math.ceil(left / step), math.ceil(right / step))


@lru_cache(maxsize=8)
def alike(product: Product, c: float) -> dict[tuple[int, ...], Alike]:
    """Return the mixtures of a product, of many the alike ones together, by their places."""
    places = {k: x.pair for k, x in enumerate(product.factors) if isinstance(x.pair, Mixture)}
    groups: list[list[int]] = []
    for place in sorted(places, key=lambda k: _kind(places[k])):
        near = groups and _near(places[groups[-1][0]], places[place])
        if not (near and len(places) > _FEW):
            groups.append([])
        groups[-1].append(place)
    return {tuple(sorted(group)): _at(product, sorted(group), c) for group in groups}


def _at(product: Product, places: list[int], c: float) -> Alike:
    """Return the mixtures at these places, all of one direction, at an abscissa."""
    pairs: Any = [product.factors[place].pair for place in places]
    if isinstance(pairs[0], SubsampledGaussianPair):
        together = GaussianMixtures.of(
            [one.mu_squared for one in pairs],
            [one.sampling_rate for one in pairs],
            removal=pairs[0].removal,
        )
        moments = together.steer(np.array([c]))[0][:, 0].tolist()
    else:
        moments = [float(one.cgf(np.array([c + 0j])).value.real[0]) for one in pairs]
    counts = (product.factors[place].count for place in places)
    each = zip(pairs, counts, moments, strict=True)
    return Alike(tuple(MixtureAtTilt.at(pair, c, count, one) for pair, count, one in each))


def _kind(pair: Mixture) -> tuple[str, bool, Fraction]:
    return type(pair).__name__, getattr(pair, "removal", False), pair.mu_squared


def _near(first: Mixture, other: Mixture) -> bool:
    if _kind(first)[:2] != _kind(other)[:2]:
        return False
    rates = sorted((first.sampling_rate, other.sampling_rate))
    return other.mu_squared <= _SPREAD * first.mu_squared and rates[1] <= _SPREAD * rates[0]


Tabled: TypeAlias = SubsampledPair | CountedGaussiansPair | AllocatedGaussianPair
"""Pairs that a product of several is answered for through a table of each."""

TURN = 3  # The height, in units of 1/span, up to which the checker's ceiling falls.
_DIRECT = 1 << 20  # Losses times nodes up to which sums are computed directly. Heuristic.
_LEVELS = 48  # Levels of a ceiling that are tried. Heuristic.
_LARGEST = 700.0  # Largest log of a level. Exceeding it raises.


@final
@dataclass(frozen=True, slots=True)
class TableSide:
    """One side of a table."""

    grid: Reals  # shape (n,), whole, increasing from 0
    # Bounds of the base's profile, in the certificate's JSON; none if closed.
    lines: tuple[Json, ...]
    excess: Reals | float = 0.0  # how far these may be above the profile, absolute

    def witness(self) -> Json:
        """Return strides with counts, and the lines."""
        strides = np.diff(self.grid)
        ends = np.append(np.flatnonzero(np.diff(strides)), strides.size - 1)
        counts = np.diff(np.insert(ends, 0, -1))
        runs = zip(strides[ends].tolist(), counts.tolist(), strict=True)
        listed: list[Json] = [{"stride": int(a), "count": int(n)} for a, n in runs]
        return {"runs": listed, "lines": list(self.lines)}

    @property
    def fine(self) -> int:
        """Return the length of the part without gaps."""
        strides = np.diff(self.grid)
        return int(np.argmax(np.append(strides, 2.0) != 1.0))


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A finite pair above a sampled pair, and the grids from which the checker makes it."""

    finite_pair: LatticePair  # the finite pair, to the engine's precision
    forward: TableSide  # epsilon >= 0
    backward: TableSide  # the same for the swapped pair

    @property
    def top(self) -> float:
        """Return the height up to which the ceiling falls, 0 if it does not."""
        return TURN / self.finite_pair.span if min(self.forward.fine, self.backward.fine) else 0.0

    def work(self, nodes: int) -> int:
        """Return the checker's work for M at so many nodes."""
        turns = [np.diff(np.diff(side.grid)) for side in (self.forward, self.backward)]
        runs = 2 + sum(int(np.count_nonzero(one)) for one in turns)
        size = self.forward.grid.size + self.backward.grid.size - 1
        return limits.turn_work(size, runs, nodes)

    def witness(self, level: float) -> Json:
        """Return the table in the certificate's JSON."""
        return {
            "span": show_rational(Fraction(self.finite_pair.span)),
            "level": show_rational(Fraction(level)),
            "forward": self.forward.witness(),
            "backward": self.backward.witness(),
        }

    def decay(self, c: float) -> Callable[[float], tuple[float, float]]:
        """Return y -> log of the checker's bound of |M(c+iv)/M(c)| up to the top, and its level."""
        exponent = self.finite_pair.atoms.log_p + c * self.finite_pair.atoms.loss
        log_moment = float(np.logaddexp.reduce(exponent))
        weight = np.exp(exponent - log_moment)
        inside = (self.finite_pair.index >= -self.backward.fine) & (
            self.finite_pair.index <= self.forward.fine
        )
        masses = np.zeros(self.forward.fine + self.backward.fine + 1)
        masses[self.finite_pair.index[inside].astype(int) + self.backward.fine] = weight[inside]
        levels = np.quantile(masses, np.append(1 - np.geomspace(1e-4, 0.5, _LEVELS), 1.0))
        clipped = np.minimum(masses, levels[:, None])
        apart = 1.0 - clipped.sum(axis=1)
        padded = np.pad(clipped, ((0, 0), (1, 1)))
        moves = np.abs(np.diff(padded, axis=1)).sum(axis=1)

        def bound(y: float) -> tuple[float, float]:
            turned = apart + moves / (2 * math.sin(0.5 * y * self.finite_pair.span))
            best = int(np.argmin(turned))
            log_level = math.log(max(float(levels[best]), 1e-300)) + log_moment
            if log_level > _LARGEST:
                raise NotCertified(f"the masses of a table are too far apart; {UNCERTIFIED}")
            level = math.exp(log_level)
            return min(math.log(float(turned[best])), 0.0), level * (1 + 1e-12)

        return bound


def table_cgf(finite_pair: LatticePair, c: float, step: float, count: int) -> Complexes:
    """Approximate K(c + i k step), k = 0, ..., count - 1, to the accuracy of a witness.

    Many nodes use a fast Fourier transform: with e(x) = e^{i x^2 turn / 2} the sum of w_j e^{i j k
    turn} is e(k) times that of w_j e(j) / e(k - j) (Bluestein).
    """
    if finite_pair.index.size * count < _DIRECT:
        return np.asarray(finite_pair.cgf(c + 1j * step * np.arange(count)).value)
    exponent = finite_pair.atoms.log_p + c * finite_pair.atoms.loss
    log_moment = float(np.logaddexp.reduce(exponent))
    first, turn = float(finite_pair.index[0]), step * finite_pair.span
    place = (finite_pair.index - first).astype(int)
    length = int(place[-1]) + 1
    k = np.arange(max(length, count), dtype=float)
    chirp = np.exp(0.5j * np.mod(k * k * turn, 4 * math.pi))
    weights = np.zeros(length, dtype=complex)
    weights[place] = np.exp(exponent - log_moment)
    size = 1 << (length + count).bit_length()
    kernel = np.zeros(size, dtype=complex)
    kernel[:count] = chirp[:count].conj()
    kernel[size - length + 1 :] = chirp[1:length][::-1].conj()
    sums = np.fft.ifft(np.fft.fft(weights * chirp[:length], size) * np.fft.fft(kernel))[:count]
    phase = np.exp(1j * np.mod(first * turn * k[:count], 2 * math.pi))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums * chirp[:count] * phase) + log_moment)


@final
@dataclass(frozen=True, slots=True)
class Subject:
    """A product as a certificate names it, and as its proof computes it."""

    named: Product  # the product
    # One for each sampled pair, in order of the factors; None for others.
    tables: tuple[Table | None, ...]
    computed: Product  # the product, with a finite pair for every sample whose losses are added up

    @staticmethod
    def plain(product: Product) -> Subject:
        """Return a product without sampled pairs."""
        return Subject(product, (None,) * len(product.factors), product)

    @property
    def used(self) -> Product:
        """Return the product with every sampled pair replaced by its table."""
        if not any(self.tables):
            return self.computed
        both = zip(self.computed.factors, self.tables, strict=True)
        return Product(
            tuple(
                factor if table is None else Factor(table.finite_pair, factor.count)
                for factor, table in both
            )
        )

    @property
    def plain_part(self) -> Product:
        """Return the pairs without a table."""
        both = zip(self.computed.factors, self.tables, strict=True)
        return Product(tuple(factor for factor, table in both if table is None))

    def work(self, nodes: int) -> int:
        """Return the checker's work for M at so many nodes, without subsampled Gaussians."""
        both = zip(self.computed.factors, self.tables, strict=True)
        each = (_work(one, nodes) if table is None else table.work(nodes) for one, table in both)
        return limits.NODE * nodes + sum(each)


def _work(factor: Factor, nodes: int) -> int:
    """Return the checker's work for a power of M of one pair without a table."""
    if isinstance(factor.pair, FinitePair):
        return limits.sum_work(len(factor.pair.p), nodes) + limits.power_work(factor.count, nodes)
    said = pair_json(factor.pair)
    kind, shift = str(said["kind"]), said.get("shift", 1)
    if kind in limits.FORMULAS:
        return limits.formula_work(kind, factor.count, nodes, int(str(shift)))
    return limits.power_work(factor.count, nodes)


Hint: TypeAlias = "ShiftedRule | float | None"
EASY_NODES = 1 << 11  # Nodes of a line that is tried first.
# Logs of the cut tail relative to delta, without and with tables.
_LOG_CUT, _LOG_CUT_TABLE = -24.0, -17.0
_LENGTHS = 24  # Lengths tried.
# Nodes of a rule that bounds a tail, and of the line before it, tried in this order: a node of a
# rule is eight times the work of one of a line.
_RULES = ((1 << 9, 1 << 7), (1 << 10, 1 << 9), (8_000, EASY_NODES))
_TRANSFORMED = 1e-14  # Error of a transform, relative to M at the abscissa.


@final
@dataclass(frozen=True, slots=True)
class ContourProof:
    """A contour with its witness."""

    subject: Subject  # of pairs with a formula, a quadrature or a table for M
    contour: Contour  # the engine's, whose cut is bounded as the checker bounds it
    # One a factor, what bounds the tail of a subsampled Gaussian or of a table.
    hints: tuple[Hint, ...]

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the engine's upper end."""
        finite = self.contour.log_brackets(epsilon)[1]
        with np.errstate(divide="ignore"):
            return np.logaddexp(finite, np.log(infinite_mass(self.subject.used).upper)) + 1e-10

    def log_lower(self, epsilon: Reals) -> Reals:
        """Return the log of the engine's lower end."""
        finite = self.contour.log_profile(epsilon)[0]
        with np.errstate(divide="ignore"):
            return np.logaddexp(finite, np.log(infinite_mass(self.subject.used).lower)) - 1e-10

    def work(self, points: int) -> int:
        """Return the checker's work for M at the nodes and a sum over them for each point."""
        c, nodes = float(self.contour.s[0].real), self.contour.s.size
        return work_along(self.subject, c, nodes, points)

    def fact(self, points: Points) -> Step:
        """Return the step with the line, its nodes, tau, and the quadrature of every mixture."""
        c = float(self.contour.s[0].real)
        listed = quadratures(self.subject, c, self.hints)
        return fact_step(
            "contour", self.subject.named, points, {**self.witness(), "factors": listed}
        )

    def witness(self) -> Object:
        """Return the line alone in the certificate's JSON."""
        return {
            "c": show_rational(Fraction(float(self.contour.s[0].real))),
            "step": show_rational(Fraction(self.contour.step)),
            "nodes": self.contour.s.size - 1,
            "tau": show_rational(Fraction(self.contour.tau)),
        }


def quadratures(
    subject: Subject, c: float, hints: Sequence[Hint] = (), *, accuracy: float = EXACT
) -> list[Json]:
    """Return the witness that M of each pair needs at abscissa c; refuse one that is too long."""
    groups = alike(subject.named, c)
    first = {place: ones for ones in groups for place in ones}
    listed: list[Json] = []
    places = hints or (None,) * len(subject.tables)
    for place, (table, hint) in enumerate(zip(subject.tables, places, strict=True)):
        if table is not None:
            listed.append(table.witness(hint if isinstance(hint, float) else 0.0))
        elif place not in first:
            listed.append(None)
        elif place > first[place][0]:
            listed.append(first[place][0])
        else:
            nodes = groups[first[place]].nodes(accuracy)
            tail = hint if isinstance(hint, ShiftedRule) else nodes
            listed.append({"nodes": nodes.witness(), "tail": tail.witness()})
    return listed


def contour_proof(subject: Subject, saddle: Saddle, most: int) -> ContourProof:
    """Return a contour that suits a saddle, short, or smoothed by tau if it cannot be."""
    c = rounded_short(saddle.c)
    on_axis = real_bounds(subject.used.bundled(), saddle)
    step = alias_step(saddle, on_axis)
    log_moment = on_axis.at(c)
    needed = log_moment - saddle.c * saddle.epsilon - saddle.log_delta
    plain = max(_LOG_CUT, saddle.log_tolerance - 2.0)
    needed -= plain if subject.used is subject.named else _LOG_CUT_TABLE
    lengths = np.unique(np.geomspace(8, EASY_NODES, _LENGTHS).astype(int))
    for longest, reach in _RULES:
        tail = Tail.of(subject, c, step, longest)
        for nodes in lengths[lengths <= min(most, reach)].tolist():
            cut = tail.at(step * nodes, 0.0)
            if needed + cut.near < 0:
                tau = tail.smoothing(needed, cut)
                return _line(subject, tail, nodes, tau, on_axis)
    tau = tail.smoothing(needed, tail.at(step * most, 0.0))
    return _line(subject, tail, most, tau, on_axis)


def work_along(subject: Subject, c: float, nodes: int, points: int) -> int:
    """Return the checker's work for a line, too much if a sum would take too much memory."""
    shared = [(one.nodes(), len(places)) for places, one in alike(subject.named, c).items()]
    lengths = [rule.left + rule.right + 1 for rule, times in shared for _ in range(times)]
    if any(limits.matrix(length, nodes + 1) > limits.MAX_MATRIX for length in lengths):
        return limits.MAX_WORK + 1
    sums = sum(limits.quadrature_work(length, length, nodes) for length in lengths)
    smooth = limits.formula_work("gaussian", 1, nodes)
    return subject.work(nodes) + sums + smooth + limits.line_work(nodes, points)


def most_nodes(subject: Subject, c: float, work: int) -> int:
    """Return the most nodes of a line within the checker's work, up to a factor of 2."""
    nodes = limits.MAX_NODES
    while nodes > 1 and work_along(subject, c, nodes, 1) > work:
        nodes //= 2
    return nodes


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """Logs of the parts of the checker's bound of the cut tail, over M(c) e^{-c eps}."""

    near: float  # the terms up to the tables' top, all of them without tables
    far: float  # those beyond
    reach: float  # where the cut is
    top: float  # where the tables' ceilings end
    hints: tuple[Hint, ...]  # inputs of the bound


@final
@dataclass(frozen=True, slots=True)
class Tail:
    """The decay of every pair's M along one line."""

    # Of pairs at these places, y -> log of a bound of prod |M_i(c+iv)/M_i(c)|^{n_i} for v >= y,
    # with their hint; that of a table serves up to the top only
    decays: dict[tuple[int, ...], Callable[[float], tuple[float, Hint]]]
    tables: tuple[bool, ...]  # the pairs that have a table
    top: float  # up to where all tables' bounds fall; inf without tables
    c: float  # abscissa of the line
    step: float  # of the line

    @staticmethod
    def of(subject: Subject, c: float, step: float, longest: int) -> Tail:
        """Return the decay of every pair of a subject, by rules of fewer nodes than ``longest``."""
        decays: dict[tuple[int, ...], Callable[[float], tuple[float, Hint]]] = {
            places: partial(Alike.tail, ones, longest=longest)
            for places, ones in alike(subject.named, c).items()
        }
        both = zip(subject.named.factors, subject.tables, strict=True)
        for place, (factor, table) in enumerate(both):
            if table is not None:
                decays[(place,)] = _repeated(table.decay(c), factor.count)
            elif not isinstance(factor.pair, Mixture):
                decays[(place,)] = _decay(factor.pair, c, factor.count)
        tops = [table.top for table in subject.tables if table is not None]
        has_table = tuple(table is not None for table in subject.tables)
        return Tail(decays, has_table, min(tops, default=math.inf), c, step)

    def at(self, reach: float, tau: float) -> Cut:
        """Return the bound for a line cut at ``reach``, with a tau-GDP mechanism beside it."""
        lift = 0.5 * tau * tau
        if reach >= self.top:
            near, hints = self._sum(reach, flat=True)
            near -= lift * reach * reach + math.log(math.pi * reach)
            return Cut(near, -math.inf, reach, math.inf, hints)
        near, hints = self._sum(reach, flat=False)
        near -= lift * reach * reach + math.log(math.pi * reach)
        if math.isinf(self.top):
            return Cut(near, -math.inf, reach, self.top, hints)
        far, _ = self._sum(self.top, flat=True)
        far -= lift * self.top * self.top + math.log(math.pi * (self.top - self.step))
        return Cut(near, far, reach, self.top, hints)

    def smoothing(self, needed: float, cut: Cut) -> float:
        """Return the least tau that makes a cut good enough."""
        near = math.sqrt(2 * max(needed + cut.near, 0.0)) / cut.reach
        far = math.sqrt(2 * max(needed + cut.far, 0.0)) / cut.top
        return rounded_short(1.001 * max(near, far))

    def _sum(self, y: float, *, flat: bool) -> tuple[float, tuple[Hint, ...]]:
        """Return the sum of the logs of all decays at y, with their hints."""
        total, hints = 0.0, list[Hint]([0.0 if table else None for table in self.tables])
        for places, decay in self.decays.items():
            if not (flat and self.tables[places[0]]):
                log_ratio, hint = decay(y)
                total += log_ratio
                for place in places:
                    hints[place] = hint
        return total, tuple(hints)


def _line(
    subject: Subject, tail: Tail, nodes: int, tau: float, on_axis: RealBounds
) -> ContourProof:
    """Return the proof on a line with so many nodes."""
    c, step = tail.c, tail.step
    s = c + 1j * step * np.arange(nodes + 1)
    value, radius = np.zeros(nodes + 1, dtype=complex), 1e-13
    for factor, table in zip(subject.named.factors, subject.tables, strict=True):
        if table is not None:
            value += factor.count * table_cgf(table.finite_pair, c, step, nodes + 1)
            radius += _TRANSFORMED * factor.count
    cgf = total_cgf(subject.plain_part.bundled(), s)
    lift = 0.5 * tau * tau
    cut = tail.at(step * nodes, tau)
    log_cut = on_axis.at(c) + float(np.logaddexp(cut.near, cut.far)) + lift * c * (c + 1.0) + 1e-9
    contour = Contour(
        s=s,
        log_kernel=cgf.value + value + lift * s * (s + 1.0) - np.log(s) - np.log(s + 1.0),
        radius=cgf.radius + radius,
        step=step,
        log_cut=log_cut,
        known=np.column_stack([on_axis.points, on_axis.upper]),
        tau=tau,
    )
    return ContourProof(subject, contour, cut.hints)


def _repeated(
    decay: Callable[[float], tuple[float, float]], count: int
) -> Callable[[float], tuple[float, Hint]]:
    """Return the decay of a table's pair, ``count`` times."""

    def bound(y: float) -> tuple[float, Hint]:
        log_ratio, level = decay(y)
        return count * log_ratio, level

    return bound


def _decay(pair: Pair, c: float, count: int) -> Callable[[float], tuple[float, Hint]]:
    """Return y -> log of the checker's bound of |M(c+iv)/M(c)|^count for v >= y."""
    match pair:
        case GaussianPair():
            variance = count * float(pair.mu_squared)
            return lambda y: (-0.5 * variance * y * y, None)
        case LaplacePair() | LogisticShift():
            moment = float(pair.cgf(np.array([c + 0j])).value.real[0])
            bound = _laplace if isinstance(pair, LaplacePair) else _logistic
            a = float(pair.epsilon)
            return lambda y: (count * min(bound(a, c, y) - moment, 0.0), None)
        case _:
            return lambda _: (0.0, None)


def _laplace(a: float, c: float, y: float) -> float:
    """Return the log of a bound of |M| of the Laplace pair at height y."""
    share = abs(complex(c + 1, y)) / abs(complex(2 * c + 1, 2 * y))
    return c * a + math.log(share + 0.5 * math.exp(-(2 * c + 1) * a))


def _logistic(a: float, c: float, y: float) -> float:
    """Return the log of a bound of |M| of the logistic pair at height y."""
    top = (c + 0.5) * a + math.log1p(math.exp(-(2 * c + 1) * a))  # of 2 cosh
    bottom = 0.5 * a + math.log(-math.expm1(-a))  # of 2 sinh
    return top - bottom - math.log(2 * abs(complex(c + 0.5, y)))
