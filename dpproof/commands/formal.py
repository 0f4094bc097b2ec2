"""A pipeline's budget as a theorem for Coq, over the library of proofs/formal.

The theorem speaks of every run whose steps are private as the pipeline's are, in its order, each
chosen by the outputs before it, on finite output spaces. Coq computes the composition again.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import exp_up
from dpproof.accountant.relation import Relation
from dpproof.errors import InputError, placed
from dpproof.files import save
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.rounding import below

PLACES: Final = 70
"""Binary digits of a rounded mass."""
MOST_STEPS: Final = 1_000
MOST_LOSSES: Final = 1_600
_PARTS: Final = 10**9  # of an epsilon that is rounded up
_ODDS: Final = 10**12  # the denominator of the odds of one step of the grid


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Equal steps in a row."""

    times: int
    epsilon: Fraction  # of each, nats
    delta: Fraction


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """A pair of laws whose losses are multiples of one number, as ``Grid.v`` has it."""

    infinite: int  # the mass of the infinite loss, in units of 2^-PLACES
    masses: list[int]  # those of the losses from ``-lowest`` on
    lowest: int  # multiples of the step of the grid


def write(pipeline: Pipeline, out: str) -> Fraction:
    """Write the theorem of a pipeline at its delta; return the epsilon that it states."""
    with placed(pipeline.file):
        groups = [one for stage in pipeline.stages for one in _groups(stage, pipeline.relation)]
    text, epsilon = theorem(groups, Fraction(below(pipeline.delta, 17)))
    save(out, text)
    return epsilon


def _groups(stage: Stage, relation: Relation) -> Iterator[Group]:
    """Yield the steps of a stage: its releases one by one, or all of it where they are tied."""
    with placed(stage.place):
        if stage.runs is not None or stage.protect > 1:
            yield _group(stage.guarantee(relation), 1)
        elif stage.sampling is not None:
            yield _group(replace(stage, count=1).guarantee(relation), stage.count)
        else:
            for release in stage.releases:
                yield _group(release.build(relation).guarantee(), stage.count)
            for inner in stage.stages:
                for one in _groups(inner, relation):
                    yield replace(one, times=one.times * stage.count)


def _group(guarantee: Guarantee[Relation], times: int) -> Group:
    if isinstance(guarantee, PureDP):
        return Group(times, guarantee.stated_epsilon, Fraction(0))
    if isinstance(guarantee, ApproxDP):
        return Group(times, guarantee.stated_epsilon, guarantee.stated_delta)
    upper = guarantee.epsilon(delta=0).upper
    if math.isinf(upper):
        raise InputError(
            "a theorem for Coq is about steps of finite privacy loss, and this one has no epsilon "
            "at delta 0; noise of bounded loss (Laplace, geometric, randomised response) has one"
        )
    return Group(times, Fraction(math.ceil(Fraction(upper) * _PARTS), _PARTS), Fraction(0))


def theorem(groups: Sequence[Group], delta: Fraction) -> tuple[str, Fraction]:
    """Return the text of a theorem about all runs of these steps, and its epsilon."""
    groups = [one for one in groups if one.epsilon or one.delta]
    steps = sum(one.times for one in groups)
    if not 1 <= steps <= MOST_STEPS:
        raise InputError(
            f"a theorem for Coq is about 1 to {MOST_STEPS} steps, and these are {steps}"
        )
    width = _width(groups)
    odds = Fraction(math.ceil(exp_up(width) * _ODDS), _ODDS)
    multiples = [max(1, math.ceil(one.epsilon / width)) for one in groups]
    grid = Grid(0, [1 << PLACES], 0)
    for one, multiple in zip(reversed(groups), reversed(multiples), strict=True):
        for _ in range(one.times):
            grid = _composed(_told(odds, multiple, one.delta), grid)
    m = _smallest(odds, grid, delta)
    epsilon = Fraction(math.ceil(Fraction(m * math.log(odds)) * 10**6 + Fraction(1, 100)), 10**6)
    steps_of = ";\n  ".join(
        f"Group {one.times} (Step {multiple} {one.delta.numerator} {one.delta.denominator}) "
        f"({_real(one.epsilon)}) ({_real(one.delta)})"
        for one, multiple in zip(groups, multiples, strict=True)
    )
    return _text(steps_of, odds, m, epsilon, delta), epsilon


def _width(groups: Sequence[Group]) -> Fraction:
    """Return the step of the grid: a part of all epsilons if so many losses fit, or the finest."""
    largest = sum((one.times * one.epsilon for one in groups), Fraction(0))
    finest = 2 * largest / MOST_LOSSES or Fraction(1)
    common = Fraction(
        math.gcd(*(one.epsilon.numerator for one in groups)),
        math.lcm(*(one.epsilon.denominator for one in groups)),
    )
    return common / (common // finest) if common >= finest else finest


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _told(odds: Fraction, multiple: int, delta: Fraction) -> Grid:
    """Return the pair of randomised response beside an outcome that tells, rounded up."""
    high, low = odds.numerator**multiple, odds.denominator**multiple
    u, v = delta.numerator, delta.denominator
    over = v * (high + low)
    tells, lie, truth = (
        _up(mass << PLACES, over) for mass in (u * (high + low), (v - u) * low, (v - u) * high)
    )
    return Grid(tells, [lie, *[0] * (2 * multiple - 1), truth], multiple)


def _composed(one: Grid, other: Grid) -> Grid:
    """Return the product, its masses shifted back and rounded up."""
    products = [0] * (len(one.masses) + len(other.masses) - 1)
    for i, mass in enumerate(one.masses):
        if mass:
            for j, factor in enumerate(other.masses):
                products[i + j] += mass * factor
    infinite = one.infinite * (other.infinite + sum(other.masses))
    infinite += sum(one.masses) * other.infinite
    unit, lowest = 1 << PLACES, one.lowest + other.lowest
    return Grid(_up(infinite, unit), [_up(mass, unit) for mass in products], lowest)


def _smallest(odds: Fraction, grid: Grid, delta: Fraction) -> int:
    """Return the smallest m at which the divergence, which falls, is at most delta at odds^m."""
    exponents = range(len(grid.masses) - grid.lowest)
    m = bisect_left(exponents, x=True, key=lambda one: _at_most(odds, grid, one, delta))
    if m == len(exponents):
        raise InputError("delta is at most that of the steps together, so no epsilon is proved")
    return m


def _at_most(odds: Fraction, grid: Grid, m: int, delta: Fraction) -> bool:
    """Return whether the divergence at odds^m is at most delta, as ``Grid.at_most`` decides it."""
    tail = grid.masses[grid.lowest + m + 1 :]
    discounted, weight = 0, 1 << PLACES
    for mass in tail:
        weight = weight * odds.denominator // odds.numerator
        discounted += mass * weight
    left = ((grid.infinite + sum(tail)) << PLACES) * delta.denominator
    return left <= (delta.numerator << (2 * PLACES)) + discounted * delta.denominator


def _text(groups: str, odds: Fraction, m: int, epsilon: Fraction, delta: Fraction) -> str:
    over = f"{odds.numerator} {odds.denominator} {PLACES}"
    return f"""(** A budget, for coqc -R proofs/formal DP of this file.

    Every run whose steps are private as listed, in this order, each chosen by the outputs
    before it, is
    ({epsilon}, {delta})-differentially private.
    A group: how many steps, and the epsilon and delta of each. *)
From Coq Require Import NArith Reals Lra.
From mathcomp Require Import all_ssreflect.
From Interval Require Import Tactic.
From DP Require Import Laws Rules Grid Numbers.

Definition groups : seq group := [::
  {groups}]%Re.

Theorem budget (D : Type) (T : finType) (N : relation D) n (p : program real D T n) :
  obeys_groups N groups p -> private N (run p) ({_real(epsilon)})%Re ({_real(delta)})%Re.
Proof.
apply: (@certified {over} groups {m} {delta.numerator} {delta.denominator}).
- by vm_compute.
- by rewrite /= /shown /as_real /=; repeat split; first [lra | interval with (i_prec 100)].
- by rewrite /as_real /=; interval with (i_prec 100).
- by rewrite /as_real /=; lra.
Qed.

Print Assumptions budget.
"""


def _real(value: Fraction) -> str:
    return f"{value.numerator} / {value.denominator}"
