"""The kernel: it walks, it does not think."""

from __future__ import annotations

from typing import Any

from flint import ctx

from dpproof.proofs import Certificate, Rejected, Step, Verified, VerifiedUnder, check, kernel
from dpproof.proofs.core.errors import RefusedError, UndecidedError
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application, Rule
from dpproof.proofs.rules import RULES
from tests.proofs.support import certificate, fact, said, stated

ONE = said("gdp", mu_squared="1")


def test_verdicts() -> None:
    """Verified takes nothing for granted, VerifiedUnder lists what it does, once."""
    proved = Step(
        rule="hockey-stick/closed", premises=(), witness={}, conclusion=fact([], "1", "0")
    )
    taken = kernel.check(certificate(stated(ONE)))

    assert isinstance(kernel.check(certificate(proved)), Verified)
    assert isinstance(taken, VerifiedUnder)
    assert len(taken.assumptions) == 1


def test_a_shared_step_is_assumed_once() -> None:
    """A step that is cited twice is checked once and its assumption listed once."""
    two = said("gdp", mu_squared="2")
    both = Step(rule="compose/gdp", premises=(0, 0), witness={}, conclusion=two)
    verdict = kernel.check(certificate(stated(ONE), both))

    assert isinstance(verdict, VerifiedUnder)
    first, second, *shared = verdict.assumptions
    assert first.startswith("M1 is, by assumption,")
    assert second == "M2 runs M1 and M1 on the same data"
    assert shared == [f"for M2, {text}" for text in (FRESH, FIXED, ALONE)]
    assert verdict.claim.startswith("M2 is")


def test_the_first_wrong_step_is_named() -> None:
    """A rejection says which step, which rule and why."""
    wrong = Step(rule="compose/gdp", premises=(0,), witness={}, conclusion=said("zcdp", rho="1"))
    later = Step(rule="no/such", premises=(1,), witness={}, conclusion=ONE)

    verdict = kernel.check(certificate(stated(ONE), wrong, later))

    assert isinstance(verdict, Rejected)
    assert (verdict.step, verdict.rule) == (1, "compose/gdp")


def test_a_fact_has_no_relation() -> None:
    """Statements about neighbours do not lead to facts about pairs alone."""

    def anything(_: Application) -> tuple[str, ...]:
        return ()

    step = Step(rule="x", premises=(0,), witness={}, conclusion=fact([], "1", "0"))
    rules = {**RULES, "x": anything}

    verdict = kernel.check(certificate(stated(ONE), step), rules)

    assert isinstance(verdict, Rejected)
    assert "another relation" in verdict.reason


def test_rules_are_what_is_given() -> None:
    """The kernel asks the rules it is given, and takes what they assume."""

    def refuse(_: Application) -> tuple[str, ...]:
        raise RefusedError("no")

    def assume(_: Application) -> tuple[str, ...]:
        return ("a", "b")

    step = Step(rule="x", premises=(), witness={}, conclusion=ONE)

    assert kernel.check(certificate(step), {"x": refuse}) == Rejected(0, "x", "no")
    verdict = kernel.check(certificate(step), {"x": assume})
    assert isinstance(verdict, VerifiedUnder)
    assert verdict.assumptions == ("M1 a", "M1 b")


def test_names_are_no_rules() -> None:
    """A rule that is not in the table is refused."""
    step = Step(rule="no/such", premises=(), witness={}, conclusion=ONE)

    assert kernel.check(certificate(step)) == Rejected(0, "no/such", "there is no such rule")


def test_a_statement_is_about_a_mechanism_and_a_fact_is_not() -> None:
    """Whatever a rule says, a statement needs a mechanism, and a fact has none."""
    silent = Step(rule="x", premises=(), witness={}, conclusion=ONE)
    talking = Step(rule="y", premises=(), witness={}, conclusion=fact([], "1", "0"))
    rules: dict[str, Rule] = {"x": lambda _: (), "y": lambda _: ("runs",)}

    first = kernel.check(certificate(silent), rules)
    second = kernel.check(certificate(talking), rules)

    assert first == Rejected(0, "x", "the conclusion is about no mechanism")
    assert second == Rejected(0, "y", "a fact about pairs is about no mechanism")


def test_work_is_limited() -> None:
    """The steps of one certificate share one budget."""

    def expensive(step: Application) -> tuple[str, ...]:
        step.budget.spend(1 << 23)
        return ("works",)

    one = Step(rule="x", premises=(), witness={}, conclusion=ONE)
    verdict = kernel.check(certificate(one, one, one), {"x": expensive})

    assert isinstance(verdict, Rejected)
    assert verdict.step == 2
    assert "more work" in verdict.reason


def test_an_error_inside_a_rule_is_a_rejection() -> None:
    """Whatever stops a rule, the verdict names the step and the rule."""

    def stop(_: Application) -> tuple[str, ...]:
        raise RecursionError

    step = Step(rule="x", premises=(), witness={}, conclusion=ONE)
    verdict = kernel.check(certificate(stated(ONE), step), {**RULES, "x": stop})

    assert verdict == Rejected(1, "x", "the rule stopped with RecursionError")


def test_precision_is_raised_until_a_rule_decides() -> None:
    """A rule is asked anew at every precision, and each one counts."""
    asked = []

    def undecided(step: Application) -> tuple[str, ...]:
        asked.append(ctx.prec)
        step.budget.spend(1)
        if ctx.prec < 256:
            raise UndecidedError("too close")
        return ("works",)

    step = Step(rule="x", premises=(), witness={}, conclusion=ONE)

    assert isinstance(kernel.check(certificate(step), {"x": undecided}), VerifiedUnder)
    assert asked == [64, 128, 256]


def _circular() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["again"] = found
    return found


def test_what_json_cannot_say_is_rejected() -> None:
    """A certificate built from other objects is no certificate, and no error."""
    conclusions: list[dict[str, Any]] = [{"epsilon": 1j}, {"epsilon": b"1"}, _circular()]
    for conclusion in conclusions:
        step = Step(rule="state/pure-dp", premises=(), witness={}, conclusion=conclusion)

        verdict = check(certificate(step))

        assert isinstance(verdict, Rejected)
        assert (verdict.step, verdict.rule) == (None, "format")


def test_a_certificate_without_steps_is_rejected() -> None:
    """There is no claim, and no error."""
    assert check(Certificate(())) == Rejected(None, "format", "a certificate has at least one step")
