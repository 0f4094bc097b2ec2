"""Rules of noise mechanisms whose statement is more than one shift."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Final, TypeAlias

from flint import arb, fmpq, fmpq_mat

from dpproof.proofs.balls.arithmetic import each_precision
from dpproof.proofs.balls.skellam import reach, shifted
from dpproof.proofs.core.arithmetic import ball, exact, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import FinitePair, GaussianPair, LaplacePair, Pair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.rules import adds, told_with
from dpproof.proofs.core.statements import GDP, Pairs, PureDP
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.fields import rows
from dpproof.proofs.limits import PER_COMPARISON, PRECISIONS, VALUE, minors_work
from dpproof.proofs.pairs.core_pairs import corners as corners_of
from dpproof.proofs.rules.finite_pair import copied
from dpproof.proofs.rules.prices import corners_work

MAX_VARIANCE: Final = 1 << 20
MAX_SHIFT: Final = 1 << 14


def skellam(step: Application) -> tuple[str, ...]:
    """Check Skellam noise on an integer query of L1 sensitivity k, or squared L2 one k <= 3.

    It is dominated by one shift by k, or by k shifts by 1; a finite pair's profile above that of a
    shift at its corners is above it everywhere. Source: docs/shift-lemma.md, Corollaries 1 and 2.
    """
    step.axiom()
    variance = step.witness.positive("variance")
    units, norm = step.witness.whole("units"), step.witness.words("norm")
    if not (norm == "L1" or (norm == "L2" and units <= 3)):
        raise RefusedError("the rule wants norm L1, or L2 with a squared sensitivity of at most 3")
    if variance > MAX_VARIANCE or units > MAX_SHIFT:
        raise RefusedError("the rule wants smaller numbers")
    shift, copies = (units, 1) if norm == "L1" else (1, units)
    claim = step.concludes(Pairs)
    for product in dict.fromkeys((claim.forward, claim.backward)):
        _compare(step, copied(product, copies), variance, shift)
    noise = (
        f"Skellam noise of variance {exact(variance)}, the difference of two independent Poisson "
        "variables of one mean"
    )
    moved = f"{units} in squared L2 norm" if norm == "L2" else f"{units} in L1 norm"
    return adds(step, noise, moved, "whole ")


def _compare(step: Application, pair: FinitePair, variance: Fraction, shift: int) -> None:
    """Refuse if the profile of a shift is above the pair's somewhere."""
    price = VALUE * (reach(variance, PRECISIONS[0]) + shift)
    step.budget.spend(price + corners_work(pair) + (PER_COMPARISON + VALUE) * len(pair.p))
    table = each_precision(partial(shifted, variance, shift))

    def bound(t: Fraction) -> arb:
        return table().profile(ball(t))

    for t, allowed in corners_of(pair):
        require_at_most(partial(bound, t), partial(ball, allowed), f"the profile at {show(t)}")


def smooth_sensitivity(step: Application) -> tuple[str, ...]:
    """Check pure DP of at least beta + 2 asinh(1/(2 scale)).

    Proof: proofs/theory/smooth_sensitivity.md, Theorem 1.
    """
    step.axiom()
    beta, scale = step.witness.positive("beta"), step.witness.positive("scale")
    stated = step.concludes(PureDP).epsilon

    def needed() -> arb:
        return ball(beta) + 2 * ball(1 / (2 * scale)).asinh()

    require_at_most(needed, partial(ball, stated), "what the mechanism costs")
    relation = step.conclusion.relation
    adds = (
        "computes from the data a number, as one for every dataset, and a bound above 0; "
        f"between {relation} neighbours the number moves by at most the bound of either, and the "
        f"bounds differ by a factor of at most e^{exact(beta)}; its result is the number plus "
        f"Cauchy noise of scale {exact(scale)} times the bound"
    )
    return adds, FRESH, ALONE


def propose_test_release(step: Application) -> tuple[str, ...]:
    """Check the noise's pair, the test's Laplace pair, and that of (0, delta)-DP.

    The margin has e^-margin/2 <= delta.

    Proof: proofs/theory/propose_test_release.md.
    """
    step.axiom()
    noise, scale = step.witness.words("noise"), step.witness.positive("scale")
    sensitivity, epsilon = step.witness.positive("sensitivity"), step.witness.positive("epsilon")
    delta = step.witness.rational("delta", least=0, most=1)
    margin = step.witness.rational("margin", least=0)
    if noise not in {"gaussian", "laplace"}:
        raise RefusedError("the rule knows gaussian and laplace noise")
    size = sensitivity / scale
    base: Pair = GaussianPair(size**2) if noise == "gaussian" else LaplacePair(size)
    missed = told_with(delta)
    counts: dict[Pair, int] = {}
    for pair in (base, LaplacePair(epsilon), missed):
        counts[pair] = counts.get(pair, 0) + 1
    product = tuple(counts.items())
    step.expect(Pairs(product, product))

    def passes() -> arb:
        return (-ball(margin)).exp() / 2

    require_at_most(passes, partial(ball, delta), "the probability to pass at distance 0")
    relation, norm = step.conclusion.relation, "L2" if noise == "gaussian" else "L1"
    law = f"Gaussian noise of mean 0 and standard deviation {exact(scale)}"
    if noise == "laplace":
        law = f"Laplace noise of scale {exact(scale)}"
    runs = (
        f"adds {law}, independent in every coordinate, to the value of a query, a list of numbers, "
        f"as long for every dataset; it adds independent Laplace noise of scale "
        f"1/{exact(epsilon)} to a distance, a whole number at or above 0; the distance is at most "
        f"1 apart for {relation} neighbours and 0 where the value moves by more than "
        f"{exact(sensitivity)} in {norm} norm to a neighbour; its result is the noisy value if the "
        f"noisy distance is above {exact(margin)}/{exact(epsilon)}, else that it is not"
    )
    return runs, FRESH, ALONE


Rows: TypeAlias = list[tuple[Fraction, ...]]

MOST: Final = 32  # rows of a factor


def correlated_gaussian(step: Application) -> tuple[str, ...]:
    """Check mu-GDP of noise A diag(s) Z, Z standard normal.

    It holds if |diag(s)^-1 A^-1 v| <= mu for every change v.

    A norm is convex, so that the corners of a convex hull suffice; for all v of |v| <= r the matrix
    mu^2 A diag(s^2) A' - r^2 I must be positive definite. Proof:
    proofs/theory/correlated_gaussian.md.
    """
    step.axiom()
    factor, sigmas = rows(step.witness, "factor"), step.witness.rationals("sigmas")
    differences, radius = rows(step.witness, "differences"), step.witness.rational("radius")
    size = len(sigmas)
    if not 1 <= size <= MOST or min(sigmas) <= 0 or len(factor) != size:
        raise RefusedError(f"the rule wants 1 to {MOST} rows, and standard deviations above 0")
    if {len(row) for row in (*factor, *differences)} != {size}:
        raise RefusedError("rows and differences must have one length")
    if any(row[i] != 1 or any(row[i + 1 :]) for i, row in enumerate(factor)):
        raise RefusedError("the factor must be triangular with ones on its diagonal")
    if bool(differences) == bool(radius) or radius < 0:
        raise RefusedError("the rule wants either differences or a radius above 0")
    square = step.concludes(GDP).mu_squared
    bits = _bits([*factor, *differences, sigmas, (square, radius)])
    step.budget.spend(minors_work(size**2 * (size + len(differences)), 2 * size * bits))
    if differences:
        for change in differences:
            if _square(factor, sigmas, change) > square:
                raise RefusedError("mu is smaller than the norm of a difference")
    elif not _definite(factor, sigmas, square, radius):
        raise RefusedError("mu is smaller than the norm of some change")
    moved = f"{exact(radius)} in L2 norm"
    if differences:
        moved = f"1 in the norm whose unit ball is spanned by {_listed(differences)} and negatives"
    noise = (
        f"Gaussian noise A E, A the matrix of rows {_listed(factor)}, E of independent entries of "
        f"mean 0 and standard deviations {openable(', '.join(map(str, sigmas)))}"
    )
    return adds(step, noise, moved, independent=False)


def _bits(rows: Sequence[Sequence[Fraction]]) -> int:
    """Return the bits of numerators and of the common denominator of some numbers."""
    listed = [value for row in rows for value in row]
    bits = max(value.numerator.bit_length() for value in listed)
    return bits + lcm(*(value.denominator for value in listed)).bit_length()


def _square(factor: Rows, sigmas: Sequence[Fraction], change: Sequence[Fraction]) -> Fraction:
    """Return |diag(s)^-1 A^-1 v|^2, A triangular with ones on its diagonal."""
    roots: list[Fraction] = []
    for row, value in zip(factor, change, strict=True):
        terms = zip(row, roots, strict=False)  # what is found so far
        roots.append(value - sum((a * b for a, b in terms), Fraction(0)))
    return sum(((x / s) ** 2 for x, s in zip(roots, sigmas, strict=True)), Fraction(0))


def _definite(factor: Rows, sigmas: Sequence[Fraction], square: Fraction, radius: Fraction) -> bool:
    """Return whether mu^2 A diag(s^2) A' - r^2 I is positive definite by its leading minors."""
    rows = [[_exact(a * s) for a, s in zip(row, sigmas, strict=True)] for row in factor]
    noise = fmpq_mat(rows)
    left = noise * noise.transpose() * _exact(square)
    size, shift = len(rows), _exact(radius**2)
    entries = [[left[i, j] - shift * (i == j) for j in range(size)] for i in range(size)]
    return all(fmpq_mat([row[:k] for row in entries[:k]]).det() > 0 for k in range(1, size + 1))


def _exact(value: Fraction) -> fmpq:
    """Return a rational in the type of matrices."""
    return fmpq(value.numerator, value.denominator)


def _listed(rows: Rows) -> str:
    """Return rows for readers."""
    return openable("; ".join(", ".join(map(str, row)) for row in rows))
