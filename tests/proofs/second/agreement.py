"""What the two checkers have to agree on, for any text whatever."""

from __future__ import annotations

import re

from dpproof.proofs import Rejected, Verdict as FirstVerdict, check_text
from tests.proofs.second.checker import Verdict, check


def disagreement(text: str) -> str | None:
    """Return in what the two checkers disagree about a text, or nothing.

    The first is asked for its core alone and for everything. Both name the same step, leave the
    same steps open and count the same mechanisms. A name that the second does not know is
    something that the first leaves open in its core, and refuses otherwise.
    """
    second, core, full = check(text), check_text(text, core=True), check_text(text)
    said = {"accept": _accepted, "reject": _rejected, "undecided": _undecided}
    wrong = said[second.outcome](second, core, full)
    return wrong and f"{wrong}: {second} {core} {full}"


def opened(verdict: FirstVerdict) -> set[int]:
    """Return the steps that the first checker says it did not check."""
    lines = [one for one in getattr(verdict, "assumptions", ()) if one.startswith("not checked")]
    found = [re.search(r'step (\d+) \("', line) for line in lines]
    return {int(one[1]) for one in found if one}


def _accepted(second: Verdict, core: FirstVerdict, full: FirstVerdict) -> str | None:
    if isinstance(core, Rejected):
        return "the second accepts"
    if opened(core) != set(second.open):
        return "they leave different steps open"
    if not (second.open or second.kept) and not full.ok:
        return "the second accepts, the first with its extensions does not"
    named = re.match(r"M(\d+) ", core.claim)
    if (int(named[1]) if named else None) != second.mechanism:
        return "they count mechanisms differently"
    return None


def _rejected(second: Verdict, core: FirstVerdict, full: FirstVerdict) -> str | None:
    if second.fault == "name":
        return "the second knows a name not" if full.ok else None
    if not isinstance(core, Rejected) or (full.ok and second.fault != "open"):
        return "the second rejects"
    if second.step is not None and core.step is not None and core.step != second.step:
        return "they reject different steps"
    return "the first does not decide" if "do not decide" in core.reason else None


def _undecided(second: Verdict, core: FirstVerdict, full: FirstVerdict) -> str | None:
    if not isinstance(core, Rejected) or full.ok:
        return "the second does not decide"
    if "do not decide" not in core.reason or core.step != second.step:
        return "the second does not decide, and the first rejects"
    return None
