"""Thresholded counts: the noise's pairs, and a threshold that is rarely reached by one record."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, factor, pairs

RULE = "mechanism/thresholded-counts"
GIVEN: Object = {"noise": "laplace", "scale": "2", "cells": 2, "delta": "1/8", "threshold": 6}
GAUSSIAN: Object = {"noise": "gaussian", "threshold": 6}
MISSED = factor("finite", p=["1/8", "7/8", "0"], q=["0", "7/8", "1/8"])
LAPLACE = factor("discrete-laplace", 2, scale="2", shift=1)


def normal(variance: str, count: int = 2) -> Object:
    """Shifts of discrete Gaussian noise."""
    return factor("discrete-gaussian", count, sigma_squared=variance, shift=1)


def stated(found: list[Object], changes: Object, why: str = "") -> Case:
    """Some pairs in both directions."""
    return Case(RULE, pairs(found), witness={**GIVEN, **changes}, why=why)


CASES = [
    stated([LAPLACE, MISSED], {}),
    stated([normal("4"), MISSED], GAUSSIAN),
    stated([LAPLACE, MISSED], {"threshold": 5}, "probability to publish"),
    stated([normal("4"), MISSED], {**GAUSSIAN, "threshold": 5}, "probability to publish"),
    stated([{**LAPLACE, "count": 3}, MISSED], {"cells": 3}, "probability to publish"),
    stated([LAPLACE], {}, "not the one"),
    stated([{**LAPLACE, "count": 1}, MISSED], {}, "not the one"),
    stated([LAPLACE, {**MISSED, "count": 2}], {}, "not the one"),
    stated([LAPLACE, MISSED], {"delta": "1/4"}, "not the one"),
    stated([normal("5"), MISSED], GAUSSIAN, "not the one"),
    stated([LAPLACE, MISSED], {"noise": "uniform"}, "gaussian and laplace"),
    stated([LAPLACE, MISSED], {"threshold": 1}, "threshold"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pairs_and_threshold_are_compared(case: Case) -> None:
    """Accepted for the pairs that follow and a threshold that is high enough."""
    case.holds()
