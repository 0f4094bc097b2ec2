"""Names in a ledger: of keys, datasets and principals, and the budgets that these have."""

import difflib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from dpproof.accountant.errors import ParameterError
from dpproof.ledger.chain import canonical, digest
from dpproof.ledger.errors import LedgerDamaged, LedgerError
from dpproof.ledger.places import Execute, Statement

LONGEST: Final = 200  # characters of a key: what every database can index
KINDS: Final = ("dataset", "principal")

Where: TypeAlias = tuple[str | None, str | None]
"""A dataset and a principal, None for any."""


def require_line(what: str, text: object) -> None:
    """Refuse what is no name."""
    if not isinstance(text, str):
        raise ParameterError(what, type(text).__name__, "a text on one line")
    if len(text) > LONGEST:
        raise ParameterError(what, f"{len(text)} of them", f"at most {LONGEST} characters")
    if not text.strip() or not text.isprintable():
        raise ParameterError(what, text, "a text on one line")


def require_place(place: Where) -> None:
    """Refuse a dataset or a principal that is no name."""
    for what, text in zip(KINDS, place, strict=True):
        if text is not None:
            require_line(what, text)


def require_limited(state: Mapping[str, Any], place: Where) -> None:
    """Refuse a name without a budget where others of its kind have one: it may be misspelt."""
    if state.get("open_names"):
        return
    for at, what in enumerate(KINDS):
        asked = place[at]
        limited = {where(label)[at] for label in state["budgets"]} - {None}
        if asked is None or not limited or asked in limited:
            continue
        close = difflib.get_close_matches(
            asked.lower(), [one.lower() for one in limited if one is not None], n=1
        )
        meant = [one for one in limited if one is not None and one.lower() in close]
        hint = f", did you mean {meant[0]!r}?" if meant else ""
        raise LedgerError(
            f"this ledger limits each {what}, and {asked!r} has no limit{hint}; nothing was spent: "
            "add a limit before the first spend, or make the ledger with open_names=True"
        )


def name(place: Where) -> str:
    """Return the name of the budget of a dataset and a principal."""
    return canonical(list(place))


@lru_cache(maxsize=8192)
def where(label: str) -> Where:
    """Return the dataset and the principal of a budget's name."""
    dataset, principal = json.loads(label)
    return dataset, principal


def covers(place: Where, other: Where) -> bool:
    """Return whether a budget counts a spend; None in either place stands for any name."""
    pairs = zip(place, other, strict=True)
    return all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs)


IS_MET: Final = "SELECT number FROM $names WHERE digest = :digest"
_MEET: Final = "INSERT INTO $names (digest, name, number) VALUES (:digest, :name, :number)"


def meeting(state: dict[str, Any], place: Where) -> list[Statement]:
    """Note in the state that something was spent on a place, and return what keeps it."""
    label, (count, sum_) = name(place), state["names"]
    state["names"] = [count + 1, digest(f"{sum_}\n{label}")]
    return [(_MEET, {"digest": digest(label), "name": label, "number": count + 1})]


def met(execute: Execute, state: Mapping[str, Any]) -> list[Where]:
    """Return the places on which something was spent, in their order."""
    labels = [str(row[0]) for row in execute("SELECT name FROM $names ORDER BY number")]
    sum_ = ""
    for label in labels:
        sum_ = digest(f"{sum_}\n{label}")
    if [len(labels), sum_] != state["names"]:
        raise LedgerDamaged(
            "the names that were spent on are not those of the entries: the ledger was changed by "
            "something else; run dpproof ledger verify, and spend nothing"
        )
    return [where(label) for label in labels]
