"""Samplers made of functions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Outcome, Timed, audit


def slow_on_one(data: int, size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
    """Constant outputs; half of the calls take a millisecond more where the data is 1."""
    if data and rng.random() < 0.5:
        time.sleep(1e-3)
    return np.zeros(size)


def test_the_time_of_a_call_is_an_output() -> None:
    """A call that is slower on one dataset refutes; one output a call is demanded."""
    rng = np.random.default_rng(1)
    ((number, taken),) = Timed(lambda *_: [3.0])(None, 1, rng)
    assert (number, taken < 0) == (3.0, True)

    report = audit(Timed(slow_on_one), (0, 1), (0.1, 0), samples=300, chunk=1, seed=1)
    assert report.outcome is Outcome.VIOLATION, str(report)

    with pytest.raises(ParameterError, match="give chunk=1"):
        Timed(slow_on_one)(1, 2, rng)
