"""State the verdicts of the checker."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import ClassVar, Final, TypeAlias

from .frozen import frozen


@frozen
class Verified:
    """The claim follows, from nothing that is taken for granted; see below."""

    claim: str
    extensions: tuple[str, ...] = field(default=(), compare=False)
    details: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    labels: tuple[str, ...] = field(default=(), compare=False)
    ok: ClassVar[bool] = True


@frozen
class VerifiedUnder:
    """The claim follows if the assumptions hold.

    Attributes:
        claim: in words.
        assumptions: everything taken for granted, each once, in words that the checker chose.
        extensions: those of the checker that the certificate needs beside the core.
        details: by digest, the contents that the claim and assumptions name by their digests.
        labels: the certificate author's names of mechanisms, quoted; nothing follows from it.
    """

    claim: str
    assumptions: tuple[str, ...]
    extensions: tuple[str, ...] = field(default=(), compare=False)
    details: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    labels: tuple[str, ...] = field(default=(), compare=False)
    ok: ClassVar[bool] = True


@frozen
class Rejected:
    """The claim is not proved by this certificate.

    Attributes:
        step: position of the first step that does not follow, None when no single step is wrong.
        rule: the rule it names, "format" when the text is not a certificate.
        reason: the error, in one line.
    """

    step: int | None
    rule: str
    reason: str
    ok: ClassVar[bool] = False


Verdict: TypeAlias = Verified | VerifiedUnder | Rejected


SHORT: Final = 240  # characters up to which a part stays in its sentence; readability alone
_BEGIN, _END = "\x02", "\x03"
_INNERMOST: Final = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")


def openable(content: str) -> str:
    """Mark a part of a sentence that may be long."""
    return f"{_BEGIN}{content}{_END}"


def quoted(words: str) -> str:
    """Return the author's words in quotation marks that they cannot close."""
    return json.dumps(words)


def with_digests(sentence: str) -> tuple[str, dict[str, str]]:
    """Return the sentence with every long part named by its digest, and these parts by digest."""
    details: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        content = match[1]
        if len(content) <= SHORT:
            return content
        digest = sha256(content.encode("utf-8")).hexdigest()
        details[digest] = content
        return f"[{len(content)} characters, sha256 {digest}]"

    while _INNERMOST.search(sentence):
        sentence = _INNERMOST.sub(name, sentence)
    return sentence, details
