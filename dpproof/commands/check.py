"""The claim that a certificate proves, and its match with a pipeline file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from fractions import Fraction
from hashlib import sha256
from typing import Any, Final, final

from dpproof import files, streams
from dpproof.commands.certify import certified, digest_label
from dpproof.errors import InputError
from dpproof.pipeline.pipeline import Pipeline
from dpproof.proofs import Certificate, Rejected, Verdict, Verified, VerifiedUnder, check_text
from dpproof.proofs.__main__ import REJECTED, VERIFIED, lines, main
from dpproof.proofs.certificate import Json

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
    """Return the sentences that one verdict alone has, without those that differ by a part only.

    If there are any, the first one is among them, as nothing that it names differs.
    """
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
