"""Schemes that allocate all records to batches."""

from __future__ import annotations

import pytest

from tests.proofs.rules.builders import least
from tests.proofs.support import Case, Object, facts, gaussian, pairs

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


ROUNDS = {"rounds": 50, "chosen": 1, "epochs": 1}
BASE = {**pairs([gaussian("1")]), "relation": "add-remove"}


def allocated(mu_squared: str, rounds: int, *, removal: bool) -> Object:
    """One of so many rounds, drawn at random, once."""
    pair = {
        "kind": "allocated-gaussian",
        "mu_squared": mu_squared,
        "rounds": rounds,
        "removal": removal,
    }
    return {"pair": pair, "count": 1}


def drawn(mu_squared: str, *rounds: int) -> Object:
    """What an allocation concludes, of parts of so many rounds."""
    ways = (
        [allocated(mu_squared, n, removal=removal) for n in rounds] for removal in (True, False)
    )
    return {**pairs(*ways), "relation": "add-remove"}


RANDOM, SEVERAL = "allocate/random", "allocate/several"
RANDOM_CASES = [
    Case(RANDOM, drawn("1", 50), [BASE], ROUNDS),
    Case(RANDOM, drawn("4", 50), [BASE], {**ROUNDS, "epochs": 4}),
    Case(SEVERAL, drawn("1", 4, 3), [BASE], {"rounds": 7, "chosen": 2, "epochs": 1}),
    Case(RANDOM, drawn("1", 50), [BASE], {**ROUNDS, "rounds": 51}, OTHER),
    Case(SEVERAL, drawn("1", 3, 2), [BASE], {"rounds": 7, "chosen": 2, "epochs": 1}, OTHER),
    Case(RANDOM, drawn("1", 50), [BASE], {**ROUNDS, "epochs": 4}, OTHER),
    Case(RANDOM, drawn("1", 50), [BASE], {**ROUNDS, "chosen": 51}, "at most rounds"),
    Case(RANDOM, drawn("1", 50), [BASE], {**ROUNDS, "chosen": 2, "epochs": 2}, "at most rounds"),
    Case(RANDOM, {**BASE, "steps": 2}, [BASE], {**ROUNDS, "rounds": 1}, "about one record"),
    Case(
        RANDOM,
        under("replace-one", "1"),
        [under("replace-one", "1")],
        {**ROUNDS, "rounds": 1},
        "about add-remove",
    ),
    Case(RANDOM, BASE, [BASE], {**ROUNDS, "rounds": 1}),
    Case(RANDOM, BASE, [{**BASE, **pairs([])}], {**ROUNDS, "rounds": 1}, "Gaussian pairs"),
]


@pytest.mark.parametrize("case", RANDOM_CASES, ids=str)
def test_random(case: Case) -> None:
    """The pairs of as many parts of the rounds follow, whose sizes add up."""
    case.holds()


# One of 50 rounds has .0057338044 at .3 for a removal, and .0034122818 for an addition.
LINE = {"c": "21", "step": "2", "nodes": 90, "tau": "0"}
ABOVE, BELOW = "hockey-stick/sampled", "at-least/allocated"
REMOVED, ADDED = (allocated("1", 50, removal=removal) for removal in (True, False))
TWICE = {**REMOVED, "count": 2}
ONCE = "allocated pair, once"
SERVES = [{**LINE, "points": 4}, {**LINE, "c": "14", "points": 1, "nodes": 110}]
SIDE = {"runs": [{"stride": 1, "count": 12}], "lines": SERVES}
GRID = {"span": "1/16", "level": "0", "forward": SIDE, "backward": SIDE}
AFTER, RENYI = "hockey-stick/chernoff", "at-least/renyi"
DOUBTFUL = {"notion": "renyi-at-least", "product": [TWICE], "order": "2"}
LINE_CASES = [
    Case(AFTER, facts([TWICE], ("4", "1/5000")), [], {"c": "2", "factors": [GRID]}),
    Case(AFTER, facts([TWICE], ("4", "1/999999")), [], {"c": "2", "factors": [GRID]}, "at least"),
    Case(RENYI, {**DOUBTFUL, "value": "1/100"}, [], {"factors": [GRID]}),
    Case(RENYI, {**DOUBTFUL, "value": "1/10"}, [], {"factors": [GRID]}, "at least"),
    Case(ABOVE, facts([REMOVED], ("3/10", "573380441/100000000000")), [], LINE),
    Case(ABOVE, facts([ADDED], ("3/10", "341228183/100000000000")), [], LINE),
    Case(ABOVE, facts([REMOVED], ("3/10", "573380439/100000000000")), [], LINE, "hockey-stick"),
    Case(ABOVE, facts([ADDED], ("3/10", "341228179/100000000000")), [], LINE, "hockey-stick"),
    Case(ABOVE, facts([REMOVED], ("3/10", "1/100")), [], {**LINE, "nodes": 2}, "hockey-stick"),
    Case(ABOVE, facts([REMOVED], ("3/10", "3/400")), [], {**LINE, "tau": "1/20"}),
    Case(ABOVE, facts([TWICE], ("3/10", "1/2")), [], LINE, ONCE),
    Case(ABOVE, facts([REMOVED, ADDED], ("3/10", "1/2")), [], LINE, ONCE),
    Case(ABOVE, facts([gaussian("1")], ("3/10", "1/2")), [], LINE, ONCE),
    Case(ABOVE, facts([REMOVED], ("3/10", "1/2")), [], {**LINE, "nodes": 1 << 18}, "too many"),
    Case(BELOW, least([REMOVED], "3/10", "573380439/100000000000"), [], LINE),
    Case(BELOW, least([ADDED], "3/10", "341228179/100000000000"), [], LINE),
    Case(BELOW, least([REMOVED], "3/10", "573380441/100000000000"), [], LINE, "divergence"),
    Case(BELOW, least([REMOVED], "3/10", "1/1000"), [], {**LINE, "tau": "1"}, "without a Gaussian"),
    Case(BELOW, least([TWICE], "3/10", "1/1000"), [], LINE, ONCE),
    Case(BELOW, least([gaussian("1")], "3/10", "1/1000"), [], LINE, ONCE),
]


@pytest.mark.parametrize("case", LINE_CASES, ids=str)
def test_lines(case: Case) -> None:
    """A line proves the profile of one allocation from both sides to nine digits, and no more."""
    case.holds()
