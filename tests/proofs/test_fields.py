"""Reading the fields of a certificate's objects."""

from __future__ import annotations

import pytest

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.fields import wholes
from dpproof.proofs.limits import MAX_WORDS


def test_lists_of_integers_are_read() -> None:
    """As they stand; an empty one as well."""
    assert wholes(Fields({"n": [1, 0, 7]}, "it"), "n") == (1, 0, 7)
    assert wholes(Fields({"n": []}, "it"), "n") == ()


@pytest.mark.parametrize("listed", [[1, "2"], [True], [1, None], ["1/2"]])
def test_other_lists_are_no_lists_of_integers(listed: list[object]) -> None:
    """One item of another type is enough."""
    with pytest.raises(RefusedError, match="whole numbers"):
        wholes(Fields({"n": listed}, "it"), "n")


@pytest.mark.parametrize("words", ["x", "x" * MAX_WORDS, "rounded to cents"])
def test_short_lines_are_read(words: str) -> None:
    """From one character to the most."""
    assert Fields({"d": words}, "it").words("d") == words


@pytest.mark.parametrize("words", ["", " x", "x\n", "x" * (MAX_WORDS + 1), 7])
def test_other_texts_are_refused(words: object) -> None:
    """Nothing, blanks around it, several lines, too much, and what is no text."""
    with pytest.raises(RefusedError):
        Fields({"d": words}, "it").words("d")
