"""The first of at most K runs whose output reaches a threshold.

Proofs: proofs/theory/threshold.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise
from typing import final

from flint import arb

from proofs.balls.arithmetic import ball, require_at_most
from proofs.balls.run_counts import Runs, read_runs
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.logic.rule import Application
from proofs.logic.statement import Points, Profile
from proofs.rules.base_profile import Levels, height, known, level, levels
from proofs.rules.select import HIDDEN


def above(step: Application) -> tuple[str, ...]:
    """Pairs and bounds of their profiles -> bounds of the profile of stopping at a threshold.

    Over cells of the mass a that is accepted. Source: proofs/theory/threshold.md, Theorem 1 and
    Section 5.
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
        step.budget.spend(16 * runs.work * len(places) + 8 * len(points) * len(masses + found))
        worst = Worst.of(runs, found, masses, places)
        for epsilon, delta in points:
            what = f"delta at epsilon = {epsilon}"
            require_at_most(partial(worst.at, epsilon), partial(ball, delta), what)
    return stops(step, runs)


def stops(step: Application, runs: Runs) -> tuple[str, ...]:
    """What stopping takes for granted."""
    (name,) = (name for name in step.mechanisms if name)
    drawn = f"a number of times that is drawn independently of everything ({runs.describe()})"
    until = (
        "until an output reaches a threshold by a score that looks at an output alone, score and "
        "threshold being fixed in advance and the same for all datasets"
    )
    made = f"runs {name} on the same data at most {drawn}, each with randomness of its own"
    released = "only that output, or that none did"
    return (f"{made}, {until}, and releases {released}, and {HIDDEN}",)


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """What does not depend on t of masses a between neighbours.

    b is the most that mass a allows: 1 - b >= (1 - a - H)/ratio. g falls and phi grows, so each is
    taken at the end where it is worse; phi(1-a) is below its chord, phi above its tangent at z.

    Attributes:
        made: g(a).
        share: g(b) over it.
        released: 1 - phi(1-a).
        none: phi(1-a) and phi(1-b), at both ends.
    """

    made: arb
    share: arb
    released: arb
    none: list[tuple[arb, arb]]

    @staticmethod
    def of(runs: Runs, line: tuple[arb, arb], cell: tuple[Fraction, Fraction]) -> Cell:
        """With one ratio and the bound H there."""
        ratio, bound = line
        left = [ball(1 - a) for a in cell]
        kept = [(one - bound) / ratio for one in left]
        z = kept[1].max(0).min(1)
        made = _runs_made(runs, left[0])
        value, slope = runs.phi(0, z), runs.phi(1, z)
        none = [
            (runs.phi(0, mass), value + slope * (rest - z))
            for mass, rest in zip(left, kept, strict=True)
        ]
        return Cell(made, _runs_made(runs, z) / made, 1 - runs.phi(0, left[1]), none)

    def at(self, listed: Levels, t: arb) -> arb:
        """g(a) H_s, s = t g(b)/g(a), at most 1 - phi(1-a), plus (phi(1-a) - t phi(1-b))_+."""
        event = (self.made * height(listed, t * self.share)).min(self.released)
        return event + reduce(arb.max, (p - t * q for p, q in self.none)).max(0)


@final
@dataclass(frozen=True, slots=True)
class Worst:
    """The largest bound of a cell.

    Attributes:
        listed: what is known of the base.
        cells: of the mass that is accepted.
    """

    listed: Levels
    cells: list[Cell]

    @staticmethod
    def of(
        runs: Runs, found: Points, masses: tuple[Fraction, ...], places: tuple[int, ...]
    ) -> Worst:
        """With the ends of the cells, and the place of the bound that each uses."""
        lines = (level(*found[place - 1]) for place in places)
        both = zip(lines, pairwise(masses), strict=True)
        return Worst(levels(found), [Cell.of(runs, line, cell) for line, cell in both])

    def at(self, epsilon: Fraction) -> arb:
        """At one epsilon."""
        t = ball(epsilon).exp()
        return reduce(arb.max, (cell.at(self.listed, t) for cell in self.cells))


def _runs_made(runs: Runs, z: arb) -> arb:
    """The mean of phi' over [z, 1]: between phi' in the middle and the mean of its ends."""
    low, high = runs.phi(1, (1 + z) / 2), (runs.phi(1, arb(1)) + runs.phi(1, z)) / 2
    direct = (1 - runs.phi(0, z)) / (1 - z)
    return direct.min(high).max(low) if direct.is_finite() else low.union(high)
