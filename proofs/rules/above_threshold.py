"""AboveThreshold: a finite pair above the pair of its isoperimetric bound."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final

from flint import arb

from dpproof.proofs.balls.arithmetic import each_precision
from dpproof.proofs.balls.isoperimetric import Cell, Line, cells, corners, pieces, profile
from dpproof.proofs.core.arithmetic import ball, exact, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import SYMMETRIC, Pairs
from dpproof.proofs.limits import LEVEL, PER_COMPARISON, VALUE
from dpproof.proofs.pairs.core_pairs import corners as corners_of
from dpproof.proofs.rules.finite_pair import alone
from dpproof.proofs.rules.prices import corners_work

_DEPTH: Final = 64  # lines of mu: kappa is larger than the theorem's below masses of 2^-64 alone


def above_threshold(step: Application) -> tuple[str, ...]:
    """Check finite pairs above the isoperimetric pair.

    Proof: proofs/theory/above_threshold.md.
    """
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
