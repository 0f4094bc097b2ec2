"""The hunt can fail: what is broken on purpose is noticed."""

from __future__ import annotations

import pytest

from tests.hunt.sabotage import BREAKS, caught


@pytest.mark.slow
@pytest.mark.parametrize("name", BREAKS)
def test_break(name: str) -> None:
    """A family notices its break within a minute of the processor's time."""
    assert caught(name)
