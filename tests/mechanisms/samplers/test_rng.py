"""Sources of words: shape, replay, adaptation and refusals."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dpproof.accountant.errors import MissingDependency, ParameterError
from dpproof.mechanisms.samplers.rng import GeneratorRng, ReplayRng, Rng, SystemRng, as_rng
from tests.mechanisms.samplers.support import Scripted

SOURCES = [SystemRng(), ReplayRng(1), GeneratorRng(np.random.default_rng(1))]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_words_have_the_stated_shape(source: Rng, count: int) -> None:
    """Any count gives that many 64-bit words."""
    words = source.words(count)
    assert words.shape == (count,)
    assert words.dtype == np.uint64


@pytest.mark.parametrize("source", SOURCES)
def test_every_bit_takes_both_values(source: Rng) -> None:
    """Each of 64 bits is constant over 200 words with probability 2^-199: 1e-57 in all."""
    words = source.words(200)
    assert int(np.bitwise_or.reduce(words)) == 2**64 - 1
    assert int(np.bitwise_and.reduce(words)) == 0


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [-1, 1.0, True])
def test_counts_are_checked(source: Rng, count: int) -> None:
    """A count is a whole number."""
    with pytest.raises(ParameterError, match="count"):
        source.words(count)


@pytest.mark.parametrize("seed", [0, -5, 2**200, b"", b"seed"])
def test_replay_repeats_and_does_not_depend_on_the_cuts(seed: int | bytes) -> None:
    """Cutting the stream differently gives the same words."""
    whole = ReplayRng(seed).words(12)
    parts = ReplayRng(seed)
    assert np.array_equal(np.concatenate([parts.words(5), parts.words(0), parts.words(7)]), whole)


def test_seeds_do_not_share_streams() -> None:
    """Integers, bytes and their spellings are different seeds."""
    seeds: list[int | bytes] = [0, 1, -1, b"", b"0", b"\x00", b"int:0", 2**128]
    streams = {ReplayRng(seed).words(4).tobytes() for seed in seeds}
    assert len(streams) == len(seeds)


def test_system_words_differ() -> None:
    """Two blocks of 4 words coincide with probability 2^-256."""
    assert not np.array_equal(SystemRng().words(4), SystemRng().words(4))


def test_replayed_words_stay_the_same_across_releases() -> None:
    """Stored replays keep their meaning."""
    assert ReplayRng(7).words(2).tolist() == REPLAYED


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.SFC64])
def test_a_generator_is_adapted_whatever_its_word_size(bits: type[np.random.BitGenerator]) -> None:
    """A 32-bit generator also fills 64 bits."""
    first = GeneratorRng(np.random.Generator(bits(3))).words(200)
    again = GeneratorRng(np.random.Generator(bits(3))).words(200)
    assert np.array_equal(first, again)
    assert int(np.bitwise_or.reduce(first)) == 2**64 - 1


def test_as_rng_adapts() -> None:
    """None, a numpy Generator and an Rng are accepted."""
    replay = ReplayRng(1)
    assert as_rng(replay) is replay
    assert isinstance(as_rng(None), SystemRng)
    assert isinstance(as_rng(np.random.default_rng(1)), GeneratorRng)


@pytest.mark.parametrize("seed", [1.0, "x", None, True])
def test_seeds_are_checked(seed: int) -> None:
    """A seed is an int or bytes."""
    with pytest.raises(ParameterError, match="seed"):
        ReplayRng(seed)


def test_other_sources_are_refused() -> None:
    """Anything else is refused by name."""
    with pytest.raises(ParameterError, match="rng"):
        as_rng(7)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="generator"):
        GeneratorRng(7)  # type: ignore[arg-type]


REPLAYED = [14120478035718431600, 12711241500902954171]


def test_numpy_is_the_cipher_chacha20() -> None:
    """Under the key 0 its words are the published key stream (RFC 8439, A.1, test vector 1)."""
    stream = bytes.fromhex("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    raw = Scripted([0, 0, 0, 0]).numpy().bit_generator.random_raw(4)
    assert np.asarray(raw, dtype="<u8").tobytes() == stream


def test_numpy_takes_a_new_key_each_time() -> None:
    """The system's never repeats, a replay repeats, and two of one source differ."""
    first, second = (SystemRng().numpy().integers(0, 2**62, 4).tolist() for _ in range(2))
    assert first != second
    replay = ReplayRng(3)
    drawn = [replay.numpy().normal() for _ in range(2)]
    again = ReplayRng(3)
    assert drawn == [again.numpy().normal() for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_numpy_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without randomgen there is no generator, and no weaker one in its place."""
    monkeypatch.setitem(sys.modules, "randomgen", None)
    with pytest.raises(MissingDependency, match=r"dpproof\[rng\]"):
        SystemRng().numpy()
