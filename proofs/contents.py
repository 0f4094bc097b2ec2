"""Long contents of a verdict's sentences: each in full if it is short, else by its digest.

A rule encloses what may be long in two control characters, which no text of a certificate can hold.
The kernel replaces it: nothing is abbreviated but what can be opened, byte for byte.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Final

SHORT: Final = 240  # characters up to which a part stays in its sentence; readability alone
_BEGIN, _END = "\x02", "\x03"
_INNERMOST: Final = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")


def openable(content: str) -> str:
    """Mark a part of a sentence that may be long."""
    return f"{_BEGIN}{content}{_END}"


def quoted(words: str) -> str:
    """Words that the certificate's author chose: in quotation marks that they cannot close."""
    return json.dumps(words)


def with_digests(sentence: str) -> tuple[str, dict[str, str]]:
    """Return the sentence with every long part named by its digest, and these parts by digest."""
    details: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        content = found[1]
        if len(content) <= SHORT:
            return content
        digest = sha256(content.encode("utf-8")).hexdigest()
        details[digest] = content
        return f"[{len(content)} characters, sha256 {digest}]"

    while _INNERMOST.search(sentence):
        sentence = _INNERMOST.sub(name, sentence)
    return sentence, details
