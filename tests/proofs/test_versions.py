"""Certificates that earlier versions wrote keep verifying."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dpproof.proofs import Certificate, Rejected, check_text
from tests.proofs.corpus import COMPUTATIONS, FOLDER

WRITTEN = sorted(FOLDER.glob("*.json"))


def test_there_is_one_of_each() -> None:
    """Every computation of the corpus has its certificate."""
    assert {path.stem for path in WRITTEN} >= set(COMPUTATIONS)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_written_certificates_verify(path: Path) -> None:
    """What was written stays a proof, in seconds, and stays small."""
    text = path.read_text(encoding="utf-8")
    start = time.process_time()
    verdict = check_text(text)

    assert not isinstance(verdict, Rejected), verdict
    assert time.process_time() - start < 10
    assert len(text) < 20_000
    again = Certificate.from_json(text).to_json(full=True)
    assert again == text.replace('"repeat/', '"compose/')  # another name in earlier versions
