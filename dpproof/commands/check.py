"""The claim that a certificate proves, its match with a pipeline file, and a theorem for Coq.

The theorem, over the library of proofs/formal, speaks of every run whose steps are private as the
pipeline's are, in its order, each chosen by the outputs before it, on finite output spaces. Coq
computes the composition again.
"""

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from fractions import Fraction
from hashlib import sha256
from typing import Any, Final, final

from dpproof import files, streams
from dpproof.accountant import ApproxDP, Guarantee, PureDP, Relation
from dpproof.accountant.guarantees.rounding import exp_up
from dpproof.commands.certify import certified, digest_label
from dpproof.errors import InputError, placed
from dpproof.files import save
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.proofs import Certificate, Rejected, Verdict, Verified, VerifiedUnder, check_text
from dpproof.proofs.__main__ import REJECTED, VERIFIED, lines, main
from dpproof.proofs.certificate import Json
from dpproof.rounding import below

_NAME: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\bM[1-9][0-9]*\b')  # or words of an author, kept
_LONG: Final = re.compile(r"\[[0-9]+ characters, sha256 ([0-9a-f]{64})\]")
_LABEL: Final = re.compile(r'(M[0-9]+) is called ("(?!file sha256 ).*")')
_TOGETHER: Final = re.compile(r"M[0-9]+(?: and M[0-9]+)+(?= on the same data)")
_ALIKE: Final = 0.8  # Share of equal words of two sentences told as one difference. Heuristic.
_AROUND: Final = 5  # Words told before and after a difference.


def answer(
    certificate: str,  # path of the certificate
    *,
    against: str | None,  # path of a pipeline file, or None to compare with nothing
    as_json: bool,
    core: bool,
    show: str | None,
    **of_others: Any,  # noqa: ANN401  # of the file, as of ``pipeline_of``
) -> int:
    """Check a certificate, compare it with what certify writes of a file, and print both."""
    if against is None and not as_json:
        return main([certificate, *["--core"] * core, *(["--show", show] if show else [])])
    if show is not None:
        raise InputError("--show prints one content alone; leave out --against and --json")
    if certificate == against == files.STANDARD_INPUT:
        raise InputError("standard input is one file; give the path of the other")
    text = files.content(certificate, "a certificate")
    verdict = check_text(text, core=core)
    said, told, same = lines(verdict), _as_json(verdict), verdict.ok
    if against is not None and not isinstance(verdict, Rejected):
        from dpproof.commands.interchange import is_imported, pipeline_of  # noqa: PLC0415  # for other files only

        claimed = Certificate.from_json(text)
        pipeline = pipeline_of(against, **of_others)
        if is_imported(pipeline) and "delta" in claimed.claim:  # a file of others states none
            pipeline = replace(pipeline, delta=Fraction(str(claimed.claim["delta"])))
        found, others = _differences(claimed, verdict, pipeline)
        same = not found
        listed = [f"  - {one}" for one in found]
        said += [f"Speaks of {pipeline.file}: {'yes' if same else 'no'}", *listed, *others]
        told |= {"file": pipeline.file, "speaks_of_file": same, "differences": found}
        told |= {"remarks": others}
    if as_json:
        streams.say_json("check", told)
    else:
        streams.say("\n".join(said))
    return VERIFIED if same else REJECTED


def _as_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a JSON object."""
    if isinstance(verdict, Rejected):
        about = {name: getattr(verdict, name) for name in ("step", "rule", "reason")}
        return {"verified": False, **about}
    return {
        "verified": True,
        "claim": verdict.claim,
        "assumptions": list(getattr(verdict, "assumptions", ())),
        "labels": list(verdict.labels),
        "extensions": list(verdict.extensions),
        "details": dict(verdict.details),
    }


def _differences(
    certificate: Certificate, verdict: Verified | VerifiedUnder, pipeline: Pipeline
) -> tuple[list[str], list[str]]:
    """Return what keeps a certificate from speaking of a file, and what else there is to say."""
    question = _question(certificate.claim)
    if question is None:
        what = (
            "epsilon at its delta, the true-positive rate or advantage of attacks, and lower ends"
        )
        return [f"its claim is of another kind than what is certified of files: {what}"], []
    own, expected = certified(pipeline, **question)
    changes = [
        f"{name}: {_shown(certificate.claim[name])} in the certificate, "
        f"{_shown(own.claim[name])} by the file"
        for name in ("relation", "steps", "delta")
        if certificate.claim.get(name) != own.claim.get(name) and "relation" in certificate.claim
    ]
    if isinstance(verdict, VerifiedUnder) and isinstance(expected, VerifiedUnder):
        changes += differences(verdict, expected)
    elif certificate.claim["product"] != own.claim["product"]:
        changes.append(
            "its pair of laws is another than the one that dominates the file's pipeline"
        )
    proved = f"of the file is proved: {expected.claim}"
    remarks = [] if verdict.claim == expected.claim else [proved]
    return changes, [*remarks, *_digests(verdict, pipeline)]


def _shown(value: Json) -> str:
    """Return a relation, a number of steps or a delta, which is a float, as people write it."""
    text = str(value)
    return repr(float(Fraction(text))) if "/" in text else text


def _question(claim: Mapping[str, Json]) -> dict[str, Any] | None:
    """Return the question that a claim answers, or None if certify asks no such of files."""
    rate = {"false_positive_rate": Fraction(str(claim.get("false_positive_rate", 0)))}
    questions: Mapping[str, dict[str, Any]] = {
        "approx-dp": {},
        "true-positive-rate": rate,
        "advantage": {"advantage": True},
        "hockey-stick-at-least": {"lower": True, "advantage": claim.get("epsilon") == "0"},
        "true-positive-rate-at-least": {"lower": True, **rate},
    }
    return questions.get(str(claim["notion"]))


def _digests(verdict: Verified | VerifiedUnder, pipeline: Pipeline) -> list[str]:
    """Say whose digest a certificate carries, if it carries one."""
    if any(digest_label(pipeline) in label for label in verdict.labels):
        return ["it carries the digest of this file"]
    if any("file sha256 " in label for label in verdict.labels):
        return ["it carries the digest of another file, or of this one before a change"]
    return []


@final
@dataclass(frozen=True, slots=True)
class _Sentence:
    """One assumption."""

    text: str
    meaning: str
    shape: str
    parts: tuple[str, ...]

    @property
    def subject(self) -> str:
        """Return the mechanism that the sentence is about."""
        return self.text.split(" ", 1)[0]


def differences(verdict: VerifiedUnder, expected: VerifiedUnder) -> list[str]:
    """Return how assumptions of a certificate differ from those of a file, in words."""
    names = {one[1]: one[2] for one in map(_LABEL.fullmatch, expected.labels) if one}
    certificate, file = _alone(verdict, expected), _alone(expected, verdict)
    changes, left = [], list(file)
    for one in certificate:
        others = (other for other in left if other.shape != one.shape)
        near = max(others, key=lambda other: _likeness(one, other), default=None)
        if near is not None and _likeness(one, near) >= _ALIKE:
            left.remove(near)
            changes.append(_change(one, near, names.get(near.subject, near.subject)))
        else:
            changes.append(f"the certificate alone assumes: {one.text}")
    return [*changes, *(f"the file alone says: {one.text}" for one in left)]


def _alone(verdict: VerifiedUnder, other: VerifiedUnder) -> list[_Sentence]:
    """Return the sentences that one verdict alone has, without those that differ by a part only."""
    # If there are any, the first one is among them, as nothing that it names differs.
    theirs = {one.meaning for one in _sentences(other)}
    unmatched = [one for one in _sentences(verdict) if one.meaning not in theirs]
    mine = {one.meaning for one in _sentences(verdict)}
    shapes = {one.shape for one in _sentences(other) if one.meaning not in mine}
    changed = {one.subject for one in unmatched}
    return [one for one in unmatched if one.shape not in shapes or changed.isdisjoint(one.parts)]


def _sentences(verdict: VerifiedUnder) -> list[_Sentence]:
    """Return the assumptions of a verdict; parts have smaller numbers than their whole."""
    meanings: dict[str, list[str]] = defaultdict(list)
    sentences: dict[str, _Sentence] = {}
    about = defaultdict(list)
    for text in verdict.assumptions:
        if not text.startswith("for "):  # shared conditions follow from what each mechanism does
            about[text.split(" ", 1)[0]].append(text)
    for subject in sorted(about, key=lambda name: int(name[1:])):
        for text in about[subject]:
            sentences[text] = _sentence(text, subject, verdict.details, meanings)
        meanings[subject] = sorted(sentences[text].meaning for text in about[subject])
    return [sentences[text] for text in verdict.assumptions if text in sentences]


def _sentence(
    text: str, subject: str, details: Mapping[str, str], meanings: Mapping[str, list[str]]
) -> _Sentence:
    """Return one assumption about a mechanism, of whose parts everything is known."""
    whole = text
    while digest := next((one for one in _LONG.finditer(whole) if one[1] in details), None):
        whole = whole.replace(digest[0], details[digest[1]])
    parts = tuple(one for one in _NAME.findall(whole) if one[0] == "M" and one != subject)

    def meaning(name: str) -> str:
        if name[0] == '"' or name == subject:
            return name if name[0] == '"' else "M"
        return sha256(" ".join(meanings[name]).encode()).hexdigest()

    def together(names: re.Match[str]) -> str:  # the order of what runs on the same data is free
        return " and ".join(sorted(names[0].split(" and "), key=meaning))

    written = _NAME.sub(lambda name: meaning(name[0]), _TOGETHER.sub(together, whole))
    shape = _NAME.sub(lambda name: name[0] if name[0][0] == '"' else "M", text)
    return _Sentence(text, sha256(written.encode()).hexdigest(), shape, parts)


def _likeness(one: _Sentence, other: _Sentence) -> float:
    """Return the share of equal words of two sentences, numbers of mechanisms apart."""
    return SequenceMatcher(None, one.shape.split(), other.shape.split(), autojunk=False).ratio()


def _change(one: _Sentence, other: _Sentence, name: str) -> str:
    """Say which words differ in two sentences, one of the certificate and one of the file."""
    shapes = one.shape.split(), other.shape.split()
    least = min(map(len, shapes))
    first = _equal(*shapes, least)
    last = _equal(shapes[0][::-1], shapes[1][::-1], least - first)
    shown = []
    for text in (one.text, other.text):  # with as many words as its shape
        words = text.split()
        part = words[max(first - _AROUND, 0) : len(words) - max(last - _AROUND, 0)]
        shown.append(" ".join(part).rstrip(",;"))
    return f"{name}: '{shown[0]}' in the certificate, '{shown[1]}' by the file"


def _equal(words: Sequence[str], others: Sequence[str], most: int) -> int:
    """Return the number of equal words at the beginning of two lists, at most so many."""
    pairs = zip(words[:most], others[:most], strict=True)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), most)


PLACES: Final = 70
"""Binary digits of a rounded mass."""
MOST_STEPS: Final = 1_000
MOST_LOSSES: Final = 1_600
_PARTS: Final = 10**9  # of an epsilon that is rounded up
_ODDS: Final = 10**12  # the denominator of the odds of one step of the grid


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Equal steps in a row."""

    times: int
    epsilon: Fraction  # of each, nats
    delta: Fraction


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """A pair of laws whose losses are multiples of one number, as ``Grid.v`` has it."""

    infinite: int  # the mass of the infinite loss, in units of 2^-PLACES
    masses: list[int]  # those of the losses from ``-lowest`` on
    lowest: int  # multiples of the step of the grid


def write(pipeline: Pipeline, out: str) -> Fraction:
    """Write the theorem of a pipeline at its delta; return the epsilon that it states."""
    with placed(pipeline.file):
        groups = [one for stage in pipeline.stages for one in _groups(stage, pipeline.relation)]
    text, epsilon = theorem(groups, Fraction(below(pipeline.delta, 17)))
    save(out, text)
    return epsilon


def _groups(stage: Stage, relation: Relation) -> Iterator[Group]:
    """Yield the steps of a stage: its releases one by one, or all of it where they are tied."""
    with placed(stage.place):
        if stage.runs is not None or stage.protect > 1:
            yield _group(stage.guarantee(relation), 1)
        elif stage.sampling is not None:
            yield _group(replace(stage, count=1).guarantee(relation), stage.count)
        else:
            for release in stage.releases:
                yield _group(release.build(relation).guarantee(), stage.count)
            for inner in stage.stages:
                for one in _groups(inner, relation):
                    yield replace(one, times=one.times * stage.count)


def _group(guarantee: Guarantee[Relation], times: int) -> Group:
    if isinstance(guarantee, PureDP):
        return Group(times, guarantee.stated_epsilon, Fraction(0))
    if isinstance(guarantee, ApproxDP):
        return Group(times, guarantee.stated_epsilon, guarantee.stated_delta)
    upper = guarantee.epsilon(delta=0).upper
    if math.isinf(upper):
        raise InputError(
            "a theorem for Coq is about steps of finite privacy loss, and this one has no epsilon "
            "at delta 0; noise of bounded loss (Laplace, geometric, randomised response) has one"
        )
    return Group(times, Fraction(math.ceil(Fraction(upper) * _PARTS), _PARTS), Fraction(0))


def theorem(groups: Sequence[Group], delta: Fraction) -> tuple[str, Fraction]:
    """Return the text of a theorem about all runs of these steps, and its epsilon."""
    groups = [one for one in groups if one.epsilon or one.delta]
    steps = sum(one.times for one in groups)
    if not 1 <= steps <= MOST_STEPS:
        raise InputError(
            f"a theorem for Coq is about 1 to {MOST_STEPS} steps, and these are {steps}"
        )
    width = _width(groups)
    odds = Fraction(math.ceil(exp_up(width) * _ODDS), _ODDS)
    multiples = [max(1, math.ceil(one.epsilon / width)) for one in groups]
    grid = Grid(0, [1 << PLACES], 0)
    for one, multiple in zip(reversed(groups), reversed(multiples), strict=True):
        for _ in range(one.times):
            grid = _composed(_told(odds, multiple, one.delta), grid)
    m = _smallest(odds, grid, delta)
    epsilon = Fraction(math.ceil(Fraction(m * math.log(odds)) * 10**6 + Fraction(1, 100)), 10**6)
    steps_of = ";\n  ".join(
        f"Group {one.times} (Step {multiple} {one.delta.numerator} {one.delta.denominator}) "
        f"({_real(one.epsilon)}) ({_real(one.delta)})"
        for one, multiple in zip(groups, multiples, strict=True)
    )
    return _text(steps_of, odds, m, epsilon, delta), epsilon


def _width(groups: Sequence[Group]) -> Fraction:
    """Return the step of the grid: a part of all epsilons if so many losses fit, or the finest."""
    largest = sum((one.times * one.epsilon for one in groups), Fraction(0))
    finest = 2 * largest / MOST_LOSSES or Fraction(1)
    common = Fraction(
        math.gcd(*(one.epsilon.numerator for one in groups)),
        math.lcm(*(one.epsilon.denominator for one in groups)),
    )
    return common / (common // finest) if common >= finest else finest


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _told(odds: Fraction, multiple: int, delta: Fraction) -> Grid:
    """Return the pair of randomised response beside an outcome that tells, rounded up."""
    high, low = odds.numerator**multiple, odds.denominator**multiple
    u, v = delta.numerator, delta.denominator
    over = v * (high + low)
    tells, lie, truth = (
        _up(mass << PLACES, over) for mass in (u * (high + low), (v - u) * low, (v - u) * high)
    )
    return Grid(tells, [lie, *[0] * (2 * multiple - 1), truth], multiple)


def _composed(one: Grid, other: Grid) -> Grid:
    """Return the product, its masses shifted back and rounded up."""
    products = [0] * (len(one.masses) + len(other.masses) - 1)
    for i, mass in enumerate(one.masses):
        if mass:
            for j, factor in enumerate(other.masses):
                products[i + j] += mass * factor
    infinite = one.infinite * (other.infinite + sum(other.masses))
    infinite += sum(one.masses) * other.infinite
    unit, lowest = 1 << PLACES, one.lowest + other.lowest
    return Grid(_up(infinite, unit), [_up(mass, unit) for mass in products], lowest)


def _smallest(odds: Fraction, grid: Grid, delta: Fraction) -> int:
    """Return the smallest m at which the divergence, which falls, is at most delta at odds^m."""
    exponents = range(len(grid.masses) - grid.lowest)
    m = bisect_left(exponents, x=True, key=lambda one: _at_most(odds, grid, one, delta))
    if m == len(exponents):
        raise InputError("delta is at most that of the steps together, so no epsilon is proved")
    return m


def _at_most(odds: Fraction, grid: Grid, m: int, delta: Fraction) -> bool:
    """Return whether the divergence at odds^m is at most delta, as ``Grid.at_most`` decides it."""
    tail = grid.masses[grid.lowest + m + 1 :]
    discounted, weight = 0, 1 << PLACES
    for mass in tail:
        weight = weight * odds.denominator // odds.numerator
        discounted += mass * weight
    left = ((grid.infinite + sum(tail)) << PLACES) * delta.denominator
    return left <= (delta.numerator << (2 * PLACES)) + discounted * delta.denominator


def _text(groups: str, odds: Fraction, m: int, epsilon: Fraction, delta: Fraction) -> str:
    over = f"{odds.numerator} {odds.denominator} {PLACES}"
    return f"""(** A budget, for coqc -R proofs/formal DP of this file.

    Every run whose steps are private as listed, in this order, each chosen by the outputs
    before it, is
    ({epsilon}, {delta})-differentially private.
    A group: how many steps, and the epsilon and delta of each. *)
From Coq Require Import NArith Reals Lra.
From mathcomp Require Import all_ssreflect.
From Interval Require Import Tactic.
From DP Require Import Laws Rules Grid Numbers.

Definition groups : seq group := [::
  {groups}]%Re.

Theorem budget (D : Type) (T : finType) (N : relation D) n (p : program real D T n) :
  obeys_groups N groups p -> private N (run p) ({_real(epsilon)})%Re ({_real(delta)})%Re.
Proof.
apply: (@certified {over} groups {m} {delta.numerator} {delta.denominator}).
- by vm_compute.
- by rewrite /= /shown /as_real /=; repeat split; first [lra | interval with (i_prec 100)].
- by rewrite /as_real /=; interval with (i_prec 100).
- by rewrite /as_real /=; lra.
Qed.

Print Assumptions budget.
"""


def _real(value: Fraction) -> str:
    return f"{value.numerator} / {value.denominator}"
