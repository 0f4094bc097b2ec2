"""Lazy uniforms: digits are kept, approximations hold, comparisons are those of the real number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof.mechanisms.samplers import enclosure
from dpproof.mechanisms.samplers.enclosure import rational
from dpproof.mechanisms.samplers.rng import LazyUniform, ReplayRng, Uniforms
from tests.mechanisms.samplers.support import Scripted

WORDS = st.integers(min_value=0, max_value=2**64 - 1)
# Leading zeros are rare in uniform words, so shift them in.
SMALL_WORDS = st.builds(lambda w, s: w >> s, WORDS, st.integers(min_value=0, max_value=64))


@given(st.lists(WORDS, min_size=3, max_size=3), st.fractions(min_value=0, max_value=1))
def test_comparison_is_that_of_the_full_expansion(words: list[int], x: Fraction) -> None:
    """U < x is decided as if all digits had been compared."""
    prefix = (words[0] << 128) | (words[1] << 64) | words[2]
    if prefix <= x * 2**192 <= prefix + 1:
        return
    uniform = LazyUniform(words[0], 64, Scripted(words[1:]))
    assert uniform.is_below(rational(x)) == (Fraction(prefix, 2**192) < x)


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_difference_in_digit_640_decides(shift: int) -> None:
    """Digits are drawn as far as needed."""
    bits = 640
    x = Fraction(1, 3)
    prefix = int(x * 2**bits) + shift
    words = [(prefix >> (bits - 64 * (j + 1))) & (2**64 - 1) for j in range(bits // 64)]
    uniform = LazyUniform(words[0], 64, Scripted(words[1:]))
    assert uniform.is_below(rational(x)) == (shift < 0)
    assert uniform.bits >= bits


def test_refinement_keeps_the_digits_seen() -> None:
    """More digits are appended; none is replaced."""
    uniform = LazyUniform(5, 3, ReplayRng(1))
    assert uniform.refine(3).bits == 3
    assert uniform.refine(4).prefix >> 64 == 5
    assert uniform.bits == 67


@given(st.lists(SMALL_WORDS, min_size=1, max_size=8), st.integers(min_value=0, max_value=1))
def test_approximations_hold_for_every_continuation(words: list[int], spent: int) -> None:
    """Both ends of what is known are within the stated relative error."""
    rng = Scripted(words)
    batch = Uniforms(len(words), rng, spent=spent)
    for i, word in enumerate(words):
        uniform = batch.lazy(i)
        kept = word & (2 ** (64 - spent) - 1)
        assert uniform.prefix >> (uniform.bits - 64 + spent) == kept
        near = batch.approximation[i]
        if kept == 0:
            assert np.isnan(near)
            continue
        for end in (uniform.prefix, uniform.prefix + 1):
            ratio = Fraction(end, 2**uniform.bits) / Fraction(float(near))
            assert abs(ratio - 1) <= enclosure.UNIFORM


def test_second_words_belong_to_their_draws() -> None:
    """A second word goes to the draw that asked for it."""
    words = [2**63, 1, 2**63, 2**20, 777, 888]
    batch = Uniforms(4, Scripted(words))
    assert (batch.lazy(1).prefix, batch.lazy(1).bits) == (2**64 + 777, 128)
    assert (batch.lazy(3).prefix, batch.lazy(3).bits) == (2**84 + 888, 128)
    assert (batch.lazy(2).prefix, batch.lazy(2).bits) == (2**63, 64)


def test_minus_log_reaches_past_words_of_zeros() -> None:
    """Leading zeros are skipped word by word."""
    uniform = LazyUniform(0, 64, Scripted([0, 0, 2**55]))
    assert uniform.minus_log() == pytest.approx(201 * np.log(2), rel=1e-12)
