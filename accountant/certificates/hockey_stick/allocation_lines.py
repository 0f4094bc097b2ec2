"""Choose lines along which the checker bounds the profile of one of several rounds.

Heuristic: any line bounds; the checker computes what it says. The sums are those of
proofs/sampled/allocated.py, the bounds of what they err by those of proofs/theory/allocation.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, rounded_short
from dpproof.accountant.arithmetic.lognormal_means import log_transform
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, Object
from dpproof.accountant.certificates.hockey_stick.proof import fact_step
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Step, show_rational

_CLOSE: Final = 1e-12  # How far a bound may be above the profile, relatively.
_SHARES: Final = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # The same where no short line is closer.
_SHORT: Final = 1 << 10  # Nodes of a line that need not be shorter.
_LONGEST: Final = 1 << 12  # Most nodes of a line.
_LEVEL: Final = 120.0  # Largest log of a sum over what it says: digits that are lost.
_ROOM: Final = 1.01  # Room for what is computed here in floats.
_STEEP: Final = 0.05  # Nats between points of which the slope is that of the profile.
_PERIODS: Final = np.array([1.001, 1.2, 1.5, 2.0, 3.0, 5.0])  # 2 pi/step over the largest c.
_DEVIATIONS: Final = np.array([9.0, 12.0, 16.0, 24.0])  # The same in standard deviations of M.
_TURNS: Final = 2.0 ** -np.arange(13.0)  # As the checker's.
_REACHES: Final = 2.0 ** np.arange(-8.0, 44.0, 0.25)  # Ends of lines, over the tilt.
_AT_ONCE: Final = 12  # Points at which a line is tried, of those it may serve.


@final
@dataclass(frozen=True, slots=True)
class ShortfallLine:
    """A line, and how far above the profile it may be.

    Attributes:
        tilt: Re u.
        period: 2 pi over the step of Im u.
        nodes: how many.
        tau: standard deviation of the Gaussian that is added to c.
        share: of the profile, that its bound may be above it.
        excess: shape (n,), what it may be above it at the points that it serves.
    """

    tilt: float
    period: float
    nodes: int
    tau: float
    share: float
    excess: Reals

    def witness(self) -> Object:
        """Return the line in the certificate's JSON."""
        return {
            "c": show_rational(Fraction(self.tilt)),
            "step": show_rational(Fraction(rounded_short(2 * math.pi / self.period))),
            "nodes": self.nodes,
            "tau": show_rational(Fraction(self.tau)),
        }


def shortfall_lines(
    pair: AllocatedGaussianPair, epsilon: Reals, negligible: float, *, below: bool = False
) -> tuple[tuple[Object, ...], Reals]:
    """Return lines for points of one side of a table, and how far above the profile they are.

    Args:
        pair: one direction.
        epsilon: increasing from 0.
        negligible: what a bound may be off by, beside a small share of the profile.
        below: whether the lines have to bound from below as well: they take no Gaussian.
    Raises:
        NotCertified: no line of the checker is close.
    """
    listed: list[Object] = []
    excess: list[Reals] = []
    for line in _lines(pair, _Wanted.of(pair, epsilon, negligible), below=below):
        listed.append({"points": max(line.excess.size - (not listed), 1), **line.witness()})
        excess.append(line.excess)
    return tuple(listed), np.concatenate(excess)


def single_allocations(
    pair: AllocatedGaussianPair, places: list[Fraction], negligible: float
) -> list[tuple[SingleAllocation, list[Fraction]]]:
    """Return proofs of the profile at increasing epsilons, each with those that it serves."""
    proofs, start = [], 0
    wanted = _Wanted.of(pair, np.array([float(x) for x in places]), negligible)
    for line in _lines(pair, wanted, below=False):
        end = start + line.excess.size
        proofs.append((SingleAllocation(pair, line, negligible), places[start:end]))
        start = end
    return proofs


def _lines(pair: AllocatedGaussianPair, wanted: _Wanted, *, below: bool) -> Iterator[ShortfallLine]:
    """Return lines, each for the first points that no earlier one serves."""
    start = 0
    while start < wanted.c.size:
        line = _line(pair, wanted.at(slice(start, None)), below=below)
        start += line.excess.size
        yield line


def shortfall_line(
    pair: AllocatedGaussianPair, epsilon: float, *, below: bool = False
) -> ShortfallLine:
    """Return a line for one epsilon."""
    return _line(pair, _Wanted.of(pair, np.array([epsilon]), 0.0), below=below)


@final
@dataclass(frozen=True, slots=True)
class SingleAllocation:
    """A proof of the profile of one allocation, once, by a line.

    Attributes:
        pair: one direction.
        line: for some epsilons.
        negligible: what its bound may be above the profile, beside a share of that.
    """

    pair: AllocatedGaussianPair
    line: ShortfallLine
    negligible: float

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the upper end of the profile, raised by what the line may err by."""
        with np.errstate(divide="ignore"):
            upper = self.pair.profile(epsilon)[1] * (1.0 + _ROOM * self.line.share)
            return np.asarray(np.log(upper + _ROOM * self.negligible))

    def work(self, points: int) -> int:
        """Return the checker's work for the sum over the line's nodes."""
        nodes, terms = self.line.nodes, limits.transform_terms(self.pair.mu_squared)
        transform = limits.sum_work(terms, nodes) + limits.power_work(self.pair.rounds, nodes)
        return transform + 2 * limits.line_work(nodes, points)

    def fact(self, points: Points) -> Step:
        """Return the step with the line."""
        return fact_step("sampled", Product.of(self.pair), points, self.line.witness())


@final
@dataclass(frozen=True, slots=True)
class _Wanted:
    """E(c - M)_+ at some points, and what a line may err by.

    Attributes:
        c: e^epsilon, or e^-epsilon for an addition.
        scale: by what a shortfall is multiplied to be a profile.
        delta: the profile.
        slope: minus the derivative of its log by epsilon.
        room: of the profile, absolute, beside a share of it.
    """

    c: Reals
    scale: Reals
    delta: Reals
    slope: Reals
    room: float

    @staticmethod
    def of(pair: AllocatedGaussianPair, epsilon: Reals, room: float) -> _Wanted:
        sign = 1.0 if pair.removal else -1.0
        near = np.concatenate([epsilon, epsilon + _STEEP])
        delta, beyond = np.split(np.maximum(pair.profile(near)[1], 1e-300), 2)
        slope = np.maximum(np.log(delta / beyond) / _STEEP, 1.0)
        scale = np.ones(epsilon.shape) if pair.removal else np.exp(epsilon)
        return _Wanted(np.exp(sign * epsilon), scale, delta, slope, room)

    def at(self, some: Any) -> _Wanted:  # noqa: ANN401  # an index of numpy's
        """Return some of the points."""
        return _Wanted(
            self.c[some], self.scale[some], self.delta[some], self.slope[some], self.room
        )

    def allowed(self, share: float) -> Reals:
        """Return what a shortfall may err by."""
        return (self.delta * share + self.room) / self.scale

    def smoothing(self, share: float) -> float:
        """Return a tau that raises shortfalls by about a share of the profile.

        That is tau^2/2 times the second derivative, about slope (slope + 1) delta over c^2.
        """
        bend = self.slope * (self.slope + 1.0) * self.delta / (self.c * self.c)
        return rounded_short(float(np.sqrt(2 * self.allowed(share) * self.scale / bend).min()))


def _line(pair: AllocatedGaussianPair, wanted: _Wanted, *, below: bool) -> ShortfallLine:
    """Return the line with least work a point, for some of the first points."""
    best: tuple[float, ShortfallLine] | None = None
    count = wanted.c.size
    while count:
        some = np.unique(np.linspace(0, count - 1, _AT_ONCE).astype(int))
        shortest = _shortest(pair, wanted.at(some), below=below)
        if shortest is not None:
            tilt, period, nodes, tau, share = shortest
            work = limits.sum_work(limits.transform_terms(pair.mu_squared), nodes)
            each = (work + count * limits.line_work(nodes, 1)) / count
            if best is None or each < best[0]:
                excess = wanted.delta[:count] * share + wanted.room
                best = each, ShortfallLine(tilt, period, nodes, tau, share, _ROOM * excess)
        count //= 2
    if best is None:
        raise NotCertified(
            f"no short sum of the checker bounds {pair.rounds} rounds of so little noise near "
            f"epsilon = {abs(math.log(wanted.c[0])):.6g}; {UNCERTIFIED}"
        )
    return best[1]


def _shortest(
    pair: AllocatedGaussianPair, wanted: _Wanted, *, below: bool
) -> tuple[float, float, int, float, float] | None:
    """Return tilt, period, nodes and tau of a short line, and its share of the profile."""
    line = _plain(pair, wanted, _CLOSE, 0.0, below=below)
    if below or (line is not None and line[2] <= _SHORT):
        return None if line is None else (*line, 0.0, _CLOSE)
    for share in _SHARES:
        tau = wanted.smoothing(share / 2)
        other = _plain(pair, wanted, share / 2, tau, below=False)
        if other is not None:
            return (*other, tau, share)
    return None if line is None else (*line, 0.0, _CLOSE)


def _plain(
    pair: AllocatedGaussianPair, wanted: _Wanted, share: float, tau: float, *, below: bool
) -> tuple[float, float, int] | None:
    """Return tilt, period and nodes of the shortest line that errs by the allowed, with a tau."""
    variance, count = float(pair.mu_squared), pair.rounds
    q, log_power = log_transform(variance, count)
    if not q.size:
        return None
    c, log_room = wanted.c[:, None], np.log(wanted.allowed(share) / 4)[:, None]
    spread = math.sqrt(math.expm1(min(variance, 600.0)) / count)
    periods = float(c.max()) * _PERIODS
    if not below:
        about = max(float(c.max()) - 1.0, 0.0) + spread * _DEVIATIONS
        periods = np.append(periods, about[about < periods[0]])
    best: tuple[float, float, int] | None = None
    for period in periods.tolist():
        before = _log_shortfall(q, log_power, c[:, 0] - period, tau)[:, None]
        after = _log_shortfall(q, log_power, c[:, 0] + period, tau)[:, None]
        if below:  # as the checker bounds it there
            after = np.log(c + 2 * period)
        p = q[None, :]
        level = p * c + log_power + (tau * p) ** 2 / 2 - 2 * np.log(p)
        good = (after - p * period < log_room) & (level < log_room + _LEVEL)
        good &= (before + p * period < log_room) | (c <= period) & (tau == 0.0)
        place = np.flatnonzero(good.all(axis=0))
        for one in place[:: max(place.size // 6, 1)].tolist():
            tilt = rounded_short(float(q[one]))
            ends, cuts = _cuts(pair, tilt)
            cuts = cuts + (tilt**2 - ends**2) * tau * tau / 2
            enough = np.flatnonzero(cuts < float((log_room - tilt * c).min()))
            if enough.size:
                nodes = math.ceil(float(ends[enough[0]]) * period / (2 * math.pi)) + 1
                if nodes <= _LONGEST and (best is None or nodes < best[2]):
                    best = tilt, period, nodes
    return best


def _log_shortfall(q: Reals, log_power: Reals, y: Reals, tau: float) -> Reals:
    """Bound the log of E(y + tau N - M)_+: (x)_+ <= e^{qx - 1}/q."""
    bound = np.multiply.outer(y, q) + log_power + (tau * q) ** 2 / 2 - 1.0 - np.log(q)
    return np.asarray(bound.min(axis=1))


@lru_cache(maxsize=1024)
def _cuts(pair: AllocatedGaussianPair, tilt: float) -> tuple[Reals, Reals]:
    """Return ends of a line without tau, and logs of what it leaves out there over e^{tilt c}."""
    q, log_power = log_transform(float(pair.mu_squared), pair.rounds)
    end = tilt * _REACHES
    reach = tilt * np.cos(_TURNS) + np.multiply.outer(end, np.sin(_TURNS))
    log_size = np.interp(np.log(reach), np.log(q), log_power)  # falls: the last one beyond
    grown = (log_size + pair.rounds * _TURNS**2 / (2 * float(pair.mu_squared))).min(axis=1)
    return end, np.minimum(grown, 0.0) - np.log(math.pi * end)
