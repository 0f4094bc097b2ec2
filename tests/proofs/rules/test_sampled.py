"""Bounds through tables of sampled pairs, against enumeration."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.proofs.rules.builders import (
    ADDED,
    BOTH,
    DEEP,
    DELTA_ADDED,
    DELTA_REMOVED,
    FINE,
    LAPLACE,
    REMOVED,
    RESPONSE,
    drawn,
    near,
    side,
    table,
)
from tests.proofs.support import Case, Object, fact, factor, gaussian, pairs, said

# log(3/4 + e/4) = 182.97/512, log(3/4 + 1/4e) = -88.08/512
GRID = table(side((182, 1), (1, 1), (70, 1)), side((88, 1), (1, 1), (70, 1)), "1/512")
MIRROR = table(side((88, 1), (1, 1), (70, 1)), side((182, 1), (1, 1), (70, 1)), "1/512")
FOLD = {"c": "3", "span": "1/512", "nodes": 2_000, "factors": [GRID]}
LINE = {"c": "2", "step": "1/2", "nodes": 60, "tau": "1/50", "factors": [FINE]}
WHOLE = factor("discrete-gaussian", sigma_squared="1", shift=1)
HUGE = "1" + "0" * 400
DRAWN = pairs([drawn("removal", [RESPONSE])], [drawn("addition", [RESPONSE])])
SHORT = table(side((100, 1)), side((900, 1)), "1/512")
RENYI = {"forward": [GRID], "backward": [MIRROR]}
WIDE = factor("discrete-gaussian", sigma_squared="9999", shift=1)
LINES = ({**DEEP, "points": 100}, {**DEEP, "points": 1})
COMPOSITE = table(side((1, 300), (16, 300), lines=LINES), side((1, 290), lines=LINES), "1/1000")
NOISE = pairs([drawn("removal", [WHOLE])], [drawn("addition", [WHOLE])])
FAR = table(side((1, 320), (8, 60)), side((1, 60)), "1/128")
NEAR = table(side((1, 60)), side((1, 320), (8, 60)), "1/128")
BEYOND = {"beyond": "4", "table": FAR}
UNBOUNDED = {"forward": [BEYOND], "backward": [NEAR]}
REPLACED = pairs([drawn("replacement", [WHOLE])])
LEAKS = factor("randomized-response", epsilon="1", categories=2, infinite="1/8")
EXACTLY = {"forward": [None], "backward": [None]}
BUT = "counts as infinite"


def renyi(value: str) -> Object:
    """A conclusion about order 2."""
    return said("rdp", points=[["2", value]])


def _with(witness: Object, **changes: object) -> Object:
    return {**witness, **changes}


def _grid(grid: Object | None) -> Object:
    return {"c": "2", "factors": [grid]}


CASES = [
    Case("hockey-stick/lattice", fact([REMOVED], "1", near(DELTA_REMOVED, "1/1000")), (), FOLD),
    Case(
        "hockey-stick/lattice",
        fact([REMOVED], "1", near(DELTA_REMOVED, "-1/1000000")),
        (),
        FOLD,
        "is at least",
    ),
    Case(
        "hockey-stick/lattice",
        fact([ADDED], "1", near(DELTA_ADDED, "1/1000")),
        (),
        _with(FOLD, factors=[MIRROR]),
    ),
    Case(
        "hockey-stick/lattice",
        fact([ADDED], "1", near(DELTA_ADDED, "-1/1000000")),
        (),
        _with(FOLD, factors=[MIRROR]),
        "is at least",
    ),
    Case(
        "hockey-stick/lattice",
        fact([REMOVED], "1", near(DELTA_REMOVED, "1/1000")),
        (),
        _with(FOLD, span="1/500"),
        "no multiples",
    ),
    Case("hockey-stick/contour", fact([REMOVED], "1", near(DELTA_REMOVED, "1/4")), (), LINE),
    Case(
        "hockey-stick/contour",
        fact([REMOVED], "1", near(DELTA_REMOVED, "-1/1000")),
        (),
        LINE,
        "at least",
    ),
    Case(
        "hockey-stick/contour",
        fact([drawn("removal", [LAPLACE], 2)], "1/8", "1/2"),
        (),
        _with(LINE, factors=[None]),
        "not listed",
    ),
    Case(
        "hockey-stick/contour",
        fact([drawn("removal", [LAPLACE], 2)], "1/8", "1/20"),
        (),
        _with(LINE, c="6", step="1", nodes=700, tau="1/50"),
    ),
    Case(
        "hockey-stick/contour",
        fact([drawn("removal", [LAPLACE], 2)], "1/8", "1/20"),
        (),
        _with(LINE, c="6", step="1", nodes=800, tau="1/50"),
    ),
    Case("hockey-stick/chernoff", fact([REMOVED], "3", "1/10"), (), _grid(GRID)),
    Case("hockey-stick/chernoff", fact([REMOVED], "3", "1/100000"), (), _grid(GRID), "at least"),
    # A grid that ends below the largest loss leaves the rest of the profile as infinite mass.
    Case(
        "hockey-stick/chernoff",
        fact([REMOVED], "3", "1/10"),
        (),
        _grid(table(side((100, 1)), side((900, 1)), "1/512")),
        "at least",
    ),
    Case(
        "hockey-stick/chernoff",
        fact([BOTH], "1/2", "1/2"),
        (),
        _grid(COMPOSITE),
    ),
    Case(
        "hockey-stick/chernoff",
        fact([BOTH], "1/2", "1/2"),
        (),
        _grid(table(side((1, 300)), side((1, 290), lines=LINES), "1/1000")),
        "base is a product",
    ),
    Case(
        "hockey-stick/chernoff",
        fact([drawn("removal", [WIDE])], "1", "1"),
        (),
        _grid(GRID),
        "no profile in closed form",
    ),
    Case(
        "hockey-stick/chernoff",
        fact([REMOVED], "3", "1/10"),
        (),
        _grid({**GRID, "forward": side()}),
        "1 to 64 runs",
    ),
    Case(
        "hockey-stick/chernoff",
        fact([REMOVED], "3", "1/10"),
        (),
        _grid({**GRID, "forward": side((1, 30_000), (1, 30_000))}),
        "1 to 64 runs",
    ),
    Case(
        "hockey-stick/chernoff",
        fact([REMOVED], "3", "1/10"),
        (),
        _grid({**GRID, "more": 1}),
        "unknown fields",
    ),
    Case("hockey-stick/chernoff", fact([drawn("replacement", [LAPLACE])], "1/2", "1/2"), (),
         _grid(table(side((1, 90)), side((1, 90)), "1/512"))),
    Case("hockey-stick/chernoff", fact([drawn("removal", [drawn("addition", [LAPLACE])])], "1/2",
         "1/2"), (), _grid(table(side((1, 90)), side((1, 90)), "1/512"))),
    Case("hockey-stick/chernoff", fact([BOTH], "1/2", "1"), (), _grid({**COMPOSITE,
         "forward": side((1, 300), lines=({**DEEP, "c": HUGE, "points": 1},))}), "not finite"),
    # log M(1) of one draw is below log(9/8), as M(1) = 1 + (1/16) E_Q[(dP/dQ - 1)^2] for removal.
    Case("convert/pair-rdp", said("rdp", points=[["2", "1/8"]]), [DRAWN], {"orders": [RENYI]}),
    Case("convert/pair-rdp", said("rdp", points=[["2", "1/100"]]), [DRAWN], {"orders": [RENYI]},
         "is at least"),
    Case("convert/pair-rdp", said("rdp", points=[["2", "1/8"]]), [DRAWN],
         {"orders": [{**RENYI, "forward": [SHORT]}]}, "counts as infinite"),
    # log(1 + (e - 1)/16) = 0.1020082559 by the binomial theorem, as M of the base is e at s = 1
    Case("convert/pair-rdp", renyi("1021/10000"), [NOISE], {"orders": [UNBOUNDED]}),
    Case("convert/pair-rdp", renyi("51/500"), [NOISE], {"orders": [UNBOUNDED]}, "is at least"),
    Case("convert/pair-rdp", renyi("1"), [NOISE],
         {"orders": [_with(UNBOUNDED, forward=[FAR])]}, BUT),
    Case("convert/pair-rdp", renyi("1"), [NOISE],
         {"orders": [_with(UNBOUNDED, forward=[_with(BEYOND, beyond="1")])]}, BUT),
    Case("convert/pair-rdp", renyi("1"), [NOISE],
         {"orders": [_with(UNBOUNDED, forward=[_with(BEYOND, beyond="0")])]}, "must be above 0"),
    Case("convert/pair-rdp", renyi("1"), [NOISE],
         {"orders": [_with(UNBOUNDED, forward=[_with(BEYOND, more="1")])]}, "unknown fields"),
    Case("convert/pair-rdp", renyi("1021/10000"), [NOISE],
         {"orders": [_with(UNBOUNDED, forward=[_with(BEYOND, beyond="1001/1000")])]},
         "is at least"),
    Case("convert/pair-rdp", renyi("1"), [NOISE],
         {"orders": [_with(UNBOUNDED, backward=[_with(BEYOND, table=SHORT)])]}, BUT),
    Case("convert/pair-rdp", renyi("1"), [pairs([drawn("removal", [LEAKS])])],
         {"orders": [{"forward": [BEYOND]}]}, "infinite where the loss can be"),
    Case("convert/pair-rdp", renyi("1021/10000"), [REPLACED],
         {"orders": [{"forward": [_with(BEYOND, table=table(side((1, 320), (8, 60)),
          side((1, 320), (8, 60)), "1/128"))]}]}, "is at least"),
    Case("convert/pair-rdp", renyi("1/4"), [REPLACED],
         {"orders": [{"forward": [_with(BEYOND, table=table(side((1, 320), (8, 60)),
          side((1, 320), (8, 60)), "1/128"))]}]}),
    Case("hockey-stick/lattice", fact([drawn("removal", [WHOLE])], "1", "1"), (),
         {"c": "3", "span": "1/128", "nodes": 500, "factors": [BEYOND]}, "has no span"),
    # 0.0540431759 by integration over the Laplace loss
    Case("hockey-stick/sampled", fact([BOTH], "1/4", "13511/250000"), (), DEEP),
    Case("hockey-stick/sampled", fact([BOTH], "1/4", "27021/500000"), (), DEEP, "is at least"),
    Case("hockey-stick/sampled", fact([{**BOTH, "count": 2}], "1/4", "1"), (), DEEP, "one sampled"),
    Case("hockey-stick/sampled", fact([BOTH, gaussian("1")], "1/4", "1"), (), DEEP, "one sampled"),
    Case("hockey-stick/sampled", fact([], "1/4", "1"), (), DEEP, "one sampled"),
    # q delta(log(1 + (t - 1)/q)) = 1/4 (1 - e^{(x - 1/2)/2}), x = log(4 e^{1/16} - 3)
    Case("hockey-stick/closed", fact([drawn("removal", [LAPLACE])], "1/16", "317/10000")),
    Case("hockey-stick/closed", fact([drawn("removal", [LAPLACE])], "1/16", "79/2500"), (), {},
         "is at least"),
    Case("hockey-stick/closed", fact([drawn("replacement", [LAPLACE])], "1/16", "317/10000")),
    Case("hockey-stick/closed", fact([drawn("removal", [LAPLACE])], "1/2", "0")),
    Case("hockey-stick/closed", fact([drawn("addition", [LAPLACE])], "1/3", "0")),
    Case("hockey-stick/closed", fact([BOTH], "1/2", "1"), (), {}, "base is a product"),
    Case("hockey-stick/closed", fact([drawn("removal", [drawn("removal", [LAPLACE])])], "1", "0")),
    Case("hockey-stick/closed", fact([drawn("removal", [factor("finite", p=["1/2", "1/2"],
         q=["1/4", "3/4"])])], "0", "1/16")),
    Case("hockey-stick/closed", fact([drawn("removal", [factor("finite", p=["1/2", "1/2"],
         q=["1/4", "3/4"])])], "0", "1/17"), (), {}, "is at least"),
    Case("hockey-stick/closed", fact([drawn("removal", [factor("discrete-laplace", scale="1",
         shift=1)])], "1", "0")),
    # log(1 + (e^{1/2} - 1)/4) = 0.15048..., -log(1 - (1 - e^{-1/2})/4) = 0.10355...
    Case("hockey-stick/closed", fact([drawn("away", [LAPLACE])], "1", "1"), (), {}, "no direction"),
    Case("hockey-stick/closed", fact([drawn("addition", [LAPLACE])], "1/16", "1/100"), (), {},
         "is at least"),
    Case("hockey-stick/closed", fact([drawn("replacement", [LAPLACE])], "1/16", "79/2500"), (), {},
         "is at least"),
    # Where the losses are listed nothing is bounded: no table, and a finite sum for the profile.
    Case("hockey-stick/closed", fact([REMOVED], "1", near(DELTA_REMOVED, "1/10000000000"))),
    Case("hockey-stick/closed", fact([REMOVED], "1", near(DELTA_REMOVED, "-1/10000000000")), (), {},
         "is at least"),
    Case("hockey-stick/closed", fact([ADDED], "1", near(DELTA_ADDED, "1/10000000000"))),
    Case("hockey-stick/closed", fact([ADDED], "1", near(DELTA_ADDED, "-1/10000000000")), (), {},
         "is at least"),
    Case("hockey-stick/closed", fact([drawn("removal", [RESPONSE], 101)], "1", "1"), (), {},
         "a few bounded ones"),
    Case("hockey-stick/closed", fact([drawn("replacement", [RESPONSE], 2)], "1", "1"), (), {},
         "a few bounded ones"),
    Case("hockey-stick/contour", fact([REMOVED], "1", near(DELTA_REMOVED, "1/4")), (),
         _with(LINE, factors=[None])),
    Case("hockey-stick/contour", fact([REMOVED], "1", near(DELTA_REMOVED, "-1/1000")), (),
         _with(LINE, factors=[None]), "at least"),
    Case("hockey-stick/chernoff", fact([REMOVED], "3", "1/10"), (), _grid(None)),
    Case("hockey-stick/chernoff", fact([REMOVED], "3", "1/100000"), (), _grid(None), "at least"),
    Case("hockey-stick/lattice", fact([REMOVED], "1", "1"), (), _with(FOLD, factors=[None]),
         "not an object"),
    # log(1 + x/16), x = e^2/(1 + e) + 1/(e + e^2) - 1 = 1.0861612696
    Case("convert/pair-rdp", renyi("657/10000"), [DRAWN], {"orders": [EXACTLY]}),
    Case("convert/pair-rdp", renyi("41/625"), [DRAWN], {"orders": [EXACTLY]}, "is at least"),
    Case("convert/pair-rdp", renyi("1"), [NOISE], {"orders": [EXACTLY]}, "not listed"),
    Case("convert/pair-rdp", renyi("1"), [REPLACED], {"orders": [{"forward": [None]}]},
         "not listed"),
    Case("convert/pair-rdp", renyi("1"), [DRAWN],
         {"orders": [_with(EXACTLY, forward=[_with(BEYOND, table=None)])]}, "not an object"),
    Case("convert/pair-rdp", renyi("1"), [pairs([drawn("removal", [LEAKS])])],
         {"orders": [{"forward": [None]}]}, "infinite where the loss can be"),
    Case("hockey-stick/bounded", fact([drawn("removal", [LAPLACE], 2)], "303/1000", "0")),
    Case("hockey-stick/bounded", fact([drawn("removal", [LAPLACE], 2)], "299/1000", "0"), (), {},
         "the largest loss is"),
    Case("hockey-stick/bounded", fact([drawn("addition", [LAPLACE], 2)], "209/1000", "0")),
    Case("hockey-stick/bounded", fact([drawn("addition", [LAPLACE], 2)], "207/1000", "0"), (), {},
         "the largest loss is"),
    # -2 log(3/4) = 0.57536...
    Case("hockey-stick/bounded", fact([drawn("addition", [gaussian("1"), LAPLACE], 2)], "577/1000",
         "0")),
    Case("hockey-stick/bounded", fact([drawn("addition", [gaussian("1"), LAPLACE], 2)], "287/500",
         "0"), (), {}, "the largest loss is"),
    Case("hockey-stick/bounded", fact([drawn("removal", [gaussian("1"), LAPLACE], 2)], "99", "0"),
         (), {}, "no bound"),
    Case("hockey-stick/bounded", fact([drawn("removal", [factor("randomized-response", epsilon="1",
         categories=2, infinite="1/10")])], "9", "1/40"), (), {}, "infinite losses"),
    Case("hockey-stick/bounded", fact([drawn("addition", [factor("randomized-response", epsilon="1",
         categories=2, infinite="1/10")])], "9", "0")),
]  # fmt: skip


def _rho(rho: str, *grids: tuple[Object, Object], why: str = "") -> Case:
    """Two orders for each pair of grids, from 8 on."""
    places = range(2 * len(grids))
    orders = [
        {"excess": f"{8 + k}", "forward": [grids[k // 2][0]], "backward": [grids[k // 2][1]]}
        for k in places
    ]
    return Case("convert/pair-zcdp", said("zcdp", rho=rho), [DRAWN], {"orders": orders}, why)


def _divergences(*grids: tuple[Object, Object], why: str = "") -> Case:
    """The same for one number at each order."""
    orders = [
        {"forward": [ahead], "backward": [behind]} for ahead, behind in grids for _ in range(2)
    ]
    points = [[f"{9 + k}", "1/2"] for k in range(len(orders))]
    return Case("convert/pair-rdp", said("rdp", points=points), [DRAWN], {"orders": orders}, why)


def _orders(rho: str, why: str = "") -> Case:
    """One draw of randomised response, with orders close to each other."""
    places = [f"{round(2 ** (k / 8) * 4096)}/4096" for k in range(-32, 41)]
    found = [str(Fraction(place)) for place in places]
    orders = [{"excess": place, **RENYI} for place in found]
    return Case("convert/pair-zcdp", said("zcdp", rho=rho), [DRAWN], {"orders": orders}, why)


LARGE = table(side((1, 32_000)), side((1, 32_000)), "1/512")
OTHER = table(side((1, 32_000)), side((1, 32_000)), "1/511")

# K(s)/(s(s+1)) is largest at s = 2.2776: 0.0334543528 as enumerated; the grid is coarse
RHO = [
    _orders("1/29"),
    _orders("83/2500", "K over rho s(s+1)"),
    _rho("1/2", (GRID, MIRROR)),
    _rho("1/2", *[(LARGE, LARGE)] * 2),
    _rho("1/2", *[(LARGE, LARGE), (OTHER, OTHER)] * 2, why="more work"),
    _rho("1/2", *[(LARGE, LARGE)] * 40, why="more work"),
    _rho("1/2", (SHORT, MIRROR), why="counts as infinite"),
    _divergences(*[(LARGE, LARGE)] * 4),
    _divergences(*[(LARGE, LARGE), (OTHER, OTHER)] * 2, why="more work"),
    _divergences(*[(LARGE, LARGE)] * 40, why="more work"),
    _rho("1/100", (GRID, MIRROR), why="K over rho s(s+1)"),
]


@pytest.mark.parametrize("case", RHO, ids=str)
def test_rho_by_tables(case: Case) -> None:
    """A table that serves many orders is made once, and its masses are counted for each."""
    case.holds()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tables(case: Case) -> None:
    """Accepted at the bound that the table gives, refused below the truth."""
    case.holds()


USER = {"kind": "user-poisson", "sampling_rate": "1/10", "contributions": 2}


def counted(count: int = 1, *, removal: bool = False) -> Object:
    """A mixture of three Gaussians against a point, or swapped."""
    fields = {"mu_squared": "1", "scheme": USER, "removal": removal}
    return factor("counted-gaussians", count, **fields)


COUNTED_GRID = table(side((1, 200)), side((1, 200)), "1/64")
CUT = {"kind": "truncated-poisson", "sampling_rate": "1/10", "largest": 1, "population_size": 9}
COUNTED = [
    Case(
        "hockey-stick/closed",
        fact(
            [factor("counted-gaussians", mu_squared="1", scheme=CUT, removal=True)], "1/10", "1/10"
        ),
    ),
    Case("hockey-stick/closed", fact([counted(removal=True)], "1/10", "1/10")),
    Case("hockey-stick/closed", fact([counted(removal=True)], "1/10", "1/100"), why="at least"),
    Case(
        "hockey-stick/chernoff",
        fact([counted(2)], "1/10", "3/4"),
        witness={"c": "2", "factors": [COUNTED_GRID]},
    ),
]


@pytest.mark.parametrize("case", COUNTED, ids=str)
def test_counted(case: Case) -> None:
    """The profile by its formula, and M by a table."""
    case.holds()
