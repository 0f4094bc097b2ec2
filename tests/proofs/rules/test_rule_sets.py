"""Every rule and pair declares its set, and the core accepts nothing of another."""

from __future__ import annotations

import pytest

from dpproof.proofs import Rejected, Step, VerifiedUnder, check, kernel
from dpproof.proofs.logic.read_pairs import KINDS
from dpproof.proofs.rules import ALL_SETS, PAIRS, RULE_SETS, RULES, sets_of
from tests.proofs.support import Object, certificate, factor, gaussian, pairs, said, stated

TOSS = factor("finite", p=["1/2", "1/2"], q=["1/2", "1/2"])
LOGISTIC = factor("logistic", epsilon="1")
SAMPLED = factor("sampled", base=[gaussian("1")], sampling_rate="1/2", direction="removal")


def test_every_rule_and_pair_has_one_set() -> None:
    """No rule is in two sets, and every kind of pair is in one that exists."""
    assert sum(map(len, RULE_SETS.values())) == len(RULES)
    assert PAIRS.keys() == KINDS.keys()
    assert set(PAIRS.values()) <= set(ALL_SETS)


@pytest.mark.parametrize(
    ("conclusion", "needed"),
    [
        (pairs([gaussian("1")]), {"core"}),
        (pairs([TOSS]), {"core", "discrete"}),
        (pairs([gaussian("1")], [LOGISTIC]), {"core", "curves"}),
        (pairs([SAMPLED]), {"core", "samples"}),
    ],
)
def test_pairs_need_their_sets(conclusion: Object, needed: set[str]) -> None:
    """A pair of another set is refused by the core, wherever it stands, also inside a sample."""
    given = certificate(stated(conclusion))
    verdict = check(given)

    assert isinstance(verdict, VerifiedUnder)
    assert set(verdict.rule_sets) == needed
    assert isinstance(check(given, rules="core"), Rejected) is (needed != {"core"})


@pytest.mark.parametrize("rule", sorted(RULES.keys() - RULE_SETS["core"].keys()))
def test_the_core_asks_no_other_rule(rule: str) -> None:
    """A step of another set is rejected before its rule is asked."""
    step = Step(rule=rule, premises=(), witness={}, conclusion=said("pure-dp", epsilon="1"))
    asked = {**RULES, rule: lambda _: pytest.fail("asked")}

    verdict = kernel.check(certificate(step), asked, ("core",))

    assert isinstance(verdict, Rejected)
    assert "not accepted here" in verdict.reason


def test_sums_of_several_pairs_are_a_set() -> None:
    """A closed profile of several pairs needs the rules that add up their losses."""
    two = [factor("laplace", 2, epsilon="1")]

    assert sets_of("hockey-stick/closed", {"product": two}) == {"core", "sums"}
    assert sets_of("hockey-stick/closed", {"product": [gaussian("1", 9)]}) == {"core"}
    assert sets_of("hockey-stick/contour", {"product": two}) == {"core"}
