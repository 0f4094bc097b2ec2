"""Finite pairs above stopping at a threshold: rectangles of accepted masses."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, log
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.certificates.serialize import run_law
from dpproof.proofs.balls.run_counts import read_runs
from dpproof.proofs.core.rule import Budget
from dpproof.proofs.rules.select_threshold import Masses, bound
from tests.proofs.builders import drawn_masses, halved, some_runs, worst_of_all_sets
from tests.proofs.rules.builders import BASE, EDGE, GEOMETRIC, RESPONSE, SOME, TILTED, TWO, finite
from tests.proofs.support import Case, Object, facts, gaussian, pairs

TENTHS: list[str] = ["0", *(str(Fraction(k, 10)) for k in range(1, 10)), "1"]
BEST: Object = {"masses": TENTHS, "tangents": [3] * 10}
WORST: Object = {"masses": TENTHS, "tangents": [1] * 10}
LEAST: Object = {"masses": TENTHS, "tangents": [0] * 10}
CUTS: Object = {"best": BEST, "worst": WORST}
TOLD = finite(["27/50", "23/50", "0"], ["0", "23/50", "27/50"])
LESS = finite(["13/25", "12/25", "0"], ["0", "12/25", "13/25"])
MORE = finite(["3/4", "1/4", "0"], ["0", "1/4", "3/4"])
BENT = finite(["2/5", "8/15", "1/15", "0"], ["0", "1/15", "8/15", "2/5"])
MANY = [str(Fraction(k, 900)) for k in range(901)]


def above(
    forward: Object,
    way: Object | None = None,
    why: str = "",
    *,
    backward: Object | None = None,
    premises: tuple[Object, ...] = (BASE, EDGE),
    **witness: Any,  # noqa: ANN401  # JSON is anything
) -> Case:
    """At most two runs of randomised response at 1, until one is good enough."""
    hints = {"runs": TWO, "forward": CUTS if way is None else way} | witness
    conclusion = pairs([forward], None if backward is None else [backward])
    return Case("select/above-pair", conclusion, premises, hints, why)


# Of two runs the bound at 1 is 0.5295; with no bound of T it is over 1, with a poor one of B 0.757.
CASES = [
    above(TOLD),
    above(MORE),
    above(LESS, why="the profile at ratio 1 may be"),
    above(BENT, why="the profile at ratio 0.125 may be"),
    above(MORE, {**CUTS, "worst": {**WORST, "tangents": [2] * 10}}, "the profile at ratio 1 may"),
    above(MORE, {**CUTS, "best": LEAST}, "the profile at ratio 1 may be 1, above 0.75"),
    above(TOLD, runs=GEOMETRIC, why="the profile at ratio 1 may be"),
    above(MORE, runs=GEOMETRIC),
    above(MORE, runs=SOME),
    above(TOLD, {**CUTS, "worst": LEAST}, "place of a bound"),
    above(TOLD, {**CUTS, "worst": {**WORST, "tangents": [4] * 10}}, "place of a bound"),
    above(TOLD, {**CUTS, "best": {**BEST, "tangents": [-1] * 10}}, "place of a bound"),
    above(TOLD, {**CUTS, "best": {**BEST, "tangents": [3] * 9}}, "place of a bound"),
    above(TOLD, {**CUTS, "best": {**BEST, "masses": TENTHS[1:]}}, "grow from 0 to 1"),
    above(TOLD, {**CUTS, "best": {**BEST, "masses": TENTHS[:-1]}}, "grow from 0 to 1"),
    above(TOLD, {**CUTS, "worst": {**WORST, "masses": TENTHS[::-1]}}, "grow from 0 to 1"),
    above(TOLD, {**CUTS, "worst": {**WORST, "masses": ["0"]}}, "grow from 0 to 1"),
    above(TOLD, {**CUTS, "worst": {**WORST, "more": []}}, "unknown fields"),
    above(TOLD, {**CUTS, "more": []}, "unknown fields"),
    above(TOLD, {"best": BEST}, "has no worst"),
    above(TOLD, backward=LESS, why="the profile at ratio 1 may be"),
    above(gaussian("1"), why="concludes one finite pair"),
    above(TOLD, why="takes bounds of the profile", premises=(BASE,)),
    above(
        TOLD,
        why="too steep",
        runs=GEOMETRIC,
        premises=(BASE, facts([RESPONSE], ("0", "1/2"), ("1000", "0"))),
    ),
    above(
        MORE,
        {name: {"masses": MANY, "tangents": [1] * 900} for name in ("best", "worst")},
        "more work",
    ),
    above(MORE, backward=MORE, premises=TILTED, why="has no backward"),
    Case(
        "select/above-pair",
        pairs([TOLD]),
        (BASE, EDGE),
        {"runs": TWO, "forward": CUTS, "backward": CUTS},
        "unknown fields",
    ),
]
THREE: Object = {name: {"masses": TENTHS, "tangents": [3] * 10} for name in ("best", "worst")}


def tilted(forward: Object, backward: Object, why: str = "") -> Case:
    """A sampled base, whose directions differ."""
    hints = {"runs": TWO, "forward": THREE, "backward": THREE}
    return Case("select/above-pair", pairs([forward], [backward]), TILTED, hints, why)


CASES += [
    tilted(MORE, MORE),
    tilted(LESS, LESS),
    tilted(MORE, BENT, "the profile at ratio"),
    tilted(BENT, MORE, "the profile at ratio"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_finite_pairs(case: Case) -> None:
    """A pair is refused as soon as its profile is below the bound at a corner."""
    case.holds()


def drawn_cells(rng: np.random.Generator, known: int, least: int) -> Masses:
    """Cells anywhere, each with any place."""
    inside = {Fraction(int(one), 97) for one in rng.integers(1, 97, rng.integers(1, 12))}
    ends = (Fraction(0), *sorted(inside), Fraction(1))
    return Masses(ends, tuple(rng.integers(least, known + 1, len(ends) - 1).tolist()))


def best_cells(levels: list[tuple[float, float]], *, worst: bool) -> Masses:
    """Even cells, each with the place that suits its middle."""
    ends = tuple(Fraction(k, 60) for k in range(61))
    places = []
    for k in range(60):
        middle = (k + 0.5) / 60
        left = [(1 - middle if worst else middle) - h for _, h in levels]
        lines = [one / t for one, (t, _) in zip(left, levels, strict=True)]
        places.append(int(np.argmax(lines)) + 1)
    return Masses(ends, tuple(places))


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 40))]
)
def test_every_set_is_below_the_lines(seed: int) -> None:
    """No set of accepted outcomes is above, whatever the hints; good ones come near the worst."""
    rng = np.random.default_rng(90_000 + seed)
    runs = some_runs(rng)
    p, q = drawn_masses(rng, int(rng.integers(2, 5)))
    logs = [Fraction(k, 8) for k in range(-40, 41)]
    levels, found = [], []
    for one in logs:
        scale = exp(one)
        ahead = sum(max(float(a) - scale * float(b), 0.0) for a, b in zip(p, q, strict=True))
        delta = ahead if one >= 0 else max((ahead - 1 + scale) / scale, 0.0)
        raised = Fraction(ceil((delta + 1e-12) * 2**60), 2**60)
        found.append((one, min(raised, Fraction(1))))
        levels.append((scale, ahead))
    law, asked = read_runs(run_law(runs.law)), [Fraction(1), Fraction(3, 2), Fraction(4)]
    epsilon = np.array([log(t) for t in asked])
    truth = worst_of_all_sets(runs, halved(p, 8), halved(q, 8), epsilon)
    anyhow = [drawn_cells(rng, len(logs), least) for least in (0, 1)]
    well = [best_cells(levels, worst=worst) for worst in (False, True)]
    for best, worst in (anyhow, well):
        bounds = bound(law, tuple(found), best, worst, Budget()).at(asked)
        for t, least in zip(asked, truth.tolist(), strict=True):
            assert least <= float(bounds[t]) + 1e-9, (p, q, t)
            if best is well[0] and runs.law.mean < 5:
                assert float(bounds[t]) <= least + 0.3, (p, q, t)
