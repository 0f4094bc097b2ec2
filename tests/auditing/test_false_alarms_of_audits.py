"""Repeats of whole audits on controls where the claim is exactly true.

An alarm is a violation, or a bound above the truth, at 5 %; more alarms than the limits have
probability 0.3 % at that rate. Samples are few, and audits that take longer are repeated less
often, so that the file takes minutes.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.auditing import samplers
from tests.auditing.samplers import Case, laplace, randomized_response

pytestmark = pytest.mark.slow

OFTEN, SOMETIMES = (1_000, 69), (100, 12)  # repeats, and most alarms
SCORES = np.zeros(4), np.array([1.0, -1.0, 1.0, 0.0])
QUICK = [
    Case("equal distributions", laplace(1.0), 0.0, 0.0, (0, 0), 60),
]
SLOW = [
    Case("constant", lambda _, size, __: np.zeros(size), 0.0, 1.0, (0, 0), 60),
    Case("response with delta", randomized_response(0.5, 0.05), 0.0, 1.0, (0.5, 0.05), 100),
    Case("noisy max, index only", samplers.noisy_max_index, *SCORES, (1, 0), 60),
    Case("laplace", laplace(1.0), 0.0, 1.0, (1, 0), 400),
    Case("randomised response", randomized_response(1), 0.0, 1.0, (1, 0), 100),
]


@pytest.mark.parametrize(
    ("case", "repeats", "most"),
    [*((case, *OFTEN) for case in QUICK), *((case, *SOMETIMES) for case in SLOW)],
    ids=[case.name for case in [*QUICK, *SLOW]],
)
def test_controls_alarm_rarely(case: Case, repeats: int, most: int) -> None:
    """No more alarms than audits at 5 % may have."""
    assert samplers.alarms(case, repeats) <= most
