"""Answers within ``--seconds``: the exact one, or a quick upper end that is proved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import click
import pytest

from dpproof import time_limit
from dpproof.__main__ import commands, main
from dpproof.accountant import DominatingPair
from dpproof.accountant.errors import NotImplied
from dpproof.ledger.ledger import Ledger
from dpproof.proofs import VerifiedUnder, check_text
from dpproof.time_limit import NotInTime, first_known, shares

TEXT = """
[pipeline]
relation = "add-remove"
delta = 1e-6
epsilon = 5

[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 1.0
sampling = { scheme = "poisson", rate = 0.01 }
count = 100
"""
EXACT = 0.9542  # its epsilon, rounded up
EVENT = """
{"class_name": "SelfComposedDpEvent", "count": 100, "event":
  {"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.01,
   "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}}}
"""
SHORT = {"calibrate", "export", "backup", "restore", "import", "init", "commit", "release", "limit"}
SHORT |= {"lower", "raise", "renew", "close", "log", "status", "certificate", "report"}
"""Commands of ledgers that compute nothing long, or that no timer may stop as they write."""


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, by its words."""
    for name, one in commands.commands.items():
        if isinstance(one, click.Group):
            yield from ((f"{name} {inner}", two) for inner, two in one.commands.items())
        else:
            yield name, one


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """No exact answer is known in time: half of the time is over before the work begins."""
    seen: list[float | None] = []

    def ended(seconds: float | None, work: Callable[[], object]) -> bool:
        seen.append(seconds)
        if len(seen) % 2:
            return False
        work()
        return True

    monkeypatch.setattr(time_limit, "ended_in_time", ended)


def failing(error: BaseException) -> Iterator[str]:
    """A way without an answer."""
    yield from ()
    raise error


def test_every_command_that_may_take_long_takes_seconds() -> None:
    """The others are commands of ledgers that read or write what is known."""
    without = {
        words
        for words, one in every_command()
        if not any("--seconds" in parameter.opts for parameter in one.params)
    }

    assert without == {f"ledger {name}" for name in SHORT} - {"ledger calibrate"}


def test_the_first_way_that_answers_is_asked_alone() -> None:
    """Without a limit and in time; what it refuses is refused."""

    def exact() -> Iterator[str]:
        yield "exact"

    refused, never = partial(failing, NotImplied("no")), partial(failing, AssertionError())
    assert first_known(None, "x", exact, never) == ("exact", False)
    assert first_known(60, "x", exact, never) == ("exact", False)
    with pytest.raises(NotImplied):
        first_known(60, "x", refused, never)


@pytest.mark.usefixtures("late")
def test_the_last_answer_of_a_later_way_counts() -> None:
    """One that is refused is none."""
    assert first_known(2, "x", lambda: iter("a"), lambda: iter("bc")) == ("c", True)
    refused = partial(failing, NotImplied("no"))
    with pytest.raises(NotInTime, match="x is not known after 2 seconds; give more"):
        first_known(2, "x", lambda: iter("a"), refused)


def test_shares_are_of_what_is_left() -> None:
    """Of no time, what is least; without a limit none."""
    assert [*shares(None, 3)] == [None] * 3
    assert [*shares(1e-9, 2)] == [1e-3, 1e-3]
    first, *_ = shares(30, 3)
    assert first == pytest.approx(10, abs=1)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("certify", "p.toml", "-o", "c.json"), "Verified"),
        (("import", "e.json", "--relation", "add-remove"), "in [0.0, "),
        (("compare", "p.toml"), "in [0.0, "),
        (("explain", "p.toml", "p.toml"), "no difference changes the cost"),
        (("plot", "p.toml"), "pipeline.png"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_quick_upper_end_is_said_to_be_one(
    words: tuple[str, ...],
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is above the exact one, and the checker accepts its certificate."""
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(TEXT, encoding="utf-8")
    Path("e.json").write_text(EVENT, encoding="utf-8")
    assert main([*words, "--seconds", "4"]) == 0
    told = capsys.readouterr().out

    assert shown in told
    assert "not exact, the time was up" in told
    if words[0] == "certify":
        verdict = check_text(Path("c.json").read_text(encoding="utf-8"))
        assert isinstance(verdict, VerifiedUnder)
        proved = float(
            Fraction(json.loads(Path("c.json").read_text())["steps"][-1]["conclusion"]["epsilon"])
        )
        assert EXACT < proved < 2 * EXACT


def test_a_spend_that_is_priced_in_time_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With seconds that are enough the ledger charges what it does without."""
    file = tmp_path / "p.toml"
    file.write_text(TEXT, encoding="utf-8")
    left = []
    for options in ((), ("--seconds", "600")):
        place = str(tmp_path / f"{len(options)}.ledger")
        budget = ("--epsilon", "3", "--delta", "1e-5", "--relation", "add-remove")
        assert main(["ledger", "init", place, *budget]) == 0
        capsys.readouterr()
        assert main(["ledger", "spend", place, str(file), "--key", "a", *options]) == 0
        left.append(capsys.readouterr().out)

    assert left[0] == left[1]


@pytest.mark.usefixtures("late")
def test_a_spend_that_is_priced_late_costs_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Divergences alone are charged, and never less than what runs."""
    file = tmp_path / "p.toml"
    file.write_text(TEXT, encoding="utf-8")
    place = str(tmp_path / "a.ledger")
    budget = ("--epsilon", "3", "--delta", "1e-5", "--relation", "add-remove")
    assert main(["ledger", "init", place, *budget]) == 0
    assert main(["ledger", "spend", place, str(file), "--key", "a", "--seconds", "600"]) == 0
    assert "its cost is not exact, the time was up" in capsys.readouterr().err
    assert main(["ledger", "log", place, "--json", "--delta", "1e-6"]) == 0
    (spend,) = [one for one in json.loads(capsys.readouterr().out)["entries"] if one["key"]]

    assert spend["epsilon"] >= EXACT - 1e-3
    assert DominatingPair.__name__ not in spend["guarantee"]
    opened = Ledger.open(place)
    assert opened.verify().certificates
    opened.close()
