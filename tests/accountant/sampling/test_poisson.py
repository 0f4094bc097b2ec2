"""Poisson sampling."""

from __future__ import annotations

from typing import Any

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling.poisson import Poisson


@pytest.mark.parametrize("bad", [0, -0.1, 1.1, float("nan"), "1", None, True])
def test_rate_is_in_the_unit_interval(bad: Any) -> None:  # noqa: ANN401
    """Above 0 and at most 1."""
    assert Poisson(sampling_rate=1).sampling_rate == 1
    with pytest.raises(ParameterError, match="sampling_rate"):
        Poisson(sampling_rate=bad)
