"""``dpproof audit --plot``: the claimed curve against the measured region."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from dpproof import auditing
from dpproof.accountant import GDP
from dpproof.auditing import Report
from dpproof.auditing.counts import MissingDependency
from dpproof.errors import InputError
from dpproof.reports import plot
from tests.auditing.samplers import gaussian, laplace
from tests.dpproof.command import Command

CODE = """
import numpy as np

def right(value, size, rng):
    return np.rint(value + 8 * rng.laplace(size=size))

def wrong(value, size, rng):
    return np.rint(value + 2 * rng.laplace(size=size))
"""
CLAIM = GDP(mu=1)


@pytest.fixture(scope="module")
def short() -> Report:
    """Noise a fifth short of its claim, not yet refuted at the first look."""
    return auditing.audit(gaussian(0.8), (0.0, 1.0), CLAIM, samples=20_000, seed=4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with code to audit."""
    (tmp_path / "plotted_code.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "audit.toml").write_text(
        '[audit]\nsampler = "plotted_code:right"\npair = [0.0, 8.0]\nepsilon = 1\n'
        "samples = 1_000\nsignificance = 1e-6\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(report: Report, claim: object) -> dict[str, tuple[list[float], list[float]]]:
    """What the first word of every label names, on the plain axes."""
    figure = Figure()
    plot.draw(figure, report, claim)
    return {
        str(line.get_label()).split(":")[0].split(",")[0]: (
            np.asarray(line.get_xdata(), float).tolist(),
            np.asarray(line.get_ydata(), float).tolist(),
        )
        for line in figure.axes[0].lines
    }


def test_curves_are_the_claim_and_the_region(short: Report) -> None:
    """The claimed line is the claim's curve; the edge is above the truth and crosses the claim."""
    drawn = lines(short, CLAIM)
    rates, claimed = drawn["claimed"]
    for rate, error in list(zip(rates, claimed, strict=True))[::40]:
        curve = CLAIM.type_ii_error(type_i_error=rate)
        assert curve.lower - 2e-3 < error <= curve.upper

    truth = GDP(mu=1.25)
    edge = drawn["measured"][1]
    assert all(
        truth.type_ii_error(type_i_error=rate).lower <= error
        for rate, error in list(zip(rates, edge, strict=True))[::40]
    )
    assert min(np.subtract(edge, claimed)) < -0.01
    assert len(drawn["counted"][0]) > 20


def test_words_say_the_outcome(short: Report) -> None:
    """The title, and the red area only where both exclude the same."""
    for report, claim, title, clashes in (
        (short, CLAIM, "The claim is refuted", True),
        (
            auditing.audit(laplace(1.0), (0.0, 1.0), (1, 0), samples=300, seed=2),
            (1, 0),
            "No evidence against the claim",
            False,
        ),
    ):
        figure = Figure()
        plot.draw(figure, report, claim)
        texts = [text.get_text() for text in figure.texts]
        legend = [text.get_text() for text in figure.legends[0].get_texts()]

        assert title in texts
        assert any("excluded by both" in text for text in legend) == clashes


def test_what_refuted_the_claim_is_named(short: Report) -> None:
    """Every refuting event is in the plot by its words, at its rates if these were counted."""
    figure = Figure()
    plot.draw(figure, short, CLAIM)
    refuting = [finding for finding in short.findings if finding.refutes]
    told = " ".join(text.get_text() for text in figure.axes[0].texts)

    assert refuting
    assert all(finding.event in told for finding in refuting)
    counted = [one for one in refuting if one.counts.design is not auditing.Design.GUESSES]
    marked = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert len(marked) == len(counted) > 0


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_writes_pictures(short: Report, tmp_path: Path, ending: str) -> None:
    """The ending chooses the format."""
    path = tmp_path / f"audit.{ending}"
    plot.save(short, CLAIM, path)
    start = path.read_bytes()[:100]

    assert {"png": b"PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending] in start


def test_refuses_what_cannot_be_drawn(short: Report, tmp_path: Path) -> None:
    """No such format, no such folder, no samples: one line each."""
    with pytest.raises(InputError, match="has to end in one of"):
        plot.save(short, CLAIM, tmp_path / "audit.docx")
    with pytest.raises(InputError, match="No such file"):
        plot.save(short, CLAIM, tmp_path / "nowhere" / "audit.png")
    with pytest.raises(InputError, match="before any samples"):
        plot.save(replace(short, overview=None), CLAIM, tmp_path / "audit.png")


def test_says_what_to_install(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without matplotlib: a typed error, and one line with status 2 before anything is drawn."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependency, match=r"dpproof\[plots\]"):
        plot.library("audit.png")
    outcome = command.run("audit", "audit.toml", "--plot", str(folder / "audit.png"))

    assert outcome.status == 2
    assert "dpproof[plots]" in outcome.err
    assert not (folder / "audit.png").exists()


@pytest.mark.parametrize(("sampler", "status"), [("right", 0), ("wrong", 1)])
def test_command_line(command: Command, folder: Path, sampler: str, status: int) -> None:
    """The picture is written whatever the outcome, beside the usual answer."""
    text = (folder / "audit.toml").read_text(encoding="utf-8")
    (folder / "audit.toml").write_text(text.replace("right", sampler), encoding="utf-8")
    outcome = command.run("audit", "audit.toml", "--plot", "out.png")

    assert outcome.status == status
    assert outcome.out.startswith(("NO EVIDENCE", "VIOLATION")[status])
    assert (folder / "out.png").stat().st_size > 10_000
