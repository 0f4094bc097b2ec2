"""Finite pairs above mixtures of pairs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.proofs.rules.builders import BASE, EDGE, SURE, TILTED, TOLD, WIDE, finite
from tests.proofs.support import Case, Object, fact, gaussian, pairs, said

HALVES = ["1/2", "1/2"]
# The first part is randomised response at 1, bounded as BASE and EDGE say; the second is silent.
SILENT = pairs([])
QUIET = fact([], "0", "0")
EVEN = finite(["1/4", "3/4", "0"], ["0", "3/4", "1/4"])
UNDER = finite(["6/25", "19/25", "0"], ["0", "19/25", "6/25"])


def mixed(
    forward: Object,
    why: str = "",
    *,
    backward: Object | None = None,
    premises: tuple[Object, ...] = (BASE, SILENT, EDGE, QUIET),
    **witness: Any,  # noqa: ANN401  # JSON is anything
) -> Case:
    """Above the mean of 1/2 and nothing at ratio 1, so a total variation of 1/4."""
    conclusion = pairs([forward], None if backward is None else [backward])
    return Case("mixture", conclusion, premises, {"weights": HALVES} | witness, why)


# Of the tilted part 1/9 at ratio e is halved, as is 1/5 at ratio 1.
NINTH = finite(["1/9", "8/9", "0"], ["0", "8/9", "1/9"])
CASES = [
    mixed(EVEN),
    mixed(TOLD),
    mixed(UNDER, "the mean of the profiles at ratio 1 "),
    mixed(SURE, "the mean of the profiles at ratio 1 "),
    mixed(TOLD, "the mean of the profiles at ratio 1 ", weights=["1/2", "1/2"], backward=UNDER),
    mixed(UNDER, "the mean of the profiles at ratio 1 ", backward=TOLD),
    mixed(UNDER, weights=["11/25", "14/25"]),
    mixed(EVEN, "the mean of the profiles at ratio 1 ", weights=["3/4", "1/4"]),
    mixed(TOLD, "a weight above 0 for each pair", weights=["1"]),
    mixed(TOLD, "a weight above 0 for each pair", weights=["1/2", "1/4"]),
    mixed(TOLD, "a weight above 0 for each pair", weights=["1", "0"]),
    mixed(TOLD, "a weight above 0 for each pair", weights=["3/2", "-1/2"]),
    mixed(TOLD, "each once", premises=(BASE, SILENT, EDGE, QUIET, QUIET)),
    mixed(TOLD, "each once", premises=(BASE, SILENT, EDGE, fact([gaussian("1")], "1", "1/2"))),
    mixed(TOLD, "takes bounds of the profile", premises=(BASE, SILENT, EDGE)),
    mixed(TOLD, "pairs and hockey-stick", premises=(EDGE, QUIET)),
    mixed(TOLD, "pairs and hockey-stick", premises=(BASE, said("gdp", mu_squared="1"), EDGE)),
    mixed(gaussian("1"), "concludes one finite pair"),
    mixed({**WIDE, "count": 2}, "concludes one finite pair"),
    mixed(TOLD, "unknown fields", runs="1"),
    Case(
        "mixture",
        said("pure-dp", epsilon="1"),
        (BASE, SILENT, EDGE, QUIET),
        {"weights": HALVES},
        "wants Pairs",
    ),
    mixed(NINTH, premises=(TILTED[0], SILENT, *TILTED[1:], QUIET)),
    mixed(
        NINTH, "the mean of the profiles at ratio 1 ", premises=(TILTED[0], BASE, *TILTED[1:], EDGE)
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mixtures(case: Case) -> None:
    """A pair above the mean of the profiles is accepted, everything else is refused."""
    case.holds()
