"""The verdicts on the numbers of a library, and a run of random questions."""

from __future__ import annotations

import enum
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, final

from dpproof.accountant import Bound, PrivacyError
from dpproof.proofs import Certificate
from dpproof.refute.peer import Claim, Library, Peer
from dpproof.refute.question import Question

MARGIN: Final = 1e-6  # relative; two numbers closer than this are called the same. Heuristic.
SMALL: Final = 1e-8  # deltas below have causes of their own
_SHRINKING: Final = 10.0  # seconds to look for a simpler question


@final
class Verdict(enum.Enum):
    """What a number of a library is."""

    REFUTED = "refuted"
    NONSENSE = "a number where there is none"
    OURS = "rigorous, and against a rigorous number of ours"
    LOOSE = "above our upper end"
    AGREES = "in our bracket"
    OPEN = "not decided, as no instance attains our lower end"
    SILENT = "no answer"


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict on one number."""

    claim: Claim  # which accountant
    question: Question  # what it was asked; of noise, with the noise that was found
    theirs: float | None  # its number, or the target at the noise that was found; None without one
    ours: Bound | None  # our bracket; None where there is no answer
    verdict: Verdict  # what follows

    @property
    def excess(self) -> float:
        """Return by what share their number is above our upper end."""
        if self.theirs is None or self.ours is None or self.ours.upper == 0:
            return 0.0
        return self.theirs / self.ours.upper - 1

    @property
    def cause(self) -> tuple[object, ...]:
        """Return what findings of one cause have in common."""
        question, short = self.question, (self.claim.name, self.verdict)
        if self.verdict is Verdict.NONSENSE:
            return short
        small = question.asked != "delta" and question.at < SMALL
        kinds = frozenset(part.kind for part in question.parts)
        return (*short, kinds, question.relation, question.asked == "power", small)

    def certificate(self) -> Certificate:
        """Return a proof of our end that their number contradicts, which the checker verified."""
        guarantee = self.question.guarantee(instance=self.claim.upper)
        return guarantee.certify(**self.question.point, lower=self.claim.upper)  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Return the finding in a line."""
        ours = self.ours
        truth = "there is none" if ours is None else f"[{ours.lower:.6g}, {ours.upper:.6g}]"
        side = "at most" if self.claim.upper else "at least"
        return (
            f"{self.claim.name}, {self.question}: claimed {side} {self.theirs:.6g}, truth {truth}"
        )


def judged(claim: Claim, question: Question, answer: float | str | list[str]) -> Finding:
    """Return the verdict on an answer."""
    theirs = answer if isinstance(answer, float) else None
    if question.asked == "noise" and theirs is not None:
        question = replace(question, parts=(replace(question.parts[0], noise=theirs),))
        theirs = question.target
    try:
        ours = question.bracket()
    except PrivacyError:
        impossible = theirs is not None and _impossible(question)
        verdict = Verdict.NONSENSE if impossible else Verdict.SILENT
        return Finding(claim, question, theirs, None, verdict)
    verdict = Verdict.SILENT if theirs is None else _compared(claim, question.at, theirs, ours)
    return Finding(claim, question, theirs, ours, verdict)


def _compared(claim: Claim, at: float, theirs: float, ours: Bound) -> Verdict:
    if math.isnan(theirs) or (claim.upper and theirs < 0):
        return Verdict.NONSENSE
    wrong = Verdict.OURS if at >= claim.rigorous_from else Verdict.REFUTED
    above = theirs > ours.upper * (1 + MARGIN)
    if claim.upper and theirs < ours.lower * (1 - MARGIN):
        return wrong if ours.attained else Verdict.OPEN
    if above:
        return Verdict.LOOSE if claim.upper else wrong
    return Verdict.AGREES


def _impossible(question: Question) -> bool:
    """Return whether a number of the question is outside its domain."""
    numbers = [question.at, *(x for part in question.parts for x in (part.noise, part.count))]
    return any(not x >= 0 for x in numbers) or any(part.count % 1 for part in question.parts)


@final
@dataclass(slots=True)
class Report:
    """What a run came to."""

    package: str  # the distribution that was asked
    version: str  # of it
    library: Library  # what it publishes
    seed: int  # of the questions
    # What is wrong, one finding of each cause, with the seconds after which it was seen.
    found: list[tuple[float, Finding]] = field(default_factory=list)
    # Of each claim, the number furthest above our upper end.
    loosest: dict[str, Finding] = field(default_factory=dict)
    counts: dict[str, Counter[Verdict]] = field(default_factory=dict)  # verdicts of each claim
    asked: int = 0  # questions that were begun

    def __str__(self) -> str:
        """Return what the time was enough for."""
        missed = max(0, len(self.library.past) - self.asked)
        less = f", without {missed} that some accountant got wrong before" if missed else ""
        return f"{self.asked} questions of seed {self.seed}{less}"

    def ours(self) -> Finding | None:
        """Return the contradiction that ended the run."""
        return next((one for _, one in self.found if one.verdict is Verdict.OURS), None)


def run(
    report: Report, peer: Peer, *, seconds: float, progress: Callable[[str], None] = lambda _: None
) -> None:
    """Ask random questions until the time ends, or two rigorous numbers contradict each other."""
    library, began, seen = report.library, time.monotonic(), set[tuple[object, ...]]()
    for question in library.questions(random.Random(report.seed)):  # noqa: S311  # not secret
        if time.monotonic() > began + seconds or report.ours() is not None:
            return
        report.asked += 1
        progress(str(question))
        for claim in library.claims:
            finding = _asked(library, claim, question, peer)
            if finding is None:
                continue
            report.counts.setdefault(claim.name, Counter())[finding.verdict] += 1
            best = report.loosest.get(claim.name)
            if finding.verdict is Verdict.LOOSE and (best is None or finding.excess > best.excess):
                report.loosest[claim.name] = finding
            if finding.verdict in _WRONG and finding.cause not in seen:
                at = time.monotonic() - began
                report.found.append((at, finding))  # kept if the time ends here
                small = smaller(library, finding, peer)
                report.found[-1:] = [] if small.cause in seen else [(at, small)]
                seen |= {finding.cause, small.cause}


_WRONG: Final = (Verdict.REFUTED, Verdict.NONSENSE, Verdict.OURS)


def _asked(library: Library, claim: Claim, question: Question, peer: Peer) -> Finding | None:
    program = library.program(claim, question)
    return judged(claim, question, peer.ask(program)) if program else None


def smaller(library: Library, finding: Finding, peer: Peer) -> Finding:
    """Return a finding with the same verdict about the simplest question that was found in time."""
    end, shrunk = time.monotonic() + _SHRINKING, True
    while shrunk:
        shrunk = False
        for simpler in finding.question.simpler():
            if time.monotonic() > end:
                return finding
            finding_now = _asked(library, finding.claim, simpler, peer)
            if finding_now is not None and finding_now.verdict is finding.verdict:
                finding, shrunk = finding_now, True
                break
    return finding
