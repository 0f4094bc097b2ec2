"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.contracts.mechanism_contract import NOT_POSITIVE

GOOD: dict[str, Any] = {"margin": 0.1, "steps": 2, "sigma": 2}

BAD: dict[str, Sequence[Any]] = {
    "margin": (-0.1, float("nan"), "0.1", None),
    "steps": (0, 1.5, -1, None, True),
    "sigma": (*NOT_POSITIVE, 2**301),
    "rate": (0, 1.5, -0.1, None, float("nan")),
    "norm": (0, -1, float("inf"), "1"),
    "relation": ("add-remove", None),
    "margin_norm": ("l1", None, 2, []),
    "iterates": (1, None),
    "average": (1, None, "yes"),
    "features": (0, -1, 2.5, 2**25),
}
