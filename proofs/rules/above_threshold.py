"""AboveThreshold with Laplace or normal noise: finite pairs above its isoperimetric bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, isqrt
from typing import Final, TypeAlias

from flint import arb, ctx

from dpproof.proofs.balls.arithmetic import each_precision, lower_units
from dpproof.proofs.balls.isoperimetric import Cell, Line, cells, corners, pieces, profile
from dpproof.proofs.core.arithmetic import ball, exact, normal_tail, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import GaussianPair
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application
from dpproof.proofs.core.statements import GDP, SYMMETRIC, Pairs
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.fields import wholes
from dpproof.proofs.limits import LEVEL, PER_COMPARISON, VALUE
from dpproof.proofs.logic.statement import Profile
from dpproof.proofs.pairs.pair import corners as corners_of
from dpproof.proofs.rules.finite_pair import alone
from dpproof.proofs.rules.prices import corners_work

_DEPTH: Final = 64  # lines of mu: kappa is larger than the theorem's below masses of 2^-64 alone


def above_threshold(step: Application) -> tuple[str, ...]:
    """Check finite pairs above the isoperimetric pair. Proof: proofs/theory/above_threshold.md."""
    step.axiom()
    names = ("threshold_scale", "query_scale", "sensitivity")
    threshold, query, sensitivity = (step.witness.positive(name) for name in names)
    cutoff, monotone = step.witness.whole("cutoff"), step.witness.flag("monotone")
    rising, gap = (step.witness.has(name) and step.witness.flag(name) for name in ("rising", "gap"))
    if rising and not monotone:
        raise RefusedError("queries that rise together are monotone")
    if monotone and step.conclusion.relation in SYMMETRIC:
        raise RefusedError("queries are not monotone under a symmetric relation")
    first, second = sensitivity / threshold, cutoff * sensitivity / query
    curves = [_rising(first, second)] if monotone else [_any_way(first, second)]
    if monotone:
        curves.append([(right, left) for left, right in curves[0]])
    compare(step, curves, both_orders=not rising)
    scales = threshold, query, sensitivity
    return _words(step, cutoff, scales, monotone=monotone, rising=rising, gap=gap)


def compare(
    step: Application,
    curves: list[list[Line]],
    *,
    both_orders: bool,
    missed: Fraction = Fraction(0),
) -> None:
    """Compare the finite pairs of a conclusion with the profiles of curves, at every corner.

    Args:
        step: what concludes one finite pair, once, in each direction.
        curves: lists of lines; every one is compared, or the first with the forward pair, the
            second with the backward one.
        both_orders: whether every curve is compared with either pair.
        missed: the profiles are those of the curves and missed min(1, t).
    """
    claim, listed = step.concludes(Pairs), [corners(lines) for lines in curves]
    every = [each_precision(partial(_cells, one)) for one in listed]
    crossings = sum(2 * len(one) for one in listed)
    step.budget.spend(PER_COMPARISON * crossings + sum(len(one) ** 2 for one in listed))
    price = VALUE + LEVEL * crossings
    orders = [(claim.forward, every), (claim.backward, every)]
    if not both_orders:
        price = (price + 1) // 2  # each pair is compared with one of the two
        orders = [(claim.forward, every[:1]), (claim.backward, every[1:])]
    elif claim.forward == claim.backward:
        orders = orders[:1]

    def reached(count: int) -> None:
        step.budget.spend(PER_COMPARISON * count)

    for product, tables in orders:
        pair = alone(product, "concludes")
        step.budget.spend(corners_work(pair) + price * (len(pair.p) + 1))
        for t, allowed in corners_of(pair):
            left = allowed - missed * min(t, Fraction(1))
            if left < max(1 - t, Fraction(0)):
                raise RefusedError(f"the profile at ratio {show(t)} has no room for what is missed")
            for table in tables:
                bound = partial(_profile, table, t, reached)
                require_at_most(bound, partial(ball, left), f"the profile at ratio {show(t)}")


def _any_way(threshold: Fraction, query: Fraction) -> list[Line]:
    """Return kappa of queries that move in any direction: (a + 2b) min(p, 1 - p) and b mu(p)."""
    steepest = threshold + 2 * query
    lines = [(Fraction(0), steepest), (steepest, Fraction(0))]
    for k in range(_DEPTH):
        low = query * Fraction(2, 3 << k)
        lines += [(low, low + k * query), (low + k * query, low)]
    return lines


def _rising(threshold: Fraction, query: Fraction) -> list[Line]:
    """Return kappa of queries that move up: b m(p) and (a + b)(1 - p)."""
    lines = [(Fraction(0), query), (threshold + query, Fraction(0))]
    for k in range(_DEPTH):
        low = query * Fraction(1, 2 << k)
        lines.append((low + k * query, low))
    return lines


def _cells(lines: list[Line]) -> list[Cell]:
    """Return the cells of a curve with these corners, at the present precision."""
    return cells(pieces(lines))


def _profile(table: Callable[[], list[Cell]], t: Fraction, reached: Callable[[int], None]) -> arb:
    """Return the profile at one ratio, paid for by the cells that it is computed in."""
    return profile(table(), ball(t), reached)


def _words(
    step: Application,
    cutoff: int,
    scales: tuple[Fraction, Fraction, Fraction],
    *,
    monotone: bool,
    rising: bool,
    gap: bool,
) -> tuple[str, ...]:
    """Return what is taken for granted of the mechanism."""
    threshold, query, sensitivity = map(exact, scales)
    between = f"between {step.conclusion.relation} neighbours"
    runs = (
        f"adds Laplace noise of scale {threshold} to one threshold that is the same for all "
        f"datasets, once; it adds Laplace noise of scale {query}, independent of that and in every "
        "coordinate, to the values of queries; these are a list of numbers, as long for every "
        f"dataset, each moving by at most {sensitivity} {between}; it compares one sum after the "
        f"other with the noisy threshold until {cutoff} were above; its result is which sums were "
        "above"
        f"{', and by how much each of these exceeded the noisy threshold' * gap}"
    )
    return runs, *one_way(monotone=monotone, rising=rising), FRESH, ALONE


def one_way(*, monotone: bool, rising: bool) -> tuple[str, ...]:
    """Say in which directions queries move."""
    if rising:
        return ("has no query that is smaller on the dataset that has what the other lacks",)
    together = "has no two queries that move in opposite directions between two neighbours"
    return (together,) if monotone else ()


_BITS: Final = 300  # of the tangents' heights, rounded up
_PRECISION: Final = 512
_MISSED: Final = range(60, 101)  # minus log2 of masses below which events are missed
_STEEPEST: Final = 17
_POINTS: Final = 400  # at most, of each list
_WIDEST: Final = 20  # of a point


def gaussian_above_threshold(step: Application) -> tuple[str, ...]:
    """Check finite pairs above the bound, one query of which is GDP.

    Proof: proofs/theory/above_threshold.md, Theorems 5 to 7.
    """
    step.axiom()
    names = ("threshold_sigma", "query_sigma", "sensitivity")
    first, second, moved = (step.witness.positive(name) for name in names)
    cutoff, queries = step.witness.whole("cutoff"), step.witness.whole("queries")
    monotone, rising = step.witness.flag("monotone"), step.witness.flag("rising")
    if cutoff > queries:
        raise RefusedError("more answers than queries")
    if rising and not monotone:
        raise RefusedError("queries that rise together are monotone")
    if monotone and step.conclusion.relation in SYMMETRIC:
        raise RefusedError("queries are not monotone under a symmetric relation")
    between = f"{exact(moved)} between {step.conclusion.relation} neighbours"
    words = _normal_words(
        (first, second), (queries, cutoff), between, monotone=monotone, rising=rising
    )
    if queries == 1 and not step.witness.has("near"):
        if step.concludes(GDP).mu_squared * (first**2 + second**2) < moved**2:
            raise RefusedError(
                "mu is smaller than that of the noise of threshold and query together"
            )
        return words
    missed_bits = step.witness.whole("missed") if step.witness.has("missed") else _MISSED[-1]
    if missed_bits not in _MISSED:
        raise RefusedError(f"missed must be {_MISSED[0]} to {_MISSED[-1]}")
    smallest = Fraction(1, 1 << missed_bits)
    near, deep, levels = (_points(step, name) for name in ("near", "deep", "levels"))
    if len(near) != len(deep):
        raise RefusedError("as many points near as deep")
    step.budget.spend(VALUE * (2 * len(near) + len(levels)))
    a, b = moved / first, moved / second
    lines: list[Line] = []
    for z, beyond in zip(near, deep, strict=True):
        lines += _tangents(a, b, (queries, cutoff), (z, beyond), monotone=monotone)
    for k, z in enumerate(levels):
        low, slope = b * queries * _tail(z), b * cutoff * z
        start, end = _level(k // 3, monotone=monotone)
        lines.append((low + slope * start, low + slope * end))
    back = [(right, left) for left, right in lines]
    curves = [lines, back] if monotone else [lines + back]
    missed = max(_floor(one, smallest) for one in curves)
    compare(step, curves, both_orders=not rising, missed=missed)
    return words


def _points(step: Application, name: str) -> tuple[Fraction, ...]:
    """Read where tangents are taken: anywhere at or above 0."""
    points = step.witness.rationals(name)
    if not 0 < len(points) <= _POINTS or min(points) < 0 or max(points) > _WIDEST:
        raise RefusedError(f"{name} must be 1 to {_POINTS} numbers from 0 to {_WIDEST}")
    return points


def _tangents(
    a: Fraction,
    b: Fraction,
    sizes: tuple[int, int],
    at: tuple[Fraction, Fraction],
    *,
    monotone: bool,
) -> list[Line]:
    """Return tangents above 2b J(cp) + a I(p), or b J(c(1 - p)) + a I(p) and b J(cp), and I."""
    (n, c), (z, beyond) = sizes, at
    one, many = (_tail(z), z), (n * _tail(beyond), c * beyond)
    flat = b * Fraction(isqrt(n << 128) + 1, 1 << 64)
    lines = [_climbing(flat * one[0], flat * one[1])]
    if not monotone:
        low, slope = (2 * b * m + a * i for m, i in zip(many, one, strict=True))
        return [*lines, _climbing(low, slope)]
    low, slope = (b * m + a * i for m, i in zip(many, one, strict=True))
    lines += [lines[0][::-1], _climbing(low, slope)[::-1]]
    return [*lines, _climbing(b * many[0], b * many[1])]


def _climbing(height: Fraction, slope: Fraction) -> Line:
    """Return a line by its height at 0 and its slope."""
    return height, height + slope


def _level(level: int, *, monotone: bool) -> Line:
    """Return a line of mu, or of m, by its ends."""
    if not monotone:
        return _climbing(Fraction(2, 3 << level), Fraction(level))
    if level == 0:
        return Fraction(0), Fraction(1)
    low = Fraction(1, 1 << level)
    return low + level - 1, low


def _floor(lines: list[Line], smallest: Fraction) -> Fraction:
    """Add a line through either end to the lines, and return the mass that is missed below them."""
    starts = min(left + (right - left) * smallest for left, right in lines) / smallest
    ends = min(right + (left - right) * smallest for left, right in lines) / smallest
    if max(starts, ends) > _STEEPEST:
        raise RefusedError(f"losses above {_STEEPEST}")
    lines += [(Fraction(0), starts), (ends, Fraction(0))]
    return smallest * Fraction(3) ** ceil(max(starts, ends))


def _tail(z: Fraction) -> Fraction:
    """Return E(Z - z)+ of a standard normal Z, rounded up to 300 bits."""
    with ctx.workprec(_PRECISION):
        x = ball(z)
        value = (-x * x / 2).exp() / (2 * arb.pi()).sqrt() - x * normal_tail(x)
        return Fraction(-lower_units(-value, _BITS), 1 << _BITS)


def _normal_words(
    sigmas: tuple[Fraction, Fraction],
    sizes: tuple[int, int],
    moves: str,
    *,
    monotone: bool,
    rising: bool,
) -> tuple[str, ...]:
    """Return what is taken for granted of the mechanism."""
    first, second = map(exact, sigmas)
    runs = (
        f"adds Gaussian noise of mean 0 and standard deviation {first} to one threshold that is "
        "the same for all datasets, once; it adds Gaussian noise of mean 0 and standard deviation "
        f"{second}, independent of that and in every coordinate, to the values of at most "
        f"{sizes[0]} queries; these are a list of numbers, as long for every dataset, each moving "
        f"by at most {moves}; it compares one sum after the other with the noisy threshold until "
        f"{sizes[1]} were above; its result is which sums were above"
    )
    return runs, *one_way(monotone=monotone, rising=rising), FRESH, ALONE


Law: TypeAlias = tuple[list[tuple[int, arb]], arb]
"""Sums of squares above 0 with their masses, and the mass of all others above 0."""

_CAP: Final = 400  # sums of squares beyond it count with H = 1
_ENOUGH: Final = Fraction(1, 2**44)  # so do all beyond the first with at most this mass beyond it


def repeated_positions(step: Application) -> tuple[str, ...]:
    """Check the mean of H over S = sum of C_p^2.

    Phase p draws n_p positions with replacement. A position that is drawn C_p times in phase p
    changes C_p entries of the list that it sees, so the phase is (C_p mu)-GDP by group privacy, all
    phases are (mu sqrt(S))-GDP given the draws, and the draws look at no data. Proof:
    proofs/theory/margins.md, section 6.
    """
    if step.conclusion.relation == "add-remove":
        raise RefusedError("without a record the others move up to other positions")
    if step.conclusion.steps != 1:
        raise RefusedError("the formula is about one record")
    mu_squared, points = step.only(GDP).mu_squared, step.concludes(Profile).points
    records, draws = step.witness.whole("records"), wholes(step.witness, "draws")
    if not draws or min(draws) < 1:
        raise RefusedError("the rule takes a number of draws above 0 for each phase")
    squares = isqrt(_CAP) + 1
    step.budget.spend(LEVEL * squares * _CAP * len(draws) + VALUE * _CAP * len(points))
    law = each_precision(lambda: _law(records, draws))
    for epsilon, delta in points:
        if delta < 1:
            what = f"the mean of delta at epsilon {show(epsilon)}"
            mean = partial(_mean, law, mu_squared, epsilon)
            require_at_most(mean, partial(ball, delta), what)
    (name,) = step.mechanisms
    numbers = openable(", ".join(map(str, draws)))
    drawn = (
        f"runs {name} once for each phase, on the list of the records at drawn positions: "
        f"{numbers} of them, in this order; each position is drawn uniformly and independently "
        f"from {records}, whatever the data"
    )
    return drawn, FIXED, FRESH, ALONE


def _mean(law: Callable[[], Law], mu_squared: Fraction, epsilon: Fraction) -> arb:
    """Return an upper bound of the mean of H_epsilon of Gaussians at mu sqrt(S)."""
    masses, beyond = law()
    at = ball(epsilon)
    return sum((p * GaussianPair(s * mu_squared).profile(at) for s, p in masses), beyond)


def _law(records: int, draws: Sequence[int]) -> Law:
    """Return the law of S, the numbers C_p being independent and binomial (n_p, 1/records)."""
    total = {0: arb(1)}
    for number in draws:
        grown: dict[int, arb] = {}
        for times, mass in enumerate(_binomial(records, number)):
            for before, other in total.items():
                if before + times**2 <= _CAP:
                    grown[before + times**2] = grown.get(before + times**2, arb(0)) + mass * other
        total = grown
    beyond = 1 - total.get(0, arb(0))
    listed = []
    for sums in sorted(total.keys() - {0}):
        if beyond <= ball(_ENOUGH):
            break
        listed.append((sums, total[sums]))
        beyond -= total[sums]
    return listed, beyond


def _binomial(records: int, number: int) -> list[arb]:
    """Return the masses of 0, 1, ... occurrences, while their squares are at most the cap."""
    most = min(number, isqrt(_CAP))
    if records == 1:
        return [arb(int(times == number)) for times in range(most + 1)]
    masses = [(1 - ball(Fraction(1, records))) ** number]
    for times in range(most):
        masses.append(masses[-1] * (number - times) / ((times + 1) * (records - 1)))
    return masses
