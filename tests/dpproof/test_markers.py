"""No command shows a value of the datasets that it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.markers import NUMBER, TEXT, WHOLE, marked
from tests.dpproof.command import Command

AUDIT_FILE = """
[audit]
sampler = "marked_code:{sampler}"
pair = {pair}
epsilon = 0.1
samples = 400
significance = 0.05
"""
AUDITED_CODE = f"""
def counts(data, size, rng):
    return len(data) + rng.laplace(size=size)

def quotes(data, size, rng):
    raise ValueError(f"cannot read {{data}}")

def pair():
    raise ValueError("{TEXT}")
"""


@pytest.mark.parametrize("sampler", ["counts", "quotes", "missing"])
@pytest.mark.parametrize(
    "pair", [f"[[{NUMBER}, 2.0], [2.0]]", f'[["{TEXT}"], [{WHOLE}]]', '"marked_code:pair"']
)
def test_no_command_shows_data(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str, pair: str
) -> None:
    """Neither stream of ``dpproof audit`` has a value of the datasets, of the file or of code."""
    (tmp_path / "marked_code.py").write_text(AUDITED_CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audit.toml").write_text(AUDIT_FILE.format(sampler=sampler, pair=pair))
    for form in ((), ("--json",)):
        outcome = command.run("audit", "audit.toml", *form)

        assert outcome.out or outcome.err
        assert not marked(outcome.out + outcome.err)
