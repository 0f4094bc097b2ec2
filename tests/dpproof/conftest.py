"""The command line as a fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dpproof.command import Command


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """The command line, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")
    return Command(tmp_path, capsys)
