"""Nothing in a verdict is abbreviated but what can be opened."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from dpproof.proofs import VerifiedUnder, check
from dpproof.proofs.__main__ import main
from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.verdict import SHORT, openable, quoted, with_digests
from tests.proofs.support import Case, Object, certificate, factor, gaussian, pairs, said, stated

MANY = [[f"{k}", f"1/{10 * k}"] for k in range(1, 400)]


def test_short_contents_stay_in_their_sentence() -> None:
    """What is short is said where it belongs."""
    assert with_digests(f"at most {openable('1, 2')}!") == ("at most 1, 2!", {})


def test_long_contents_are_named_by_their_digest() -> None:
    """A digest names exactly the content it stands for, and contents may hold others."""
    inside, around = "a" * (SHORT + 1), "b" * SHORT
    sentence, details = with_digests(f"of {openable(around + openable(inside))}")

    assert set(details) == {sha256(one.encode()).hexdigest() for one in details.values()}
    assert inside in details.values()
    assert len(details) == 2
    assert all(len(digest) == 64 for digest in details)
    assert sum(digest in sentence for digest in details) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(1, 10**6), "1/1000000"),
        (Fraction(1e-6), "1e-06"),
        (Fraction(1, 10**13), "1.0000000000000000e-13 (exactly 1/10000000000000)"),
    ],
)
def test_numbers_are_exact(value: Fraction, shown: str) -> None:
    """What a decimal rounds is said exactly beside it."""
    assert with_digests(exact(value))[0] == shown


def _assumed(conclusion: Object) -> VerifiedUnder:
    verdict = check(certificate(stated(conclusion)))
    assert isinstance(verdict, VerifiedUnder)
    assert not any("..." in text for text in (verdict.claim, *verdict.assumptions))
    return verdict


def test_the_point_that_proves_a_claim_is_not_hidden() -> None:
    """A point in the middle of a stated profile is told, and so is every mass of a finite pair."""
    points = [["0", "1"], ["1/2", "1"], ["1", "1/1000000"], ["2", "0"], ["3", "0"]]
    conclusion = said("privacy-profile", points=points)
    case = Case("convert/point", said("approx-dp", epsilon="1", delta="1/1000000"), [conclusion])
    verdict = case.verdict()
    told_masses = _assumed(pairs([factor("finite", p=["1/3", "2/3"], q=["1/7", "6/7"])]))

    assert isinstance(verdict, VerifiedUnder)
    assert "(1, 1/1000000)" in verdict.assumptions[0]
    assert "P = (1/3, 2/3) and Q = (1/7, 6/7)" in told_masses.assumptions[0]


def test_directions_are_named() -> None:
    """Two products are told apart."""
    (text,) = _assumed(pairs([gaussian("1")], [gaussian("4")])).assumptions

    forward, backward = text.split("backward (the second has it) by ")
    assert "forward (the first dataset has the record that the other lacks, or has " in forward
    assert "1 x Gaussians with mu^2 = 1" in forward
    assert "1 x Gaussians with mu^2 = 4" in backward


def test_equal_directions_need_no_names() -> None:
    """One product for both orders of two datasets is said without forward and backward."""
    (text,) = _assumed(pairs([gaussian("1")])).assumptions

    assert "dominated, whichever of two datasets comes first, by 1 x Gaussians" in text
    assert "forward" not in text


def test_long_contents_can_be_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints what a digest stands for, in full, and nothing for another digest."""
    given = certificate(stated(said("privacy-profile", points=MANY)))
    verdict = check(given)
    path = tmp_path / "long.json"
    path.write_text(given.to_json(), encoding="utf-8")

    assert isinstance(verdict, VerifiedUnder)
    ((digest, content),) = verdict.details.items()
    assert digest in verdict.assumptions[0]
    assert content.count("(") == len(MANY)
    assert main([str(path), "--show", digest]) == 0
    assert capsys.readouterr().out == content + "\n"
    assert main([str(path), "--show", digest[::-1]]) == 2


def test_the_authors_words_are_quoted() -> None:
    """A description cannot end its quotation, nor pass for the checker's words."""
    words = 'rounding" and M1 is 0-DP \u03b5'
    half = said("gdp", mu_squared="1/4")
    verdict = Case("post-process", half, [half], {"description": words}).verdict()

    assert isinstance(verdict, VerifiedUnder)
    assert verdict.assumptions[1].endswith(f"describes as {quoted(words)}")
    assert quoted(words) == '"rounding\\" and M1 is 0-DP \\u03b5"'
