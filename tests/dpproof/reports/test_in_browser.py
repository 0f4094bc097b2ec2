"""Pages in a real browser without a window: reports of the examples, and pages of the site."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import matplotlib.image as images
import pytest

from dpproof.errors import InputError
from dpproof.reports.page import browser
from tests.architecture.tree import ROOT
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, LAPLACE, PIPELINE

EXAMPLES = (
    *("census-tables", "mnist-dpsgd", "private-digits", "training-and-analytics"),
    *("tuned-training", "us-census-2020"),
)
SITE = ("index.html", "REPORTS.html", "PIPELINES.html", "start/three-minutes.html")
PHONE = 390  # pixels
MEASURE = (
    f'<iframe id="f" style="width:{PHONE}px;height:800px;border:0" @></iframe><script>'
    "const f = document.getElementById('f'); f.onload = () => { document.title = "
    "'wide ' + f.contentDocument.documentElement.scrollWidth; };</script>"
)
PAPER, SHEET = 703, 1047  # pixels across and down that are printed of a sheet of A4
BOARD = MEASURE.replace(f"{PHONE}px", f"{PAPER}px").replace(
    "f.contentDocument.documentElement.scrollWidth",
    "Math.ceil(f.contentDocument.getElementById('board').getBoundingClientRect().bottom)",
)
pytestmark = pytest.mark.slow


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the browser, or skip the test where none is installed."""
    try:
        found = browser()
    except InputError as refusal:
        pytest.skip(f"{refusal}; .ci/run installs Debian's")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    options += ["--disable-background-networking", "--disable-component-update"]
    options += ["--disable-sync", "--no-first-run"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [found, *options, f"--user-data-dir={profile}", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)


def _problems(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what the browser's console says."""
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def _width(done: subprocess.CompletedProcess[str]) -> int:
    """Return what was measured of a page, in pixels."""
    found = re.search(r"<title>wide (\d+)</title>", done.stdout)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_report_reads_on_a_phone_and_prints_on_four_pages(
    name: str, command: Command, tmp_path: Path
) -> None:
    """It is no wider than the phone, and the first page answers what a board asks."""
    page, pdf = tmp_path / "report.html", tmp_path / "report.pdf"
    assert command.run("report", str(ROOT / f"examples/{name}.toml"), "-o", str(page)).status == 0
    wrapper = tmp_path / "phone.html"
    shown = escape(page.read_text(encoding="utf-8"))
    wrapper.write_text(MEASURE.replace("@", f'srcdoc="{shown}"'), encoding="utf-8")

    measured = _run("--dump-dom", wrapper.as_uri())
    printed = _run(f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.as_uri())

    sheet = escape(page.read_text(encoding="utf-8").replace("@media print", "@media all"))
    wrapper.write_text(BOARD.replace("@", f'srcdoc="{sheet}"'), encoding="utf-8")
    answered = _run("--dump-dom", wrapper.as_uri())

    assert _problems(measured) == _problems(printed) == []
    assert _width(measured) <= PHONE
    assert 200 < _width(answered) <= SHEET, _width(answered)
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", pdf.read_bytes())) <= 4


def test_report_prints_its_page(command: Command, tmp_path: Path) -> None:
    """``report --pdf`` alone writes a PDF, and no page."""
    _run("--version")
    out = tmp_path / "report.pdf"
    done = command.run("report", command.file(PIPELINE + GAUSSIAN), "--pdf", str(out))

    assert (done.status, done.out) == (0, f"{out}\n")
    assert out.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_follows_the_readers_colours(
    scheme: str, command: Command, tmp_path: Path
) -> None:
    """Rendered, it is light or dark as asked, and not blank."""
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    command.run("report", command.file(PIPELINE + GAUSSIAN + LAPLACE), "-o", str(page))
    wanted = "all" if scheme == "dark" else "not all"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("(prefers-color-scheme: dark)", wanted), encoding="utf-8")
    _run("--window-size=1200,900", f"--screenshot={picture}", page.as_uri())
    drawn = images.imread(picture)[..., :3]

    assert (drawn.mean() < 0.4) == (scheme == "dark")
    assert drawn.std() > 0.02


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the site, serve it, and yield its address."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", str(folder)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    for name in SITE:
        wrapper = folder / f"phone-{name.replace('/', '-')}"
        wrapper.write_text(MEASURE.replace("@", f'src="{name}"'), encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("name", SITE)
def test_a_page_of_the_site_loads_and_fits_a_phone(name: str, site: str) -> None:
    """It says nothing on the console and does not scroll sideways at 390 pixels."""
    loaded = _run("--dump-dom", f"{site}/{name}")
    measured = _run("--dump-dom", f"{site}/phone-{name.replace('/', '-')}")

    assert "<h1" in loaded.stdout
    assert _problems(loaded) == []
    assert _width(measured) <= PHONE


def test_what_is_wrong_in_a_page_is_seen(tmp_path: Path) -> None:
    """A word on the console and a page that is too wide are measured."""
    page = "<script>console.error('no')</script><div style='width:600px'>wide</div>"
    wrapper = tmp_path / "phone.html"
    wrapper.write_text(MEASURE.replace("@", f'srcdoc="{escape(page)}"'), encoding="utf-8")
    measured = _run("--dump-dom", wrapper.as_uri())

    assert len(_problems(measured)) == 1
    assert _width(measured) > PHONE
