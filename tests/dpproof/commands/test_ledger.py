"""``dpproof ledger``: statuses, and what is printed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import dpproof as dp
from tests.dpproof.command import Command
from tests.dpproof.files import LAPLACE, PIPELINE

ABOUT = ("--relation", "add-remove")
BIG = LAPLACE.replace("scale = 20", "scale = 0.4")


def test_spend_until_the_budget_is_used_up(tmp_path: Path, command: Command) -> None:
    """The same key is paid for once; a pipeline over the budget is 1, and changes nothing."""
    place = str(tmp_path / "ledger")
    budget = ("--epsilon", "3", "--delta", "1e-6", "--relation", "add-remove")
    assert command.run("ledger", "init", place, *budget).status == 0
    assert command.run("ledger", "init", place, *budget).status == 2
    file = command.file(PIPELINE + LAPLACE.replace("count = 3", "count = 40"))

    (effect,) = command.run("ledger", "what-if", place, file, "--json").json["budgets"]
    first = command.run("ledger", "spend", place, file, "--key", "a")
    again = command.run("ledger", "spend", place, file, "--key", "a")
    meant = command.run("ledger", "spend", place, file, "--key", "a", "--idempotent")
    spend = ("ledger", "spend", place, file, "--key", "a", "--idempotent", "--json")
    told = command.run(*spend).json
    over = command.run("ledger", "spend", place, command.file(PIPELINE + BIG), "--key", "b")

    assert (first.status, again.status, meant.status, over.status) == (0, 3, 0, 1)
    assert "run nothing for it again" in again.err
    assert "was spent before" in meant.out
    assert "it closes the ways gdp" in first.out
    assert over.err.count("\n") == 1
    assert (told["format"], told["key"], told["fresh"]) == ("dpproof.ledger-spend/1", "a", False)
    assert (effect["before"]["remaining"], [effect["after"]]) == (1.0, told["budgets"])
    assert command.run("ledger", "status", place, "--json").json["committed"] == ["a"]
    assert "as if all was planned before: ε at most " in command.run("ledger", "status", place).out


def test_reserve_commit_release_verify_export(tmp_path: Path, command: Command) -> None:
    """A reservation is committed or released once; the ledger verifies and exports itself."""
    place, out = str(tmp_path / "ledger"), tmp_path / "out.json"
    command.run("ledger", "init", place, "--rho", "1/2", "--relation", "add-remove")
    file = command.file(PIPELINE + LAPLACE)

    assert command.run("ledger", "reserve", place, file, "--key", "a").status == 0
    assert command.run("ledger", "reserve", place, file, "--key", "a").status == 2
    assert "pending: a" in command.run("ledger", "status", place).out
    assert command.run("ledger", "commit", place, "--key", "a").status == 0
    assert command.run("ledger", "reserve", place, file, "--key", "a").status == 2
    assert command.run("ledger", "release", place, "--key", "a").status == 2
    assert command.run("ledger", "reserve", place, file, "--key", "b").status == 0
    assert command.run("ledger", "release", place, "--key", "b").status == 0
    assert command.run("ledger", "export", place, "-o", str(out)).status == 0
    assert command.run("ledger", "export", place, "-o", str(out)).status == 2
    verified = command.run("ledger", "verify", place)
    assert (verified.status, "verified 5 entries" in verified.out) == (0, True)
    assert command.run("ledger", "verify", place, "--head", "0" * 64).status == 1


def test_bad_budgets_are_refused_in_a_line(tmp_path: Path, command: Command) -> None:
    """No budget, two budgets, a word for a number and no relation are each one line and 2."""
    place = str(tmp_path / "ledger")
    for options in (
        ("--relation", "add-remove"),
        ("--rho", "1", "--mu", "1", "--relation", "add-remove"),
        ("--rho", "much", "--relation", "add-remove"),
        ("--rho", "1"),
    ):
        outcome = command.run("ledger", "init", place, *options)
        assert (outcome.status, outcome.err.count("\n")) == (2, 1)


def test_the_certificate_of_a_spend_is_written(tmp_path: Path, command: Command) -> None:
    """It is checked as any other; a way has to be chosen where a spend is charged in several."""
    place, out = str(tmp_path / "ledger"), str(tmp_path / "proof.json")
    command.run("ledger", "init", place, "--epsilon", "3", "--delta", "1e-6", *ABOUT)
    command.run("ledger", "spend", place, command.file(PIPELINE + LAPLACE), "--key", "a")
    proof = ("ledger", "certificate", place, "--key", "a")

    several = command.run(*proof)
    assert (several.status, several.out) == (2, "")
    assert "choose one by --way basic or --way renyi or --way zcdp" in several.err
    assert command.run(*proof, "--way", "zcdp", "-o", out).status == 0
    checked = command.run("check", out)
    assert (checked.status, "zCDP" in checked.out) == (0, True)
    assert command.run(*proof, "--way", "zcdp", "-o", out).status == 2  # it is there
    unknown = command.run("ledger", "certificate", place, "--key", "b")
    assert (unknown.status, "nothing is spent for the key 'b'" in unknown.err) == (2, True)


def test_a_key_of_another_spend_says_which(tmp_path: Path, command: Command) -> None:
    """A conflict tells what the key was paid for, and when that only reads alike."""
    place = str(tmp_path / "ledger")
    command.run("ledger", "init", place, "--rho", "1", *ABOUT)
    command.run("ledger", "spend", place, command.file(PIPELINE + LAPLACE), "--key", "a")

    other = command.run("ledger", "spend", place, command.file(PIPELINE + BIG), "--key", "a")
    assert other.status == 2
    assert "stands for another spend, which was made on " in other.err
    file = command.file(PIPELINE + LAPLACE)
    alike = command.run("ledger", "spend", place, file, "--key", "a", "--dataset", "x")
    assert alike.status == 2
    assert "It reads alike, and is another" in alike.err


def test_a_reservation_names_its_stages(tmp_path: Path, command: Command) -> None:
    """What was reserved is said in the words of the file, and no class of ours is."""
    place = str(tmp_path / "ledger")
    command.run("ledger", "init", place, "--rho", "1/2", *ABOUT)
    file = command.file(PIPELINE + LAPLACE)

    printed = command.run("ledger", "reserve", place, file, "--key", "a").out
    assert printed.startswith("reserved evaluation for 'a'; ")


def test_what_is_left_is_rounded_down_and_what_is_spent_up(
    command: Command, tmp_path: Path
) -> None:
    """Nothing is called whole that was spent from, and budgets beyond floats are shown."""
    for name, limit in (("a", Fraction(1)), ("b", Fraction(10) ** 400)):
        ledger = dp.Ledger.create(tmp_path / name, budget=dp.ZCDP(rho=limit))
        ledger.spend(dp.ZCDP(rho=Fraction(1, 3 * 10**7)), key="a")
        told = command.run("ledger", "status", str(tmp_path / name)).out

        assert ": 99.99 % left" in told
        assert "3.33334e-8 of 1" in told
