"""Gaussian noise with a covariance: exact comparisons of rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Final, TypeAlias

from flint import fmpq, fmpq_mat

from dpproof.proofs.balls.arithmetic import exact
from dpproof.proofs.contents import openable
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.limits import minors_work
from dpproof.proofs.logic.rule import Application
from dpproof.proofs.logic.statement import GDP
from dpproof.proofs.rules.mechanisms import adds

Rows: TypeAlias = list[tuple[Fraction, ...]]

MOST: Final = 32  # rows of a factor


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
        f"Gaussian noise A E, A the matrix of rows {_listed(factor)}, E of entries of mean 0 and "
        f"standard deviations {openable(', '.join(map(str, sigmas)))}"
    )
    return adds(step, noise, moved)


def _bits(rows: Sequence[Sequence[Fraction]]) -> int:
    """Return the bits of numerators and of the common denominator of some numbers."""
    listed = [value for row in rows for value in row]
    bits = max(value.numerator.bit_length() for value in listed)
    return bits + lcm(*(value.denominator for value in listed)).bit_length()


def _square(factor: Rows, sigmas: Sequence[Fraction], change: Sequence[Fraction]) -> Fraction:
    """Return |diag(s)^-1 A^-1 v|^2, A triangular with ones on its diagonal."""
    found: list[Fraction] = []
    for row, value in zip(factor, change, strict=True):
        known = zip(row, found, strict=False)  # what is found so far
        found.append(value - sum((a * b for a, b in known), Fraction(0)))
    return sum(((x / s) ** 2 for x, s in zip(found, sigmas, strict=True)), Fraction(0))


def _definite(factor: Rows, sigmas: Sequence[Fraction], square: Fraction, radius: Fraction) -> bool:
    """Whether mu^2 A diag(s^2) A' - r^2 I is positive definite: all leading minors are above 0."""
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
