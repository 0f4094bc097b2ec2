"""Where a ledger may be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpproof.ledger.connect import connect
from dpproof.ledger.errors import LedgerError


def test_what_is_no_file_is_refused_with_what_to_give(tmp_path: Path) -> None:
    """Nothing and a folder are no files that exist already."""
    for place in ("", " ", str(tmp_path)):
        for create in (True, False):
            with pytest.raises(LedgerError, match="a ledger is a file such as"):
                connect(place, create=create)
