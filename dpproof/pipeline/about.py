"""``[about]`` of a pipeline file: what people know of a release, and the file shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, final

from dpproof.pipeline.section import Section, quoted

LONGEST: Final = 1000  # characters
_LINE: Final = f"a text on one line of at most {LONGEST} characters"
_DAY: Final = "a date such as 2026-03-01"
_LISTS: Final = ("approvers", "authors")
PRODUCTS: Final = (
    *("Summary statistics", "Machine learning model", "Dataset"),
    *("Synthetic data", "Interactive API", "SQL queries"),
)
MODELS: Final = ("Local", "Central", "Shuffle", "Federated")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The texts of ``[about]``, as docs/PIPELINES.md lists them; what is left out is empty."""

    title: str = ""
    purpose: str = ""
    description: str = ""
    owner: str = ""
    unit: str = ""  # whose data one record is
    data: str = ""
    version: str = ""
    date: str = ""  # of publication, as 2026-03-01
    approvers: tuple[str, ...] = ()
    product: str = ""
    region: str = ""
    model: str = ""  # of trust
    unprotected: str = ""  # what is published beside it without noise
    authors: tuple[str, ...] = ()  # of the registry's record


def read(section: Section) -> About:
    """Return the texts of the table."""
    section.only(About.__dataclass_fields__)
    values: dict[str, str | tuple[str, ...]] = {}
    for key in section.values:
        if key in _LISTS:
            values[key] = _names(section, key)
        elif key == "date":
            values[key] = _day(section)
        elif key in ("product", "model"):
            values[key] = section.choice(key, PRODUCTS if key == "product" else MODELS)
        else:
            values[key] = section.text(key, _LINE, LONGEST)
    return About(**values)  # type: ignore[arg-type]  # each by its key


def _names(section: Section, key: str) -> tuple[str, ...]:
    value = section.values[key]
    names = value if isinstance(value, list) else []
    if not names:
        raise section.refuse(key, f'expected names, such as ["A. Person"], got {quoted(value)}')
    return tuple(Section(section.place, {key: one}).text(key, _LINE, LONGEST) for one in names)


def _day(section: Section) -> str:
    value = section.values["date"]
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return date.fromisoformat(str(value) if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise section.refuse("date", f"expected {_DAY}, got {quoted(value)}") from None
