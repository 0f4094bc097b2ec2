"""The ledger: what it admits, keeps, gives back and refuses."""

from __future__ import annotations

import copy
import functools
import json
import operator
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from dpproof.accountant.theorems.composition import compose
from dpproof.ledger import chain, places
from dpproof.ledger.budget import State, opened
from dpproof.ledger.errors import AlreadySpent, KeyConflict, LedgerDamaged, LedgerError
from dpproof.ledger.ledger import Ledger, connect
from dpproof.ledger.spending import Spend
from dpproof.proofs import Certificate

THIRD = dp.ZCDP(rho=Fraction(1, 3))
SGD = dp.Gaussian(sigma=2, sensitivity=dp.L2(1)).subsample(dp.Poisson(sampling_rate=0.01))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return a new ledger whose budget is 1-zCDP."""
    return Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1))


def spent(ledger: Ledger, way: str = "zcdp") -> tuple[Fraction, ...]:
    """What the first budget has spent in one way."""
    return ledger.status().budgets[0].ways[way].spent


def _commit_and_fail(spend: Spend) -> float:
    spend.commit()
    return 1 / 0


def test_a_block_commits_and_the_sum_is_exact(ledger: Ledger) -> None:
    """Three thirds fit exactly, and nothing more does."""
    for number in range(3):
        with ledger.reserve(THIRD, key=str(number), label="counts"):
            assert ledger.status().pending == (str(number),)

    assert spent(ledger) == (Fraction(1),)
    assert ledger.status().committed == ("0", "1", "2")
    with pytest.raises(dp.BudgetExceeded, match="nothing was spent"):
        ledger.reserve(dp.ZCDP(rho=Fraction(1, 10**30)), key="more")
    assert ledger.verify().uncertified == ()


def test_an_error_in_the_block_releases(ledger: Ledger) -> None:
    """Nothing was published, so nothing is spent; what was committed inside stays spent."""
    with pytest.raises(ZeroDivisionError), ledger.reserve(THIRD, key="a"):
        _ = 1 / 0
    assert spent(ledger) == (Fraction(0),)

    spend = ledger.reserve(THIRD, key="a")
    with pytest.raises(ZeroDivisionError), spend:
        _commit_and_fail(spend)
    assert spent(ledger) == (Fraction(1, 3),)
    assert ledger.verify().entries == 5


def test_a_reservation_counts_until_it_is_released(ledger: Ledger) -> None:
    """A process that dies leaves its reservation spent, until somebody releases it."""
    first = ledger.reserve(dp.ZCDP(rho=1), key="a")
    with pytest.raises(dp.BudgetExceeded):
        ledger.reserve(THIRD, key="b")

    first.release()
    ledger.reserve(THIRD, key="b").commit()

    with pytest.raises(KeyConflict, match="nothing is reserved"):
        first.release()


def test_a_key_is_spent_once(ledger: Ledger) -> None:
    """To reserve, spend or commit again takes nothing, and refuses to run or publish again."""
    first = ledger.reserve(THIRD, key="a")
    second = ledger.reserve(THIRD, key="a")
    assert spent(ledger) == (Fraction(1, 3),)

    with pytest.raises(AlreadySpent, match="taken over"):
        first.commit()
    second.commit()
    second.commit()
    ledger.commit("a")

    assert not ledger.spend(THIRD, key="a", idempotent=True).fresh
    with pytest.raises(AlreadySpent, match="committed before"), ledger.reserve(THIRD, key="a"):
        pytest.fail("the block may not run")
    with pytest.raises(AlreadySpent, match="stays spent"):
        ledger.release("a")
    with pytest.raises(KeyConflict, match="another spend"):
        ledger.reserve(dp.ZCDP(rho=0.25), key="a")
    assert spent(ledger) == (Fraction(1, 3),)


@pytest.mark.parametrize(
    ("budget", "part", "times"),
    [
        (dp.PureDP(epsilon=1), dp.PureDP(epsilon=Fraction(1, 4)), 4),
        (dp.GDP(mu=1), dp.GDP(mu=0.5), 4),
        (dp.GDPFilter(mu=1), dp.GDP(mu=0.5), 4),
        (dp.RDP(points=((8, 1),)), dp.ZCDP(rho=Fraction(1, 32)), 4),
        (dp.ApproxDP(epsilon=1, delta=Fraction(1, 10**6)), None, 4),
    ],
)
def test_every_notion_is_spent_to_the_last(
    tmp_path: Path,
    budget: dp.Guarantee[dp.AddRemove] | dp.PrivacyFilter[dp.AddRemove],
    part: dp.Guarantee[dp.AddRemove] | None,
    times: int,
) -> None:
    """Equal parts that fit exactly are admitted, and the next one is not."""
    part = part or dp.ApproxDP(epsilon=Fraction(1, 4), delta=Fraction(1, 4 * 10**6))
    ledger = Ledger.create(tmp_path / "ledger", budget=budget)
    for number in range(times):
        ledger.spend(part, key=str(number))

    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(part, key="more")
    assert ledger.status().budgets[0].remaining == 0
    assert ledger.verify().uncertified == ()


def test_approximate_budgets_are_spent_in_the_best_way(tmp_path: Path) -> None:
    """Gaussians go on as GDP where sums of epsilon end, and the whole is what was promised."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    admitted = [dp.GDP(mu=0.25)] * 6
    for number, part in enumerate(admitted):
        ledger.spend(part, key=str(number))

    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(dp.GDP(mu=0.25), key="more")
    assert not ledger.status().budgets[0].ways["basic"].open
    assert compose(*admitted).epsilon(delta=1e-6).upper <= 3
    ledger.verify()


def test_a_first_spend_that_needs_the_whole_budget_gets_it(tmp_path: Path) -> None:
    """One mechanism that is (epsilon, delta)-DP is admitted, and closes the ledger."""
    whole = dp.GDP(mu=0.6)
    epsilon = Fraction(whole.epsilon(delta=1e-6).upper) * (1 + Fraction(1, 10**5))
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=epsilon, delta=1e-6))

    ledger.spend(whole, key="all")

    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(dp.GDP(mu=0.2), key="more")


def test_a_sampled_training_is_charged_at_a_delta(tmp_path: Path) -> None:
    """What has no rho of use is charged as (epsilon, delta), at the delta that is asked for."""
    training = SGD.repeat(100).guarantee()
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    ledger.spend(training, key="a", delta=2**-22)

    assert spent(ledger, "basic")[1] == Fraction(1, 2**22)
    assert float(spent(ledger, "basic")[0]) == pytest.approx(
        training.epsilon(delta=2**-22).upper, rel=1e-5
    )
    assert ledger.verify().certificates == 2  # the other is of its divergences, at all orders


def test_datasets_and_principals_have_budgets_of_their_own(tmp_path: Path) -> None:
    """A spend is charged to every budget that covers it, or to none if one is exceeded."""
    about: dict[str, Any] = {"dataset": "census", "open_names": True}
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1), **about)
    ledger.limit(dp.ZCDP(rho=0.5), dataset="census", principal="ann")
    with pytest.raises(LedgerError, match="no budget covers"):
        ledger.spend(THIRD, key="a", dataset="survey")
    ledger.spend(THIRD, key="a", dataset="census", principal="ann")
    with pytest.raises(dp.BudgetExceeded, match="of principal ann"):
        ledger.spend(THIRD, key="b", dataset="census", principal="ann")
    ledger.spend(THIRD, key="b", dataset="census", principal="bob")

    remaining = [one.remaining for one in ledger.status().budgets]
    assert remaining == [Fraction(1, 3), Fraction(1, 3)]
    with pytest.raises(KeyConflict, match="have to count"):
        ledger.limit(dp.ZCDP(rho=1), dataset="census", principal="bob")
    ledger.verify()


def test_refusals(ledger: Ledger, tmp_path: Path) -> None:
    """Other neighbours, groups, other notions, no guarantees, bad keys and places are refused."""
    with pytest.raises(dp.RelationMismatch):
        ledger.reserve(dp.ZCDP(rho=0.1, relation=dp.ReplaceOne()), key="a")
    with pytest.raises(dp.NotImplied, match="groups of 2"):
        ledger.reserve(dp.group(dp.ZCDP(rho=0.1), size=2), key="a")
    with pytest.raises(dp.BudgetExceeded, match="not bounded"):
        ledger.reserve(dp.ApproxDP(epsilon=0.1, delta=1e-9), key="a")
    for key in ("", "two\nlines", "long" * 60):
        with pytest.raises(dp.ParameterError):
            ledger.reserve(THIRD, key=key)
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(ledger.place, budget=dp.ZCDP(rho=1))
    with pytest.raises(LedgerError, match="no such ledger"):
        Ledger.open(tmp_path / "nothing")
    (tmp_path / "text").write_text("no database" * 99, encoding="utf-8")
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "text")
    for budget in (dp.RDP(points=((2, 1), (4, 2))), 3):
        with pytest.raises(dp.ParameterError, match="notion"):
            Ledger.create(tmp_path / "new", budget=budget)  # type: ignore[arg-type]
    with pytest.raises(dp.ParameterError, match="relation must be one of AddRemove"):
        Ledger.create(tmp_path / "new", budget=THIRD, relation="add-remove")  # type: ignore[arg-type]
    used = dp.ZCDPFilter(rho=1)
    used.spend(THIRD)
    with pytest.raises(dp.ParameterError, match="nothing was spent"):
        Ledger.create(tmp_path / "new", budget=used)


TAMPERING: dict[str, Callable[[sqlite3.Connection], object]] = {
    "an entry": lambda c: c.execute("UPDATE entries SET body = replace(body, '1/3', '1/9')"),
    "a hash": lambda c: c.execute("UPDATE entries SET hash = 'f' || substr(hash, 2)"),
    "the sums": lambda c: c.execute(
        """UPDATE head SET state = replace(state, '{"zcdp":["1/3"]}', '{"zcdp":["0"]}')"""
    ),
    "the last entry gone": lambda c: c.execute("DELETE FROM entries WHERE number = 3"),
    "a middle entry gone": lambda c: c.execute("DELETE FROM entries WHERE number = 2"),
    "a key forgotten": lambda c: c.execute("DELETE FROM spends"),
    "a certificate": lambda c: c.execute("UPDATE certificates SET body = replace(body, '3', '4')"),
    "no certificate": lambda c: c.execute("DELETE FROM certificates"),
}


@pytest.mark.parametrize("change", list(TAMPERING))
def test_tampering_is_found(ledger: Ledger, change: str) -> None:
    """Whatever is changed in the file, verification says so."""
    with ledger.reserve(THIRD, key="a"):
        pass
    ledger.verify()
    ledger.close()
    connection = sqlite3.connect(ledger.place)
    TAMPERING[change](connection)
    connection.commit()
    connection.close()

    with pytest.raises(LedgerDamaged):
        ledger.verify()


def test_a_file_that_was_changed_is_not_spent_from(ledger: Ledger) -> None:
    """Sums that do not fit the last entry stop every spend, without a verification."""
    ledger.spend(THIRD, key="a")
    ledger.close()
    connection = sqlite3.connect(ledger.place)
    TAMPERING["the sums"](connection)
    connection.commit()
    connection.close()

    with pytest.raises(LedgerDamaged, match="spend nothing"):
        ledger.spend(THIRD, key="b")


def test_truncation_is_found(ledger: Ledger) -> None:
    """A file that lost its end is refused; an older copy is told by the hash that was kept."""
    for number in range(3):
        ledger.spend(dp.ZCDP(rho=0.01), key=str(number))
    ledger.close()
    older = Path(ledger.place).read_bytes()
    ledger.spend(THIRD, key="a")
    head = ledger.status().head
    ledger.close()

    Path(ledger.place).write_bytes(older)
    copied = Ledger.open(ledger.place)
    copied.verify()
    with pytest.raises(LedgerDamaged, match="entries are gone"):
        copied.verify(head=head)
    copied.close()

    Path(ledger.place).write_bytes(older[: len(older) // 2])
    with pytest.raises(LedgerError):
        Ledger.open(ledger.place).verify()


def test_copies_spend_the_same_ledger(ledger: Ledger) -> None:
    """Copies and pickles are the ledger, not another one with the same budget."""
    assert copy.deepcopy(ledger) is ledger
    pickle.loads(pickle.dumps(ledger)).spend(THIRD, key="a")  # noqa: S301  # our own

    assert spent(ledger) == (Fraction(1, 3),)


def test_export_has_everything(ledger: Ledger) -> None:
    """Entries with their hashes, and certificates that the checker accepts as they stand."""
    ledger.spend(THIRD, key="a", label="counts")
    exported = ledger.export()

    assert [entry["entry"]["kind"] for entry in exported["entries"]] == ["create", "spend"]
    assert exported["entries"][1]["entry"]["label"] == "counts"
    assert exported["entries"][1]["hash"] == ledger.status().head
    assert len(exported["certificates"]) == 1


@pytest.mark.parametrize("full", [False, True])
def test_an_export_comes_back_with_the_same_certificates(
    full: bool,  # noqa: FBT001  # a parameter of the test
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Certificates at length, as earlier versions wrote them, keep their names as well."""
    written = Certificate.to_json
    with monkeypatch.context() as earlier:
        earlier.setattr(Certificate, "to_json", lambda one: written(one, full=full))
        ledger.spend(dp.Gaussian(sigma=9, sensitivity=dp.L2(1)).guarantee(), key="a")
    exported = ledger.export()
    (document,) = exported["certificates"].values()
    again = Ledger.from_export(exported, tmp_path / "imported")

    assert document["version"] == (1 if full else 3)
    assert again.verify().entries == 2
    assert again.export() == exported


def test_a_key_is_compared_by_every_number(tmp_path: Path) -> None:
    """A key never pays for a guarantee that is only printed alike."""
    ledger = Ledger.create(tmp_path / "renyi", budget=dp.RDP(points=((2, 9),)))
    ledger.reserve(dp.RDP(points=((2, 1), (3, 2), (4, 3))), key="a")
    for other in (
        dp.RDP(points=((2, 8), (3, 20), (4, 30))),
        dp.RDP(points=((2, 1 + 1e-12), (3, 2), (4, 3))),
    ):
        with pytest.raises(KeyConflict, match="another spend"):
            ledger.reserve(other, key="a")


def test_what_does_not_say_its_dataset_is_charged_to_all(ledger: Ledger) -> None:
    """It may read any of them, so that every budget of a dataset counts it."""
    ledger.limit(dp.ZCDP(rho=0.1), dataset="x")
    with pytest.raises(dp.BudgetExceeded, match="of dataset x"):
        ledger.reserve(THIRD, key="a")


def test_a_limit_about_other_neighbours_is_refused(ledger: Ledger) -> None:
    """A budget of replace-one would be spent by costs of add-remove, half of its own."""
    with pytest.raises(dp.RelationMismatch):
        ledger.limit(dp.ZCDP(rho=1, relation=dp.ReplaceOne()), principal="ann")


def test_a_pending_key_is_left_alone_if_asked(ledger: Ledger) -> None:
    """Two runs that only know the key cannot both commit and publish."""
    ledger.reserve(THIRD, key="a")
    with pytest.raises(KeyConflict, match="release it first"):
        ledger.reserve(THIRD, key="a", take_over=False)


def test_what_has_no_bound_at_the_delta_left_is_over_the_budget(tmp_path: Path) -> None:
    """An infinite epsilon is a refusal."""
    ledger = Ledger.create(tmp_path / "small", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    noise = dp.Gaussian(sigma=1, sensitivity=dp.L2(1)).guarantee()
    with pytest.raises(dp.BudgetExceeded, match="not bounded"):
        ledger.spend(compose(dp.ApproxDP(epsilon=1, delta=1e-5), noise), key="a")


def _forge(ledger: Ledger, entry: dict[str, object], change: Callable[[State], object]) -> None:
    """Append an entry that a ledger never writes, with hashes that fit."""
    with ledger._database.transaction() as execute:
        number, previous, state = chain.last(execute)
        change(state)
        chain.append(execute, (number, previous, state), entry)
        if entry["kind"] == "release":
            execute("DELETE FROM spends")


def _replace(values: State, state: State) -> None:
    state.update(values)


def test_entries_that_no_ledger_writes_are_found(tmp_path: Path) -> None:
    """Appended with hashes that fit, they pass a kept head, and are refused by the rules."""
    fresh = opened(dp.ZCDP(rho=1))
    whole = "[null,null]"

    def _reset(state: State) -> None:
        state["budgets"][whole] = fresh

    def _other(state: State) -> None:
        state["relation"] = "zero-out"

    forged: list[tuple[dict[str, object], Callable[[State], object]]] = [
        ({"kind": "limit", "opened": {whole: fresh}}, _reset),
        ({"kind": "create", "opened": {whole: fresh}}, _reset),
        ({"kind": "release", "key": "a", "reserved": 2}, _reset_spent),
        ({"kind": "commit", "key": "b"}, _other),
    ]
    for number, (entry, change) in enumerate(forged):
        ledger = Ledger.create(tmp_path / str(number), budget=dp.ZCDP(rho=1))
        ledger.spend(THIRD, key="a")
        if entry["kind"] == "commit":
            ledger.reserve(THIRD, key="b")
        head = ledger.verify().head
        _forge(ledger, entry, change)
        with pytest.raises(LedgerDamaged, match="does not fit"):
            ledger.verify(head=head)
        ledger.close()


JUNK: tuple[Any, ...] = (None, -1, "x", "1/0", [["1"]], {})


def test_a_forged_state_of_another_form_is_damage(tmp_path: Path) -> None:
    """Wherever something else stands, and its hashes fit, every call answers or is refused."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    ledger.spend(dp.ZCDP(rho=Fraction(1, 64)), key="a")
    ledger.reserve(dp.ZCDP(rho=Fraction(1, 64)), key="b")
    with ledger._database.transaction(reading=True) as execute:
        whole = chain.last(execute)[2]
    refused = 0
    for number, place in enumerate([*_places(whole)][1:]):
        forged = json.loads(json.dumps(whole))
        junk = JUNK[number % len(JUNK)]
        functools.reduce(operator.getitem, place[:-1], forged)[place[-1]] = junk
        _forge(ledger, {"kind": "commit"}, functools.partial(_replace, forged))
        for call in (
            lambda: (ledger.status().to_dict(), ledger.status().metrics()),
            lambda: ledger.what_if(THIRD),
            lambda: ledger.spend(THIRD, key="c"),
        ):
            try:
                call()
            except (LedgerError, dp.BudgetExceeded, dp.RelationMismatch):
                refused += 1
        with ledger._database.transaction() as execute:
            execute("DELETE FROM entries WHERE number > 3")
            execute("DELETE FROM spends WHERE name = 'c'")
            execute("UPDATE head SET number = 3, state = :s", s=chain.canonical(whole))
    assert refused > 60


def _places(value: object, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict | list):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(one, (*place, name))


def _reset_spent(state: State) -> None:
    state["budgets"]["[null,null]"]["spent"] = {"zcdp": ["0"]}


def test_a_spend_asks_the_database_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it reads under the lock is one round trip of a server, what it writes another."""
    ledger = Ledger.create(tmp_path / "a.ledger", budget=dp.ZCDP(rho=1))
    trips: list[int] = []
    run = places.OneByOne.together

    def counted(self: Any, statements: Any) -> Any:  # noqa: ANN401  # of a private class
        trips.append(len(statements))
        return run(self, statements)

    monkeypatch.setattr(places.OneByOne, "together", counted)
    for number in range(2):
        ledger.spend(dp.ZCDP(rho=Fraction(1, 64)), key=f"k{number}")

    assert trips == [4, 5, 5, 5, 3]  # the first one reads the budgets before it plans


def test_what_is_no_file_is_refused_with_what_to_give(tmp_path: Path) -> None:
    """Nothing and a folder are no files that exist already."""
    for place in ("", " ", str(tmp_path)):
        for create in (True, False):
            with pytest.raises(LedgerError, match="a ledger is a file such as"):
                connect(place, create=create)
