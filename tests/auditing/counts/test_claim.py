"""Claims, from what they may be given as."""

from __future__ import annotations

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.auditing.counts import Claim


def test_a_claim_is_itself() -> None:
    """Neither its delta nor its guarantee is made again."""
    claim = Claim.of((1.0, 1e-6))
    assert Claim.of(claim) is claim
    assert float(claim.delta) == 1e-6
    assert not claim.is_curve


def test_what_is_no_claim_is_refused() -> None:
    """Neither a guarantee nor two numbers."""
    with pytest.raises(ParameterError, match="claim"):
        Claim.of((1.0, 1e-6, 3.0))
