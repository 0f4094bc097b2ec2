"""Print docs/CLAIMS.md: ``python -m experiments.claims > docs/CLAIMS.md``."""

from __future__ import annotations

from experiments.claims.ledger import page

print(page(), end="")
