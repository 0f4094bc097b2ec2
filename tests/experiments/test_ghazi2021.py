"""The experiments on halfspaces, at a tiny size: they run, and count every class."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from experiments import data, ghazi2021, report


@pytest.mark.slow
def test_everything_runs_on_small_data(tmp_path: Path) -> None:
    """Tables and figures of two small sets are written, accuracies lie between 0 and 1."""
    digits = data.digits()
    small = data.Split(
        "digits", 1e-4, 10, digits.train_x[:200], digits.train_y[:200],
        digits.test_x[:50], digits.test_y[:50],
    )  # fmt: skip
    tables, figures = ghazi2021.experiment(
        [small, data.breast_cancer()],
        fits=1,
        epsilons=(8.0,),
        deltas=(1e-3,),
        frequencies=10,
        radii=(0.1,),
        rows=10,
        published=((600, 100, 1.0, 1e-4),),
    )
    report.finish("ghazi2021", tables, figures, tmp_path)
    numbers = [x for table in tables[1:] for row in table.rows for x in row if isinstance(x, float)]

    assert len(tables) == 6
    assert min(numbers) >= 0
    assert max(numbers) <= 1
    assert len(list(tmp_path.glob("*.png"))) == len(figures) == 4
    assert (tmp_path / "ghazi2021.md").read_text(encoding="utf-8").count("###") == 6


@pytest.mark.slow
def test_what_ten_classes_cost_is_what_was_computed_elsewhere() -> None:
    """On USPS noise for one class at epsilon 1 costs 2.560 for ten, and 29.7 on one sample."""
    (row,) = ghazi2021.cost(((7_291, 100, 1.0, 1e-4),)).rows
    found = [float(x) for x in row[5:9]]  # type: ignore[arg-type]

    assert found == pytest.approx([0.8624, 2.560, 29.66, 1.4120], rel=1e-3)
