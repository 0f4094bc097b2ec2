"""Gaussian noise with a covariance: exact comparisons of rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from proofs.balls.arithmetic import exact
from proofs.contents import openable
from proofs.errors import RefusedError
from proofs.logic.rule import Application
from proofs.logic.statement import GDP
from proofs.rules.mechanisms import adds

Rows: TypeAlias = list[tuple[Fraction, ...]]

MOST: Final = 32  # rows of a factor
PER_PRODUCT: Final = 8  # units of one product of rationals of a few hundred bits


def correlated_gaussian(step: Application) -> tuple[str, ...]:
    """Noise A diag(s) Z, Z standard normal: mu-GDP if |diag(s)^-1 A^-1 v| <= mu for every change v.

    A norm is convex, so that the corners of a convex hull suffice; for all v of |v| <= r the matrix
    mu^2 A diag(s^2) A' - r^2 I must be positive definite. Proof:
    proofs/theory/correlated_gaussian.md.
    """
    step.axiom()
    factor, sigmas = step.witness.rows("factor"), step.witness.rationals("sigmas")
    differences, radius = step.witness.rows("differences"), step.witness.rational("radius")
    size = len(sigmas)
    if not 1 <= size <= MOST or min(sigmas) <= 0 or len(factor) != size:
        raise RefusedError(f"the rule wants 1 to {MOST} rows, and standard deviations above 0")
    if {len(row) for row in (*factor, *differences)} != {size}:
        raise RefusedError("rows and differences must have one length")
    if any(row[i] != 1 or any(row[i + 1 :]) for i, row in enumerate(factor)):
        raise RefusedError("the factor must be triangular with ones on its diagonal")
    if bool(differences) == bool(radius) or radius < 0:
        raise RefusedError("the rule wants either differences or a radius above 0")
    step.budget.spend(PER_PRODUCT * size**2 * (size + len(differences)))
    square = step.concludes(GDP).mu_squared
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
        f"Gaussian noise A E, A the matrix of rows {_listed(factor)}, E of entries of mean 0 and "
        f"standard deviations {openable(', '.join(map(str, sigmas)))}"
    )
    return adds(step, noise, moved)


def _square(factor: Rows, sigmas: Sequence[Fraction], change: Sequence[Fraction]) -> Fraction:
    """Return |diag(s)^-1 A^-1 v|^2, A triangular with ones on its diagonal."""
    found: list[Fraction] = []
    for row, value in zip(factor, change, strict=True):
        known = zip(row, found, strict=False)  # what is found so far
        found.append(value - sum((a * b for a, b in known), Fraction(0)))
    return sum(((x / s) ** 2 for x, s in zip(found, sigmas, strict=True)), Fraction(0))


def _definite(factor: Rows, sigmas: Sequence[Fraction], square: Fraction, radius: Fraction) -> bool:
    """Whether mu^2 A diag(s^2) A' - r^2 I is positive definite: all pivots of elimination > 0."""
    rows = [[a * s for a, s in zip(row, sigmas, strict=True)] for row in factor]
    left = [
        [square * sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0)) for two in rows]
        for one in rows
    ]
    for i in range(len(left)):
        left[i][i] -= radius**2
    for i, pivot_row in enumerate(left):
        if pivot_row[i] <= 0:
            return False
        for row in left[i + 1 :]:
            share = row[i] / pivot_row[i]
            for j in range(i, len(row)):
                row[j] -= share * pivot_row[j]
    return True


def _listed(rows: Rows) -> str:
    """Return rows for readers."""
    return openable("; ".join(", ".join(map(str, row)) for row in rows))
