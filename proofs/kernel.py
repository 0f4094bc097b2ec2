"""The kernel: walk the steps in order, let each one's rule object, collect assumptions.

A step is accepted when its rule, applied to the statements of its premises and to its witness,
does not refuse its conclusion. Nothing is searched and nothing is believed. Every rule that speaks
of a new mechanism says in its own words what that mechanism does; the kernel names it M1, M2, ...
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import final

from flint import ctx

from dpproof.proofs.certificate import Certificate, Step
from dpproof.proofs.errors import CertificateError, RefusedError, UndecidedError
from dpproof.proofs.fields import Fields
from dpproof.proofs.limits import PER_STEP, PRECISIONS
from dpproof.proofs.logic.rule import Application, Budget, Rule
from dpproof.proofs.logic.statement import Statement, read_statement
from dpproof.proofs.rules import ALL_SETS, RESTRICT, RULES, sets_of
from dpproof.proofs.verdict import Rejected, Verdict, Verified, VerifiedUnder, quoted, with_digests


@final
@dataclass(frozen=True, slots=True)
class Proved:
    """A step that was accepted.

    Attributes:
        statement: its conclusion.
        mechanism: the name of what the statement is about, empty for a fact about pairs.
        size: characters of the statement.
    """

    statement: Statement
    mechanism: str
    size: int


def check(
    certificate: Certificate,
    rules: Mapping[str, Rule] = RULES,
    accepted: Collection[str] = ALL_SETS,
) -> Verdict:
    """Verify a certificate.

    Args:
        certificate: the steps, each citing earlier ones.
        rules: every rule there is, by name.
        accepted: the rule sets that steps may need.
    """
    needed: set[str] = set()
    proved: list[Proved] = []
    assumptions: list[str] = []
    labels: dict[str, None] = {}
    cited, mechanisms, budget = {len(certificate.steps) - 1}, 0, Budget()
    for position, step in enumerate(certificate.steps):
        premises = tuple(proved[place] for place in step.premises)
        try:
            needed |= _accepted(step, accepted)
            statement, size = _read(step, premises, budget)
            taken = _apply(step, statement, premises, rules, budget)
        except RefusedError as refusal:
            return Rejected(position, step.rule, with_digests(str(refusal))[0])
        except Exception as error:  # noqa: BLE001  # whatever stops a rule, nothing is proved
            return Rejected(position, step.rule, f"the rule stopped with {type(error).__name__}")
        mechanisms += bool(taken)
        name = f"M{mechanisms}" if taken else _inherited(premises)
        if step.label and not name:
            return Rejected(position, step.rule, "a label names a mechanism; here is none")
        if step.label:
            labels[f"{name} is called {quoted(step.label)}"] = None
        proved.append(Proved(statement, name, size))
        assumptions.extend(f"{name} {text}" for text in taken)
        cited.update(step.premises)
    unused = set(range(len(proved))) - cited
    if unused:
        first = min(unused)
        return Rejected(first, certificate.steps[first].rule, "no later step uses this one")
    sets = tuple(one for one in ALL_SETS if one in needed)
    return _verdict(proved[-1], assumptions, sets, tuple(labels))


def _accepted(step: Step, accepted: Collection[str]) -> set[str]:
    """Return the rule sets that a step needs; refuse those that are not accepted."""
    needed = sets_of(step.rule, step.conclusion)
    if not needed <= set(accepted):
        others = ", ".join(sorted(needed - set(accepted)))
        raise RefusedError(f"the step needs rule sets that are not accepted here: {others}")
    return needed


def _verdict(
    last: Proved, assumptions: list[str], sets: tuple[str, ...], labels: tuple[str, ...]
) -> Verdict:
    """Return the claim and its assumptions, with long contents by their digests."""
    claim, details = with_digests(last.statement.describe())
    if not last.mechanism:
        return Verified(claim, sets, details)
    listed = []
    for text in assumptions:
        sentence, found = with_digests(text)
        listed.append(sentence)
        details |= found
    return VerifiedUnder(f"{last.mechanism} is {claim}", tuple(listed), sets, details, labels)


def check_text(text: str, accepted: Collection[str] = ALL_SETS) -> Verdict:
    """Verify a certificate from its JSON, by rules of the accepted sets."""
    try:
        certificate = Certificate.from_json(text)
    except CertificateError as error:
        return Rejected(None, "format", str(error))
    return check(certificate, accepted=accepted)


def _read(step: Step, premises: tuple[Proved, ...], budget: Budget) -> tuple[Statement, int]:
    """Return one step's conclusion and its length; reading it costs work, and so does citing."""
    size = len(json.dumps(step.conclusion))
    budget.precision = PRECISIONS[0]
    budget.spend(PER_STEP + size + len(json.dumps(step.witness)) + len(step.label))
    budget.spend(sum(premise.size for premise in premises))
    conclusion = read_statement(step.conclusion)
    relations = {premise.statement.relation for premise in premises} - {""}
    if step.rule == RESTRICT:  # it compares the relations itself
        return conclusion, size
    if relations - {conclusion.relation}:
        raise RefusedError(f"premises under {sorted(relations)}, conclusion under another relation")
    return conclusion, size


def _apply(
    step: Step,
    conclusion: Statement,
    premises: tuple[Proved, ...],
    rules: Mapping[str, Rule],
    budget: Budget,
) -> tuple[str, ...]:
    """Return what one step assumes, if it follows; precision is raised until that is decided."""
    rule = rules.get(step.rule)
    if rule is None:
        raise RefusedError("there is no such rule")
    taken = _decided(step, conclusion, premises, rule, budget)
    if conclusion.steps and not (taken or _inherited(premises)):
        raise RefusedError("the conclusion is about no mechanism")
    if not conclusion.steps and (taken or _inherited(premises)):
        raise RefusedError("a fact about pairs is about no mechanism")
    return taken


def _decided(
    step: Step, conclusion: Statement, premises: tuple[Proved, ...], rule: Rule, budget: Budget
) -> tuple[str, ...]:
    """Return the rule's answer at the first precision that decides."""

    def apply_at(precision: int) -> tuple[str, ...]:
        budget.precision = precision
        application = Application(
            conclusion=conclusion,
            premises=tuple(premise.statement for premise in premises),
            witness=Fields(step.witness, "the witness"),
            mechanisms=tuple(premise.mechanism for premise in premises),
            budget=budget,
        )
        with ctx.workprec(precision):
            taken = rule(application)
        application.witness.close()
        return taken

    for precision in PRECISIONS[:-1]:
        with suppress(UndecidedError):
            return apply_at(precision)
    return apply_at(PRECISIONS[-1])


def _inherited(premises: tuple[Proved, ...]) -> str:
    """Return the mechanism of the first premise that has one, else the empty name."""
    return next((premise.mechanism for premise in premises if premise.mechanism), "")
