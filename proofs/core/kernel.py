"""The kernel: walk the steps in order, let each one's rule object, collect assumptions.

A step is accepted when its rule, applied to its premises and its witness, does not refuse its
conclusion. A rule that speaks of a new mechanism, which is named M1, M2, ..., says what that does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from flint import ctx

from .certificate import Step, read_steps
from .errors import BeyondError, CertificateError, RefusedError, UndecidedError
from .fields import Fields
from .frozen import frozen
from .limits import PER_STEP, PRECISIONS
from .rule import SHARED, Application, Budget, Rule
from .rules import CORE_RULES
from .statements import CORE_LANGUAGE, Language, Statement
from .verdict import Rejected, Verdict, Verified, VerifiedUnder, openable, quoted, with_digests

RESTRICT: Final = "restrict/relation"
"""The one rule, of an extension, whose premise is under another relation than its conclusion."""


@frozen
class System:
    """A checker: its rules by name, its language, and the extensions that a step needs, if any."""

    rules: Mapping[str, Rule]
    language: Language
    extensions: Callable[[Step], set[str]] | None = None


CORE: Final = System(CORE_RULES, CORE_LANGUAGE)


@frozen
class Proved:
    """A step that was accepted: its statement, if that can be read, and its mechanism, if any."""

    statement: Statement | None
    mechanism: str
    size: int
    checked: bool = True


@final
@dataclass(slots=True)
class _Account:
    """What the steps of one certificate take for granted so far, and may still compute."""

    budget: Budget = field(default_factory=Budget)
    mechanisms: int = 0
    assumptions: list[str] = field(default_factory=list)
    shared: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[str, None] = field(default_factory=dict)
    extensions: set[str] = field(default_factory=set)

    def assume(self, taken: tuple[str, ...], premises: tuple[Proved, ...]) -> str:
        """Note what a rule assumes; return the name of the mechanism that it speaks of."""
        if not taken:
            return _inherited(premises)
        self.mechanisms += 1
        name = f"M{self.mechanisms}"
        for text in taken:
            if text in SHARED:
                self.shared.setdefault(text, []).append(name)
            else:
                self.assumptions.append(f"{name} {text}")
        return name

    def leave(
        self, at: tuple[int, Step], statement: Statement | None, premises: tuple[Proved, ...]
    ) -> str:
        """Assume what a step concludes; return the name of a mechanism of its own."""
        position, step = at
        place = f"step {position} ({quoted(step.rule)})"
        said = statement.describe() if statement else "something that the core cannot read"
        if not (statement.steps if statement else "relation" in step.conclusion):
            self.assumptions.append(f"not checked here: {said}, by {place}")
            return ""
        self.mechanisms += 1
        name = f"M{self.mechanisms}"
        parts = " and ".join(dict.fromkeys(one.mechanism for one in premises if one.mechanism))
        made = f"{name}, which {place} makes of {parts}," if parts else f"{name}, of {place},"
        self.assumptions.append(f"not checked here: {openable(made)} is {said}")
        return name

    def sentences(self) -> list[str]:
        """Return every assumption, those that many mechanisms share once and last."""
        texts = list(self.assumptions)
        for text in SHARED:
            names = self.shared.get(text, [])
            everywhere = 1 < len(names) == self.mechanisms
            if names:
                who = "all of them" if everywhere else openable(" and ".join(names))
                texts.append(f"for {who}, {text}")
        return texts


def check(steps: Sequence[Step], system: System = CORE) -> Verdict:
    """Verify a certificate: the steps, each citing earlier ones."""
    account, proved = _Account(), list[Proved]()
    cited = {len(steps) - 1}
    for position, step in enumerate(steps):
        premises = tuple(proved[place] for place in step.premises)
        try:
            proved.append(_step((position, step), premises, system, account))
        except RefusedError as refusal:
            return Rejected(position, step.rule, with_digests(str(refusal))[0])
        except Exception as error:  # noqa: BLE001  # whatever stops a rule, nothing is proved
            return Rejected(position, step.rule, f"the rule stopped with {type(error).__name__}")
        cited.update(step.premises)
    for position in sorted(set(range(len(proved))) - cited):
        return Rejected(position, steps[position].rule, "no later step uses this one")
    last, rule = proved[-1], steps[-1].rule
    if last.statement is None or not last.checked:
        return Rejected(len(proved) - 1, rule, "the core alone cannot check the claim itself")
    return _verdict(last.statement, last.mechanism, account)


def check_text(text: str, system: System = CORE) -> Verdict:
    """Verify a certificate from its JSON."""
    try:
        steps = read_steps(text)
    except CertificateError as error:
        return Rejected(None, "format", str(error))
    return check(steps, system)


def _step(
    at: tuple[int, Step], premises: tuple[Proved, ...], system: System, account: _Account
) -> Proved:
    """Return one step as it is accepted, and note what it assumes."""
    (_, step), budget = at, account.budget
    size, statement = len(json.dumps(step.conclusion)), None
    budget.precision = PRECISIONS[0]
    budget.spend(PER_STEP + size + len(json.dumps(step.witness)) + len(step.label))
    budget.spend(sum(premise.size for premise in premises))
    try:
        statement = system.language.statement(step.conclusion)
        taken = _apply(step, statement, premises, system.rules, budget)
        checked, name = True, account.assume(taken, premises)
    except BeyondError:
        if system.extensions is not None:
            raise
        checked, name = False, account.leave(at, statement, premises)
    if step.label:
        if not name:
            raise RefusedError("a label names a mechanism; here is none")
        account.labels[f"{name} is called {quoted(step.label)}"] = None
    if system.extensions is not None:
        account.extensions |= system.extensions(step)
    return Proved(statement, name, size, checked)


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
        raise BeyondError("there is no such rule")
    statements = tuple(premise.statement for premise in premises if premise.statement)
    if len(statements) < len(premises):
        raise BeyondError("a premise is not known here")
    relations = {statement.relation for statement in statements} - {"", conclusion.relation}
    if relations and step.rule != RESTRICT:  # which compares the relations itself
        raise RefusedError(f"premises under {sorted(relations)}, conclusion under another relation")
    names = tuple(premise.mechanism for premise in premises)
    for precision in PRECISIONS:
        budget.precision, witness = precision, Fields(step.witness, "the witness")
        try:
            with ctx.workprec(precision):
                taken = rule(Application(conclusion, statements, witness, names, budget))
            break
        except UndecidedError as error:
            undecided = error
    else:
        raise undecided
    witness.close()
    if bool(conclusion.steps) is not bool(taken or _inherited(premises)):
        what = "the conclusion" if conclusion.steps else "a fact about pairs"
        raise RefusedError(f"{what} is about no mechanism")
    return taken


def _inherited(premises: tuple[Proved, ...]) -> str:
    """Return the mechanism of the first premise that has one, else the empty name."""
    return next((premise.mechanism for premise in premises if premise.mechanism), "")


def _verdict(last: Statement, mechanism: str, account: _Account) -> Verdict:
    """Return the claim and its assumptions, with long contents by their digests."""
    claim, details = with_digests(last.describe())
    extensions, listed = tuple(sorted(account.extensions)), []
    for text in account.sentences():
        sentence, contents = with_digests(text)
        listed.append(sentence)
        details |= contents
    if not listed:
        return Verified(claim, extensions, details)
    said = f"{mechanism} is {claim}" if mechanism else claim
    return VerifiedUnder(said, tuple(listed), extensions, details, tuple(account.labels))
