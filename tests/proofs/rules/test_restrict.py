"""Restriction of a relation."""

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
    Case("compose/gdp", gdp("2", **LABEL), [gdp("1", **LABEL), gdp("1", **LABEL)]),
    Case("parallel", gdp("1", **LABEL), [gdp("1", **LABEL)], why="from one part to another"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restriction(case: Case) -> None:
    """The same claim from replace-one to replace-label, and no other step crosses relations."""
    case.holds()
