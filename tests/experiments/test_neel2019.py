"""The experiment on Adult, on a small table of the same columns."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.mechanisms import Records
from experiments import neel2019


def table(size: int) -> dict[str, np.ndarray[tuple[int], np.dtype[np.str_]]]:
    """Random people."""
    rng = np.random.default_rng(1)
    found = {name: rng.choice(["this", "that", "other"], size) for name in neel2019.CATEGORIES}
    for name, cuts in neel2019.CUTS.items():
        found[name] = rng.integers(0, 2 * cuts[-1], size=size).astype(str)
    return found


def test_columns_and_splits() -> None:
    """Columns are binary, and both parts are balanced and apart."""
    rows = neel2019.columns(table(400))
    positive = rows[:, 13] == 1
    train, test = neel2019.balanced(rows, positive, 50, np.random.default_rng(2))

    assert rows.shape == (400, 3 * 6 + 10 + 9 + 9 + 4 + 4 + 1)
    assert set(np.unique(rows)) == {0, 1}
    assert (train.labels.sum(), test.labels.sum()) == (0, 0)
    assert len(train) == 100


def test_oracles_agree_and_are_timed() -> None:
    """On a few columns; a disagreement would raise."""
    rows = neel2019.columns(table(300))
    found = neel2019.oracles(Records(rows, np.where(rows[:, 1] == 1, 1, -1)), (3, 5), 60)

    assert [line[0] for line in found] == [3, 5]
    assert all(0 < seconds < 60 for line in found for seconds in line[2:])


def test_columns_are_chosen_by_the_training_records() -> None:
    """Those that decide the label survive, and the constant."""
    rows = neel2019.columns(table(400))
    data = Records(rows, np.where(rows[:, 4] + rows[:, 13] - rows[:, 7] >= 1, 1, -1))
    kept = neel2019.chosen(data, 8)

    assert len(kept) == 8
    assert {4, 7, 13, rows.shape[1] - 1} <= set(kept)


@pytest.mark.slow
def test_every_method_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On four columns; what is learned is better than a coin at a large epsilon."""
    rows = neel2019.columns(table(900))[:, [0, 4, 7, -1]]
    data = Records(rows, np.where(rows[:, 0] + rows[:, 1] >= 1, 1, -1))
    monkeypatch.setattr("builtins.print", lambda *_, **__: None)
    found = neel2019.averages([neel2019.measure(data, data, 2, (20.0,))])

    assert len(found) == 9
    assert all(values[0][0] > 0.5 for values in found.values())


@pytest.mark.slow
def test_the_printed_sigma_is_relabelled() -> None:
    """Claimed .1, .5 and 1 are proved at .109, .564 and 1.146 at the paper's n and d."""
    proved = [neel2019.honest(claimed, 1 / 15_682**2, 23) for claimed in (0.1, 0.5, 1.0)]

    assert proved == pytest.approx([0.109, 0.564, 1.146], abs=6e-4)
