"""docs/THEOREMS.md is what the source says."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from dpproof.proofs.rules import RULES
from tests.architecture.tree import ROOT

PAGE = ROOT / "docs" / "THEOREMS.md"


def test_the_page_is_generated() -> None:
    """Every statement, source and rule is as in the code: run scripts/theorems.py to renew it."""
    run = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "theorems.py")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert run.stdout == PAGE.read_text(encoding="utf-8")


def test_every_rule_is_documented_in_the_format() -> None:
    """docs/CERTIFICATE.md names every rule of the table, and no other."""
    text = (ROOT / "docs" / "CERTIFICATE.md").read_text(encoding="utf-8")
    table = text.split("## Rules")[1].split("## Verdicts")[0]
    named: set[str] = set()
    for row in re.findall(r"^\| (`[^|]*?) \|", table, re.MULTILINE):
        family = ""
        for name in re.findall(r"`([^`]+)`", row):
            family = name.split("/")[0] if not name.startswith("/") else family
            named.add(f"{family}{name}" if name.startswith("/") else name)

    named = {name for name in named if "/" in name or name in RULES}  # and none of the pairs
    assert named == {name for name in RULES if not name.startswith("state/")} | {"state/NOTION"}
