"""The survey of examples/: a question, a hundred phones, and a count."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from tests.examples.loaded import example


def test_from_question_to_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every phone prints one report that parses; shares add up to 1, inside their intervals."""
    survey, file = example("survey"), str(tmp_path / "question.json")
    survey.main(["ask", file])
    assert re.fullmatch(r"epsilon 2\.2\d+ by RandomizedResponse\n", capsys.readouterr().out)
    for person in range(100):
        survey.main(["answer", file, survey.COLOURS[person % 2]])
    reports = capsys.readouterr().out
    assert {json.loads(line) for line in reports.splitlines()} <= {0, 1, 2, 3}
    monkeypatch.setattr("sys.stdin", io.StringIO(reports))
    survey.main(["count", file])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].strip() for line in lines] == list(survey.COLOURS)
    shares = [[float(one) for one in re.findall(r"\d\.\d+", line)] for line in lines]
    assert sum(share for share, _, _ in shares) == pytest.approx(1, abs=0.003)
    with pytest.raises(SystemExit, match="survey without a trusted server"):
        survey.main([])
