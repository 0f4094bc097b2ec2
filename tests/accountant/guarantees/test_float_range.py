"""What overflows on the way to an answer."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.float_range import within_floats


@pytest.mark.parametrize(
    "overflow",
    [
        lambda: np.float64(1e300) * 1e300,
        lambda: np.log1p(np.array([-1.0])),
        lambda: np.array([np.inf]) - np.inf,
        lambda: float(10**400),
    ],
)
def test_an_overflow_is_refused_by_type(overflow: object) -> None:
    """What leaves the floats, in arrays or in Python, is NotCertified with its cause."""
    with pytest.raises(NotCertified, match="not representable as a float") as refused:
        within_floats(overflow)()  # type: ignore[arg-type]

    assert isinstance(refused.value.__cause__, ArithmeticError)


def test_other_errors_and_answers_pass() -> None:
    """A mistake in our own code is not hidden as a refusal, and an underflow is none."""
    with pytest.raises(ZeroDivisionError):
        within_floats(lambda: 1 / 0)()

    assert within_floats(lambda: float(np.float64(1e-300) * 1e-300))() == 0.0
