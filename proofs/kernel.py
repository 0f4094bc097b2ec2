"""The kernel: walk the steps in order, let each one's rule object, collect assumptions.

A step is accepted when its rule, applied to the statements of its premises and to its witness,
does not refuse its conclusion. Nothing is searched and nothing is believed. Every rule that speaks
of a new mechanism says in its own words what that mechanism does; the kernel names it M1, M2, ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from proofs.certificate import Certificate, Step
from proofs.errors import CertificateError, RefusedError
from proofs.fields import Fields
from proofs.logic.rule import Application, Budget, Rule
from proofs.logic.statement import Statement, read_statement
from proofs.rules import RULES
from proofs.verdict import Rejected, Verdict, Verified, VerifiedUnder


@final
@dataclass(frozen=True, slots=True)
class Proved:
    """A step that was accepted.

    Attributes:
        statement: its conclusion.
        mechanism: the name of what the statement is about, empty for a fact about pairs.
    """

    statement: Statement
    mechanism: str


def check(certificate: Certificate, rules: Mapping[str, Rule] = RULES) -> Verdict:
    """Verify a certificate.

    Args:
        certificate: the steps, each citing earlier ones.
        rules: every rule there is, by name.
    """
    proved: list[Proved] = []
    assumptions: list[str] = []
    cited, mechanisms, budget = {len(certificate.steps) - 1}, 0, Budget()
    for position, step in enumerate(certificate.steps):
        premises = tuple(proved[place] for place in step.premises)
        try:
            statement, taken = _apply(step, premises, rules, budget)
        except RefusedError as refusal:
            return Rejected(position, step.rule, str(refusal))
        except Exception as error:  # noqa: BLE001  # whatever stops a rule, nothing is proved
            return Rejected(position, step.rule, f"the rule stopped with {type(error).__name__}")
        mechanisms += bool(taken)
        name = f"M{mechanisms}" if taken else _inherited(premises)
        proved.append(Proved(statement, name))
        assumptions.extend(f"{name} {text}" for text in taken)
        cited.update(step.premises)
    unused = set(range(len(proved))) - cited
    if unused:
        first = min(unused)
        return Rejected(first, certificate.steps[first].rule, "no later step uses this one")
    claim, name = proved[-1].statement.describe(), proved[-1].mechanism
    return VerifiedUnder(f"{name} is {claim}", tuple(assumptions)) if name else Verified(claim)


def check_text(text: str) -> Verdict:
    """Verify a certificate from its JSON."""
    try:
        certificate = Certificate.from_json(text)
    except CertificateError as error:
        return Rejected(None, "format", str(error))
    return check(certificate)


def _apply(
    step: Step, premises: tuple[Proved, ...], rules: Mapping[str, Rule], budget: Budget
) -> tuple[Statement, tuple[str, ...]]:
    """The conclusion of one step, if it follows, and what its rule takes for granted."""
    rule = rules.get(step.rule)
    if rule is None:
        raise RefusedError("there is no such rule")
    conclusion = read_statement(step.conclusion)
    relations = {premise.statement.relation for premise in premises} - {""}
    if relations - {conclusion.relation}:
        raise RefusedError(f"premises under {sorted(relations)}, conclusion under another relation")
    application = Application(
        conclusion=conclusion,
        premises=tuple(premise.statement for premise in premises),
        witness=Fields(step.witness, "the witness"),
        mechanisms=tuple(premise.mechanism for premise in premises),
        budget=budget,
    )
    taken = rule(application)
    application.witness.close()
    if conclusion.steps and not (taken or _inherited(premises)):
        raise RefusedError("the conclusion is about no mechanism")
    if not conclusion.steps and (taken or _inherited(premises)):
        raise RefusedError("a fact about pairs is about no mechanism")
    return conclusion, taken


def _inherited(premises: tuple[Proved, ...]) -> str:
    """The mechanism of the first premise that is about one."""
    return next((premise.mechanism for premise in premises if premise.mechanism), "")
