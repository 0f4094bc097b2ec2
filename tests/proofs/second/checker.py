"""A second checker of certificates, written from docs/CERTIFICATE.md alone.

It knows the core: every step by a rule of the core is checked, and every other step is listed as
not checked here, with the extension that it needs. Arithmetic is exact where conclusions are
rational, and mpmath's interval arithmetic elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mpmath import iv

from tests.proofs.second import intervals
from tests.proofs.second.extensions import OTHER_NOTIONS, OTHER_PAIRS, OTHER_RULES
from tests.proofs.second.rules import ANY, FACTS, RULES, NotHere, Question, Rule
from tests.proofs.second.statements import Fields, Statement, statement
from tests.proofs.second.text import Refusal, Step, read


@dataclass(frozen=True)
class Verdict:
    """What the checker says of one certificate: "accept", "reject" or "undecided"."""

    outcome: str
    step: int | None = None  # that fails; none of a fault of the text or of the references
    fault: str = ""  # of what kind (docs/CERTIFICATE.md lists them)
    words: str = ""
    mechanism: int | None = None  # that the claim is about; none of a fact
    open: dict[int, str] = field(default_factory=dict)  # of steps not checked here, the extension
    kept: bool = False  # whether a pair of an extension is kept as it is written


def check(text: str) -> Verdict:
    """Check a certificate, and say why if it is not accepted."""
    run = _Run()
    try:
        for step in read(text):
            run.take(step)
        run.end()
    except Refusal as refusal:
        return Verdict("reject", run.place, refusal.fault, refusal.words, open=run.open)
    except intervals.Undecided:
        return Verdict("undecided", run.place, "undecided", "512 bits do not decide", open=run.open)
    return Verdict("accept", mechanism=run.known[-1][1], open=run.open, kept=run.kept)


class _Run:
    """One walk over the steps: what each concluded, and of which mechanism."""

    def __init__(self) -> None:
        self.known: list[tuple[Statement, int | None]] = []
        self.open: dict[int, str] = {}
        self.named = 0
        self.kept = False
        self.place: int | None = None

    def take(self, step: Step) -> None:
        """Check the next step."""
        self.place = len(self.known)
        conclusion = statement(step.conclusion)
        factors = [one for product in conclusion.products for _, one in product]
        self.kept |= any(one.kind in OTHER_PAIRS for one in factors)
        premises = [self.known[one] for one in step.premises]
        try:
            makes = _checked(step, conclusion, [one for one, _ in premises])
        except NotHere as extension:
            self.open[self.place] = str(extension)
            about = None if conclusion.is_fact else self.named + 1
        else:
            first = next((one for _, one in premises if one is not None), None)
            about = self.named + 1 if makes else first
            if conclusion.is_fact is not (about is None):
                raise Refusal("about", "a fact is about a mechanism, or a statement about none")
        if step.label is not None and about is None:
            raise Refusal("about", "a label names a mechanism, and here is none")
        self.named = max(self.named, about or 0)
        self.known.append((conclusion, about))

    def end(self) -> None:
        """Refuse a claim that is itself not checked."""
        if self.place in self.open:
            raise Refusal("open", "the claim itself is not checked here")


def _checked(step: Step, conclusion: Statement, premises: list[Statement]) -> bool:
    """Check one step by its rule, and tell whether it states what a new mechanism does."""
    if step.rule in OTHER_RULES:
        raise NotHere(OTHER_RULES[step.rule])
    if step.rule not in RULES:
        raise Refusal("name", "no rule has this name")
    rule = RULES[step.rule]
    for one in (conclusion, *premises):
        if one.notion in OTHER_NOTIONS:
            raise NotHere(OTHER_NOTIONS[one.notion])
    _fits(rule, step, conclusion, premises)
    for bits in intervals.PRECISIONS:
        iv.prec = bits
        witness = Fields(step.witness, "the witness")
        try:
            rule.check(Question(premises, conclusion, witness))
        except intervals.Undecided:
            if bits == intervals.PRECISIONS[-1]:
                raise
        else:
            witness.close()
            break
    return rule.makes


def _fits(rule: Rule, step: Step, conclusion: Statement, premises: list[Statement]) -> None:
    if rule.concludes not in (ANY, conclusion.notion):
        raise Refusal("conclusion", f"the conclusion is {conclusion.notion}, not {rule.concludes}")
    if step.rule.startswith("mechanism/") and conclusion.steps > 1:
        raise Refusal("relation", "a mechanism concludes about neighbours, one step apart")
    if not rule.several and len(premises) != (rule.premises is not None):
        raise Refusal("premises", "the number of premises is not that of the rule")
    for one in premises:
        if one.is_fact and rule.premises in (ANY, FACTS):
            continue
        if rule.premises not in (ANY, FACTS, one.notion):
            raise Refusal("premises", f"a premise is {one.notion}, wanted: {rule.premises}")
        if (one.relation, one.steps) != (conclusion.relation, conclusion.steps):
            raise Refusal("relation", "a premise is of other datasets than the conclusion")
