"""``dpproof report``, ``plot`` and ``explain``."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpproof.accountant import GDP
from dpproof.commands import budget
from dpproof.errors import InputError
from dpproof.pipeline import parse
from dpproof.reports import registry
from dpproof.reports.facts import collect, epsilons, missed, small_epsilons
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, LAPLACE, PIPELINE

TEXT = PIPELINE + GAUSSIAN + LAPLACE


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
        if tag not in {"meta", "input", "br", "line", "polyline"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the last tag, which has to be this one."""
        if tag not in {"line", "polyline"}:
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
    risks = out.read_text(encoding="utf-8").partition('id="risk"')[2].partition("</ul>")[0]

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
        "Within the budget",
        "of the time",
        "ε alone",
        "10 % more noise",
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
        "Such a change makes no event more than e^ε times as likely, plus δ.",
        "The certificate bounds ε by a proof of its own.",
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
    curve = epsilons(whole)
    for rate, least in missed((*curve, *small_epsilons(whole, curve[0][1]))):
        exact = whole.type_ii_error(type_i_error=rate).lower
        assert exact - 0.02 <= least <= exact


def test_the_record_has_the_registrys_shape(command: Command, tmp_path: Path) -> None:
    """It is written beside the page; a field too few, too many or of another kind is refused."""
    yaml = pytest.importorskip("yaml")
    out, record = tmp_path / "report.html", tmp_path / "record.yaml"
    command.run("report", command.file(TEXT), "-o", str(out), "--registry", str(record))
    found = yaml.safe_load(record.read_text(encoding="utf-8"))

    registry.validate(found)
    loss = found["deployment"]["privacy_loss"]["privacy_parameters"]
    facts = collect(parse.load(command.file(TEXT)))
    assert loss == {"epsilon": facts.budget.epsilon.upper, "delta": 1e-6}
    for change in ({"tier": 4}, {"other": 1}, {"deployment": 1}, {"status": 1}):
        with pytest.raises(InputError):
            registry.validate({**found, **change})
    with pytest.raises(InputError, match="status: missing"):
        registry.validate({name: found[name] for name in found if name != "status"})


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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 500])
def test_the_page_in_a_browser(page: str, scheme: str, width: int, tmp_path: Path) -> None:
    """Rendered, it is light or dark as asked, not blank, and never wider than the window."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed; .ci/run installs Debian's")
    import matplotlib.image as images

    wanted = "all" if scheme == "dark" else "not all"
    shown = page.replace("(prefers-color-scheme: dark)", wanted)
    measure = "document.title = document.documentElement.scrollWidth <= innerWidth"
    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text(f"{shown}<script>{measure}</script>", encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    subprocess.run(
        [*command, f"--screenshot={picture}", file.as_uri()], check=True, capture_output=True
    )
    drawn = images.imread(picture)[..., :3]
    dumped = subprocess.run(
        [*command, "--dump-dom", file.as_uri()], check=True, capture_output=True, text=True
    ).stdout

    assert (drawn.mean() < 0.4) == (scheme == "dark")
    assert drawn.std() > 0.02
    assert "<title>true</title>" in dumped
