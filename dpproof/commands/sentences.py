"""The assumptions of two verdicts, compared for any numbers given to mechanisms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Final, final

from dpproof.proofs import VerifiedUnder

_NAME: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\bM[1-9][0-9]*\b')  # or words of an author, kept
_LONG: Final = re.compile(r"\[[0-9]+ characters, sha256 ([0-9a-f]{64})\]")
_LABEL: Final = re.compile(r'(M[0-9]+) is called ("(?!file sha256 ).*")')
_TOGETHER: Final = re.compile(r"M[0-9]+(?: and M[0-9]+)+(?= on the same data)")
_ALIKE: Final = 0.8  # Share of equal words of two sentences told as one difference. Heuristic.
_AROUND: Final = 5  # Words told before and after a difference.


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
