"""What two verdicts assume, compared whatever numbers they give to mechanisms."""

from __future__ import annotations

import pytest

from dpproof.commands.check import differences
from dpproof.proofs import VerifiedUnder

LEAVES = ("M1 adds noise of scale 1", "M2 adds noise of scale 2")
EXCHANGED = ("M1 adds noise of scale 2", "M2 adds noise of scale 1")


def _verdict(*assumptions: str, **details: str) -> VerifiedUnder:
    known = {one[1:]: content for one, content in details.items()}
    return VerifiedUnder("M3 is 1-DP", assumptions, details=known)


def test_what_runs_on_the_same_data_runs_in_any_order() -> None:
    """Composition is of what runs, whatever comes first, in short and in long lists."""
    digest = "0123456789abcdef" * 4
    long = f"M3 runs [300 characters, sha256 {digest}] on the same data, apart"
    runs = "M3 runs M1 and M2 on the same data, apart"
    names = {f"_{digest}": "M1 and M2"}

    assert differences(_verdict(*LEAVES, runs), _verdict(*EXCHANGED, runs)) == []
    assert differences(_verdict(*LEAVES, long, **names), _verdict(*EXCHANGED, runs)) == []


@pytest.mark.parametrize(
    "whole",
    [
        "M3 draws one of M1 and M2, with probabilities 1/4, 3/4, in this order",
        'M3 applies "M1" to what M1 releases, and runs M2',
        "M3 runs M1 4 times on the same data, and M2 once",
    ],
)
def test_places_that_matter(whole: str) -> None:
    """The same sentences of exchanged parts say something else."""
    told = differences(_verdict(*LEAVES, whole), _verdict(*EXCHANGED, whole))

    assert told == [f"the certificate alone assumes: {whole}", f"the file alone says: {whole}"]


def test_words_of_an_author_are_no_names() -> None:
    """A quotation is compared letter by letter: M1 in it stands for nothing."""
    before, after = (
        'M3 runs M1 and M2, a function "of M1"',
        'M3 runs M1 and M2, a function "of M2"',
    )

    assert differences(_verdict(*LEAVES, before), _verdict(*LEAVES, after)) != []
    assert differences(_verdict(*LEAVES, before), _verdict(*LEAVES, before)) == []
