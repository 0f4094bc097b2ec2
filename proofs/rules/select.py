"""Private selection: from pure privacy or Renyi divergences, from pairs, from finite pairs.

The best of K runs is released, K drawn independently of everything. Proofs:
proofs/theory/selection.md.

proofs/theory/selection.md, Section 6. With tau(c) the least mass under Q of a set of mass c under
P, let L be piecewise linear with L(0) = 0 and L(phi'(c)) <= phi'(tau(c)) for every c in [0, 1].
Then the profile of the selection at epsilon >= 0 is at most the sum over the pieces of L of their
length times H_t(P || Q), t = e^epsilon times their slope. The certificate lists the corners of L.

proofs/theory/selection.md, Theorem 1 and Section 7. With A(x) the least mass under Q of a set of
mass x under P, the profile of the selection at t = e^epsilon >= 1 is at most the integral over k in
[0, 1] of the largest phi'(x - k) - t A'(k) phi'(A(x) - A(k)), x from k to 1, where that is above 0.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from math import ceil
from typing import Final, TypeAlias, final

from flint import arb, ctx

from dpproof.proofs import limits
from dpproof.proofs.balls.arithmetic import lower_units
from dpproof.proofs.balls.run_counts import Poisson, Runs, TruncatedNegativeBinomial, read_runs
from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.rule import ALONE, FRESH, Application, Budget
from dpproof.proofs.core.statements import Pairs, Points, PureDP
from dpproof.proofs.fields import points as points_of, wholes
from dpproof.proofs.logic.statement import RDP, ZCDP, Profile
from dpproof.proofs.rules import finite_pair
from dpproof.proofs.rules.compose import divergence, look_up
from dpproof.proofs.rules.convert import delta_at, total_variation
from dpproof.proofs.rules.prices import corners_work

HIDDEN: Final = "neither the number of runs, nor which of them it was, nor anything else"
Curve: TypeAlias = Callable[[Fraction], Fraction]
Bound: TypeAlias = Callable[[], arb]


def pure(step: Application) -> tuple[str, ...]:
    """Check epsilon + log phi'(z)/phi'(1-z), z = e^eps/(1+e^eps).

    The rule wants a phi''(1-a)/phi'(1-a) that grows. At most n runs, all of them released, cost n
    epsilon, which is compared exactly: of n runs it is that number, and no ball decides between
    equals. Source: proofs/theory/selection.md, Corollary 3, and post-processing.
    """
    base, claimed = step.only(PureDP).epsilon, step.concludes(PureDP).epsilon
    runs = read_runs(step.witness.take("runs"))
    if runs.largest is not None and claimed >= runs.largest * base:
        return selects(step, runs)
    if not runs.corner_is_worst:
        raise RefusedError("the rule takes runs whose worst case is known to be at the corner")

    def total() -> arb:
        z = 1 / (1 + ball(-base).exp())
        return ball(base) + (runs.phi(1, z) / runs.phi(1, 1 - z)).log()

    require_at_most(total, partial(ball, claimed), "epsilon")
    return selects(step, runs)


def renyi(step: Application) -> tuple[str, ...]:
    """Check every listed order by the bound that the order's witness names.

    Source: Papernot & Steinke (arXiv:2110.03620), Theorems 2 and 6; proofs/theory/selection.md,
    Section 5.
    """
    (premise,) = step.every(object, most=1)
    if not isinstance(premise, ZCDP | RDP):
        raise RefusedError("the rule takes zCDP or Renyi divergences")
    points, base = step.concludes(RDP).points, premise.points if isinstance(premise, RDP) else ()
    runs, listed = read_runs(step.witness.take("runs")), step.witness.items("orders")
    if len(listed) != len(points):
        raise RefusedError("the rule takes one witness an order")
    step.budget.spend(len(points) * (2 * look_up(base) + 4 * runs.work))

    def curve(order: Fraction) -> Fraction:
        return premise.rho * order if isinstance(premise, ZCDP) else divergence(base, order)

    for (order, value), item in zip(points, listed, strict=True):
        hint = Fields(item, "an order's witness")
        name = hint.take("by")
        if not isinstance(name, str) or name not in BOUNDS:
            raise RefusedError(f"no bound is called {name!r:.60}")
        bound = BOUNDS[name](runs, order, curve, hint)
        hint.close()
        require_at_most(bound, partial(ball, value), f"the divergence at order {order}")
    return selects(step, runs)


def selects(step: Application, runs: Runs) -> tuple[str, ...]:
    """Return, in words, what the theorem assumes about the runs, the score and the release."""
    name = next(name for name in step.mechanisms if name)
    drawn = f"a number of times that is drawn independently of everything ({runs.describe()})"
    score = "the best is by a score that is the same for all datasets and looks at an output alone"
    best = f"its result is of the outputs only the best, or that there was none; it says {HIDDEN}"
    made = f"runs {name} on the same data {drawn}"
    return f"{made}; {best}; {score}; ties are broken at random whatever the data", FRESH, ALONE


def _by_shape(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return R(a) + (1+eta)((1-1/b) R(b) + log(1/gamma)/b) + log(m)/(a-1), any b >= 1.

    Source: Theorem 2.
    """
    b = hint.rational("order", least=1)
    if not isinstance(runs, TruncatedNegativeBinomial):
        raise RefusedError("the bound is for truncated negative binomial runs")
    total = curve(a) + ((1 + runs.eta) * (1 - 1 / b) * curve(b) if b > 1 else 0)

    def bound() -> arb:
        rest = ball((1 + runs.eta) / b) * -ball(runs.gamma).log()
        return ball(total) + rest + runs.phi(1, arb(1)).log() / ball(a - 1)

    return bound


def _by_rate(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return log(e^-m + m e^((a-1)(R(a) + m d)))/(a-1), d a delta at log(a/(a-1)).

    Source: Theorem 6. d from the divergence at an order b (``divergence.delta_at``), or the total
    variation.
    """
    b = hint.rational("order")
    if not isinstance(runs, Poisson) or b <= 1:
        raise RefusedError("the bound is for Poisson runs and an order above 1")
    value, other = curve(a), curve(b)

    def bound() -> arb:
        m, rho = ball(runs.rate), ball(other)
        delta = delta_at(rho, b, -ball(1 - 1 / a).log()).min(total_variation(rho))
        grown = m * (ball(a - 1) * (ball(value) + m * delta)).exp()
        return ((-m).exp() + grown).log() / ball(a - 1)

    return bound


def _by_all(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return log phi(e^((a-1) R(a)))/(a-1): the cost of releasing every run, given K."""
    del hint
    if isinstance(runs, TruncatedNegativeBinomial):
        raise RefusedError("the bound is for runs that have every exponential moment")
    value = curve(a)
    return lambda: runs.phi(0, ball((a - 1) * value).exp()).log() / ball(a - 1)


def _by_ratio(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return R(a) + log(phi'(1)/phi'(0)) + log(m + P(K = 0))/(a-1). phi' is between its ends."""
    del hint
    value = curve(a)

    def bound() -> arb:
        mean, first = runs.phi(1, arb(1)), runs.phi(1, arb(0))
        return ball(value) + (mean / first).log() + (mean + runs.phi(0, arb(0))).log() / ball(a - 1)

    return bound


BOUNDS: Final[dict[str, Callable[[Runs, Fraction, Curve, Fields], Bound]]] = {
    "shape": _by_shape,
    "rate": _by_rate,
    "all": _by_all,
    "ratio": _by_ratio,
}


def profile(step: Application) -> tuple[str, ...]:
    """Check bounds of the selection's profile, from pairs and bounds of their profiles.

    Source: proofs/theory/selection.md, Theorem 2 and Section 6.
    """
    runs, points = read_runs(step.witness.take("runs")), step.concludes(Profile).points
    for name, bounds in finite_pair.profile_bounds(step).items():
        fields = Fields(step.witness.take(name), name)
        corners, places = points_of(fields, "corners"), wholes(fields, "tangents")
        fields.close()
        step.budget.spend(len(corners) * (8 * runs.work + 32 * len(points)))
        step.budget.spend(8 * len(bounds) * len(points))
        _require_below(runs, corners, places, bounds)
        for epsilon, delta in points:
            mixture = partial(_mixture, runs, corners, bounds, epsilon)
            require_at_most(mixture, partial(ball, delta), f"delta at epsilon = {epsilon}")
    return selects(step, runs)


def _require_below(runs: Runs, corners: Points, places: tuple[int, ...], bounds: Points) -> None:
    """Refuse corners (c, L(phi'(c))) unless L(phi'(c)) <= phi'(tau(c)) for every c in [0, 1].

    On a cell tau(c) >= (c - H_t)/t for one of the known t (or 0, at place 0), and the convex phi'
    is above its tangent at any z in [0, 1]. What results is linear in c, and L(phi'(c)), convex
    there, is below its chord, so both ends decide.
    """
    heights = [y for _, y in corners]
    if corners[0][0] != 0 or corners[-1][0] != 1 or heights[0] < 0 or heights != sorted(heights):
        raise RefusedError("the corners must go from mass 0 to mass 1 and not fall")
    if len(places) + 1 != len(corners) or not 0 <= min(places) <= max(places) <= len(bounds):
        raise RefusedError("the rule takes the place of a bound, or 0, for each cell")
    for cell, place in zip(pairwise(corners), places, strict=True):
        what = f"the polygon less its limit after {cell[0][0]}"
        require_at_most(partial(_excess, runs, bounds, place, *cell), partial(arb, 0), what)


def _excess(
    runs: Runs,
    bounds: Points,
    place: int,
    start: tuple[Fraction, Fraction],
    end: tuple[Fraction, Fraction],
) -> arb:
    """Return how far the polygon is above the tangent, which is linear in c, at most on a cell."""
    if not place:
        return ball(end[1]) - runs.phi(1, arb(0))
    t, bound = finite_pair.bound_at_ratio(*bounds[place - 1])
    z = ((ball((start[0] + end[0]) / 2) - bound) / t).max(0).min(1)
    value, slope = runs.phi(1, z), runs.phi(2, z)
    over = [ball(y) - value - slope * ((ball(c) - bound) / t - z) for c, y in (start, end)]
    return over[0].max(over[1])


def _mixture(runs: Runs, corners: Points, bounds: Points, epsilon: Fraction) -> arb:
    """Return the sum over the pieces of L."""
    listed = finite_pair.bounds_at_ratios(bounds)
    t, total, before, low = ball(epsilon).exp(), arb(0), arb(0), Fraction(0)
    for c, y in corners:
        after = runs.phi(1, ball(c))
        length = after - before
        slope = ball(y - low) / length if y > low else arb(0)
        total += length * finite_pair.chord_bound(listed, t * slope)
        before, low = after, y
    return total


# Values are rounded outwards to multiples of 2^-BITS; soundness does not depend on the number.
BITS: Final = 128
FINER: Final = 512  # further bits of costs: those at losses up to 400 nats are above 0
ONE: Final = 1 << BITS
LARGEST: Final = 1 << 4096  # of a value that becomes an integer; larger ones are refused
Line: TypeAlias = list[int]
"""At both ends of a cell the value of a line that is nowhere above A, in units of 2^-BITS."""
Cell: TypeAlias = tuple[Line, Line]
"""Two lines, the second equal to A where the cell begins."""
Edge: TypeAlias = tuple[Fraction, Fraction]
"""A mass k under P, and A(k)."""
Outcome: TypeAlias = tuple[Fraction, Fraction, Fraction]
"""Q's mass over P's, P's, and Q's."""
Masses: TypeAlias = tuple[Fraction, ...]
Counts: TypeAlias = tuple[int, ...]


def pair(step: Application) -> tuple[str, ...]:
    """Check finite pairs above the best of some runs, from finite pairs.

    Source: proofs/theory/selection.md, Theorem 1 and Section 7.
    """
    runs = read_runs(step.witness.take("runs"))
    base, claim = step.only(Pairs), step.concludes(Pairs)
    ways = {"forward": base.forward}
    if base.forward != base.backward:
        ways["backward"] = base.backward
    bounds = []
    for name, product in ways.items():
        one, fields = finite_pair.alone(product, "takes"), Fields(step.witness.take(name), name)
        outcomes = sorted((b / a, a, b) for a, b in zip(one.p, one.q, strict=True) if a)
        blocks, masses = _blocks(fields, outcomes, step.budget), fields.rationals("masses")
        close = _close(fields, runs, len(blocks) - 1)
        fields.close()
        sizes = len(blocks), len(masses), len(outcomes)
        step.budget.spend(limits.blocks_work(*sizes, runs.work))
        step.budget.spend(corners_work(one, sum(sizes)))
        bounds.append(bound(runs, outcomes, blocks, masses, close))
    finite_pair.require_both_above(step, claim, [one.at for one in bounds])
    return selects(step, runs)


def _blocks(fields: Fields, outcomes: list[Outcome], budget: Budget) -> Masses:
    """Return the ends of the blocks: those listed, or those of equal parts of the outcomes."""
    if not fields.has("parts"):
        return fields.rationals("blocks")
    parts = wholes(fields, "parts")
    if len(parts) != len(outcomes) or min(parts) < 1:
        raise RefusedError("the rule takes a number of parts for each outcome that P has")
    budget.spend(32 * sum(parts))
    starts = accumulate((p for _, p, _ in outcomes), initial=Fraction(0))
    cuts = zip(starts, outcomes, parts, strict=False)
    return (*(k + p * n / count for k, (_, p, _), count in cuts for n in range(count)), Fraction(1))


def _close(fields: Fields, runs: Runs, blocks: int) -> Counts:
    """Return how many cells of each block chords bound; 0 for all if the witness lists none."""
    if not fields.has("close"):
        return (0,) * blocks
    close = wholes(fields, "close")
    if runs.largest is None or len(close) != blocks or any(count < 0 for count in close):
        raise RefusedError("close: a count for each block, where the number of runs has a largest")
    return close


@frozen
class End:
    """One end of a block: the gains and costs on their hull, and the outcomes' weights."""

    # gain and cost on the way from nothing to ever more, in units of 2^-BITS, the gain for its cost
    # falling
    steps: list[tuple[int, int]]
    # P's masses, in the same units, with the ratio of Q's to them
    weights: list[tuple[int, Fraction]]

    @staticmethod
    def of(gains: list[int], costs: list[int], weights: list[tuple[int, Fraction]]) -> End:
        """Return the end with the corners of the convex hull, by exact arithmetic."""
        best = {0: 0}
        for gain, cost in zip(gains, costs, strict=True):
            best[cost] = max(gain, best.get(cost, gain))
        x, y = best.pop(0), 0
        steps = [(x, y)] if x else []
        for cost, gain in sorted(best.items()):
            if gain <= x:
                continue
            step = gain - x, cost - y
            x, y = gain, cost
            while steps and step[0] * steps[-1][1] >= steps[-1][0] * step[1]:
                step = step[0] + steps[-1][0], step[1] + steps[-1][1]
                steps.pop()
            steps.append(step)
        return End(steps, weights)


@frozen
class EndsBound:
    """At or above the profile of the selection: a sum of weight (gain - t ratio cost)_+, t >= 1."""

    ends: list[End]

    def at(self, ratios: list[Fraction]) -> dict[Fraction, Fraction]:
        """Return the bound at growing ratios, each term while it is not certainly below 0."""
        fine = BITS + FINER
        floors = [(t.numerator << BITS) // t.denominator for t in ratios]
        gains, costs = [0] * (len(floors) + 1), [0] * (len(floors) + 1)
        for end in self.ends:
            for weight, ratio in end.weights:
                above, below = weight * ratio.numerator, ratio.denominator
                for step, price in end.steps:
                    gain, cost = weight * step, (above * price << FINER) // below
                    place = bisect(floors, (gain << fine) // cost) if cost else len(floors)
                    gains[place] += gain
                    costs[place] += cost
        bounds, gain, cost = {}, 0, 0
        for place, t in reversed(list(enumerate(ratios))):
            gain += gains[place + 1]
            cost += costs[place + 1]
            slip = -(-cost >> BITS)  # of terms below 0 that were counted
            least = (gain << FINER) + slip
            bounds[t] = Fraction(
                least * t.denominator - cost * t.numerator, t.denominator << BITS + fine
            )
        return bounds


def bound(
    runs: Runs, outcomes: list[Outcome], blocks: Masses, masses: Masses, close: Counts
) -> EndsBound:
    """Return the sum over the blocks, from the outcomes that P has, by falling loss.

    ``blocks`` and ``masses`` are masses under P from 0 to 1, of outcomes by falling loss; ``close``
    says for each block of how many cells after it A is bounded by a chord.
    """
    for listed in (blocks, masses):
        if len(listed) < 2 or sorted(set(listed)) != list(listed) or listed[0] or listed[-1] != 1:
            raise RefusedError("the masses must grow from 0 to 1")
    with ctx.workprec(BITS + 32):
        return EndsBound(list(_ends(runs, outcomes, blocks, masses, close)))


def _ends(
    runs: Runs, outcomes: list[Outcome], blocks: Masses, masses: Masses, close: Counts
) -> Iterator[End]:
    """Yield both ends of every block of outcomes."""
    edges = [(Fraction(0), Fraction(0))]
    for _, p, q in outcomes:
        edges.append((edges[-1][0] + p, edges[-1][1] + q))
    cells, placed = _cells(outcomes, edges, masses), [-_units(-x) for x in masses]
    floors = [
        (x, _units(_least(outcomes, edges, one))) for x, one in zip(placed, masses, strict=True)
    ]
    reached = [_place(edges, k) for k in blocks]
    gains, tangents = _gains(runs, placed, 0), Tangents(runs)
    both = pairwise(zip(blocks, reached, strict=True))
    for ((k, start), (end, last)), count in zip(both, close, strict=True):
        first = bisect_left(masses, end)
        near = _near(runs, outcomes[start][0], [masses[first] - one for one in (k, end)])
        floors_at_ends = [-_units(-_least(outcomes, edges, one)) for one in (k, end)]
        chords = _chords(runs, (k, end), floors_at_ends[0], floors[first : first + count + 1])
        costs = _costs(tangents, near, chords, cells[first:], floors_at_ends)
        weights = _weights(outcomes, edges, (k, end), range(start, last + 1))
        before = [gains[0], *gains[len(gains) - len(costs[0]) + 1 :]]
        gains = _gains(runs, placed[first:], _units(end))
        for gain, cost, weight in zip((before, gains), costs, weights, strict=True):
            yield End.of(gain, cost, weight)


def _place(edges: list[Edge], k: Fraction) -> int:
    """Return the number of the outcome after a mass k, or of the last."""
    return min(bisect(edges, (k, Fraction(1))), len(edges) - 1) - 1


def _least(outcomes: list[Outcome], edges: list[Edge], x: Fraction) -> Fraction:
    """Return A(x)."""
    place = _place(edges, x)
    k, least = edges[place]
    return least + outcomes[place][0] * (x - k)


def _weights(
    outcomes: list[Outcome], edges: list[Edge], block: tuple[Fraction, Fraction], inside: range
) -> list[list[tuple[int, Fraction]]]:
    """Return each outcome's mass in a block, split between both ends by the distance to them."""
    start, end = block
    listed_weights: list[list[tuple[int, Fraction]]] = [[], []]
    for place in inside:
        left, right = max(edges[place][0], start), min(edges[place + 1][0], end)
        if left < right:
            share = ((left + right) / 2 - start) / (end - start)
            for weights, part in zip(listed_weights, (1 - share, share), strict=True):
                weight = ceil((right - left) * part * (1 << BITS))
                weights.append((weight, outcomes[place][0]))
    return listed_weights


def _gains(runs: Runs, masses: list[int], k: int) -> list[int]:
    """Return numbers at or above phi'(0) and every phi'(x - k), in units."""
    return [-_lower(-runs.phi(1, _mass(z))) for z in (0, *(x - k for x in masses))]


def _cells(outcomes: list[Outcome], edges: list[Edge], masses: Masses) -> list[Cell]:
    """Return, for each cell, the lines of the outcomes in its middle and at its beginning."""
    cells = []
    for left, right in pairwise(masses):
        lines = []
        for place in (_place(edges, (left + right) / 2), _place(edges, left)):
            k, least = edges[place]
            lines.append([_units(least + outcomes[place][0] * (x - k)) for x in (left, right)])
        cells.append((lines[0], lines[1]))
    return cells


def _near(runs: Runs, ratio: Fraction, widths: list[Fraction]) -> list[int]:
    """Return, at either end of a block, the bound at the first x.

    Up to it A has at least the slope of the block's first outcome. By the tangent at 0, or for at
    most n runs by phi'(r c) >= r^(n-1) phi'(c) for r <= 1.
    """
    value, tilt = runs.phi(1, arb(0)), runs.phi(2, arb(0))
    closest = [_lower(value + tilt * ball(ratio * width)) for width in widths]
    if runs.largest is not None:
        share = ball(min(ratio, Fraction(1))) ** (runs.largest - 1)
        other = [_lower(share * runs.phi(1, ball(width))) for width in widths]
        closest = other if other[0] > closest[0] else closest
    return closest


def _chords(
    runs: Runs, block: tuple[Fraction, Fraction], start: int, cells: list[tuple[int, int]]
) -> list[list[int]]:
    """Return, at either end of a block, the bounds at the first cells' ends, for at most n runs.

    Beyond the beginning x of a cell A(y) - A(k) is at least r (y - k), r the slope of its chord
    from the block's beginning to x, and phi'(r c) >= r^(n-1) phi'(c) for r <= 1. ``start`` is A at
    that beginning, rounded up; ``cells`` list x, up, and A(x), down, at both ends of all in order.
    """
    chords: list[list[int]] = [[], []]
    for (x, least), (end, _) in pairwise(cells):
        slope = Fraction(max(least - start, 0), x - _units(block[0]))
        share = ball(min(slope, Fraction(1))) ** ((runs.largest or 1) - 1)
        for side, k in zip(chords, block, strict=True):
            side.append(max(_lower(share * runs.phi(1, _mass(end - 1 + _units(-k)))), 0))
    return chords


@final
class Tangents:
    """Tangents of phi', each computed once, in units of 2^-BITS.

    Attributes:
        lowest: phi'(0), rounded down.
    """

    def __init__(self, runs: Runs) -> None:
        """Take the law of the number of runs."""
        self._runs, self._listed = runs, dict[int, tuple[int, int, int]]()
        self.lowest = max(_lower(runs.phi(1, arb(0))), 0)

    def plane(self, z: int, line: Line, costs: list[int]) -> list[list[int]]:
        """Return the tangent near z, at both ends of the block and of the cell."""
        z = min(max(z, 0), ONE)
        z = _rounded(z) if z << 1 < ONE else ONE - _rounded(ONE - z)
        if z not in self._listed:
            tilt = self._runs.phi(2, _mass(z))
            self._listed[z] = _lower(self._runs.phi(1, _mass(z))), _lower(tilt), -_lower(-tilt)
        value, down, up = self._listed[z]
        return [
            [value + ((up if x - least < z else down) * (x - least - z) >> BITS) for x in line]
            for least in costs
        ]


def _rounded(z: int) -> int:
    """Return a number of few binary digits near z."""
    spare = max(z.bit_length() - limits.TANGENT_BITS, 0)
    return (z + (1 << spare >> 1)) >> spare << spare


def _costs(
    tangents: Tangents,
    near: list[int],
    chords: list[list[int]],
    cells: list[Cell],
    floors_at_ends: list[int],
) -> list[list[int]]:
    """Return numbers at or below phi'(0) and phi'(A(x) - A(k)), at both ends of a block.

    On a cell A is above a line, and phi' above a tangent, which grows: the result is linear in x
    and in k. If the tangent in the middle of the cell falls below phi'(0), it is taken at the
    least value; if that is below 0, the line is the one that meets A at the beginning. An x
    between two cells takes the smaller bound. Cells with a chord bound nothing at their beginning.
    All are at or above 0 but for rounding, and so is what is returned.
    """
    lowest, plane_at = tangents.lowest, tangents.plane
    costs = [[lowest, max(one, 0), *ends] for one, ends in zip(near, chords, strict=True)]
    for line, other in cells[len(chords[0]) :]:
        plane = plane_at(sum(line) - sum(floors_at_ends) >> 1, line, floors_at_ends)
        if plane[1][0] < lowest:
            plane = plane_at(line[0] - floors_at_ends[1], line, floors_at_ends)
        if plane[1][0] < 0:
            plane = plane_at(other[0] - floors_at_ends[1], other, floors_at_ends)
        for side, (left, right) in zip(costs, plane, strict=True):
            side[-1:] = [max(min(left, side[-1]), 0), max(right, 0)]
    return costs


def _mass(z: int) -> arb:
    """Return a mass as a ball, from units, cut to [0, 1]."""
    return arb(min(max(z, 0), ONE)) / ONE


def _units(value: Fraction) -> int:
    """Return the integer number of units 2^-BITS, rounded down."""
    return (value.numerator << BITS) // value.denominator


def _lower(value: arb) -> int:
    """Return a number of units at or below the least of a ball."""
    if not abs(value) < LARGEST:
        raise RefusedError("a value of phi' is not known at this precision")
    return lower_units(value, BITS)
