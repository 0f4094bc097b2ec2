"""Cosine and sine by additions and multiplications."""

from __future__ import annotations

import mpmath
import numpy as np

from dpproof.mechanisms.learning.maps.turns import cosine, sine


def test_agrees_with_the_textbook() -> None:
    """At multiples of an eighth turn, beside them, and at random: within 2^-50 of mpmath."""
    eighths = np.arange(-4, 5) / 8
    beside = np.concatenate([np.nextafter(eighths, 1)[:-1], np.nextafter(eighths, -1)[1:]])
    turns = np.concatenate([eighths, beside, np.random.default_rng(1).uniform(-0.5, 0.5, 300)])
    with mpmath.workdps(40):
        for found, exact in ((sine(turns), mpmath.sin), (cosine(turns), mpmath.cos)):
            errors = [
                abs(mpmath.mpf(float(value)) - exact(2 * mpmath.pi * mpmath.mpf(float(t))))
                for value, t in zip(found, turns, strict=True)
            ]

            assert max(errors) < 2.0**-50


def test_a_number_stands_alone() -> None:
    """Every number beside others gives the bits that it gives alone."""
    turns = np.random.default_rng(2).uniform(-0.5, 0.5, 67)
    for function in (sine, cosine):
        together = function(turns)

        assert all(function(turns[i : i + 1])[0] == together[i] for i in range(len(turns)))
        assert (function(turns[::-1]) == together[::-1]).all()
