"""The referee: random questions, libraries in processes of their own, verdicts, and a page."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import random
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, final

from dpproof import streams
from dpproof.accountant import AddRemove, Bound, Guarantee, PrivacyError, ReplaceOne
from dpproof.errors import InputError
from dpproof.files import content, save
from dpproof.interop.event import from_dp_event
from dpproof.proofs import Certificate
from dpproof.time_limit import ended_in_time

# Values in the order in which a reader likes them: a reproducer moves towards the first.
VALUES: Final[dict[str, tuple[float, ...]]] = {
    "noise": (1.0, 2.0, 0.5, 3.0, 4.0, 0.8, 1.5, 5.0, 10.0, 20.0, 0.6, 1000.0),
    "rate": (1.0, 0.01, 0.1, 0.2, 0.5, 0.001, 0.02, 0.05, 0.125, 1e-8),
    "count": (1, 10, 100, 1000, 2, 5, 20, 50, 200, 500, 10_000, 10**12),
    "target": (1.0, 0.1, 0.5, 2.0, 5.0),
    "epsilon": (1.0, 0.0, 0.1, 0.5, 2.0, 5.0),
    "delta": (1e-5, 1e-6, 1e-3, 1e-8, 1e-9, 1e-10, 1e-12, 1e-13, 1e-15),
}
NONSENSE: Final = (("noise", math.nan), ("count", -5), ("count", 2.5), ("at", math.nan))
_SPREAD: Final = {"noise": (0.4, 20.0), "rate": (1e-3, 0.5)}  # of numbers that are not round
RECORDS: Final = 1000  # of which a fixed number is drawn
_OFTEN: Final = {"nonsense": 0.04, "extreme": 0.04, "two parts": 0.2, "sampled": 0.75, "odd": 0.3}
RELATIONS: Final = {"add-remove": AddRemove(), "replace-one": ReplaceOne()}
METHODS: Final = {"power": "true_positive_rate", "noise": "epsilon"}  # else what is asked
POINTS: Final = {"delta": "epsilon", "power": "false_positive_rate"}  # else delta


@final
@dataclass(frozen=True, slots=True)
class Part:
    """Equal rounds of one mechanism on values of norm at most 1."""

    # A kind is gaussian, laplace, response (on two answers) or fixed (a Gaussian on a share of
    # 1,000 records). Noise is the multiplier, the scale, or the probability of a uniform answer;
    # the rate is of the Poisson sample, or the share.

    kind: str
    noise: float
    rate: float = 1.0
    count: float = 1

    def event(self, *, instance: bool) -> Mapping[str, Any]:
        """Return the event in JSON, or that of an instance which attains what it costs."""
        # Of fixed: 999 records are -1, the other -1 or 1. Up to a shift the sum is a Gaussian at 0,
        # or at the rate at 2: a Poisson sample with half the noise.
        half = instance and self.kind == "fixed"
        name = "LaplaceDpEvent" if self.kind == "laplace" else "GaussianDpEvent"
        event = _event(name, noise_multiplier=self.noise / 2 if half else self.noise)
        if self.kind == "response":
            event = _event("RandomizedResponseDpEvent", noise_parameter=self.noise, num_buckets=2)
        if self.kind == "fixed" and not instance:
            sizes = {"source_dataset_size": RECORDS, "sample_size": round(self.rate * RECORDS)}
            event = _event("SampledWithoutReplacementDpEvent", **sizes, event=event)
        elif self.rate != 1:
            event = _event("PoissonSampledDpEvent", sampling_probability=self.rate, event=event)
        return _event("SelfComposedDpEvent", event=event, count=self.count)


def _event(name: str, **fields: object) -> dict[str, Any]:
    return {"class_name": name, **fields}


@final
@dataclass(frozen=True, slots=True)
class Question:
    """What an accountant is asked."""

    parts: tuple[Part, ...]  # what runs
    relation: str
    # Epsilon, delta, power (the true-positive rate of attacks), or noise: the smallest of the
    # only part with ``target`` as its epsilon.
    asked: str
    at: float  # the delta, the epsilon, or the false-positive rate
    target: float = 1.0  # of noise

    @property
    def method(self) -> str:
        """Return the name of the question to a guarantee."""
        return METHODS.get(self.asked, self.asked)

    @property
    def point(self) -> dict[str, float]:
        """Return what is asked at, by its name here."""
        return {POINTS.get(self.asked, "delta"): self.at}

    @property
    def fixed(self) -> bool:
        """Return whether samples have a fixed size, so that an instance stands for a lower end."""
        return any(part.kind == "fixed" for part in self.parts)

    def event(self, *, instance: bool = False) -> Mapping[str, Any]:
        """Return the event in JSON, or that of an instance."""
        events = [part.event(instance=instance) for part in self.parts]
        return events[0] if len(events) == 1 else _event("ComposedDpEvent", events=events)

    def guarantee(self, *, instance: bool = False) -> Guarantee[Any]:
        """Return what is known of the event, or of an instance, whose lower ends hold of it."""
        relation = AddRemove() if instance and self.fixed else RELATIONS[self.relation]
        return from_dp_event(self.event(instance=instance), relation=relation)

    def bracket(self) -> Bound:
        """Return the answer, whose lower end is that of the instance."""
        upper = self._answer(self.guarantee())
        if not self.fixed:
            return upper
        instance = self._answer(self.guarantee(instance=True))
        return Bound(instance.lower, upper.upper, instance.attained)

    def _answer(self, guarantee: Guarantee[Any]) -> Bound:
        answered: Bound = getattr(guarantee, self.method)(**self.point)
        return answered

    def written(self) -> str:
        """Return the question as the beginning of a program."""
        parts = [(part.kind, part.noise, part.rate, part.count) for part in self.parts]
        text = f"parts = {parts}  # kind, noise, rate, count\n"
        text += f"at, target, relation = {self.at}, {self.target}, {self.relation!r}\n"
        return f"from math import nan\n{text}" if "nan" in text else text

    def simpler(self) -> Iterator[Question]:
        """Yield questions with a part less, or with a rounder number."""
        for place, part in enumerate(self.parts):
            before, after = self.parts[:place], self.parts[place + 1 :]
            if len(self.parts) > 1:
                yield replace(self, parts=before + after)
            for name in ("count", "rate", "noise"):
                if name == "noise" and (self.asked == "noise" or part.kind == "response"):
                    continue
                for new in _rounder(part, name, name):
                    yield replace(self, parts=(*before, new, *after))
        yield from _rounder(self, "at", "epsilon" if self.asked == "delta" else "delta")
        yield from _rounder(self, "target", "target")

    def __str__(self) -> str:
        """Return the question in a line."""
        shown = " + ".join(
            f"{part.count:g} × {part.kind}({part.noise:g})"
            + ("" if part.rate == 1 else f" at rate {part.rate:g}")
            for part in self.parts
        )
        ((name, at),) = self.point.items()
        wanted = f"noise for epsilon {self.target:g}" if self.asked == "noise" else self.asked
        return f"{shown}, {self.relation}: {wanted} at {name} {at:g}"


PAST: Final = tuple(
    Question((Part(kind, noise, rate, count),), relation, asked, at)
    for kind, noise, rate, count, relation, asked, at in (
        ("response", 0.8, 1.0, 100, "replace-one", "epsilon", 1e-6),
        ("gaussian", 1.0, 1.0, 1, "replace-one", "epsilon", 1e-6),
        ("laplace", 1.0, 1.0, 1, "replace-one", "epsilon", 1e-9),
        ("gaussian", 1.0, 1.0, 1, "add-remove", "power", 1e-9),
        ("gaussian", 3.0, 0.2, 50, "add-remove", "epsilon", 1 / 48_000),
        ("gaussian", 1000.0, 1e-8, 10**12, "add-remove", "delta", 0.0),
        ("gaussian", 2.0, 1.0, 1, "add-remove", "delta", 0.5),
        ("laplace", 1.0, 1.0, 10, "add-remove", "epsilon", 1e-6),
        ("fixed", 1.0, 0.1, 10, "replace-one", "epsilon", 1e-5),
        ("gaussian", 1.0, 0.01, 1000, "add-remove", "epsilon", 1e-13),
        ("gaussian", 1.0, 0.01, 10_000, "add-remove", "epsilon", 1e-12),
        ("gaussian", 1.0, 0.01, 10_000, "add-remove", "epsilon", 1e-16),
        ("gaussian", 4.0, 1 / 3000, 10_000, "add-remove", "epsilon", 1.13e-18),
        ("gaussian", 0.6, 0.02, 200, "add-remove", "epsilon", 1e-6),
        ("gaussian", 0.8, 0.125, 1000, "add-remove", "epsilon", 1e-6),
        ("gaussian", math.nan, 0.01, 1, "add-remove", "epsilon", 1e-6),
        ("gaussian", 1.0, 0.01, -5, "add-remove", "epsilon", 1e-6),
        ("gaussian", 1.0, 0.01, 10**9, "add-remove", "epsilon", 1e-6),
    )
)
"""Questions that some accountant got wrong before: asked first."""


def _rounder(whole: Any, field: str, name: str) -> Iterator[Any]:  # noqa: ANN401  # either class
    """Yield a part or a question with each number that a reader likes better in a field."""
    value, values = getattr(whole, field), VALUES[name]
    if value not in [one for _, one in NONSENSE] and not math.isnan(value):
        liked = values[: values.index(value)] if value in values else values
        yield from (replace(whole, **{field: one}) for one in liked)


def draw(
    source: random.Random, kinds: Mapping[str, Sequence[str]], asked: str, *, poisson: bool
) -> Question:
    """Draw a question about kinds of parts, each under neighbours that it is accounted for."""

    def one(name: str) -> float:
        if extreme:
            return VALUES[name][-1]
        if name in _SPREAD and source.random() < _OFTEN["odd"]:
            low, high = map(math.log, _SPREAD[name])
            return float(f"{math.exp(source.uniform(low, high)):.3g}")
        return source.choice(VALUES[name][:-1])

    extreme = source.random() < _OFTEN["extreme"]
    several = asked != "noise" and source.random() < _OFTEN["two parts"]
    kind = source.choice(tuple(kinds))
    relation = source.choice(kinds[kind])
    fits = [name for name, relations in kinds.items() if relation in relations]
    parts = []
    for name in [kind, source.choice(fits)][: 1 + several]:
        sampled = poisson and relation == "add-remove" and source.random() < _OFTEN["sampled"]
        rate = 0.1 if name == "fixed" else one("rate") if sampled else 1.0
        noise = 0.8 if name == "response" else one("noise")
        parts.append(Part(name, noise, rate, int(one("count"))))
    at = source.choice(VALUES["epsilon" if asked == "delta" else "delta"])
    question = Question(tuple(parts), relation, asked, at, source.choice(VALUES["target"]))
    if not poisson or asked == "noise" or source.random() >= _OFTEN["nonsense"]:
        return question
    name, value = source.choice(NONSENSE)
    changed: dict[str, Any] = {name: value}
    if name == "at":
        return replace(question, **changed)
    return replace(question, parts=(replace(parts[0], **changed),))


KNOWN: Final = str(Path(__file__).with_name("libraries.toml"))
_SECONDS, _IMPORTS = 15.0, 3  # of a program, and how many times that of the first
_CHILD: Final = """
import json, sys, warnings
warnings.filterwarnings("ignore")
replies, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no reply
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (3600, 3600))  # if nobody is there to end it
except (ImportError, ValueError):
    pass
for line in sys.stdin:
    names = {}
    try:
        exec(json.loads(line), names)
        reply = names["answer"] if isinstance(names["answer"], str) else float(names["answer"])
    except BaseException as error:
        reply = [f"{type(error).__name__}: {error}"[:200]]
    print(json.dumps(reply), file=replies, flush=True)
"""


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A number that a library publishes; ``libraries.toml`` says what the fields mean."""

    name: str
    upper: bool = True
    rigorous_from: float = math.inf
    epsilon: str = ""
    delta: str = ""
    power: str = ""
    noise: str = ""


@final
@dataclass(frozen=True, slots=True)
class Library:
    """What a library publishes; ``libraries.toml`` says what the fields mean."""

    states: str
    poisson: bool
    kinds: Mapping[str, Sequence[str]]
    claims: tuple[Claim, ...]
    before: str = ""

    @property
    def asked(self) -> list[str]:
        """Return what some claim answers; epsilon twice, as it is asked most."""
        names = ("epsilon", "epsilon", "delta", "power", "noise")
        return [name for name in names if any(getattr(one, name) for one in self.claims)]

    @property
    def past(self) -> list[Question]:
        """Return what some accountant got wrong before, of the questions that are answered."""
        return [
            question
            for question in PAST
            for part in question.parts
            if question.relation in self.kinds.get(part.kind, ()) and question.asked in self.asked
            if self.poisson or part.rate == 1
        ]

    def questions(self, source: random.Random) -> Iterator[Question]:
        """Yield what some accountant got wrong before, and then random questions without end."""
        yield from self.past
        while asked := source.choice(self.asked):
            yield draw(source, self.kinds, asked, poisson=self.poisson)

    def program(self, claim: Claim, question: Question) -> str:
        """Return the program that leaves a number in ``answer``; empty if none is published."""
        wanted: str = getattr(claim, question.asked)
        return f"{question.written()}\n{self.before.lstrip()}{wanted.strip()}" if wanted else ""


def libraries(path: str = KNOWN) -> dict[str, Library]:
    """Return the libraries of a file, by the names of their distributions."""
    try:
        tables = tomllib.loads(content(path, "libraries to ask"))
        return {
            name: Library(**{**one, "claims": tuple(Claim(**claim) for claim in one["claims"])})
            for name, one in tables.items()
        }
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise InputError(f"{path}: expected libraries to ask: {error}") from error


@final
@dataclass(slots=True)
class Peer:
    """A process that runs programs, started again when it is lost."""

    python: str = sys.executable
    # The longest time for one program; the first one also imports the library.
    seconds: float = _SECONDS
    _process: subprocess.Popen[str] | None = field(default=None, init=False)

    def ask(self, program: str) -> float | str | list[str]:
        """Return a program's number, its text, or in a list why there is none."""
        fresh = self._process is None
        if self._process is None:
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            command = [self.python, "-c", _CHILD]
            try:
                self._process = subprocess.Popen(  # noqa: S603  # the caller's interpreter, our text
                    command, stdin=pipe, stdout=pipe, stderr=null, text=True
                )
            except OSError as error:
                raise InputError(f"{self.python}: cannot be run: {error.strerror}") from error
        process = self._process
        allowed = self.seconds * (_IMPORTS if fresh else 1)
        late = threading.Timer(allowed, process.kill)
        late.start()
        try:
            print(json.dumps(program), file=process.stdin, flush=True)  # to a pipe
            line = process.stdout.readline() if process.stdout else ""
        except BrokenPipeError:
            line = ""
        late.cancel()
        if not line:
            self.close()
            return [f"no answer within {allowed:g} s, or the process died"]
        answer: float | str | list[str] = json.loads(line)
        return answer

    def version(self, package: str) -> str:
        """Return the version of an installed distribution; empty without it."""
        answer = self.ask(f"from importlib.metadata import version\nanswer = version({package!r})")
        return answer if isinstance(answer, str) else ""

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None


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


_HEAD = """# Numbers that an instance contradicts

Generated by `dpproof refute`. A claim is refuted where some instance of the mechanism costs more
than it says. The certificate proves the end of the bracket that it contradicts.
"""


def lines(report: Report) -> Iterator[str]:
    """Yield a report as lines of text."""
    yield f"{report.package} {report.version}, {report}: {report.library.states}"
    for claim, counts in report.counts.items():
        words = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.most_common())
        yield f"  {claim}: {words}"
        if claim in report.loosest:
            one = report.loosest[claim]
            yield f"    loosest by {100 * one.excess:.3g} %: {one.question}"
    yield from (f"  {one.verdict.name} after {at:.0f} s: {one}" for at, one in report.found)


def write(
    reports: Sequence[Report],
    out: str,
    note: Callable[[Report, Finding], str] = lambda *_: "",
    nothing: str = "Nothing was found",  # the sentence on a library without findings
) -> None:
    """Write a page, and beside it the certificates that it names."""
    passages = [_HEAD]
    for report in reports:
        passages.append(
            f"## {report.package} {report.version}\n\n"
            f"It states: {report.library.states}. Asked: {report}.\n"
        )
        passages.extend(_passage(report, one, out, note(report, one)) for _, one in report.found)
        passages.extend([] if report.found else [f"{nothing}.\n"])
    save(out, "\n".join(passages))


def _passage(report: Report, finding: Finding, out: str, note: str) -> str:
    words = [finding.verdict.value, *([note] if note else [])]
    programs = [report.library.program(finding.claim, finding.question) + "\nprint(answer)"]
    if finding.verdict is not Verdict.NONSENSE:
        programs.append(_ours(finding))
        try:
            proof = finding.certificate().to_json()
        except PrivacyError as refusal:
            words.append(f"no certificate: {refusal}")
        else:
            digest = hashlib.sha256(proof.encode()).hexdigest()
            name = f"{Path(out).stem}-{report.package}-{digest[:8]}.json"
            save(str(Path(out).with_name(name)), proof)
            words.append(f"certificate: [{name}]({name}), verified, SHA-256 `{digest}`")
    items = "\n".join(f"- {one}" for one in words)
    code = "\n\n".join("\n".join(f"    {x}" for x in one.splitlines()) for one in programs)
    return f"### {finding}\n\n{items}\n\nTheirs, then ours:\n\n{code}\n"


def _ours(finding: Finding) -> str:
    """Return the program that answers a question here."""
    question, lower = finding.question, finding.claim.upper
    event = question.event(instance=lower)
    neighbours = type(question.guarantee(instance=lower).relation).__name__
    ((name, at),) = question.point.items()
    return (
        f"from dpproof.accountant import {neighbours}\nfrom dpproof.interop import from_dp_event\n"
        f"known = from_dp_event({json.dumps(event)}, relation={neighbours}())\n"
        f"print(known.{question.method}({name}={at}), known.certify({name}={at}, lower={lower}))"
    )


LAST: Final = 15.0  # seconds


def refute(names: Sequence[str], python: str, seconds: float, seed: int) -> list[Report]:
    """Ask libraries for so many seconds each, and print what came of it."""
    available, wanted, reports = libraries(), dict[str, Library](), []
    for name in names or available:
        if name not in available and not name.endswith(".toml"):
            raise InputError(
                f"{name}: expected a file ending in .toml or one of {', '.join(available)}"
            )
        wanted |= {name: available[name]} if name in available else libraries(name)
    for name, library in wanted.items():
        peer = Peer(python)
        try:
            report = Report(name, peer.version(name), library, seed)
            if not report.version:
                streams.say(f"{name}: skipped, as it is not installed")
                continue
            with streams.progress(None) as step:
                ask = partial(run, report, peer, seconds=seconds, progress=step)
                ended_in_time(seconds + LAST, ask)
        finally:
            peer.close()
        reports.append(report)
        streams.say("\n".join(lines(report)))
        if (ours := report.ours()) is not None:
            raise InputError(f"{ours}: please report it, as both numbers are rigorous")
    return reports
