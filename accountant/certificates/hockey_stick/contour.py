"""Prove a bound by a trapezoid sum on a vertical line, with a bound of the cut tail.

Heuristic: all constants; the checker repeats every sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, rounded_short
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, Object
from dpproof.accountant.certificates.hockey_stick.proof import fact_step
from dpproof.accountant.certificates.hockey_stick.quadrature import (
    EXACT,
    Mixture,
    MixtureAtTilt,
    ShiftedRule,
)
from dpproof.accountant.certificates.hockey_stick.table import Subject, table_cgf
from dpproof.accountant.engine.contour import Contour, RealBounds, alias_step, real_bounds
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.engine.saddle_point import Saddle, total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.guarantees.guarantee import pair_in_words
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, LogisticShift
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Json, Step, show_rational

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
    """A contour with its witness.

    Attributes:
        subject: of pairs with a formula, a quadrature or a table for M.
        contour: the engine's, whose cut is bounded as the checker bounds it.
        hints: one a factor, what bounds the tail of a subsampled Gaussian or of a table.
    """

    subject: Subject
    contour: Contour
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
    """Return the witness that M of each pair needs at abscissa c.

    Raises:
        NotCertified: that of some pair is longer than the checker reads.
    """
    listed: list[Json] = []
    places = hints or (None,) * len(subject.tables)
    for factor, table, hint in zip(subject.named.factors, subject.tables, places, strict=True):
        if table is not None:
            listed.append(table.witness(hint if isinstance(hint, float) else 0.0))
        elif isinstance(factor.pair, Mixture):
            nodes = MixtureAtTilt.at(factor.pair, c, factor.count).nodes(accuracy)
            if max(nodes.left, nodes.right) > limits.MAX_QUADRATURE:
                raise NotCertified(
                    f"the proof integrates {pair_in_words(factor.pair)} at more points than the "
                    f"checker allows; {UNCERTIFIED}"
                )
            tail = hint if isinstance(hint, ShiftedRule) else nodes
            listed.append({"nodes": nodes.witness(), "tail": tail.witness()})
        else:
            listed.append(None)
    return listed


def contour_proof(subject: Subject, saddle: Saddle, most: int) -> ContourProof:
    """Return a contour that suits a saddle.

    It is as short as possible, and smoothed by tau if it cannot be short.
    """
    c, product = rounded_short(saddle.c), subject.used
    on_axis = real_bounds(product, saddle)
    step = alias_step(saddle, on_axis)
    log_moment = on_axis.at(c)
    needed = log_moment - saddle.c * saddle.epsilon - saddle.log_delta
    needed -= _LOG_CUT if subject.used is subject.named else _LOG_CUT_TABLE
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
    """Return the checker's work for a line with so many nodes and so many epsilons.

    It is more than the checker does if a sum would take too much memory.
    """
    rules = [
        MixtureAtTilt.at(factor.pair, c, factor.count).nodes()
        for factor in subject.named.factors
        if isinstance(factor.pair, Mixture)
    ]
    lengths = [rule.left + rule.right + 1 for rule in rules]
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
    """Logs of the parts of the checker's bound of the cut tail, over M(c) e^{-c eps}.

    Attributes:
        near: the terms up to the tables' top, all of them without tables.
        far: those beyond.
        reach: where the cut is.
        top: where the tables' ceilings end.
        hints: inputs of the bound.
    """

    near: float
    far: float
    reach: float
    top: float
    hints: tuple[Hint, ...]


@final
@dataclass(frozen=True, slots=True)
class Tail:
    """The decay of every pair's M along one line.

    Attributes:
        decays: y -> log of a bound of |M_i(c+iv)/M_i(c)|^{n_i} for v >= y, with its hint; that
            of a table serves up to the top only.
        tables: the pairs that have a table.
        top: up to where all tables' bounds fall; inf without tables.
        c: abscissa of the line.
        step: of the line.
    """

    decays: tuple[Callable[[float], tuple[float, Hint]], ...]
    tables: tuple[bool, ...]
    top: float
    c: float
    step: float

    @staticmethod
    def of(subject: Subject, c: float, step: float, longest: int) -> Tail:
        """Return the decay of every pair of a subject, by rules of fewer nodes than ``longest``."""
        decays = []
        for factor, table in zip(subject.named.factors, subject.tables, strict=True):
            if table is None:
                decays.append(_decay(factor.pair, c, factor.count, longest))
            else:
                decays.append(_repeated(table.decay(c), factor.count))
        tops = [table.top for table in subject.tables if table is not None]
        has_table = tuple(table is not None for table in subject.tables)
        return Tail(tuple(decays), has_table, min(tops, default=math.inf), c, step)

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
        sums: list[tuple[float, Hint]] = [
            (0.0, 0.0) if flat and table else decay(y)
            for decay, table in zip(self.decays, self.tables, strict=True)
        ]
        return sum(one for one, _ in sums), tuple(hint for _, hint in sums)


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
    cgf = total_cgf(subject.plain_part, s)
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


def _decay(pair: Pair, c: float, count: int, longest: int) -> Callable[[float], tuple[float, Hint]]:
    """Return the log of the checker's bound of |M(c+iv)/M(c)|^count, a function of y.

    The bound holds for v >= y.
    """
    match pair:
        case GaussianPair():
            variance = count * float(pair.mu_squared)
            return lambda y: (-0.5 * variance * y * y, None)
        case LaplacePair() | LogisticShift():
            moment = float(pair.cgf(np.array([c + 0j])).value.real[0])
            bound = _laplace if isinstance(pair, LaplacePair) else _logistic
            a = float(pair.epsilon)
            return lambda y: (count * min(bound(a, c, y) - moment, 0.0), None)
        case SubsampledGaussianPair() | OppositeGaussiansPair():
            sampled = MixtureAtTilt.at(pair, c, count)
            return lambda y: _best(sampled, y, count, longest)
        case _:
            return lambda _: (0.0, None)


def _best(
    sampled: MixtureAtTilt, y: float, count: int, longest: int
) -> tuple[float, ShiftedRule | None]:
    """Return the least bound of a mixture's tail with its rule, or 0 without one."""
    tails = sampled.tails(y, longest)
    if not tails:
        return 0.0, None
    log_ratio, rule = min(tails, key=lambda one: one[0])
    return count * log_ratio, rule


def _laplace(a: float, c: float, y: float) -> float:
    """Return the log of a bound of |M| of the Laplace pair at height y."""
    share = abs(complex(c + 1, y)) / abs(complex(2 * c + 1, 2 * y))
    return c * a + math.log(share + 0.5 * math.exp(-(2 * c + 1) * a))


def _logistic(a: float, c: float, y: float) -> float:
    """Return the log of a bound of |M| of the logistic pair at height y."""
    top = (c + 0.5) * a + math.log1p(math.exp(-(2 * c + 1) * a))  # of 2 cosh
    bottom = 0.5 * a + math.log(-math.expm1(-a))  # of 2 sinh
    return top - bottom - math.log(2 * abs(complex(c + 0.5, y)))
