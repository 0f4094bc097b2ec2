"""Datasets of an audit: two, and not the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.auditing.trials.encoding import alike

MARKER = "marker-of-a-record"


def _draw(_: object, size: int, rng: np.random.Generator) -> object:
    return rng.laplace(size=size).round(9)


class _Rows:
    """Data of a type of one's own."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows


EQUAL = [
    (0.0, 0.0),
    (float("nan"), float("nan")),
    ([1, MARKER], [1, MARKER]),
    ({"a": [1.5]}, {"a": [1.5]}),
    (np.arange(3), np.arange(3)),
    (np.array([MARKER], dtype=object), np.array([MARKER], dtype=object)),
    (_Rows([MARKER]), _Rows([MARKER])),
]
DIFFERENT = [
    (0.0, -0.0),
    (1, 1.0),
    ([1], [1, 1]),
    ((1,), [1]),
    ([1, [2]], [1, [3]]),
    (np.arange(3), np.arange(3.0)),
    (np.zeros(3), -np.zeros(3)),
    (np.zeros((1, 2)), np.zeros((2, 1))),
    (_Rows([1]), _Rows([2])),
    (lambda: 1, iter([1])),
]


@pytest.mark.parametrize("pair", EQUAL)
def test_equal_datasets_are_refused(pair: tuple[Any, Any]) -> None:
    """Nothing could be found, whatever is audited; no record is shown."""
    assert alike(*pair)
    for ask in (auditing.audit, auditing.watch):
        with pytest.raises(ParameterError, match="two neighbouring datasets") as refusal:
            ask(_draw, pair, (1, 0), samples=10)
        assert MARKER not in str(refusal.value)


@pytest.mark.parametrize("pair", DIFFERENT)
def test_different_datasets_are_not(pair: tuple[Any, Any]) -> None:
    """What an implementation can tell apart is different."""
    assert not alike(*pair)


@pytest.mark.parametrize("pair", [3, None, (MARKER,), [MARKER] * 3])
def test_what_is_no_pair_is_refused(pair: Any) -> None:  # noqa: ANN401  # anything
    """The argument is named, and its type."""
    with pytest.raises(ParameterError, match=r"^pair must be a Pair or a tuple") as refusal:
        auditing.audit(_draw, pair, (1, 0))
    assert MARKER not in str(refusal.value)


@pytest.mark.parametrize("sampler", [3, None, MARKER])
def test_what_is_no_sampler_is_refused(sampler: Any) -> None:  # noqa: ANN401  # anything
    """The argument is named, and its type."""
    for ask in (auditing.audit, auditing.watch):
        with pytest.raises(ParameterError, match=r"^sampler must be a function") as refusal:
            ask(sampler, (0, 1), (1, 0))
        assert MARKER not in str(refusal.value)


@pytest.mark.parametrize(
    ("outputs", "kind"), [(1.5, "float"), (np.float64(2), "float64"), (np.array(3), "ndarray")]
)
def test_one_number_is_not_many(outputs: object, kind: str) -> None:
    """A sampler that returns one output for all is told so."""
    expected = re.escape(f"got 'one {kind}'")
    with pytest.raises(ParameterError, match=rf"^outputs must be a list .*{expected}"):
        auditing.audit(lambda *_: outputs, (0, 1), (1, 0))


def test_a_sampler_that_ends_the_program_is_refused() -> None:
    """The audit ends with an error that names it; the program goes on."""

    def leaves(_: object, size: int, __: np.random.Generator) -> object:
        raise SystemExit(size)

    with pytest.raises(ParameterError, match=r"^sampler must be .* sys\.exit"):
        auditing.audit(leaves, (0, 1), (1, 0))
