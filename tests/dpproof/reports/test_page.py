"""``dpproof report``, ``plot`` and ``explain``."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from dpproof.accountant import GDP
from dpproof.commands import budget
from dpproof.errors import InputError
from dpproof.reports import facts
from dpproof.reports.facts import epsilons, missed, small_epsilons
from dpproof.reports.page import PUBLISHED, Axis, smooth, smooth_below
from tests.dpproof.command import Command, time_is_up
from tests.dpproof.files import GAUSSIAN, LAPLACE, PIPELINE

TEXT = PIPELINE + GAUSSIAN + LAPLACE
SHAPES = {"line", "polyline", "circle"}


class _Page(HTMLParser):
    """Collects tags, identifiers, targets and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag and its attributes."""
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "input", "br", *SHAPES}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the last tag, which has to be this one."""
        if tag not in SHAPES:
            assert self.open.pop() == tag


@pytest.fixture
def page(command: Command, tmp_path: Path) -> str:
    """The page of a pipeline with a name that has to be escaped."""
    text = TEXT.replace('"evaluation"', '"<b>evaluation"')
    out = tmp_path / "report.html"
    done = command.run("report", command.file(text), "-o", str(out))
    assert (done.status, done.out) == (0, f"{out}\n")
    return out.read_text(encoding="utf-8")


def test_risks_that_are_not_known_follow_from_epsilon(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A board never reads 100 % where epsilon at delta says less, and reads where it is from."""
    monkeypatch.setattr(budget, "_or_nothing", lambda _, nothing: nothing)
    out = tmp_path / "report.html"
    text = TEXT.replace("noise_multiplier = 1.0", "noise_multiplier = 8.0")
    assert command.run("report", command.file(text), "-o", str(out)).status == 0
    risks = out.read_text(encoding="utf-8").partition('<ul id="risk"')[2].partition("</ul>")[0]

    assert risks.count("as ε and δ imply") == 3
    assert "100" not in risks


def test_the_page_recommends_the_checker_that_came_with_us(page: str) -> None:
    """``python -m`` would run a checker of the working directory."""
    assert "verified by <code>dpproof check certificate.json</code>" in page
    assert "python -m" not in page


def test_the_page_is_one_small_file(page: str) -> None:
    """It loads nothing, runs nothing, is well-formed, and stays far below a megabyte."""
    found = _Page(page)

    assert len(page.encode()) < 100_000
    assert found.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    targets = [value or "" for name, value in found.attributes if name in {"href", "src"}]
    assert all(target.startswith("#") for target in targets)
    assert "url(" not in page
    assert "@import" not in page
    assert "<b>evaluation" not in page


def test_the_page_can_be_used_without_seeing_or_pointing(page: str) -> None:
    """One h1, a language, links that lead somewhere, named figures, labelled boxes, captions."""
    found = _Page(page)
    names = [value for name, value in found.attributes if name == "id"]
    targets = [value for name, value in found.attributes if name == "href"]

    assert found.tags.count("h1") == 1
    assert ("lang", "en") in found.attributes
    assert {f"#{name}" for name in names} >= set(targets)
    assert len(names) == len(set(names))
    assert found.tags.count("svg") == found.tags.count("desc") == 2
    assert found.tags.count("input") == found.tags.count("label")
    assert found.tags.count("caption") == found.tags.count("table")
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_the_page_says_what_a_board_asks(page: str) -> None:
    """Verdict, risk, share, what-if, assumptions, theorems, and the certificate's hash."""
    for text in (
        "What is released?",
        "About whom?",
        "How bad is the worst case?",
        "Who checked it?",
        "What is left of the budget?",
        "Within the budget",
        "of the time",
        "ε alone",
        "10 % more noise",
        "moves what is computed by at most 1 in all numbers together",
        "moves by at most 1",
        "M3 is called",
        "mechanism/gaussian",
    ):
        assert text in page
    assert re.search(r"SHA-256: <code>[0-9a-f]{64}</code>", page)
    assert page.count("−") >= 2  # both stages have noise, and more of it helps


def test_the_page_explains_its_numbers(command: Command, tmp_path: Path) -> None:
    """What delta is, why two epsilons differ, whose the bracket is, which stages have no gain."""
    choice = '[[stage]]\nname = "choice"\nmechanism = "exponential"\nepsilon = 0.1\n'
    out = tmp_path / "report.html"
    command.run("report", command.file(TEXT + choice), "-o", str(out))
    page = out.read_text(encoding="utf-8")

    for text in (
        "One record more or less makes an event at most e^ε = ",
        "an excess averaged over outputs",
        "The certificate bounds ε by a proof of its own, so its last digits differ.",
        "The dominating pair bounds what any implementation leaks",
        "<p>Not shown: choice.</p>",
        "docs/THEOREMS.md, BoundedRange.to_pair",
    ):
        assert text in page
    assert "share of runs" not in page


def test_a_pipeline_over_its_budget_is_one(command: Command, tmp_path: Path) -> None:
    """The page is written, and the status says that it does not hold."""
    out = tmp_path / "report.html"
    done = command.run(
        "report", command.file(TEXT.replace("epsilon = 8", "epsilon = 2")), "-o", str(out)
    )

    assert done.status == 1
    assert "Over the budget" in out.read_text(encoding="utf-8")
    assert command.run("report", command.file(TEXT), "-o", str(tmp_path)).status == 2


def test_the_trade_off_is_below_the_exact_one() -> None:
    """The bound that some points imply is under that of the guarantee, and close to it."""
    whole = GDP(mu=1)
    curve = epsilons(whole, {})
    middle = small_epsilons(whole, curve[0][1], whole.advantage().upper)
    corners = missed((*curve, *middle))
    line = smooth_below(corners)
    everywhere = missed((*curve, *middle), [rate for rate, _ in line])
    for (rate, least), (_, most) in zip(line, everywhere, strict=True):
        exact = whole.type_ii_error(type_i_error=rate).lower
        assert exact - 0.04 <= least <= most * (1 + 1e-9) <= exact * (1 + 1e-9)
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(line) if c - a > 1e-3]
    assert slopes == sorted(slopes)
    assert max(math.atan(b) - math.atan(a) for a, b in pairwise(slopes)) < 0.25
    polygon = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(corners) if c - a > 1e-3]
    assert max(math.atan(b) - math.atan(a) for a, b in pairwise(polygon)) > 0.25


ABOUT = """
[about]
title = "Täglicher Bericht"
purpose = "plan"
description = "counts"
owner = "An office"
unit = "a person"
data = "visits"
version = "3"
date = 2026-03-01
product = "Summary statistics"
region = "Europe"
approvers = ["A. Person", "B. Person"]
"""


def test_the_record_has_the_registrys_shape(command: Command, tmp_path: Path) -> None:
    """It is written beside the page, has no placeholder, and says what the file says."""
    yaml = pytest.importorskip("yaml")
    out, record = tmp_path / "report.html", tmp_path / "record.yaml"
    command.run("report", command.file(ABOUT + TEXT), "-o", str(out), "--registry", str(record))
    found = yaml.safe_load(record.read_text(encoding="utf-8"))

    facts.validate(found)
    assert "TODO" not in record.read_text(encoding="utf-8")
    assert found["url_slug"] == "taglicher-bericht-an-office-2026"
    assert found["deployment"]["basic"]["publication_date"] == "2026-03-01"
    assert found["deployment"]["privacy_loss"]["privacy_unit"] == "a person"
    loss = found["deployment"]["privacy_loss"]["privacy_parameters"]
    epsilon = command.budget(ABOUT + TEXT, "--json").json["epsilon"]["upper"]
    assert loss == {"epsilon": epsilon, "delta": 1e-6}
    basic = found["deployment"]["basic"]
    for change in (
        {"tier": 0},
        {"tier": True},
        {"surprise": 1},
        {"deployment": 1},
        {"status": "done"},
        {"deployment": {"basic": {**basic, "publication_date": "1/1/2026"}}},
        {"deployment": {"basic": {**basic, "data_curators": []}}},
        {"deployment": {"basic": {**basic, "data_product_type": "TODO"}}},
    ):
        with pytest.raises(InputError):
            facts.validate({**found, **change})
    with pytest.raises(InputError, match="status: missing"):
        facts.validate({name: found[name] for name in found if name != "status"})


def test_a_record_of_gaussian_noise_states_its_variant(command: Command, tmp_path: Path) -> None:
    """Zero-concentrated, with rho beside epsilon and delta; a sample has none."""
    yaml = pytest.importorskip("yaml")
    out, record = tmp_path / "report.html", tmp_path / "record.yaml"
    text = ABOUT + PIPELINE + GAUSSIAN
    command.run("report", command.file(text), "-o", str(out), "--registry", str(record))
    found = yaml.safe_load(record.read_text(encoding="utf-8"))["deployment"]

    assert found["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert found["privacy_loss"]["privacy_parameters"]["rho"] == pytest.approx(0.5)


def test_a_record_needs_what_the_registry_requires(command: Command, tmp_path: Path) -> None:
    """Nothing is made up: the missing texts are named, and nothing is written."""
    out, record = tmp_path / "report.html", tmp_path / "record.yaml"
    text = ABOUT.replace('region = "Europe"', "") + TEXT
    done = command.run("report", command.file(text), "-o", str(out), "--registry", str(record))

    assert (done.status, out.exists(), record.exists()) == (2, False, False)
    assert "the registry requires [about] with region" in done.err


def test_the_registrys_schema_says_of_when_it_is() -> None:
    """The copy names its source, its date and its commit, and keeps the required fields."""
    schema = json.loads(facts.SCHEMA.read_text(encoding="utf-8"))

    assert re.search(r"20\d\d-\d\d-\d\d, commit [0-9a-f]{40}", schema["$comment"])
    basic = schema["properties"]["deployment"]["properties"]["basic"]
    assert len(basic["required"]) == len(facts.REQUIRED)


def test_the_page_shows_what_the_file_says_of_the_release(command: Command, tmp_path: Path) -> None:
    """Title, purpose, owner, unit, data, date, and a line to sign for each approver."""
    out = tmp_path / "report.html"
    assert command.run("report", command.file(ABOUT + TEXT), "-o", str(out)).status == 0
    page = out.read_text(encoding="utf-8")

    for text in (
        "<h1>Täglicher Bericht</h1>",
        "<dd>plan</dd>",
        "A record is a person",
        "visits, version 3",
        "2026-03-01",
        "A. Person, signature and date:",
        "B. Person, signature and date:",
    ):
        assert text in page


@pytest.mark.slow
def test_delta_is_explained_for_what_runs(command: Command, tmp_path: Path) -> None:
    """Bounded losses, an output that gives a record away, and neither."""
    failing = '[[stage]]\nname = "f"\nmechanism = "stated"\nepsilon = 1\ndelta = 1e-7\n'
    for stage, told in (
        (LAPLACE, "No output gives a record away: the factor is never above 1.17."),
        (failing, "An output that gives a record away has a probability of at most 1.01e-7."),
        (GAUSSIAN, "No output gives a record away for certain. An output with a factor above e^"),
    ):
        out = tmp_path / "report.html"
        command.run("report", command.file(PIPELINE + stage), "-o", str(out))
        assert told in out.read_text(encoding="utf-8")


def test_little_protection_is_said(command: Command, tmp_path: Path) -> None:
    """Where the attacker is almost always right, the first page says so."""
    out = tmp_path / "report.html"
    for noise, told in ((0.3, "This protects little"), (1.0, "in part"), (20.0, "protects well")):
        text = (PIPELINE + GAUSSIAN).replace("multiplier = 1.0", f"multiplier = {noise}")
        command.run("report", command.file(text), "-o", str(out))
        assert told in out.read_text(encoding="utf-8").partition('id="parameters"')[0]


def test_many_stages_are_reported_together(command: Command, tmp_path: Path) -> None:
    """The ten largest have a row and a list to confirm; the others one row together."""
    out = tmp_path / "report.html"
    noise = GAUSSIAN.replace("multiplier = 1.0", "multiplier = 200")
    text = PIPELINE + "".join(noise.replace("training", f"s{k}") for k in range(120))
    assert command.run("report", command.file(text), "-o", str(out)).status == 0
    page = out.read_text(encoding="utf-8")

    assert '<th scope="row">110 others</th>' in page
    assert page.count("The code runs this: ") == 10


@pytest.mark.slow
def test_time_that_is_up_leaves_out_what_is_not_known(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epsilon and its verdict are there; the certificate and the curves are said to be missing."""
    monkeypatch.setattr(facts, "epsilons", time_is_up)
    out = tmp_path / "report.html"
    done = command.run("report", command.file(TEXT), "-o", str(out), "--seconds", "600")
    page = out.read_text(encoding="utf-8")

    assert done.status == 0
    assert "Within the budget" in page
    assert "no certificate: not made within 600 seconds" in page
    assert page.count("<svg") == 1


def test_the_first_page_tells_what_is_left_in_a_ledger(command: Command, tmp_path: Path) -> None:
    """Of each of its budgets, rounded down; the ledger stays as it is."""
    place, out, file = str(tmp_path / "a.ledger"), tmp_path / "r.html", command.file(TEXT)
    budget = ("--epsilon", "8", "--delta", "1e-5")
    assert command.run("ledger", "init", place, *budget, "--relation", "add-remove").status == 0
    command.run("ledger", "limit", place, "--rho", "1", "--dataset", "visits")
    assert (
        command.run("ledger", "spend", place, file, "--key", "a", "--dataset", "visits").status == 0
    )
    status = command.run("ledger", "status", place, "--json").json
    Path(place).chmod(0o444)
    assert command.run("report", file, "-o", str(out), "--ledger", place).status == 0
    board = out.read_text(encoding="utf-8").partition('id="board"')[2].partition("</section>")[0]

    for one in status["budgets"]:
        shown = re.search(rf"([0-9.e-]+) % of {re.escape(one['guarantee'])}", unescape(board))
        assert shown is not None
        assert 0 <= 100 * one["remaining"] - float(shown[1]) < 0.1
    assert f"entry {status['entries']}, head {status['head'][:16]}" in board
    assert command.run("ledger", "status", place, "--json").json == status
    assert command.run("report", file, "-o", str(out), "--ledger", "missing").status == 2
    for option in ("-o", "--pdf"):  # it is not written over
        assert command.run("report", file, option, place, "--ledger", place).status == 2
    assert command.run("ledger", "status", place, "--json").json == status


def test_a_pdf_needs_a_browser(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one there is a refusal that names browsers, before anything is computed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    done = command.run("report", command.file(TEXT), "--pdf", str(tmp_path / "r.pdf"))

    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "--pdf needs a browser on PATH, one of chromium" in done.err


def test_a_browser_that_prints_nothing_is_said(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its failure is one line, and no file is left."""
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    done = command.run("report", command.file(TEXT), "--pdf", str(tmp_path / "r.pdf"))

    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "did not print it (CalledProcessError)" in done.err
    assert not (tmp_path / "r.pdf").exists()


def test_ticks_are_round() -> None:
    """Steps of 1, 2 or 5 times a power of ten, at most seven of them, inside the axis."""
    for high in (0.13, 1.0, 3.73, 6.2, 24.9, 999.0):
        ticks = Axis(title="x", low=0.0, high=high).ticks()
        step = ticks[1] - ticks[0]

        assert 3 <= len(ticks) <= 7
        assert f"{step:.6e}"[0] in "125"
        assert 0 == ticks[0] < ticks[-1] <= high * (1 + 1e-9)


def test_lines_are_smooth_and_stay_between_their_points() -> None:
    """A line passes every point, never leaves the range between two, and bends in small steps."""
    points = [(10.0**-k, float(k * k)) for k in range(12, 0, -1)]
    line = smooth(points)

    assert set(points) <= set(line)
    heights = [height for _, height in line]
    assert heights == sorted(heights, reverse=True)
    places = [math.log10(at) for at, _ in line]
    slopes = [
        (b - a) / (q - p)
        for (a, b), (p, q) in zip(pairwise(heights), pairwise(places), strict=True)
    ]
    assert max(abs(b - a) for a, b in pairwise(slopes)) < 1.5


def test_published_deployments_stand_in_order() -> None:
    """Every one has a unit and a source, and this file stands among them by its epsilon."""
    assert [one.epsilon for one in PUBLISHED] == sorted(one.epsilon for one in PUBLISHED)
    assert all(one.unit and one.source and one.name[-4:].isdigit() for one in PUBLISHED)


def test_plot(command: Command, tmp_path: Path) -> None:
    """A picture is written in the format of its ending; other endings are refused."""
    out = tmp_path / "pipeline.svg"
    assert command.run("plot", command.file(TEXT), "-o", str(out)).status == 0
    assert "<svg" in out.read_text(encoding="utf-8")
    assert command.run("plot", command.file(TEXT), "-o", str(tmp_path / "x.html")).status == 2


def test_explain(command: Command, tmp_path: Path) -> None:
    """Each change has a line, the ends are the two totals, and equal files differ in nothing."""
    before = tmp_path / "before.toml"
    before.write_text(TEXT, encoding="utf-8")
    after = command.file(
        (PIPELINE + GAUSSIAN)
        .replace("1e-6", "1e-5")
        .replace("multiplier = 1.0", "multiplier = 2.0")
    )
    lines = command.run("explain", str(before), after).out.splitlines()

    assert [line.split("  ")[-1] for line in lines[1:-1]] == [
        "δ from 1e-6 to 1e-5",
        'stage "training": noise_multiplier from 1 to 2',
        'stage "evaluation" left out',
    ]
    assert lines[-1].split("  ")[0] == lines[-2].split("  ")[0]
    assert "no difference changes the cost" in command.run("explain", after, after).out

    laplace = (PIPELINE + GAUSSIAN).replace("gaussian", "laplace").replace("1e-6", "1e-5")
    other = command.file(laplace.replace("noise_multiplier = 1.0", "scale = 3\nsensitivity = 1"))
    assert (
        'stage "training": Laplace noise, scale 3' in command.run("explain", str(before), other).out
    )
