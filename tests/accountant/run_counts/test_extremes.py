"""Run laws at extreme parameters and arguments, against 80 digits."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import (
    LAW_ERROR,
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    TruncatedNegativeBinomial,
)
from tests.accountant.run_counts.exact_laws import DIGITS, Known, draw, log_uniform

CASES = 1500
LEAST = 1e-290  # floats below lose their digits


def cases(seed: int) -> list[tuple[Known, random.Random]]:
    """Draw laws; made while 300 digits are kept, as are the oracles."""
    rng = random.Random(seed)  # noqa: S311
    return [(draw(rng), rng) for _ in range(CASES)]


def test_generating_functions_keep_their_digits() -> None:
    """Mean, phi and phi' are within the error that every bound takes for granted."""
    with mpmath.workdps(4 * DIGITS):
        for known, rng in cases(1):
            z = rng.choice([0.0, 1.0, rng.random(), 1 - 10 ** rng.uniform(-16, 0)])
            at, exact = np.array([z]), mpmath.mpf(z)
            pairs = [
                (known.law.mean, known.mean),
                (float(known.law.pgf(at)[0]), known.phi(exact)),
                (float(known.law.derivative(at)[0]), known.slope(exact)),
            ]
            for found, true in pairs:
                assert abs(found - true) <= 0.1 * LAW_ERROR * true + LEAST, (known.law, z)


def test_logs_are_rounded_up_relative_to_themselves() -> None:
    """Next to 0 too, where the log of a rounded number near 1 has no digit left."""
    with mpmath.workdps(4 * DIGITS):
        for known, rng in cases(2):
            x = float(log_uniform(rng, -300, 2.5))
            size = mpmath.log(known.mean + known.phi(mpmath.mpf(0)))
            assert size <= known.law.log_mean_up <= size * (1 + 1e-3) + 1e-10, known.law
            moment, found = known.log_moment(mpmath.mpf(x)), known.law.log_moment_up(x)
            assert moment <= found, (known.law, x)
            assert moment == mpmath.inf or found <= moment * (1 + 1e-12) + 1e-300
            ratio, found = known.log_ratio(mpmath.mpf(x)), known.law.log_ratio_up(x)
            assert ratio <= found, (known.law, x)
            assert not known.law.corner_is_worst or found <= ratio * (1 + 1e-12) + 1e-280


def test_the_largest_ratio_is_known_where_the_derivative_is_no_normal_float() -> None:
    """phi'(0) = rate e^-rate has two digits at rate 742, its log has all."""
    assert 742 <= PoissonRuns(rate=742).log_ratio_up(750.0) <= 742 * (1 + 1e-12)


def test_parameters_that_floats_do_not_reach_are_refused() -> None:
    """Closer than 1e-300 to an end."""
    tiny = 10**400
    for build in (
        lambda: PoissonRuns(rate=1e-310),
        lambda: BinomialRuns(trials=3, probability=1e-310),
        lambda: BinomialRuns(trials=3, probability=1 - Fraction(1, tiny)),
        lambda: TruncatedNegativeBinomial(eta=1, gamma=1 - Fraction(1, tiny)),
    ):
        with pytest.raises(ParameterError):
            build()


def test_one_run_has_nothing_beyond_the_first() -> None:
    """The log of E[max(K, 1)] is exactly 0 for one run, and above 0 wherever there may be two."""
    assert FixedRuns(count=1).log_mean_up == 0.0
    assert BinomialRuns(trials=1, probability=0.5).log_mean_up == 0.0
    for law in (
        BinomialRuns(trials=2, probability=1e-200),
        FiniteRuns(probabilities=(0.5, 0.25, 0.25)),
        PoissonRuns(rate=1e-250),
    ):
        assert law.log_mean_up > 0.0
