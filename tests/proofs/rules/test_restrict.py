"""Rules of relations that keep positions: restriction, and parts by position."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, said

ONE, LABEL = {"relation": "replace-one"}, {"relation": "replace-label"}


def gdp(mu_squared: str, **kw: object) -> Object:
    """A GDP statement."""
    return said("gdp", mu_squared=mu_squared, **kw)  # type: ignore[arg-type]


CASES = [
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1", **ONE)]),
    Case("restrict/relation", gdp("1", steps=3, **LABEL), [gdp("1", steps=3, **ONE)]),
    Case("restrict/relation", gdp("1/2", **LABEL), [gdp("1", **ONE)], why="not the premise"),
    Case(
        "restrict/relation",
        said("zcdp", rho="1", **LABEL),  # type: ignore[arg-type]
        [gdp("1", **ONE)],
        why="not the premise",
    ),
    Case("restrict/relation", gdp("1", **ONE), [gdp("1", **LABEL)], why="leads from"),
    Case("restrict/relation", gdp("1", **ONE), [gdp("1", **ONE)], why="leads from"),
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1")], why="leads from"),
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1", relation="zero-out")], why="leads from"),
    Case("restrict/relation", gdp("1", steps=2, **LABEL), [gdp("1", **ONE)], why="distance"),
    Case("restrict/relation", gdp("1", **LABEL), [], why="takes 1 to 1"),
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1", **ONE)] * 2, why="takes 1 to 1"),
    Case("compose/gdp", gdp("2", **LABEL), [gdp("1", **ONE), gdp("1", **LABEL)], why="relation"),
    Case("parallel/position", gdp("3", **ONE), [gdp("1", **ONE), gdp("3", **ONE)]),
    Case("parallel/position", gdp("3", **LABEL), [gdp("3", **LABEL), gdp("3", **LABEL)]),
    Case("parallel/position", gdp("1", relation="zero-out"), [gdp("1", relation="zero-out")]),
    Case("parallel/position", gdp("2", **ONE), [gdp("1", **ONE), gdp("3", **ONE)], why="follows"),
    Case("parallel/position", gdp("4", **ONE), [gdp("1", **ONE), gdp("3", **ONE)], why="follows"),
    Case("parallel/position", gdp("3"), [gdp("1"), gdp("3")], why="move up"),
    Case("parallel/position", gdp("3", steps=2, **ONE), [gdp("3", steps=2, **ONE)], why="several"),
    Case(
        "parallel/position",
        gdp("3", **ONE),
        [gdp("3", **ONE), said("zcdp", rho="1", **ONE)],  # type: ignore[arg-type]
        why="different notions",
    ),
    Case(
        "parallel/position",
        said("bounded-range", epsilon="1", **ONE),  # type: ignore[arg-type]
        [said("bounded-range", epsilon="1", **ONE)] * 2,  # type: ignore[arg-type]
        why="only",
    ),
    Case("compose/gdp", gdp("2", **LABEL), [gdp("1", **LABEL), gdp("1", **LABEL)]),
    Case("parallel", gdp("1", **LABEL), [gdp("1", **LABEL)], why="from one part to another"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restriction(case: Case) -> None:
    """Only a restriction crosses relations; parts by position have the largest parameter."""
    case.holds()
