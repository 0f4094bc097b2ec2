"""Axioms: accepted with exactly the parameters they state, refused with any other."""

from __future__ import annotations

import pytest

from dpproof.proofs import VerifiedUnder
from dpproof.proofs.core.rule import ALONE, FRESH
from tests.proofs.support import Case, factor, gaussian, pairs, said

OTHER = "not the one that follows"
GAUSSIAN = {"sigma": "2", "sensitivity": "1/2"}
SHIFT = {"scale": "4", "shift": 2}
LAPLACE = {"scale": "4", "sensitivity": "2"}
DISCRETE = {"sigma": "3", "units": 2, "norm": "L2"}
EXPONENTIAL = {"factor": "1/4", "sensitivity": "1", "monotone": False}
RESPONSE = {"epsilon": "1/2", "categories": 3}


def response(epsilon: str = "1/2", categories: int = 3, infinite: str = "0") -> dict[str, object]:
    """A randomised-response factor."""
    found = factor("randomized-response", epsilon=epsilon, categories=categories, infinite=infinite)
    return dict(found)


def discrete(shift: int, count: int = 1, sigma_squared: str = "9") -> dict[str, object]:
    """A discrete Gaussian factor."""
    return dict(factor("discrete-gaussian", count, sigma_squared=sigma_squared, shift=shift))


COUNTS = {"scale": "3", "noise": "gaussian", "cells": 3, "largest": 2}
FLIPS = {"scale": "8", "sensitivity": "2", "monotone": False}
NOISY = {**FLIPS, "noise": "laplace"}

CASES = [
    Case("mechanism/gaussian", said("gdp", mu_squared="1/16"), witness=GAUSSIAN),
    Case("mechanism/gaussian", said("gdp", mu_squared="1/17"), witness=GAUSSIAN, why=OTHER),
    Case("mechanism/gaussian", said("gdp", mu_squared="1/15"), witness=GAUSSIAN, why=OTHER),
    Case("mechanism/gaussian", said("zcdp", rho="1/16"), witness=GAUSSIAN, why=OTHER),
    Case(
        "mechanism/gaussian",
        said("gdp", mu_squared="1/16"),
        witness={**GAUSSIAN, "sigma": "0"},
        why="sigma must be above 0",
    ),
    Case(
        "mechanism/gaussian",
        said("gdp", mu_squared="1/16"),
        witness={"sigma": "2"},
        why="has no sensitivity",
    ),
    Case(
        "mechanism/gaussian",
        said("gdp", mu_squared="1/16"),
        witness={**GAUSSIAN, "seed": 1},
        why="unknown fields",
    ),
    Case(
        "mechanism/gaussian",
        said("gdp", mu_squared="1/16"),
        [said("gdp", mu_squared="1/16")],
        GAUSSIAN,
        "takes no premise",
    ),
    Case(
        "mechanism/gaussian",
        said("gdp", mu_squared="1/16", steps=2),
        witness=GAUSSIAN,
        why="one step apart",
    ),
    Case("mechanism/laplace", pairs([factor("laplace", epsilon="1/2")]), witness=LAPLACE),
    *(
        Case(
            "mechanism/laplace-joint",
            pairs(found),
            witness={"scale": "2", "sensitivity": "7", "largest": largest},
            why=why,
        )
        for found, largest, why in (
            ([factor("laplace", 2, epsilon="3/2"), factor("laplace", epsilon="1/2")], "3", ""),
            ([factor("laplace", 7, epsilon="1/2")], "1", ""),
            ([factor("laplace", 2, epsilon="3/2")], "3", OTHER),
            ([factor("laplace", epsilon="7/2")], "7", ""),
            ([factor("laplace", epsilon="7/2")], "8", "out of range"),
            ([factor("laplace", 3, epsilon="1")], "2", OTHER),
            ([factor("laplace", epsilon="7/2")], "3", OTHER),
        )
    ),
    Case(
        "mechanism/laplace", pairs([factor("laplace", epsilon="1/4")]), witness=LAPLACE, why=OTHER
    ),
    Case(
        "mechanism/laplace",
        pairs([factor("laplace", epsilon="1/2")], []),
        witness=LAPLACE,
        why=OTHER,
    ),
    Case(
        "mechanism/discrete-laplace",
        pairs([factor("discrete-laplace", scale="4", shift=2)]),
        witness=SHIFT,
    ),
    Case(
        "mechanism/discrete-laplace",
        pairs([factor("discrete-laplace", scale="4", shift=1)]),
        witness=SHIFT,
        why=OTHER,
    ),
    Case(
        "mechanism/discrete-laplace",
        pairs([factor("discrete-laplace", scale="4", shift=1)]),
        witness={**SHIFT, "shift": 0},
        why="whole number",
    ),
    Case("mechanism/discrete-gaussian", pairs([discrete(1, 2)]), witness=DISCRETE),
    Case("mechanism/discrete-gaussian", pairs([discrete(2)]), witness={**DISCRETE, "norm": "L1"}),
    Case("mechanism/discrete-gaussian", pairs([discrete(1)]), witness=DISCRETE, why=OTHER),
    Case(
        "mechanism/discrete-gaussian",
        pairs([discrete(1, 4)]),
        witness={**DISCRETE, "units": 4},
        why="at most 3",
    ),
    Case(
        "mechanism/discrete-gaussian",
        pairs([discrete(1)]),
        witness={**DISCRETE, "norm": "LInf"},
        why="norm L1",
    ),
    Case(
        "mechanism/discrete-gaussian-zcdp",
        said("zcdp", rho="2/9"),
        witness={"sigma": "3", "units": 4},
    ),
    Case(
        "mechanism/discrete-gaussian-zcdp",
        said("zcdp", rho="1/9"),
        witness={"sigma": "3", "units": 4},
        why=OTHER,
    ),
    Case("mechanism/randomized-response", pairs([response()]), witness=RESPONSE),
    Case("mechanism/randomized-response", pairs([response("1/3")]), witness=RESPONSE, why=OTHER),
    Case(
        "mechanism/randomized-response",
        pairs([response(categories=2)]),
        witness=RESPONSE,
        why=OTHER,
    ),
    Case("mechanism/exponential", said("bounded-range", epsilon="1/2"), witness=EXPONENTIAL),
    Case(
        "mechanism/exponential",
        said("bounded-range", epsilon="1/4"),
        witness={**EXPONENTIAL, "monotone": True},
    ),
    Case(
        "mechanism/exponential",
        said("bounded-range", epsilon="1/4"),
        witness=EXPONENTIAL,
        why=OTHER,
    ),
    Case("mechanism/exponential", said("pure-dp", epsilon="1/2"), witness=EXPONENTIAL, why=OTHER),
    Case(
        "mechanism/exponential",
        said("bounded-range", epsilon="1/2", relation="replace-one"),
        witness={**EXPONENTIAL, "monotone": True},
        why="not monotone",
    ),
    Case("mechanism/histogram", pairs([discrete(2, 3)]), witness=COUNTS),
    Case("mechanism/histogram", pairs([discrete(2, 2)]), witness=COUNTS, why=OTHER),
    Case("mechanism/histogram", pairs([discrete(1, 3)]), witness=COUNTS, why=OTHER),
    Case(
        "mechanism/histogram",
        pairs([factor("discrete-laplace", 3, scale="3", shift=2)]),
        witness={**COUNTS, "noise": "laplace"},
    ),
    Case(
        "mechanism/histogram",
        pairs([discrete(2, 3)]),
        witness={**COUNTS, "noise": "none"},
        why="knows gaussian",
    ),
    Case("mechanism/report-noisy-max", said("metric-dp", epsilon="1/2"), witness=NOISY),
    Case(
        "mechanism/report-noisy-max",
        said("metric-dp", epsilon="1/2"),
        witness={**NOISY, "noise": "exponential"},
    ),
    Case(
        "mechanism/report-noisy-max",
        said("metric-dp", epsilon="1/4"),
        witness={**NOISY, "monotone": True},
    ),
    Case("mechanism/report-noisy-max", said("metric-dp", epsilon="1/4"), witness=NOISY, why=OTHER),
    Case(
        "mechanism/report-noisy-max",
        said("metric-dp", epsilon="1/2"),
        witness={**NOISY, "noise": "gumbel"},
        why="knows Laplace",
    ),
    Case(
        "mechanism/report-noisy-max",
        said("metric-dp", epsilon="1/4", relation="replace-one"),
        witness={**NOISY, "monotone": True},
        why="not monotone",
    ),
    Case("mechanism/permute-and-flip", said("metric-dp", epsilon="1/2"), witness=FLIPS),
    Case("mechanism/permute-and-flip", said("metric-dp", epsilon="1/4"), witness=FLIPS, why=OTHER),
    Case("mechanism/permute-and-flip", said("pure-dp", epsilon="1/2"), witness=FLIPS, why=OTHER),
    Case("state/gdp", said("gdp", mu_squared="1")),
    Case("state/gdp", said("zcdp", rho="1"), why="the rule wants GDP"),
    Case(
        "state/gdp",
        said("gdp", mu_squared="1"),
        [said("gdp", mu_squared="1")],
        why="takes no premise",
    ),
    Case("state/trade-off", said("trade-off", points=[["0", "1"], ["1", "0"]])),
    Case("state/dominating-pair", pairs([gaussian("1")], [gaussian("2", 3)])),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_axioms(case: Case) -> None:
    """Every axiom is accepted as stated and refused otherwise."""
    case.holds()


def test_assumptions_are_the_checkers_words() -> None:
    """Sensitivity, relation and sampler are named, from the parameters that were checked."""
    verdict = CASES[0].verdict()

    assert isinstance(verdict, VerifiedUnder)
    assumption, *shared = verdict.assumptions
    assert shared == [f"for M1, {FRESH}", f"for M1, {ALONE}"]
    assert assumption.startswith("M1 adds Gaussian noise of mean 0 and standard deviation 2, ind")
    assert "0.5 in L2 norm between add-remove neighbours" in assumption
    assert "mu^2 = 0.0625" in verdict.claim


def test_every_candidate_has_a_coin_of_its_own() -> None:
    """One coin for all would let many equal candidates hide each other."""
    verdict = Case(
        "mechanism/permute-and-flip", said("metric-dp", epsilon="1/2"), witness=FLIPS
    ).verdict()

    assert isinstance(verdict, VerifiedUnder)
    for condition in (
        "every candidate has a coin of its own",
        "order and coins are independent of each other",
    ):
        assert condition in verdict.assumptions[0]
