"""The training loops of examples/, where their libraries are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpproof as dp
from tests.examples.loaded import example

LOOPS = [("opacus_training", "opacus", "profile.png"), ("jax_training", "jax", "trade-off.png")]


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")  # of the other libraries
@pytest.mark.parametrize(("name", "library", "picture"), LOOPS)
def test_from_price_to_report(
    name: str, library: str, picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A loop keeps its budget, pays once, learns digits, and its audit refutes nothing.

    A false alarm of the audit has probability 1e-8.
    """
    pytest.importorskip(library)
    script = example(name)
    script.main(str(tmp_path), samples=500)
    printed = capsys.readouterr().out
    assert "VIOLATION" not in printed
    spent, accuracy = printed.split("epsilon in [")[1].split("]")[0], printed.split(" of digits")[0]
    assert 2.99 < float(spent.split(", ")[1]) <= 3
    assert float(accuracy.split()[-1]) > 0.7
    assert (tmp_path / picture).stat().st_size > 10_000
    assert "Within the budget" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert dp.Ledger.open(tmp_path / "budget.ledger").status().committed == ("digits 1",)
    with pytest.raises(dp.AlreadySpent):
        script.main(str(tmp_path), samples=500)
