"""Products of pairs restated as one number."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.rule import Application, Budget
from dpproof.proofs.logic.statement import LANGUAGE
from dpproof.proofs.rules import gdp_zcdp
from tests.proofs.rules.builders import finite, response
from tests.proofs.support import Case, Object, factor, gaussian, pairs, said

LAPLACE = factor("laplace", epsilon="1/2")
TWICE = factor("laplace", 2, epsilon="1/2")
SUBSAMPLED = [
    factor("subsampled-gaussian", mu_squared="1", sampling_rate="1/10", removal=way)
    for way in (True, False)
]
COUNTED = pairs(
    *(
        [
            factor(
                "counted-gaussians",
                2,
                mu_squared="1",
                scheme={"kind": "user-poisson", "sampling_rate": "1/10", "contributions": 2},
                removal=removal,
            )
        ]
        for removal in (True, False)
    )
)
CUT = pairs(
    *(
        [
            factor(
                "counted-gaussians",
                2,
                mu_squared="1",
                scheme={
                    "kind": "truncated-poisson",
                    "sampling_rate": "1/10",
                    "largest": 1,
                    "population_size": 9,
                },
                removal=removal,
            )
        ]
        for removal in (True, False)
    )
)
OPPOSITE = factor("opposite-gaussians", 2, mu_squared="1", sampling_rate="1/10")
WHOLE = factor("discrete-gaussian", 3, sigma_squared="2", shift=2)
TOLD = response("1", "1/8")
LOPSIDED = (finite(["1/2", "1/2"], ["1/4", "3/4"]), finite(["1/4", "3/4"], ["1/2", "1/2"]))
DRAWN = factor("sampled", base=[LAPLACE], sampling_rate="1/4", direction="replacement")
GRID = ["0", "1/16", "1/8", "3/16", "1/4", "5/16", "3/8", "7/16", "1/2"]


def mu(squared: str) -> Object:
    """A conclusion."""
    return said("gdp", mu_squared=squared)


def rho(value: str) -> Object:
    """A conclusion."""
    return said("zcdp", rho=value)


def by(parts: Sequence[str] = (), epsilons: Sequence[str] = ()) -> Object:
    """A witness of mu."""
    return {"parts": list(parts), "epsilons": list(epsilons)}


def at(*excesses: str, names: Sequence[str] = ("forward",), factors: int = 1) -> Object:
    """A witness of rho."""
    hints: list[None] = [None] * factors
    return {"orders": [{"excess": s, **dict.fromkeys(names, hints)} for s in excesses]}


ORDERS = ("1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "1", "2", "4", "8", "16")
POINTS = "convert/profile-gdp"
GDP, ZCDP, BARE = "convert/pair-gdp", "convert/pair-zcdp", "convert/pair-unsampled"
UNEVEN = finite(["1/2", "1/2"], ["1/4", "3/4"])
EQUAL = finite(["1"], ["1"])


def sampled(direction: str, base: list[Object], count: int = 1) -> Object:
    """A factor of what is released on a sample."""
    return factor("sampled", count, base=base, sampling_rate="1/4", direction=direction)


NOISE = pairs([sampled("removal", [WHOLE])], [sampled("addition", [WHOLE])])

CURVE = [
    (str(Fraction(k, 32)), str(Fraction(math.ceil(-1000 * math.expm1(k / 64 - 0.25)), 1000)))
    for k in range(17)
]


def profile(points: Sequence[tuple[str, str]]) -> Object:
    """A profile that is taken for granted."""
    return said("privacy-profile", points=[list(point) for point in points])


CASES = [
    # Gaussians add up; (1/2)-DP is mu-GDP from mu^2 = 0.38924... on
    Case(GDP, mu("3"), [pairs([gaussian("1", 3)])], by(["1"])),
    Case(GDP, mu("29/10"), [pairs([gaussian("1", 3)])], by(["1"]), "sum of the parts"),
    Case(GDP, mu("3"), [pairs([gaussian("1", 3)])], by(["9/10"]), "mu^2 of its Gaussian"),
    Case(GDP, mu("3"), [pairs([gaussian("1", 3)])], by(["1", "1"]), "one part for each"),
    Case(GDP, mu("1"), [pairs(SUBSAMPLED[:1], SUBSAMPLED[1:])], by(["1"])),
    Case(GDP, mu("8"), [COUNTED], by(["4"])),
    Case(GDP, mu("8"), [CUT], by(["4"])),
    Case(GDP, mu("8"), [COUNTED], by(["39/10"]), "of its Gaussians"),
    Case(GDP, mu("8"), [pairs([OPPOSITE])], by(["4"])),
    Case(GDP, mu("8"), [pairs([OPPOSITE])], by(["39/10"]), "of its Gaussians"),
    Case(GDP, mu("1"), [pairs([LAPLACE, gaussian("1/2")])], by(["39/100", "1/2"])),
    Case(GDP, mu("1"), [pairs([LAPLACE, gaussian("1/2")])], by(["389/1000", "1/2"]), "Phi(-mu/2)"),
    Case(GDP, mu("1"), [pairs([LAPLACE, gaussian("1/2")])], by(["-1", "1/2"]), "square of a mu"),
    Case(GDP, mu("0"), [pairs([gaussian("1"), EQUAL])], by(["1", "-1"]), "square of a mu"),
    Case(GDP, mu("1"), [pairs([gaussian("1"), EQUAL])], by(["1", "0"])),
    Case(GDP, mu("9"), [pairs([TOLD])], by(["9"]), "infinite losses"),
    Case(GDP, mu("9"), [pairs([finite(["1", "0"], ["1/2", "1/2"])])], by(["9"]), "are infinite"),
    Case(GDP, mu("9"), [pairs([WHOLE])], by(["3"]), "no bound"),
    # log 2 both ways: 2-fold odds, mu = 2 Phi^-1(2/3) = 0.8614...
    Case(GDP, mu("743/1000"), [pairs([LOPSIDED[0]], [LOPSIDED[1]])], by(["743/1000"])),
    Case(GDP, mu("37/50"), [pairs([LOPSIDED[0]], [LOPSIDED[1]])], by(["37/50"]), "Phi(-mu/2)"),
    # One Laplace pair alone: mu = 0.5617..., mu^2 = 0.3156...
    Case(GDP, mu("1/3"), [pairs([LAPLACE])], by(epsilons=GRID)),
    Case(GDP, mu("63/200"), [pairs([LAPLACE])], by(epsilons=GRID), "the profile at"),
    Case(GDP, mu("1/3"), [pairs([LAPLACE])], by(epsilons=["0", "1/2"]), "the profile at"),
    Case(GDP, mu("1/3"), [pairs([LAPLACE])], by(epsilons=GRID[1:]), "increase from 0"),
    Case(GDP, mu("1/3"), [pairs([LAPLACE])], by(epsilons=["0", "1/2", "1/4"]), "increase from 0"),
    Case(GDP, mu("1/3"), [pairs([LAPLACE])], by(), "increase from 0"),
    Case(GDP, mu("0"), [pairs([LAPLACE])], by(epsilons=GRID), "mu above 0"),
    Case(GDP, mu("1/3"), [pairs([LAPLACE])], by(epsilons=GRID[:-1]), "the largest loss"),
    # Two of them: mu^2 = 0.50062..., less than twice 0.3156
    Case(GDP, mu("13/25"), [pairs([TWICE])], by(epsilons=[*GRID, "5/8", "3/4", "7/8", "1"])),
    Case(GDP, mu("1/2"), [pairs([TWICE])], by(epsilons=[*GRID, "3/4", "1"]), "the profile at"),
    Case(GDP, mu("9"), [pairs([TWICE])], by(epsilons=GRID), "the largest loss"),
    Case(GDP, mu("9"), [pairs([{**LAPLACE, "count": 101}])], by(epsilons=GRID), "closed form"),
    Case(GDP, mu("1/3"), [said("pure-dp", epsilon="1/2")], by(epsilons=GRID), "wants Pairs"),
    # The points are above the profile of one Laplace pair, 1 - e^{(x - 1/2)/2}, by at most 1/1000
    Case(POINTS, mu("1/3"), [profile(CURVE)]),
    Case(POINTS, mu("63/200"), [profile(CURVE)], why="the chord at"),
    Case(POINTS, mu("1/3"), [profile([CURVE[0], CURVE[-1]])], why="the chord at"),
    Case(POINTS, mu("1/3"), [profile(CURVE[1:])], why="from epsilon = 0"),
    Case(POINTS, mu("1/3"), [profile(CURVE[:-1])], why="to delta = 0"),
    Case(POINTS, mu("0"), [profile(CURVE)], why="mu above 0"),
    Case(POINTS, mu("9"), [profile([("0", "0")])]),
    Case(POINTS, mu("1/3"), [pairs([LAPLACE])], why="wants Profile"),
    Case(POINTS, rho("1"), [profile(CURVE)], why="wants GDP"),
    Case(POINTS, mu("1/3"), [profile(CURVE)], by(), "unknown fields"),
    # K'(0) = 0.10653... for the Laplace pair, tanh bound 0.12246...
    Case(ZCDP, rho("1/8"), [pairs([LAPLACE])], at()),
    Case(ZCDP, rho("3/25"), [pairs([LAPLACE])], at(), "beyond the last order"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at(*ORDERS)),
    Case(ZCDP, rho("53/500"), [pairs([LAPLACE])], at(*ORDERS), "K over"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at(*ORDERS[:5]), "beyond the last order"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at(*ORDERS[4:]), "K over"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at("1/64", "16"), "K over"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at("2", "1"), "must increase"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at("0", "1"), "above 0"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at("1", factors=2), "one witness for each"),
    Case(ZCDP, rho("11/100"), [pairs([LAPLACE])], at("1", names=["backward"]), "no forward"),
    Case(ZCDP, rho("1/8"), [pairs([LAPLACE])], at("1/9", names=["forward", "backward"]), "unknown"),
    Case(ZCDP, rho("1/2"), [pairs(SUBSAMPLED[:1], SUBSAMPLED[1:])], at()),
    Case(ZCDP, rho("12/25"), [pairs(SUBSAMPLED[:1], SUBSAMPLED[1:])], at(), "beyond"),
    Case(ZCDP, rho("4"), [pairs([OPPOSITE])], at()),
    Case(ZCDP, rho("39/10"), [pairs([OPPOSITE])], at(), "beyond"),
    Case(ZCDP, rho("3"), [pairs([WHOLE])], at()),
    Case(ZCDP, rho("29/10"), [pairs([WHOLE])], at(), "beyond"),
    Case(ZCDP, rho("9"), [pairs([TOLD])], at(), "infinite where"),
    Case(ZCDP, rho("9"), [pairs([DRAWN])], at()),
    # what is sampled has at most the rho of its base where losses have no bound, 3 * 2^2/(2 * 2)
    Case(ZCDP, rho("3"), [NOISE], at()),
    Case(ZCDP, rho("29/10"), [NOISE], at(), "beyond"),
    Case(ZCDP, rho("3"), [pairs([sampled("replacement", [WHOLE])])], at()),
    Case(
        ZCDP,
        rho("9"),
        [pairs([sampled("replacement", [UNEVEN, gaussian("1")])])],
        at(),
        "its own swap",
    ),
    Case(BARE, pairs([WHOLE]), [NOISE]),
    Case(
        BARE,
        pairs([factor("discrete-gaussian", 6, sigma_squared="2", shift=2), LAPLACE]),
        [
            pairs(
                [sampled("removal", [WHOLE], 2), LAPLACE],
                [sampled("addition", [WHOLE], 2), LAPLACE],
            )
        ],
    ),
    Case(BARE, pairs([TWICE]), [pairs([sampled("replacement", [LAPLACE]), LAPLACE])]),
    Case(
        BARE,
        pairs([LAPLACE]),
        [pairs([sampled("replacement", [LAPLACE]), LAPLACE])],
        why="not the one that follows",
    ),
    Case(BARE, NOISE, [NOISE], why="not the one that follows"),
    Case(BARE, pairs([UNEVEN]), [pairs([sampled("replacement", [UNEVEN])])], why="its own swap"),
    Case(BARE, pairs([WHOLE], [LAPLACE]), [NOISE], why="not the one that follows"),
    Case(BARE, pairs([LAPLACE]), [pairs([LAPLACE])]),
    Case(BARE, mu("1"), [NOISE], why="not the one that follows"),
    Case(BARE, pairs([WHOLE]), [mu("1")], why="wants Pairs"),
    Case(BARE, pairs([WHOLE]), [NOISE], {"parts": []}, "unknown fields"),
    # log 2 tanh(log 2 / 2) = 0.23104...; the larger loss of one way is log 2, of the other log 3/2
    Case(ZCDP, rho("29/125"), [pairs([LOPSIDED[0]], [LOPSIDED[1]])], at()),
    Case(ZCDP, rho("23/100"), [pairs([LOPSIDED[0]], [LOPSIDED[1]])], at(), "beyond"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restating(case: Case) -> None:
    """Every number is at or above what the product has, and no smaller one is accepted."""
    case.holds()


@pytest.mark.parametrize("q", [Fraction(1, 8), Fraction(1, 2), Fraction(7, 8)])
def test_a_base_is_above_what_is_sampled(q: Fraction) -> None:
    """For random laws of four outcomes H_t of both mixtures is at most that of the base."""
    draw = random.Random(7)  # noqa: S311  # no secret
    for _ in range(60):
        p, o = ([draw.randint(0, 9) + 1 for _ in range(4)] for _ in range(2))
        first, second = ([Fraction(x, sum(law)) for x in law] for law in (p, o))
        mixed = [(1 - q) * b + q * a for a, b in zip(first, second, strict=True)]
        back = [(1 - q) * a + q * b for a, b in zip(first, second, strict=True)]
        for t in (Fraction(1, 5), Fraction(9, 10), Fraction(1), Fraction(5, 4), Fraction(4)):
            base = _divergence(first, second, t)
            assert _divergence(mixed, second, t) <= base
            assert _divergence(first, back, t) <= base


def _divergence(p: list[Fraction], q: list[Fraction], t: Fraction) -> Fraction:
    return sum((max(a - t * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def test_points_are_counted() -> None:
    """Many conversions of one profile are more work than a certificate may cause."""
    step = Application(
        conclusion=LANGUAGE.statement(mu("1/3")),
        premises=(LANGUAGE.statement(profile(CURVE)),),
        witness=Fields({}, "the witness"),
        mechanisms=("M1",),
        budget=Budget(3_000),
    )
    gdp_zcdp.profile_to_gdp(step)
    with pytest.raises(RefusedError, match="more work"):
        gdp_zcdp.profile_to_gdp(step)
