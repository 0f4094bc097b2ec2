"""The first of at most K runs whose output reaches a threshold; proofs in proofs/threshold.md."""

from __future__ import annotations

from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise

from flint import arb

from proofs.arithmetic import ball, require_at_most
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.rules.known import Levels, height, known, level, levels
from proofs.rules.rule import Application
from proofs.runs import Runs, read_runs
from proofs.statement import Points, Profile


def above(step: Application) -> tuple[str, ...]:
    """Pairs and bounds of their profiles -> bounds of the profile of stopping at a threshold.

    Over cells of the mass a that is accepted. Source: proofs/threshold.md, Theorem 1 and Section 5.
    """
    runs, points = read_runs(step.witness.take("runs")), step.concludes(Profile).points
    for name, found in known(step).items():
        fields = Fields(step.witness.take(name), name)
        masses, places = fields.rationals("masses"), fields.wholes("tangents")
        fields.close()
        if not masses or masses != tuple(sorted(set(masses))) or masses[0] != 0 or masses[-1] != 1:
            raise RefusedError("the masses must grow from 0 to 1")
        if len(places) + 1 != len(masses) or not 1 <= min(places) <= max(places) <= len(found):
            raise RefusedError("the rule takes the place of a bound for each cell")
        step.budget.spend(len(points) * (16 * runs.work * len(places) + 8 * len(found)))
        for epsilon, delta in points:
            worst = partial(_worst, runs, found, masses, places, epsilon)
            require_at_most(worst, partial(ball, delta), f"delta at epsilon = {epsilon}")
    (name,) = (name for name in step.mechanisms if name)
    drawn = f"a number of times that is drawn independently of everything ({runs.describe()})"
    until = "until an output reaches a threshold by a score that looks at an output alone"
    return (
        f"runs {name} at most {drawn}, {until}, and releases only that output, or that none did",
    )


def _worst(
    runs: Runs,
    found: Points,
    masses: tuple[Fraction, ...],
    places: tuple[int, ...],
    epsilon: Fraction,
) -> arb:
    """The largest bound of a cell."""
    listed, t = levels(found), ball(epsilon).exp()
    cells = zip(pairwise(masses), places, strict=True)
    bounds = (_cell(runs, listed, level(*found[place - 1]), cell, t) for cell, place in cells)
    return reduce(arb.max, bounds)


def _cell(
    runs: Runs, listed: Levels, line: tuple[arb, arb], cell: tuple[Fraction, Fraction], t: arb
) -> arb:
    """g(a) H_s, s = t g(b)/g(a), at most 1 - phi(1-a), plus (phi(1-a) - t phi(1-b))_+.

    b is the most that mass a allows: 1 - b >= (1 - a - H)/ratio. g falls and phi grows, so each is
    taken at the end where it is worse; phi(1-a) is below its chord, phi above its tangent at z.
    """
    ratio, bound = line
    left = [ball(1 - a) for a in cell]
    kept = [(one - bound) / ratio for one in left]
    z = kept[1].max(0).min(1)
    made, least = _runs_made(runs, left[0]), _runs_made(runs, z)
    event = (made * height(listed, t * least / made)).min(1 - runs.phi(0, left[1]))
    value, slope = runs.phi(0, z), runs.phi(1, z)
    ends = (
        runs.phi(0, mass) - t * (value + slope * (rest - z))
        for mass, rest in zip(left, kept, strict=True)
    )
    return event + reduce(arb.max, ends).max(0)


def _runs_made(runs: Runs, z: arb) -> arb:
    """The mean of phi' over [z, 1]: between phi' in the middle and the mean of its ends."""
    low, high = runs.phi(1, (1 + z) / 2), (runs.phi(1, arb(1)) + runs.phi(1, z)) / 2
    direct = (1 - runs.phi(0, z)) / (1 - z)
    return direct.min(high).max(low) if direct.is_finite() else low.union(high)
