"""What is not installed is named with the extra that brings it, by one typed error."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from dpproof import learn
from dpproof.accountant.errors import MissingDependency
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.interop import to_event
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, PIPELINE

TEXT = PIPELINE + GAUSSIAN


@pytest.mark.parametrize(
    ("library", "extra"),
    [("jinja2", "report"), ("matplotlib.figure", "plots"), ("dp_accounting", "interop")],
)
def test_commands_name_the_extra(
    library: str, extra: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 2 and one line, before anything is computed."""
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, f"{library}.dp_event", None)
    out = str(tmp_path / ("x.png" if extra == "plots" else "x.html"))
    if extra == "interop":
        with pytest.raises(MissingDependency, match=r"dpproof\[interop\]"):
            to_event.to_dp_event(GDP(mu=1))
        return
    name = "plot" if extra == "plots" else "report"
    done = command.run(name, command.file(TEXT), "-o", out)

    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"pip install 'dpproof[{extra}]'" in done.err
    assert not Path(out).exists()


def test_learners_name_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without scikit-learn a learner is a missing dependency, and an unknown name is none."""
    monkeypatch.delitem(sys.modules, "dpproof.learn.transformers", raising=False)
    monkeypatch.delitem(vars(learn), "KMeans", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingDependency, match=r"KMeans needs scikit-learn: .*dpproof\[learn\]"):
        importlib.import_module("dpproof.learn").KMeans  # noqa: B018  # asking imports it
    with pytest.raises(AttributeError):
        importlib.import_module("dpproof.learn").KMean  # noqa: B018  # as above
