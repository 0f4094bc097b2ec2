"""Names of keys, datasets and principals."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp

PART = dp.ZCDP(rho=Fraction(1, 64))
NO_NAMES: dict[str, Any] = {
    "nothing": "",
    "a space": " ",
    "a number": 7,
    "a NUL": "\x00",
    "lines": "a\nb",
    "a surrogate": "\ud800",
    "bytes": b"patients",
    "a megabyte": "x" * 10**6,
}


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    """A ledger that limits the dataset patients."""
    made = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=100))
    made.limit(dp.ZCDP(rho=1), dataset="patients")
    return made


@pytest.mark.parametrize("bad", NO_NAMES)
def test_what_is_no_name_is_refused(tmp_path: Path, bad: str) -> None:
    """Of a dataset and of a principal, by every call that takes one, in a short line."""
    name = NO_NAMES[bad]
    made = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=100), open_names=True)
    for place in ({"dataset": name}, {"principal": name}):
        calls = (
            lambda place=place: made.spend(PART, key="a", **place),
            lambda place=place: made.reserve(PART, key="a", **place),
            lambda place=place: made.limit(PART, **place),
            lambda place=place: dp.Ledger.create(tmp_path / "new", budget=PART, **place),
        )
        for call in calls:
            with pytest.raises(dp.ParameterError) as refusal:
                call()
            assert len(str(refusal.value)) < 200
    assert made.status().entries == 1
    assert not (tmp_path / "new").exists()


def test_a_misspelt_dataset_does_not_pass_its_budget(ledger: dp.Ledger) -> None:
    """It is refused with the name that was meant, and nothing is spent."""
    with pytest.raises(dp.LedgerError, match="did you mean 'patients'"):
        ledger.spend(PART, key="a", dataset="Patients")
    with pytest.raises(dp.LedgerError, match="'survey' has no limit; nothing was spent"):
        ledger.reserve(PART, key="a", dataset="survey")
    ledger.spend(PART, key="a", dataset="patients", principal="ann")

    assert ledger.status().committed == ("a",)


def test_principals_are_limited_apart_from_datasets(ledger: dp.Ledger) -> None:
    """A limit of a principal asks for principals with a limit, and one may still be added."""
    ledger.limit(dp.ZCDP(rho=1), principal="ann")
    with pytest.raises(dp.LedgerError, match="did you mean 'ann'"):
        ledger.spend(PART, key="a", principal="anne")
    ledger.limit(dp.ZCDP(rho=1), principal="anne")
    ledger.spend(PART, key="a", principal="anne")
    ledger.spend(PART, key="b")

    assert ledger.verify().entries == 6


def test_open_names_spend_without_a_limit(tmp_path: Path) -> None:
    """Whoever makes a ledger with open names gets them, also after it is opened again."""
    made = dp.Ledger.create(
        tmp_path / "ledger", budget=dp.ZCDP(rho=1), dataset="census", open_names=True
    )
    made.limit(dp.ZCDP(rho=1), principal="ann")
    made.close()
    opened = dp.Ledger.open(tmp_path / "ledger")
    opened.spend(PART, key="a", dataset="census", principal="bob")

    assert opened.verify().entries == 3


@pytest.mark.parametrize("bad", ["no", 1, None])
def test_names_are_opened_on_purpose_only(tmp_path: Path, bad: Any) -> None:  # noqa: ANN401
    """By True, and by nothing else that is true."""
    with pytest.raises(dp.ParameterError, match="open_names"):
        dp.Ledger.create(tmp_path / "new", budget=PART, open_names=bad)
    assert not (tmp_path / "new").exists()
