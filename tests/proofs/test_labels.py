"""Labels: what an author calls a mechanism is quoted, and nothing follows from it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

import dpproof as dp
from dpproof.accountant import compose
from dpproof.proofs import Certificate, Rejected, VerifiedUnder, check, check_text
from dpproof.proofs.__main__ import lines
from tests.proofs.support import certificate, fact, gaussian, said, stated

PLAIN = stated(said("pure-dp", epsilon="1"))
HOSTILE = "a \u2028 b \u202e c"


def _verified(one: Certificate) -> VerifiedUnder:
    verdict = check_text(one.to_json())
    assert isinstance(verdict, VerifiedUnder)
    return verdict


@pytest.mark.parametrize("label", ["counts", 'a" M1 is 0-DP "', "größe", "M7", "x" * 200])
def test_a_label_is_quoted_and_changes_nothing(label: str) -> None:
    """Claim and assumptions are those without it; it cannot close its quotation marks."""
    bare, verdict = (_verified(certificate(replace(PLAIN, label=one))) for one in ("", label))

    assert verdict == bare
    assert bare.labels == ()
    assert verdict.labels == (f"M1 is called {json.dumps(label)}",)
    assert lines(verdict)[3:5] == [
        "in the words of the certificate's author, which prove nothing",
        f"  {verdict.labels[0]}",
    ]


@pytest.mark.parametrize("label", ["", "two\nlines", HOSTILE, "x" * 201, 3, None, ["a"]])
def test_other_labels_are_refused(label: object) -> None:
    """A label is printable text of 1 to 200 characters: no line of its own, nothing invisible."""
    document = json.loads(certificate(PLAIN).to_json())
    document["steps"][0]["label"] = label

    verdict = check_text(json.dumps(document))
    assert isinstance(verdict, Rejected)
    assert "the label is" in verdict.reason


def test_a_fact_has_no_label() -> None:
    """A step about pairs alone is about no mechanism that could be called something."""
    step = stated(fact([gaussian("1")], "1", "1/5"))

    assert not isinstance(check(certificate(step)), Rejected)
    assert check(certificate(replace(step, label="a"))) == Rejected(
        0, step.rule, "a label names a mechanism; here is none"
    )


def test_labels_of_a_composition_reach_the_verdict() -> None:
    """Also through conversions whose numbers are raised, selections and equal parts."""
    noise = dp.Gaussian(sigma=2, sensitivity=dp.L2(1))
    parts = [noise.guarantee().labelled("a"), noise.guarantee().labelled("b")]
    counts = dp.PureDP(epsilon=Fraction(1, 3)).labelled("c")
    total = compose(compose(*parts), counts)
    for whole in (
        total,
        compose(dp.convert(compose(*parts), to=dp.ZCDP), dp.convert(counts, to=dp.ZCDP)),
    ):
        found = _verified(whole.labelled("all").certify(delta=1e-6))
        called = {text.split(" called ")[1] for text in found.labels}
        assert called == {'"a"', '"b"', '"c"', '"all"'}

    best = noise.select(dp.TruncatedNegativeBinomial(eta=1, gamma=0.5), score=len)
    tuned = best.guarantee().labelled("tuning").certify(delta=1e-6)
    assert _verified(tuned).labels == ('M2 is called "tuning"',)


def test_what_may_be_a_label_is_refused_where_it_enters() -> None:
    """Before anything is certified."""
    for label in ("", "a\nb", 3, "x" * 201):
        with pytest.raises(dp.ParameterError, match="on one line"):
            dp.PureDP(epsilon=1).labelled(label)  # type: ignore[arg-type]
    bare, labelled = dp.PureDP(epsilon=1), dp.PureDP(epsilon=1).labelled("a")
    assert labelled == bare
    assert labelled.derivation == bare.derivation
