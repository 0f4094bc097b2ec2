"""Minima of perturbed objectives: accepted with exactly what they state, refused else."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, said

OTHER = "not the one that follows"
LOGISTIC = {"norm": "3", "sigma": "2", "regulariser": "8"}
RULE = "mechanism/logistic-objective"


@pytest.mark.parametrize(
    "case",
    [
        Case(RULE, said("gdp", mu_squared="9/4"), witness=LOGISTIC),
        Case(RULE, said("gdp", mu_squared="9", relation="replace-one"), witness=LOGISTIC),
        Case(RULE, said("gdp", mu_squared="9/4", relation="zero-out"), witness=LOGISTIC),
        Case(RULE, said("gdp", mu_squared="2"), witness=LOGISTIC, why=OTHER),
        Case(RULE, said("gdp", mu_squared="5/2"), witness=LOGISTIC, why=OTHER),
        Case(
            RULE, said("gdp", mu_squared="9/4", relation="replace-one"), witness=LOGISTIC, why=OTHER
        ),
        Case(
            RULE,
            said("gdp", mu_squared="9/4"),
            witness={**LOGISTIC, "regulariser": "799/100"},
            why="at least 2 sigma^2",
        ),
        Case(
            RULE,
            said("gdp", mu_squared="9/4"),
            [said("gdp", mu_squared="9/4")],
            LOGISTIC,
            "takes no premise",
        ),
        Case(RULE, said("gdp", mu_squared="9/4", steps=2), witness=LOGISTIC, why="one step apart"),
        Case(RULE, said("zcdp", rho="9/8"), witness=LOGISTIC, why=OTHER),
    ],
    ids=str,
)
def test_objective_perturbation(case: Case) -> None:
    """Each rule concludes its own statement and nothing else."""
    case.holds()
