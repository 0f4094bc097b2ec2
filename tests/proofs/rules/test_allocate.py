"""Schemes that allocate all records to batches."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, gaussian, pairs

RULE = "allocate/shuffled"
GIVEN = {"sigma": "2", "contribution": "1", "batches": 469, "epochs": 1}
OTHER = "not the one that follows"


def under(relation: str, mu_squared: str, **changes: object) -> Object:
    """A Gaussian pair in both directions."""
    return {**pairs([gaussian(mu_squared)]), "relation": relation, **changes}


CASES = [
    Case(RULE, under("zero-out", "1/4"), [], GIVEN),
    Case(RULE, under("zero-out", "5/4"), [], {**GIVEN, "epochs": 5}),
    Case(RULE, under("replace-one", "1"), [], GIVEN),
    Case(RULE, under("replace-one", "3"), [], {**GIVEN, "epochs": 3}),
    Case(RULE, under("zero-out", "1/4"), [], {**GIVEN, "epochs": 2}, OTHER),
    Case(RULE, under("zero-out", "1/4"), [], {**GIVEN, "sigma": "1"}, OTHER),
    Case(RULE, under("replace-one", "1/4"), [], GIVEN, OTHER),
    Case(RULE, under("add-remove", "1/4"), [], GIVEN, "about zero-out and replace-one"),
    Case(RULE, under("replace-label", "1"), [], GIVEN, "about zero-out and replace-one"),
    Case(RULE, under("zero-out", "1/4", steps=2), [], GIVEN, "one step apart"),
    Case(RULE, under("zero-out", "1/4"), [under("zero-out", "1/4")], GIVEN, "no premise"),
    Case(RULE, under("zero-out", "1/4"), [], {**GIVEN, "batches": 0}, "whole number"),
    Case(RULE, under("zero-out", "1/4"), [], {**GIVEN, "sigma": "0"}, "above 0"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shuffled(case: Case) -> None:
    """One Gaussian pair follows, without any amplification."""
    case.holds()
