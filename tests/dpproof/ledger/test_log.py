"""What a ledger says of its entries, of a spend that was not made, and on its page."""

from __future__ import annotations

import csv
import io
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp
from dpproof.ledger.ledger import Ledger
from tests.dpproof.command import Command
from tests.dpproof.files import LAPLACE, PIPELINE
from tests.dpproof.ledger.trainings import training

DELTA = Fraction(1, 10**6)
TABLE = dp.Gaussian(sigma=40, sensitivity=dp.L2(1)).guarantee()
PART = dp.ZCDP(rho=Fraction(1, 64))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger with a table and a reservation that was given back."""
    made = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=8, delta=DELTA))
    made.limit(dp.ZCDP(rho=1), dataset="census")
    made.spend(TABLE, key="table", label="=1+1", dataset="census", principal="ann")
    made.reserve(PART, key="given back", principal="bob").release()
    made.reserve(PART, key="waits", principal="bob")
    return made


def test_the_log_says_when_who_what_it_cost_and_what_was_left(ledger: Ledger) -> None:
    """Costs are upper ends of what runs alone, and the rest is what the budgets say."""
    found = ledger.log()
    kinds = ["create", "limit", "spend", "reserve", "release", "reserve"]
    assert [one.kind for one in found] == kinds
    table, released = found[2], found[4]
    epsilon = TABLE.epsilon(delta=DELTA)
    assert table.epsilon is not None
    assert epsilon.lower <= table.epsilon < 1.001 * epsilon.upper
    assert (table.principal, table.dataset, table.label) == ("ann", "census", "=1+1")
    assert re.fullmatch(r"\S+:\d+", table.who)
    assert table.costs['["census",null]']["zcdp"] == (Fraction(1, 3200),)
    assert released.left == found[2].left
    assert [*found[-1].left.values()] == [one.remaining for one in ledger.status().budgets]
    assert ledger.log(delta=Fraction(1, 100))[2].epsilon < table.epsilon  # type: ignore[operator]


def test_a_budget_without_delta_has_an_epsilon_where_one_is_asked(tmp_path: Path) -> None:
    """Of rho alone there is no epsilon."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1))
    ledger.spend(PART, key="a")
    assert ledger.log()[1].epsilon is None
    assert ledger.log(delta=DELTA)[1].epsilon == pytest.approx(PART.epsilon(delta=DELTA).upper)


def test_a_spend_costs_and_leaves_what_was_said_before(tmp_path: Path) -> None:
    """In every budget; nothing is written, and what is over the budget has no afterwards."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=8, delta=DELTA))
    ledger.limit(dp.ApproxDP(epsilon=4, delta=DELTA), principal="bob")
    for number in range(2):
        asked = ledger.what_if(training(1), principal="bob")
        assert ledger.status().entries == 2 + number
        spend = ledger.spend(training(1), key=str(number), principal="bob")
        assert tuple(one.after for one in asked) == ledger.status().budgets
        assert {way for one in asked for way in one.closes} == set(spend.closed)
        taken = ledger.log()[-1].costs.values()
        for one, costs in zip(asked, taken, strict=True):
            assert {way: cost for way, cost in one.costs.items() if cost} == dict(costs)
    over = ledger.what_if(dp.GDP(mu=3), principal="bob")
    assert [one.after is None for one in over] == [True, True]
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(dp.GDP(mu=3), key="over", principal="bob")


def test_the_log_is_printed_as_text_json_and_csv(ledger: Ledger, command: Command) -> None:
    """The three say the same of each entry, and no cell of CSV is a formula."""
    text = command.run("ledger", "log", ledger.place)
    told = command.run("ledger", "log", ledger.place, "--json").json["entries"]
    rows = [*csv.DictReader(io.StringIO(command.run("ledger", "log", ledger.place, "--csv").out))]
    assert text.out.count("\n") == len(told) == len(rows) == 6
    assert "spend     table: ε " in text.out
    assert [row["kind"] for row in rows] == [one["kind"] for one in told]
    assert (rows[2]["label"], told[2]["label"]) == ("'=1+1", "=1+1")
    assert json.loads(rows[2]["costs"]) == told[2]["costs"]
    assert float(rows[2]["left"]) == min(told[2]["left"].values())


def test_what_is_pending_is_told_with_age_and_owner(ledger: Ledger, command: Command) -> None:
    """It exits with 1 where something is pending for too long, also with metrics."""
    place = ledger.place
    told = command.run("ledger", "status", place)
    assert re.search(r"  pending: waits, 0\.0 h, bob, \S+:\d+\n", told.out)
    assert command.run("ledger", "status", place, "--older-than", "1h").status == 0
    metrics = command.run("ledger", "status", place, "--older-than", "0s", "--metrics")
    assert metrics.status == 1
    assert "\ndpproof_pending 1\n" in metrics.out
    assert 'dpproof_budget_remaining{dataset="census",principal=""} 0.9' in metrics.out
    assert command.run("ledger", "status", place, "--older-than", "soon").status == 2
    sample = re.compile(r'dpproof_[a-z_]+(\{[a-z]+="[^"]*",[a-z]+="[^"]*"\})? [0-9.e+-]+')
    for line in metrics.out.splitlines():
        assert line.startswith("# ") or sample.fullmatch(line)


def test_metrics_quote_names(tmp_path: Path) -> None:
    """A quote or a backslash in a name ends no label."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1), dataset='a"b\\')
    assert 'dataset="a\\"b\\\\",principal' in ledger.status().metrics()


def test_the_page_is_whole_and_inert(ledger: Ledger, command: Command, tmp_path: Path) -> None:
    """It needs no network and no script, escapes names, and has the last hash."""
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    ledger.spend(PART, key="<script>x</script>", label="{{ 7 * 7 }}")
    page = tmp_path / "page.html"
    assert command.run("ledger", "report", ledger.place, "-o", str(page)).status == 0
    assert command.run("ledger", "report", ledger.place, "-o", ledger.place).status == 2
    text = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "{{ 7 * 7 }}" in text
    assert ledger.status().head in text
    assert "<code>waits</code>" in text
    assert not re.search(r"<script|<link|<img|src=|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert text.count("<polyline") == 2


def test_budgets_are_changed_on_the_command_line(tmp_path: Path, command: Command) -> None:
    """Limit, lower, raise by two, renew by two and close, each told in a line."""
    place = str(tmp_path / "ledger")
    file = command.file(PIPELINE + LAPLACE)

    def run(*words: str) -> tuple[int, str]:
        outcome = command.run("ledger", words[0], place, *words[1:])
        return outcome.status, outcome.out + outcome.err

    about = ("--relation", "add-remove", "--open-names")
    assert run("init", "--epsilon", "3", "--delta", "1e-6", *about)[0] == 0
    assert run("limit", "--rho", "1", "--dataset", "census") == (
        0,
        "limit; 100 %, 100 % of the budget left\n",
    )
    assert run("lower", "--epsilon", "2", "--delta", "1e-6", "--by", "ann")[0] == 0
    assert "(3, 1e-06)-DP, lowered to (2, 1e-06)-DP: 100 % left" in run("status")[1]
    assert run("what-if", file, "--dataset", "census")[0] == 0
    assert (
        "waits for a second name"
        in run("renew", "--rho", "1", "--dataset", "census", "--by", "a")[1]
    )
    assert "2-zCDP signed by a alone" in run("status")[1]
    assert run("renew", "--rho", "1", "--dataset", "census", "--by", "b")[1].startswith("renew; ")
    assert run("raise", "--rho", "3", "--dataset", "census")[0] == 2
    assert "a second name" in run("raise", "--rho", "3", "--dataset", "census", "--by", "a")[1]
    assert run("close", "--dataset", "census")[0] == 0
    assert run("spend", file, "--key", "a", "--dataset", "census")[0] == 1
    assert run("what-if", command.file(PIPELINE + LAPLACE.replace("20", "0.2")))[0] == 1
    assert run("verify")[0] == 0


def test_copies_and_exports_become_ledgers_again(
    ledger: Ledger, command: Command, tmp_path: Path
) -> None:
    """All of it verified; what lost entries or was changed is refused, and nothing is made."""
    place, head = ledger.place, tmp_path / "head"
    out, copy, again, new = (str(tmp_path / name) for name in ("out", "copy", "again", "new"))
    head.write_text(ledger.status().head, encoding="ascii")
    assert command.run("ledger", "export", place, "-o", out).status == 0
    assert command.run("ledger", "backup", place, copy).status == 0
    kept = ("--head-file", str(head))
    assert command.run("ledger", "restore", copy, again, *kept).status == 0
    assert command.run("ledger", "restore", copy, again, *kept).status == 2
    assert command.run("ledger", "import", out, new, *kept).status == 0
    for one in (again, new):
        assert dp.Ledger.open(one).status() == ledger.status()
        assert dp.Ledger.open(one).export() == ledger.export()
    ledger.commit("waits")
    head.write_text(ledger.status().head, encoding="ascii")
    changed = json.loads(Path(out).read_text(encoding="utf-8"))
    changed["entries"][2]["entry"]["label"] = "more"
    (tmp_path / "changed").write_text(json.dumps(changed), encoding="utf-8")
    (tmp_path / "other").write_text("[1]", encoding="utf-8")
    for number, words in enumerate(
        (
            ("restore", copy, *kept),
            ("import", out, *kept),
            ("import", str(tmp_path / "changed")),
            ("import", str(tmp_path / "other")),
            ("import", str(tmp_path / "nothing")),
        )
    ):
        made = tmp_path / f"made {number}"
        outcome = command.run("ledger", *words[:2], str(made), *words[2:])
        assert (outcome.status, outcome.err.count("\n")) == (2, 1)
        assert not made.exists()
