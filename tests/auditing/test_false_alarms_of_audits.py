"""Whole audits of every control, repeated where the claim is exactly true.

An alarm is a violation, or a bound above the truth, at 5 %; more alarms than the limits have
probability 0.2 % at that rate. Samples are few, so that the file takes minutes; with 280 a dataset
an audit has a band and a sharp event, with 40 one event.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant import GDP, BoundedRange
from tests.auditing import samplers
from tests.auditing.builders import LAPLACE, RECORDS, SCORES, SUBSAMPLED
from tests.auditing.samplers import Case, gaussian, laplace, randomized_response

pytestmark = pytest.mark.slow

REPEATS, MOST = 400, 33
CONTROLS = [
    Case("equal distributions", lambda _, *rest: laplace(1.0)(0.0, *rest), 0.0, 1.0, (0, 0), 60),
    Case("constant", lambda _, size, __: np.zeros(size), 0.0, 1.0, (0, 0), 60),
    Case("laplace", laplace(1.0), 0.0, 1.0, (1, 0), 40),
    Case("laplace, more samples", laplace(1.0), 0.0, 1.0, (1, 0), 280),
    Case("laplace, as a curve", laplace(1.0), 0.0, 1.0, LAPLACE, 40),
    Case("discrete laplace", samplers.discrete_laplace, 0, 1, (1, 0), 40),
    Case("randomised response", randomized_response(1), 0.0, 1.0, (1, 0), 60),
    Case("response with delta", randomized_response(0.5, 0.05), 0.0, 1.0, (0.5, 0.05), 60),
    Case("gaussian, as a curve", gaussian(1.0), 0.0, 1.0, GDP(mu=1), 40),
    Case("noisy max, index only", samplers.noisy_max_index, *SCORES, (1, 0), 40),
    Case("exponential", samplers.exponential, *SCORES, BoundedRange(epsilon=2), 40),
    Case("subsampled gaussian", samplers.poisson_subsampled(0.25, 1), *RECORDS, SUBSAMPLED, 40),
    Case("gaussian at a point", gaussian(1.0), 0.0, 1.0, (1, 0.1269368), 280),
]


@pytest.mark.parametrize("case", CONTROLS, ids=lambda case: case.name)
def test_controls_alarm_rarely(case: Case) -> None:
    """No more alarms than audits at 5 % may have."""
    assert samplers.alarms(case, REPEATS) <= MOST
